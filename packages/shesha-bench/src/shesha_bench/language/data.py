"""Load the texts for training and extraction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shesha_bench.array_hash import hash_arrays
from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data_and_network_types import Texts
from shesha_bench.language.hyperparameters import Hyper
from shesha_bench.model_descriptions import Plain

_SUBSET_SEED = 2024
"""Seed with which a subset of the rows is chosen, the same for all models."""


def load(dataset: str, hyper: Hyper) -> tuple[Texts, Texts]:
    """Return the training and test texts; raise MissingDataError if they are missing."""
    train, test = CATALOGUE.dataset(dataset).read(hyper)
    return _subset(train, hyper.train_rows), _subset(test, hyper.test_rows)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the texts and labels that training and extraction use.

    Parameters
    ----------
    dataset : str
        "SST2", "MNLI", or module:name of your own texts.
    hyper : mapping
        Hyperparameters, of which only those that select rows and files are used.

    Returns
    -------
    str
        Hash that is equal for equal texts in the same order.

    Raises
    ------
    MissingDataError
        If the texts are neither in the local folder nor available from the hub.
    """
    parts: list[NDArray[np.int64] | str] = []
    for texts in load(dataset, Hyper.check(hyper)):
        parts += ["\n".join(texts.first), "\n".join(texts.second or ()), texts.labels]
    return hash_arrays(*parts)


def _subset(texts: Texts, n_rows: int | None) -> Texts:
    if n_rows is None or n_rows >= len(texts):
        return texts
    chosen = np.random.default_rng(_SUBSET_SEED).choice(len(texts), n_rows, replace=False)
    return texts.rows(np.sort(chosen))
