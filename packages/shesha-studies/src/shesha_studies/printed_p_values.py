"""P-values that follow from a correlation and its number of cases, both printed in the paper."""

from __future__ import annotations

from shesha_studies.framework.checks import AGREES, DIFFERS, Found
from shesha_studies.framework.published_checks import Answers, Table
from shesha_studies.framework.tolerance import LOOSE, correlation_p

_START, _QUARTER = "p/", 0.25
_LARGEST = 1 - 1e-12
"""Largest correlation, because the p-value of 1 is not defined."""


def printed_p_values(published: Table) -> Answers:
    """Answer each line with a key "p/n/rho" by the p-value of the printed correlation rho over n cases."""
    lines = published[published.key.astype(str).str.startswith(_START)]
    answers = {}
    for where, key, p in lines[["where", "key", "published"]].itertuples(index=False):
        n, rho = key.removeprefix(_START).split("/")
        answers[f"{where.rpartition(', ')[2]} | {key}"] = _judge_p_value(n, rho, str(p))
    return answers


def _judge_p_value(n: str, rho: str, published: str) -> Found:
    """Return the p-value; it agrees if a correlation that rounds to the printed one has it."""
    size, half = abs(float(rho)), _half_unit(rho)
    values = (min(value, _LARGEST) for value in (size + half, size, max(0.0, size - half)))
    low, p, high = (correlation_p(value, int(n)) for value in values)
    bound = float(published.removeprefix("<"))
    fits = (
        low < bound if published.startswith("<") else abs(bound - min(max(bound, low), high)) <= _half_unit(published)
    )
    note = f"{LOOSE} correlations that round to {rho} have p-values from {low:.2g} to {high:.2g}"
    return Found(
        p,
        why=f"A correlation of {rho} over {n} cases has p = {p:.2g}.",
        note=note if high - low > _QUARTER else "",
        verdict=AGREES if fits else DIFFERS,
    )


def _half_unit(printed: str) -> float:
    """Return half of a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])
