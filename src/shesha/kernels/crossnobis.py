"""Cross-validated squared distances between conditions, which independent noise does not bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy import sparse

from shesha.support.types import Labels, Mask, Matrix, Vector

Weigh = Callable[[Matrix], Matrix]


def across_runs(rows: Matrix, codes: Labels, runs: Labels, n_conditions: int, weigh: Weigh | None) -> Matrix:
    """Average, over all pairs of different runs, the product of the differences between two conditions.

    Parameters
    ----------
    rows : array of shape (n_trials, n_channels)
        Responses.
    codes : array of shape (n_trials,)
        Condition of each trial, numbered from 0; -1 leaves the trial out.
    runs : array of shape (n_trials,)
        Run of each trial, numbered from 0. The noise in different runs must be independent.
    n_conditions : int
        Number of conditions.
    weigh : callable or None
        Function that multiplies rows by the inverse noise covariance; None means no weighting.

    Returns
    -------
    array of shape (n_conditions, n_conditions)
        Mean products; NaN for pairs of conditions that occur together in fewer than two runs.
    """
    present = np.zeros((int(runs.max()) + 1, n_conditions), dtype=bool)
    present[runs[codes >= 0], codes[codes >= 0]] = True
    # Runs that contain no condition are ignored.
    present = present[present.any(axis=1)]
    means = _means(rows, codes, runs, n_conditions)
    if present.all():
        return _complete(means, len(present), weigh)
    return _incomplete(list(means), present, lambda a, b: weigh, np.arange(len(present)))


def across_weighted_pairs(
    rows: Matrix, codes: Labels, parts: Labels, n_conditions: int, weigh: Callable[[int, int], Weigh | None]
) -> Matrix:
    """As `across_runs`, with a weighting that depends on the pair of runs."""
    present = np.zeros((int(parts.max()) + 1, n_conditions), dtype=bool)
    present[parts[codes >= 0], codes[codes >= 0]] = True
    runs = np.flatnonzero(present.any(axis=1))
    return _incomplete(list(_means(rows, codes, parts, n_conditions)), present[runs], weigh, runs)


def across_folds(
    rows: Matrix, codes: Labels, folds: Labels, n_conditions: int, weigh: Callable[[int, int], Weigh | None]
) -> Matrix:
    """Average the products of different trials, with a weighting that depends on the folds of both trials.

    Parameters
    ----------
    rows, codes, n_conditions
        See `across_runs`.
    folds : array of shape (n_trials,)
        Fold of each trial, numbered from 0.
    weigh : callable
        Function of two folds that returns the weighting of their products.
    """
    n_folds = int(folds.max()) + 1
    kinds = np.arange(n_conditions)[:, None]
    indicators = [((codes == kinds) & (folds == fold)).astype(np.float64) for fold in range(n_folds)]
    sums = [indicator @ rows for indicator in indicators]
    products, squares = np.zeros((n_conditions, n_conditions)), np.zeros(n_conditions)
    for a in range(n_folds):
        for b in range(a, n_folds):
            weighting = weigh(a, b)
            one = sums[a] if weighting is None else weighting(sums[a])
            both = one @ sums[b].T
            products += both if a == b else both + both.T
            if a == b:
                weighted = rows if weighting is None else weighting(rows)
                squares += indicators[a] @ np.einsum("ij,ij->i", rows, weighted)
    counts = np.sum(indicators, axis=(0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = products / np.outer(counts, counts)
        diagonal = (np.diagonal(products) - squares) / (counts * (counts - 1))
    means[np.diag_indices(n_conditions)] = np.where(counts > 1, diagonal, np.nan)
    return from_products(means)


def _means(rows: Matrix, codes: Labels, runs: Labels, n_conditions: int) -> Iterator[Matrix]:
    """For each run, yield the mean response to each condition; zero for conditions without trials."""
    order = np.lexsort((codes, runs))
    order = order[codes[order] >= 0]
    for trials_of_run in np.split(order, np.flatnonzero(np.diff(runs[order])) + 1):
        counts = np.bincount(codes[trials_of_run], minlength=n_conditions)
        if (counts == 1).all():
            yield rows[trials_of_run]
            continue
        places = (codes[trials_of_run], np.arange(len(trials_of_run)))
        indicator = sparse.csr_matrix(
            (1.0 / counts[codes[trials_of_run]], places), shape=(n_conditions, len(trials_of_run))
        )
        yield np.asarray(indicator @ rows[trials_of_run])


def _complete(means: Iterator[Matrix], n_runs: int, weigh: Weigh | None) -> Matrix:
    """Process all pairs of runs at once: products of the sums, minus the products within each run."""
    total, within = None, None
    for mean in means:
        total = mean.copy() if total is None else np.add(total, mean, out=total)
        product = (mean if weigh is None else weigh(mean)) @ mean.T
        within = product if within is None else np.add(within, product, out=within)
    if total is None or within is None or n_runs < 2:
        n = 0 if total is None else len(total)
        return np.full((n, n), np.nan)
    products = (total if weigh is None else weigh(total)) @ total.T - within
    return from_products(products / (n_runs * (n_runs - 1)))


def _incomplete(means: list[Matrix], present: Mask, weigh: Callable[[int, int], Weigh | None], runs: Labels) -> Matrix:
    """Process the pairs of runs one by one; each pair of conditions uses the runs that contain both."""
    n = present.shape[1]
    sums, counts = np.zeros((n, n)), np.zeros((n, n))
    for a, b in combinations(range(len(means)), 2):
        both = present[a] & present[b]
        shared = np.outer(both, both)
        weighting = weigh(int(runs[a]), int(runs[b]))
        weighted = means[a] if weighting is None else weighting(means[a])
        sums += np.where(shared, from_products(weighted @ means[b].T), 0.0)
        counts += shared
    distances: Matrix = sums / np.where(counts > 0, counts, np.nan)
    return distances


def crossvalidated_products(sums: Matrix, weighted: Matrix, squares: Vector, counts: Vector) -> Matrix:
    """Inner products of mean responses, without each trial's product with itself, which noise would bias.

    Parameters
    ----------
    sums : array of shape (n_conditions, n_channels)
        Sum of the responses to each condition.
    weighted : array of shape (n_conditions, n_channels)
        The sums multiplied by the inverse noise covariance, or the unweighted sums.
    squares : array of shape (n_conditions,)
        For each condition, the sum of the products of its trials with themselves, weighted in the same way.
    counts : array of shape (n_conditions,)
        Number of trials of each condition. With fewer than two, the product of the condition with itself is NaN.

    Returns
    -------
    array of shape (n_conditions, n_conditions)
        Inner products. They are unbiased if the noise of different trials is independent.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        products = weighted @ sums.T / np.outer(counts, counts)
        diagonal = (np.einsum("kn,kn->k", weighted, sums) - squares) / (counts * (counts - 1))
    products[np.diag_indices(len(products))] = np.where(counts > 1, diagonal, np.nan)
    return products


def from_products(products: Matrix) -> Matrix:
    """Squared distances from inner products, which may be asymmetric if the factors come from two runs."""
    diagonal = np.diagonal(products)
    distances: Matrix = diagonal[:, None] + diagonal - products - products.T
    np.fill_diagonal(distances, np.where(np.isnan(diagonal), np.nan, 0.0))
    return distances


def centred_products(products: Matrix) -> Matrix:
    """Inner products of the deviations from the mean over conditions."""
    deviations: Matrix = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
    return deviations
