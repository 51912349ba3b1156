"""Random generators from seeds; the global random state is never used."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Seed as Seed


def generator(seed: Seed) -> np.random.Generator:
    """Return a random generator for a seed; a Generator is returned unchanged."""
    if isinstance(seed, bool) or not (seed is None or isinstance(seed, int | np.integer | np.random.Generator)):
        raise TypeError(f"seed must be an int, a numpy Generator or None, got {type(seed).__name__}")
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ValueError(f"seed must be zero or positive, got {seed}")
    return np.random.default_rng(seed)


def number(seed: Seed) -> int | None:
    """Return the seed if it is a number, which makes draws reproducible; otherwise None."""
    return int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else None


def draw_seed(seed: Seed) -> int:
    """Return the seed if it is a number; otherwise draw a number from it."""
    rng, value = generator(seed), number(seed)
    return int(rng.integers(2**63)) if value is None else value


def spawn(seed: Seed, purpose: int) -> np.random.Generator:
    """Return an independent random stream for one purpose, which draws for other purposes do not affect."""
    if isinstance(seed, np.random.Generator):
        return seed.spawn(1)[0]
    generator(seed)
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([purpose, int(seed)])
