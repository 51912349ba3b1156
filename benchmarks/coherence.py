"""Time coherence of many groups with shesha and with shesha-geometry 0.3.0, in alternation, in separate processes.

    python benchmarks/coherence.py --public FOLDER [--repeats 3] [--markdown FILE] [--sparse]

FOLDER contains shesha-geometry (`make bench` installs it there). Its import name is also shesha, so each side runs in a
separate process. The data have 100,000 rows, 50 features, 500 groups and 10,000 controls. The public package scores the
groups one by one without a chance level. Its k-NN is timed on 20 groups, and the time is multiplied. With --sparse, the
peak memory for a sparse 100,000 x 20,000 matrix (400 entries per row) is also measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from shesha.report import markdown_line
from shesha.support.files import write_text

DATA = """
import numpy as np, resource, time
rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 50))
labels = np.array(["control"] * 10_000 + [f"g{i}" for i in range(500)] * 180)
"""
SPARSE = """
import numpy as np, resource, time
from scipy.sparse import csr_matrix
rng = np.random.default_rng(0)
n, d, k = 100_000, 20_000, 400
places = np.sort(rng.integers(d, size=(n, k)).astype(np.int32), axis=1).ravel()
X = csr_matrix((rng.exponential(size=n * k).astype(np.float32), places, np.arange(0, n * k + 1, k)), shape=(n, d))
labels = np.array(["control"] * 10_000 + [f"g{i}" for i in range(500)] * 180)
"""
OURS = """
from shesha.coherence import coherence_by_group
coherence_by_group(rng.normal(size=(100, 3)), np.repeat(["a", "b"], 50), "a", n_draws=9)
start = time.perf_counter()
coherence_by_group(X, labels, "control", {options})
"""
PUBLIC = """
from shesha.bio import perturbation_coherence
controls = X[labels == "control"]
groups = [X[labels == f"g{{i}}"] for i in range({n_groups})]
perturbation_coherence(controls, groups[0], method="{method}")
start = time.perf_counter()
for one in groups:
    perturbation_coherence(controls, one, method="{method}")
"""
END = """
print((time.perf_counter() - start) * {factor}, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
WORK = (
    ("coherence", "n_draws=0", "standard", 500, 1.0),
    ("with chance of 1,000 draws", "n_draws=1000", None, 0, 20.0),
    ("whitened", "n_draws=0, method='whitened'", "whitened", 20, 10.0),
    ("nearest 50 controls", "n_draws=0, method='knn'", "knn", 20, 60.0),
)
"""Name, our options, the public method, how many of its groups are timed, and the seconds allowed."""


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--public", type=Path)
    given.add_argument("--repeats", type=int, default=3)
    given.add_argument("--markdown", type=Path)
    given.add_argument("--sparse", action="store_true")
    given = given.parse_args()
    lines = [markdown_line(("work", "ours, s", "allowed, s", "MiB", "public, s", "ratio"))]
    lines.append(markdown_line(["---"] * 6))
    for name, options, method, n_groups, allowed in WORK:
        line = timed(name, options, method, n_groups, allowed, given)
        lines.append(markdown_line(line))
        print(lines[-1], flush=True)
    if given.sparse:
        seconds, peak = run(SPARSE + OURS.format(options="n_draws=0") + END.format(factor=1))
        lines.append(markdown_line(("sparse 100,000 x 20,000", f"{seconds:.1f}", "", f"{peak:.0f} of 2,048", "", "")))
        print(lines[-1], flush=True)
    if given.markdown:
        write_text(given.markdown, "\n".join(lines) + "\n")


def timed(name, options, method, n_groups, allowed, given):
    ours, theirs = [], []
    for _ in range(given.repeats):
        ours.append(run(DATA + OURS.format(options=options) + END.format(factor=1)))
        if method and given.public:
            code = DATA + PUBLIC.format(method=method, n_groups=n_groups) + END.format(factor=500 / n_groups)
            theirs.append(run(code, given.public))
    seconds, peak = statistics.median(s for s, _ in ours), max(p for _, p in ours)
    other = statistics.median(s for s, _ in theirs) if theirs else float("nan")
    ratio = statistics.median(b / a for (a, _), (b, _) in zip(ours, theirs, strict=True)) if theirs else float("nan")
    return name, f"{seconds:.2f}", f"{allowed:g}", f"{peak:.0f}", f"{other:.2f}", f"{ratio:.1f}"


def run(code: str, public: Path | None = None) -> tuple[float, float]:
    place = {} if public is None else {"PYTHONPATH": str(public.resolve())}
    # Use -P, because `python -c` otherwise puts the current folder first on the path.
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    seconds, peak = found.stdout.split()
    return float(seconds), float(peak)


if __name__ == "__main__":
    main()
