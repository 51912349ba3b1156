"""Plots of results, one function per question; each function takes and returns matplotlib Axes.

    ax = shesha.plot.stability(shesha.audit(layers))
    shesha.plot.representations(shesha.compare_all(models, "CKA"), "CKA", ax=ax2)

All plots have the same style, in which shapes and shades distinguish items as well as colours do. The extra `plot` must
be installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shesha.charts import curves, similarity_map
from shesha.charts import spectra as _spectra
from shesha.inputs import validation as check
from shesha.plot.heat_maps import full_name
from shesha.results import Audit, CoherenceTable, DriftPath, PairwiseComparison
from shesha.results.null_summary import NullComparison
from shesha.support import argument_types as kinds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def stability(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw stability with intervals and chance levels, over layers or checkpoints in order.

    Parameters
    ----------
    audit : Audit
        Audit of one or several representations.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(audit, Audit, "audit", "an Audit")
    return audit.plot(ax=ax)


def null(result: NullComparison, ax: Axes | None = None) -> Axes:
    """Draw the null distribution together with the observed value and the threshold.

    Parameters
    ----------
    result : NullComparison
        A result that contains a null distribution, for example from `shesha.calibrate` or `shesha.chance`.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    drawn: Any = kinds.instance(result, NullComparison, "result", "a result with its null distribution")
    return drawn.plot(ax=ax)  # type: ignore[no-any-return]


def drift(path: DriftPath | Sequence[Mapping[str, Any]], measure: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw drift over checkpoints, or over a monitor's checks together with their thresholds.

    Parameters
    ----------
    path : DriftPath or sequence of dict
        Drift over checkpoints, or `DriftMonitor.history`.
    measure : str, optional
        Which measure of the monitor's checks to draw. Default: the first measure.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(path, DriftPath):
        values = {"from the first": path.from_first, "from the previous": path.from_previous}
        ax = curves(range(len(path.names)), values, labels=("", "drift (0 = same geometry)"), ax=ax)
        ax.set_xticks(range(len(path.names)), path.names, rotation=40, ha="right")
        return ax
    scores = [_primary_score(check, measure) for check in kinds.several(path, dict, "path", "checks, or a DriftPath")]
    if not scores:
        raise ValueError("path must contain at least one check, got none")
    series = {name: [float(score[name]) for score in scores] for name in ("drift", "threshold")}
    return curves(range(1, len(scores) + 1), series, labels=("check", f"drift by {scores[0]['measure']}"), ax=ax)


def coherence(table: CoherenceTable, *, unbiased: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the magnitude of groups against their coherence, with null groups of the same sizes.

    Parameters
    ----------
    table : CoherenceTable
        The coherence of each group.
    unbiased : bool
        Whether to draw the unbiased score, which does not increase for smaller groups.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    kinds.instance(table, CoherenceTable, "table", "a CoherenceTable")
    return table.plot(ax, unbiased=check.boolean(unbiased, "unbiased"))


def ranks(results: pd.DataFrame, axes: Any = None) -> Any:
    """Draw the ranks of measures over the benchmark's tests, best on top, with one panel per domain.

    Parameters
    ----------
    results : DataFrame
        A table from `shesha_bench.published` or `shesha_bench.table`.
    axes : sequence of matplotlib Axes, optional
        One Axes object per domain. Default: a new figure.

    Returns
    -------
    array of matplotlib Axes
    """
    from shesha_bench import plot_ranks

    return plot_ranks(results, axes)


def representations(
    pairs: PairwiseComparison, measure: str, *, groups: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw representations in a plane, so that similar ones are close together (classical scaling).

    Parameters
    ----------
    pairs : PairwiseComparison
        A comparison of all pairs of representations.
    measure : str
        The measure to use, which must be one of those in `pairs`.
    groups : sequence of str, optional
        The group of each representation, such as a model family, shown by colour and shape.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
        The axis label states which share of the squared distances the plane shows.
    """
    kinds.instance(pairs, PairwiseComparison, "pairs", "a PairwiseComparison")
    placed = pairs.embed(measure)
    explained = float(placed.attrs["explained"])
    title = full_name(pairs, measure)
    return similarity_map(
        placed.to_numpy(dtype=float), list(placed.index), explained=explained, groups=groups, title=title, ax=ax
    )


def spectra(representations: Mapping[str, Any], ax: Axes | None = None, *, ordered: bool = False) -> Axes:
    """Draw how the variance of each representation is distributed over its principal directions.

    Parameters
    ----------
    representations : mapping of str to array of shape (n_rows, n_features)
        The representations, by name.
    ordered : bool
        Whether the representations are in a meaningful order, as layers are. If so, colours run from dark to light.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    from shesha.views import Representation, Variances

    kinds.mapping(representations, "representations")
    return _spectra(
        {name: Variances.build(Representation.build(X)).shares for name, X in representations.items()},
        ordered=check.boolean(ordered, "ordered"),
        ax=ax,
    )


def _primary_score(check: Mapping[str, Any], measure: str | None) -> Mapping[str, Any]:
    """Return the score for one measure from the plain values of a check."""
    known: dict[str, Mapping[str, Any]] = {score["measure"]: score for score in check["scores"]}
    wanted = next(iter(known)) if measure is None else measure
    if wanted not in known:
        raise ValueError(f"measure must be one of {', '.join(known)}, got {measure!r}")
    return known[wanted]
