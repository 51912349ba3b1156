"""Drift of the mean population response along a session."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import centre_and_scale
from shesha.neuro._trials import Trials
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.results import Tertiles, TrialScore
from shesha.support.provenance import keep_statements
from shesha.support.types import Matrix, Seed, Vector


@keep_statements
def centroid_drift(
    X: Any,
    *,
    normalize: bool = True,
    n_permutations: int = 500,
    null: Null = "permute",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = 0.05,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Cosine between the mean responses in the two halves of a session; a low value means drift.

    The cosine depends on the numbers of trials and neurons, so its chance level is its value for trials in random
    order. Both drift and brain states that last for several trials lower the cosine. With circular shifts
    (`null='shift'`), it is compared with the cosine between other halves of the same session. To separate changes in
    rates from other drift, use `session_drift`.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording; they are averaged over time.
    normalize : bool
        Whether to scale the response of each trial to unit length first, which removes its overall rate.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`. Here, the trials themselves are permuted.
    missing
        See `crossnobis`.

    Returns
    -------
    TrialScore
        Value in [-1, 1] (in [0, 1] for counts); low values are significant. `further` contains the cosine divided by
        the chance level, which is 1 without drift. NaN, with a reason and a warning, if a half has no responses.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rates = np.linspace(rng.gamma(2, 2, 20), rng.gamma(2, 2, 20), 200)
    >>> print(centroid_drift(rng.poisson(rates)))
    centroid drift: 0.9284, below chance at 0.05
      chance 0.9976 +- 0.00097 (71.6 sd below), p = 0.002 (500 permutations)
      200 trials x 20 neurons
      share of the chance level 0.9306
    """
    rows, trials = _rows(X, normalize, missing)
    orders = Orders.build(
        trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed
    )
    return drift_score(rows, trials, orders)


def drift_score(rows: Matrix, trials: Trials, orders: Orders) -> TrialScore:
    """Score trials that have been checked."""
    values = over_orders(lambda order: float(steps(rows[order], 2)[0]), orders)
    chance = float(np.nanmean(values[1:])) if len(values) > 1 and not np.isnan(values[1:]).all() else float("nan")
    return orders.summarise(
        "centroid drift",
        values,
        trials,
        closer="lower",
        best=None,
        reason="one half of the session has no responses",
        further={"share of the chance level": float(values[0]) / chance} if len(values) > 1 else {},
    )


@keep_statements
def tertiles(
    X: Any,
    *,
    normalize: bool = True,
    n_permutations: int = 500,
    null: Null = "permute",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = 0.05,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> Tertiles:
    """Cosines between the mean responses in successive thirds of a session, which show when it drifts.

    Parameters
    ----------
    X, normalize, n_permutations, null, blocks, block_length, alpha, seed, missing
        See `centroid_drift`.

    Returns
    -------
    Tertiles
        Contains `early_middle`, `middle_late` and their `difference`, which is tested in both directions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rates = np.linspace(rng.gamma(2, 2, 20), rng.gamma(2, 2, 20), 210)
    >>> found = tertiles(rng.poisson(rates))
    >>> round(found.early_middle.value, 3), round(found.middle_late.value, 3), found.gradual
    (0.956, 0.98, False)
    """
    rows, trials = _rows(X, normalize, missing, min_trials=6)
    orders = Orders.build(
        trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed
    )
    both = np.array([steps(rows[order], 3) for order in orders.orders])
    options: dict[str, Any] = {"reason": "one third of the session has no responses", "best": None}
    return Tertiles(
        orders.summarise("early to middle", both[:, 0], trials, closer="lower", **options),
        orders.summarise("middle to late", both[:, 1], trials, closer="lower", **options),
        orders.summarise(
            "(early to middle) minus (middle to late)", both[:, 0] - both[:, 1], trials, closer="either", **options
        ),
    )


def _rows(X: Any, normalize: bool, missing: MissingRows, min_trials: int = 4) -> tuple[Matrix, Trials]:
    check.boolean(normalize, "normalize")
    trials = Trials.without_conditions(X, min_trials=min_trials, missing=missing)
    return centre_and_scale(trials.rates, unit=normalize, centred=False), trials


def steps(rows: Matrix, n_parts: int) -> Vector:
    """Cosines between the mean rows of consecutive parts; NaN if a mean is zero."""
    edges = np.arange(n_parts + 1) * len(rows) // n_parts
    sums = np.add.reduceat(rows, edges[:-1], axis=0)
    lengths = np.linalg.norm(sums, axis=1)
    # If rows cancel, their sum is only a rounding error, which has no direction.
    rounding = np.finfo(np.float64).eps * len(rows) * float(np.abs(rows).max(initial=0.0))
    lengths = np.where(lengths > rounding, lengths, np.nan)
    return np.array([float(sums[a] @ sums[b] / (lengths[a] * lengths[b])) for a, b in pairwise(range(n_parts))])
