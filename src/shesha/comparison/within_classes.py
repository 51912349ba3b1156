"""Compare representations within each class of rows and each block, and how well blocks are mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import comb, log
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.comparison.compare import MOST_ROWS_TESTED, PairRequest, compare_in_memory, seed_measures, two_names
from shesha.comparison.engine import add_note, add_null, correct_p_values, name_pair
from shesha.comparison.sampled_scores import Sampling
from shesha.doubting import warn_of_pair_doubts, warn_of_shuffled_rows
from shesha.inputs import MissingRows, RowChoice, labels_in_order, orders, split_names, validation as check
from shesha.inputs.matrix_shapes import hint_of_transpose
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice, metric_of_rows
from shesha.nulls.dependence import share_of_near_repeats
from shesha.nulls.design_builder import equal_groups, exchange
from shesha.nulls.null_summary import best_value, holm, summarise
from shesha.nulls.permutations import Design
from shesha.results import Comparison, Number, Score
from shesha.results.within_classes import PARTLY, SeveralWithinClasses, WithinClasses
from shesha.support import provenance, types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.progress import track
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, default_draws, draw_seed, number
from shesha.support.types import Index, Labels, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import count, join_items, natural_key
from shesha.views import Rdm, Representation, select_rows

SILHOUETTE, ILISI, CONNECTIVITY = "batch silhouette", "iLISI", "graph connectivity"
_MOST_NAMED = 5
"""Maximum number of classes that a message names."""
_FEWEST = 5
"""Minimum number of rows that a block must have in a class, because single rows have no silhouette."""
_MOST_ROWS = 2_000
"""Largest number of rows of a class for which all silhouettes are computed, and of rows whose neighbours are found."""
_NEIGHBOURS, _PERPLEXITY = 90, 30
"""As in the published code of LISI: the effective number of neighbours is a third of their number."""
_CONNECTED, _MOST_CONNECTED = 15, 5_000
"""Number of neighbours of each row including itself, as in scib-metrics, and largest number of rows of the graph."""
_STEPS, _TOLERANCE = 50, 1e-5
_SHUFFLES = 10
"""Number of times that blocks are shuffled, to see the values of perfect mixing."""
_PANEL = 256


def block_mixing(rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_]) -> dict[str, Number]:
    """Return the batch silhouette, iLISI and graph connectivity: 1 if blocks are mixed, lower if they are separate.

    Parameters
    ----------
    rows : array of shape (n, d)
    classes, blocks : arrays of str of shape (n,)

    Returns
    -------
    dict
        'batch silhouette' is the mean over classes of 1 - |silhouette of the blocks| (Buttner et al. 2019), and 'iLISI'
        the median over rows of the effective number of blocks among the neighbours, rescaled to 0 to 1 (Korsunsky et
        al. 2019). Their chance levels are the values of blocks that are mixed at random within classes, which are below
        1. 'graph connectivity' is the mean over classes of the share of rows in the largest connected part of the graph
        of nearest neighbours (Luecken et al. 2022). NaN if there is a single block.
    """
    drawn = {
        SILHOUETTE: batch_silhouette(rows, classes, blocks, _SHUFFLES),
        ILISI: ilisi(rows, classes, blocks, _SHUFFLES),
    }
    shared: dict[str, Any] = {"best": 1.0, "n_rows": len(rows)}
    shuffled: dict[str, Any] = {"n_draws": _SHUFFLES, "exchanged": "blocks within classes"}
    mixing = {
        name: Number(
            name=name, value=value, chance=float(draws.mean()), chance_sd=float(draws.std()), **shuffled, **shared
        )
        for name, (value, *rest) in drawn.items()
        for draws in [np.array(rest)]
    }
    connectivity = graph_connectivity(rows, classes) if len(np.unique(blocks)) > 1 else float("nan")
    return mixing | {CONNECTIVITY: Number(name=CONNECTIVITY, value=connectivity, **shared)}


def batch_silhouette(
    rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_], n_shuffles: int = 0
) -> list[float]:
    """Return the mean over classes of 1 - |silhouette of the blocks|, observed and with blocks shuffled in classes."""
    values, rng = [], np.random.default_rng(1)
    for name in np.unique(classes):
        inside = np.flatnonzero(classes == name)
        _, codes, counts = np.unique(blocks[inside], return_inverse=True, return_counts=True)
        kept = counts[codes] >= _FEWEST
        if (counts >= _FEWEST).sum() > 1:
            inside = inside[kept]
            if len(inside) > _MOST_ROWS:
                inside = np.sort(np.random.default_rng(0).choice(inside, _MOST_ROWS, replace=False))
            codes = np.unique(blocks[inside], return_inverse=True)[1]
            shuffled = np.stack([codes, *(rng.permutation(codes) for _ in range(n_shuffles))])
            values.append((1 - np.abs(_silhouettes(rows[inside], shuffled))).mean(axis=0))
    return list(map(float, np.mean(values, axis=0))) if values else [float("nan")] * (1 + n_shuffles)


def _silhouettes(rows: Matrix, codes: Labels) -> Matrix:
    """Return the silhouette of each row for each line of codes (n_rows, n_lines); 0 for the only row of a code."""
    n_codes = int(codes.max()) + 1
    own = codes.T[:, :, None] == np.arange(n_codes)
    members, counts = own.reshape(len(rows), -1).astype(np.float64), own.sum(axis=0)
    totals = np.concatenate([distances @ members for _, distances in _distances(rows, np.arange(len(rows)))])
    totals = totals.reshape(own.shape)
    sizes = np.broadcast_to(counts, own.shape)[own].reshape(codes.T.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = totals[own].reshape(codes.T.shape) / (sizes - 1)
        outside = np.where(own, np.inf, totals / counts).min(axis=2)
        values = (outside - inside) / np.maximum(inside, outside)
    return np.where(sizes > 1, np.nan_to_num(values), 0.0)


def graph_connectivity(rows: Matrix, classes: NDArray[np.str_]) -> float:
    """Return the mean over classes of the share of rows in the largest connected part of the neighbour graph.

    Every row is connected to its nearest neighbours among all rows, of which those of other classes are left out.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(rows) > _MOST_CONNECTED:
        kept = np.sort(np.random.default_rng(0).choice(len(rows), _MOST_CONNECTED, replace=False))
        rows, classes = rows[kept], classes[kept]
    n, k = len(rows), min(_CONNECTED, len(rows))
    near = np.concatenate([np.argpartition(d, k - 1, axis=1)[:, :k] for _, d in _distances(rows, np.arange(n))])
    graph = csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    shares = []
    for name in np.unique(classes):
        inside = np.flatnonzero(classes == name)
        parts = connected_components(graph[inside][:, inside], connection="strong")[1]
        shares.append(np.bincount(parts).max() / len(inside))
    return float(np.mean(shares))


def class_separation(rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_]) -> Matrix:
    """Return which share of the squared distance between rows of two classes comes from the distance of their means.

    Means are compared within each block that has enough rows of both classes, so that a difference of blocks does not
    count; without such a block, over all rows. The squared distance of the means is corrected for their sampling error.

    Parameters
    ----------
    rows : array of shape (n, d)
    classes, blocks : arrays of str of shape (n,)

    Returns
    -------
    array of shape (n_classes, n_classes)
        In [0, 1], for the classes in sorted order: 0 if the means of two classes are equal, 1 if rows do not vary
        within classes.
    """
    from scipy.spatial.distance import cdist

    codes, n_classes = np.unique(classes, return_inverse=True)[1], len(np.unique(classes))
    between, total = np.zeros((2, n_classes, n_classes))
    # The second turn, over all rows, serves pairs of classes that share no block.
    for labels in (blocks, np.full(len(rows), "")):
        served = total > 0
        for block in np.unique(labels):
            inside = np.flatnonzero(labels == block)
            ends = np.cumsum(np.bincount(codes[inside], minlength=n_classes))
            members = np.split(inside[np.argsort(codes[inside], kind="stable")], ends[:-1])
            known = np.flatnonzero([len(member) >= _FEWEST for member in members])
            sizes = np.array([len(members[place]) for place in known])
            means = np.array([rows[members[place]].mean(axis=0) for place in known]).reshape(len(known), rows.shape[1])
            spread = np.array([rows[members[place]].var(axis=0, ddof=1).sum() for place in known])
            squared = cdist(means, means, "sqeuclidean") - np.add.outer(*[spread / sizes] * 2)
            where = np.ix_(known, known)
            weight = np.where(served[where], 0.0, 1 / np.add.outer(*[1 / sizes] * 2))
            between[where] += weight * squared
            total[where] += weight * (squared + np.add.outer(spread, spread))
    return np.clip(np.divide(between, total, out=np.zeros_like(total), where=total > 0), 0.0, 1.0)


_SEPARATE, _LEFT = 0.1, 0.2
"""Smallest share of the squared distance that separates two classes, and the largest part of it that merged classes
keep. Cell types in blood have shares of 0.12 to 0.7."""


def ilisi(rows: Matrix, classes: NDArray[np.str_], blocks: NDArray[np.str_], n_shuffles: int = 0) -> list[float]:
    """Return the median effective number of blocks among the neighbours of a row, rescaled to 0 to 1.

    The first value is the observed one; others are for blocks that are shuffled within classes.
    """
    names, codes = np.unique(blocks, return_inverse=True)
    n, k = len(rows), min(_NEIGHBOURS, len(rows) - 1)
    if len(names) < 2 or k < 3:
        return [float("nan")] * (1 + n_shuffles)
    queries = np.arange(n)
    if n > _MOST_ROWS:
        queries = np.sort(np.random.default_rng(0).choice(n, _MOST_ROWS, replace=False))
    order, rng = np.argsort(classes, kind="stable"), np.random.default_rng(1)
    shuffled = np.tile(codes, (1 + n_shuffles, 1))
    for line in shuffled[1:]:
        # Rows sorted by class, and at random within classes, exchange their blocks.
        line[order] = codes[np.lexsort((rng.random(n), classes))]
    simpson = []
    for panel, distances in _distances(rows, queries):
        distances[np.arange(len(panel)), panel] = np.inf
        near = np.argpartition(distances, k - 1, axis=1)[:, :k]
        weights = _neighbour_weights(np.take_along_axis(distances, near, axis=1), min(_PERPLEXITY, k / 3))
        of_codes = ((weights * (shuffled[:, near] == code)).sum(axis=2) ** 2 for code in range(len(names)))
        simpson.append(sum(of_codes))
    effective = np.median(1 / np.concatenate(simpson, axis=1), axis=1)
    return list(map(float, np.clip((effective - 1) / (len(names) - 1), 0.0, 1.0)))


def _neighbour_weights(distances: Matrix, perplexity: float) -> Matrix:
    """Return weights of neighbours that decrease with distance, with the requested entropy."""
    shifted = distances - distances.min(axis=1, keepdims=True)
    beta, low, high = np.ones(len(distances)), np.zeros(len(distances)), np.full(len(distances), np.inf)
    for _ in range(_STEPS):
        weights = np.exp(-shifted * beta[:, None])
        total = weights.sum(axis=1)
        weights /= total[:, None]
        excess = np.log(total) + beta * (shifted * weights).sum(axis=1) - np.log(perplexity)
        if (np.abs(excess) < _TOLERANCE).all():
            break
        low, high = np.where(excess > 0, beta, low), np.where(excess > 0, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    return np.asarray(weights)


def _distances(rows: Matrix, queries: Index) -> Iterator[tuple[Index, Matrix]]:
    """Yield panels of rows with their Euclidean distances to all rows."""
    from scipy.spatial.distance import cdist

    for start in range(0, len(queries), _PANEL):
        panel = queries[start : start + _PANEL]
        yield panel, cdist(rows[panel], rows)


KEPT, LOST = 0.2, 0.8
"""Shares of a class's variance that are exchanged between its rows to see what counts as kept and as lost."""
_EXCHANGES = 5
"""Number of random exchanges over which these values are averaged."""


@overload
def compare_within(
    X: ArrayLike,
    Y: Mapping[str, ArrayLike],
    labels: ArrayLike,
    measures: Choice | Iterable[Choice] = ...,
    *,
    names: str | tuple[str, str] = ...,
    blocks: ArrayLike | None = ...,
    groups: ArrayLike | None = ...,
    min_rows: int = ...,
    min_group: int = ...,
    n_permutations: int | None = ...,
    alpha: float = ...,
    confidence: float = ...,
    rows: RowChoice = ...,
    missing: MissingRows = ...,
    seed: Seed = ...,
) -> SeveralWithinClasses: ...


@overload
def compare_within(
    X: ArrayLike,
    Y: ArrayLike,
    labels: ArrayLike,
    measures: Choice | Iterable[Choice] = ...,
    *,
    names: tuple[str, str] = ...,
    blocks: ArrayLike | None = ...,
    groups: ArrayLike | None = ...,
    min_rows: int = ...,
    min_group: int = ...,
    n_permutations: int | None = ...,
    alpha: float = ...,
    confidence: float = ...,
    rows: RowChoice = ...,
    missing: MissingRows = ...,
    seed: Seed = ...,
) -> WithinClasses: ...


@provenance.keep_statements
def compare_within(
    X: ArrayLike,
    Y: ArrayLike | Mapping[str, ArrayLike],
    labels: ArrayLike,
    measures: Choice | Iterable[Choice] = "recommended",
    *,
    names: str | tuple[str, str] = ("X", "Y"),
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    min_rows: int = 20,
    min_group: int = 5,
    n_permutations: int | None = None,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> WithinClasses | SeveralWithinClasses:
    """Compare representations of the same rows within each class, with a separate null for each.

    If classes are well separated, any two representations that separate them look similar. A batch integration, for
    example, can preserve cell types but lose all structure within them. Comparing within each class reveals this. With
    `blocks`, only pairs of rows of one class and one block are compared, so that an embedding from which a batch effect
    was removed is not blamed for it, and one that contains it is not credited with it.

    From a class with more than 2,000 rows, 2,000 random rows are compared, because `compare` by default tests no more.

    Chance is not the standard for what was kept. A class counts as kept if the lower end of each measure's interval
    reaches the value of X with itself after a fifth of its variance was exchanged between the rows of the class, and as
    lost if no measure is above chance and every upper end is below the value after four fifths were exchanged. In
    between, it is partly kept if it is above chance, and undecided if not.

    Classes are not compared with one another, but the result names two classes whose means X separates and Y does not:
    the share of their squared distance that comes from the means falls to a fifth or less.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        As for `compare`. Rows with names are matched by name.
    Y : array of shape (n_samples, n_features), or mapping of str to such arrays
        As X. Each of several, such as the embeddings of several integration methods, is compared with X alone, always
        with the same rows and permutations.
    labels : array of shape (n_samples,)
        The class of each row, such as the cell type. Rows without a label (None, NaN) are left out.
    measures
        As for `compare`.
    names : pair of str, or str
        Names of X and Y in the table; of X alone if Y is a mapping.
    blocks : array of shape (n_samples,), optional
        Labels of blocks, such as batches. Values and null distributions use only pairs of rows of the same class and
        block: each is the mean over the blocks of a class, weighted by their rows. Blocks with fewer than `min_rows`
        rows of a class are left out of this class. The result also reports how well blocks are mixed in X and Y.
    groups : array of shape (n_samples,), optional
        Labels of groups, such as donors, which are permuted as a whole. Only groups of equal size can be permuted, so
        each class (and block) uses as many rows of every group as its smallest group has.
    min_rows : int
        Minimum number of rows in a class (and block). Smaller classes are listed but not compared.
    min_group : int
        Minimum number of rows that a group must have in a class. Smaller groups are left out of this class.
    n_permutations : int, optional
        Number of permutations. Default: 200, or as many as one class needs to be significant after the correction for
        the number of classes.
    alpha, confidence, rows, missing, seed
        As for `compare`. `alpha` is the level of p-values that are corrected for the number of measures and classes.

    Returns
    -------
    WithinClasses, or SeveralWithinClasses if Y is a mapping
        The comparisons of all classes. `to_frame()` has one line per class and measure, and ``["T cell"]`` is the
        comparison for one class. The line 'all rows' is the mean over the classes, weighted by their rows. Of several,
        ``["name"]`` selects one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> types = np.repeat(["B", "T"], 40)
    >>> X = rng.standard_normal((80, 10)) + 3 * (types == "T")[:, None]
    >>> lost = np.where((types == "T")[:, None], rng.standard_normal((80, 10)) + 3, X)  # All that is within T is gone.
    >>> found = compare_within(X, lost, types, "CKA", n_permutations=99)
    >>> found.kept, found.lost
    (('B',), ('T',))
    >>> found.to_frame().set_index("class")["value"].round(1).to_dict()
    {'B': 1.0, 'T': 0.2, 'all rows': 0.6}
    >>> several = compare_within(X, {"reversed": X[:, ::-1], "lost": lost}, types, "CKA", n_permutations=99)
    >>> several["reversed"].kept, several["lost"].lost
    (('B', 'T'), ('T',))
    """
    if isinstance(Y, Mapping):
        options: dict[str, Any] = {"min_rows": min_rows, "min_group": min_group, "n_permutations": n_permutations}
        options |= {"alpha": alpha, "confidence": confidence, "seed": seed}
        along = {"labels": labels, "blocks": blocks, "groups": groups}
        return _compare_several(X, Y, along, measures, names, rows=rows, missing=missing, **options)
    min_rows = check.count(min_rows, "min_rows", minimum=5)
    min_group = check.count(min_group, "min_group", minimum=2)
    alpha = check.fraction(alpha, "alpha", closed=False)
    confidence = check.fraction(confidence, "confidence", closed=False)
    names = two_names(names)
    along = {"labels": labels, "blocks": blocks, "groups": groups}
    chosen = seed_measures(choose(measures), seed)
    named = dict(zip(names, (X, Y), strict=True))
    sides, along = select_rows(named, along, rows=rows, missing=missing, **metric_of_rows(chosen))
    first, second = sides.values()
    rows_of_both = _LabelledRows.build(first, second, names, along)
    if np.array_equal(*rows_of_both.sides):
        provenance.state_warning(f"{names[0]} and {names[1]} contain the same values, so nothing was changed")
    excluded: dict[str, str] = {}
    strata: dict[str, list[Index]] = {}
    for name in rows_of_both.class_names:
        parts, reason = rows_of_both.strata(name, min_rows, min_group, alpha)
        if reason:
            excluded[name] = reason
        else:
            strata[name] = parts
    if not strata:
        reasons = "; ".join(f"{name}: {why}" for name, why in islice(excluded.items(), _MOST_NAMED))
        reasons += f"; and {len(excluded) - _MOST_NAMED:,} more" * (len(excluded) > _MOST_NAMED)
        raise ValueError(
            f"labels must contain a class of at least {count(min_rows, 'row')} that can be compared, got none "
            f"({reasons})"
        )
    rows_of_both.state_rows(strata)
    if n_permutations is None:
        n_permutations = default_draws(len(strata), alpha, N_PERMUTATIONS)
    n_permutations = check.count(n_permutations, "n_permutations")
    request = _Request(
        rows_of_both, chosen, names, n_permutations=n_permutations, alpha=alpha, confidence=confidence, seed=seed
    )
    parts_of = {
        name: [
            request.compare(rows, place, n_strata=len(parts), weight=len(parts[place]))
            for place, rows in enumerate(rows_of_both.draw_rows(parts, min_rows, draw_seed(seed)))
        ]
        for name, parts in track(strata.items(), len(strata), "classes")
    }
    classes = {name: request.combine(parts) for name, parts in parts_of.items()}
    total = request.combine([part for parts in parts_of.values() for part in parts])
    kept_bars, lost_bars = (
        {
            measure.name: {name: _mean(parts, measure.name, place) for name, parts in parts_of.items()}
            for measure in chosen
        }
        for place in (0, 1)
    )
    merged, apart = rows_of_both.merged(request.names, min_rows)
    result = WithinClasses(
        *request.names,
        classes=classes,
        sizes={name: sum(part.n for part in parts) for name, parts in parts_of.items()},
        whole=total,
        excluded=excluded,
        corrected={measure.name: _correct_over_classes(classes, measure.name) for measure in chosen},
        kept_bars=kept_bars,
        lost_bars=lost_bars,
        n_blocks={} if blocks is None else {name: len(parts) for name, parts in strata.items()},
        mixing=rows_of_both.mixing(request.names),
        merged=merged,
        apart=apart,
        alpha=alpha,
        n_draws=n_permutations,
    )
    remains = result.kept or result.classes_with(PARTLY)
    if result.lost and not remains and len(merged) == comb(len(classes), 2):
        first, second = request.names
        provenance.state_warning(
            f"{second} keeps nothing of {first}, neither within nor between classes, as if its rows were in another "
            "order; check that row i of both is the same input"
        )
    return result


def _compare_several(
    X: ArrayLike,
    others: Mapping[str, ArrayLike],
    along: dict[str, Any],
    measures: Choice | Iterable[Choice],
    names: str | tuple[str, str],
    *,
    rows: RowChoice,
    missing: MissingRows,
    **options: Any,
) -> SeveralWithinClasses:
    """Compare each of several representations with X, all with the same rows."""
    if not others:
        raise ValueError("Y must contain at least one representation, got none")
    first = names if isinstance(names, str) else two_names(names)[0]
    if first in others:
        raise ValueError(f"names must differ from the names in Y, got {first!r}")
    sides, along = select_rows({first: X, **{str(k): v for k, v in others.items()}}, along, rows=rows, missing=missing)
    X = sides.pop(first)
    comparisons = (
        compare_within(X, Y, measures=measures, names=(first, name), **along, **options) for name, Y in sides.items()
    )
    return SeveralWithinClasses(first, tuple(comparisons))


_COPIED = 0.05
"""Share of rows that repeat another row from which on this is stated."""


@dataclass(frozen=True)
class _LabelledRows:
    """The rows of both representations, with the class, block and group of each row."""

    sides: tuple[NDArray[Any], NDArray[Any]]
    classes: NDArray[Any]
    block: NDArray[Any] | None
    group: NDArray[Any] | None

    @classmethod
    def build(cls, X: ArrayLike, Y: ArrayLike, names: tuple[str, str], labels: dict[str, Any]) -> _LabelledRows:
        """Check both representations and their labels, and match the rows by name."""
        (first, second), aligned = _align_rows(X, Y, names, labels)
        classes = _labels_as_text(aligned["labels"], len(first), "labels")
        block, group = (
            None if aligned[name] is None else _labels_as_text(aligned[name], len(first), name)
            for name in ("blocks", "groups")
        )
        arrays = dict(zip(names, (first, second), strict=True))
        codes = check.labels(classes.astype(str), len(classes), min_classes=1)[0]
        warn_of_pair_doubts(arrays, classes=codes)
        warn_of_shuffled_rows({"a label": codes}, arrays)
        if block is not None and group is None:
            share = share_of_near_repeats([first, second])
            if share >= _COPIED:
                provenance.state_warning(
                    f"about {100 * share:.0f} % of the rows nearly repeat another row, as if inputs were measured or "
                    "saved twice, such as in two batches. Rows then count twice, and batches mix in any case: keep "
                    "one row of each, or pass them as groups="
                )
        return cls((first, second), classes, block, group)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes; numbers in them are sorted by value."""
        return sorted({name for name in self.classes if name is not None}, key=natural_key)

    def strata(self, name: str, min_rows: int, min_group: int, alpha: float) -> tuple[list[Index], str]:
        """Return the rows of a class in each of its blocks, or a reason if the class cannot be compared."""
        rows = every = np.flatnonzero(self.classes == name)
        for labels in (self.block, self.group):
            if labels is not None:
                rows = rows[[value is not None for value in labels[rows]]]
        n_without = len(every) - len(rows)
        without = f", and {n_without:,} of its {len(every):,} have no value of blocks or groups" if n_without else ""
        blocks = [rows] if self.block is None else _split(rows, self.block)
        fewest = 3 if self.block is None else 2
        reasons: list[str] = []
        if self.group is not None:
            blocks, reasons = _equal_groups(blocks, self.group, min_group, fewest)
        large = [part for part in blocks if len(part) >= min_rows]
        if not large:
            if reasons and not blocks:
                return [], reasons[0]
            where = "" if self.block is None else " in its largest block"
            largest = max(map(len, blocks), default=0)
            return [], f"{count(largest, 'row')}{where}, fewer than {min_rows}{without}"
        if self.group is not None:
            log_count = sum(exchange(len(part), groups=self.group[part].astype(str)).log_count for part in large)
            if log_count < log(1 / alpha) - 1e-9:
                return [], f"its groups have only {round(np.exp(log_count))} permutations, so p cannot reach {alpha:g}"
        return large, ""

    def draw_rows(self, parts: list[Index], min_rows: int, seed: int) -> list[Index]:
        """Draw random rows of a class that is too large to be tested; each part and group keeps its share of them."""
        share, rng = MOST_ROWS_TESTED / sum(map(len, parts)), np.random.default_rng(seed)
        if share >= 1:
            return parts
        drawn = []
        for part in parts:
            units = [part] if self.group is None else _split(part, self.group)
            fewest = -(-min_rows // len(units))
            some = [rng.choice(unit, max(fewest, round(share * len(unit))), replace=False) for unit in units]
            drawn.append(np.sort(np.concatenate(some)))
        return drawn

    def state_rows(self, strata: dict[str, list[Index]]) -> None:
        """State how many rows are compared, and how many are not."""
        n, used = len(self.classes), sum(len(part) for parts in strata.values() for part in parts)
        unlabelled = sum(label is None for label in self.classes)
        if unlabelled:
            provenance.state(f"{count(unlabelled, 'row')} of {n:,} without a label left out")
        blocks = "" if self.block is None else f" in {count(sum(map(len, strata.values())), 'pair')} of class and block"
        if n - used - unlabelled:
            provenance.state(f"{used:,} of {count(n, 'row')} compared{blocks}")
        elif blocks:
            provenance.state(f"rows compared{blocks}")
        large = [name for name, parts in strata.items() if sum(map(len, parts)) > MOST_ROWS_TESTED]
        if large:
            provenance.state(f"{MOST_ROWS_TESTED:,} random rows drawn from {join_items(large)}")

    def mixing(self, names: tuple[str, str]) -> dict[str, dict[str, Number]]:
        """Return how well blocks are mixed in each representation; empty without blocks."""
        if self.block is None:
            return {}
        both = np.array([a is not None and b is not None for a, b in zip(self.classes, self.block, strict=True)])
        labels = self.classes[both].astype(str), self.block[both].astype(str)
        return {name: block_mixing(side[both], *labels) for name, side in zip(names, self.sides, strict=True)}

    def merged(self, names: tuple[str, str], min_rows: int) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
        """Return the pairs of classes whose means only the first representation separates, and those without a block.

        A pair is without a block if no block contains both classes.
        """
        blocks = np.full(len(self.classes), "") if self.block is None else self.block
        sizes = Counter(name for name in self.classes if name is not None)
        known_blocks = np.array([block is not None for block in blocks])
        rows = np.array([sizes[name] >= min_rows for name in self.classes]) & known_blocks
        labels, blocks = self.classes[rows].astype(str), blocks[rows].astype(str)
        before, after = (class_separation(side[rows] / safe_unit(side), labels, blocks) for side in self.sides)
        known = [(str(name), set(blocks[labels == name])) for name in np.unique(labels)]
        found, apart = {}, []
        for a, b in np.argwhere(np.triu((before >= _SEPARATE) & (after <= _LEFT * before), 1)).tolist():
            (first, of_first), (second, of_second) = known[a], known[b]
            found[f"{first} and {second}"] = dict(zip(names, (float(before[a, b]), float(after[a, b])), strict=True))
            if not of_first & of_second:
                apart.append(f"{first} and {second}")
        return dict(sorted(found.items(), key=lambda pair: -pair[1][names[0]])), tuple(apart)


@dataclass(frozen=True)
class _Part:
    """The comparison of the rows of one class in one block."""

    n: int
    weight: int
    """Number of rows from which those that are compared were drawn."""
    comparison: Comparison
    nulls: dict[str, Vector]
    bars: dict[str, tuple[float, float]]
    """For each measure, the values that count as kept and as lost."""


@dataclass(frozen=True)
class _Request:
    """What is compared, and how."""

    rows_of_both: _LabelledRows
    measures: list[Measure]
    names: tuple[str, str]
    n_permutations: int
    alpha: float
    confidence: float
    seed: Seed

    def compare(self, rows: Index, place: int, *, n_strata: int, weight: int) -> _Part:
        """Compare some rows of both representations; the place in the class selects the permutations."""
        first, second = (side[rows] for side in self.rows_of_both.sides)
        if self.rows_of_both.block is not None:
            # Some measures depend on the origin. Centred, both sides lack the shift that sets this block apart.
            first, second = (side - side.mean(axis=0) for side in (first, second))
        group = self.rows_of_both.group
        nulls: dict[str, Vector] = {}
        seed = number(self.seed)
        request = PairRequest(
            names=self.names,
            measures=self.measures,
            sampling=Sampling.build(None, None, None, self.confidence, self.seed),
            design=Design(groups=None if group is None else group[rows].astype(str)),
            calibrate=True,
            confidence=self.confidence,
            n_permutations=self.n_permutations,
            # A block of few groups alone need not have enough permutations; all blocks of a class together do.
            alpha=self.alpha if n_strata == 1 else 0.5,
            seed=self.seed if seed is None else seed + place,
            checked=("copies",),
        )
        comparison = compare_in_memory(first, second, request, nulls)
        return _Part(len(rows), weight, comparison, nulls, _bars(first, self.measures))

    def combine(self, parts: list[_Part]) -> Comparison:
        """Return the mean over parts, weighted by rows, with its chance level and interval."""
        if len(parts) == 1:
            return parts[0].comparison
        scores, nulls = [], {}
        for measure in self.measures:
            score, null = self._mean_score(parts, measure)
            scores.append(name_pair(score, self.names))
            if null is not None:
                nulls[measure.name, self.names] = null
        first = parts[0].comparison
        n = sum(part.n for part in parts)
        return replace(
            first,
            shapes=((n, first.shapes[0][1]), (n, first.shapes[1][1])),
            scores=tuple(pair for pair in correct_p_values(scores, nulls)),
            interrupted=any(part.comparison.interrupted for part in parts),
            doubts=None,
        )

    def _mean_score(self, parts: list[_Part], measure: Measure) -> tuple[Score, Vector | None]:
        scores = [part.comparison[measure.name] for part in parts]
        known = [place for place, score in enumerate(scores) if score.has_value]
        if not known:
            return scores[0], None
        share = np.array([parts[place].weight for place in known], dtype=np.float64)
        share /= share.sum()
        score = scores[known[0]]
        best = best_value(score.closer, (score.possible_low, score.possible_high), None)
        value = float(share @ [scores[place].value for place in known])
        # Ends are combined by squares of their distances (Zou and Donner 2008), as for sums of independent estimates.
        low, high = (
            value
            + sign * float(np.sqrt(((share * [_half_width(scores[place], end, best) for place in known]) ** 2).sum()))
            for sign, end in ((-1, "low"), (1, "high"))
        )
        merged = replace(score, value=value, low=low, high=high, notes=(), corrected_p_value=np.nan)
        if len(known) < len(scores):
            merged = add_note(merged, f"has a value in {len(known)} of {len(scores)} parts")
        columns = [parts[place].nulls.get(measure.name) for place in known]
        if any(column is None for column in columns):
            return merged, None
        null = share @ _unlinked_draws([column for column in columns if column is not None])
        return add_null(merged, summarise(value, null[1:], score.closer, self.alpha, best)), null


def _half_width(score: Score, end: str, best: float | None) -> float:
    """Return the distance of an interval's end from the value; 0 if every subset has the best value."""
    if not score.has_interval and best is not None and abs(score.value - best) < 1e-9:
        return 0.0
    return abs(float(getattr(score, end)) - score.value)


def _unlinked_draws(columns: list[Vector]) -> Matrix:
    """Return the draws of all parts, shuffled such that parts with equal permutations are not linked."""
    n = min(map(len, columns))
    return np.stack(
        [
            column[:n] if place == 0 else column[np.append(0, 1 + np.random.default_rng(place).permutation(n - 1))]
            for place, column in enumerate(columns)
        ]
    )


def _bars(rows: Matrix, measures: list[Measure]) -> dict[str, tuple[float, float]]:
    """Return the values of X with itself after a fifth and after four fifths of its variance were exchanged."""
    rng = np.random.default_rng(0)
    mean = rows.mean(axis=0)
    source = Representation.build(rows)
    values: dict[str, list[list[float]]] = {measure.name: [] for measure in measures}
    for share in (KEPT, LOST):
        mixed = [
            Representation.build(
                mean + np.sqrt(1 - share) * (rows - mean) + np.sqrt(share) * (rows - mean)[rng.permutation(len(rows))]
            )
            for _ in range(_EXCHANGES)
        ]
        for measure in measures:
            values[measure.name].append([_value_or_nan(measure, source, one) for one in mixed])
    return {name: (float(np.mean(kept)), float(np.mean(lost))) for name, (kept, lost) in values.items()}


def _value_or_nan(measure: Measure, first: Representation, second: Representation) -> float:
    try:
        return measure.compare_views(measure.look(first), measure.look(second))
    except (ValueError, NotEstimable, np.linalg.LinAlgError):  # The comparison itself reports the cause.
        return float("nan")


def _mean(parts: list[_Part], measure: str, place: int) -> float:
    """Return the mean over parts of a value that counts as kept (place 0) or lost (place 1)."""
    return float(np.average([part.bars[measure][place] for part in parts], weights=[part.weight for part in parts]))


def _correct_over_classes(classes: dict[str, Comparison], measure: str) -> dict[str, float]:
    """Return the p-values of one measure, corrected for the number of measures, then for the number of classes.

    A class counts as partly kept if any measure is above chance, so the correction for the measures comes first.
    """
    scores = [comparison[measure] for comparison in classes.values()]
    corrected = holm([score.corrected_p_value if score.has_null else np.nan for score in scores])
    return dict(zip(classes, corrected.tolist(), strict=True))


def _align_rows(
    X: ArrayLike, Y: ArrayLike, names: tuple[str, str], labels: dict[str, Any]
) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    for name, side in zip(names, (X, Y), strict=True):
        if isinstance(side, Rdm):
            raise TypeError(f"{name} must be features, to select the rows of each class, got distances (Rdm)")
    split = {name: split_names(array, name) for name, array in zip(names, (X, Y), strict=True)}
    moved = orders({name: rows for name, (_, rows) in split.items()})
    arrays = [check.matrix(values, name) for name, (values, _) in split.items()]
    arrays = [array[moved[name]] if name in moved else array for name, array in zip(split, arrays, strict=True)]
    if len(arrays[0]) != len(arrays[1]):
        hint = hint_of_transpose(names[1], arrays[1].shape, len(arrays[0]))
        raise ValueError(
            f"{names[1]} must have as many rows as {names[0]} ({len(arrays[0])}), got {len(arrays[1])}{hint}"
        )
    aligned_names = [None if name in moved else rows for name, (_, rows) in split.items()]
    given_labels = {name: labels_or_none for name, labels_or_none in labels.items() if labels_or_none is not None}
    return arrays, dict.fromkeys(labels) | labels_in_order(aligned_names, given_labels)


def _labels_as_text(values: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Return labels as text, with None for missing ones."""
    from pandas import isna

    plain = split_names(values, name)[0] if kinds.is_array(values) else values
    array = np.asarray(to_host(plain), dtype=object)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have one label for each of the {n_rows} rows, got shape {array.shape}")
    return np.array([None if isna(value) else str(value) for value in array], dtype=object)


def _split(rows: Index, labels: NDArray[Any]) -> list[Index]:
    """Return the rows of each label."""
    names = labels[rows].astype(str)
    return [rows[names == name] for name in np.unique(names)]


def _equal_groups(
    blocks: list[Index], group: NDArray[Any], min_group: int, fewest: int
) -> tuple[list[Index], list[str]]:
    """Return as many rows of every large group, in each block with enough such groups, and reasons for the others."""
    chosen, reasons = [], []
    for rows in blocks:
        names, counts = np.unique(group[rows].astype(str), return_counts=True)
        large = names[counts >= min_group]
        if len(large) < fewest:
            found = f"{count(len(large), 'group')} with at least {count(min_group, 'row')}"
            reasons.append(f"{found}, fewer than {fewest}")
            continue
        rows = rows[np.isin(group[rows].astype(str), large)]
        chosen.append(rows[equal_groups(group[rows].astype(str), seed=0)])
    return chosen, reasons
