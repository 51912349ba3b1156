"""Are networks whose features transfer well less stable?"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha.stability import basis_averaged_split, feature_split, variance_ratio
from shesha.support.types import Matrix
from shesha_studies.external_data import sklearn
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import split_numbers_and_claims
from shesha_studies.framework.study_decorator import study
from shesha_studies.networks.images import Pictures, grey
from shesha_studies.networks.networks_by_objective import IMAGES, OBJECTIVES, SHAPES, train_network
from shesha_studies.stability_correlations._bootstrap_correlations import round_as_stored
from shesha_studies.stability_correlations._geometric_tax_facts import TARGETS, Findings, make_facts
from shesha_studies.transferability import leep, logme

WIDTHS = (64, 128, 384)
N, N_FEW, N_STABILITY, N_PROBED = 800, 200, 300, 400
_EQUAL = 64
_REPEATED = 5
"""Mean number of repeats of a row, about as for the 1,020 flower images among 5,000 rows drawn with replacement."""
_SEED = 320
_SPLITS = 10
_UNTRAINED = ("untrained", "supervised", "contrastive")


@study(
    "geometric-tax",
    paper="Geometric Stability, 3.2 and 9, Tables 22 to 41; journal version, Tables 3, 5, 6 and 7",
    version=2,
    full={"source": IMAGES, "seed": [0, 1], "objective": OBJECTIVES, "shape": SHAPES, "width": WIDTHS},
    quick={"source": IMAGES[1:], "seed": [0], "objective": _UNTRAINED, "shape": SHAPES, "width": WIDTHS[:2]},
    published="geometric_tax.csv",
    stand_ins="120 small networks trained here replace the published vision models",
)
def geometric_tax(source: str, seed: int, objective: str, shape: str, width: int) -> dict[str, float]:
    """Are features that transfer well less stable, and does this depend on the objective and the architecture?

    Small networks (five objectives, two shapes, three widths) replace 94 pretrained models. They are trained on 2,000
    images of Fashion-MNIST or CIFAR-10, and tested on images of Fashion-MNIST, CIFAR-10 and handwritten digits.
    """
    network = train_network(source, objective, shape, width, seed)
    values: dict[str, float] = {}
    for target in TARGETS:
        X, y = _target(target)
        scores = _scores(network.features(X), y)
        probabilities = network.probabilities(X[:N])
        # LEEP needs a classifier of the training classes. For the training set itself, it does not measure transfer.
        scores["leep"] = float("nan") if probabilities is None else float(leep(probabilities, y[:N]))
        values |= {f"{name} {target}": value for name, value in scores.items()}
    return values


def _scores(X: Matrix, y: NDArray[np.int64]) -> dict[str, float]:
    rows = X[:N_STABILITY]
    rng = np.random.default_rng(_SEED)
    split = partial(feature_split, n_splits=_SPLITS, seed=_SEED)
    chosen = rng.choice(X.shape[1], min(_EQUAL, X.shape[1]), replace=False)
    repeats = rng.integers(N // _REPEATED, size=N)
    return {
        "stability": float(split(rows)),
        "centred": float(split(rows - rows.mean(axis=0))),
        "equal": float(split(rows[:, chosen])),
        "averaged": float(basis_averaged_split(rows, n_rotations=_SPLITS, seed=_SEED)),
        "shuffled": float(split(rng.permuted(rows, axis=0))),
        "variance": float(variance_ratio(X[:N], y[:N])),
        "logme": float(logme(X[:N], y[:N])),
        "published logme": float(logme(X[:N], y[:N], published=True)),
        "few logme": float(logme(X[:N_FEW], y[:N_FEW])),
        "few published logme": float(logme(X[:N_FEW], y[:N_FEW], published=True)),
        "repeated logme": float(logme(X[repeats], y[repeats], published=True)),
        "repeated stability": float(split(X[repeats[:N_STABILITY]])),
        "accuracy": _probe_accuracy(X[:N], y[:N], X[N : N + N_PROBED], y[N : N + N_PROBED]),
    }


def _probe_accuracy(X: Matrix, y: NDArray[np.int64], new: Matrix, answers: NDArray[np.int64]) -> float:
    """Return the accuracy of a linear classifier of the features on new rows, which transferability scores predict."""
    mean, spread = X.mean(axis=0), X.std(axis=0) + 1e-12
    A, B = (X - mean) / spread, (new - mean) / spread
    targets = np.eye(int(y.max()) + 1)[y]
    gram = A.T @ A
    weights = np.linalg.solve(gram + len(A) / 10 * np.eye(len(gram)), A.T @ (targets - targets.mean(axis=0)))
    return float(((B @ weights + targets.mean(axis=0)).argmax(axis=1) == answers).mean())


@cache
def _target(name: str) -> tuple[Pictures, NDArray[np.int64]]:
    """Return images of a set; "digits" are those of scikit-learn (8 x 8), enlarged to 28 x 28."""
    if name in IMAGES:
        X, y = grey(name)
        return X[: N + N_PROBED], y[: N + N_PROBED]
    pixels, y = sklearn("datasets").load_digits(return_X_y=True)
    order = np.random.default_rng(_SEED).permutation(len(y))[: N + N_PROBED]
    X = np.pad(pixels.reshape(-1, 8, 8)[order].repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    X = X[:, None].astype(np.float32)
    return (X - X.mean()) / X.std(), y[order].astype(np.int64)


@geometric_tax.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    answers = published_numbers(split_numbers_and_claims(published)[0])
    return Page(answers=answers)


@geometric_tax.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    return make_facts(Findings(round_as_stored(rows)), split_numbers_and_claims(published)[0])


_DIFFERENCES = {
    "Geometric Stability, Table 26": ["CLIP mean", "SSL mean"],
    "Geometric Stability, Table 27": ["hierarchical mean", "columnar mean"],
    "Geometric Stability (journal), Table 6": ["CLIP mean", "SSL mean"],
    "Geometric Stability (journal), Table 7": ["hierarchical mean", "columnar mean"],
}


def published_numbers(published: pd.DataFrame) -> dict[str, Found]:
    """Return the sums and differences of other published numbers, which are all that can be computed again."""
    answers = {}
    for where, means in _DIFFERENCES.items():
        lines = published[published["where"] == where]
        table: Any = lines.pivot(index="row", columns="number", values="published")[means].astype(float)
        for row, (first, second) in table.iterrows():
            # Both means are rounded, so their difference may be wrong by one unit in the last place.
            answers[f"{where.rpartition(', ')[2]} | {row}: difference"] = Found(first - second, 0.0052, decimals=2)
    cells: Any = published[(published["where"] == "Geometric Stability, Table 29") & (published.number != "mean")]
    for row, values in cells.groupby("row"):
        answers[f"Table 29 | {row}: mean"] = Found(values.published.astype(float).mean(), 0.0026, decimals=2)
    return answers
