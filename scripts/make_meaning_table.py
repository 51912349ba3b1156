"""Write the tables of docs/what_does_0.7_mean.md: scores of data with known signal, and of real data (SHESHA_DATA)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import shesha
from shesha.report import markdown_table

ROWS, RANK, RUNS = 200, 5, 5
SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
WIDTHS = (16, 64, 256)


def with_signal(share: float, width: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that vary along a few directions, and noise on every feature; `share` of the variance is signal."""
    signal = rng.standard_normal((ROWS, RANK)) @ rng.standard_normal((RANK, width)) / np.sqrt(RANK)
    return np.sqrt(share) * signal + np.sqrt(1 - share) * rng.standard_normal((ROWS, width))


def simulated() -> Iterator[list[str]]:
    """One row per share of the signal."""
    for share in SHARES:
        cells = [f"{share:.0%}"]
        for width in WIDTHS:
            runs = [np.random.default_rng([run, width]) for run in range(RUNS)]
            scores = [shesha.feature_split(with_signal(share, width, rng), seed=run) for run, rng in enumerate(runs)]
            cells.append(f"{np.mean(scores):.2f}")
        yield cells


def real(folder: Path) -> Iterator[list[str]]:
    """One row per representation."""
    layers = np.load(folder / "minilm_sst2" / "minilm_l6_sst2_validation.npz")["embeddings"].astype(float)
    cells = np.load(folder / "pbmc68k_reduced" / "pbmc68k_reduced.npz")
    words = np.load(folder / "word2vec_1000" / "word2vec_1000.npz")
    vectors = next(words[name] for name in words.files if words[name].ndim == 2)
    network, _ = shesha.data.digits_network()
    shown = {
        "sentences, MiniLM, layer 4": layers[:, 4],
        "sentences, MiniLM, last layer": layers[:, 6],
        "words, word2vec": vectors,
        "cells, log counts of 765 genes": cells["lognorm"],
        "the same cells, 50 principal components": cells["pca50"],
        "digits, first hidden layer": network["trained_layer1"],
        "digits, last hidden layer": network["trained_layer3"],
    }
    for name, X in shown.items():
        rows = X[np.abs(X).sum(axis=1) > 0].astype(float)
        split, averaged = shesha.feature_split(rows, seed=0), shesha.basis_averaged_split(rows, seed=0)
        yield [name, f"{rows.shape[0]:,} x {rows.shape[1]:,}", f"{split:.2f}", f"{averaged:.2f}"]


if __name__ == "__main__":
    import shesha.data

    print(markdown_table(["signal", *(f"{width} features" for width in WIDTHS)], simulated(), numbers=3))
    print()
    where = Path(os.environ["SHESHA_DATA"])
    print(markdown_table(["rows and features", "size", "feature split", "basis averaged"], real(where), numbers=2))
