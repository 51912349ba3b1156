"""Read text tables with pandas, without shifting columns or losing digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.io.file_checks import UnreadableFileError

if TYPE_CHECKING:
    import pandas as pd

RAGGED = "{} must have {} fields in every line, as in the first, got {} in line {}"
_UNNAMED = "{} must have a name for every column, got {} names and {} fields in line {}"
_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def csv_frame(path: Path, separator: str, *, named: bool = True, **options: Any) -> pd.DataFrame:
    """Read a table whose lines have as many fields as the first; with `named`, the first line contains names."""
    import pandas as pd

    layout: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "index_col": False}
    if named:
        _require_names(path, layout)
    with path.open("rb") as stream, _explain_parser_error(path, RAGGED):
        # If pandas read the file in parts, the type of a column could change between them.
        layout |= {"header": "infer" if named else None, "low_memory": False, **_precision_options(), **options}
        frame: pd.DataFrame = pd.read_csv(stream, **layout)
    return frame


def _precision_options() -> dict[str, Any]:
    """Request exact numbers; since pandas 3.1 they are the default, and the option would warn."""
    import pandas as pd

    return {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _require_names(path: Path, layout: dict[str, Any]) -> None:
    """Refuse a first row with more fields than column names.

    By default, pandas uses the first fields of such rows as row names, so every column moves. This cannot be detected
    afterwards, because row names that are consecutive numbers equal the default index. With `index_col=False`, pandas
    drops the last fields instead, and does not warn if they are empty.
    """
    import pandas as pd

    with path.open("rb") as stream, _explain_parser_error(path, _UNNAMED):
        pd.read_csv(stream, header=None, nrows=2, dtype=str, **layout)


@contextmanager
def _explain_parser_error(path: Path, message: str) -> Iterator[None]:
    """Convert a parser error to one with the expected and actual number of fields, and the line."""
    try:
        yield
    except ValueError as error:
        match = _TOO_MANY.search(str(error))
        if match is None:
            raise
        expected, line, saw = match.groups()
        raise UnreadableFileError(message.format(path, expected, saw, line)) from error
