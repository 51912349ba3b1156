"""Compare two representations by several measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from numpy.typing import ArrayLike

from shesha.comparison import estimation_choice as large
from shesha.comparison._pair_in_memory import PairRequest, compare_in_memory
from shesha.comparison.moment_scores import compare_moments
from shesha.comparison.sampled_scores import Sampling
from shesha.inputs import validation as check
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice
from shesha.moments import Moments
from shesha.nulls.permutations import Design
from shesha.results import Comparison
from shesha.support.defaults import N_PERMUTATIONS
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed
from shesha.views import Rdm, hint_of_distances


def compare(
    X: ArrayLike | Rdm | Moments,
    Y: ArrayLike | Rdm | Choice | Iterable[Choice] | None = None,
    measures: Choice | Iterable[Choice] = "standard",
    *,
    names: tuple[str, str] = ("X", "Y"),
    calibrate: bool = False,
    confidence: float = 0.95,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    permutations: ArrayLike | None = None,
    repeats: tuple[Any, Any] | None = None,
    covariates: ArrayLike | Rdm | None = None,
    folds: int | None = None,
    queries: int | None = None,
    pairs: int | None = None,
    error: float | None = None,
    seed: Seed = 0,
) -> Comparison:
    """Compare two representations of the same inputs by several measures.

    Each view (ranked distances, neighbours, ...) is made once for all measures that look at it. A measure that the
    data cannot give, or that fails, has NaN and a reason, and does not stop the others. What would exceed the memory
    budget is estimated from a sample of rows or pairs of rows, with the error of that in its note, or is left out with
    a warning before the work starts. Rows of files that do not fit (mapped .npy files, arrays of Zarr and the like) are
    read some at a time. Ctrl-C returns what is known so far: a measure that was
    under way keeps its value, and its interval if that was done, with a note.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features), or Rdm
        Row i of both is the same input, or rows have names (an index, obs_names) and are matched by them, with a
        `RowNamesWarning`: `docs/files.md`. Widths may differ. Token sequences (n, tokens, d) and feature maps (n,
        channels, h, w) are folded as the ReSi benchmark does. `shesha.Rdm` marks distances between rows.
        `shesha.Moments` hold both representations, of any number of rows: ``compare(moments, measures)`` gives the
        measures that are functions of means and products (CKA, CCA, Procrustes, regression, spectra), exactly. With
        `calibrate`, intervals leave out one stretch of rows after another (delete-a-group jackknife); CKA has a p-value
        from the exact mean and variance over all permutations, the others from draws of the limit for many rows.
    measures : str, measure or sequence of them
        'standard' (all that cost at most n^2 d: RTD only on request), 'all', a family ('neighbours'), a group ('ReSi'),
        a name, with options if wanted ('mutual kNN(k=20)'), functions of `shesha.measures`, or your own f(X, Y) ->
        float, for which higher is closer.
    names : pair of str
        Names of the two in the table.
    calibrate : bool
        Add to every line its chance level, p-value and calibrated score (as `shesha.calibrate` gives them), and an
        interval. `corrected_p_value` allows for the number of measures: if nothing links X and Y, some corrected
        p-value is at most alpha with probability alpha (step-down maximum over the permutations that all measures
        share). This takes as long as hundreds of comparisons.
    confidence : float
        Confidence of the intervals, in (0, 1): how often they contain the mean value over samples of the same size. An
        interval is the value plus and minus a multiple of the standard deviation of its values on 50 random subsets of
        four fifths of the rows (a delete-d jackknife: that deviation times 2, times a quantile of Student's t), within
        the measure's bounds. It assumes rows that are independent of one another, and is too narrow if a few outliers
        dominate the value or there are few more rows than features; `docs/intervals.md` has the measured coverage.
    n_permutations, alpha, blocks, groups, within, shift, block_length, permutations
        As for `shesha.calibrate`; only with `calibrate`, except `groups`, which also serve `folds`. Intervals leave out
        whole groups, or stretches of a series, if they are given.
    repeats : pair of (array of shape (k, n_samples, n_features), or sequence of k matrices or Rdm), optional
        Repeated measurements of X and of Y; (repeats of X, None) if only X is noisy. Adds to every line its mean value
        over the repeats, the noise ceiling of `shesha.noise_ceiling` (the product of both if both are noisy), the
        reliability (mean value of two repeats), and the value corrected for noise: that over the repeats divided by the
        roots of the reliabilities. None, with a note, if reliability is not positive or the measure is not a similarity
        of at most 1; what noise does to it is exact for unbiased CKA and near for RSA.
    covariates
        Known common causes, to be regressed out of both: as for `shesha.calibrate`, and also without `calibrate`.
        Intervals regress them out of every subset.
    folds : int, optional
        Add `held_out` to measures that fit a map (OrthProc, AngShape, ProcDist, Procrustes similarity, AlignCos, CCA,
        SVCCA, LinReg): the map is fitted on the rows outside each fold and evaluated on those inside, for all folds
        together. With as many features as rows the value of all rows is near its best for any data; the held-out value
        is not. Rows of a group stay in one fold.
    queries : int, optional
        Estimate measures of neighbours from this many random rows, each compared with all: `docs/how_to/many_rows.md`.
    pairs : int, optional
        Estimate measures of distances (RSA, RDM drift, distance correlation, RSMDiff with norm='frobenius') from this
        many random pairs of rows.
    error : float, optional
        Sample enough rows and pairs for this Monte Carlo standard error.
    seed : int, Generator or None
        Seed of random measures, permutations, subsets of the rows, folds and samples.

    Returns
    -------
    Comparison
        Prints as a table, converts with `to_frame()`; `result["CKA"].value` is one number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> print(compare(X, 3 * X[:, ::-1], ["CKA", "HardCorr"])["CKA"])
    CKA: 1 (higher is closer, 0 to 1)
    """
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    chance = {"calibrate": calibrate, "n_draws": n_permutations, "alpha": alpha}
    if isinstance(X, Moments):
        unused = {**design, "permutations": permutations, "repeats": repeats}
        unused |= {"covariates": covariates, "folds": folds, "queries": queries, "pairs": pairs, "error": error}
        return _compare_sums(X, cast(Choice, measures if Y is None else Y), unused, chance, confidence, seed)
    if Y is None:
        raise TypeError("Y must be a second representation, got None; only Moments need no Y")
    Y = cast(ArrayLike | Rdm, Y)
    both_names = _two_names(names)
    check.fraction(confidence, "confidence", closed=False)
    check.fraction(alpha, "alpha", closed=False)
    check.count(n_permutations, "n_permutations")
    check.boolean(calibrate, "calibrate")
    hint_of_distances(dict(zip(both_names, (X, Y), strict=True)))
    request = PairRequest(
        names=both_names,
        measures=seed_measures(choose(measures), seed),
        sampling=Sampling.build(queries, pairs, error, confidence, seed),
        design=design,
        permutations=permutations,
        calibrate=calibrate,
        confidence=confidence,
        n_permutations=n_permutations,
        alpha=alpha,
        repeats=repeats,
        covariates=covariates,
        folds=folds,
        seed=seed,
    )
    large.require_plain(request.sampling.option_names, request.additions)
    others = {**design, "permutations": permutations, **request.additions, "calibrate": None}
    if large.exceeds_memory(X, Y, others):
        return large.compare_stored(X, Y, both_names, request.measures, request.sampling, chance)
    return compare_in_memory(X, Y, request)


def _compare_sums(
    X: Moments, measures: Choice, unused: dict[str, Any], chance: dict[str, Any], confidence: float, seed: Seed
) -> Comparison:
    """Compare representations that are known by their means and products only."""
    large.refuse_with_moments(unused)
    return compare_moments(
        X,
        seed_measures(choose(measures), seed),
        calibrate=check.boolean(chance["calibrate"], "calibrate"),
        confidence=check.fraction(confidence, "confidence", closed=False),
        n_draws=check.count(chance["n_draws"], "n_permutations"),
        alpha=check.fraction(chance["alpha"], "alpha", closed=False),
        seed=seed,
    )


def _two_names(names: Any) -> tuple[str, str]:
    """Return the names of both sides as text; refuse others than two different ones."""
    if not isinstance(names, tuple | list) or len(names) != 2 or str(names[0]) == str(names[1]):
        raise ValueError(f"names must be two different names, got {names!r}")
    return str(names[0]), str(names[1])


def seed_measures(chosen: list[Measure], seed: Seed) -> list[Measure]:
    """Give all random measures one seed, so that they make the same choices for all representations."""
    # One number serves all: their draws are of different kinds, and it gives the same as a direct call.
    measure_seed = draw_seed(seed)
    return [measure.with_seed(measure_seed) for measure in chosen]
