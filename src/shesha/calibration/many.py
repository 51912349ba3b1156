"""Many pairs, each beside its null, corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._progress import muted, track
from shesha._random import generator, number
from shesha._types import Seed
from shesha.calibration.corrections import CORRECTIONS, Correction, benjamini_hochberg, holm
from shesha.calibration.null import DrawError
from shesha.calibration.scalar import calibrate
from shesha.measures._registry import Choice
from shesha.results import Calibrated, CalibratedMany
from shesha.views import Rdm

Pair = tuple[ArrayLike | Rdm, ArrayLike | Rdm]
_TOLD = (TypeError, ValueError, DrawError)
"""Errors that say what is wrong with a pair."""


def calibrate_many(
    pairs: Mapping[str, Pair],
    measure: Choice = "CKA",
    *,
    correction: Correction = "benjamini-hochberg",
    seed: Seed = None,
    **options: Any,
) -> CalibratedMany:
    """Calibrate several pairs of representations, and correct their p-values for the number of tests.

    Parameters
    ----------
    pairs : mapping of names to (X, Y)
        Each pair has its own rows.
    measure : str, Measure or function
        As for `calibrate`.
    correction : {'benjamini-hochberg', 'holm'}
        Which corrected p-value decides; the table has both. The smallest p-value that K permutations can give is
        1 / (K + 1): for m pairs Holm needs K >= m / alpha.
    seed : int, Generator or None
        Draws the permutations, independent ones for each pair.
    **options
        As for `calibrate`.

    Returns
    -------
    CalibratedMany
        `.to_frame()` has a line per pair, with both corrections.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 6))
    >>> pairs = {"same": (X, X @ rng.standard_normal((6, 6))), "none": (X, rng.standard_normal((40, 6)))}
    >>> calibrate_many(pairs, "CKA", seed=0).to_frame()[["pair", "significant"]].values.tolist()
    [['same', True], ['none', False]]
    """
    check.choice(correction, CORRECTIONS, "correction")
    if not isinstance(pairs, Mapping) or not pairs:
        what = "none" if isinstance(pairs, Mapping) else f"a {type(pairs).__name__}"
        raise ValueError(f"pairs must be a mapping of names to (X, Y), at least one, got {what}")
    if len({str(name) for name in pairs}) < len(pairs):
        raise ValueError(f"pairs must have names that differ when printed, got {', '.join(map(repr, pairs))}")
    streams = generator(seed).spawn(len(pairs))
    found: list[tuple[str, Calibrated]] = []
    cut_short = False
    with muted():
        for (name, pair), rng in track(zip(pairs.items(), streams, strict=True), len(pairs), "calibrating"):
            X, Y = _two(name, pair)
            try:
                one = calibrate(X, Y, measure, seed=rng, **options)
            except KeyboardInterrupt:
                if not found:
                    raise
                cut_short = True
                break
            except _TOLD as error:
                # Subclasses may need more than a message.
                kind = next(one for one in _TOLD if isinstance(error, one))
                raise kind(f"pairs[{name!r}]: {error}") from error
            found.append((str(name), one))
            if one.interrupted:
                cut_short = True
                break
    p_values = [one.p_value for _, one in found]
    return CalibratedMany(
        tuple(name for name, _ in found),
        tuple(one for _, one in found),
        tuple(holm(p_values).tolist()),
        tuple(benjamini_hochberg(p_values).tolist()),
        correction,
        number(seed),
        cut_short,
    )


def _two(name: str, pair: Any) -> Pair:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        count = f" of {len(pair)}" if isinstance(pair, tuple | list) else ""
        raise TypeError(f"pairs[{name!r}] must be (X, Y), got a {type(pair).__name__}{count}")
    return pair[0], pair[1]
