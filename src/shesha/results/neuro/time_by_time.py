"""How well geometries agree between times, with the null distribution of the largest value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.report import Part, texts
from shesha.results.base import draws_axes, reaches_level
from shesha.results.number import Number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class OverTime(Number):
    """Agreement of the distances between all pairs of times, with a null distribution of its maximum."""

    ALIGNED = (("times", "values"),)

    times: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    """Agreement between halves of the trials, one half at time i and the other at time j."""
    chances: tuple[tuple[float, ...], ...]
    """Mean of each entry of `values` over the permutations."""
    p_values: tuple[tuple[float, ...], ...]
    """p-value of each entry under the null distribution of the largest entry, which corrects for the number of entries.
    """
    value: float
    """Largest entry of `values`."""
    n_neurons: int
    n_conditions: int
    null: tuple[float, ...] = ()
    """The largest entry for each permutation."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def argmax(self) -> tuple[float, float]:
        """The two times with the largest value; NaN if there is none."""
        cells = np.array(self.values)
        if np.isnan(cells).all():
            return float("nan"), float("nan")
        i, j = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
        return self.times[i], self.times[j]

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair of times."""
        import pandas as pd

        grid = [(i, j) for i in range(len(self.times)) for j in range(len(self.times))]
        return pd.DataFrame(
            [
                {
                    "time": self.times[i],
                    "other_time": self.times[j],
                    "value": self.values[i][j],
                    "chance": self.chances[i][j],
                    "p_value": self.p_values[i][j],
                }
                for i, j in grid
            ]
        )

    def to_xarray(self) -> Any:
        """Return the values as an xarray.DataArray that is indexed by both times."""
        from shesha.inputs import make_data_array

        axes = {"time": self.times, "other time": self.times}
        return make_data_array(np.array(self.values), axes, "agreement", "neuro")

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the values, with frames around those that exceed the threshold of the maximum."""
        from shesha.charts import frame_cell, full_range, heat_map

        names = [f"{time:.3g}" for time in self.times]
        values, meaning = np.array(self.values), "agreement of distances between times"
        ax = heat_map(values, names, names, title=meaning, limits=full_range(values, "higher"), ax=ax)
        for i, line in enumerate(self.p_values):
            for j, p in enumerate(line):
                if reaches_level(p, self.alpha):
                    frame_cell(ax, i, j)
        return ax

    @property
    def headline(self) -> str:
        """The largest agreement between times, and whether it is above chance."""
        if self.value != self.value:
            return f"Agreement over time is not estimable: {self.reason}."
        first, second = self.argmax
        verdict = f", {self.verdict} at {self.alpha:g} (p = {self.p_value:.3g})" if self.has_null else ""
        return f"The largest agreement between times is {self.value:.3f}, at {first:g} and {second:g}{verdict}."

    def _numbers(self) -> tuple[Part, ...]:
        """Return the chance level of the largest value, and how many entries exceed its threshold."""
        size = f"{self.n_rows:,} trials x {self.n_neurons:,} neurons, {self.n_conditions} conditions."
        if not self.has_null:
            return texts([size])
        n_above = sum(reaches_level(p, self.alpha) for line in self.p_values for p in line)
        return texts(
            [
                f"Chance level of the largest: {self.chance:.4f} +- {self.chance_sd:.2g} ({self.n_draws} "
                f"{'permutations' if self.exchanged == 'all rows' else self.exchanged}). {n_above} of "
                f"{len(self.times) ** 2} entries are above {self.threshold:.4f}, the chance threshold of the maximum.",
                size,
            ]
        )
