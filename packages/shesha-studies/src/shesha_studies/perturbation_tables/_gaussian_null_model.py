"""Simulate perturbations of Gaussian cells: scores without any biology (12.13, Table 67)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import mean_cosine
from shesha.coherence.scores import NO_DIRECTION
from shesha.inputs import validation as check
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.seeds import generator
from shesha.support.types import Seed


def null_model(
    n_simulations: int = 500,
    noise: Sequence[float] = (0.5, 1.0, 2.0, 3.0),
    *,
    n_features: int = 50,
    n_cells: int | Sequence[int] = 100,
    n_controls: int = 1000,
    effect: float | Sequence[float] = 0.3,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Simulate perturbations that shift Gaussian cells by a Gaussian step, with isotropic noise.

    Pass the table to `correlation` for the paper's three correlations: magnitude with coherence, SNR with coherence,
    and magnitude with coherence controlling for SNR. With ``effect=0`` and several sizes in `n_cells`, group size alone
    makes the scores correlate.

    Parameters
    ----------
    n_simulations : int
        Number of perturbations per noise level.
    noise : sequence of float
        Standard deviations of the cells around their mean shift.
    n_features : int
        Number of dimensions.
    n_cells : int or sequence of int
        Number of cells per perturbation; from a sequence, one is drawn at random for each. The paper does not state its
        value.
    n_controls : int
        Number of controls, with unit variance. Their mean is the reference of the shifts.
    effect : float or sequence of float
        Standard deviation of each coordinate of a perturbation's shift; from a sequence, one is drawn at random for
        each perturbation. The paper does not state its value, but the correlation of magnitude and coherence depends on
        it.
    seed : int, Generator or None
        Seed of the simulation.

    Returns
    -------
    DataFrame
        One row per perturbation, with columns noise, n, coherence, unbiased, magnitude, spread and snr.

    Examples
    --------
    >>> from shesha_studies.perturbation_tables import correlation
    >>> table = null_model(50, seed=0)
    >>> round(correlation(table, "snr", "coherence", n_bootstrap=100).value, 2)
    1.0
    >>> still = null_model(200, noise=[1.0], effect=0, n_cells=[10, 20, 50, 100, 400], seed=0)
    >>> round(correlation(still, n_bootstrap=100).value, 2)
    1.0
    """
    n_simulations = check.count(n_simulations, "n_simulations")
    n_features = check.count(n_features, "n_features", minimum=2)
    n_controls = check.count(n_controls, "n_controls")
    several, most = np.atleast_1d(to_host(effect, "effect")), check.SQUARABLE[1]
    effects = [check.require_at_least(value, "effect", 0.0, most=most) for value in several.tolist()]
    numbers = np.atleast_1d(to_host(n_cells, "n_cells"))
    sizes = [check.count(n, "n_cells", minimum=2) for n in numbers.tolist()]
    if not effects or not sizes:
        raise ValueError(f"{'n_cells' if effects else 'effect'} must contain at least one value, got none")
    levels = [check.positive(level, "noise", most=most) for level in kinds.sequence(noise, "noise", "numbers")]
    rng = generator(seed)
    return pd.DataFrame(
        [
            _simulate(rng, level, int(rng.choice(sizes)), n_features, n_controls, float(rng.choice(effects)))
            for level in levels
            for _ in range(n_simulations)
        ]
    )


def _simulate(
    rng: np.random.Generator, noise: float, n: int, n_features: int, n_controls: int, effect: float
) -> dict[str, float]:
    # Only the mean of the controls is needed, so it is drawn directly.
    centre = rng.standard_normal(n_features) / np.sqrt(n_controls)
    cells = effect * rng.standard_normal(n_features) + noise * rng.standard_normal((n, n_features))
    shifts = cells - centre
    units = shifts / np.linalg.norm(shifts, axis=1, keepdims=True)
    magnitude = float(np.linalg.norm(shifts.mean(axis=0)))
    spread = float(np.linalg.norm(cells - cells.mean(axis=0), axis=1).mean())
    together = units.sum(axis=0)
    return {
        "noise": noise,
        "n": n,
        "coherence": mean_cosine(shifts),
        "unbiased": float((together @ together - n) / (n * (n - 1))),
        "magnitude": magnitude,
        "spread": spread,
        "snr": magnitude / spread if spread > NO_DIRECTION * magnitude else float("nan"),
    }
