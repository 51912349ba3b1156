"""Measure time and memory of similarity measures at 10,000 rows and for all pairs of ten representations.

    python benchmarks/similarity.py [--markdown FILE]

Each measure runs with 10,000 rows in a separate process, whose peak memory is measured. The textbook column is a direct
implementation of the formula with SciPy and NumPy. It is timed at 2,000 rows, in alternation with our code in one
process. The published times are those of the ReSi code on the machine for which the bars were set.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shesha.measures as measures
from shesha import compare_all
from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text

N, D = 10_000, 256
BARS = {
    "rsm_norm_difference": (6.0, 152.0),
    "rsa": (4.0, 28.0),
    "eigenspace_overlap": (1.5, 35.0),
    "uniformity_difference": (3.0, 11.0),
    "distance_correlation": (3.0, 8.4),
    "second_order_cosine": (3.0, 7.9),
    "jaccard": (3.0, 2.8),
    "rank_similarity": (3.0, 2.4),
    "mutual_knn": (3.0, None),
    "cycle_knn": (3.0, None),
    "cknna": (3.0, None),
    "imd": (15.0, None),
    "rtd": (20.0, None),
}
"""Seconds allowed, and seconds of the published code, at 10,000 x 256."""
PUBLISHED_PAIR = {"IMD": 33.0, "RTD": 33.0}
"""Seconds of the published code for one pair of 1,000 x 256."""


def related(n: int, d: int, k: int = 2, rank: int = 32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n, rank))
    return [latent @ rng.standard_normal((rank, d)) + rng.standard_normal((n, d)) for _ in range(k)]


def one(name: str) -> None:
    """Time one measure in this process, after a first call with small data that triggers imports."""
    X, Y = related(N, D)
    options = {"seed": 0} if name == "rtd" else {}
    function = getattr(measures, name)
    function(X[:600], Y[:600], **({"subset_size": 50} | options if name == "rtd" else {}))
    start = time.perf_counter()
    function(X, Y, **options)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": seconds, "peak": peak}))


def large(repeats: int) -> list[str]:
    lines = [markdown_table(["measure, 10,000 x 256", "s", "peak, GiB", "bar, s", "published code, s"], [])]
    for name, (bar, published) in BARS.items():
        runs = [
            json.loads(
                subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, check=True).stdout
            )
            for _ in range(repeats)
        ]
        seconds, peak = (statistics.median(run[key] for run in runs) for key in ("seconds", "peak"))
        lines.append(markdown_line([name, f"{seconds:.2f}", f"{peak:.2f}", f"{bar:g}", published or "-"]))
        print(lines[-1], flush=True)
    return lines


def pairs() -> list[str]:
    """Time all 45 pairs of ten representations of 1,000 x 256."""
    representations = {str(i): X for i, X in enumerate(related(1000, 256, 10))}
    head = ["45 pairs of 1,000 x 256", "ours, s", "published code, s (of one pair, times 45)"]
    lines = [markdown_table(head, [])]
    for label, chosen, published in (
        ("the 24 of ReSi but RTD", [m for m in measures.choose("ReSi") if m.name != "RTD"], "> 1,485 (IMD alone)"),
        ("every measure but RTD", "standard", "> 1,485 (IMD alone)"),
        ("RTD, ten subsets of 500", ["RTD"], f"{45 * PUBLISHED_PAIR['RTD']:.0f}"),
    ):
        start = time.perf_counter()
        found = compare_all(representations, chosen)
        seconds = time.perf_counter() - start
        assert all(pair.has_value for pair in found.scores)
        lines.append(markdown_line([label, f"{seconds:.1f}", published]))
        print(lines[-1], flush=True)
    return lines


def textbook() -> dict[str, Callable[[np.ndarray, np.ndarray], float]]:
    from scipy.spatial.distance import cdist, pdist, squareform
    from scipy.stats import spearmanr

    def distances(X: np.ndarray) -> np.ndarray:
        return squareform(pdist(X))

    def double_centred(X: np.ndarray) -> np.ndarray:
        S = distances(X)
        return S - S.mean(axis=0) - S.mean(axis=1)[:, None] + S.mean()

    def distance_correlation(X: np.ndarray, Y: np.ndarray) -> float:
        A, B = double_centred(X), double_centred(Y)
        return float(np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean())))

    def neighbours(X: np.ndarray) -> np.ndarray:
        S = cdist(X, X, "cosine")
        np.fill_diagonal(S, np.inf)
        return np.argsort(S, axis=1)[:, :10]

    def jaccard(X: np.ndarray, Y: np.ndarray) -> float:
        a, b = neighbours(X), neighbours(Y)
        return float(
            np.mean([len({*p} & {*q}) / len({*p} | {*q}) for p, q in zip(a.tolist(), b.tolist(), strict=True)])
        )

    def eigenspace_overlap(X: np.ndarray, Y: np.ndarray) -> float:
        U, V = (np.linalg.svd(Z)[0][:, : Z.shape[1]] for Z in (X, Y))
        return float(np.linalg.norm(U.T @ V) ** 2 / max(X.shape[1], Y.shape[1]))

    def uniformity_difference(X: np.ndarray, Y: np.ndarray) -> float:
        return float(abs(np.diff([np.log(np.exp(-2 * distances(Z) ** 2).mean()) for Z in (X, Y)])[0]))

    return {
        "rsa": lambda X, Y: float(spearmanr(pdist(X, "correlation"), pdist(Y, "correlation")).statistic),
        "rsm_norm_difference": lambda X, Y: float(np.linalg.norm(distances(X) - distances(Y), 2)),
        "distance_correlation": distance_correlation,
        "jaccard": jaccard,
        "eigenspace_overlap": eigenspace_overlap,
        "uniformity_difference": uniformity_difference,
    }


def beside(repeats: int) -> list[str]:
    X, Y = (Z / 16 for Z in related(2000, D))
    lines = [markdown_table(["measure, 2,000 x 256", "textbook, s", "ours, s", "ratio", "difference"], [])]
    for name, theirs in textbook().items():
        ours = getattr(measures, name)
        ours(X[:500], Y[:500])
        times: list[tuple[float, float]] = []
        for _ in range(repeats):
            (a, expected), (b, found) = clocked(theirs, X, Y), clocked(ours, X, Y)
            times.append((a, b))
        ratio = statistics.median(a / b for a, b in times)
        a, b = (statistics.median(side) for side in zip(*times, strict=True))
        cells = [name, f"{a:.3f}", f"{b:.3f}", f"{ratio:.1f}", f"{abs(found - expected):.1e}"]
        lines.append(markdown_line(cells))
        print(lines[-1], flush=True)
    return lines


def clocked(function: Callable[[np.ndarray, np.ndarray], float], X: np.ndarray, Y: np.ndarray) -> tuple[float, float]:
    start = time.perf_counter()
    value = function(X, Y)
    return time.perf_counter() - start, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one)
        return
    parts = [large(asked.repeats), pairs(), beside(asked.repeats)]
    if asked.markdown:
        write_text(asked.markdown, "\n\n".join("\n".join(part) for part in parts) + "\n")


if __name__ == "__main__":
    main()
