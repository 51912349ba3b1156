"""Doubts about two representations of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.cka_without_rows import cka_without_each, linear_cka
from shesha.doubting.doubt_input import Subject
from shesha.doubting.row_doubts import FEW_ROWS_ADVICE, far_rows_first
from shesha.results import Doubt

_MOVED = 0.2
"""Rows are reported if CKA changes by at least this much when they are left out."""
_MOSTLY, _LEAST_CHANCE = 0.5, 0.1
"""Share of CKA, and absolute value, that the chance level of CKA must reach to raise a doubt."""
_SAME = 1e-12
"""Largest value of 1 - CKA between copies; rounding to single precision changes CKA by about 1e-14."""
_SATURATED = 0.02
"""A measure saturates if its null mean is this close to perfect agreement, as a share of its range."""


@doubt("copies", of="pair", cheap=True)
def copies(subject: Subject) -> Doubt | None:
    """Check whether both representations are the same data, perhaps rotated, shifted or rescaled."""
    grams = [subject.products(side, subject.places) for side in range(2)]
    if not 1 - linear_cka(grams, np.arange(len(subject.places))) < _SAME:
        return None
    first, second = subject.samples
    if first.shape == second.shape and np.array_equal(first * subject.units[0], second * subject.units[1]):
        text = "both representations contain the same values"
    else:
        text = "each representation is a rotated, shifted or rescaled copy of the other"
    advice = "Check that two different files or layers were compared: copies are always similar"
    return Doubt("copies", 1.0, None, text, advice)


@doubt("few rows", of="pair", cheap=True)
def few_rows(subject: Subject) -> Doubt | None:
    """Check whether a few distant rows dominate the linear agreement of two representations."""
    rows, n_far = far_rows_first(subject)
    if not n_far:
        return None
    grams = [subject.products(side, rows) for side in range(2)]
    full_score, scores = cka_without_each(grams, n_far)
    farthest = int(np.argmax(np.abs(np.array(scores) - full_score)))
    named = rows[farthest : farthest + 1]
    if abs(scores[farthest] - full_score) < _MOVED:
        named = rows[:n_far]
        if abs(linear_cka(grams, np.arange(n_far, len(rows))) - full_score) < _MOVED:
            return None
    # Inner products of the remaining rows are more precise if these rows are centred on their own mean.
    others = np.setdiff1d(rows, named)
    without = linear_cka([subject.centred_products(side, others) for side in range(2)], np.arange(len(others)))
    if abs(without - full_score) < _MOVED:
        return None
    return few_rows_doubt("CKA", subject.caller_rows(named), full_score, without, abs(without - full_score))


def few_rows_doubt(measure: str, rows: tuple[int, ...], whole: float, without: float, effect: float) -> Doubt:
    """Return the doubt that a few rows dominate a similarity."""
    names = f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows))}"
    it = "it" if len(rows) == 1 else "them"
    text = f"{measure} is {whole:.2f} with {names}, but {without:.2f} without {it}"
    # Unbiased CKA leaves out products of rows with themselves, which removes the effect of one far row, but not of
    # several.
    unbiased = " or unbiased CKA" if len(rows) == 1 else ""
    advice = f"{FEW_ROWS_ADVICE} RSA, mutual kNN{unbiased}"
    return Doubt("few rows", min(1.0, effect), None, text, advice, rows)


def width(
    value: float, chance: float, unbiased: Callable[[], float], n_rows: int, widths: tuple[int, ...]
) -> Doubt | None:
    """Return the doubt that most of a CKA value is chance, as happens with many features per row."""
    if not chance >= max(_LEAST_CHANCE, _MOSTLY * value):
        return None
    sizes = " and ".join(f"{d:,}" for d in widths)
    text = (
        f"CKA is {value:.2f}, but permuted rows already have a mean CKA of {chance:.2f} ({n_rows:,} rows of {sizes} "
        f"features). Unbiased CKA is {unbiased():.2f}"
    )
    advice = "Report unbiased CKA, or CKA with its chance level (calibrate=True), or use more rows"
    return Doubt("width", min(1.0, chance), None, text, advice)


def saturation(names: Sequence[str], n_rows: int, widths: tuple[int, ...]) -> Doubt | None:
    """Return the doubt that measures saturate for this number of rows and features."""
    if not names:
        return None
    sizes = " and ".join(f"{d:,}" for d in widths)
    text = (
        f"{', '.join(names)} saturate{'s' if len(names) == 1 else ''} for {n_rows:,} rows of {sizes} features: even "
        "unrelated data reach the value of perfect agreement"
    )
    return Doubt("saturated", 1.0, None, text, "Use truncate= (leading components), more rows, or another measure")


def saturated_measures(chance: Mapping[str, tuple[float, float, float]]) -> list[str]:
    """Return the measures whose null mean is at their best value; entries are (null mean, worst, best)."""
    saturated = []
    for name, (mean, worst, best) in chance.items():
        # Without a worst value there is no range, so only a null mean equal to the best value shows saturation.
        room = abs(best - worst) if np.isfinite(worst) else 0.0
        if np.isfinite([mean, best]).all() and abs(best - mean) <= _SATURATED * room:
            saturated.append(name)
    return saturated
