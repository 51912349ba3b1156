"""Which published lines count as cells of tables: numbers that need an experiment, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha_studies.framework.checks import AGREES, DIFFERS, INCONCLUSIVE, OWN_NUMBERS

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = "numbers"
"""The published value of a line that stands for several cells without a value of ours."""


def cells_of_tables(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the lines that are cells of tables, with their `table` and whether they are `compared`.

    A compared cell has a value of ours. Left out are labels and parameters, arithmetic on the paper's own numbers,
    repeats of another line, and whole numbers that agree exactly, which are counts or ranks.

    Examples
    --------
    >>> import pandas as pd
    >>> from shesha_studies.framework.checks import Check, as_table
    >>> lines = [Check("P, Table 1", "rho", 0.5, 0.4, "differs"), Check("P, Table 1", "n", 6.0, 6.0, "agrees")]
    >>> cells_of_tables(as_table(lines)).what.tolist()
    ['rho']
    """
    import pandas as pd

    places = checks["where"].astype(str)
    table = places.str.extract(r"(Table \d+)")[0].where(~places.str.contains("(journal)", regex=False), other=pd.NA)
    journal = "journal " + places.str.extract(r"\(journal\).*(Table \d+)")[0]
    table = table.where(table.notna(), journal)
    numbers = pd.to_numeric(checks.published, errors="coerce")
    is_cell = table.notna() & (numbers.notna() | (checks.published == NUMBERS)) & ~checks.transcribed.astype(bool)
    is_cell &= (checks.basis != OWN_NUMBERS) & ~((checks.verdict == AGREES) & (numbers % 1 == 0))
    cells = checks.assign(table=table)[is_cell]
    cells = cells.drop_duplicates([name for name in ("study", "table", "what", "published", "ours") if name in cells])
    return cells.assign(compared=cells.verdict.isin([AGREES, DIFFERS, INCONCLUSIVE]) & (cells.ours.astype(str) != ""))
