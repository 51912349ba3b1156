"""Replace names of function arguments in messages with the names of command-line options."""

from __future__ import annotations

import re
import sys

_OPTIONS = {
    "y": "--labels",
    "n_permutations": "--permutations",
    "n_bootstrap": "--bootstrap",
    "n_resamples": "--resamples",
    "domains": "--domain",
    "datasets": "--dataset",
    "architectures": "--architecture",
    "tests": "--test",
    "keys": "--key",
    "ids": "--id",
    "missing": "--missing",
    "path": "FILE",
    "reference": "REF",
    "current": "CURRENT",
    "batch": "BATCH",
    "folder": "DIR",
    "suite": "SUITE",
    "out": "--out",
    "only": "--where",
    "max_rows": "--rows",
    "max_loss": "--max-loss",
    "calibrate": "--calibrate",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *(
                "aggregate",
                "alpha",
                "architecture",
                "batch_size",
                "block_length",
                "blocks",
                "confidence",
                "dataset",
                "domain",
                "false_alarm",
                "folds",
                "groups",
                "keep_rows",
                "key",
                "index",
                "index_metric",
                "layer_axis",
                "match",
                "metric",
                "nulls",
                "overwrite",
                "run_length",
                "tolerance",
            ),
            *(
                "pairs",
                "pool",
                "pooling",
                "scheduler",
                "seed",
                "shift",
                "store",
                "test",
                "title",
                "transpose",
                "within",
            ),
            "workers",
        )
    },
}
_CHOICES = {"compare": "--measures", "measures": "NAME", "scores": "NAME"}
"""How these commands call the choice of measures; other commands use --measure."""
_SET = re.compile(
    r"\b(keys|blocks|groups|within|shift|block_length|layer_axis|n_permutations|pairs|overwrite|keep_rows|match)="
    r"(True\b)?"
)
_VALUES = {
    'rows="shared"': "--shared-rows",
    'missing="drop"': "--missing drop",
    'missing="refuse"': "--missing refuse",
    "transpose=True": "--transpose",
}
"""Options whose names or values are written differently on the command line."""
_IDS = re.compile(r"ids='([^']*)' \(--id [^)]*\)|\bids=")
_TWICE = re.compile(r"(--[\w-]+(?: \w+)?) \(\1\)")
_SUBJECT = re.compile(r"(?:^|(?<=: )|(?<=; ))(" + "|".join(_OPTIONS) + r"|measures?|name)(?= must\b)")


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

    def replace_name(match: re.Match[str]) -> str:
        name = match[1]
        if name in ("measure", "measures", "name"):
            return _CHOICES.get(running, "--measure" if name != "name" else name)
        return _OPTIONS[name]

    replaced = _SET.sub(_option, _SUBJECT.sub(replace_name, text))
    replaced = name_values(replaced)
    replaced = _IDS.sub(lambda match: f"--id {match[1]}" if match[1] else "--id", replaced)
    # Some messages name both the argument and the option, which would now appear twice.
    return _TWICE.sub(r"\1", replaced).replace("--layer-axis None", "--layer-axis none")


def name_values(text: str) -> str:
    """Return a text in which options with their values are written as on the command line."""
    for argument, option in _VALUES.items():
        text = text.replace(argument, option)
    return text


def _option(match: re.Match[str]) -> str:
    """Write an option as on the command line: a switch has no value, and others are followed by theirs."""
    option = _OPTIONS[match[1]]
    followed = match.string[match.end() : match.end() + 1]
    return f"{option} " if not match[2] and followed.isalnum() else option
