"""Whether one of two representations was rounded when it was written, so that they differ by this rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shesha.doubting.doubt_input import Subject, doubt
from shesha.kernels.distances import condensed_distances
from shesha.results import Doubt
from shesha.support.types import Array, Matrix
from shesha.support.wording import count

_POWERS, _DIGITS = range(0, -10, -1), range(1, 5)
"""Powers of ten of the steps, and numbers of significant digits, that are looked for."""
_LARGEST = 1e5
"""Largest value that is looked at, in steps, because single precision has seven digits."""
_HUGE = 1e100
"""Size of values whose squares may overflow, or vanish if they are as small; no file rounds them."""
_TOLERANCE = 0.01
"""Largest distance of a rounded value from a multiple of its step, in steps."""
_UNIFORM = 0.2
"""Smallest mean distance of values that were not rounded to the next multiple, in steps; 0.289 if it is uniform."""
_WITHIN, _MOST = 0.6, 0.98
"""Difference of rounded values from others that rounding can make, in steps, and smallest share of such values."""
_ALIKE = (0.8, 1.25)
"""Ratio of the difference between two sides to what rounding makes, if it is of that size."""
_FELT = 1e-4
"""Smallest error, as a share of the spread of the values, that scores can show."""
_FEWEST_VALUES, _SCREENED, _MOST_ROWS, _MOST_VALUES = 50, 1_000, 128, 1 << 16
"""Fewest values, number of values looked at first, most rows, and most values of them. If there are more, only some
features are looked at, and no distances."""
_ADVICE = "Export them with full precision before you judge this difference, unless both sides were rounded alike"


@dataclass(frozen=True)
class Rounding:
    """Rounding to multiples of a step, or to a number of significant digits."""

    step: float = 0.0
    digits: int = 0

    def steps(self, values: Array) -> Array:
        """Return the step of each value; that of 0 is arbitrary if digits are significant."""
        if not self.digits:
            return np.full(np.shape(values), self.step)
        sizes = np.abs(values)
        powers = np.floor(np.log10(np.where(sizes > 0, sizes, 1.0)) + 1e-9)
        return np.asarray(10.0 ** (powers - self.digits + 1))

    def residuals(self, values: Array) -> Array:
        """Return what rounding takes from each value, in steps."""
        scaled = values / self.steps(values)
        return np.asarray(scaled - np.round(scaled))

    def fits(self, values: Array) -> bool:
        """Return whether all values, which are not 0, were rounded in this way."""
        scaled = np.abs(values) / self.steps(values)
        return bool((np.abs(scaled - np.round(scaled)) <= _TOLERANCE).all() and scaled.min() > 0.5)

    def __str__(self) -> str:
        """Return what the values are."""
        return f"multiples of {self.step:g}" if self.step else f"numbers of {count(self.digits, 'significant digit')}"


def find_rounding(values: Array) -> Rounding | None:
    """Return how values were rounded; None if they were not, or if they are few.

    Examples
    --------
    >>> values = np.random.default_rng(0).standard_normal(100)
    >>> print(find_rounding(values.round(2)), find_rounding(values))
    multiples of 0.01 None
    """
    known = values[values != 0]
    if len(known) < _FEWEST_VALUES:
        return None
    largest, some = float(np.abs(known).max()), known[:: 1 + len(known) // _SCREENED]
    kinds = [Rounding(step=10.0**power) for power in _POWERS if largest <= _LARGEST * 10.0**power]
    for kind in (*kinds, *(Rounding(digits=digits) for digits in _DIGITS)):
        if kind.fits(some) and kind.fits(known):
            return kind
    return None


@doubt("rounded values", of="pair", cheap=True)
def rounded_values(subject: Subject) -> Doubt | None:
    """Check whether two sides differ by the rounding of one of them, as after an export with few decimals."""
    if not all(1 / _HUGE < unit < _HUGE for unit in subject.units):
        return None
    n_rows, width = len(subject.samples[0]), max(sample.shape[1] for sample in subject.samples)
    rows = slice(None, None, 1 + (n_rows - 1) // _MOST_ROWS)
    columns = slice(None, None, 1 + (min(n_rows, _MOST_ROWS) * width - 1) // _MOST_VALUES)
    for side in (0, 1):
        # Hardly any values were rounded, which a few of them show.
        if find_rounding(_some_values(subject.samples[side]) * subject.units[side]) is None:
            continue
        rounded, other = (subject.samples[place][rows, columns] * subject.units[place] for place in (side, 1 - side))
        kind = find_rounding(rounded)
        if kind is None or not other.any() or kind.fits(other[other != 0]):
            continue
        spread, error = _mean_size(rounded - rounded.mean(axis=0)), _mean_size(kind.steps(rounded)) / np.sqrt(12)
        if error < _FELT * spread:
            continue
        one, another = subject.names[side], subject.names[1 - side]
        for what, observed, made in _differences(rounded, other, kind, has_distances=columns.step == 1):
            if _ALIKE[0] * made <= observed <= _ALIKE[1] * made:
                text = (
                    f"the values of {one} are {kind} ({len(np.unique(rounded)):,} different ones), those of {another} "
                    f"are not, and {what} differ by {observed:.2g} (root mean square), as this rounding makes them "
                    f"differ ({made:.2g})"
                )
                return Doubt("rounded values", min(1.0, error / spread), None, text, _ADVICE)
    return None


def _differences(
    rounded: Matrix, other: Matrix, kind: Rounding, *, has_distances: bool
) -> Iterator[tuple[str, float, float]]:
    """Yield how much values, and distances between rows, differ between two sides, and how much rounding changes them.

    Distances show the rounding of one side if the axes of the other are hidden or others.
    """
    if rounded.shape == other.shape and _mean_size(rounded - other) < _mean_size(kind.steps(rounded)):
        # Noise of this size is beyond half a step in some values.
        is_within = np.abs(rounded - other) <= _WITHIN * kind.steps(other)
        if is_within.mean() >= _MOST and _mean_size(kind.residuals(other[other != 0])) >= _UNIFORM:
            yield "they", _mean_size(rounded - other), _mean_size(kind.residuals(other) * kind.steps(other))
        return
    if not has_distances:
        return
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, rounded.shape) * kind.steps(rounded)
    first, second, noisy = (
        condensed_distances(side - side.mean(axis=0), "euclidean", squared=True)
        for side in (rounded, other, rounded + noise)
    )
    # Squared distances between rows that were rounded to a step are multiples of its square.
    if not kind.step or not Rounding(step=kind.step**2).fits(second[second > 0]):
        yield "squared distances between rows", _mean_size(first - second), _mean_size(noisy - first)


def _some_values(sample: Matrix) -> Array:
    return np.asarray(sample.flat[:: 1 + sample.size // (4 * _SCREENED)])


def _mean_size(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if np.size(values) else 0.0
