"""Deterministic computation in torch, so that a run can be repeated bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from shesha.extract.pretrained import quiet
from shesha.support.optional import require


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Compute from a seed and in a fixed order; afterwards, restore torch's random state and settings."""
    torch = require("torch", "torch")
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=range(torch.cuda.device_count())))
        torch.manual_seed(seed)
        if torch.cuda.is_available():
            stack.enter_context(_fixed_order())
        stack.enter_context(quiet())
        yield


@contextmanager
def _fixed_order() -> Iterator[None]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # cuBLAS reads this variable when it starts. Without it, the order of its sums may vary.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        # Faster attention kernels sum gradients in an order that varies.
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
