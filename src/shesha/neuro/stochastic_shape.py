"""Stochastic shape distance between recordings: means and noise, compared after the best rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shesha.doubting import warn_of_shuffled_rows
from shesha.inputs import MissingRows, validation as check
from shesha.kernels.condition_distances import compress_columns
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.shapes import energy_distance, gaussian_distance
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.trials import Conditions, Trials
from shesha.report import page_width, wrap
from shesha.results import sentence_parts as say
from shesha.results.base import Result
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import generator, number
from shesha.support.types import Matrix, Seed

Kind = Literal["gaussian", "energy"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Clouds = list[Matrix]
_FEWEST_TRIALS, _FEWEST_CONDITIONS = 4, 3
_UNLIKE = 2.0
"""Ratio of the sizes of responses above which two recordings may have different units."""


@dataclass(frozen=True)
class StochasticShape(Result):
    """A distance between two recordings as clouds of trials, compared with halves of each recording."""

    kind: str
    value: float
    """Distance with all trials; 0 for clouds that are rotations of each other. It is biased upwards if there are few
    trials."""
    corrected: float
    """Distance corrected for the small number of trials; 0 if the recordings differ no more than the halves of each
    one."""
    half_distance: float
    """Distance between half of the trials of one recording and half of the other's."""
    first_floor: float
    """Noise floor: the distance between the two halves of the first recording."""
    second_floor: float
    weight: float
    n_conditions: int
    fewest_trials: int
    n_splits: int
    seed: int | None = None

    def _text(self) -> str:
        """Return a text with the distance and the distances between halves of the trials."""
        return "\n".join(wrap(f"{self._sentences}.", page_width()))

    def _claim(self) -> str:
        return f"{self._sentences} (Duong et al. 2023, {say.count(self.n_splits, 'split')})"

    @property
    def _sentences(self) -> str:
        value = f"{self.corrected:.3g}, corrected for few trials ({self.value:.3g} without correction)"
        within = f"{self.first_floor:.3g} and {self.second_floor:.3g} within the recordings"
        return (
            f"{self.kind} shape distance {value}; {self.n_conditions} conditions with at least {self.fewest_trials} "
            f"trials each. Distance between halves of the trials: {self.half_distance:.3g} between the recordings, "
            f"{within}"
        )


@keep_statements
def stochastic_shape(
    X: Any,
    Y: Any,
    conditions: Conditions,
    conditions_of_Y: Conditions | None = None,
    *,
    kind: Kind = "gaussian",
    weight: float = 1.0,
    n_splits: int = 10,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> StochasticShape:
    """Return the shape distance between two noisy recordings, corrected for the small number of trials.

    Each condition is a cloud of trials. A single rotation of all clouds of `Y` brings them as close as possible to
    those of `X`. The squared distances between corresponding clouds are averaged over conditions, and the result is the
    square root. Use this distance if the noise matters as well as the means: for example, it separates two areas that
    have the same tuning but different noise correlations.

    Parameters
    ----------
    X, Y : arrays of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, which are averaged over time. X and Y may have different neurons and different numbers of neurons,
        but their units must be comparable; if they are not, standardise the neurons first.
    conditions, conditions_of_Y : array of shape (n_trials,), or names of coordinates
        The condition of each trial. At least 3 conditions must have at least 4 trials in both recordings; other
        conditions are left out. If `conditions_of_Y` is None, `conditions` applies to both.
    kind : {'gaussian', 'energy'}
        'gaussian': 2-Wasserstein distance between Gaussian clouds (means and covariances). 'energy': energy distance,
        which is sensitive to any difference between the clouds and needs no covariance.
    weight : float
        Weight of the means in the Gaussian distance, from 0 (covariances only) over 1 (2-Wasserstein) to 2 (means
        only).
    n_splits : int
        Number of random divisions of the trials into halves, used for the correction.
    seed : int, Generator or None
        Seed for the splits.
    missing
        See `crossnobis`; incomplete trials are left out of the recording that they belong to.

    Returns
    -------
    StochasticShape
        The square of `corrected` is the squared distance between halves of `X` and `Y`, minus the mean squared distance
        between the two halves of each recording; 0 if this difference is negative. A small number of trials raises all
        these distances alike. In contrast, the moment estimator of Pospisil et al. 2024 (arXiv:2310.05742) corrects for
        a small number of conditions. The minimum over rotations is the best result from several starts.

    Raises
    ------
    ValueError
        If fewer than 3 conditions have 4 trials in both recordings, or if `weight` is not 1 for energy distances.

    References
    ----------
    Duong, Zhou, Nassar, Berman, Olieslagers and Williams 2023, "Representational dissimilarity metric spaces for
    stochastic neural networks", arXiv:2211.11665. Unless `weight` is 0, 1 or 2, the paper's code (netrep) uses other
    weights for the rotation than for the distance. Here, the rotation minimises the distance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shown = np.repeat(np.arange(6), 20)
    >>> tuning, turn = 2 * rng.standard_normal((6, 4)), np.linalg.qr(rng.standard_normal((4, 4)))[0]
    >>> X, Y = (tuning[shown] + rng.standard_normal((120, 4)) for _ in range(2))
    >>> found = stochastic_shape(X, Y @ turn, shown)
    >>> round(found.value, 2), round(found.corrected, 2)
    (0.85, 0.0)
    """
    check.choice(kind, KINDS, "kind")
    if not 0 <= check.finite_number(weight, "weight") <= 2:
        raise ValueError(f"weight must be between 0 and 2, got {weight}")
    if kind == "energy" and weight != 1:
        raise ValueError(
            f"weight must be 1 for energy distances, which do not separate means and covariances, got {weight}"
        )
    n_splits = check.count(n_splits, "n_splits")
    first, second, unit = _match_clouds(X, Y, conditions, conditions_of_Y, missing)
    scale = unit if kind == "gaussian" else unit**0.5
    rng = generator(seed)
    with single_threaded_blas():
        square = _squared(first, second, kind, weight)
        halves = np.array([_halves(first, second, kind, weight, rng) for _ in range(n_splits)])
    between, within_first, within_second = halves.mean(axis=0)
    return StochasticShape(
        kind=kind,
        value=scale * _root(square),
        corrected=scale * _root(between - 0.5 * (within_first + within_second)),
        half_distance=scale * _root(between),
        first_floor=scale * _root(within_first),
        second_floor=scale * _root(within_second),
        weight=float(weight),
        n_conditions=len(first),
        fewest_trials=min(len(cloud) for cloud in (*first, *second)),
        n_splits=n_splits,
        seed=number(seed),
    )


def _match_clouds(
    X: Any, Y: Any, of_x: Conditions, of_y: Conditions | None, missing: MissingRows
) -> tuple[Clouds, Clouds, float]:
    """Return the trials of common conditions, centred, with equal numbers of columns on both sides, and their unit."""
    sides = [
        Trials.build(data, shown, name, min_trials=_FEWEST_TRIALS, missing=missing)
        for data, shown, name in ((X, of_x, "X"), (Y, of_x if of_y is None else of_y, "Y"))
    ]
    if of_y is None:
        state("the conditions of X are those of Y, trial by trial")
        same_trials = all(side.used is None for side in sides)
        if same_trials and not (sides[0].codes != sides[1].codes).any():
            warn_of_shuffled_rows(
                {"a condition": sides[0].codes}, {"X": sides[0].rates, "Y": sides[1].rates}, "conditions_of_Y="
            )
    for side in sides:
        side.state_blocked_conditions()
    shared = [name for name in sides[0].names if name in sides[1].names]
    if len(shared) < _FEWEST_CONDITIONS:
        raise ValueError(
            f"conditions must include at least {_FEWEST_CONDITIONS} with {_FEWEST_TRIALS} trials in both X and Y, "
            f"got {len(shared)}"
        )
    clouds, unit = [], safe_unit(*(side.rates for side in sides))
    sizes = [float(np.sqrt(np.mean((side.rates / unit) ** 2))) for side in sides]
    if max(sizes) > _UNLIKE * min(sizes) > 0:
        larger, other = ("X", "Y") if sizes[0] > sizes[1] else ("Y", "X")
        state_warning(
            f"responses of {larger} are {max(sizes) / min(sizes):.2g} times those of {other} in the root mean square, "
            "and this distance depends on it. If their units differ, such as counts and rates, bring them to one unit"
        )
    for side in sides:
        rates = [side.rates[side.codes == side.names.index(name)] / unit for name in shared]
        centre = np.mean([cloud.mean(axis=0) for cloud in rates], axis=0)
        rows = compress_columns(np.concatenate(rates) - centre)
        clouds.append(np.split(rows, np.cumsum([len(cloud) for cloud in rates])[:-1]))
    width = max(side[0].shape[1] for side in clouds)
    first, second = ([np.pad(cloud, ((0, 0), (0, width - cloud.shape[1]))) for cloud in side] for side in clouds)
    return first, second, unit


def _squared(first: Sequence[Matrix], second: Sequence[Matrix], kind: Kind, weight: float) -> float:
    if kind == "energy":
        return energy_distance(first, second)[0]
    means, covariances = [], []
    for side in (first, second):
        means.append(np.array([cloud.mean(axis=0) for cloud in side]))
        covariances.append(np.array([np.atleast_2d(np.cov(cloud.T)) for cloud in side]))
    return gaussian_distance((means[0], means[1]), (covariances[0], covariances[1]), weight)[0]


def _halves(first: Clouds, second: Clouds, kind: Kind, weight: float, rng: np.random.Generator) -> list[float]:
    """Squared distances between halves of the two recordings, and between the two halves of each one."""
    (a, other_a), (b, other_b) = (_split(side, rng) for side in (first, second))
    pairs = ((a, b), (a, other_a), (b, other_b))
    return [_squared(*pair, kind, weight) for pair in pairs]


def _split(clouds: Clouds, rng: np.random.Generator) -> tuple[Clouds, Clouds]:
    orders = [rng.permutation(len(cloud)) for cloud in clouds]
    halves = [len(cloud) // 2 for cloud in clouds]
    triples = list(zip(clouds, orders, halves, strict=True))
    return [x[order[:n]] for x, order, n in triples], [x[order[n : 2 * n]] for x, order, n in triples]


def _root(value: float) -> float:
    return float(np.sqrt(max(0.0, value)))
