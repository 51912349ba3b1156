"""Base representations of seven domains with their published numbers of rows, and their transformations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from shesha.kernels.rounding_and_scaling import z_scores
from shesha.support.types import Matrix, Vector
from shesha_studies.external_data import lines, read_arrays
from shesha_studies.networks.images import grey
from shesha_studies.networks.networks_by_objective import train_network
from shesha_studies.synthetic_data import principal_component_scores


class Base(NamedTuple):
    """A representation before it is transformed."""

    domain: str
    name: str
    d: int
    n: int
    """Number of rows that the paper uses."""


SEEDS = (320, 3, 7, 9, 11, 12, 18, 103, 108, 411, 724, 1754, 1991, 2222, 7258)
"""Published seeds."""
LAYERS = (0, 2, 4, 6)
NETWORKS = {
    "supervised": ("supervised", "hierarchical"),
    "columnar": ("supervised", "columnar"),
    "contrastive": ("contrastive", "hierarchical"),
    "autoencoder": ("autoencoder", "hierarchical"),
}
WIDTH = 384
SENTENCES = ("minilm_sst2", "minilm_l6_sst2_validation.npz")
PROTEINS = {
    "composition": 20,
    "dipeptides": 400,
    **{f"{scale} {bins}": bins for scale in ("hydrophobicity", "charge") for bins in (25, 50, 100)},
    "3-mers": 500,
}
SESSIONS = {2: 1070, 5: 1077, 9: 788, 12: 698, 14: 756, 16: 474}
"""Number of neurons in each session; there are one or two sessions of each mouse."""
CELLS = {
    "blood cells": {
        f"{data} {kind}": d for data, d in (("pbmc", 765), ("kang", 1000)) for kind in ("log", "counts", "binary")
    },
    "brain cells": {"counts": 1000, "log": 1000, "scaled log": 1000},
}

BASES = (
    *(Base("language", f"MiniLM layer {layer}", 384, 500) for layer in LAYERS),
    *(Base(kind, name, WIDTH, 400) for kind in ("clothes", "photographs") for name in NETWORKS),
    *(Base("proteins", name, d, 200) for name, d in PROTEINS.items()),
    *(Base("neurons", f"session {session:02}", d, 10_000) for session, d in SESSIONS.items()),
    *(Base(domain, name, d, 1000) for domain, own in CELLS.items() for name, d in own.items()),
)


@cache
def load_rows(domain: str, name: str, n: int) -> Matrix:
    """Return at most n rows of a base, drawn once with a fixed seed."""
    X = _LOADERS[domain](name)
    return np.asarray(X[np.sort(np.random.default_rng(320).permutation(len(X))[:n])], dtype=np.float64)


def _blood(name: str) -> Matrix:
    """Return all genes of "pbmc", or the 1,000 most variable genes of "kang"."""
    source, kind = name.split()
    if source == "kang":
        X = _dense("kang2018", "lognorm")
        X = X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:1000])]
    else:
        X = read_arrays("pbmc68k_reduced", "pbmc68k_reduced.npz")["lognorm"].astype(np.float64)
    return {"log": X, "counts": np.expm1(X), "binary": X > 0}[kind]


def _brain(kind: str) -> Matrix:
    """Return cells with at least 100 of the 1,000 genes; other cells have no direction in a few dozen genes."""
    X = _dense("mouse_brain_10k", "counts")
    X = X[(X > 0).sum(axis=1) >= 100]
    sizes = X.sum(axis=1, keepdims=True)
    scaled = X * np.median(sizes) / sizes if kind == "scaled log" else X
    return np.asarray(X if kind == "counts" else np.log1p(scaled))


def _dense(folder: str, name: str) -> Matrix:
    file = read_arrays(folder, f"{folder}.npz")
    parts = tuple(file[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return np.asarray(csr_array(parts, shape=tuple(file[f"{name}_shape"])).toarray(), dtype=np.float64)


_LETTERS = "ACDEFGHIKLMNPQRSTVWY"
# Kyte and Doolittle (1982), in the order of the letters.
_KYTE_DOOLITTLE = "1.8 2.5 -3.5 -3.5 2.8 -0.4 -3.2 4.5 -3.9 3.8 1.9 -3.5 -1.6 -3.5 -4.5 -0.8 -0.7 4.2 -0.9 -1.3"
_SCALES = {
    "hydrophobicity": dict(zip(_LETTERS, map(float, _KYTE_DOOLITTLE.split()), strict=True)),
    "charge": {"K": 1.0, "R": 1.0, "H": 0.1, "D": -1.0, "E": -1.0},
}


def _proteins(name: str) -> Matrix:
    """Return sequences of 50 to 2,000 residues, as in the paper."""
    proteins = [line["sequence"] for line in lines("proteins", "proteins_location.csv")]
    sequences = [protein for protein in proteins if 50 <= len(protein) <= 2000]
    if name in _WORD_LENGTHS:
        return np.array([_word_shares(sequence, _WORD_LENGTHS[name], PROTEINS[name]) for sequence in sequences])
    kind, bins = name.split()
    return np.array([_profile(sequence, _SCALES[kind], int(bins)) for sequence in sequences])


_WORD_LENGTHS = {"composition": 1, "dipeptides": 2, "3-mers": 3}


def _word_shares(sequence: str, length: int, n: int) -> Vector:
    """Return the share of each k-mer in a sequence; 3-mers are hashed, because there are too many."""
    codes = np.array([_LETTERS.index(letter) for letter in sequence if letter in _LETTERS], dtype=np.int64)
    words = np.zeros(len(codes) - length + 1, dtype=np.int64)
    for place in range(length):
        words = words * len(_LETTERS) + codes[place : len(words) + place]
    if length == 3:
        # Knuth's multiplicative hash, because the paper does not name its hash function.
        words = (words * 2654435761 % 2**32) * n // 2**32
    counts = np.bincount(words, minlength=n)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _profile(sequence: str, scale: dict[str, float], bins: int) -> Vector:
    """Return means along bins of equal length; sequences with fewer residues than bins are interpolated."""
    values = np.array([scale.get(letter, 0.0) for letter in sequence])
    total = np.concatenate([[0.0], np.cumsum(values)])
    edges = np.interp(np.linspace(0, len(values), bins + 1), np.arange(len(total)), total)
    return np.asarray(np.diff(edges) * bins / len(values), dtype=np.float64)


def _pictures(source: str, name: str) -> Matrix:
    return train_network(source, *NETWORKS[name], WIDTH, 0).features(grey(source)[0][:1000])


_LOADERS: dict[str, Callable[[str], Any]] = {
    "language": lambda name: read_arrays(*SENTENCES)["embeddings"][:, int(name.split()[-1])],
    "clothes": partial(_pictures, "clothes"),
    "photographs": partial(_pictures, "photographs"),
    "proteins": _proteins,
    "neurons": lambda name: read_arrays("steinmetz2019", f"session{name.split()[-1]}.npz")["counts"].mean(axis=2),
    "blood cells": _blood,
    "brain cells": _brain,
}

COMPONENTS = (5, 10, 20, 30, 50, 75, 100, 125, 150, 200, 250, 300)
"""Twelve numbers of components between the published limits, because 948 configurations are 12 for each of 79 bases."""
PROJECTED = (16, 32, 64, 128, 256)
TOP = (50, 100, 200, 400, 800)
CHOSEN = (50, 100, 200)
NOISE = (0.05, 0.1, 0.2, 0.5, 1.0)
KINDS = ("PCA", "random projection", "top variance", "random features", "noise", "normalisation", "original")
RANDOM = ("random features", "random projection", "noise")


def variants(d: int) -> list[str]:
    """Return the names of the transformations for d features.

    Examples
    --------
    >>> [sum(len(variants(d)) for d in widths) for widths in ([384, 768, 768, 768], [768, 768, 768, 2048])]
    [127, 129]
    """
    return [
        *(f"PCA {k}" for k in COMPONENTS),
        *(f"random projection {k}" for k in PROJECTED),
        *(f"top variance {k}" for k in TOP if k < d),
        *(f"random features {k}" for k in CHOSEN if k < d),
        *(f"noise {share}" for share in NOISE),
        "normalisation z-score",
        "normalisation L2",
        "original",
    ]


def transformation_kind(variant: str) -> str:
    """Return the row of the table to which a transformation belongs."""
    return next(kind for kind in KINDS if variant.startswith(kind))


def is_repeat(variant: str, n: int, d: int) -> bool:
    """Whether a PCA equals one with fewer components, because of the cap min(n, d) - 1."""
    if not variant.startswith("PCA"):
        return False
    k, cap = int(variant.split()[-1]), min(n, d) - 1
    return any(cap <= other < k for other in COMPONENTS)


def transform(X: Matrix, variant: str, rng: np.random.Generator) -> Matrix:
    """Apply a transformation."""
    kind, what = transformation_kind(variant), variant.split()[-1]
    return X if kind == "original" else _TRANSFORMATIONS[kind](X, what, rng)


def components(X: Matrix, k: int) -> Matrix:
    """Return the scores of the leading principal components, at most min(n, d) - 1."""
    return principal_component_scores(X)[:, : min(k, min(X.shape) - 1)]


def _directions(X: Matrix) -> Matrix:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))


_TRANSFORMATIONS: dict[str, Callable[[Matrix, str, np.random.Generator], Matrix]] = {
    "PCA": lambda X, k, rng: components(X, int(k)),
    "random projection": lambda X, k, rng: X @ rng.standard_normal((X.shape[1], int(k))) / np.sqrt(int(k)),
    "top variance": lambda X, k, rng: X[:, np.argsort(-X.var(axis=0), kind="stable")[: int(k)]],
    "random features": lambda X, k, rng: X[:, rng.choice(X.shape[1], int(k), replace=False)],
    "noise": lambda X, share, rng: X + float(share) * X.std() * rng.standard_normal(X.shape),
    "normalisation": lambda X, how, rng: z_scores(X) if how == "z-score" else _directions(X),
}
