"""`shesha diff`: report which layers changed between two versions of a model by more than noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from shesha.cli._commands import MODEL, READING, command
from shesha.cli._model_inputs import parse_texts, read_texts, refuse_with_model, require_model
from shesha.cli._run import Run


@command(
    "shesha.changes:diff",
    also=f"{MODEL} {READING} labels json plot title html full explore",
    first="model texts labels also index html",
)
def diff_command(
    run: Run,
    files: list[Path] | None = None,
    *,
    also: list[str] | None = None,
    again: list[str] | None = None,
    match: list[str] | None = None,
    reencode: bool = True,
) -> None:
    """Report which layers changed by more than noise, such as after fine-tuning, quantising or an upgrade.

    Parameters
    ----------
    files : BEFORE AFTER
        Two files with layers of the same rows.
    model
        Model before and after the change (pass the option twice): a folder, a package or a name that the transformers
        library can load.
    texts : FILE[:COLUMN]
        Texts for the models: a .txt file with one text per line, or a table (FILE:COLUMN).
    labels
        Class of each row: FILE with one label per row, or COLUMN of the texts.
    also : FILE|MODEL
        Further runs of the same change, such as other seeds (may be repeated).
    again : FILE
        Re-encoding of BEFORE without any change, for the noise floor (may be repeated).
    match : BEFORE=AFTER|name|position
        Which layers correspond, where names are ambiguous: pairs such as 'layer.*=model.layer.*' (may be repeated),
        only layers of the same name, or layers in order.
    index
        Test new queries on old vectors, to decide whether to keep the index, map the queries or re-embed.
    reencode
        Encode twice more with the old model, to measure the noise floor.
    plot
        Write a picture of the change over depth to this file.

    Examples
    --------
    shesha diff before.npz after.npz --html diff.html
    shesha diff --model base --model tuned --texts reviews.csv:text --labels label --html diff.html
    shesha diff old.npy new.npy --index
    """
    from shesha.changes import diff
    from shesha.io.array_selection import short_paths

    paths = list(files or ())
    others: dict[str, Any]
    if run.model:
        run.first, column = _text_file(run.model, paths, run.texts, again, run.key)
        sides: tuple[Any, Any] = (run.model[0], run.model[1])
        encoding = {name: getattr(run, name) for name in ("pool", "batch_size", "device")}
        others = {
            "texts": read_texts(run.first, column),
            "encoding": {"layers": run.layers or "all", **encoding},
            "also": also or (),
            "again": None if reencode else (),
            "names": short_paths(run.model),
        }
    else:
        _require_two(paths, run.texts, run.layers, run.key, match)
        run.first = paths[0]
        runs = [Path(path) for path in (*(again or ()), *(also or ()))]
        before, after, *more = run.read_each([*paths, *runs], run.key)
        sides = before, after
        run.row_options.state_pairing(before, after)
        n_again = len(again or ())
        others = {"again": more[:n_again], "also": more[n_again:], "names": short_paths(paths)}
    options = run.arguments(diff) | others
    result = diff(*sides, **options | {"match": _parse_match(match), "row_map": run.explore is not None})
    page = None if result.row_map is None else result.row_map.page
    run.outputs.write(replace(result, row_map=None), [run.first] if run.model else paths, row_map=page, brief=True)


def _parse_match(values: list[str] | None) -> dict[str, str] | Literal["name", "position"] | None:
    """Return pairs of layers, or the rule that the user chose."""
    if not values:
        return None
    if values in (["name"], ["position"]):
        return cast(Literal["name", "position"], values[0])
    pairs = [value.partition("=") for value in values]
    if not all(before and after for before, _, after in pairs):
        raise ValueError(f"--match must be name, position or pairs BEFORE=AFTER, got {', '.join(values)}")
    return {before: after for before, _, after in pairs}


def _text_file(
    models: list[str], files: list[Path], texts: str | None, again: list[str] | None, key: list[str] | None
) -> tuple[Path, str | None]:
    """Return the file and column of the texts that both models encode."""
    if len(models) != 2:
        raise ValueError(f"--model must be given twice, before and after, got {', '.join(models)}")
    refuse_with_model(again=again, key=key)
    return parse_texts(texts, files)


def _require_two(
    files: list[Path], texts: str | None, layers: list[str] | None, key: list[str] | None, match: list[str] | None
) -> None:
    require_model(texts=texts, layers=layers)
    if len(files) != 2:
        raise ValueError(
            f"BEFORE and AFTER must be two files, or two --model, got {', '.join(map(str, files)) or 'none'}; to "
            "compare two arrays of one file, pass it twice with --match 'NAME=OTHER'"
        )
    if key and len(key) > 1 and not match and files[0].resolve() == files[1].resolve():
        raise ValueError(
            f"BEFORE and AFTER must be different files, got {files[0]} twice, so each --key is compared with itself. "
            f"To compare two arrays of one file, pass --match '{key[0]}={key[1]}'"
        )
