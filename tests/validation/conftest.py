"""The synthetic representations of the papers, and what it means to agree with a published number."""

import os
from pathlib import Path

import numpy as np
import pytest

PAPER_SEEDS = (3, 7, 9, 11, 12, 18, 103, 108, 320, 411, 724, 1754, 1991, 2222, 7258)


@pytest.fixture(scope="session")
def paper_seeds():
    return PAPER_SEEDS


@pytest.fixture(scope="session")
def mixture():
    """Make the papers' mix of signal and noise: share * signal + (1 - share) * noise, unit noise entries.

    The papers divide the signal by its Frobenius norm. Their numbers follow from dividing it by the standard
    deviation of its entries; `frobenius=True` is the formula as printed.
    """

    def make(share, rng, *, n=200, frobenius=False):
        signal = rng.standard_normal((n, 50)) @ rng.standard_normal((50, 256))
        signal /= np.linalg.norm(signal) if frobenius else signal.std()
        return share * signal + (1 - share) * rng.standard_normal((n, 256))

    return make


@pytest.fixture(scope="session")
def unbiased_cka():
    """Linear CKA with the unbiased HSIC of Song et al. (2012), which leaves out the diagonals."""

    def hsic(K, L):
        n = len(K)
        cross = 2 * K.sum(axis=0) @ L.sum(axis=0) / (n - 2)
        return (K * L).sum() + K.sum() * L.sum() / ((n - 1) * (n - 2)) - cross

    def cka(X, Y):
        K, L = X @ X.T, Y @ Y.T
        np.fill_diagonal(K, 0)
        np.fill_diagonal(L, 0)
        return hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))

    return cka


@pytest.fixture(scope="session")
def reproduces():
    """Say whether one published draw lies within three standard deviations of our draws.

    `sd` is the spread of single draws, measured beforehand over many more draws than a test can afford.
    """

    def check(published, draws, sd):
        return abs(np.mean(draws) - published) < 3 * sd * np.sqrt(1 + 1 / np.size(draws))

    return check


@pytest.fixture(scope="session")
def minilm():
    """Sentence embeddings of the seven layers of a small language model, and the sentiment of each sentence."""
    path = Path(os.environ.get("SHESHA_DATA", "nowhere")) / "minilm_sst2" / "minilm_l6_sst2_validation.npz"
    if not path.is_file():
        pytest.skip("SHESHA_DATA must name a folder with minilm_sst2/minilm_l6_sst2_validation.npz")
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["embeddings"].astype(np.float64), arrays["label"]
