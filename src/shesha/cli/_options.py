"""The table of options that are more than a parameter of one function, and the names of options in messages."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COLUMN = "FILE|COLUMN"
_ONE_PER_ROW = "FILE (or FILE:COLUMN) with one label per row, or COLUMN of the first FILE."
INPUT, MODEL, DESIGN = "Input", "Model", "Rows that depend on one another"
COMPUTING, OUTPUT, PLACE = "What to compute", "Output", "Where it runs"


@dataclass(frozen=True)
class Option:
    """What is declared about an option; all else is that of the parameter from which it is generated."""

    help: str = ""
    """Default: the beginning of the parameter's documentation."""
    type: str = ""
    """Type as an annotation. Default: that of the parameter."""
    metavar: str | None = None
    argument: str = ""
    """Name of the parameter in the library. Default: the name of the option."""
    default: Any = None
    rare: bool = False
    """Whether only `--help-all` shows the option."""
    shows_default: bool = True


FILE, NAME, NAMES, SWITCH = "Path | None", "str | None", "list[str] | None", "bool"
TABLE: Mapping[str, Mapping[str, Option]] = {
    INPUT: {
        "labels": Option(f"Class labels (cell types): {_ONE_PER_ROW}", NAME, COLUMN, "y"),
        "key": Option(
            "Array of the files to use (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData. Default: "
            "all.",
            NAMES,
        ),
        "data_key": Option("Array of the data to use as a subject (may be repeated).", NAMES),
        "rows": Option(argument="max_rows"),
        "rdm": Option("The arrays are distances between rows, not features.", SWITCH),
        "transpose": Option("Features such as genes are in the rows of the files, and inputs in the columns.", SWITCH),
        "layer_axis": Option(
            "Axis of a 3-D array along which layers are stacked, or none if the array is one representation of token "
            "sequences. [default: 1, or 0 if the first axis is at most a third as long]",
            "str",
            "0|1|2|none",
            default="guess",
            rare=True,
            shows_default=False,
        ),
        "id": Option(
            "Column or array that identifies the rows of each file. [default: an index, or a column named like an "
            "identifier]",
            NAME,
            "COLUMN",
            "ids",
            rare=True,
        ),
        "shared_rows": Option("Use only the rows whose identifiers all files have.", SWITCH, None, "rows", rare=True),
        "missing": Option(
            "Rows with NaN, a missing vector or only zeros: refuse them, or drop them from all files and count them.",
            "str",
            "refuse|drop",
            default="refuse",
            rare=True,
        ),
        "by_position": Option(
            "Match rows by position: row i of all files is the same input, regardless of row names.", SWITCH, rare=True
        ),
    },
    MODEL: {
        "model": Option(
            "Read the layers of this model instead of FILE: a folder with config.json and safetensors weights (or of "
            "a sentence encoder, or of an adapter whose base model is found), a package that contains them, or a name "
            "that the transformers library can load.",
            NAMES,
            "NAME|FOLDER",
        ),
        "texts": Option(
            "Texts for the model: a .txt file with one text per line, a table (FILE:COLUMN if it has several text "
            "columns), or a column of FILE.",
            NAME,
            COLUMN,
        ),
        "layers": Option(
            "Modules to read, such as 'encoder.layer.*' (may be repeated). * matches one part between dots, ** any "
            "number of parts.",
            NAMES,
            "GLOB",
        ),
        "pool": Option(
            "Pooling of tokens into a row: auto (as the model's authors intend), mean, cls, last, later (mean of all "
            "tokens after the first), max, mean_sqrt_len or weightedmean; names joined by + are concatenated.",
            "str",
            default="auto",
        ),
        "batch_size": Option("Texts per batch.", "int", default=32),
        "device": Option("Device that runs the model, such as cuda; default: CPU.", NAME),
    },
    DESIGN: {
        "blocks": Option(
            f"Permute or resample rows only within blocks (sessions, batches): {_ONE_PER_ROW}", NAME, COLUMN
        ),
        "groups": Option(f"Permute or resample whole groups of rows (subjects, donors): {_ONE_PER_ROW}", NAME, COLUMN),
        "within": Option(
            f"Permute rows only within strata of a covariate (sequencing depth): {_ONE_PER_ROW}", NAME, COLUMN
        ),
        "shift": Option("Rows are a time series: permute them by circular shifts."),
        "block_length": Option("Rows are a time series: permute segments of this many consecutive rows.", rare=True),
        "covariates": Option(
            "Control for a covariate on which both representations depend, such as batch or depth (may be repeated): "
            "FILE (or FILE:COLUMN) with one value per row, or COLUMN of the first FILE.",
            NAMES,
            COLUMN,
        ),
    },
    COMPUTING: {
        "bootstrap": Option(argument="n_bootstrap"),
        "permutations": Option(argument="n_permutations"),
        "resamples": Option(argument="n_resamples", rare=True),
        "pairs": Option(rare=True),
        "aggregate": Option(rare=True),
        "alpha": Option(rare=True),
        "correction": Option(rare=True),
        "maximum": Option(rare=True),
        "k": Option(rare=True),
        "way": Option(
            "How to store the vectors (may be repeated): float16, int8, binary (signs), or a number of dimensions to "
            "keep. [default: float16, int8 and binary]",
            NAMES,
            argument="ways",
        ),
        "test": Option(
            "Test (may be repeated): energy, mmd, 'sliced wasserstein' or c2st (a classifier). [default: energy, mmd "
            "and c2st]",
            NAMES,
            argument="tests",
        ),
        "seed": Option("Seed of all random numbers.", "int", default=0),
    },
    OUTPUT: {
        "json": Option("Write all numbers to this file as JSON; - for standard output.", FILE),
        "plot": Option("Write a picture of the result to this file (.png, .pdf or .svg).", FILE),
        "title": Option("Title of the picture that --plot writes.", NAME, rare=True),
        "html": Option("Write an HTML report to share: one file with the answer first, then every number.", FILE),
        "explore": Option("Write an HTML page with a map of the rows in both representations.", FILE),
        "full": Option("Print everything, not only what fits on one screen.", SWITCH),
        "card": Option(
            "Write a model card for a model hub, as Markdown with the numbers in its header.", FILE, rare=True
        ),
    },
    PLACE: {
        "workers": Option(
            "Number of local processes that share the work; default: 1, with several threads.", "int | None", rare=True
        ),
        "scheduler": Option("Address of a Dask scheduler to use instead of local processes.", NAME, rare=True),
        "store": Option(
            "Keep results in this file. Rerun the same command to resume, or pass further FILEs to add them.",
            FILE,
            rare=True,
        ),
    },
}
"""The options by panel of the help, in their order there. All other options determine what to compute."""

OPTIONS = {name: option for panel in TABLE.values() for name, option in panel.items()}
RARE = frozenset(name for name, option in OPTIONS.items() if option.rare)
ARGUMENTS = {option.argument or name: name for name, option in OPTIONS.items()}
"""The name of the option by that of the parameter."""
ARGUMENTS["labels"] = "labels"


def option_name(argument: str) -> str:
    """Return the name of the option for a parameter of the library; empty if another parameter has this option.

    Examples
    --------
    >>> option_name("n_permutations"), option_name("confidence"), option_name("permutations")
    ('permutations', 'confidence', '')
    """
    return ARGUMENTS.get(argument, "" if argument in OPTIONS else argument)


def flag(name: str) -> str:
    """Return an option as typed.

    Examples
    --------
    >>> flag("block_length")
    '--block-length'
    """
    return f"--{name.replace('_', '-')}"


_ALSO_WORDS = ("rows", "layers", "labels", "texts", "model", "exact", "full", "card", "title")
"""Names of options with which sentences about the inputs begin as well."""
_WORDS = {
    **{argument: flag(name) for argument, name in ARGUMENTS.items() if argument not in _ALSO_WORDS},
    **{name: f"--{name.removesuffix('s')}" for name in ("domains", "datasets", "architectures", "keys")},
    **{"path": "FILE", "reference": "REF", "current": "CURRENT", "batch": "BATCH", "folder": "DIR", "suite": "SUITE"},
    "only": "--where",
    **{
        name: flag(name)
        for name in (
            *("architecture", "calibrate", "confidence", "dataset", "domain", "false_alarm", "folds", "index"),
            *("index_metric", "keep_rows", "match", "max_loss", "metric", "nulls", "out", "overwrite", "pooling"),
            *("run_length", "test", "tolerance"),
        )
    },
}
"""Words of messages for names of parameters."""
_WORDS |= {"measure": "--measure", "measures": "--measure", "name": "name"}
_MEASURE = ("measure", "measures", "name")
_WORDS_OF: Mapping[str, Mapping[str, str]] = {
    "compare": dict.fromkeys(_MEASURE, "--measures"),
    **dict.fromkeys(("measures", "scores"), dict.fromkeys(_MEASURE, "NAME")),
    # The history is a file in the folder of the monitor.
    "monitor": {"store": "DIR"},
}
"""Words that are other ones in the messages of a command."""
_SET = re.compile(
    r"\b(keys|y|blocks|groups|within|shift|block_length|covariates|layer_axis|n_permutations|pairs|overwrite|keep_rows|"
    r"match)=(True\b)?"
)
_VALUES = {
    'rows="shared"': "--shared-rows",
    'missing="drop"': "--missing drop",
    'missing="refuse"': "--missing refuse",
    "transpose=True": "--transpose",
    "if keys= names it": "if --key names it",
    "at least 1 / alpha": "at least 1 / --alpha",
}
"""Options whose names or values are written differently on the command line."""
_OF_TABLES = r"(?:tables with \.set_index\([^)]*\), or files with )?"
_IDS = re.compile(rf"{_OF_TABLES}(?:ids=(?:'[^']*'|\[[^\]]*\]) \(--id ('[^']*'|[^)\s]*)\)|\bids=)")
_TWICE = re.compile(r"(--[\w-]+(?: \w+)?) \(\1\)")
_SUBJECT = re.compile(r"(?:^|(?<=: )|(?<=; ))(" + "|".join(_WORDS) + r")(?= must\b)")


def name_options(text: str, command: str | None = None) -> str:
    """Return a text in which names of options replace names of function arguments.

    Parameters
    ----------
    text : str
        A message or a report.
    command : str, optional
        Name of the command. Default: the command that is running.

    Examples
    --------
    >>> name_options("y must contain classes, got 9 different labels for 10 rows", "audit")
    '--labels must contain classes, got 9 different labels for 10 rows'
    >>> name_options("for a series pass shift=True, for batches blocks=", "audit")
    'for a series pass --shift, for batches --blocks'
    """
    running = (sys.argv[1] if len(sys.argv) > 1 else "") if command is None else command
    words = {**_WORDS, **_WORDS_OF.get(running, {})}

    def replace_setting(match: re.Match[str]) -> str:
        """Write an option as on the command line: a switch has no value, and others are followed by theirs."""
        following = match.string[match.end() : match.end() + 1]
        has_value = not match[2] and (following.isalnum() or following == "'")
        return settings[match[1]] + " " * has_value

    elsewhere = "" if running in ("compare", "") else " of `shesha compare`"
    settings = {**words, "covariates": f"--covariates{elsewhere}"}
    replaced = _SET.sub(replace_setting, _SUBJECT.sub(lambda match: words[match[1]], text))
    replaced = name_values(replaced)
    replaced = _IDS.sub(lambda match: f"--id {match[1]}" if match[1] else "--id", replaced)
    # Some messages name both the argument and the option, which would now appear twice.
    return _TWICE.sub(r"\1", replaced).replace("--layer-axis None", "--layer-axis none")


def name_values(text: str) -> str:
    """Return a text in which options with their values are written as on the command line."""
    for argument, option in _VALUES.items():
        # A report may break a line within them.
        text = re.sub(r"\s+".join(map(re.escape, argument.split())), option, text)
    return text
