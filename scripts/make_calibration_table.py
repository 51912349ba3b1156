"""Measure false positives and power of every measure's calibration, and write docs/false_positives.md.

    python scripts/make_calibration_table.py [--seconds 4] [--runs 100] [--workers 2] [--store FILE]

Each cell (measure, rows, features, distribution) takes runs until there are enough or its time is over; costly
measures get fewer. Lines are kept in a store, so that a run that ends early goes on where it was. 19 permutations at
level 0.05: a score is significant if it is closer than all of them, which has probability 0.05 exactly where scores
cannot tie.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binom

import shesha.measures as measures
from shesha import calibrate
from shesha._atomic import write_text
from shesha.benchmark.entries import calibrated_version
from shesha.benchmark.sources import cache_folder
from shesha.report import markdown_line, markdown_table
from shesha.runs import Job, Kept, LocalProcesses, Meter, run, search_paths, writing

ROWS = (64, 256)
RATIOS = (0.25, 1.0, 4.0)
ALPHA, K = 0.05, 19
RANK = 4
CLUSTERS = 8
_NEXT = "## Beyond independent rows\n"
FEWEST = 8
"""Runs of a case, however long they take."""

PAGE = Path(__file__).resolve().parents[1] / "docs" / "false_positives.md"

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def two_clusters(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Two clouds; which row is in which is independent in X and Y."""
    return rng.standard_normal((n, d)) + 2 * rng.integers(0, 2, (n, 1)) * np.ones(d) / np.sqrt(d) * 3


DISTRIBUTIONS: dict[str, Draw] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "Student t(3)": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "two clusters": two_clusters,
}


def independent(draw: Draw) -> Callable[[np.random.Generator, int, int], dict[str, object]]:
    return lambda rng, n, d: {"X": draw(rng, n, d), "Y": draw(rng, n, d)}


def clustered(rng: np.random.Generator, n: int, d: int, *, blocks: bool) -> dict[str, object]:
    """Rows of a cluster share an offset in X and one in Y: related through the clusters alone."""
    cluster = np.arange(n) % CLUSTERS
    X, Y = (rng.standard_normal((CLUSTERS, d))[cluster] * 2 + rng.standard_normal((n, d)) for _ in range(2))
    return {"X": X, "Y": Y} | ({"blocks": cluster} if blocks else {})


def signal(rng: np.random.Generator, n: int, d: int) -> dict[str, object]:
    """A shared part of rank 4 with the variance of the noise, seen through different features."""
    latent = rng.standard_normal((n, RANK))
    return {
        side: latent @ rng.standard_normal((RANK, d)) / np.sqrt(RANK) + rng.standard_normal((n, d)) for side in "XY"
    }


def hits(
    measure: str, make: Callable[..., dict[str, object]], n: int, d: int, n_runs: int, seconds: float
) -> tuple[int, int]:
    """Significant runs and all runs; none where the data cannot give the measure, or give it the same value always."""
    found, done, start = 0, 0, time.monotonic()
    while done < n_runs and (done < FEWEST or time.monotonic() - start < seconds):
        rng = np.random.default_rng([done, n, d, len(measure)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = calibrate(**make(rng, n, d), measure=measure, n_permutations=K, alpha=ALPHA, seed=rng)
        if not one.null_sd > 1e-9 * abs(one.null_mean):
            return 0, 0
        found, done = found + one.significant, done + 1
    return found, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--store", type=Path, help="default: in the user's cache")
    asked = parser.parse_args()
    chosen = [name for name in measures.names() if measures.get(name).paired] + ["CKA(kernel=rbf)"]
    store = asked.store or cache_folder() / "calibration_table.sqlite"
    store.parent.mkdir(parents=True, exist_ok=True)
    with writing(store) as kept:
        meter = Meter(asked.workers, "measures")
        jobs = [Job(_key(name, asked), name, 1, _line, (name, asked.runs, asked.seconds)) for name in chosen]
        plan = Kept(kept, "line of the calibration table", jobs, meter)
        run(plan, LocalProcesses(asked.workers, search_paths(), n_threads=1), meter)
    if plan.failures:
        raise SystemExit("\n".join(f"{key}: {reason}" for key, reason in plan.failures.items()))
    lines = [plan.results[_key(name, asked)] for name in chosen]
    print(*lines, sep="\n")
    write_text(asked.out, _HEAD + "\n".join([markdown_table(_COLUMNS, []), *lines]) + "\n" + _FOOT + _others(asked.out))


def _others(page: Path) -> str:
    """The part of the page that another script makes."""
    _, mark, rest = page.read_text(encoding="utf-8").partition(_NEXT) if page.exists() else ("", "", "")
    return f"\n{mark}{rest}" if mark else ""


def _key(name: str, asked: argparse.Namespace) -> str:
    """Name all that decides a line."""
    design = f"{ROWS}{RATIOS}{tuple(DISTRIBUTIONS)}{ALPHA}/{K}/{RANK}/{CLUSTERS}/{FEWEST}"
    return f"{name}/{calibrated_version(measures.get(name))}/{design}/{asked.runs} runs/{asked.seconds} s"


def _line(name: str, n_runs: int, seconds: float) -> str:
    cells = [name, *_false_positives(name, n_runs, seconds), *_clusters(name, n_runs, seconds)]
    return markdown_line([*cells, _power(name, n_runs, seconds)])


def _false_positives(name: str, n_runs: int, seconds: float) -> list[str]:
    cells = []
    for n in ROWS:
        total, runs, worst = 0, 0, (0.0, "")
        for label, draw in DISTRIBUTIONS.items():
            for ratio in RATIOS:
                found, done = hits(name, independent(draw), n, round(ratio * n), n_runs, seconds)
                total, runs = total + found, runs + done
                if done >= 20 and found / done > worst[0]:
                    worst = (found / done, f"{label}, d/n {ratio:g}")
        cells.append(_rate(total, runs))
        cells.append(f"{worst[0]:.0%} ({worst[1]})" if worst[1] else "-")
    return cells


def _clusters(name: str, n_runs: int, seconds: float) -> list[str]:
    return [
        _rate(*hits(name, lambda *a, b=blocks: clustered(*a, blocks=b), 64, 16, n_runs, seconds))
        for blocks in (True, False)
    ]


def _power(name: str, n_runs: int, seconds: float) -> str:
    found, done = hits(name, signal, 64, 16, n_runs, seconds)
    return f"{found / done:.0%}" if done else "-"


def _rate(found: int, runs: int) -> str:
    if not runs:
        return "no value"
    low, high = binom.interval(0.999, runs, ALPHA)
    outside = "" if low <= found <= high else " **outside**"
    return f"{found / runs:.1%} of {runs}{outside}"


_HEAD = f"""\
# False positives and power of calibrated measures

Made by `python scripts/make_calibration_table.py`. Level {ALPHA}, {K} permutations. False positives: independent data,
{", ".join(DISTRIBUTIONS)}, with d/n in {", ".join(f"{r:g}" for r in RATIOS)}, all runs together and the worst single
case (of at least 20 runs); **outside** marks a rate beyond its 99.9 % binomial interval around {ALPHA}. Clustered rows:
{CLUSTERS} clusters of 8 rows with offsets of their own in X and in Y, permuted within clusters (`blocks`) and freely.
Power: 64 rows, 16 features, a shared part of rank {RANK} with the variance of the noise.

"""
_COLUMNS = ["measure", "n = 64", "worst case", "n = 256", "worst case", "clustered, blocks", "clustered, free", "power"]
_FOOT = """
Cases count only where draws differ: with as many features as rows canonical correlations have no value, and LinReg,
GULP and EOS are at their bound in every draw, so that p is 1; sampled CKA has no value where features drawn apart
happen not to agree. Measures that do not look at which row is which (MagDiff,
ConcDiff, UnifDiff, IMD, MMD, sliced Wasserstein, eigenspectrum similarity, stability difference) have no permutation
null.

Freely permuted, clustered rows are "significant" although X and Y are related through the clusters alone: where rows
depend on one another, say so with `shift`, `groups` or `blocks`.
"""


if __name__ == "__main__":
    main()
