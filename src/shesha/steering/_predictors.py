"""Predictors of how well rows can be steered, computed from the geometry of other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from shesha.descriptors import anisotropy
from shesha.inputs import validation as check
from shesha.kernels.class_statistics import class_means
from shesha.measures import procrustes_similarity
from shesha.nulls import summarise
from shesha.results import SteeringPredictors, SteeringScore
from shesha.stability import estimate, supervised_alignment
from shesha.steering._labelled_rows import NO_SHUFFLES, Labelled, check_labelled, shuffle_count, warn_of_dependence
from shesha.steering._principal_coordinates import coordinates
from shesha.steering._shift_coherence import agreement
from shesha.support.plurals import agree, count
from shesha.support.progress import track
from shesha.support.seeds import draw_seed, spawn
from shesha.support.types import Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimableWarning
from shesha.transfer import fisher_discriminant, silhouette

Predictor = Callable[[Matrix, Labels], float]
_SHUFFLING = 73
_LEVEL = 0.05
_ROWS = 1000
"""Largest number of rows whose distances are ranked; published scores use fewer rows."""

_PAIRS = 1_000_000


def _alignment(X: Matrix, codes: Labels) -> float:
    return supervised_alignment(X, codes, seed=0, max_samples=_ROWS)


def _procrustes(X: Matrix, codes: Labels) -> float:
    return procrustes_similarity(X, np.eye(int(codes.max()) + 1)[codes])


_SUPERVISED: dict[str, tuple[Predictor, float | None]] = {
    "supervised_alignment": (_alignment, 1.0),
    "fisher": (fisher_discriminant, None),
    "silhouette": (silhouette, 1.0),
    "procrustes": (_procrustes, 1.0),
}
"""Functions that score labelled rows, each with the maximum of its score."""
_NO_LABELS = "does not use labels, so shuffling them changes nothing"


def predictors(
    X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None, n_draws: int = 99, seed: Seed = None
) -> SteeringPredictors:
    """Compute scores that may predict how well a representation can be steered, each with its null.

    Pass rows other than those to be steered (see `halves`); on the same rows, the prediction would be circular.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Activations of one layer, finite, at least 8 rows.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    groups : array of shape (n_samples,), optional
        Template, speaker or document of each row. Labels are shuffled within groups that contain several classes, and
        among groups of a single class.
    n_draws : int
        Number of shuffles of the labels, 0 or at least 19. With 0, there are no chance levels.
    seed : int, Generator or None
        Seed for the shuffles; None draws a new one.

    Returns
    -------
    SteeringPredictors
        These scores have a chance level and a p-value: `supervised_alignment` (the paper's supervised Shesha, the rank
        correlation of distances with whether labels differ), `fisher`, `silhouette`, `procrustes` (similarity to the
        one-hot labels), `coherence` (of the shifts between the two classes farthest apart) and `unbiased_coherence`.
        `feature_split` and `anisotropy` have none, because they do not use labels. With random labels, Procrustes
        similarity and Fisher's ratio are not 0, and they grow with the number of features per row. With two classes,
        the Procrustes similarity is sqrt(f / (1 + f)), where f is Fisher's ratio, so both rank models in the same
        order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> found = predictors(rng.standard_normal((60, 8)) + 2 * np.eye(8)[y], y, n_draws=19, seed=0)
    >>> round(found["supervised_alignment"], 2), round(found["fisher"], 2)
    (0.5, 0.24)
    """
    rows = check.matrix(X, min_rows=8)
    known = check_labelled(X, y, groups, len(rows), halved=False)
    warn_of_dependence(rows, known)
    n_shuffles, number = shuffle_count(n_draws), draw_seed(seed)
    rng = spawn(number, _SHUFFLING)
    shuffles = [known.shuffle(rng) for _ in range(n_shuffles)]
    scores = [_score_predictor(name, rows, known, shuffles) for name in _SUPERVISED]
    scores += _coherence(rows, known, n_shuffles, number)
    # The score is feature_split without rows that are zero in all features or in one half of them.
    there = np.asarray(rows.any(axis=1))
    split = estimate(rows[there], n_bootstrap=0, pairs=_PAIRS, seed=number)
    scores.append(SteeringScore(name="feature_split", value=split.value, reason=split.reason or _NO_LABELS))
    scores.append(SteeringScore(name="anisotropy", value=anisotropy(rows), reason=_NO_LABELS))
    return SteeringPredictors(
        tuple(scores), len(rows), known.shuffle_description, n_shuffles, (*known.notes, *_zero(there)), number
    )


def _zero(there: Mask) -> tuple[str, ...]:
    n_zero = int((~there).sum())
    return (
        ()
        if there.all()
        else (f"{count(n_zero, 'zero row')} {agree(n_zero, 'was', 'were')} left out of feature_split",)
    )


def _score_predictor(name: str, X: Matrix, y: Labelled, shuffles: list[Labels]) -> SteeringScore:
    function, best = _SUPERVISED[name]
    with warnings.catch_warnings():
        # A shuffle without a score counts as extreme; if the observed score is missing, the result reports it.
        warnings.simplefilter("ignore", NotEstimableWarning)
        value = function(X, y.codes)
        null = np.array([function(X, codes) for codes in track(shuffles, len(shuffles), "shuffles")])
    if np.isnan(value):
        return SteeringScore(name=name, value=value, reason="not estimable from these rows")
    return _score_with_null(name, value, null, best)


def _score_with_null(name: str, value: float, null: Vector, best: float | None) -> SteeringScore:
    if not len(null):
        return SteeringScore(name=name, value=value, reason=NO_SHUFFLES)
    worth = summarise(value, null, "higher", _LEVEL, best)
    return SteeringScore(
        name=name,
        value=value,
        null_mean=worth.null_mean,
        null_sd=worth.null_sd,
        threshold=worth.threshold,
        score=worth.score,
        p_value=worth.p_value,
    )


def _coherence(X: Matrix, y: Labelled, n_draws: int, seed: int) -> tuple[SteeringScore, SteeringScore]:
    """Coherence of the shifts between the two classes whose means are farthest apart."""
    turned = coordinates(X).values
    means = class_means(turned, y.codes)[0]
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    source, target = (int(index) for index in np.unravel_index(int(np.triu(distances).argmax()), distances.shape))
    first, second = agreement(turned, y, source, target, n_draws, seed)
    return first, replace(second, name="unbiased_coherence")
