"""Comparisons of all pairs of several representations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from shesha.charts import Style, full_range, heat_map, leaf_order, similarity_map, style_options
from shesha.report import Metric, Page
from shesha.results.base import Result
from shesha.results.number import frame_of_numbers
from shesha.results.similarity.score import Score, plain_name
from shesha.support.draw_counts import undecided

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


PairNumber = Literal["value", "calibrated", "p_value", "corrected_p_value", "chance"]
"""Names of the numbers that each pair of representations has."""


class PairTables:
    """Scores of pairs, which can be shown as tables and plots."""

    scores: tuple[Score, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return tuple(dict.fromkeys(pair.name for pair in self.scores))

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair and measure."""
        if self.scores and not any(score.second for score in self.scores):
            frame = frame_of_numbers(self.scores, full=full, lead={"pair": [score.first for score in self.scores]})
            return frame.drop(columns=["first", "second"], errors="ignore")
        return frame_of_numbers(self.scores, "first", "second", "name", full=full)

    def _pairs_for(self, measure: str) -> list[Score]:
        pairs = self._pairs_by_measure.get(plain_name(measure))
        if pairs is None:
            raise KeyError(f"measure must be one of {', '.join(self.measures)}, got {measure!r}")
        return pairs

    @cached_property
    def _pairs_by_measure(self) -> dict[str, list[Score]]:
        groups: dict[str, list[Score]] = {}
        plain = {name: plain_name(name) for name in self.measures}
        for pair in self.scores:
            groups.setdefault(plain[pair.name], []).append(pair)
        return groups

    def _grid(
        self, measure: str, rows: tuple[str, ...], columns: tuple[str, ...], what: PairNumber = "value"
    ) -> pd.DataFrame:
        import pandas as pd

        values = np.full((len(rows), len(columns)), np.nan)
        row, column = ({name: place for place, name in enumerate(names)} for names in (rows, columns))
        for pair in self._pairs_for(measure):
            values[row[pair.first], column[pair.second]] = getattr(pair, what)
        return pd.DataFrame(values, index=list(rows), columns=list(columns))


@dataclass(frozen=True)
class PairwiseComparison(PairTables, Result):
    """How pairs of representations compare according to several measures: all pairs of several, or named pairs."""

    ALIGNED = (("names", "shapes"),)

    names: tuple[str, ...]
    """Names of the representations; empty for named pairs, each of which may have its own rows."""
    shapes: tuple[tuple[int, ...], ...]
    scores: tuple[Score, ...]
    symmetric: dict[str, bool]
    """Whether each measure is symmetric, that is, has the same value for (a, b) and (b, a)."""
    self_values: dict[str, float | None]
    """For each measure, the value between a representation and itself, if it is a constant."""
    seed: int | None = None
    interrupted: bool = False
    exchanged: str = ""
    """Which rows are exchangeable under the null hypothesis; empty without calibration."""
    n_draws: int = 0
    """Number of permutations of the rows; all pairs use the same ones."""
    alpha: float = 0.05
    confidence: float | None = None
    """Confidence level of the intervals; None if there are none."""
    correction: str = ""
    """Correction of the p-values of named pairs; empty for the step-down maximum over shared permutations."""

    def __getitem__(self, pair: str | tuple[str, ...]) -> Score:
        """Return the score of a pair: its name, or both names, with the measure unless it is the first."""
        key = (pair,) if isinstance(pair, str) else pair
        for score in self.scores:
            names = tuple(filter(None, (score.first, score.second)))
            orders = (names, names[::-1]) if self.symmetric[score.name] else (names,)
            if any(key in (order, (*order, score.name)) for order in orders):
                return score
        known = dict.fromkeys(score.pair(", ") for score in self.scores)
        raise KeyError(f"pair must be one of {'; '.join(known)}, got {', '.join(map(str, key))}")

    @property
    def undecided(self) -> dict[str, str]:
        """For each measure, why the correction could not reject with so few permutations; empty if it could."""
        known: dict[str, str] = {}
        for name in self.measures if self.correction else ():
            scores = self._pairs_for(name)
            p_values, corrected = ([getattr(s, p) for s in scores] for p in ("p_value", "corrected_p_value"))
            if text := undecided(p_values, corrected, self.n_draws, self.alpha):
                known[name] = text
        return known

    def matrix(self, measure: str, what: PairNumber = "value") -> pd.DataFrame:
        """Return a square table for one measure, with first arguments as rows and second arguments as columns.

        Parameters
        ----------
        measure : str
            Name of a measure that was compared.
        what : {'value', 'calibrated', 'p_value', 'corrected_p_value', 'chance'}
            The numbers to return. All except 'value' are NaN on the diagonal and for pairs that were not calibrated.
        """
        self._require_known(what)
        if not self.names:
            raise ValueError("a matrix needs all pairs of several representations, got named pairs: use to_frame()")
        values = self._grid(measure, self.names, self.names, what)
        name = self._pairs_for(measure)[0].name
        if self.symmetric[name]:
            values = values.combine_first(values.T)
        self_value = self.self_values[name]
        if self_value is not None and what == "value":
            for label in self.names:
                others = values.loc[label].drop(label).to_numpy()
                values.loc[label, label] = self_value if len(others) == 0 or np.isfinite(others).any() else np.nan
        return values.loc[list(self.names), list(self.names)]

    def _require_known(self, what: str) -> None:
        if what not in get_args(PairNumber):
            raise ValueError(f"what must be one of {', '.join(get_args(PairNumber))}, got {what!r}")
        if what != "value" and not self.exchanged:
            raise ValueError(f"what must be 'value' without calibration, got {what!r}: pass calibrate=True")

    def plot(  # type: ignore[override]
        self,
        measure: str | None = None,
        ax: Axes | None = None,
        what: PairNumber = "value",
        *,
        cluster: bool = False,
        **style: Unpack[Style],
    ) -> Axes:
        """Draw one of the numbers of a measure as a heat map, with frames around pairs above chance.

        Parameters
        ----------
        measure : str, optional
            Name of a measure that was compared. Default: the first.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        what : {'value', 'calibrated', 'p_value', 'corrected_p_value', 'chance'}
            The number to draw, as for `matrix`.
        cluster : bool
            Whether to place similar representations next to each other (average linkage). For this purpose, asymmetric
            measures are averaged over both orders.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
            If the pairs were calibrated, those whose corrected p-value is at most `alpha` are framed. Named pairs are
            drawn as a list.
        """
        scores = self._pairs_for(self.measures[0] if measure is None else measure)
        if not self.names:
            return Result.plot(replace(self, scores=tuple(scores)), ax, title=style.get("title"))
        score = scores[0]
        closer = {"value": score.closer, "chance": score.closer, "calibrated": "higher"}.get(what, "lower")
        name = score.name if what == "value" else f"{score.name}, {what.replace('_', ' ')}"
        table = self.matrix(score.name, what)
        places = leaf_order(table.to_numpy(dtype=float), closer) if cluster else range(len(self.names))
        order = [self.names[place] for place in places]
        shown = table.loc[order, order].to_numpy(dtype=float)
        return heat_map(
            shown,
            order,
            order,
            closer=closer,
            framed=self._cells_above_chance(score.name, order),
            ax=ax,
            logarithmic=what in ("p_value", "corrected_p_value"),
            **style_options(style, f"{name} ({closer} is closer)", full_range(shown, closer)),
        )

    def _cells_above_chance(self, measure: str, order: Sequence[str]) -> list[tuple[int, int]]:
        place = {name: number for number, name in enumerate(order)}
        cells = [
            (place[pair.first], place[pair.second])
            for pair in self._pairs_for(measure)
            if pair.first != pair.second and pair.deciding_p_value <= self.alpha
        ]
        return cells + ([(column, row) for row, column in cells] if self.symmetric[measure] else [])

    def plot_map(
        self, measure: str | None = None, ax: Axes | None = None, *, groups: Sequence[str] | None = None
    ) -> Axes:
        """Draw the representations in a plane, so that similar ones are close together (classical scaling).

        Parameters
        ----------
        measure : str, optional
            Name of a measure that was compared. Default: the first.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        groups : sequence of str, optional
            The group of each representation, such as a model family, shown by colour and shape.

        Returns
        -------
        matplotlib Axes
            The axis label states which share of the squared distances the plane shows.
        """
        name = self._pairs_for(self.measures[0] if measure is None else measure)[0].name
        table = self.embed(name)
        explained = float(table.attrs["explained"])
        return similarity_map(
            table.to_numpy(dtype=float), list(table.index), explained=explained, groups=groups, title=name, ax=ax
        )

    def embed(self, measure: str, n_dimensions: int = 2) -> pd.DataFrame:
        """Place the representations so that their distances show one measure (classical scaling).

        A similarity s is converted to the distance (best value - s). The values of an asymmetric measure are averaged
        over both orders.

        Parameters
        ----------
        measure : str
            Name of a measure that was compared.
        n_dimensions : int
            Number of coordinates for each representation.

        Returns
        -------
        pandas.DataFrame
            One row per representation; `attrs["explained"]` is the share of the squared distances that these
            coordinates show.
        """
        import pandas as pd

        if n_dimensions < 1:
            raise ValueError(f"n_dimensions must be at least 1, got {n_dimensions}")
        score = self._pairs_for(measure)[0]
        values = self.matrix(measure).to_numpy(dtype=np.float64, copy=True)
        if np.isnan(values).any():
            raise ValueError(f"{score.name} must have a value for every pair to be embedded, got NaN for some")
        values = (values + values.T) / 2
        distances = values if score.closer == "lower" else np.diagonal(values).max() - values
        coordinates, explained = _classical_scaling(np.maximum(distances, 0.0), n_dimensions)
        table = pd.DataFrame(coordinates, index=list(self.names), columns=[f"x{i + 1}" for i in range(n_dimensions)])
        table.attrs["explained"] = explained
        return table

    def _page(self) -> Page:
        from shesha.results.similarity.comparison_pages import pairwise_page

        return pairwise_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        from shesha.results.similarity.comparison_pages import pair_metrics

        return pair_metrics(self)


def _classical_scaling(distances: NDArray[np.float64], n_dimensions: int) -> tuple[NDArray[np.float64], float]:
    """Return coordinates from double-centred squared distances (Torgerson 1952), and the share they show."""
    n = len(distances)
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    kept = np.argsort(values)[::-1][:n_dimensions]
    coordinates = np.zeros((n, n_dimensions))
    coordinates[:, : len(kept)] = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    # The signs of the coordinates are arbitrary; they are chosen so that the largest entry of each is positive.
    signs = np.sign(coordinates[np.abs(coordinates).argmax(axis=0), np.arange(n_dimensions)])
    total = float(np.abs(values).sum())
    return coordinates * np.where(signs == 0, 1.0, signs), (
        float(np.maximum(values[kept], 0.0).sum() / total) if total > 0 else 1.0
    )
