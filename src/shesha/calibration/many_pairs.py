"""Calibrate many pairs, and correct the p-values for the number of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from shesha.calibration.permutation_scores import DrawError
from shesha.calibration.single_pair import calibrate
from shesha.inputs import validation as check
from shesha.measures.registry import Choice
from shesha.nulls.null_summary import CORRECTIONS, Correction, benjamini_hochberg, default_draws, draws_needed, holm
from shesha.results import CalibratedMany, Score
from shesha.support.draw_counts import N_PERMUTATIONS
from shesha.support.progress import mute_progress, track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import generator, number
from shesha.support.types import Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Rdm

Pair = tuple[ArrayLike | Rdm, ArrayLike | Rdm]
_PAIR_ERRORS = (TypeError, ValueError, DrawError)
"""Exceptions that concern a single pair, to which its name is added."""


@keep_statements
def calibrate_many(
    pairs: Mapping[str, Pair],
    measure: Choice = "CKA",
    *,
    correction: Correction = "benjamini-hochberg",
    n_permutations: int | None = None,
    alpha: float = 0.05,
    seed: Seed = None,
    **options: Any,
) -> CalibratedMany:
    """Calibrate several pairs of representations, and correct their p-values for the number of tests.

    Parameters
    ----------
    pairs : mapping of names to (X, Y)
        The pairs to calibrate. Different pairs may have different rows.
    measure : str, Measure or function
        As for `calibrate`.
    correction : {'benjamini-hochberg', 'holm'}
        Correction that decides which pairs are significant. The table contains the p-values of both corrections.
    n_permutations : int, optional
        Number of draws K for each pair. The smallest p-value of K draws is 1 / (K + 1), and a correction for m pairs
        may multiply it by m. Default: the larger of 200 and m / alpha - 1, but at most 9,999. If there are too few
        draws for a single small p-value to become significant, and no pair is significant, the headline says that the
        pairs cannot be decided. A warning is raised at the start with Holm's correction or the default K.
    alpha : float
        Level of the corrected p-values, in (0, 1).
    seed : int, Generator or None
        Seed of the permutations. If it is an integer, each pair gets the same result as from `calibrate` with this seed
        and number of draws.
    **options
        As for `calibrate`.

    Returns
    -------
    CalibratedMany
        The result of each pair. `.to_frame()` has one line per pair, with both corrected p-values.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 6))
    >>> pairs = {"same": (X, X @ rng.standard_normal((6, 6))), "none": (X, rng.standard_normal((40, 6)))}
    >>> calibrate_many(pairs, "CKA", seed=0).to_frame()[["pair", "verdict"]].values.tolist()
    [['same', 'above chance'], ['none', 'not above chance']]
    """
    check.choice(correction, CORRECTIONS, "correction")
    if not isinstance(pairs, Mapping) or not pairs:
        what = "none" if isinstance(pairs, Mapping) else f"a {type(pairs).__name__}"
        raise ValueError(f"pairs must be a mapping of names to (X, Y), at least one, got {what}")
    if len({str(name) for name in pairs}) < len(pairs):
        raise ValueError(
            f"pairs must have names that differ when converted to strings, got {', '.join(map(repr, pairs))}"
        )
    generator(seed)
    n_draws = _count_draws(len(pairs), n_permutations, alpha, correction)
    calibrated: list[tuple[str, Score]] = []
    cut_short = False
    with mute_progress():
        for name, pair in track(pairs.items(), len(pairs), "calibrating"):
            X, Y = _check_pair(name, pair)
            try:
                result = calibrate(X, Y, measure, n_permutations=n_draws, alpha=alpha, seed=seed, **options)
            except KeyboardInterrupt:
                if not calibrated:
                    raise
                cut_short = True
                break
            except _PAIR_ERRORS as error:
                # The base class is raised, because the constructor of a subclass may need more than a message.
                kind = next(kind for kind in _PAIR_ERRORS if isinstance(error, kind))
                raise kind(f"pairs[{name!r}]: {error}") from error
            calibrated.append((str(name), result))
            if result.interrupted:
                cut_short = True
                break
    p_values = [result.p_value for _, result in calibrated]
    return CalibratedMany(
        tuple(name for name, _ in calibrated),
        tuple(result for _, result in calibrated),
        tuple(holm(p_values).tolist()),
        tuple(benjamini_hochberg(p_values).tolist()),
        correction,
        number(seed),
        cut_short,
    )


def _count_draws(n_pairs: int, n_permutations: int | None, alpha: float, correction: Correction) -> int:
    """Return the number of draws; warn if a single small p-value could not become significant."""
    needed = draws_needed(n_pairs, check.fraction(alpha, "alpha", closed=False))
    n_draws = default_draws(n_pairs, alpha, N_PERMUTATIONS) if n_permutations is None else n_permutations
    # If several p-values are small, Benjamini and Hochberg's correction needs fewer draws; Holm's does not.
    if check.count(n_draws, "n_permutations") < needed and (correction == "holm" or n_permutations is None):
        warn(
            f"with {n_draws} permutations, no single pair of {n_pairs} can be significant at {alpha:g} after "
            f"correction; use n_permutations={needed}",
            CalibrationWarning,
        )
    return n_draws


def _check_pair(name: str, pair: Any) -> Pair:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        count = f" of {len(pair)}" if isinstance(pair, tuple | list) else ""
        raise TypeError(f"pairs[{name!r}] must be (X, Y), got a {type(pair).__name__}{count}")
    return pair[0], pair[1]
