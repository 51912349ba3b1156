"""Heat maps for pairs of representations, layers and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from shesha.charts import heat_map, leaf_order
from shesha.inputs import validation as check
from shesha.results import CalibratedLayers, OverTime, PairScore, PairwiseComparison
from shesha.support import argument_types as kinds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Style(TypedDict, total=False):
    """Options for the appearance of a heat map."""

    title: str | None
    """Title. Default: a description of the values."""
    annotate: bool | None
    """Whether values are written into the cells. Default: only if they fit."""
    cmap: str
    """A matplotlib colour map that runs from dark to light."""
    vmin: float | None
    """Lower end of the colour scale; use equal limits for figures that are compared. Default: the smallest value."""
    vmax: float | None
    """Upper end of the colour scale. Default: the largest value."""
    size: tuple[float, float] | None
    """Width and height of a new figure, in inches."""


def similarity(
    pairs: PairwiseComparison,
    measure: str,
    *,
    cluster: bool = False,
    p_values: Mapping[tuple[str, str], float] | None = None,
    level: float = 0.05,
    ax: Axes | None = None,
    **style: Unpack[Style],
) -> Axes:
    """Draw all pairs as a heat map, with frames around pairs above chance.

    If the pairs were calibrated, those with a corrected p-value of at most `level` are framed. `p_values` replaces the
    p-values in `pairs`.

    Parameters
    ----------
    pairs : PairwiseComparison
        A result of `shesha.compare_all`, or of `shesha.compare` with several representations.
    measure : str
        The measure to draw, which must be one of those in `pairs`.
    cluster : bool
        Whether to place similar representations next to each other (average linkage). For this purpose, asymmetric
        measures are averaged over both orders.
    p_values : mapping of (str, str) to float, optional
        A p-value for each pair of names, for example from `shesha.calibrate`. Default: the p-values in `pairs`.
    level : float
        Significance level. `p_values` are first corrected for the number of pairs (Benjamini and Hochberg).
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.
    **style
        Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`, as in `Style`.

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
    place = {label: number for number, label in enumerate(order)}
    if p_values is None:
        name_pairs = [(pair.first, pair.second) for pair in pairs.scores if _is_significant(pair, name, level)]
    else:
        name_pairs = _significant_pairs(p_values, place, level)
    framed = [(place[first], place[second]) for first, second in name_pairs]
    framed += [(column, row) for row, column in framed] if pairs.symmetric[name] else []
    looks = _looks(style, f"{name} ({closer} is closer)")
    return heat_map(values, order, order, closer=closer, framed=framed, ax=ax, **looks)


def layer_grid(
    result: CalibratedLayers,
    ax: Axes | None = None,
    **style: Unpack[Style],
) -> Axes:
    """Draw all layers of one model against all layers of another, with frames around pairs above chance.

    Parameters
    ----------
    result : CalibratedLayers
        The comparison. Its p-values are corrected for the number of pairs. If no pair or every pair is above chance,
        only the closest pair is framed.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.
    **style
        Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`, as in `Style`.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(result, CalibratedLayers, "result", "a CalibratedLayers")
    grid = result.matrix().to_numpy(dtype=float)
    looks = _looks(style, result.picture_title)
    return heat_map(grid, result.rows, result.columns, closer=result.closer, framed=result.framed_cells, ax=ax, **looks)


def times(result: OverTime, ax: Axes | None = None) -> Axes:
    """Draw the similarity between the geometries at every two times, with frames where it exceeds chance.

    Parameters
    ----------
    result : OverTime
        A result of `shesha.neuro.over_time`.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(result, OverTime, "result", "an OverTime")
    return result.plot(ax=ax)


def _looks(style: Style, title: str) -> dict[str, Any]:
    """Check the options of `heat_map`, and fill in the default title."""
    if unknown := sorted(style.keys() - Style.__annotations__.keys()):
        raise TypeError(f"style must be among {', '.join(Style.__annotations__)}, got {', '.join(unknown)}")
    low, high = style.get("vmin"), style.get("vmax")
    if low is not None and high is not None and not low < high:
        raise ValueError(f"vmin must be below vmax ({high}), got {low}")
    chosen = style.get("title")
    return {
        "title": title if chosen is None else chosen,
        "annotate": style.get("annotate"),
        "cmap": style.get("cmap", "viridis"),
        "limits": (low, high),
        "size": style.get("size"),
    }


def _is_significant(pair: PairScore, measure: str, level: float) -> bool:
    return pair.score.measure == measure and pair.first != pair.second and pair.score.deciding_p_value <= level


def full_name(pairs: PairwiseComparison, measure: str) -> str:
    """Return the full name under which a measure was compared."""
    from shesha.results.similarity.score import plain_name

    return next((name for name in pairs.measures if plain_name(name) == plain_name(measure)), measure)


def _significant_pairs(
    p_values: Mapping[tuple[str, str], float], known: Mapping[str, int], level: float
) -> list[tuple[str, str]]:
    """Return the pairs whose corrected p-values reach the level; NaN means that a pair was not tested."""
    from shesha.nulls import benjamini_hochberg

    if strange := [name for pair in kinds.mapping(p_values, "p_values") for name in pair if name not in known]:
        raise ValueError(f"p_values must contain names of compared representations, got {strange[0]!r}")
    tested = {pair: p for pair, p in p_values.items() if p == p}
    if not tested:
        return []
    return [pair for pair, p in zip(tested, benjamini_hochberg(list(tested.values())), strict=True) if p <= level]
