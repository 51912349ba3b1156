"""How well rows can be steered: the protocol, effects on single rows, and averages over probes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.threads import parallel
from shesha.results import Number, Steerability
from shesha.steering.labelled_rows import (
    Coordinates,
    Labelled,
    check_labelled,
    coordinates,
    score_against_null,
    shuffle_count,
    warn_of_dependence,
)
from shesha.steering.vectors import ENOUGH, METHODS, PAPER, Method, Probe, Units, probes, random_directions, strengths
from shesha.support.provenance import keep_statements
from shesha.support.seeds import generator, number
from shesha.support.types import Index, Labels, Mask, Matrix, Seed, Vector
from shesha.views import select_rows

NEIGHBOURS = 10
_ENTRIES = 1 << 21
"""Largest number of distances held in memory."""


def local_effects(
    X: Coordinates, codes: Labels, tested: Mask, probe: Probe, direction: Vector, alphas: Vector, k: int
) -> Vector:
    """Slope, over strengths, of a row's distance to the source class minus that to the target class.

    Under a linear probe, the effect would be the same for all rows, so distances are used instead. The distance to a
    class is the mean distance to its k nearest unsteered rows in the steered half. Rows of the training half are not
    used, because any vector, even one from shuffled labels, points towards the rows from which it was computed. Effects
    lie in [-2, 2]. The effect is 2 if the row moves straight away from the source and straight towards the target. A
    negative effect means that the vector does the opposite of what is intended.
    """
    rows, centred = np.flatnonzero(tested), alphas - alphas.mean()
    source_distances = _mean_distances(X, rows, rows[codes[rows] == probe.source], direction, alphas, k)
    towards = _mean_distances(X, rows, rows[codes[rows] == probe.target], direction, alphas, k)
    return np.asarray((source_distances - towards) @ centred / (centred @ centred))


def _mean_distances(X: Coordinates, rows: Labels, others: Labels, direction: Vector, alphas: Vector, k: int) -> Matrix:
    """Mean distance of each steered row to its k nearest other rows: (rows, strengths)."""
    k = min(k, len(others) - 1)
    positions = X.values @ direction
    length = float(direction @ direction)
    distances = np.empty((len(rows), len(alphas)))
    step = max(1, _ENTRIES // max(1, len(others)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        # A row is not counted as its own neighbour.
        itself = np.where(some[:, None] == others, np.inf, 0.0)
        still, gap = X.squared_distances[np.ix_(some, others)] + itself, positions[some, None] - positions[None, others]
        for place, alpha in enumerate(alphas):
            # |x + a v - t|^2 = |x - t|^2 + 2 a v.(x - t) + a^2 |v|^2
            moved = still + 2 * alpha * gap + alpha**2 * length
            near = np.partition(moved, k - 1, axis=1)[:, :k]
            distances[start : start + step, place] = np.sqrt(np.maximum(near, 0.0)).mean(axis=1)
    return distances


SCORES = ("accuracy", "max_drop", "to_target", "to_source", "anti_steerable")
_AT_A_TIME = 256
"""Number of probes that are fitted together before their rows are steered."""


@dataclass(frozen=True, eq=False)
class ProbePlan:
    """The labels and training rows of every probe; the first labelling is the true one."""

    codes: Labels
    """Class code of each row under each labelling, of shape (n_labellings, n_samples)."""
    labelling: Index
    """The labelling that each probe uses, of shape (n_probes,)."""
    training: Mask
    """Mask of the training rows of each probe, of shape (n_samples, n_probes). All other rows are steered."""
    n_splits: int

    @property
    def n_labellings(self) -> int:
        """Number of labellings, which are the true labels and the shuffles."""
        return len(self.codes)


def draw_plan(y: Labelled, n_splits: int, n_draws: int, rng: np.random.Generator) -> ProbePlan:
    """Draw shuffles of the labels, and halves for each; every half is trained on once and steered once."""
    codes = np.array([y.codes, *(y.shuffle(rng) for _ in range(n_draws))])
    training = []
    for labels in codes:
        for _ in range(n_splits):
            first = y.halves(labels, rng)
            training += [first, ~first]
    labelling = np.repeat(np.arange(len(codes)), 2 * n_splits)
    return ProbePlan(codes, labelling, np.array(training).T, n_splits)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Effects of steering on held-out rows."""

    accuracies: Vector
    """Accuracy at each strength."""
    scores: Vector
    """One value for each name in SCORES."""
    strength: float
    """The strength at which half of the rows predicted as other classes are predicted as the target."""
    rows: Index
    effects: Vector
    """Effect on each steered row."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Settings for steering."""

    alphas: Vector
    """Strengths in the units of the features."""
    method: Method
    C: float
    neighbours: int
    """Number of neighbours; with 0, effects on single rows are not computed."""


def outcomes(X: Coordinates, n_classes: int, plan: ProbePlan, setup: Setup) -> list[Outcome]:
    """Fit every probe of the plan, and steer the other half of the rows along its direction."""
    results: list[Outcome] = []
    for start in range(0, len(plan.labelling), _AT_A_TIME):
        span = slice(start, start + _AT_A_TIME)
        training, codes = plan.training[:, span], plan.codes[plan.labelling[span]].T
        fitted = probes(X.values, codes, training, n_classes, setup.method, setup.C, ENOUGH)
        results += parallel(
            lambda j, fitted=fitted, codes=codes, training=training: steer(  # type: ignore[misc]
                X, codes[:, j], ~training[:, j], fitted[j], fitted[j].direction, setup
            ),
            range(len(fitted)),
        )
    return results


def fit_observed_probes(X: Coordinates, n_classes: int, plan: ProbePlan, setup: Setup) -> list[Probe]:
    """Fit the probes for the true labels again, to steer along other directions."""
    mask = plan.labelling == 0
    codes = np.repeat(plan.codes[0][:, None], mask.sum(), axis=1)
    return probes(X.values, codes, plan.training[:, mask], n_classes, setup.method, setup.C, ENOUGH)


def steer(X: Coordinates, codes: Labels, tested: Mask, probe: Probe, direction: Vector, setup: Setup) -> Outcome:
    """Move the tested rows along a direction, and classify them with the probe."""
    rows = np.flatnonzero(tested)
    base, slopes = probe.scores(X.values[rows]), probe.weights @ direction
    # Because the probe is linear, predictions at all strengths follow from the scores of the unsteered rows.
    read = (base[:, None, :] + setup.alphas[None, :, None] * slopes).argmax(axis=2)
    accuracies = (read == codes[rows, None]).mean(axis=0)
    zero = int(np.flatnonzero(setup.alphas == 0)[0])
    effects = np.empty(0)
    if setup.neighbours:
        effects = local_effects(X, codes, tested, probe, direction, setup.alphas, setup.neighbours)
    scores = (
        accuracies[zero],
        accuracies[zero] - accuracies.min(),
        _conversion_share(read, zero, int(setup.alphas.argmax()), probe.target),
        _conversion_share(read, zero, int(setup.alphas.argmin()), probe.source),
        (effects < 0).mean() if len(effects) else np.nan,
    )
    return Outcome(accuracies, np.array(scores), _median_strength(base, slopes, probe.target), rows, effects)


def _conversion_share(read: Labels, zero: int, index: int, label: int) -> float:
    """Share of the rows predicted as other classes that steering converts to a class; NaN if none."""
    others = read[:, zero] != label
    return float((read[others, index] == label).mean()) if index != zero and others.any() else np.nan


def _median_strength(base: Matrix, slopes: Vector, target: int) -> float:
    """Strength at which half of the rows predicted as other classes become the target; infinite if never."""
    others = base[base.argmax(axis=1) != target]
    if not len(others):
        return np.nan
    ahead, gain = others - others[:, [target]], slopes[target] - slopes
    rivals = np.arange(len(gain)) != target
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(gain > 0, ahead / gain, np.where(ahead > 0, np.inf, -np.inf))
    return float(np.median(needed[:, rivals].max(axis=1)))


SATURATED = 0.95
"""If max drop exceeds this share of the largest possible drop, all rows are predicted as one class."""
_BEST = {"higher": 1.0, "lower": 0.0}


def mean(values: Matrix, axis: int = -1) -> Vector:
    """Mean of the values that are not NaN; NaN if there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def interval(values: Vector) -> tuple[float, float]:
    """95 % interval for the mean over probes, for new rows from the same population.

    Halves of the same rows overlap, so the variance of the mean over K halves does not fall as 1 / K. The correction by
    Nadeau and Bengio adds the ratio of steered to training rows, which is 1, to 1 / K.
    """
    sample = values[np.isfinite(values)]
    if len(sample) < 2:
        return np.nan, np.nan
    from scipy.special import stdtrit

    margin = stdtrit(len(sample) - 1, 0.975) * np.sqrt((1 / len(sample) + 1) * sample.var(ddof=1))
    return float(sample.mean() - margin), float(sample.mean() + margin)


def _score(name: str, values: Matrix, closer: str) -> Number:
    """Compare a score with its null, given values per labelling (the true one first) and probe."""
    means = mean(values)
    if np.isnan(means[0]):
        return Number(name=name, value=np.nan, closer=closer, reason=_NOTHING[name])
    low, high = np.clip(interval(values[0]), 0.0, 1.0)
    limits = {"low": float(low), "high": float(high)}
    return score_against_null(name, float(means[0]), means[1:], _BEST[closer], closer=closer, **limits)


_NOTHING = {
    "flips to target": "no strength is above 0, or all rows are predicted as the target without steering",
    "flips to source": "no strength is below 0, or all rows are predicted as the source without steering",
}


_NAMES = ("accuracy", "max drop", "flips to target", "flips to source", "anti-steerable rows")


@keep_statements
def steerability(
    X: ArrayLike,
    y: ArrayLike,
    *,
    alphas: ArrayLike = PAPER,
    units: Units = "raw",
    groups: ArrayLike | None = None,
    method: Method = "logistic",
    C: float = 1.0,
    n_splits: int = 5,
    n_directions: int = 20,
    n_draws: int = 99,
    missing: MissingRows = "refuse",
    seed: Seed = None,
) -> Steerability:
    """Measure how much a steering vector changes a probe's predictions for held-out rows.

    Rows are divided into halves. A logistic probe is trained on one half, which also gives the vector. At every
    strength ``alpha``, the rows of the other half are moved by ``alpha`` times the vector (of unit length) and
    classified by the probe. Then the halves are exchanged, and new halves are drawn. Shuffled labels give the chance
    level, because even a probe of noise loses accuracy when rows are moved along its direction, especially if there are
    few rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Activations of one layer, finite, at least 8 rows.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least 4 rows each. If there are more than two classes, the vector
        points from one to the other of the two classes that are farthest apart along it.
    alphas : sequence of float
        Strengths, which must include 0. The default is that of the paper, -2 to 2 in steps of 0.5.
    units : {'raw', 'norm'}
        Unit of `alphas`: the unit of the features ('raw') or the mean length of the rows of X ('norm'). With raw
        strengths, layers and models with smaller activations appear easier to steer.
    groups : array of shape (n_samples,), optional
        Template, prompt, speaker or document of each row. Splits never divide a group. Labels are shuffled within
        groups that contain several classes, and among groups of a single class. Without groups, rows from the same
        template are on both sides of every split, so the probe is tested on rows like its training data
        (`shesha.doubts` searches for such rows).
    method : {'logistic', 'mean_difference', 'svd'}
        As for `vector`. The probe is always logistic.
    C : float
        Inverse strength of the L2 penalty, as in scikit-learn. Its effect depends on the scale of X. If rows are short,
        a small C makes the logistic vector equal to the difference of the class means.
    n_splits : int
        Number of splits into halves. Each half is used once for training and once for steering.
    n_directions : int
        Number of random directions along which every half is also steered, as a control (following the paper).
    n_draws : int
        Number of shuffles of the labels, 0 or at least 19. With 0, there are no chance levels.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out together with rows of zeros, and counted. Rows
        without a label are left out.
    seed : int, Generator or None
        Seed for splits, shuffles and random directions; None draws a new one.

    Returns
    -------
    Steerability
        Contains five scores, each with its interval, chance level and p-value: accuracy, max drop (accuracy at strength
        0 minus the lowest accuracy), flips towards each of the two classes at the largest strengths, and the share of
        anti-steerable rows. It also contains the accuracy curves and the effect on each row. Under a linear probe, the
        effect would be the same for all rows, so effects are measured by distances to neighbours in the steered half.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["neg", "pos"], 40)
    >>> X = rng.standard_normal((80, 12)) + 2 * np.eye(12)[(y == "pos").astype(int)]
    >>> found = steerability(X, y, n_splits=2, n_draws=19, seed=0)
    >>> round(found.max_drop.value, 2), round(found.max_drop.chance, 2), round(found.random_drop, 2)
    (0.36, 0.05, 0.07)
    """
    sides, along = select_rows({"X": X}, {"y": y, "groups": groups}, missing=missing)
    X, y, groups = sides["X"], along["y"], along["groups"]
    rows = coordinates(X)
    known = check_labelled(X, y, groups, len(rows.values))
    warn_of_dependence(rows.values, known)
    grid, steps = strengths(alphas, units, rows.norm)
    check.choice(method, METHODS, "method")
    setup = Setup(steps, method, check.positive(C, "C", most=check.SQUARABLE[1]), NEIGHBOURS)
    rng = generator(seed)
    plan = draw_plan(known, check.count(n_splits, "n_splits"), shuffle_count(n_draws), rng)
    all_outcomes = outcomes(rows, known.n_classes, plan, setup)
    true_label_outcomes = all_outcomes[: 2 * plan.n_splits]
    probes = fit_observed_probes(rows, known.n_classes, plan, setup)
    control = _control_outcomes(check.count(n_directions, "n_directions"), rows, plan, probes, setup, rng)
    scores = _scores(all_outcomes, plan)
    source, target = _poles(probes)
    shares = np.bincount(known.codes) / len(known.codes)
    largest = float(scores[0].value - min(shares[source], shares[target]))
    strength = float(np.median([outcome.strength for outcome in true_label_outcomes]))
    return Steerability(
        source=known.names[source],
        target=known.names[target],
        accuracy=scores[0],
        max_drop=scores[1],
        to_target=scores[2],
        to_source=scores[3],
        anti_steerable=scores[4],
        random_drop=float(mean(_column(control, "max_drop"))),
        random_anti_steerable=float(mean(_column(control, "anti_steerable"))),
        strength=strength / (rows.norm if units == "norm" else 1.0),
        largest_drop=largest,
        alphas=tuple(grid.tolist()),
        accuracies=_mean_curve(true_label_outcomes),
        random_accuracies=_mean_curve(control),
        shuffled_accuracies=_mean_curve(all_outcomes[2 * plan.n_splits :]) if n_draws else (),
        effects=tuple(_effects(true_label_outcomes, rows).tolist()),
        units=units,
        norm=rows.norm,
        method=method,
        exchanged=known.shuffle_description,
        n_rows=len(rows.values),
        n_splits=plan.n_splits,
        n_directions=len(control) // len(probes),
        n_draws=plan.n_labellings - 1,
        notes=(*known.notes, *_saturation(scores[1].value, largest)),
        seed=number(seed),
    )


def _control_outcomes(
    n_directions: int, X: Coordinates, plan: ProbePlan, probes: list[Probe], setup: Setup, rng: np.random.Generator
) -> list[Outcome]:
    """Steer along random directions, as a control."""
    axes = random_directions(X.axes, n_directions, rng)
    return [
        steer(X, plan.codes[0], ~plan.training[:, j], probe, axis, setup)
        for j, probe in enumerate(probes)
        for axis in axes
    ]


def _column(results: list[Outcome], name: str) -> Vector:
    return np.array([outcome.scores[SCORES.index(name)] for outcome in results])


def _scores(results: list[Outcome], plan: ProbePlan) -> list[Number]:
    values = np.array([outcome.scores for outcome in results]).reshape(plan.n_labellings, -1, len(SCORES))
    closer = ("higher", "higher", "higher", "higher", "lower")
    return [_score(name, values[:, :, k], closer[k]) for k, name in enumerate(_NAMES)]


def _poles(probes: list[Probe]) -> tuple[int, int]:
    """Return the most frequent source and target classes of the probes."""
    pairs = [(probe.source, probe.target) for probe in probes]
    return max(sorted(set(pairs)), key=pairs.count)


def _mean_curve(results: list[Outcome]) -> tuple[float, ...]:
    return tuple(np.mean([outcome.accuracies for outcome in results], axis=0).tolist())


def _effects(results: list[Outcome], X: Coordinates) -> Matrix:
    """Mean effect on each row over the splits."""
    total = np.zeros(len(X.values))
    for outcome in results:
        total[outcome.rows] += outcome.effects
    return total / (len(results) / 2)


def _saturation(drop: float, largest: float) -> tuple[str, ...]:
    if not largest > 0 or drop < SATURATED * largest:
        return ()
    return (
        f"the largest strengths push nearly all rows into one class, so max drop ({drop:.3f}) only reflects the "
        f"accuracy minus the share of that class ({largest:.3f}). Use smaller alphas",
    )
