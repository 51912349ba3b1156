"""What was published of structured perturbations, compared with stand-ins and the published tables themselves."""

from __future__ import annotations

from collections.abc import Iterator

from shesha.studies.checks import Check
from shesha.studies.published_checks import Table, against, lines_of, models, number, stand_ins, text_checks

SHOWN = ("shesha", "cka", "procrustes", "squared")
TABLES = {"Table 43": "noise", "Table 44": "", "Table 45": "rank", "Table 46": "scale"}
LEAST = 96
"""Minimum number of rows of a model that is compared with the published means: all changes except rounding."""
WHY = "The published values are means over 16 causal models that are not available; ours is that of "


def change_key(table: str, row: str) -> tuple[str, float]:
    """Return the change and the amount that a row of a table is about."""
    if table == "Table 44":
        return row, 8.0 if row == "int8" else 4.0
    return TABLES[table], float(row)


def checks(own: Table, name: str, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every published number and claim of 10.2."""
    for table, kind in TABLES.items():
        yield from stand_ins(
            lines_of(published, table),
            lambda row, what, table=table: _value(own, change_key(table, row), what),  # type: ignore[misc]
            WHY + name,
            kind,
        )
    yield from models(lines_of(published, "Table 53"), {}, "We do not have these weights.")
    yield from _text(published)
    yield from against(claims, {})


def _value(means: Table, change: tuple[str, float], what: str) -> float | None:
    return float(means.loc[change, what]) if change in means.index else None


def _text(published: Table) -> Iterator[Check]:
    """Numbers of the text are those of the tables, in per cent."""
    lines = lines_of(published, "10.2", "Figure 23", "Figure 24")
    plain = lines[lines.number.isin(SHOWN)]

    def of_table(row: str, what: str) -> float:
        kind, _, amount = row.partition(" ")
        table = {"noise": "Table 43", "rank": "Table 45", "scale": "Table 46"}.get(kind, "Table 44")
        keys = lines_of(published, table).row.astype(str)
        wanted = next(key for key in keys if key == kind or (amount and _same(key, amount)))
        return 100 * number(published, table, wanted, what)

    yield from text_checks(
        plain, of_table, "The published table itself gives another number.", "per cent,", rounding=0.05
    )
    drifts = [number(published, "Table 43", "0.50", measure) for measure in ("shesha", "cka")]
    bits = [number(published, "Table 44", row, "shesha") for row in ("nf4", "int8")]
    ratios = {"noise 0.5": drifts[0] / drifts[1], "nf4": bits[0] / bits[1]}
    yield from text_checks(
        lines[~lines.number.isin(SHOWN)], lambda row, _: ratios[row], "It follows from the published table."
    )


def _same(key: str, amount: str) -> bool:
    try:
        return float(key) == float(amount)
    except ValueError:
        return False
