"""Shared parts of the training of small networks in torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha_studies.external_data import library

if TYPE_CHECKING:
    import torch

_TOGETHER = 500


@contextmanager
def seed_torch(seed: int) -> Iterator[Any]:
    """Return torch with its own random numbers, in double precision and one thread, so that results repeat.

    Processors round differently, and training amplifies the differences. In double precision most of them stay below
    the digits that are reported.
    """
    torch = library("torch")
    threads, kind = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield torch
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(kind)


def descend(
    optimiser: torch.optim.Optimizer, batches: Iterable[Any], loss: Callable[[Any], torch.Tensor], schedule: Any = None
) -> None:
    """Take an optimiser step for the loss of each batch."""
    import torch

    for rows in batches:
        optimiser.zero_grad()
        torch.autograd.backward(loss(rows))
        optimiser.step()
        if schedule is not None:
            schedule.step()


def run_epoch(function: Callable[[torch.Tensor], torch.Tensor], X: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a function for all rows, computed for a few hundred rows at a time."""
    import torch

    rows = torch.from_numpy(np.asarray(X, dtype=np.float64))
    with torch.no_grad():
        return np.concatenate([function(part).numpy() for part in torch.split(rows, _TOGETHER)])
