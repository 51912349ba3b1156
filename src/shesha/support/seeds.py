"""Random generators from seeds; the global random state is never used."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Seed as Seed


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator that a seed stands for (a Generator stands for itself)."""
    if isinstance(seed, bool) or not (seed is None or isinstance(seed, int | np.integer | np.random.Generator)):
        raise TypeError(f"seed must be an int, a numpy Generator or None, got {type(seed).__name__}")
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ValueError(f"seed must be zero or positive, got {seed}")
    return np.random.default_rng(seed)


def number(seed: Seed) -> int | None:
    """Return the number that a seed is, if it is one: it gives the same draws again."""
    return int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else None


def draw_seed(seed: Seed) -> int:
    """Return the number that a seed is, or draw one from it."""
    rng, own = generator(seed), number(seed)
    return int(rng.integers(2**63)) if own is None else own


def spawn(seed: Seed, purpose: int) -> np.random.Generator:
    """Return an independent stream for one purpose, so that adding draws to one leaves the others alone."""
    if isinstance(seed, np.random.Generator):
        return seed.spawn(1)[0]
    generator(seed)
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([purpose, int(seed)])
