"""Pictures of pairs: representations, layers and times, as heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shesha.charts import heat_map, leaf_order
from shesha.inputs import validation as check
from shesha.results import CalibratedLayers, OverTime, PairScore, PairwiseComparison
from shesha.support import argument_types as kinds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def similarity(
    pairs: PairwiseComparison,
    measure: str,
    *,
    cluster: bool = False,
    p_values: Mapping[tuple[str, str], float] | None = None,
    level: float = 0.05,
    title: str | None = None,
    annotate: bool | None = None,
    cmap: str = "viridis",
    vmin: float | None = None,
    vmax: float | None = None,
    size: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw all pairs as a heat map, those above chance framed.

    If pairs were calibrated, those whose corrected p-value reaches the level are framed; `p_values` overrides these.

    Parameters
    ----------
    pairs : PairwiseComparison
        As `shesha.compare_all` or `shesha.compare` of several returns it.
    measure : str
        One of those that were compared.
    cluster : bool
        Put alike ones beside one another (average linkage); asymmetric measures count as their mean.
    p_values : mapping of (str, str) to float, optional
        By pair of names, as `shesha.calibrate` gives one each.
    level : float
        Of significance; `p_values` are corrected for the number of pairs first (Benjamini and Hochberg).
    title : str, optional
        Default: what is drawn.
    annotate : bool, optional
        Whether values are written into the cells; default: where they fit.
    cmap : str
        Colour map of matplotlib that runs from dark to light.
    vmin, vmax : float, optional
        Ends of the colours: give the same to pictures that are compared. Default: the smallest and largest value.
    size : (width, height), optional
        Of a new figure, in inches.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(pairs, PairwiseComparison, "pairs", "a PairwiseComparison")
    check.boolean(cluster, "cluster")
    table = pairs.matrix(measure)
    name = full_name(pairs, measure)
    closer = next(pair.score.closer for pair in pairs.scores if pair.score.measure == name)
    names = [str(name) for name in table.index]
    order = [names[place] for place in leaf_order(table.to_numpy(dtype=float), closer)] if cluster else names
    values = table.loc[order, order].to_numpy(dtype=float)
    place = {one: number for number, one in enumerate(order)}
    if p_values is None:
        found = [(one.first, one.second) for one in pairs.scores if _is_significant(one, name, level)]
    else:
        found = _significant_pairs(p_values, place, level)
    framed = [(place[first], place[second]) for first, second in found]
    framed += [(column, row) for row, column in framed] if pairs.symmetric[name] else []
    shown = f"{name} ({closer} is closer)" if title is None else title
    style = _Style(annotate, cmap, (vmin, vmax), size)
    return heat_map(values, order, order, title=shown, closer=closer, framed=framed, ax=ax, **style.options)


def layer_grid(
    found: CalibratedLayers,
    ax: Axes | None = None,
    *,
    title: str | None = None,
    annotate: bool | None = None,
    cmap: str = "viridis",
    vmin: float | None = None,
    vmax: float | None = None,
    size: tuple[float, float] | None = None,
) -> Axes:
    """Draw every layer of one model against every layer of another, pairs above chance framed.

    Parameters
    ----------
    found : CalibratedLayers
        P-values of pairs are corrected for their number; where none is above chance the closest pair is framed.
    title : str, optional
        Default: what is drawn.
    annotate : bool, optional
        Whether values are written into the cells; default: where they fit.
    cmap : str
        Colour map of matplotlib that runs from dark to light.
    vmin, vmax : float, optional
        Ends of the colours: give the same to pictures that are compared. Default: the smallest and largest value.
    size : (width, height), optional
        Of a new figure, in inches.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(found, CalibratedLayers, "found", "a CalibratedLayers")
    grid = found.matrix().to_numpy(dtype=float)
    shown = found.picture_title if title is None else title
    style = _Style(annotate, cmap, (vmin, vmax), size)
    return heat_map(
        *(grid, found.rows, found.columns),
        **{"title": shown, "closer": found.closer, "framed": found.framed_cells, "ax": ax, **style.options},
    )


def times(found: OverTime, ax: Axes | None = None) -> Axes:
    """Draw the geometry at each time against that at every other; what is above chance is framed.

    Parameters
    ----------
    found : OverTime
        As `shesha.neuro.over_time` returns it.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(found, OverTime, "found", "an OverTime")
    return found.plot(ax=ax)


@dataclass(frozen=True)
class _Style:
    """How a heat map looks."""

    annotate: bool | None
    cmap: str
    limits: tuple[float | None, float | None]
    size: tuple[float, float] | None

    @property
    def options(self) -> dict[str, Any]:
        """What `heat_map` takes, checked."""
        low, high = self.limits
        if low is not None and high is not None and not low < high:
            raise ValueError(f"vmin must be below vmax ({high}), got {low}")
        return {"annotate": self.annotate, "cmap": self.cmap, "limits": self.limits, "size": self.size}


def _is_significant(pair: PairScore, measure: str, level: float) -> bool:
    return pair.score.measure == measure and pair.first != pair.second and pair.score.deciding_p_value <= level


def full_name(pairs: PairwiseComparison, measure: str) -> str:
    """Return the name under which a measure was compared."""
    from shesha.results.similarity.comparison import plain_name

    return next((name for name in pairs.measures if plain_name(name) == plain_name(measure)), measure)


def _significant_pairs(
    p_values: Mapping[tuple[str, str], float], known: Mapping[str, int], level: float
) -> list[tuple[str, str]]:
    """Return the pairs whose corrected p-values reach a level; NaN is no test."""
    from shesha.nulls import benjamini_hochberg

    if strange := [name for pair in kinds.mapping(p_values, "p_values") for name in pair if name not in known]:
        raise ValueError(f"p_values must name representations that were compared, got {strange[0]!r}")
    tested = {pair: p for pair, p in p_values.items() if p == p}
    if not tested:
        return []
    return [pair for pair, p in zip(tested, benjamini_hochberg(list(tested.values())), strict=True) if p <= level]
