"""How well geometries agree between times, with the null distribution of the largest value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.report import page_width, wrap
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

        names = [f"{time:g}" for time in self.times]
        values, meaning = np.array(self.values), "agreement of distances between times"
        ax = heat_map(values, names, names, title=meaning, limits=full_range(values, "higher"), ax=ax)
        for i, line in enumerate(self.p_values):
            for j, p in enumerate(line):
                if reaches_level(p, self.alpha):
                    frame_cell(ax, i, j)
        return ax

    def _text(self) -> str:
        """Return a text with the largest value, its chance level, and how many entries exceed the threshold."""
        if self.value != self.value:
            return "\n".join(wrap(f"over time: not estimable ({self.reason})", page_width()))
        n_above = sum(reaches_level(p, self.alpha) for line in self.p_values for p in line)
        first, second = self.argmax
        verdict = f", {'above' if self.significant else 'not above'} chance at {self.alpha:g}" if self.has_null else ""
        lines = [f"largest agreement between times: {self.value:.4f}, at {first:g} and {second:g}{verdict}"]
        if self.has_null:
            lines.append(
                f"  chance level of the largest {self.chance:.4f} +- {self.chance_sd:.2g}, p = {self.p_value:.3g} "
                f"({self.n_draws} {'permutations' if self.exchanged == 'all rows' else self.exchanged})"
            )
            lines.append(
                f"  {n_above} of {len(self.times) ** 2} entries are above {self.threshold:.4f}, the chance threshold "
                "of the maximum"
            )
        lines.append(f"  {self.n_rows:,} trials x {self.n_neurons:,} neurons, {self.n_conditions} conditions")
        lines += [f"  note: {text}" for text in self.notes]
        return "\n".join(part for line in lines for part in wrap(line, page_width(), hanging="    "))
