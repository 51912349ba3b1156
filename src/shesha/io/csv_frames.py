"""Read text tables with pandas, without shifted columns or lost digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.io.compressed_files import open_bytes
from shesha.io.file_checks import UnreadableFileError

if TYPE_CHECKING:
    import pandas as pd

RAGGED = "{} must have {} fields in every line, as in the first, got {} in line {}"
_UNNAMED = "{} must have a name for every column, got {} names and {} fields in line {}"
_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def csv_frame(path: Path, separator: str, *, named: bool = True, **options: Any) -> pd.DataFrame:
    """Read a table in which every line has as many fields as the first, which holds names if `named`."""
    import pandas as pd

    layout: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "index_col": False}
    if named:
        _require_names(path, layout)
    with open_bytes(path) as stream, _explain_parser_error(path, RAGGED):
        # If pandas read the file in parts, the type of a column could change from one part to the next.
        layout |= {"header": "infer" if named else None, "low_memory": False, **_precision_options(), **options}
        frame: pd.DataFrame = pd.read_csv(stream, **layout)
    return frame


def _precision_options() -> dict[str, Any]:
    """Request exact numbers; since pandas 3.1 this is the default, and the option causes a warning."""
    import pandas as pd

    return {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _require_names(path: Path, layout: dict[str, Any]) -> None:
    """Refuse a first row with more fields than column names.

    By default, pandas uses the first field of such rows as row names, so all columns are shifted. This cannot be
    detected afterwards, because row names that are consecutive numbers look like the default index. With
    `index_col=False`, pandas drops the last field instead, without a warning if it is empty.
    """
    import pandas as pd

    with open_bytes(path) as stream, _explain_parser_error(path, _UNNAMED):
        pd.read_csv(stream, header=None, nrows=2, dtype=str, **layout)


@contextmanager
def _explain_parser_error(path: Path, message: str) -> Iterator[None]:
    """Replace a parser error with one that states the line and the expected and actual number of fields."""
    try:
        yield
    except ValueError as error:
        match = _TOO_MANY.search(str(error))
        if match is None:
            raise
        expected, line, saw = match.groups()
        raise UnreadableFileError(message.format(path, expected, saw, line)) from error
