"""How well a measure reflects what is known about models, by pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr
from scipy.stats import rankdata

from shesha.inputs import validation as check
from shesha.nulls import Exchange, exchange
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.wording import count

_CELLS = 1 << 20
"""Number of entries of relabelled matrices that are in memory at a time."""
_ROUNDING = 1e-10
"""Correlations that differ by less count as equal, because the order of a sum changes its last digits."""


def rank_correlation(x: Vector, y: Vector) -> float:
    """Spearman's rank correlation with mean ranks for ties; NaN if values are all equal or fewer than two."""
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return math.nan
    a, b = (rankdata(side) - (len(x) + 1) / 2 for side in (x, y))
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def mantel_p(
    x: Vector,
    y: Vector,
    places: Index,
    n_permutations: int,
    rng: np.random.Generator,
    design: Exchange | None = None,
) -> float:
    """Return the two-sided p-value of the rank correlation of x and y, by relabelling the objects of y.

    `places`, of shape (n_pairs, 2), names the two objects of each entry. Entries are ranked only once. Every
    correlation, including the observed one, leaves out entries that are NaN in x or in the relabelled y. `design`
    determines which objects may exchange labels; None allows all exchanges. Without a design, every relabelling is used
    once if there are at most `n_permutations`.
    """
    n_objects = int(places.max()) + 1 if design is None else design.n_rows
    ranks, others = _rank(x), _square(_rank(y), places, n_objects)
    kept = ~np.isnan(ranks)
    a, rows, columns = ranks[kept], *places[kept].T
    exact = design is None and math.factorial(min(n_objects, 20)) <= n_permutations
    at_once = max(1, _CELLS // len(a))
    if design is not None:
        draws = _draw_designed_orders(design, n_permutations, at_once, rng)
    else:
        draws = _all_orders(n_objects) if exact else _random_orders(n_objects, n_permutations, at_once, rng)
    identity = np.arange(n_objects)[None]
    observed = abs(float(_correlations(a, others[identity[:, rows], identity[:, columns]])[0])) - _ROUNDING
    as_strong = total = 0
    for orders in draws:
        correlations = _correlations(a, others[orders[:, rows], orders[:, columns]])
        as_strong += int((np.abs(correlations) >= observed).sum())
        total += len(orders)
    # All orders include the true one; to random orders, it is added.
    return as_strong / total if exact else (as_strong + 1) / (total + 1)


def pair_models(n_pairs: int, n_models: int | None, pairs: Sequence[tuple[int, int]] | None) -> Index | None:
    """Return the two models of each pair, one row per pair."""
    if n_models is None and pairs is None:
        return None
    if pairs is None:
        pairs = list(combinations(range(n_models or 0), 2))
    places = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    if len(places) != n_pairs:
        raise ValueError(f"pairs must name the models of each of the {n_pairs} distances, got {len(places)} pairs")
    top = int(places.max(initial=-1)) if n_models is None else n_models - 1
    if (places < 0).any() or (places > top).any() or (places[:, 0] == places[:, 1]).any():
        raise ValueError(f"pairs must contain two different model numbers from 0 to {top}, got other values")
    if len({*map(tuple, places.tolist())}) < n_pairs:
        raise ValueError("pairs must be distinct, got a pair twice")
    return places


def _rank(values: Vector) -> Vector:
    """Return ranks minus their mean, with NaN for missing values."""
    kept = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[kept] = rankdata(values[kept]) - (kept.sum() + 1) / 2
    return ranks


def _square(values: Vector, places: Index, n_objects: int) -> NDArray[np.float64]:
    """Arrange the entries as a square matrix; a pair that has a value in only one order gets it in both."""
    square = np.full((n_objects, n_objects), np.nan)
    square[places[:, 1], places[:, 0]] = values
    square[places[:, 0], places[:, 1]] = values
    return square


def _correlations(a: Vector, relabelled: NDArray[np.float64]) -> Vector:
    """Return the Pearson correlation of `a` with each row, over the row's entries that are not NaN."""
    here = (~np.isnan(relabelled)).astype(np.float64)
    b = np.nan_to_num(relabelled)
    n = np.maximum(here.sum(axis=1), 1)
    mean_a, mean_b = here @ a / n, b.sum(axis=1) / n
    products = b @ a - n * mean_a * mean_b
    spread = (here @ a**2 - n * mean_a**2) * ((b**2).sum(axis=1) - n * mean_b**2)
    # If the remaining values are all equal, the correlation is set to 0.
    usable = spread > _ROUNDING
    return np.where(usable, products / np.sqrt(np.where(usable, spread, 1.0)), 0.0)


def _all_orders(n: int) -> Iterator[Index]:
    yield np.array(list(permutations(range(n))), dtype=np.intp)


def _draw_designed_orders(design: Exchange, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Index]:
    for start in range(0, count, at_once):
        yield np.array([design.draw(rng) for _ in range(min(at_once, count - start))])


def _random_orders(n: int, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Index]:
    for start in range(0, count, at_once):
        orders = np.tile(np.arange(n), (min(at_once, count - start), 1))
        yield rng.permuted(orders, axis=1)


Pair = tuple[int, int]
NamePair = tuple[str, str]
_DIGITS = 12
"""Values that agree in so many decimals, relative to the largest one, differ only by rounding errors."""


@dataclass(frozen=True)
class Quality:
    """A score, the number of values behind it, and the reason if it is missing."""

    value: float
    """Value of the score; NaN, with a `reason`, if it cannot be computed from the data."""
    n: int
    """Number of values that were used (pairs, or triples of layers)."""
    dropped: int = 0
    """Number of cases that were left out because the measure could not be computed."""
    reason: str = ""


@dataclass(frozen=True)
class Correlation(Quality):
    """A rank correlation and its p-value."""

    p_value: float = float("nan")


def spearman(
    distances: ArrayLike,
    differences: ArrayLike,
    n_models: int | None = None,
    pairs: Sequence[Pair] | None = None,
    n_permutations: int = 9999,
    seed: Seed = 0,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Correlation:
    """Rank correlation over pairs of models, with a p-value from relabelling the models (Mantel test).

    Pairs that share a model are dependent, so models are relabelled instead of pairs. In 2,000 draws of unrelated data
    (distances of 10 random points in 2 or 20 dimensions, and differences of 10 random numbers), 5.1 % or 5.3 % of
    p-values were at most 0.05. Relabelling the pairs, as for the published stars, gave 8.6 % or 11 %.

    Parameters
    ----------
    distances, differences : array of shape (n_pairs,)
        Values that are higher for less similar models. Pairs with a NaN are dropped.
    n_models : int, optional
        Number of models. If neither this nor `pairs` is given, the p-value is NaN.
    pairs : sequence of (int, int), optional
        The models of each pair, numbered from 0; default: (0, 1), (0, 2), ..., (1, 2), .... A pair in one order stands
        for both.
    n_permutations : int
        Number of random relabellings. If at most this many exist, each is used once, and the p-value is exact.
    seed : int, Generator or None
        Seed of the relabellings.
    blocks, groups : array of shape (n_models,), optional
        The family of each model (architecture, laboratory), as for `shesha.nulls.exchange`. Models of one family
        resemble each other in both quantities, which alone causes a correlation. With `blocks`, models are relabelled
        within families, which tests for a relation beyond families. With `groups`, whole families of equal size are
        exchanged, which tests for a relation between families.

    Returns
    -------
    Correlation
        Value in [-1, 1] and two-sided p-value, which is at least 1 / (n_permutations + 1).

    Examples
    --------
    >>> found = spearman([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], n_models=4)
    >>> round(found.value, 2), round(found.p_value, 2)
    (0.94, 0.08)
    """
    n_permutations = check.count(n_permutations, "n_permutations")
    x, y = _vector(distances, "distances"), _vector(differences, "differences")
    if len(x) != len(y):
        raise ValueError(f"differences must have one value per distance ({len(x)}), got {len(y)}")
    places = pair_models(len(x), n_models, pairs)
    families = _families(places, n_models, blocks, groups)
    x = tie_rounding_errors(x)
    kept = ~(np.isnan(x) | np.isnan(y))
    n, dropped = int(kept.sum()), int((~kept).sum())
    value = rank_correlation(x[kept], y[kept])
    if math.isnan(value):
        why = "fewer than two pairs with values" if n < 2 else "all values are equal"
        return Correlation(value, n, dropped, why)
    if places is None:
        return Correlation(value, n, dropped)
    p_value = mantel_p(x, y, places, n_permutations, generator(seed), families)
    return Correlation(value, n, dropped, p_value=p_value)


def _families(
    places: Index | None, n_models: int | None, blocks: ArrayLike | None, groups: ArrayLike | None
) -> Exchange | None:
    """Return the design that tells which models may exchange labels; None if all may."""
    if blocks is None and groups is None:
        return None
    if places is None:
        raise ValueError("n_models or pairs must be given with blocks or groups, got neither")
    n = int(places.max()) + 1 if n_models is None else n_models
    return exchange(n, blocks=blocks, groups=groups)


def auprc(within: ArrayLike, between: ArrayLike, closer: str) -> Quality:
    """Area under the precision-recall curve for finding the within-group pairs by their similarity.

    This is the average precision: precision times the step in recall, summed over the distinct values. The best value
    is 1, and chance is about the share of within-group pairs. NaNs are dropped and counted; if one side is empty, the
    score is NaN.
    """
    near, far, dropped = _sides(within, between, closer)
    if reason := _empty_side(near, far):
        return Quality(math.nan, len(near) + len(far), dropped, reason)
    thresholds = np.unique(near)
    hits = np.searchsorted(np.sort(near), thresholds, side="right")
    alarms = np.searchsorted(np.sort(far), thresholds, side="right")
    steps = np.diff(hits, prepend=0) / len(near)
    return Quality(float(np.sum(steps * hits / (hits + alarms))), len(near) + len(far), dropped)


def conformity(within: ArrayLike, between: ArrayLike, closer: str) -> Quality:
    """Return how often a within-group pair is strictly closer than a between-group pair, as a share.

    The score lies in [0, 1], and chance is 0.5. NaNs are dropped and counted; if one side is empty, the score is NaN.
    """
    near, far, dropped = _sides(within, between, closer)
    if reason := _empty_side(near, far):
        return Quality(math.nan, len(near) + len(far), dropped, reason)
    farther = len(far) - np.searchsorted(np.sort(far), near, side="right")
    return Quality(float(farther.mean() / len(far)), len(near) + len(far), dropped)


def groups(
    values: Mapping[NamePair, float], groups: Mapping[str, Sequence[str]], closer: str, symmetric: bool
) -> tuple[Quality, Quality]:
    """AUPRC and conformity of a measure on groups of models, averaged over the groups.

    For each group, pairs of members (in the given order) are compared with pairs of a member and a model of another
    group (in this order). If a group has no pair with a value on one of these sides, both scores are NaN.

    Parameters
    ----------
    values : mapping of (name, name) to float
        Value of each pair, in either order if the measure is symmetric. A missing pair raises ValueError.
    groups : mapping of group name to names of models
    closer : {'higher', 'lower'}
    symmetric : bool
        Whether (a, b) and (b, a) have the same value.
    """
    sides = {group: _group_pairs(group, groups) for group in groups}
    wanted = {pair for both in sides.values() for side in both for pair in side}
    known = {pair: pair_value(values, pair, symmetric) for pair in wanted}
    distinct = {frozenset(pair) if symmetric else pair: value for pair, value in known.items()}
    dropped = sum(map(math.isnan, distinct.values()))
    n = len(distinct) - dropped
    if reason := next((why for group in groups if (why := _too_small(group, groups))), ""):
        return Quality(math.nan, n, dropped, reason), Quality(math.nan, n, dropped, reason)
    scores = []
    for score in (auprc, conformity):
        parts = {group: score([known[p] for p in a], [known[p] for p in b], closer) for group, (a, b) in sides.items()}
        reason = next((f"group {group}: {part.reason}" for group, part in parts.items() if part.reason), "")
        value = math.nan if reason else float(np.mean([part.value for part in parts.values()]))
        scores.append(Quality(value, n, dropped, reason))
    return scores[0], scores[1]


def pair_value(values: Mapping[Any, float], pair: tuple[Any, Any], symmetric: bool) -> float:
    """Return the value of a pair, in either order if symmetric; raise an error if it is missing."""
    for key in (pair, pair[::-1]) if symmetric else (pair,):
        if key in values:
            return check.real_number(values[key], "values")
    raise ValueError(f"values must contain every pair that the test needs (NaN if missing), got none for {pair}")


def _vector(values: ArrayLike, name: str) -> Vector:
    vector = check.real(values, name)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one value per pair, got shape {vector.shape}")
    return vector


def as_distance(values: Vector, closer: str) -> Vector:
    """Return the values with a sign such that less similar models have higher values."""
    return -values if check.choice(closer, ("higher", "lower"), "closer") == "higher" else values


def tie_rounding_errors(values: Vector) -> Vector:
    """Round values such that those that differ only by rounding errors are equal.

    If all features fit perfectly, measures such as LinReg are 1 up to a rounding error, which differs between machines
    and must not decide which pair is closer.
    """
    top = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    return values if top == 0 else np.asarray(np.round(values / top, _DIGITS) * top)


def _sides(within: ArrayLike, between: ArrayLike, closer: str) -> tuple[Vector, Vector, int]:
    """Return both sides as distances without NaN, and the number of NaN values."""
    near, far = (as_distance(_vector(v, name), closer) for v, name in ((within, "within"), (between, "between")))
    near, far = np.split(tie_rounding_errors(np.concatenate([near, far])), [len(near)])
    dropped = int(np.isnan(near).sum() + np.isnan(far).sum())
    return near[~np.isnan(near)], far[~np.isnan(far)], dropped


def _empty_side(near: Vector, far: Vector) -> str:
    sides = [name for name, side in (("within", near), ("between", far)) if len(side) == 0]
    return f"no value {' or '.join(sides)} groups" if sides else ""


def _group_pairs(group: str, groups: Mapping[str, Sequence[str]]) -> tuple[list[NamePair], list[NamePair]]:
    """Return pairs within a group, and pairs of its members with members of other groups."""
    others = [member for name, members in groups.items() if name != group for member in members]
    return list(combinations(groups[group], 2)), list(product(groups[group], others))


def _too_small(group: str, groups: Mapping[str, Sequence[str]]) -> str:
    if len(groups) < 2:
        return f"group {group} is the only one, so there are no pairs between groups"
    n = len(groups[group])
    return f"group {group} has {count(n, 'model')}, so there are no pairs within it" if n < 2 else ""


@dataclass(frozen=True)
class LayerScores:
    """Agreement between the similarity of layers and their order."""

    conformity: Quality
    """Share of layer triples whose similarities have the expected order; `n` counts triples."""
    pooled: Quality
    """Rank correlation between dissimilarity and distance in layers, over all pairs; `n` counts pairs."""
    by_layer: Quality
    """Mean of rank correlations, one each over the layers before and after a layer; `n` counts them."""


def layers(values: Mapping[Pair, float], n_layers: int, closer: str, symmetric: bool) -> LayerScores:
    """Score whether the layers of a model are less similar the farther apart they are.

    Of two layers on the same side of layer i, the nearer one must be at least as similar to i; ties are not violations.
    Correlations are positive if similarity falls with distance. `pooled` is one correlation over all pairs i < j.
    `by_layer` averages separate correlations for the layers before and the layers after each layer, as in the published
    results.

    Parameters
    ----------
    values : mapping of (layer, layer) to float
        Value for each pair of layers, which are numbered from 0; in either order if the measure is symmetric. Triples
        with a NaN are left out.
    n_layers : int
    closer : {'higher', 'lower'}
    symmetric : bool
    """
    square = np.full((n_layers, n_layers), np.nan)
    for pair in permutations(range(n_layers), 2):
        square[pair] = pair_value(values, pair, symmetric)
    square = tie_rounding_errors(as_distance(square, closer))
    stretches = [stretch for i in range(n_layers) for stretch in (square[i, i + 1 :], square[i, :i][::-1])]
    upper = np.triu_indices(n_layers, k=1)
    steps = (upper[1] - upper[0]).astype(np.float64)
    kept = ~np.isnan(square[upper])
    pooled = rank_correlation(square[upper][kept], steps[kept])
    return LayerScores(
        _order_quality(stretches),
        _quality(pooled, int(kept.sum()), int((~kept).sum()), "fewer than two different values between layers"),
        _mean_correlation([stretch for stretch in stretches if len(stretch) > 1]),
    )


def _order_quality(stretches: Sequence[Vector]) -> Quality:
    kept = right = dropped = 0
    for stretch in stretches:
        nearer, farther = (stretch[index] for index in np.triu_indices(len(stretch), k=1))
        usable = ~(np.isnan(nearer) | np.isnan(farther))
        kept += int(usable.sum())
        dropped += int((~usable).sum())
        right += int((nearer <= farther).sum())
    return _quality(right / kept if kept else math.nan, kept, dropped, "no three layers on one side have values")


def _mean_correlation(stretches: Sequence[Vector]) -> Quality:
    scores = []
    for stretch in stretches:
        kept = np.flatnonzero(~np.isnan(stretch))
        scores.append(rank_correlation(stretch[kept], kept.astype(np.float64)))
    usable = [value for value in scores if not math.isnan(value)]
    value = float(np.mean(usable)) if usable else math.nan
    return _quality(value, len(usable), len(scores) - len(usable), "no layer has two different values on one side")


def _quality(value: float, n: int, dropped: int, reason: str) -> Quality:
    return Quality(value, n, dropped, reason if math.isnan(value) else "")


_SUM = 1e-3
"""Largest accepted difference between one and a row's sum of probabilities; it allows for half precision."""


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Mean Jensen-Shannon divergence between the rows of two (n_rows, n_classes) arrays of probabilities.

    The divergence is measured in nats. It is 0 for equal rows, and log 2 for rows that give no class positive
    probability in both.
    """
    first, second = _probabilities(p, q)
    middle = (first + second) / 2
    return float(np.mean((rel_entr(first, middle) + rel_entr(second, middle)).sum(axis=1) / 2))


def disagreement(p: ArrayLike, q: ArrayLike) -> float:
    """Share of rows in which two (n_rows, n_classes) arrays have different most probable classes."""
    first, second = _probabilities(p, q)
    return float(np.mean(first.argmax(axis=1) != second.argmax(axis=1)))


def accuracy_difference(p: ArrayLike, q: ArrayLike, labels: ArrayLike) -> float:
    """Absolute difference in accuracy: the share of rows whose most probable class is the label."""
    first, second = _probabilities(p, q)
    true = check.dense(labels, "labels")
    if true.shape != (len(first),):
        raise ValueError(f"labels must have one label for each of the {len(first)} rows, got shape {true.shape}")
    if true.dtype.kind not in "iu" or (true < 0).any() or (true >= first.shape[1]).any():
        raise ValueError(f"labels must be column numbers from 0 to {first.shape[1] - 1}, got other values")
    return abs(float(np.mean(first.argmax(axis=1) == true)) - float(np.mean(second.argmax(axis=1) == true)))


def _probabilities(p: ArrayLike, q: ArrayLike) -> tuple[Matrix, Matrix]:
    first, second = probabilities(p, "p"), probabilities(q, "q")
    if first.shape != second.shape:
        raise ValueError(f"q must have the shape of p, {first.shape}, got {second.shape}")
    return first, second


def probabilities(values: ArrayLike, name: str) -> Matrix:
    """Return rows of probabilities as float64; raise ValueError if they are invalid."""
    rows = check.real(values, name)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} must be a non-empty 2-D array (n_rows, n_classes), got shape {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ValueError(f"{name} must contain finite, non-negative probabilities, got other values")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > _SUM:
        raise ValueError(f"{name} must have rows that sum to one, got a sum that deviates by {worst:.3g}")
    return rows
