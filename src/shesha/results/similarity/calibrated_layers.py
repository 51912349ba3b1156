"""A calibrated grid of layers: an aggregate of its values, with the aggregate's null distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from shesha.charts import Style, heat_map, style_options
from shesha.report import Metric, Page
from shesha.results.audit.doubts import Doubts
from shesha.results.base import reaches_level
from shesha.results.null_summary import NullComparison
from shesha.results.similarity.layer_grid_text import printed_grid
from shesha.support.plurals import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


AGGREGATE_NAMES = {
    "max": "the value of the closest pair",
    "row_max": "the mean over layers of the closest match",
    "top_k": "the mean of the closest pairs",
    "mean": "the mean of all pairs",
}


@dataclass(frozen=True)
class CalibratedLayers(NullComparison):
    """A grid of layers, summarised by one number and compared with grids whose rows are matched at random."""

    ALIGNED = (("rows", "grid", "entry_p_values", "corrected_p_values"),)

    measure: str
    closer: str
    aggregate: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    grid: tuple[tuple[float, ...], ...]
    """Observed scores; each line contains the scores of one layer of the first model."""
    entry_p_values: tuple[tuple[float, ...], ...]
    """p-value of each pair by itself, which is valid only for a pair chosen in advance, not for the best of many pairs.
    """
    corrected_p_values: tuple[tuple[float, ...], ...]
    """p-value of each pair, corrected for the number of pairs (step-down maximum over shared permutations).
    """
    best: tuple[str, str]
    """The closest pair of layers."""
    observed: float
    """Observed value of the aggregate that summarises the grid (see `aggregate`)."""
    maximum: float | None
    """Value that means perfect agreement; None if the measure has no such value."""
    alpha: float
    n_permutations: int
    n_rows: int
    exchanged: str = "all rows"
    n_lost: int = 0
    null: tuple[float, ...] = ()
    seed: int | None = None
    interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    family: str = ""
    """Name of the family to which the measure belongs."""
    doubts: Doubts | None = None
    """Possible problems with the closest pair; None if they were not checked."""

    @property
    def significant(self) -> bool:
        """Whether the aggregate is above chance at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    def matrix(self) -> pd.DataFrame:
        """Return the observed grid as a table."""
        return self._table(self.grid)

    def p_values(self) -> pd.DataFrame:
        """Return the p-values of the single pairs as a table."""
        return self._table(self.entry_p_values)

    def _table(self, grid: tuple[tuple[float, ...], ...]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([list(row) for row in grid], index=list(self.rows), columns=list(self.columns))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of layers."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "first": a,
                    "second": b,
                    "measure": self.measure,
                    "value": value,
                    "entry_p_value": p,
                    "corrected_p_value": q,
                }
                for a, *lines in zip(self.rows, self.grid, self.entry_p_values, self.corrected_p_values, strict=True)
                for b, value, p, q in zip(self.columns, *lines, strict=True)
            ]
        )

    def plot(self, ax: Axes | None = None, **style: Unpack[Style]) -> Axes:
        """Draw the grid as a heat map, with frames around pairs above chance, corrected for their number.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
            If no pair or every pair is above chance, only the closest pair is framed.
        """
        grid, options = self.matrix().to_numpy(dtype=float), style_options(style, self.picture_title)
        return heat_map(grid, self.rows, self.columns, closer=self.closer, framed=self.framed_cells, ax=ax, **options)

    @property
    def picture_title(self) -> str:
        """The title for a picture of the grid."""
        score = f"calibrated {self.score:.3g}, p = {self.p_value:.2g}"
        return f"{self.measure}: {self.aggregate} {self.observed:.3g}, {score}"

    @property
    def framed_cells(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the pairs above chance (corrected), or of the closest pair if none or all are."""
        cells = self._cells_above_chance
        if 0 < len(cells) < len(self.rows) * len(self.columns):
            return cells
        return ((self.rows.index(self.best[0]), self.columns.index(self.best[1])),)

    @property
    def _cells_above_chance(self) -> tuple[tuple[int, int], ...]:
        """Pairs above chance, corrected for the number of pairs."""
        return tuple(
            (i, j)
            for i, line in enumerate(self.corrected_p_values)
            for j, p in enumerate(line)
            if reaches_level(p, self.alpha)
        )

    def _page(self) -> Page:
        from shesha.results.similarity.layer_pages import calibrated_layers_page

        return calibrated_layers_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        # The grid contains the names of the layers but not of their models.
        what = f"{self.aggregate} {self.measure} over {len(self.rows)} x {len(self.columns)} layers"
        null = {"chance": self.null_mean, "threshold": self.threshold, "p_value": self.p_value}
        return [Metric(model, what, self.observed, **null)]

    @property
    def answer(self) -> str:
        """One sentence with the aggregate, whether it is above chance, and the closest layers."""
        verdict = "above" if self.significant else "not above"
        p = f"p = {self.p_value:.2g}"
        first, second = self.best
        if self.aggregate == "max":
            n_pairs = len(self.rows) * len(self.columns)
            return (
                f"The closest layers are {first} and {second}: {self.measure} {self.observed:.3g}, {verdict} chance "
                f"({p} for the closest of {n_pairs} pairs)."
            )
        what = AGGREGATE_NAMES.get(self.aggregate, self.aggregate)
        value = self.grid[self.rows.index(first)][self.columns.index(second)]
        return (
            f"{self.measure}, {what}: {self.observed:.3g}, {verdict} chance ({p}). The closest layers are {first} and "
            f"{second} ({value:.3g})."
        )

    @property
    def chance_sentence(self) -> str:
        """A sentence with the values for randomly matched rows, and the calibrated value."""
        kind = "calibrated value" if self.maximum is not None else "excess over the threshold"
        return (
            f"Random matchings of the rows give {self.null_mean:.3g} +- {self.null_sd:.2g}, and at most "
            f"{100 * self.alpha:.3g}% of them are closer than {self.threshold:.3g}. The {kind} is {self.score:.3g}."
        )

    @property
    def n_above_chance_sentence(self) -> str:
        """A sentence with the number of pairs above chance, corrected for the number of pairs."""
        n = len(self._cells_above_chance)
        known = [p for line in self.corrected_p_values for p in line if p == p]
        smallest = f" The smallest corrected p-value is {min(known):.2g}." if known and not n else ""
        return (
            f"{n} of {len(self.rows) * len(self.columns)} pairs {agree(n, 'is', 'are')} above chance at "
            f"{self.alpha:g}, corrected for the number of pairs (step-down maximum).{smallest}"
        )

    def _text(self) -> str:
        """Return a text with the answer, its chance level and the grid."""
        lines = [
            self.answer,
            self.chance_sentence,
            self.n_above_chance_sentence,
            "",
            *printed_grid(self.measure, self.closer, self.matrix(), digits=3),
            "",
            f"{self.n_permutations} permutations of {self.exchanged}.",
            "Use `entry_p_values` for pairs chosen in advance, and `corrected_p_values` for all others.",
        ]
        if self.n_lost:
            were = agree(self.n_lost, "was", "were")
            lines.append(f"{count(self.n_lost, 'draw')} without a score {were} counted as at least as close")
        if self.interrupted:
            lines.append("Interrupted: fewer permutations than requested.")
        if self.doubts:
            lines += [
                "",
                "What could be wrong with the closest pair",
                *(f"  {line}" for line in str(self.doubts).split("\n")),
            ]
        return "\n".join(lines)
