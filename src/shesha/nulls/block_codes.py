"""Codes of blocks, and of blocks crossed with strata: one number per row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.support.types import Index


def block_codes(n: int, blocks: ArrayLike | None) -> Index:
    """Return the code of each row's block; zeros without blocks."""
    return np.zeros(n, dtype=np.intp) if blocks is None else check.labels(blocks, n, "blocks", min_classes=1)[0]


def cross_with_blocks(codes: Index, blocks: ArrayLike | None) -> Index:
    """Subdivide strata by blocks, and renumber them."""
    return cross_codes(block_codes(len(codes), blocks), codes)


def cross_codes(block: Index, stratum: Index) -> Index:
    """Number the combinations of the two codes."""
    codes: Index = np.unique(block * (stratum.max() + 1) + stratum, return_inverse=True)[1].astype(np.intp)
    return codes
