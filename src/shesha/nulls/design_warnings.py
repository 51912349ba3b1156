"""Warnings about invalid exchange designs: short series, dependent rows, drifts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import permutation_products
from shesha.kernels.distances import condensed_distances
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.regression import natural_spline
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.shapes import find_copies
from shesha.nulls.dependence import (
    _N_ORDERS,
    FEWEST_ROWS,
    DiagnosticRows,
    _closer,
    _different,
    _ranks,
    dependence,
    find_dependence,
)
from shesha.nulls.design_builder import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Dependence
from shesha.results.doubts import DRIFT, LEVEL, describe_period
from shesha.support.provenance import state_warning
from shesha.support.types import Index, Labels, Mask, Matrix, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import count, join_items, lowercase_start

_MOST_ROWS = 4096
"""Largest number of rows whose neighbours are compared with the permutations of a design."""
_MOST_ENTRIES = 1 << 18
"""Number of entries of each repeat that are compared with those of other repeats."""


def p_value_within_design(design: Exchange, *representations: NDArray[Any]) -> float:
    """Test whether consecutive rows are closer than under the permutations of a design.

    The rows that a design permutes must be exchangeable, and dependent neighbours within a block are not. As in
    `dependence`, the effect must be present in all representations, so the largest of their p-values is returned.

    Parameters
    ----------
    design : Exchange
        Design whose permutations are compared with the given order.
    *representations : arrays of shape (n_samples, n_features)
        Features of the same rows, in the order of recording.

    Examples
    --------
    >>> import numpy as np
    >>> from shesha.nulls import exchange
    >>> walk = np.random.default_rng(0).standard_normal((64, 8)).cumsum(axis=0)
    >>> p_value_within_design(exchange(64, blocks=np.arange(64) // 8), walk) < 0.002
    True
    """
    rows = np.arange(min(design.n_rows, _MOST_ROWS))
    if len(rows) < FEWEST_ROWS:
        return 1.0
    some, sides = design.take(rows), [_scale_rows(side[rows]) for side in representations]
    if some.group is not None and some.block_length is None and some.group.max() + 1 >= FEWEST_ROWS:
        some, sides = _groups_as_rows(some, sides)
    rng = np.random.default_rng(0)
    orders = np.array([np.arange(some.n_rows), *(some.draw(rng) for _ in range(_N_ORDERS))])
    first, second = _different(some.n_rows, rng)
    p_values = []
    for X in sides:
        ranked = np.sort(((X[first] - X[second]) ** 2).sum(axis=1))
        squared = np.array([(np.diff(X[order], axis=0) ** 2).sum(axis=1) for order in orders])
        p_values.append(_closer(_ranks(squared, ranked).mean(axis=1)))
    return max(p_values)


def _scale_rows(rows: NDArray[Any]) -> Matrix:
    X = np.asarray(rows, dtype=np.float64)
    return np.asarray(X / (np.abs(X).max(initial=0.0) or 1.0))


def _groups_as_rows(design: Exchange, sides: Sequence[Matrix]) -> tuple[Exchange, list[Matrix]]:
    """Means of the groups in the order of their first rows, which show more of a common unit than single rows do."""
    assert design.group is not None
    _, first, codes, sizes = np.unique(design.group, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    kinds = np.unique(np.stack([design.block[first], sizes]), axis=1, return_inverse=True)[1].ravel()
    starts = np.cumsum(sizes) - sizes
    sums = [np.add.reduceat(side[np.argsort(codes, kind="stable")], starts, axis=0) for side in sides]
    return Exchange(len(first), kinds[order]), [(total / sizes[:, None])[order] for total in sums]


_MOST_CHECKED_ROWS = 512
"""Largest number of rows, in complete strata, that are checked."""
_N_DRAWS, _N_SHUFFLES = 39, 39
_ROWS_PER_TERM, _MOST_TERMS = 6, 8
_LEVEL, _TOO_OFTEN = 0.05, 0.07
"""Level of the test, and the false-positive rate above which a warning is issued."""
_CLEARLY = 3.5
"""Number of standard deviations by which the effect must exceed the effect in permuted rows."""
_NORMAL = NormalDist()


def residual_confounding_warnings(sides: list[NDArray[Any]], within: ArrayLike | None, strata: Index) -> list[str]:
    """Return a warning if both sides still depend on the covariate within its strata."""
    if within is None:
        return []
    codes, values = check.labels(within, len(strata), "within", min_classes=1)
    if values.dtype.kind not in "iuf" or len(values) == len(np.unique(strata)):
        return []
    n_terms = min(len(codes) // _ROWS_PER_TERM, _MOST_TERMS)
    rate = false_positive_rate(values[codes], strata, *sides, n_terms=n_terms)
    if rate < _TOO_OFTEN:
        return []
    return [
        "features still depend on the numbers in within= inside its strata, so about "
        f"{100 * rate:.0f} % of unrelated data would be significant at 5 %. Pass these numbers as covariates=, which "
        "regresses a smooth function out, or as keep= in chance()"
    ]


def false_positive_rate(
    values: ArrayLike,
    strata: Index,
    *sides: NDArray[Any],
    n_terms: int,
    taken: Matrix | None = None,
    design: Exchange | None = None,
) -> float:
    """False-positive rate at the 5 % level that a covariate's effect within its strata causes.

    Parameters
    ----------
    values : array of shape (n,)
        Values of the covariate.
    strata : array of shape (n,)
        Codes of the strata within which rows are permuted.
    *sides : one or two arrays of shape (n, n_features)
        Features of each side. A single array is compared with itself.
    n_terms : int
        Number of spline terms that model the effect; it is reduced if there are few rows.
    taken : array of shape (n, n_directions), optional
        Terms of covariates that are removed from the sides. Default: none.
    design : Exchange, optional
        Design whose permutations form the null. Default: all permutations within the strata.
    """
    numbers = np.asarray(values, dtype=np.float64)
    rows = _whole_strata(strata)
    if len(np.unique(numbers[rows])) < 3:
        return _LEVEL
    some = [np.asarray(side[rows], dtype=np.float64) for side in sides]
    here = None if taken is None else _orthonormal(taken[rows] - taken[rows].mean(axis=0))
    n_terms = min(n_terms, (len(rows) + (0 if here is None else here.shape[1])) // 3)
    some_rows = None if design is None else design.take(rows)
    look = partial(strata_excess, numbers[rows], strata[rows], *some, n_terms=n_terms, taken=here, design=some_rows)
    # Standard errors fall with the square root of the number of rows; the effect inside strata does not.
    growth = float(np.sqrt(len(numbers) / len(rows)))
    if (rate := _rate(growth * float(look()[0]))) < _TOO_OFTEN:
        return rate
    excess = look(n_shuffles=_N_SHUFFLES)
    added = float(excess[0] - excess[1:].mean())
    return _rate(growth * added) if added > _CLEARLY * excess[1:].std() else _LEVEL


def _rate(excess: float) -> float:
    return _NORMAL.cdf(excess - _NORMAL.inv_cdf(1 - _LEVEL))


def _whole_strata(strata: Index) -> Index:
    """Return the rows of complete, evenly spread strata, up to the maximum number of rows."""
    order = np.argsort(strata, kind="stable")
    if len(order) <= _MOST_CHECKED_ROWS:
        return order
    step = -(-len(order) // _MOST_CHECKED_ROWS)
    codes = np.unique(strata)[::step]
    return order[np.isin(strata[order], codes)]


def strata_excess(
    values: Vector,
    strata: Index,
    *sides: Matrix,
    n_terms: int = _MOST_TERMS,
    n_shuffles: int = 0,
    taken: Matrix | None = None,
    design: Exchange | None = None,
) -> Vector:
    """Effect of a covariate on the linear kernel similarity, in standard deviations of the null.

    The similarity is the inner product of the two kernel matrices, and the null permutes rows within strata. The effect
    is estimated by fitting a spline to each side and subtracting what noise is expected to contribute to the fit.

    Parameters
    ----------
    values : array of shape (n,)
        Values of the covariate.
    strata : array of shape (n,)
        Codes of the strata.
    *sides : one or two arrays of shape (n, n_features)
        Features of each side. A single array is compared with itself.
    n_terms : int
        Number of spline terms.
    n_shuffles : int
        Number of repetitions with shuffled rows, which do not depend on the covariate.
    taken : array of shape (n, n_directions), optional
        Orthonormal directions that are removed from the sides and from each shuffle. Default: none.
    design : Exchange, optional
        Design whose permutations form the null. Default: all permutations within the strata.

    Returns
    -------
    array of shape (1 + n_shuffles,)
        The excess in the given order, followed by the excess in each shuffle.
    """
    rng = np.random.default_rng(0)
    orders = [_permute_in_strata(strata, rng) if design is None else design.draw(rng) for _ in range(_N_DRAWS)]
    terms = natural_spline(values, max(1, n_terms))
    fixed = np.full((len(values), 1), len(values) ** -0.5)
    fixed = fixed if taken is None else np.concatenate([fixed, taken], axis=1)
    free = len(values) - fixed.shape[1]
    basis = _orthonormal(_residuals(terms / np.linalg.norm(terms, axis=0), fixed))[:, : max(1, free // 2)]
    rows = [_residuals(side / (np.abs(side).max(initial=0.0) or 1.0), fixed) for side in sides]
    kernels = [side @ side.T for side in rows]
    spread = float(np.std([np.sum(kernels[0] * kernels[-1][np.ix_(order, order)]) for order in orders]))
    turned = np.stack([basis.T @ basis[order] for order in orders])
    # Both sides are shuffled in the same way, so that only their relation to the covariate is lost.
    shuffles = [rng.permutation(len(values)) for _ in range(n_shuffles)]
    shuffled = [[_residuals(side[order], fixed) for side in rows] for order in shuffles]
    excesses = [_excess(*(_effect(side, basis, free) for side in some), turned=turned) for some in [rows, *shuffled]]
    return np.array(excesses) / spread if spread > 0 else np.zeros(len(excesses))


def _residuals(rows: Matrix, fixed: Matrix) -> Matrix:
    return np.asarray(rows - fixed @ (fixed.T @ rows))


def _orthonormal(columns: Matrix) -> Matrix:
    u, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, values > 1e-6])


def _excess(*effects: Matrix, turned: Matrix) -> float:
    """Inner product of the two sides' effects, minus its mean over permutations."""
    expected = np.sum(effects[0] * (turned @ effects[-1] @ np.swapaxes(turned, 1, 2)), axis=(1, 2))
    return float(np.sum(effects[0] * effects[-1]) - expected.mean())


def _effect(rows: Matrix, basis: Matrix, free: int) -> Matrix:
    """Products of the spline coefficients, minus their expected value under noise."""
    coefficients = basis.T @ rows
    noise = ((rows**2).sum() - (coefficients**2).sum()) / max(1, free - basis.shape[1])
    return np.asarray(coefficients @ coefficients.T - noise * np.eye(basis.shape[1]))


def _permute_in_strata(strata: Index, rng: np.random.Generator) -> Index:
    order = np.empty(len(strata), dtype=np.intp)
    order[np.argsort(strata, kind="stable")] = np.lexsort((rng.random(len(strata)), strata))
    return order


def warn_of_series(sides: list[NDArray[Any]], design: Design) -> None:
    """Warn if rows depend on one another and the design's permutations destroy this dependence.

    Parameters
    ----------
    sides : arrays of shape (n_samples, n_features)
        The compared representations. Only dependence that all of them show is reported.
    design : dict
        Arguments for `exchange`, at least one of which is set.
    """
    options = nonempty_arguments(design)
    test = dependence(*sides)
    reasons = [DRIFT] if test.has_drift else []
    if test.period and (options.get("shift") or options.get("block_length")):
        reasons.append(describe_period(test.period))
    elif options.get("shift"):
        reasons += _short_series(test, options.get("blocks"))
    else:
        reasons += _autocorrelation_warnings(p_value_within_design(exchange(test.n_rows, **options), *sides), options)
    reasons += residual_confounding_warnings(sides, options.get("within"), exchange(test.n_rows, **options).block)
    if reasons:
        problems = ". Also, ".join(map(lowercase_start, reasons))
        warn(f"p-values of this design may be too small: {problems}", CalibrationWarning)


def find_undeclared_dependence(sides: Sequence[NDArray[Any]], codes: Labels | None = None) -> str:
    """Return the signs that rows depend on one another, for functions that offer `groups=` alone; empty without a sign.

    Labels that are permuted, as integer codes, are one more side: dependent rows matter only if labels depend on the
    order as well. Class means are subtracted from the rows, because rows sorted by class need not be dependent.
    """
    if codes is not None:
        sides = [*subtract_class_means(sides, codes), np.eye(codes.max() + 1)[codes]]
    signs = find_dependence([DiagnosticRows(side) for side in sides], screened=True).signs
    return f"{signs}. If rows share a donor, session or stretch of time, pass groups=" if signs else ""


def subtract_class_means(sides: Sequence[NDArray[Any]], codes: Labels) -> list[NDArray[Any]]:
    """Return the rows, in a unit of their own, minus the mean of their class; rounding errors are 0."""
    member = np.eye(codes.max() + 1)[codes]
    residuals = []
    for side in (side / safe_unit(side) for side in sides):
        rest = side - (member / member.sum(axis=0)) @ (member.T @ side)
        rest[np.abs(rest).max(axis=1) <= _ROUNDING * np.abs(side).max(axis=1)] = 0.0
        residuals.append(rest)
    return residuals


_ROUNDING = 64 * float(np.finfo(float).eps)
"""Largest value of a residual, relative to the row, that is a rounding error."""
CEILING_TOO_HIGH = "the noise ceiling may be too high"
_MOST_REPEATS = 0.05
"""Share of copies of other rows from which on they are named."""


def describe_far_row(values: Matrix, noun: str, numbers: Sequence[int] | Index | None = None) -> str:
    """Return why means mislead if a single row has most of the sum of squares; otherwise an empty string.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
    noun : str
        What a row is.
    numbers : sequence of int, optional
        Numbers of the rows in the input. Default: their places.
    """
    if len(values) < _FEWEST_ROWS:
        return ""
    largest = float(np.abs(values).max(initial=0.0))
    scaled = values / largest if largest > 0 else values
    squares = ((scaled - np.median(scaled, axis=0)) ** 2).sum(axis=1)
    place, total = int(squares.argmax()), float(squares.sum())
    if not total or squares[place] <= total * max(_MOST_OF_ONE, _MOST_OF_MEAN / len(values)):
        return ""
    number = place if numbers is None else int(numbers[place])
    return (
        f"row {number:,}, a {noun}, has {100 * squares[place] / total:.0f} % of the sum of squares of all, so means "
        "and distances of its group are mostly its own. Look at this row, or leave it out"
    )


_FEWEST_ROWS, _MOST_OF_ONE, _MOST_OF_MEAN = 20, 0.5, 20
"""Fewest rows that are looked at, and the largest share of the sum of squares of one row, also by the mean share."""


def describe_repeats(n_repeats: int, n_rows: int, what: str) -> str:
    """Return the note that rows are copies of others, as in data joined with themselves; empty for few copies."""
    # One or two copies may be a coincidence.
    if n_repeats <= max(2, _MOST_REPEATS * n_rows):
        return ""
    return (
        f"{n_repeats:,} of {count(n_rows, what)} repeat another {what} exactly, and count as independent, so p-values "
        "are too small. Keep one of each"
    )


def warn_of_dependent_repeats(
    repeats: Sequence[NDArray[Any]], consequence: str, what: str = "repeat", names: Sequence[str] = ()
) -> None:
    """Warn if repeats are copies of one another, or most similar to those next to them, or if one agrees with no other.

    Parameters
    ----------
    repeats : sequence of arrays
        Features or distances of each repeat. Copies may be rotated and scaled. Repeats of different shapes or with NaN
        are not compared with their neighbours.
    consequence : str
        What may be wrong if the repeats depend on one another.
    what : str
        What a repeat is called.
    names : sequence of str, optional
        Names of the repeats; by default, they are counted from 0.
    """
    state_reversed_repeats(repeats, what, names)
    _state_odd_repeat(repeats, what, names)
    columns = [np.nan_to_num(side.reshape(len(side), -1).astype(np.float64)) for side in repeats]
    columns = [rows / (np.abs(rows).max(initial=0.0) or 1.0) for rows in columns]
    labels = names or [str(k) for k in range(len(columns))]
    shapes = {label: rows - rows.mean(axis=0) for label, rows in zip(labels, columns, strict=True)}
    if copies := find_copies(shapes) if len({len(rows) for rows in columns}) == 1 else {}:
        pairs = join_items(f"{copy} is a copy of {first}" for copy, first in copies.items())
        sign = f"of {count(len(repeats), what)}{'' if names else ' (counted from 0)'}, {pairs}"
    elif (mean := _find_combination(columns)) is not None:
        counted = "" if names else " (counted from 0)"
        sign = (
            f"of {count(len(repeats), what)}{counted}, {labels[mean]} is a combination of the others, as their mean is"
        )
    elif len({side.shape for side in repeats}) > 1 or not all(np.isfinite(side).all() for side in repeats):
        return
    else:
        found = find_dependence(
            [DiagnosticRows(np.stack([np.ravel(side)[:_MOST_ENTRIES] for side in columns]))], screened=True
        )
        if not found.has_order:
            return
        sign = f"neighbouring {what}s are closer than random ones (p = {found.p_value:.1g})"
    warn(f"{consequence}: {sign}. {what.capitalize()}s must be independent measurements", CalibrationWarning)


def _find_combination(repeats: Sequence[Matrix]) -> int | None:
    """Return the number of a repeat that is a linear combination of the others, such as their mean; None without any.

    If all repeats are equally involved, as after their mean was subtracted, none of them is the combination.
    """
    if len(repeats) < _FEWEST_REPEATS or len({side.shape for side in repeats}) > 1:
        return None
    lines = np.stack([np.ravel(side)[:_MOST_ENTRIES] for side in repeats])
    lengths = np.linalg.norm(lines, axis=1)
    if lines.shape[1] < _ENTRIES_PER_REPEAT * len(lines) or not lengths.all():
        return None
    values, vectors = np.linalg.eigh(lines @ lines.T / np.outer(lengths, lengths))
    # In units of the repeats themselves, weights of a mean are alike, and larger for the mean.
    weights = np.abs(vectors[:, 0]) / lengths
    order = np.argsort(weights)
    is_one = weights[order[-1]] > _LARGER_WEIGHT * weights[order[-2]]
    return int(order[-1]) if is_one and values[0] < _NO_RESIDUAL * values[-1] < values[1] else None


_ENTRIES_PER_REPEAT, _LARGER_WEIGHT, _NO_RESIDUAL = 4, 1.5, 1e-11
"""Fewest entries for each repeat, how much larger the weight of a combination is than that of its parts, and largest
unexplained share of its sum of squares, from rounding to single precision."""


def state_reversed_repeats(repeats: Sequence[NDArray[Any]], what: str, names: Sequence[str] = ()) -> None:
    """Warn in the result if the distances of a repeat fall where those of the others rise, as similarities do."""
    if len(repeats) < _FEWEST_REPEATS or any(side.ndim > 1 for side in repeats) or len({len(s) for s in repeats}) > 1:
        return
    lines = np.stack(repeats)
    if lines.shape[1] > _MOST_ENTRIES or not np.isfinite(lines).all():
        return
    ranks = centred_ranks(lines)
    others = ranks.sum(axis=0) - ranks
    if not np.isfinite(ranks).all() or np.sum(np.einsum("ij,ij->i", ranks, others) > 0) <= len(repeats) / 2:
        return
    n = _n_rows(lines.shape[1])
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(_N_ORDERS)]
    first, second = np.triu_indices(n, k=1)
    found = []
    for k, (own, other) in enumerate(zip(ranks, others, strict=True)):
        square = np.zeros((n, n))
        square[first, second] = square[second, first] = own
        null = np.array([square[order[first], order[second]] @ other for order in orders])
        if own @ other < null.mean() - _REVERSED * null.std():
            found.append(k)
    if found:
        which = join_items(names[k] for k in found) if names else f"{what} {join_items(found)} (counted from 0)"
        state_warning(
            f"the distances of {which} are small where those of the others are large, as similarities are. If so, "
            "convert them to distances, such as 1 - r"
        )


def _state_odd_repeat(repeats: Sequence[NDArray[Any]], what: str, names: Sequence[str]) -> None:
    """Warn in the result if one repeat agrees with the others no more than in random order, and all others agree.

    Noise alone gives no such agreement either, so the repeat must also be reliable by itself: halves of its features
    agree, or its distances vary as much as those of others do.
    """
    lines = [_some_distances(repeat) for repeat in repeats] if len(repeats) >= _FEWEST_REPEATS else []
    if not lines or len({len(line) for line in lines}) > 1 or not all(np.isfinite(line).all() for line in lines):
        return
    n = _n_rows(len(lines[0]))
    if n < _FEWEST_IN_ORDER or np.isnan(ranks := centred_ranks(np.stack(lines))).any():
        return
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(_N_ORDERS)]
    places = np.arange(len(ranks))

    def agreement(k: int, others: Mask) -> tuple[float, float]:
        """Return the correlation of a repeat with the mean of others, and in standard deviations above chance."""
        mean = ranks[others].mean(axis=0)
        return _measure_agreement(ranks[k], mean / (np.linalg.norm(mean) or 1.0), orders)

    odd = np.flatnonzero([-_REVERSED < agreement(k, places != k)[1] < _NOT_ABOVE for k in places.tolist()])
    if len(odd) != 1:
        return
    (k,) = odd.tolist()
    known = [agreement(other, (places != k) & (places != other)) for other in places.tolist() if other != k]
    low, high = (float(extreme([value for value, _ in known])) for extreme in (min, max))
    if min(z for _, z in known) < _CLEARLY_ABOVE:
        return
    if repeats[k].ndim > 1:
        features = repeats[k].reshape(len(repeats[k]), -1)
        chosen = rng.permutation(features.shape[1])
        if len(chosen) < _FEWEST_FEATURES:
            return
        halves = centred_ranks(np.stack([_some_distances(features[:, chosen[start::2]]) for start in range(2)]))
        is_reliable = _measure_agreement(halves[0], halves[1], orders)[1] >= _RELIABLE
    else:
        variation = np.array([line.std() / abs(line.mean()) for line in lines])
        is_reliable = low >= _HIGH and variation[k] >= _AS_VARIED * np.median(np.delete(variation, k))
    if is_reliable:
        name = names[k] if names else f"{what} {k} (counted from 0)"
        state_warning(
            f"the distances of {name} do not agree with those of the other {what}s (correlation with their mean "
            f"{agreement(k, places != k)[0]:.2f}, others {low:.2f} to {high:.2f}), so its rows may be in another order "
            "or belong to other inputs. Check them, or leave it out",
            questions_input=True,
        )


def _some_distances(repeat: NDArray[Any]) -> Vector:
    """Return the condensed distances between some rows of a repeat, which may itself be condensed distances."""
    n = _n_rows(len(repeat)) if repeat.ndim == 1 else len(repeat)
    rows = np.unique(np.linspace(0, n - 1, min(n, _MOST_IN_ORDER)).astype(np.intp))
    if repeat.ndim > 1:
        some = repeat.reshape(n, -1)[rows].astype(np.float64)
        return condensed_distances(some / safe_unit(some), "euclidean")
    first, second = rows[np.stack(np.triu_indices(len(rows), k=1))]
    return np.asarray(repeat[first * (2 * n - first - 1) // 2 + second - first - 1], dtype=np.float64)


def _n_rows(n_pairs: int) -> int:
    return round((1 + float(np.sqrt(1 + 8 * n_pairs))) / 2)


def _measure_agreement(own: Vector, other: Vector, orders: Sequence[Index]) -> tuple[float, float]:
    """Return a product of condensed matrices, and its excess over permuted rows, in standard deviations; or NaN."""
    null = permutation_products(other, own, _n_rows(len(own)), orders)
    observed = float(own @ other)
    return observed, float((observed - null.mean()) / (null.std() or 1.0))


_FEWEST_IN_ORDER, _MOST_IN_ORDER, _FEWEST_FEATURES = 12, 100, 4
"""Numbers of rows between which their order is checked, and smallest number of features that are divided in halves."""
_NOT_ABOVE, _CLEARLY_ABOVE, _RELIABLE = 1.64, 4.0, 3.0
"""Standard deviations above chance: the most of a repeat that agrees with no other, and the least of each of the others
and of halves of the features."""
_HIGH, _AS_VARIED = 0.3, 0.95
"""Smallest agreement of the others, and smallest variation of distances relative to theirs, if there are no features.
"""
_FEWEST_REPEATS, _REVERSED = 4, 4.0
"""Number of repeats from which on one can differ from the others, and standard deviations below chance of a reversed
one."""


def _short_series(test: Dependence, blocks: ArrayLike | None) -> list[str]:
    length = _series_length(test.n_rows, blocks)
    if not test.is_short(length):
        return []
    return [
        f"series of {length:g} rows are too short for a memory of {test.memory:.1f} rows. Use series at least 30 times "
        "as long as the memory, and first remove drifts that last as long as the series"
    ]


def _autocorrelation_warnings(p_value: float, options: Collection[str]) -> list[str]:
    if p_value > LEVEL:
        return []
    return [
        f"consecutive rows are closer than after permutations by {' and '.join(options)} (p = {p_value:.1g}), so rows "
        "are not exchangeable. If rows are a time series, use shift=True, with sessions as blocks. If groups belong to "
        "larger units (such as donors to sites), pass these as blocks="
    ]


def _series_length(n_rows: int, blocks: ArrayLike | None) -> float:
    """Number of rows in a typical series."""
    if blocks is None:
        return n_rows
    return float(np.median(np.bincount(check.labels(blocks, n_rows, "blocks", min_classes=1)[0])))
