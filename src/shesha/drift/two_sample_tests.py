"""Two-sample tests of new inputs, whose rows do not correspond to earlier rows, corrected for their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.doubting import warn_of_row_doubts
from shesha.doubting.row_lengths import describe_lengths
from shesha.drift.canary_check import p_value, threshold
from shesha.drift.row_dependence import dependence_text, n_equal_rows
from shesha.inputs import MissingRows, Names, align_features, split_names, validation as check
from shesha.inputs.column_words import CLASS, is_design_name, is_part_name
from shesha.inputs.table_columns import column_names
from shesha.inputs.validation import require_squarable
from shesha.kernels.threads import single_threaded_blas
from shesha.nulls.dependence import have_resembling_groups, resemblance_by_name
from shesha.nulls.null_summary import holm, number_against_null, undecided
from shesha.results import TwoSample, sentence_parts as say
from shesha.results.doubts import LEVEL
from shesha.results.number import Number, NumberTable
from shesha.support import memory, types as kinds
from shesha.support.progress import best_answer, collect
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.sampling_units import is_batch_name, is_unit_name
from shesha.support.seeds import ALPHA, generator, number, spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, join_items, join_names, lowercase_start, plural
from shesha.views import select_rows

Test = Literal["energy", "mmd", "sliced wasserstein", "c2st"]
TESTS: tuple[Test, ...] = get_args(Test)
Statistic = Callable[[Matrix], Vector]
"""Function of divisions of the rows (one per line, 1 marks the window) that returns their statistics."""
_DIRECTIONS = 100
_FOLDS = 5
_BYTES = 24
"""Memory for each ordered pair of rows."""
_MOST_ROWS, _SAMPLING = 2_500, 7
"""Number of rows drawn from each sample if the distances between all rows exceed the memory."""
_ROUGH_ROWS, _ROUGH_DRAWS = 250, 99
"""Fewest rows of each sample, and divisions, of the test that answers if Ctrl-C comes before the first result."""
_INTERRUPTED = "Interrupted: the remaining tests were not computed."
_SHARED = "both samples share"
_ALIKE = 0.5
"""Share of the smallest statistic of random divisions below which samples are too alike to be different inputs."""
_DOMINANT = 0.9
"""Share of the variance above which distances depend on little but one feature."""


def _shared_rows_text(reference: Names | None, window: Names | None) -> str:
    """Describe how many rows of both samples have the same identifiers, with advice; empty if none do."""
    if reference is None or window is None or not (reference.certain and window.certain):
        return ""
    if reference.counts_rows or window.counts_rows:
        return ""
    n_shared = len(np.intersect1d(reference.as_text().values, window.as_text().values))
    n_rows = min(len(reference), len(window))
    remedy = (
        "`shesha diff` and `shesha compare` (shesha.diff, shesha.compare) pair them"
        if n_shared == n_rows
        else "Leave these rows out of one sample"
    )
    return f"{_SHARED} {n_shared:,} of {n_rows:,} {plural(reference.word)}. {remedy}" if n_shared else ""


def _same_features(reference: ArrayLike, window: ArrayLike) -> tuple[dict[str, Any], str]:
    """Return both samples, with the features of tables in the order of the reference, and which rows they share."""
    reference, window = (
        X if kinds.is_array(X) and not hasattr(X, "toarray") else check.raw_matrix(X, name)
        for X, name in ((reference, "reference"), (window, "window"))
    )
    (first, names), (second, others) = (split_names(side) for side in (reference, window))
    shared = _shared_rows_text(names, others)
    if not shared and (n_equal := n_equal_rows(first, second)):
        n_rows = min(len(first), len(second))
        shared = f"{_SHARED} {n_equal:,} of {n_rows:,} rows with equal values. Leave these rows out of one sample"
    if shared:
        fact, _, remedy = shared.partition(". ")
        warn(
            f"{fact}, so they are not independent and p-values are not valid; {lowercase_start(remedy)}",
            CalibrationWarning,
        )
    return {"reference": reference, "window": align_features(reference, window, "reference", "window")}, shared


def _dependence_by_name(sides: dict[str, Any]) -> str:
    """Describe that rows of a sample with names of one beginning, such as chunks of a document, are alike."""
    for name, side in sides.items():
        rows, names = split_names(side)
        if len(getattr(rows, "shape", ())) == 2 and (sign := resemblance_by_name(names, check.raw_matrix(rows, name))):
            return f"in the {name}, {sign}. Pass one row, such as the mean, of each group"
    return ""


def _dependence_by_unit(sides: dict[str, Any]) -> str:
    """Describe that rows of one donor, sample or other unit are alike, if a column says which; empty if not.

    Units that have equal shares of both samples make the test conservative, not too sensitive.
    """
    columns = _columns_of_both(sides)
    for column, values in columns.items():
        units, codes = np.unique(np.concatenate(values), return_inverse=True)
        if not is_unit_name(column) and (not is_part_name(column) or len(units) < _FEWEST_PARTS):
            continue
        if not 2 <= len(units) <= len(codes) / 2 or not _differ_in_shares(values):
            continue
        if all(len(set(one)) == 1 for one in values):
            first, second = (one[0] for one in values)
            state_warning(
                f"{column} is {first} in all rows of the reference and {second} in all rows of the window, so a "
                "difference is one between these two, not between more of their kind"
            )
            continue
        for (name, side), of_side in zip(sides.items(), np.split(codes, [len(values[0])]), strict=True):
            rows = split_names(side)[0]
            # Some rows of each unit, because rows at random would hardly share any of many.
            order = np.argsort(of_side, kind="stable")
            place = np.arange(len(order)) - np.searchsorted(of_side[order], of_side[order])
            n_each = max(2, _RESEMBLING_ROWS // len(set(of_side.tolist())))
            chosen = order[place < n_each][:_RESEMBLING_ROWS]
            some = np.asarray(check.raw_matrix(rows[chosen], name), dtype=np.float64)
            # Rows without numbers are refused or left out below.
            finite = np.isfinite(some).all(axis=1)
            some, chosen = some[finite], chosen[finite]
            of_rows = np.unique(of_side[chosen], return_inverse=True)[1]
            if of_rows.any() and have_resembling_groups(some, of_rows, large=True):
                return (
                    f"rows of the {name} with one {column} resemble one another. Pass one row, such as the mean, of "
                    f"each of {len(units):,} {plural(column)}, or the same ones in both samples"
                )
    return ""


def _columns_of_both(sides: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of units, batches and classes of both samples as text, those with the fewest values first."""
    found = [split_names(side)[1] for side in sides.values()]
    known = [{} if names is None else names.columns for names in found]
    columns: dict[str, list[Any]] = {}
    for column in filter(is_design_name, known[0]):
        values = [one[column].as_text().values for one in known if column in one]
        if list(map(len, values)) == list(map(len, sides.values())):
            columns[column] = values
    return dict(sorted(columns.items(), key=lambda item: len(set(np.concatenate(item[1])))))


def _differ_in_shares(values: list[Any]) -> bool:
    """Return whether the shares of the values of a column differ between samples (chi-squared)."""
    from scipy.stats import chi2_contingency

    codes = np.unique(np.concatenate(values), return_inverse=True)[1]
    counts = [np.bincount(side, minlength=codes.max() + 1) for side in np.split(codes, [len(values[0])])]
    return bool(chi2_contingency(counts).pvalue <= LEVEL)


def _state_shares(sides: dict[str, Any]) -> None:
    """State which classes or batches have other shares in the window, which explains a difference."""
    for column, values in _columns_of_both(sides).items():
        classes = np.unique(np.concatenate(values))
        if not (is_batch_name(column) or CLASS.fit(column)) or len(classes) > _MOST_CLASSES:
            continue
        shares = np.array([[np.mean(side == one) for one in classes] for side in values])
        largest = np.abs(np.diff(shares, axis=0)[0]).argmax()
        if np.ptp(shares[:, largest]) >= _MATERIAL_SHARE and _differ_in_shares(values):
            before, after = (f"{share:.0%}" for share in shares[:, largest])
            name = classes[largest] or "missing"
            state(f"the samples differ in their shares of {column}, most in {name}: {before} and {after}")


_MOST_CLASSES, _MATERIAL_SHARE = 100, 0.05
"""Largest number of classes whose shares are compared, and smallest difference that is stated."""
_RESEMBLING_ROWS, _FEWEST_PARTS = 400, 10
"""Number of rows of each sample that are looked at, and smallest number of documents or persons, unlike a few sources,
that stand for others."""


@keep_statements
def two_sample(
    reference: ArrayLike,
    window: ArrayLike,
    *,
    test: Test = "energy",
    n_permutations: int = 199,
    alpha: float = ALPHA,
    seed: Seed = 0,
) -> TwoSample:
    """Test by permutation whether new rows come from the distribution of the reference.

    Parameters
    ----------
    reference, window : arrays of shape (n_rows, n_features)
        At least 4 rows each, with finite values and the same features. The rows need not correspond. If the distances
        between all rows exceed the memory budget, 2,500 random rows of each are compared; p-values remain exact.
    test : {'energy', 'mmd', 'sliced wasserstein', 'c2st'}
        Energy distance (Szekely and Rizzo), `shesha.measures.mmd`, `shesha.measures.sliced_wasserstein`, or a
        classifier two-sample test: the ROC AUC of a ridge classifier of reference and window, with 5 folds.
    n_permutations : int
        Number of permutations. The p-value is at least 1 / (n_permutations + 1).
    alpha : float
        Significance level of the threshold.
    seed : int, Generator or None
        Seed of the permutations, directions and folds.

    Returns
    -------
    TwoSample
        The statistic, its threshold and its p-value. The p-value is exact if rows are exchangeable, which rows from the
        same document or session are not. If consecutive rows depend on each other, the result says so.

    Raises
    ------
    ValueError
        If the widths differ, entries are not finite, or there are too few rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((60, 5)), rng.standard_normal((40, 5))
    >>> two_sample(X, Y).significant, two_sample(X, Y + 1).p_value
    (False, 0.005)
    """
    check.choice(test, TESTS, "test")
    check.fraction(alpha, "alpha", closed=False)
    n_permutations = check.count(n_permutations, "n_permutations")
    sides, shared = _same_features(reference, window)
    found = _test_sides(
        sides, shared or _dependence_by_unit(sides) or _dependence_by_name(sides), test, n_permutations, alpha, seed
    )
    _state_faults(sides["reference"], sides["window"], column_names(reference))
    rows = (_some_rows(split_names(side)[0], name) for name, side in sides.items())
    if found.significant and (lengths := describe_lengths(*rows, paired=False)):
        state(lengths)
    return found


def _test_sides(
    sides: dict[str, Any], dependence: str, test: Test, n_permutations: int, alpha: float, seed: Seed
) -> TwoSample:
    """Test two samples; `dependence` describes rows that both have, or that depend on one another, if that is known."""
    few = _few_rows(sides, seed)
    x, y = (require_squarable(check.matrix(side, name), name) for name, side in few.items())
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"window must have the {x.shape[1]} features of the reference, got {y.shape[1]}; for another encoder, "
            "encode the same inputs again and use check"
        )
    n, n_window = len(x) + len(y), len(y)
    memory.require(_BYTES * n**2, f"the distances of {n:,} rows", "pass fewer rows")
    rng = generator(seed)
    with single_threaded_blas():
        statistic = _STATISTICS[test](np.concatenate([x, y]), rng)
        dealt = np.zeros((n_permutations + 1, n))
        dealt[0, -n_window:] = 1.0
        for line in dealt[1:]:
            line[rng.permutation(n)[:n_window]] = 1.0
        values = statistic(dealt)
    fields: dict[str, Any] = {"n_reference": len(x), "n_window": n_window, "n_draws": n_permutations, "alpha": alpha}
    if not np.isfinite(values[0]):
        return TwoSample(name=test, value=np.nan, reason="all rows are equal", **fields)
    # Equal sums may differ by rounding if their terms are in another order.
    tolerance = 1e-13 * float(np.abs(values).max())
    null = np.where(np.isclose(values[1:], values[0], rtol=1e-10, atol=tolerance), values[0], values[1:])
    if values[0] < _ALIKE * null.min():
        state_warning(
            "the samples are more alike than random divisions of their rows, as if both had the same inputs; "
            "`shesha diff` (shesha.diff) compares two encodings of the same inputs"
        )
    # Random rows are not neighbours, so the first rows show whether neighbours depend on each other.
    stretches = few if few is sides else {name: np.asarray(side[:_MOST_ROWS]) for name, side in sides.items()}
    found = (dependence_text(check.matrix(side, name), name, group_advice=False) for name, side in stretches.items())
    dependence = next((text for text in (dependence, *found) if text), "")
    return TwoSample(
        name=test,
        value=float(values[0]),
        p_value=p_value(float(values[0]), null),
        threshold=threshold(null, alpha),
        chance=float(null.mean()),
        null=tuple(null.tolist()),
        **fields,
        dependence=dependence,
        seed=number(seed),
    )


def _few_rows(sides: dict[str, Any], seed: Seed) -> dict[str, Any]:
    """Return both samples, or random rows of them if the distances between all rows exceed the memory."""
    shapes: list[tuple[int, ...]] = [getattr(side, "shape", ()) for side in sides.values()]
    if any(len(shape) != 2 for shape in shapes):
        return sides
    if _BYTES * sum(int(shape[0]) for shape in shapes) ** 2 <= memory.memory_budget():
        return sides
    rng, few = spawn(seed, _SAMPLING), {}
    for name, side in sides.items():
        chosen = np.sort(rng.choice(len(side), min(len(side), _MOST_ROWS), replace=False))
        state(f"{len(chosen):,} random rows of {len(side):,} in the {name}")
        few[name] = np.asarray(side[chosen])
    return few


def _state_faults(reference: Any, window: Any, features: Names | None) -> None:
    """State faults of each sample, which features separate them, and which one determines the distances."""
    sides = {"reference": split_names(reference)[0], "window": split_names(window)[0]}
    first, second = rows_of_sides = [_some_rows(side, name) for name, side in sides.items()]

    def listing(places: Index) -> str:
        known = features is not None and len(features) == first.shape[1]
        words = join_names(map(str, features.values[places])) if known and features is not None else join_items(places)
        return f"feature{'s' * (len(places) != 1)} {words} {agree(len(places), 'is', 'are')}"

    for (name, side), rows in zip(sides.items(), rows_of_sides, strict=True):
        if (rows == rows[0]).all():
            state_warning(f"all {len(rows):,} checked rows of the {name} are equal, as those of a broken encoder are")
            return
        numbers = np.arange(len(side))[:: _step(side)]
        warn_of_row_doubts(rows, f"the {name}", "euclidean", but=("few coordinates",), numbers=numbers)
    constant = np.flatnonzero((np.ptp(first, axis=0) == 0) & (np.ptp(second, axis=0) == 0) & (first[0] != second[0]))
    if len(constant):
        state_warning(f"{listing(constant)} constant in each sample with another value, which alone separates them")
    if all(_step(side) == 1 and _is_centred(rows) for side, rows in zip(sides.values(), rows_of_sides, strict=True)):
        state_warning(
            "all features have mean 0 in both samples, as if each had been centred, standardised or decomposed (PCA) "
            "by itself, which hides shifts; transform the window as the reference"
        )
    variances = np.concatenate([first, second]).var(axis=0)
    largest = np.flatnonzero(variances > _DOMINANT * variances.sum())
    if len(largest) and len(variances) > 2:
        share = f"{variances[largest[0]] / variances.sum():.1%}"
        state_warning(f"{listing(largest)} {share} of the variance, so distances depend on little else")


_CENTRED = 1e-5
"""Largest mean of a feature, as a share of its standard deviation, that rounding in single precision leaves."""


def _is_centred(rows: Matrix) -> bool:
    spread = rows.std(axis=0)
    return bool((np.abs(rows.mean(axis=0)) <= _CENTRED * spread)[spread > 0].all() and (spread > 0).any())


def _some_rows(side: Any, name: str) -> Matrix:
    """Return evenly spaced rows, which suffice to describe their lengths."""
    return check.matrix(side[:: _step(side)], name)


def _step(side: Any) -> int:
    return max(1, len(side) // _MOST_ROWS)


def _distances(rows: Matrix) -> Matrix:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(rows)))


def _means(pairs: Matrix, dealt: Matrix) -> tuple[Vector, Vector, Vector]:
    """Return, per division, the means of a matrix over pairs within each sample and between the samples."""
    other = 1.0 - dealt
    n, m = other.sum(axis=1), dealt.sum(axis=1)
    dealt_sums, rest = dealt @ pairs, other @ pairs
    within = np.einsum("ij,ij->i", rest, other) / n**2, np.einsum("ij,ij->i", dealt_sums, dealt) / m**2
    return *within, np.einsum("ij,ij->i", dealt_sums, other) / (n * m)


def _energy(rows: Matrix, rng: np.random.Generator) -> Statistic:
    pairs = _distances(rows)

    def statistic(dealt: Matrix) -> Vector:
        first, second, between_samples = _means(pairs, dealt)
        return np.maximum(2 * between_samples - first - second, 0.0)

    return statistic


def _mmd(rows: Matrix, rng: np.random.Generator) -> Statistic:
    from scipy.spatial.distance import squareform

    pairs = _distances(rows)
    bandwidth = float(np.median(squareform(pairs)))
    if bandwidth <= 0:
        return lambda dealt: np.full(len(dealt), np.nan)
    kernel = np.exp(-0.5 * (pairs / bandwidth) ** 2)

    def statistic(dealt: Matrix) -> Vector:
        first, second, between_samples = _means(kernel, dealt)
        return np.sqrt(np.maximum(first + second - 2 * between_samples, 0.0))

    return statistic


def _sliced_wasserstein(rows: Matrix, rng: np.random.Generator) -> Statistic:
    directions = rng.standard_normal((_DIRECTIONS, rows.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    projections = directions @ rows.T
    order = np.argsort(projections, axis=1)
    gaps = np.diff(np.take_along_axis(projections, order, axis=1), axis=1)

    def _cdf_area(line: Vector) -> float:
        """Return the area between the two distribution functions, averaged over all directions."""
        new = np.cumsum(line[order], axis=1)[:, :-1]
        both = np.arange(1, rows.shape[0])
        m = line.sum()
        gaps_between_means = np.abs(new / m - (both - new) / (len(line) - m))
        return float((gaps_between_means * gaps).sum(axis=1).mean())

    return lambda dealt: np.array([_cdf_area(line) for line in dealt])


def _c2st(rows: Matrix, rng: np.random.Generator) -> Statistic:
    """Return the statistic of a classifier test: the ROC AUC of a ridge classifier on held-out rows.

    With fixed folds, the predictions are linear in the labels, so one matrix product suffices for all permutations.
    """
    n = len(rows)
    centred = rows - rows.mean(axis=0)
    size = float(np.sqrt((centred**2).sum() / n))
    if size <= 0:
        return lambda dealt: np.full(len(dealt), np.nan)
    kernel = (centred / size) @ (centred / size).T
    weights = np.zeros((n, n))
    folds = rng.permutation(n) % _FOLDS
    for fold in range(_FOLDS):
        out, training = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        ridge = kernel[np.ix_(training, training)] + np.eye(len(training)) * (np.trace(kernel) / n)
        # With centred weights, predictions do not depend on how many of the training rows are from the window.
        smooth = np.linalg.solve(ridge, kernel[np.ix_(training, out)]).T
        weights[np.ix_(out, training)] = smooth - smooth.mean(axis=1, keepdims=True)

    def statistic(dealt: Matrix) -> Vector:
        return np.array([_area(predictions, line) for predictions, line in zip(dealt @ weights.T, dealt, strict=True)])

    return statistic


def _area(predictions: Vector, line: Vector) -> float:
    """Return the probability that a window row scores higher than a reference row; ties count half."""
    from scipy.stats import rankdata

    m = line.sum()
    return float((rankdata(predictions)[line > 0].sum() - m * (m + 1) / 2) / (m * (len(line) - m)))


_STATISTICS: dict[Test, Callable[[Matrix, np.random.Generator], Statistic]] = {
    "energy": _energy,
    "mmd": _mmd,
    "sliced wasserstein": _sliced_wasserstein,
    "c2st": _c2st,
}


DEFAULT: tuple[Test, ...] = ("energy", "mmd", "c2st")


@dataclass(frozen=True, kw_only=True)
class TwoSampleTests(NumberTable):
    """Tests of whether two samples of rows, which need not correspond, come from the same distribution."""

    numbers: tuple[Number, ...]
    """The statistic of each test with its null from random divisions of all rows, and p-values corrected by Holm."""
    n_reference: int
    n_window: int
    dependence: str = ""
    """How rows depend on their neighbours, or how many both samples share, with advice; p-values are then not valid.
    Empty if there is no sign of it."""
    shares_rows: bool = False
    """Whether both samples contain some of the same rows."""
    interrupted: bool = False
    lengths: str = ""
    """How the lengths of rows differ, and whether samples that differ do so with rows of length 1; otherwise empty."""

    WHAT: ClassVar[str] = "tests"

    @property
    def headline(self) -> str:
        """Whether the samples differ."""
        sizes = f"{self.n_reference:,} and {self.n_window:,} rows, level {self.numbers[0].alpha:g}"
        if not any(each.has_value for each in self):
            return f"Whether the samples differ cannot be tested: {self.numbers[0].reason}."
        if self.dependence and (self.significant or self.shares_rows):
            reason = self.dependence.partition(". ")[0]
            return f"Whether the samples differ cannot be decided, because {reason} ({sizes})."
        if not self.significant:
            p_values, corrected = [each.p_value for each in self], [each.corrected_p_value for each in self]
            few = undecided(p_values, corrected, self.numbers[0].n_draws, self.numbers[0].alpha)
            if few:
                return f"Whether the samples differ {few} ({sizes})."
            return f"No difference between the two samples was found ({sizes})."
        names = ", ".join(each.name for each in self.significant)
        lengths = f" {self.lengths[:1].upper()}{self.lengths[1:]}." if self.lengths else ""
        return f"The two samples differ ({names}; {sizes}).{lengths}"

    def _claim(self) -> str:
        drawn = dict.fromkeys(say.draws(each.n_draws, each.exchanged) for each in self if each.has_null)
        return say.listing(self.headline, map(say.clause, self.numbers), *drawn, "corrected by Holm")


@keep_statements
def two_sample_tests(
    reference: ArrayLike,
    window: ArrayLike,
    *,
    tests: Iterable[Test] = DEFAULT,
    n_permutations: int = 199,
    alpha: float = ALPHA,
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> TwoSampleTests:
    """Test by several statistics whether two samples of rows come from the same distribution.

    The rows need not correspond: these are other inputs. On the command line: `shesha drift reference.npy window.npy`.

    Parameters
    ----------
    reference, window : arrays of shape (n_rows, n_features)
        See `two_sample`. Features of tables are matched by the names of the columns. Identifiers of rows that both
        samples have are counted in a warning, because such samples are not independent.
    tests : iterable of {'energy', 'mmd', 'sliced wasserstein', 'c2st'}
        The tests, see `two_sample`. Their p-values are corrected for their number (Holm).
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out and counted.
    n_permutations, alpha, seed
        See `two_sample`. The corrected p-value is at least the number of tests divided by n_permutations + 1.

    Returns
    -------
    TwoSampleTests

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((60, 5)), rng.standard_normal((40, 5))
    >>> two_sample_tests(X, Y).headline, two_sample_tests(X, 2 * Y).significant[0].name
    ('No difference between the two samples was found (60 and 40 rows, level 0.05).', 'energy')
    """
    options = {"n_permutations": n_permutations, "alpha": alpha, "missing": missing, "seed": seed}
    return sample_differences(reference, window, column_names(reference), tests=tests, **cast(Any, options))


@keep_statements
def sample_differences(
    reference: ArrayLike,
    window: ArrayLike,
    features: Names | None,
    *,
    tests: Iterable[Test],
    n_permutations: int,
    alpha: float,
    missing: MissingRows,
    seed: Seed,
) -> TwoSampleTests:
    """Return what `two_sample_tests` does; statements name the features if their names are known."""
    names = [check.choice(name, TESTS, "tests") for name in kinds.several(tests, str, "tests", "names")]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"tests must be different names, at least one, got {names}")
    both, shared = _same_features(reference, window)
    sides = {
        name: split_names(select_rows({name: X}, missing=missing, metric="euclidean")[0][name], name)[0]
        for name, X in both.items()
    }
    n_permutations = check.count(n_permutations, "n_permutations")
    check.fraction(alpha, "alpha", closed=False)
    named = dict(zip(both, (reference, window), strict=True))
    dependent = shared or _dependence_by_unit(named) or _dependence_by_name(named)
    runs = [partial(_test_sides, test=cast(Test, name), alpha=alpha, seed=seed) for name in names]
    with best_answer(lambda: _describe_tests([runs[0](_evenly_spaced(sides), "", n_permutations=_ROUGH_DRAWS)])):
        results, interrupted = collect(
            (test(sides, dependent, n_permutations=n_permutations) for test in runs),
            len(runs),
            "tests",
            fewest=1,
            describe=_describe_tests,
        )
    _state_faults(sides["reference"], sides["window"], features)
    numbers = []
    for each in results:
        one: Number = number_against_null(
            each.name,
            each.value,
            np.asarray(each.null),
            alpha=alpha,
            n_rows=each.n_reference + each.n_window,
            exchanged="all rows",
            seed=each.seed,
            reason=each.reason,
        )
        numbers.append(one)
    # The tests that Ctrl-C left out count for the correction.
    left_out = [1.0] * (len(names) - len(numbers))
    corrected = holm([*(each.p_value for each in numbers), *left_out])[: len(numbers)]
    if min(corrected) <= alpha:
        _state_shares(named)
    lengths = ""
    if (
        not interrupted
        and min(corrected) <= alpha
        and (lengths := describe_lengths(*(_some_rows(side, name) for name, side in sides.items()), paired=False))
    ):
        rows = {name: check.matrix(side, name) for name, side in _few_rows(sides, seed).items()}
        unit = {name: side / np.linalg.norm(side, axis=1, keepdims=True) for name, side in rows.items()}
        again, interrupted = collect(
            (test(unit, "", n_permutations=n_permutations) for test in runs), len(runs), "tests of unit rows"
        )
        n_left = int(sum(holm([each.p_value for each in again]) <= alpha)) if again else 0
        found = f"{n_left} of {len(again)} tests find" if n_left else "no test finds"
        lengths += "" if interrupted else f"; with rows of length 1, {found} a difference"
    dependence = results[0].dependence
    doubt = (f"p-values are too small: {dependence}",) if dependence and not shared else ()
    if doubt and min(corrected) > alpha:
        state_warning(doubt[0])
    return TwoSampleTests(
        numbers=tuple(replace(each, corrected_p_value=float(p)) for each, p in zip(numbers, corrected, strict=True)),
        n_reference=results[0].n_reference,
        n_window=results[0].n_window,
        dependence=dependence,
        shares_rows=bool(shared),
        lengths=lengths,
        notes=(*doubt * bool(min(corrected) <= alpha), *[_INTERRUPTED] * interrupted),
        interrupted=interrupted,
    )


def _describe_tests(found: Sequence[TwoSample]) -> str:
    return ", ".join(f"{each.name} p = {each.p_value:.3g}, {each.n_reference + each.n_window:,} rows" for each in found)


def _evenly_spaced(sides: dict[str, Any]) -> dict[str, Any]:
    """Return a few rows of each sample, from which a first test takes less than a second."""
    return {name: np.asarray(side[:: max(1, len(side) // _ROUGH_ROWS)]) for name, side in sides.items()}
