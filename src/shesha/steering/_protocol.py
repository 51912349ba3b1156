"""The steering protocol: a probe is trained on half of the rows, and the other half is steered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.kernels.threads import parallel
from shesha.steering._directions import ENOUGH, Method, Probe, probes
from shesha.steering._effects_on_single_rows import local_effects
from shesha.steering._labelled_rows import Labelled
from shesha.steering._principal_coordinates import Coordinates
from shesha.support.types import Index, Labels, Mask, Matrix, Vector

SCORES = ("accuracy", "max_drop", "to_target", "to_source", "anti_steerable")
_AT_A_TIME = 256
"""Number of probes that are fitted together before their rows are steered."""


@dataclass(frozen=True, eq=False)
class Plan:
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


def draw_plan(y: Labelled, n_splits: int, n_draws: int, rng: np.random.Generator) -> Plan:
    """Draw shuffles of the labels, and halves for each; every half is trained on once and steered once."""
    codes = np.array([y.codes, *(y.shuffle(rng) for _ in range(n_draws))])
    training = []
    for labels in codes:
        for _ in range(n_splits):
            first = y.halves(labels, rng)
            training += [first, ~first]
    labelling = np.repeat(np.arange(len(codes)), 2 * n_splits)
    return Plan(codes, labelling, np.array(training).T, n_splits)


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


def outcomes(X: Coordinates, n_classes: int, plan: Plan, setup: Setup) -> list[Outcome]:
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


def fit_observed_probes(X: Coordinates, n_classes: int, plan: Plan, setup: Setup) -> list[Probe]:
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
