"""What was published of drift and losses of causal models, compared with a small one."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from shesha.studies.checks import Check
from shesha.studies.published_checks import Table, against, lines_of, number, stand_ins, text_checks
from shesha_studies.language._detection import area, first_detection, sensitivity
from shesha_studies.language._drift_measures import BOUND
from shesha_studies.language._tiny_gpt import TINY

SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")
STABLE = 1.0
LEAST = 27
"""Minimum number of rows of a model that is reported: all changes except rounding, once."""


def round_losses(rows: Table) -> Table:
    """Return rows whose equal losses are ties, whatever the last digits of a difference of shares."""
    return rows.assign(**{name: rows[name].round(6) for name in rows.columns if name.startswith("drop")})


def model_tables(rows: Table, real: str) -> dict[str, Table]:
    """Correlations and detection for the reported model and for the small ones."""
    return {name: _numbers(rows[rows.model == name]) for name in dict.fromkeys((real, *TINY))}


def _numbers(changes: Table) -> Table:
    """Correlations under noise by task, and how well each number tells losses from none over all changes."""
    noise, every = changes[changes.kind == "noise"], changes[changes.kind != "precision"]
    lost, stable = (every["drop"] > STABLE).to_numpy(), every[every["drop"] < STABLE]
    numbers = {}
    for name in (*SHOWN, "amount"):
        values = every[name].to_numpy(dtype=float)
        plain = name == "amount"
        numbers[name] = {
            "probe": noise[name].corr(noise["drop"], method="spearman"),
            "verdicts": noise[name].corr(noise.drop_verdicts, method="spearman"),
            "next words": noise[name].corr(noise.drop_words, method="spearman"),
            "first noise beyond 0.05": float("nan") if plain else first_detection(noise, name, BOUND, "amount"),
            "area under the curve": float("nan") if plain else area(values, lost),
            "sensitivity at 5 %": float("nan") if plain else sensitivity(values, lost),
            "alarms at 0.05": float("nan") if plain else float((stable[name] > BOUND).mean()),
        }
    return pd.DataFrame.from_dict(numbers, orient="index")


def checks(own: Table, name: str, numbers: Table, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every published number and claim of 10.4, and of what 3.3 and 10.5 say of it."""
    why = f"The published value is a mean over 15 causal models that are not available; ours is that of {name}."
    means = own.groupby(["kind", "amount"])[["drop", *SHOWN]].mean()

    def ours(row: str, what: str) -> float | None:
        kind, _, amount = ("rank 8" if row == "scale 0.01" else row).partition(" ")
        key = (kind, float(amount) if amount else 8.0 if kind == "int8" else 4.0)
        return float(means.loc[key, what]) if key in means.index and what in means.columns else None

    for table in ("Table 49", "Table 50", "Table 51"):

        def in_its_unit(row: str, what: str, share: float = 1.0 if table == "Table 51" else 0.01) -> float | None:
            return _scale_loss(ours(row, what), what, share)

        yield from stand_ins(lines_of(published, table), in_its_unit, why)
    columns = {"correlation": "probe", "first noise": "first noise beyond 0.05"}
    text = lines_of(published, "10.4", "3.3", "10.5")
    for lines in (lines_of(published, "Table 48"), text[text.number.isin(list(columns))]):
        yield from stand_ins(lines, lambda row, what: float(numbers.loc[row, columns[what]]), why)
    rest = text[~text.number.isin(list(columns))]
    ratio = rest.number.str.startswith(("times", "points"))
    yield from stand_ins(
        rest[~ratio], lambda row, what: ours(row, what) if " " not in row or row.startswith("scale") else None, why
    )
    yield from text_checks(
        rest[ratio], lambda _, what: _quotient(published, what), "The quotient of the printed numbers is another."
    )
    yield from against(claims, {})


def _scale_loss(value: float | None, what: str, share: float) -> float | None:
    return value if value is None or what != "drop" else share * value


def _quotient(published: Table, what: str) -> float:
    if what.startswith("points"):
        both = [
            number(published, "3.3", "LoRA", f"sensitivity at 5 % false positives, {key}")
            for key in ("shesha", "procrustes")
        ]
        return both[0] - both[1]
    if what.startswith("times the drift"):
        return number(published, "3.3", "scale 0.001", "procrustes") / number(published, "3.3", "scale 0.001", "shesha")
    rates = [
        number(published, "3.3", "stable (drop below 1 %)", f"false alarms, {key}") for key in ("procrustes", "shesha")
    ]
    return rates[0] / rates[1]
