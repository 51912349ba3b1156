"""Time permutation nulls of shesha and of calibrated-similarity 0.1.1, in alternation in one process.

    python benchmarks/calibration.py --public FOLDER [--repeats 3] [--markdown FILE] [--device cuda]

FOLDER contains calibrated-similarity (`make bench` installs it there), which calibrates a function of two tensors. The
functions here are linear CKA from its documentation, and similar code for the other measures. There are 200
permutations, 1,024 rows and 1,024 features. The public package runs fewer permutations, and its time is multiplied
accordingly. "Null" is the time of 200 draws after the views were computed. With --device, our code receives torch
tensors on this device, and torch computes the result, also on "cpu".
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shesha
import shesha.measures as measures
from shesha.calibration import null_scores
from shesha.calibration.permutation_scores import truncate_components
from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text
from shesha.views import Representation

N, D, K = 1024, 1024, 200
SINGLE = (
    ("CKA", {}, 0.25),
    ("CKA", {"kernel": "rbf"}, 0.25),
    ("RSA", {}, 0.25),
    ("DistCorr", {}, 0.25),
    ("mutual kNN", {}, 0.015),
    ("CKNNA", {}, 0.015),
    ("Jaccard", {}, None),
    ("cycle kNN", {}, None),
    ("SVCCA", {"components": 64}, None),
    ("OrthProc, truncate=64", {}, None),
    ("OrthProc, truncate=256", {}, None),
)
"""Measure (with truncation), options, and seconds allowed for the null."""
GRIDS = (("CKA", 12, 15.0), ("CKA", 32, 5.0), ("mutual kNN", 12, 15.0))
"""Measure, layers, and milliseconds allowed per pair."""


def public_measures() -> dict[str, Callable[[Any, Any], Any]]:
    import torch

    def centred(K: Any) -> Any:
        return K - K.mean(0) - K.mean(1)[:, None] + K.mean()

    def cosine(K: Any, L: Any) -> Any:
        return (K * L).sum() / K.norm() / L.norm()

    def cka(X: Any, Y: Any) -> Any:
        X, Y = X - X.mean(0), Y - Y.mean(0)
        return cosine(X @ X.T, Y @ Y.T)

    def gaussian(X: Any) -> Any:
        squared = torch.cdist(X, X) ** 2
        return centred(torch.exp(-squared / (2 * squared.median())))

    def neighbours(X: Any) -> Any:
        S = X @ X.T
        S.fill_diagonal_(-torch.inf)
        return torch.zeros_like(S).scatter_(1, S.topk(10).indices, 1.0)

    return {
        "CKA": cka,
        "CKA(kernel=rbf)": lambda X, Y: cosine(gaussian(X), gaussian(Y)),
        "mutual kNN": lambda X, Y: (neighbours(X) * neighbours(Y)).sum() / (10 * len(X)),
    }


def clocked(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def placed(array: np.ndarray, device: str | None) -> Any:
    if device is None:
        return array
    import torch

    return torch.tensor(array, device=device)


def single(public: Any, repeats: int, device: str | None) -> list[str]:
    rng = np.random.default_rng(0)
    X, Y = (placed(Z, device) for Z in rng.standard_normal((2, N, D)))
    head = ["measure, one pair", "ours, s", "of which null, s", "bar for the null", "public, s", "ratio"]
    lines = [markdown_table(head, [])]
    theirs = public_measures() if public else {}
    for name, options, bar in SINGLE:
        base, _, components = name.partition(", truncate=")
        measure = measures.get(base).with_options(**options)
        truncate = int(components) if components else None
        runs = []
        for _ in range(repeats):
            whole = clocked(
                lambda m=measure, t=truncate: shesha.calibrate(X, Y, m, n_permutations=K, truncate=t, seed=0)
            )
            runs.append((whole, null_seconds(measure, truncate, X, Y), _public_seconds(public, theirs, measure, X, Y)))
        whole, null, other = (statistics.median(run[i] for run in runs) for i in range(3))
        ratio = f"{statistics.median(run[2] / run[0] for run in runs):.0f}" if other == other else "-"
        seconds = f"{other:.1f}" if other == other else "-"
        cells = [name if truncate else measure.name, f"{whole:.3f}", f"{null:.3f}", bar or "-", seconds, ratio]
        lines.append(markdown_line(cells))
        print(lines[-1], flush=True)
    return lines


def null_seconds(measure: measures.Measure, truncate: int | None, X: Any, Y: Any) -> float:
    """Time of the draws alone, after the views were computed and compared once."""
    views = [measure.look(truncate_components(Representation.build(Z), truncate)) for Z in (X, Y)]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(N) for _ in range(K)]
    measure.compare_views(*views)
    return clocked(lambda: list(null_scores(measure, *views, orders)))


def _public_seconds(public: Any, theirs: Any, measure: Any, X: Any, Y: Any, n: int = 20) -> float:
    sim = theirs.get(measure.name)
    if public is None or sim is None:
        return float("nan")
    import torch

    x, y = (torch.as_tensor(Z, dtype=torch.float32) for Z in (X, Y))
    return clocked(lambda: public.calibrate(x, y, sim, K=n)) * (K + 1) / (n + 1)


def grids(repeats: int, device: str | None) -> list[str]:
    rng = np.random.default_rng(0)
    lines = [markdown_table(["layer grid", "s", "ms per pair", "bar, ms", "peak of the process, GiB"], [])]
    for name, n_layers, bar in GRIDS:
        a, b = ([placed(Z, device) for Z in rng.standard_normal((n_layers, N, D))] for _ in range(2))
        seconds = statistics.median(
            clocked(lambda a=a, b=b, m=name: shesha.compare_layers(a, b, m, calibrate=True, n_permutations=K, seed=0))
            for _ in range(repeats)
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        per_pair = 1000 * seconds / n_layers**2
        cells = [f"{name}, {n_layers} x {n_layers}", f"{seconds:.2f}", f"{per_pair:.1f}", f"{bar:g}", f"{peak:.2f}"]
        lines.append(markdown_line(cells))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--device")
    asked = parser.parse_args()
    public = None
    if asked.public:
        # Append the folder to the path, because it also contains a package named shesha.
        sys.path.append(str(asked.public))
        import calibrated_similarity as public
    shesha.calibrate(*np.random.default_rng(0).standard_normal((2, 64, 8)), "CKA")
    if asked.device:
        os.environ["SHESHA_ARRAYS"] = "own"
    parts = [grids(asked.repeats, asked.device), single(public, asked.repeats, asked.device)]
    if asked.markdown:
        write_text(asked.markdown, "\n\n".join("\n".join(part) for part in parts) + "\n")


if __name__ == "__main__":
    main()
