"""A grid that compares every layer of one model with every layer of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from shesha.charts import Style, heat_map, style_options
from shesha.report import Page
from shesha.results.base import Result
from shesha.results.similarity.layer_grid_text import printed_grid
from shesha.results.similarity.pairwise import PairScore, PairTables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LayerComparison(PairTables, Result):
    """Every layer of one model compared with every layer of another."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    scores: tuple[PairScore, ...]
    closer: str
    seed: int | None = None
    interrupted: bool = False
    names: tuple[str, str] | tuple[()] = ()
    """Names of the two models, if known."""
    n_rows: int = 0
    """Number of rows (inputs) that were compared."""

    @property
    def measure(self) -> str:
        """Name of the measure that was used."""
        return self.scores[0].score.measure

    @property
    def best(self) -> PairScore:
        """The closest pair of layers."""
        pairs = [pair for pair in self.scores if pair.score.has_value]
        if not pairs:
            raise ValueError(f"there must be a value for at least one pair of layers, got none: {self.reason}")
        return (max if self.closer == "higher" else min)(pairs, key=lambda pair: pair.score.value)

    @property
    def reason(self) -> str:
        """Why values are missing; empty if none is."""
        return "; ".join(dict.fromkeys(pair.score.reason for pair in self.scores if pair.score.reason))

    @property
    def size(self) -> str:
        """The number of layers and inputs, and the names of the models if these are known."""
        sizes = f"{len(self.rows)} x {len(self.columns)} layers"
        if self.names:
            first, second = self.names
            sizes = f"{len(self.rows)} layers of {first} (rows) and {len(self.columns)} of {second} (columns)"
        return f"{sizes} over {self.n_rows:,} inputs" if self.n_rows else sizes

    @property
    def pair_of_best(self) -> str:
        """The closest layers, with the names of their models if these are known."""
        pair = (self.best.first, self.best.second)
        return " and ".join(map(" of ".join, zip(pair, self.names, strict=True)) if self.names else pair)

    @property
    def same_layers(self) -> tuple[PairScore, ...]:
        """Pairs of layers with the same name, closest first; empty if the models' layer names differ."""
        if self.rows != self.columns or len(self.rows) < 2:
            return ()
        pairs = [pair for pair in self.scores if pair.first == pair.second and pair.score.has_value]
        return tuple(sorted(pairs, key=lambda pair: pair.score.value, reverse=self.closer == "higher"))

    def matrix(self) -> pd.DataFrame:
        """Return the grid, with a row for each layer of the first model and a column for each of the second."""
        return self._grid(self.measure, self.rows, self.columns)

    def plot(self, ax: Axes | None = None, **style: Unpack[Style]) -> Axes:
        """Draw the grid as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
        """
        options = style_options(style, f"{self.measure} ({self.closer} is closer)")
        grid = self.matrix().to_numpy(dtype=float)
        return heat_map(grid, self.rows, self.columns, closer=self.closer, ax=ax, **options)

    def _page(self) -> Page:
        from shesha.results.similarity.layer_pages import layers_page

        return layers_page(self)

    def _text(self) -> str:
        """Return a text with the closest pair, how far apart layers with the same name are, and the grid."""
        from shesha.results.similarity.layer_pages import answer_lines, projection_lines

        lines = [self.size]
        if any(pair.score.has_value for pair in self.scores):
            lines += answer_lines(self)
            if not self.best.score.has_null:
                lines.append(
                    "The closest of many pairs is close by chance alone. Calibrate the maximum, not a single entry."
                )
        lines += ["", *printed_grid(self.measure, self.closer, self.matrix())]
        lines += projection_lines(self)
        if self.reason:
            lines.append(f"no value: {self.reason}")
        if self.interrupted:
            lines.append("Interrupted: the remaining values were not computed.")
        return "\n".join(lines)
