"""Base representations of seven domains, as far as data are available, each with its published number of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from shesha.support.types import Matrix, Vector
from shesha_studies.external_data import lines, opened
from shesha_studies.networks.images import grey
from shesha_studies.networks.networks_by_objective import trained


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
PROTEINS = {
    "composition": 20,
    "dipeptides": 400,
    "hydrophobicity 25": 25,
    "hydrophobicity 50": 50,
    "hydrophobicity 100": 100,
    "charge 25": 25,
    "charge 50": 50,
    "charge 100": 100,
    "3-mers": 500,
}
SESSIONS = {2: 1070, 5: 1077, 9: 788, 12: 698, 14: 756, 16: 474}
"""Number of neurons in each session; there are one or two sessions of each mouse."""
CELLS = {
    "blood cells": {
        "pbmc log": 765,
        "pbmc counts": 765,
        "pbmc binary": 765,
        "kang log": 1000,
        "kang counts": 1000,
        "kang binary": 1000,
    },
    "brain cells": {"counts": 1000, "log": 1000, "scaled log": 1000},
}
_GENES = 1000
_ROWS_SEED = 320

BASES = (
    *(Base("language", f"MiniLM layer {layer}", 384, 500) for layer in LAYERS),
    *(Base(kind, name, WIDTH, 400) for kind in ("clothes", "photographs") for name in NETWORKS),
    *(Base("proteins", name, d, 200) for name, d in PROTEINS.items()),
    *(Base("neurons", f"session {session:02}", d, 10_000) for session, d in SESSIONS.items()),
    *(Base(domain, name, d, 1000) for domain, own in CELLS.items() for name, d in own.items()),
)


@cache
def rows_of(domain: str, name: str, n: int) -> Matrix:
    """Return at most n rows of a base, drawn once with a fixed seed."""
    X = _LOADERS[domain](name)
    return np.asarray(X[np.sort(np.random.default_rng(_ROWS_SEED).permutation(len(X))[:n])])


def _language(name: str) -> Matrix:
    embeddings = opened("minilm_sst2", "minilm_l6_sst2_validation.npz")["embeddings"]
    return np.asarray(embeddings[:, int(name.split()[-1])], dtype=np.float64)


def _pictures(source: str) -> Callable[[str], Matrix]:
    def load(name: str) -> Matrix:
        objective, shape = NETWORKS[name]
        return trained(source, objective, shape, WIDTH, 0).features(grey(source)[0][:1000])

    return load


def _neurons(name: str) -> Matrix:
    counts = opened("steinmetz2019", f"session{name.split()[-1]}.npz")["counts"]
    return np.asarray(counts.mean(axis=2), dtype=np.float64)


def _blood(name: str) -> Matrix:
    source, kind = name.split()
    X = _pbmc() if source == "pbmc" else _kang()
    return {"log": X, "counts": np.expm1(X), "binary": (X > 0).astype(np.float64)}[kind]


def _pbmc() -> Matrix:
    return np.asarray(opened("pbmc68k_reduced", "pbmc68k_reduced.npz")["lognorm"], dtype=np.float64)


def _kang() -> Matrix:
    """Return the 1,000 most variable genes."""
    X = _dense("kang2018", "lognorm")
    return np.asarray(X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:_GENES])])


def _brain(kind: str) -> Matrix:
    """Return cells with at least 100 of the 1,000 genes; other cells have no direction in a few dozen genes."""
    X = _dense("mouse_brain_10k", "counts")
    X = X[(X > 0).sum(axis=1) >= 100]
    if kind == "counts":
        return np.asarray(X)
    sizes = X.sum(axis=1, keepdims=True)
    return np.asarray(np.log1p(X if kind == "log" else X * np.median(sizes) / sizes))


def _dense(folder: str, name: str) -> Matrix:
    file = opened(folder, f"{folder}.npz")
    parts = tuple(file[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return np.asarray(csr_array(parts, shape=tuple(file[f"{name}_shape"])).toarray(), dtype=np.float64)


_LETTERS = "ACDEFGHIKLMNPQRSTVWY"
# Hydrophobicity scale of Kyte and Doolittle (1982).
_HYDROPHOBICITY = {
    **dict(zip("ACDEFGHIKL", (1.8, 2.5, -3.5, -3.5, 2.8, -0.4, -3.2, 4.5, -3.9, 3.8), strict=True)),
    **dict(zip("MNPQRSTVWY", (1.9, -3.5, -1.6, -3.5, -4.5, -0.8, -0.7, 4.2, -0.9, -1.3), strict=True)),
}
_CHARGE = {"K": 1.0, "R": 1.0, "H": 0.1, "D": -1.0, "E": -1.0}


def _proteins(name: str) -> Matrix:
    """Return sequences of 50 to 2,000 residues, as in the paper."""
    proteins = [line["sequence"] for line in lines("proteins", "proteins_location.csv")]
    sequences = [protein for protein in proteins if 50 <= len(protein) <= 2000]
    if name in ("composition", "dipeptides"):
        return np.array([_words(sequence, 1 if name == "composition" else 2) for sequence in sequences])
    if name == "3-mers":
        return np.array([_hash_seed(sequence, PROTEINS[name]) for sequence in sequences])
    kind, bins = name.split()
    scale = _HYDROPHOBICITY if kind == "hydrophobicity" else _CHARGE
    return np.array([_profile(sequence, scale, int(bins)) for sequence in sequences])


def _codes(sequence: str) -> NDArray[np.int64]:
    return np.array([_LETTERS.index(letter) for letter in sequence if letter in _LETTERS], dtype=np.int64)


def _words(sequence: str, length: int) -> Vector:
    """Return the share of each k-mer in a sequence."""
    codes = _codes(sequence)
    words = codes if length == 1 else codes[:-1] * len(_LETTERS) + codes[1:]
    counts = np.bincount(words, minlength=len(_LETTERS) ** length)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _hash_seed(sequence: str, n: int) -> Vector:
    codes = _codes(sequence)
    words = (codes[:-2] * len(_LETTERS) + codes[1:-1]) * len(_LETTERS) + codes[2:]
    # Knuth's multiplicative hash, because the paper does not name its hash function.
    counts = np.bincount((words * 2654435761 % 2**32) * n // 2**32, minlength=n)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _profile(sequence: str, scale: dict[str, float], bins: int) -> Vector:
    """Return means along bins of equal length; sequences with fewer residues than bins are interpolated."""
    values = np.array([scale.get(letter, 0.0) for letter in sequence])
    total = np.concatenate([[0.0], np.cumsum(values)])
    edges = np.interp(np.linspace(0, len(values), bins + 1), np.arange(len(total)), total)
    return np.asarray(np.diff(edges) * bins / len(values), dtype=np.float64)


_LOADERS: dict[str, Callable[[str], Matrix]] = {
    "language": _language,
    "clothes": _pictures("clothes"),
    "photographs": _pictures("photographs"),
    "proteins": _proteins,
    "neurons": _neurons,
    "blood cells": _blood,
    "brain cells": _brain,
}
