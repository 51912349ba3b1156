"""The null distributions of split scores, from all or from sampled pairs of rows, also conditional on row scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels import pairs as random_pairs
from shesha.kernels.condensed_matrices import permutation_products
from shesha.kernels.distances import Metric, find_undirected_rows, n_pairs
from shesha.kernels.feature_halves import Partition
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.sampled_feature_halves import WIDE_FEATURES, Masks, Planes, row_matching_correlations
from shesha.kernels.threads import parallel
from shesha.nulls.design_builder import match_by_quantity
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.registry import DIRECTED, MATCHING, ROTATING, Request, mean_score
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Mask, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Covariates, Representation, Rows, SampledHalves, SplitHalves
from shesha.views.features import FEWEST_PAIRS, Draw, half_metric, restart_draw, rotate_rows

Pairs = tuple[Index, Index]


def group_codes(design: Exchange | None) -> Index | None:
    """Return the group of each row if resamples draw whole groups, otherwise None."""
    if design is None or design.group is None or design.shift or design.block_length:
        return None
    return design.group


def count_group_pairs_once(design: Exchange | None, pairs: Pairs, counts: Matrix) -> tuple[Pairs, Matrix]:
    """Count pairs within a group once per draw of it, by replacing their second row with a constant one."""
    group = group_codes(design)
    if group is None:
        return pairs, counts
    i, j = pairs
    once = len(counts)
    return (i, np.where(group[i] == group[j], once, j)), np.vstack([counts, np.ones((1, counts.shape[1]))])


def group_pairs(group: Index) -> Pairs:
    """Return all pairs of rows that are in the same group."""
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    pairs = [rows[np.array(np.triu_indices(len(rows), k=1))] for rows in groups]
    i, j = np.concatenate(pairs, axis=1)
    return i, j


PairCount = int | Literal["all"] | None
"""Number of random pairs of rows: an integer, 'all', or None for the default number."""
DEFAULT_PAIRS = 1_000_000
"""Default number of sampled pairs; its error is at most 0.002 for any number of rows.

If the memory budget is below 137 MiB, fewer pairs are used.
"""
_ALL = 2**31 - 1
_BYTES = 144
"""Bytes of memory that a sampled pair needs for rows, distances, ranks and influence, and for copies while sorting."""
_WIDE_ROWS = 1024
"""Number of rows that each partition uses if the number of features is slightly above the limit."""
_FEWEST_ROWS = 256
_ROTATED_VALUES = 1 << 22
"""Most values that one partition rotates."""
_SPARSE = 0.5
"""The default number of pairs is drawn with replacement if it is at most this share of all pairs."""


@dataclass(frozen=True)
class Sample:
    """Random pairs of rows for successive partitions."""

    drawn: Callable[[int], list[Callable[[], Pairs]]]
    """Function that, given a number of partitions, returns functions that draw the pairs for the next ones."""
    distinct: int
    """Total number of distinct pairs; 0 if new pairs are drawn for every partition."""
    share: float
    """Share of all pairs that each partition uses; 0 if pairs are drawn with replacement."""


def plan_sample(n: int, asked: int | None, n_draws: int, n_chosen: int, rng: np.random.Generator) -> Sample:
    """Divide the pairs among the partitions, since the error is smallest if no two use the same pairs.

    If each partition would then have too few pairs for a rank correlation, several partitions use the same pairs. By
    default, the pairs of each partition are drawn among `n_chosen` rows, which are chosen anew for each partition.
    """
    if asked is None and (n_chosen < n or _SPARSE * n_pairs(n) >= DEFAULT_PAIRS):
        size = max(FEWEST_PAIRS, -(-_default_pairs() // n_draws))
        return Sample(
            lambda count: [partial(_pairs_of_few, n, n_chosen, size, gen) for gen in rng.spawn(count)], 0, 0.0
        )
    total = min(_default_pairs() if asked is None else asked, n_pairs(n))
    if asked is not None:
        memory.require(_BYTES * total, f"{total:,} pairs of rows", "request fewer pairs, or leave out pairs=")
    i, j = random_pairs.distinct_pairs(n, total, rng)
    n_sets = _n_sets(total, n_draws)
    sets = [sort_pairs(i[start::n_sets], j[start::n_sets]) for start in range(n_sets)]
    taken = 0

    def draw_pairs(count: int) -> list[Callable[[], Pairs]]:
        nonlocal taken
        taken += count
        return [partial(sets.__getitem__, index % n_sets) for index in range(taken - count, taken)]

    return Sample(draw_pairs, total, -(-total // n_sets) / n_pairs(n))


def rows_per_partition(n: int, n_features: int, rotated: bool) -> int:
    """Return the number of rows among which each partition draws its pairs by default.

    A rotation computes new features for each row, and wide rows take long to read for each pair. With fewer rows, each
    row is processed only once per partition. The interval includes the additional error.
    """
    if n_features > WIDE_FEATURES:
        return min(n, max(_FEWEST_ROWS, int(_WIDE_ROWS * np.sqrt(WIDE_FEATURES / n_features))))
    return min(n, _ROTATED_VALUES // n_features) if rotated else n


def _pairs_of_few(n: int, n_chosen: int, size: int, rng: np.random.Generator) -> Pairs:
    """Draw independent random pairs among some random rows, or among all rows."""
    if n_chosen == n:
        return random_pairs.draw_pairs(n, size, rng)
    rows = np.sort(rng.choice(n, n_chosen, replace=False, shuffle=False))
    i, j = random_pairs.draw_pairs(n_chosen, size, rng)
    return rows[i], rows[j]


def _default_pairs() -> int:
    return min(DEFAULT_PAIRS, memory.memory_budget() // _BYTES)


def check_pairs(pairs: PairCount) -> int | None:
    """Return the number of pairs that was requested, or None for the default."""
    return _ALL if isinstance(pairs, str) and pairs == "all" else check.optional_count(pairs, "pairs", minimum=100)


def uses_all_pairs(n: int, asked: int | None) -> bool:
    """Return whether all pairs of n rows are used, provided that memory allows it."""
    return n_pairs(n) <= (DEFAULT_PAIRS if asked is None else asked)


def _n_sets(total: int, n_draws: int) -> int:
    return min(n_draws, max(1, total // FEWEST_PAIRS))


def sort_pairs(i: Index, j: Index) -> Pairs:
    """Sort pairs into the order in which their rows are read fastest."""
    order = np.argsort(i, kind="stable")
    return i[order], j[order]


ROTATIONS = 3
"""Number of rotations over which the score of each null draw is averaged.

If the score itself is averaged over more rotations, the null is slightly wider than necessary, never narrower. The
spread over rotations is usually small compared with the spread over shuffles.
"""
PAIRS = 100_000
"""Most pairs of rows for each rotation. A random subset of the pairs makes the null slightly wider, never narrower."""


def null_of_unlinked_features(request: Request, rotations: Sequence[Draw]) -> Vector:
    """Score the data with unrelated features, in the same way and with the same rotations as the data.

    A random rotation mixes all features, so both halves contain the features with a large variance. Even if features
    are independent, halves therefore agree (0.7 or more) if features differ in scale, and a null that permutes rows
    would count this as structure. Permuting each feature separately keeps its scale, tails and zeros but removes all
    relations between features.

    The draws take turns in using the rotations of the score. Halves of sparse features agree better in some rotations
    than in others, whatever the data. If the null used rotations of its own, this difference could be mistaken for
    structure or hide it: with one seed, 13 % of data sets with independent features were called stable, with another
    none.
    """
    assert isinstance(request.source, Rows)
    rows, metric = request.source.whole.rows, request.options["metric"]
    design, known = request.exchange, request.covariates
    if n_pairs(len(rows)) > PAIRS:
        return null_of_sample(rows, design, request, PAIRS, rotations, rotate_principal_axes)
    scores = []
    for rng, turn in zip(_draws(request), _turns(rotations), strict=False):
        kept = _drop_undirected(shuffle_features(rows, design, rng, known), metric)
        scores.append(_mean_correlation(kept, metric, turn, rotated=True))
    return np.array(scores)


def shuffle_features(
    rows: Matrix, design: Exchange, rng: np.random.Generator, known: Covariates | None = None
) -> Matrix:
    """Return the rows with the values of each feature permuted separately.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        The features.
    design : Exchange
        Exchange design, which restricts the permutations.
    rng : Generator
        Random generator for the permutations.
    known : Covariates, optional
        Covariates that were regressed out of the features; None if there are none.
    """
    if known is not None:
        columns = np.split(rows, rows.shape[1], axis=1)
        return np.concatenate([known.permute(column, design.draw(rng)) for column in columns], axis=1)
    return np.stack([column[design.draw(rng)] for column in rows.T], axis=1)


def _mean_correlation(data: Representation, metric: Metric, draws: Sequence[Draw], *, rotated: bool) -> float:
    """Average the correlation of the halves over partitions; NaN if there is none."""
    try:
        halves = SplitHalves.build(data, metric=metric, rotated=rotated)
    except NotEstimable:
        return float("nan")
    return mean_score(halves.visit(draws, lambda _, partition: partition.correlation))


def _drop_undirected(rows: Matrix, metric: Metric) -> Representation:
    """Leave out rows that are zero (or constant) in a draw."""
    kept = np.setdiff1d(np.arange(len(rows)), find_undirected_rows(rows, metric))
    return Representation(np.ascontiguousarray(rows[kept]), np.finfo(float).eps)


Turned = Callable[[Matrix, Metric, Sequence[Draw]], Iterator[tuple[Matrix, Masks | Planes]]]
"""Function from rows to the rotated rows and their halves, for each rotation."""


def rotate_principal_axes(rows: Matrix, metric: Metric, turn: Sequence[Draw]) -> Iterator[tuple[Matrix, Masks]]:
    """Rotate as the exact estimator does, after a change to principal axes."""
    halves = Masks.build([np.arange(rows.shape[1])])
    for matrix in rotate_rows(_drop_undirected(rows, metric), metric, turn):
        yield matrix, halves


def rotate_given_axes(rows: Matrix, metric: Metric, turn: Sequence[Draw]) -> Iterator[tuple[Matrix, Planes]]:
    """Rotate as the estimator for random pairs does, in the given axes."""
    if metric == "correlation":
        rows = rows - rows.mean(axis=1, keepdims=True)
    for draw in turn:
        yield rows, Planes.build(rows.shape[1], [cast(np.random.Generator, draw)])


def null_of_sample(
    rows: Matrix,
    design: Exchange,
    request: Request,
    at_least: int,
    rotations: Sequence[Draw],
    turned: Turned = rotate_given_axes,
) -> Vector:
    """Return the same null for some rows, from random pairs of these rows.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        The rows in their original unit, finite.
    design : Exchange
        Exchange design of these rows.
    request : Request
        Request for the score.
    at_least : int
        Minimum number of pairs of rows for each rotation.
    rotations : sequence of Generator
        Rotations of the score, which the draws use in turn.
    turned : callable
        Function that rotates rows as the score does.
    """
    metric, scaled = request.options["metric"], rows / length_unit(rows)
    within = half_metric(metric, rotated=True)

    def score(task: tuple[np.random.Generator, list[Draw]]) -> float:
        rng, turn = task
        return mean_score(
            [
                row_matching_correlations(matrix, at_least, within, halves, [np.arange(len(matrix))], rng)[0]
                for matrix, halves in turned(shuffle_features(scaled, design, rng, request.covariates), metric, turn)
            ]
        )

    return np.array(list(parallel(score, list(zip(_draws(request), _turns(rotations), strict=False)))))


def _draws(request: Request) -> Iterator[np.random.Generator]:
    streams = spawn(request.seed, ROTATING).spawn(request.n_permutations)
    yield from track(streams, len(streams), "draws")


def _turns(rotations: Sequence[Draw]) -> Iterator[list[Draw]]:
    """Yield the rotations for successive draws, each with a restarted generator."""
    together = min(ROTATIONS, len(rotations))
    for first in count(0, together):
        yield [restart_draw(rotations[(first + k) % len(rotations)]) for k in range(together)]


Use = Callable[[int, Partition], Vector | None]


def partitions_per_matching(n_features: int, n_draws: int) -> int:
    """Return the number of partitions for which the null varies at least as much as the score does.

    Two halves correlate through pairs of features, one in each half. A given pair is divided in this way with
    probability p, so that the scores of two partitions of independent features have correlation p. If rows are
    permuted, the pair (a, b) differs from (b, a), so that the correlation is p / 2. The returned number m, rounded
    down, makes the variances of both means equal: p + (1 - p) / n_draws = p / 2 + (1 - p / 2) / m.
    """
    half = n_features // 2
    p = half * (n_features - half) / (n_features * (n_features - 1) / 2)
    return max(1, int((1 - p / 2) / (p / 2 + (1 - p) / n_draws) + 1e-9))


@dataclass(frozen=True)
class Matchings:
    """Random matchings of the rows, each assigned to some of the partitions in turn."""

    orders: Sequence[Index]
    design: Exchange
    seeds: Index
    """For each partition, the seed for permuting the rows that are nonzero in both halves."""
    together: int
    """Number of partitions for which each matching is scored."""
    n_draws: int

    @classmethod
    def build(cls, request: Request, n_features: int) -> Matchings:
        """Draw the matchings for a request."""
        n_draws = request.options["n_draws"]
        together = partitions_per_matching(n_features, n_draws)
        seeds = (
            np.arange(n_draws)
            if request.design is None
            else spawn(request.seed, DIRECTED).integers(2**62, size=n_draws)
        )
        return cls(request.orders(), request.exchange, seeds, together, n_draws)

    @property
    def _n_turns(self) -> int:
        return -(-self.n_draws // self.together)

    def _turn_numbers(self, turn: int) -> range:
        return range(turn, len(self.orders), self._n_turns)

    def products(self, at: int, found: Partition) -> Vector | None:
        """Return the correlations of a partition under its matchings; None if it has no matchings."""
        if at >= self.n_draws or not self.orders:
            return None
        return self._products(at, found, self._turn_numbers(at // self.together))

    def _products(self, index: int, partition: Partition, numbers: Sequence[int]) -> Vector | None:
        ranks = partition.unit_ranks()
        if ranks is None:
            return None
        orders = self._match_directed_rows(index, partition.directed, numbers)
        n = len(self.orders[0]) if partition.directed is None else int(partition.directed.sum())
        return permutation_products(*ranks, n, orders) if orders else np.empty(0)

    def _match_directed_rows(self, index: int, directed: Mask | None, numbers: Sequence[int]) -> list[Index]:
        """Return the matchings, restricted to the rows that are nonzero in both halves."""
        if directed is None:
            return [self.orders[k] for k in numbers]
        if self.design.named:
            rest = self.design.take(np.flatnonzero(directed))
            rng = np.random.default_rng(self.seeds[index])
            return [rest.draw(rng) for _ in numbers]
        places = np.cumsum(directed) - 1
        return [places[order[directed[order]]] for order in (self.orders[k] for k in numbers)]

    def null(self, products: Sequence[Vector | None], visit: Callable[[int, Use], Vector | None]) -> Vector:
        """Average each matching over its partitions; `visit` computes a partition again.

        If no partition of a turn has a score, its matchings go to the next turn that has one, or else to the last such
        turn.
        """
        out = np.full(len(self.orders), np.nan)
        if not self.orders:
            return out
        usable: dict[int, list[int]] = {}
        for index, product in enumerate(products[: self.n_draws]):
            if product is not None:
                usable.setdefault(index // self.together, []).append(index)
        for turn in range(self._n_turns):
            numbers = self._turn_numbers(turn)
            if turn in usable:
                out[numbers] = np.mean(
                    [product for index in usable[turn] if (product := products[index]) is not None], axis=0
                )
            elif usable and len(numbers):
                instead = min((other for other in usable if other > turn), default=max(usable))
                again = [visit(index, partial(self._products, numbers=numbers)) for index in usable[instead]]
                out[numbers] = np.mean([vector for vector in again if vector is not None], axis=0)
        return out


def residuals_null(request: Request, partitions: Sequence[Draw]) -> Vector:
    """Score one half of the features joined with the permuted, readjusted rows of the other, for each draw.

    Regressing out covariates shrinks the same distances in both halves. If rows were permuted without being adjusted
    again, their halves would not share this effect, and unrelated halves would seem stable. The draws use the
    partitions of the score in turn, and each as many as the row-matching null.
    """
    known, metric = request.covariates, cast(Metric, request.options["metric"])
    assert known is not None and isinstance(request.source, Rows)
    rows, orders = request.source.whole.rows, request.orders()
    natural, half = np.arange(rows.shape[1]), rows.shape[1] // 2
    together = partitions_per_matching(rows.shape[1], len(partitions))

    def score(both: Matrix, number: int) -> float:
        if n_pairs(len(rows)) > PAIRS:
            rng = spawn(request.seed, ROTATING + number)
            masks, order = Masks.build([natural]), np.arange(len(rows))
            return float(row_matching_correlations(both / length_unit(both), PAIRS, metric, masks, [order], rng)[0])
        return _mean_correlation(Representation(both, np.finfo(float).eps), metric, [natural], rotated=False)

    values = []
    for k, order in enumerate(track(orders, len(orders), "matchings")):
        moved, scores = known.permute(rows, order), []
        for offset in range(together):
            features = np.asarray(partitions[(k * together + offset) % len(partitions)])
            scores.append(score(np.concatenate([rows[:, features[:half]], moved[:, features[half:]]], axis=1), k))
        values.append(mean_score(scores))
    return np.array(values)


NULL_PAIRS = 100_000
"""Number of pairs per matching; if the score uses more pairs, the null is wider, never narrower."""
NULL_ROWS = 4096
"""Most matched rows if data are narrow; if the score uses more rows, the null is wider, never narrower."""

_NARROW_ROTATED = 512
"""Largest number of features for which the maximum number of rows is rotated."""

_BLOCKS = 1 << 23
"""Most bytes of rows that a thread gathers, together with their products."""
_STRATA = 32
"""Fewest strata among the matched rows for which strata are only chosen as a whole."""


def null(halves: SampledHalves, request: Request, rotations: Sequence[Draw]) -> Vector:
    """Correlate the first half of random pairs with the second half of the pairs matched to them.

    If features are rotated, the null that permutes each feature separately is used instead, with the score's rotations.
    """
    if not request.n_permutations:
        return np.empty(0)
    rng = spawn(request.seed, MATCHING)
    d, n_draws = halves.rows.shape[1], request.options["n_draws"]
    together = min(ROTATIONS, n_draws) if halves.rotated else partitions_per_matching(d, n_draws)
    chosen = _rows(request.exchange, rng, _most_rows(halves, request, n_draws / together))
    design = request.exchange.take(chosen)
    if halves.rotated:
        # With more pairs than the score uses, the null would be too narrow.
        n_pairs = min(request.pairs or NULL_PAIRS, NULL_PAIRS) // ROTATIONS
        rotations = rotations[:n_draws]
        rotate = rotate_given_axes if d <= WIDE_FEATURES else rotate_principal_axes
        return null_of_sample(halves.rows.read(chosen), design, request, n_pairs, rotations, rotate)
    rows = halves.reader()(chosen)
    next_draw = halves.sampler(request.seed)
    draws = [next_draw() for _ in range(n_draws)]
    n_turns = -(-len(draws) // together)
    # With more pairs than the score uses, the null would be too narrow.
    per_draw = min(request.pairs or NULL_PAIRS, NULL_PAIRS) // together
    if request.pairs is not None:
        per_draw = max(per_draw, request.pairs // _n_sets(request.pairs, len(draws)))
    orders = design.draws(request.n_permutations, rng)
    streams = rng.spawn(n_turns)

    def score(turn: int) -> Vector:
        batch = [draws[(turn * together + k) % len(draws)] for k in range(together)]
        matched = orders[turn::n_turns]
        scores = np.array(
            [halves.row_matching_correlations(rows, restart_draw(d), matched, per_draw, streams[turn]) for d in batch]
        )
        known = np.isfinite(scores)
        total = np.where(known, scores, 0.0).sum(axis=0)
        return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)

    out = np.empty(len(orders))
    # Matchings use the partitions in turn, so that the null does not depend on a single partition. A thread needs
    # memory for both halves of the rows, and as much again while it computes them.
    at_once = max(1, int((memory.memory_budget() - rows.nbytes) // (2 * rows.nbytes + _BLOCKS)))
    turns = parallel(score, range(n_turns), at_once=at_once)
    for turn, scores in enumerate(track(turns, n_turns, "matchings")):
        out[turn::n_turns] = scores
    return out


def _most_rows(halves: SampledHalves, request: Request, n_sets: float) -> int:
    """Return the largest number of rows to match, which keeps wide data about as fast as narrow data.

    The cost of a matching is proportional to the number of features, and the cost of a rotation to its cube. If the
    score uses different rows in each partition, its variance is divided by the number of partitions; if more rows than
    returned here were matched, the null would have a smaller variance than the score.
    """
    n, d = halves.rows.shape
    share = (_NARROW_ROTATED / d) ** 3 if halves.rotated else WIDE_FEATURES / d
    most = min(NULL_ROWS, max(_FEWEST_ROWS, int(NULL_ROWS * share)))
    scored = rows_per_partition(n, d, halves.rotated) if request.pairs is None else n
    return most if scored == n else min(most, int(scored * np.sqrt(n_sets)))


def _rows(design: Exchange, rng: np.random.Generator, at_most: int) -> Index:
    """Choose which rows to match: random rows, whole groups, or a stretch of a series."""
    n = design.n_rows
    if n <= at_most:
        return np.arange(n)
    if design.shift or design.block_length:
        start = int(rng.integers(n - at_most + 1))
        return np.arange(start, start + at_most)
    units = _units(design, at_most)
    sizes = np.bincount(units)
    order = rng.permutation(len(sizes))
    wanted = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), at_most, side="right")))]
    return np.flatnonzero(np.isin(units, wanted))


def _units(design: Exchange, at_most: int) -> Index:
    """Return each row's unit that is chosen as a whole: the row itself, its group, or a small stratum.

    If rows were chosen at random, few exchangeable rows of a small stratum would be left.
    """
    small = np.bincount(design.block).max() <= at_most // _STRATA
    return design.block if small else design.clusters


def needs_new_halves(request: Request) -> bool:
    """Return whether each null draw needs new halves, because features are rotated or covariates were removed."""
    return bool(request.variant.view_options.get("rotated")) or request.covariates is not None


def null_of_new_halves(request: Request, draws: Sequence[Draw]) -> Vector:
    """Return the null that permutes features if they are rotated, and otherwise adjusts permuted rows again."""
    if not request.n_permutations:
        return np.empty(0)
    return (null_of_unlinked_features if request.variant.view_options.get("rotated") else residuals_null)(
        request, draws
    )


ROW_SCALE = "row scale"
_ENTRIES = 1 << 22
_VARIES = 1e-9
"""A quantity counts as constant if its spread, divided by its mean, is at most this ratio."""


def conditional_requests(request: Request, keep: str | ArrayLike, blocks: ArrayLike | None = None) -> list[Request]:
    """Return one request for each quantity that the null preserves.

    Several quantities describe the scale of a row, and it depends on the data which of them the two halves share.
    Random scales about an offset affect a row's distance from the mean row; count depth affects the norm and the number
    of nonzero features. A score that reflects more than the scale must exceed the null of every quantity.

    Parameters
    ----------
    request : Request
        Request that has no exchange design.
    keep : 'row scale' or array of shape (n_rows,)
        Quantity that the null preserves.
    blocks : array of shape (n_rows,), optional
        Block of each row; rows are permuted only within their block. Default: no blocks.

    Raises
    ------
    ValueError
        If `keep` is another name, does not fit the rows, or is the same for all rows.
    """
    designs = [match_by_quantity(kept, name, blocks) for name, kept in _quantities(request, keep)]
    seeds = _repeat_seed(request.seed, len(designs))
    return [replace(request, design=design, seed=seed) for design, seed in zip(designs, seeds, strict=True)]


def _quantities(request: Request, keep: str | ArrayLike) -> Iterator[tuple[str, ArrayLike]]:
    if not isinstance(keep, str):
        check.labels(keep, request.n_rows, "keep", min_classes=2)
        yield "given values", keep
        return
    check.choice(keep, (ROW_SCALE,), "keep")
    if not isinstance(request.source, Rows):
        raise ValueError(f"keep must be an array if only distances between rows are known, got {keep!r}")
    quantities = scales(request.source, within_rows=request.options.get("metric") == "correlation")
    varying = {name: kept for name, kept in quantities.items() if kept.std() > _VARIES * kept.mean()}
    if not varying:
        raise ValueError(f"keep must differ between rows, got {keep!r}, but all rows have equal scale")
    yield from varying.items()


def scales(rows: Rows, *, within_rows: bool = False) -> dict[str, Vector]:
    """Return the quantities that describe the scale of each row, by name.

    Parameters
    ----------
    rows : Rows
        The rows, which are read in parts.
    within_rows : bool
        Whether to subtract each row's mean from its values first.

    Examples
    --------
    >>> found = scales(Rows([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [3.0, 4.0]]))
    >>> {name: kept.tolist() for name, kept in found.items()}["norm"]
    [5.0, 0.0, 10.0, 5.0]
    """
    unit = max((float(np.abs(part).max(initial=0.0)) for _, part in _parts(rows)), default=1.0) or 1.0
    total = np.zeros(rows.shape[1])
    for _, part in _parts(rows, unit, within_rows):
        total += part.sum(axis=0)
    mean = total / len(rows)
    norm, distance, detected = (np.empty(len(rows)) for _ in range(3))
    for start, part in _parts(rows, unit, within_rows):
        span = slice(start, start + len(part))
        norm[span], distance[span] = np.linalg.norm(part, axis=1), np.linalg.norm(part - mean, axis=1)
    for start, part in _parts(rows):
        detected[start : start + len(part)] = np.count_nonzero(part, axis=1)
    return {"norm": norm * unit, "distance from the mean row": distance * unit, "number of features detected": detected}


def _parts(rows: Rows, unit: float = 1.0, within_rows: bool = False) -> Iterator[tuple[int, Matrix]]:
    for start, part in rows.blocks(_ENTRIES):
        block = check.finite(part, rows.name, first_row=start) / unit
        yield start, block - block.mean(axis=1, keepdims=True) if within_rows else block


def _repeat_seed(seed: Seed, n: int) -> list[int | np.random.Generator | None]:
    """Return n seeds that all give the same partitions, because all nulls belong to the same score."""
    if isinstance(seed, int):
        return [seed] * n
    rng = generator(seed)
    return [*(deepcopy(rng) for _ in range(n - 1)), rng]
