"""Plots of results, one function per question; each takes and returns matplotlib Axes.

    ax = shesha.plot.stability(shesha.audit(layers))
    shesha.plot.representations(shesha.compare_all(models, "CKA"), "CKA", ax=ax2)

One quiet style, told apart by shape and shade as well as by colour. Needs the extra `plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shesha.charts import curves, frame_cell, heat_map, leaf_order, similarity_map
from shesha.charts import spectra as _spectra
from shesha.inputs import validation as check
from shesha.results import Audit, CalibratedLayers, CoherenceTable, DriftPath, OverTime, PairwiseComparison
from shesha.results.null_summary import BesideNull
from shesha.support import argument_types as kinds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "coherence",
    "drift",
    "layer_grid",
    "null",
    "ranks",
    "representations",
    "similarity",
    "spectra",
    "stability",
    "times",
]


def stability(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw stability with its interval and its chance level, over layers or checkpoints in their order.

    Parameters
    ----------
    audit : Audit
        Of several representations, or one.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(audit, Audit, "audit", "an Audit")
    return audit.plot(ax=ax)


def similarity(
    pairs: PairwiseComparison,
    measure: str,
    *,
    cluster: bool = False,
    p_values: Mapping[tuple[str, str], float] | None = None,
    level: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of all pairs, with frames around those above chance.

    Parameters
    ----------
    pairs : PairwiseComparison
        As `shesha.compare_all` or `shesha.compare` of several returns it.
    measure : str
        One of those that were compared.
    cluster : bool
        Put similar ones next to each other (average linkage); asymmetric measures count as their mean.
    p_values : mapping of (str, str) to float, optional
        By pair of names, as `shesha.calibrate` gives one each.
    level : float
        Of significance, after Benjamini and Hochberg's correction for the number of pairs.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(pairs, PairwiseComparison, "pairs", "a PairwiseComparison")
    table = pairs.matrix(measure)
    name = _full_name(pairs, measure)
    closer = next(pair.score.closer for pair in pairs.scores if pair.score.measure == name)
    names = [str(name) for name in table.index]
    order = [names[place] for place in leaf_order(table.to_numpy(dtype=float), closer)] if cluster else names
    values = table.loc[order, order].to_numpy(dtype=float)
    ax = heat_map(values, order, order, title=f"{name} ({closer} is closer)", closer=closer, ax=ax)
    place = {one: number for number, one in enumerate(order)}
    for first, second in _significant_pairs({} if p_values is None else p_values, place, level):
        frame_cell(ax, place[first], place[second])
        if pairs.symmetric[name]:
            frame_cell(ax, place[second], place[first])
    return ax


def null(found: BesideNull, ax: Axes | None = None) -> Axes:
    """Draw the null distribution with the value and the threshold.

    Parameters
    ----------
    found : result of `calibrate`, `chance` or anything else that keeps its null
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    drawn: Any = kinds.instance(found, BesideNull, "found", "a result with its null distribution")
    return drawn.plot(ax=ax)  # type: ignore[no-any-return]


def layer_grid(found: CalibratedLayers, ax: Axes | None = None) -> Axes:
    """Draw every layer of one model against every layer of another, with a frame around the closest pair.

    Parameters
    ----------
    found : CalibratedLayers
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(found, CalibratedLayers, "found", "a CalibratedLayers")
    return found.plot(ax=ax)


def drift(path: DriftPath | Sequence[Mapping[str, Any]], measure: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw drift over checkpoints, or over the checks of a monitor with their thresholds.

    Parameters
    ----------
    path : DriftPath, or what `DriftMonitor.history` returns
    measure : str, optional
        Of a monitor's checks; default: the first.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(path, DriftPath):
        values = {"from the first": path.from_first, "from the previous": path.from_previous}
        ax = curves(range(len(path.names)), values, labels=("", "drift (0: the same geometry)"), ax=ax)
        ax.set_xticks(range(len(path.names)), path.names, rotation=40, ha="right")
        return ax
    scores = [_primary_score(check, measure) for check in kinds.several(path, dict, "path", "checks, or a DriftPath")]
    if not scores:
        raise ValueError("path must hold at least one check, got none")
    over = {name: [float(one[name]) for one in scores] for name in ("drift", "threshold")}
    return curves(range(1, len(scores) + 1), over, labels=("check", f"drift by {scores[0]['measure']}"), ax=ax)


def coherence(table: CoherenceTable, *, unbiased: bool = False, ax: Axes | None = None) -> Axes:
    """Draw magnitude against coherence of groups, with null groups of the same sizes.

    Parameters
    ----------
    table : CoherenceTable
    unbiased : bool
        The score that does not grow as groups shrink.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(table, CoherenceTable, "table", "a CoherenceTable")
    return table.plot(ax, unbiased=check.boolean(unbiased, "unbiased"))


def ranks(results: pd.DataFrame, axes: Any = None) -> Any:
    """Draw the ranks of measures over the tests of the benchmark, best on top, one panel per domain.

    Parameters
    ----------
    results : DataFrame
        As `shesha.benchmark.published` or `shesha.benchmark.table` return it.
    axes : sequence of matplotlib Axes, optional
        One per domain; default: a new figure.

    Returns
    -------
    array of matplotlib Axes
    """
    from shesha.benchmark import plot_ranks

    return plot_ranks(results, axes)


def representations(
    pairs: PairwiseComparison, measure: str, *, groups: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw representations in a plane, near each other if they are similar (classical scaling).

    Parameters
    ----------
    pairs : PairwiseComparison
    measure : str
        One of those that were compared.
    groups : sequence of str, optional
        One per representation (a family of models), shown by colour and shape.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
        Its label says which share of the distances the plane shows.
    """
    kinds.instance(pairs, PairwiseComparison, "pairs", "a PairwiseComparison")
    placed = pairs.embed(measure)
    explained = float(placed.attrs["explained"])
    title = _full_name(pairs, measure)
    return similarity_map(
        placed.to_numpy(dtype=float), list(placed.index), explained=explained, groups=groups, title=title, ax=ax
    )


def spectra(representations: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the distribution of variance over the directions of each representation.

    Parameters
    ----------
    representations : mapping of str to array of shape (n_rows, n_features)
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    from shesha.views import Representation, Variances

    kinds.mapping(representations, "representations")
    return _spectra(
        {name: Variances.build(Representation.build(X)).shares for name, X in representations.items()}, ax=ax
    )


def times(found: OverTime, ax: Axes | None = None) -> Axes:
    """Draw the agreement of geometries between all times, with frames around values above chance.

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


def _full_name(pairs: PairwiseComparison, measure: str) -> str:
    """Return the name under which a measure was compared."""
    from shesha.results.similarity.comparison import plain_name

    return next((name for name in pairs.measures if plain_name(name) == plain_name(measure)), measure)


def _significant_pairs(
    p_values: Mapping[tuple[str, str], float], known: Mapping[str, int], level: float
) -> list[tuple[str, str]]:
    """Return the pairs whose corrected p-values reach a level; NaN means no test."""
    from shesha.nulls import benjamini_hochberg

    if strange := [name for pair in kinds.mapping(p_values, "p_values") for name in pair if name not in known]:
        raise ValueError(f"p_values must name representations that were compared, got {strange[0]!r}")
    tested = {pair: p for pair, p in p_values.items() if p == p}
    if not tested:
        return []
    return [pair for pair, p in zip(tested, benjamini_hochberg(list(tested.values())), strict=True) if p <= level]


def _primary_score(check: Mapping[str, Any], measure: str | None) -> Mapping[str, Any]:
    """Return the score of one measure in a check's plain values."""
    known: dict[str, Mapping[str, Any]] = {one["measure"]: one for one in check["scores"]}
    wanted = next(iter(known)) if measure is None else measure
    if wanted not in known:
        raise ValueError(f"measure must be one of {', '.join(known)}, got {measure!r}")
    return known[wanted]
