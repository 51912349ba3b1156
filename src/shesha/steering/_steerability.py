"""Measurement of how well rows can be steered."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.results import Steerability, SteeringScore
from shesha.steering._directions import METHODS, Method, Probe, random_directions
from shesha.steering._effects_on_single_rows import NEIGHBOURS
from shesha.steering._labelled_rows import Labelled, check_labelled, shuffle_count, warn_of_dependence
from shesha.steering._principal_coordinates import Coordinates, coordinates
from shesha.steering._probe_averages import SATURATED, mean, score_with_null
from shesha.steering._protocol import SCORES, Outcome, Plan, Setup, draw_plan, fit_observed_probes, outcomes, steer
from shesha.steering._strengths import PAPER, Units, strengths
from shesha.support.seeds import generator, number
from shesha.support.types import Matrix, Seed, Vector

LEVEL = 0.05
_NAMES = ("accuracy", "max drop", "flips to target", "flips to source", "anti-steerable rows")


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
    rows = coordinates(X)
    known = check_labelled(X, y, groups, len(rows.values))
    warn_of_dependence(rows.values, known)
    grid, steps = strengths(alphas, units, rows.norm)
    setup = _check_setup(steps, method, C)
    rng = generator(seed)
    plan = draw_plan(known, check.count(n_splits, "n_splits"), shuffle_count(n_draws), rng)
    all_outcomes = outcomes(rows, known.n_classes, plan, setup)
    true_label_outcomes = all_outcomes[: 2 * plan.n_splits]
    probes = fit_observed_probes(rows, known.n_classes, plan, setup)
    control = _control_outcomes(check.count(n_directions, "n_directions"), rows, plan, probes, setup, rng)
    scores = _scores(all_outcomes, plan)
    source, target = _poles(probes)
    largest = _largest_drop(known, scores[0].value, source, target)
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
        strength=_median_strength(true_label_outcomes) / (rows.norm if units == "norm" else 1.0),
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


def _check_setup(steps: Vector, method: Method, C: float) -> Setup:
    check.choice(method, METHODS, "method")
    return Setup(steps, method, check.positive(C, "C"), NEIGHBOURS)


def _control_outcomes(
    n_directions: int, X: Coordinates, plan: Plan, probes: list[Probe], setup: Setup, rng: np.random.Generator
) -> list[Outcome]:
    """Steer along random directions, as a control."""
    axes = random_directions(X.axes, n_directions, rng)
    return [
        steer(X, plan.codes[0], ~plan.training[:, j], probe, axis, setup)
        for j, probe in enumerate(probes)
        for axis in axes
    ]


def _median_strength(results: list[Outcome]) -> float:
    return float(np.median([outcome.strength for outcome in results]))


def _column(results: list[Outcome], name: str) -> Vector:
    return np.array([outcome.scores[SCORES.index(name)] for outcome in results])


def _scores(results: list[Outcome], plan: Plan) -> list[SteeringScore]:
    values = np.array([outcome.scores for outcome in results]).reshape(plan.n_labellings, -1, len(SCORES))
    closer = ("higher", "higher", "higher", "higher", "lower")
    return [score_with_null(name, values[:, :, k], closer[k], LEVEL) for k, name in enumerate(_NAMES)]


def _poles(probes: list[Probe]) -> tuple[int, int]:
    """Return the most frequent source and target classes of the probes."""
    pairs = [(probe.source, probe.target) for probe in probes]
    return max(sorted(set(pairs)), key=pairs.count)


def _largest_drop(y: Labelled, accuracy: float, source: int, target: int) -> float:
    shares = np.bincount(y.codes) / len(y.codes)
    return float(accuracy - min(shares[source], shares[target]))


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
