"""The noise ceiling of a similarity to a noisy representation."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from shesha.comparison import ceilings_from_repeats
from shesha.inputs import validation as check
from shesha.measures import as_measure
from shesha.measures.registry import Choice
from shesha.results import NoiseCeiling
from shesha.support.seeds import number
from shesha.support.types import Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Rdm


def noise_ceiling(
    repeats: ArrayLike | Sequence[ArrayLike | Rdm], measure: Choice = "RSA", *, seed: Seed = 0
) -> NoiseCeiling:
    """Estimate the score that the noise-free representation would reach with a noisy one.

    Where something was measured several times (runs, subjects), even a perfect model differs from single measurements
    by their noise. `lower` is the mean value of each repeat with the mean of the others: the truth would do better, as
    that mean is noisy, too. `upper` is the mean value of each repeat with the mean of all, which holds it: the truth
    would do worse. RSA averages the ranks of distances and ranks them again; CKA and its relatives average kernel
    matrices of unit norm. Repeats may therefore have different features, as subjects have (Nili et al. 2014); for other
    measures they are of the features, which must correspond.

    Parameters
    ----------
    repeats : array of shape (k, n_samples, n_features), or sequence of k matrices or Rdm
        At least 2 measurements of the same inputs, row i the same in all.
    measure : str, Measure or function
        As for `shesha.calibrate`.
    seed : int, Generator or None
        For measures that draw at random.

    Returns
    -------
    NoiseCeiling
        `lower`, `upper`, and `reliability`, the mean value of two repeats; NaN, with a reason and a warning, where
        the data cannot give them. A biased measure (CKA, DistCorr) finds noise reliable: take unbiased CKA.

    Raises
    ------
    ValueError
        If there are fewer than two repeats, or their rows differ in number.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((40, 10))
    >>> found = noise_ceiling(truth + rng.standard_normal((5, 40, 10)), "unbiased CKA")
    >>> round(found.lower, 2), round(found.upper, 2), round(found.reliability, 2)
    (0.44, 0.66, 0.3)
    """
    chosen = as_measure(measure).with_seed(seed)
    repeated = ceilings_from_repeats.Repeats.build(repeats, "repeats")
    common = {
        "measure": chosen.name,
        "closer": chosen.closer,
        "n_repeats": len(repeated.sources),
        "n_rows": repeated.sources[0].n_rows,
        "seed": number(seed),
    }
    try:
        ceiling = ceilings_from_repeats.ceiling(chosen, repeated)
    except NotEstimable as reason:
        nan = check.not_estimable(str(reason))
        return NoiseCeiling(lower=nan, upper=nan, reliability=nan, reason=str(reason), **common)  # type: ignore[arg-type]
    return NoiseCeiling(
        lower=ceiling.lower,
        upper=ceiling.upper,
        reliability=ceiling.reliability,
        left_out=ceiling.left_out,
        included=ceiling.included,
        **common,  # type: ignore[arg-type]
    )
