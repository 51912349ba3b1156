"""Time default calls at large sizes: processor and elapsed seconds, and peak memory above imports.

    python benchmarks/minute.py [--before CHECKOUT] [--only consensus] [--largest 1e8] [--limit 600] [--markdown FILE]
    python benchmarks/minute.py --coverage 200

Each call runs in its own process. CHECKOUT is the folder of an earlier version, whose calls run in alternation.
--largest skips data with more numbers. --coverage counts how often the stated error of a sampled value contains the
exact value, over this many seeds (10,000 rows x 32 features).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from shesha.report import markdown_table

CALLS = {
    "compare, float16": ("compare", "200000x384"),
    "compare, mapped files": ("mapped", "1000000x768"),
    "compare, 8,000 rows": ("compare", "8000x128"),
    "calibrate RSA, 8,000 rows": ("calibrate", "8000x128"),
    "calibrate RSA, 32,000 rows": ("calibrate", "32000x128"),
    "consensus of three, 32,000 rows": ("consensus3", "32000x128"),
    "consensus of three, unrelated": ("unrelated3", "500x128"),
    "consensus of six, unrelated, 500 rows": ("unrelated6", "500x128"),
    "consensus of six, unrelated": ("unrelated6", "2000x128"),
    "rank_models": ("rank", "1000x128"),
    "coherence of 100 groups": ("coherence", "12000x1500"),
    "coherence of 200 groups": ("coherence", "100000x2000"),
    "drift between mapped files": ("drift", "1000000x768"),
    "compare with intervals": ("compare default", "2000x128"),
    "audit with labels": ("audit", "32000x128"),
    "diff with index": ("diff", "200000x384"),
}
CALL = """
import resource, sys, tempfile, time, warnings
from pathlib import Path
import numpy as np
import scipy.sparse
import shesha
from shesha.coherence import coherence_by_group

warnings.simplefilter("ignore")
verb, n, d = sys.argv[1], *map(int, sys.argv[2].split("x"))
rng = np.random.default_rng(0)
MEASURES = ["unbiased CKA", "RSA", "mutual kNN"]


def blocks(n, d, shared=16):
    weights = rng.standard_normal((2, shared, d)).astype("f4")
    for start in range(0, n, 10_000):
        latent = rng.standard_normal((min(10_000, n - start), shared), dtype="f4")
        yield start, [latent @ w + 2 * rng.standard_normal((len(latent), d), dtype="f4") for w in weights]


def pair(n, d, dtype):
    X, Y = np.empty((2, n, d), dtype)
    for start, (x, y) in blocks(n, d):
        X[start : start + len(x)], Y[start : start + len(y)] = x, y
    return X, Y


def mapped(n, d):
    folder = Path(tempfile.mkdtemp(dir="."))
    sides = [np.lib.format.open_memmap(folder / name, "w+", "f2", (n, d)) for name in ("x.npy", "y.npy")]
    for start, parts in blocks(n, d):
        for side, part in zip(sides, parts):
            side[start : start + len(part)] = part
    return [np.load(folder / name, mmap_mode="r") for name in ("x.npy", "y.npy")]


def call(verb, n, d):
    if verb == "mapped":
        X, Y = mapped(n, d)
        return lambda: shesha.compare(X, Y, MEASURES)
    if verb == "drift":
        from shesha.drift import two_sample_tests

        X, Y = mapped(n, d)
        return lambda: two_sample_tests(X, Y)
    if verb.startswith("unrelated"):
        sides = {str(k): rng.standard_normal((n, d)) for k in range(int(verb[-1]))}
        return lambda: shesha.consensus(sides)
    if verb == "coherence":
        X = scipy.sparse.random(n, d, density=0.1, random_state=0, format="csr")
        n_groups = 2 if n < 1000 else n // 500 if n > 50_000 else 100
        labels = np.array(["control" if i % 4 == 0 else f"group {i // 4 % n_groups}" for i in range(n)])
        return lambda: coherence_by_group(X, labels, "control")
    X, Y = pair(n, d, "f2" if n * d > 2**26 else "f8")
    labels = np.argmax(X[:, :5], axis=1)
    return {
        "compare": lambda: shesha.compare(X, Y, MEASURES),
        "compare default": lambda: shesha.compare(X, Y),
        "calibrate": lambda: shesha.calibrate(X, Y, "RSA", seed=0),
        "consensus3": lambda: shesha.consensus({"1": X, "2": Y, "3": X + Y}),
        "rank": lambda: shesha.rank_models(Y, {"1": X, "2": X[:, ::2], "3": X**2, "4": X**3}),
        "audit": lambda: shesha.audit(X, labels),
        "diff": lambda: shesha.diff(X, Y, index=True),
    }[verb]


def used():
    mine = resource.getrusage(resource.RUSAGE_SELF)
    return mine.ru_utime + mine.ru_stime


call("compare" if verb in ("mapped", "drift") else verb, 200, 20)()
work = call(verb, n, d)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, wall = used(), time.perf_counter()
try:
    work()
    note = ""
except (ValueError, MemoryError) as error:
    note = f"refused: {type(error).__name__}"
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(note or f"{used() - start:.1f}", f"{time.perf_counter() - wall:.1f}", f"{peak / 1024:.0f}", sep="|")
"""


def measure(verb: str, shape: str, limit: float, checkout: Path | None) -> list[str]:
    """Return processor seconds, elapsed seconds and MiB of one call, by an earlier version if there is a checkout."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = str(checkout / "src")
    try:
        command = [sys.executable, "-c", CALL, verb, shape]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return [f"> {limit:.0f}", f"> {limit:.0f}", ""]
    except subprocess.CalledProcessError as error:
        return [error.stderr.strip().split("\n")[-1][:80], "", ""]
    return ended.stdout.strip().split("\n")[-1].split("|")


def coverage(n_seeds: int) -> dict[str, float]:
    """Return how often the 95 % interval of a sampled value contains the value of all rows."""
    import shesha

    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 32))
    Y = X @ rng.standard_normal((32, 32)) / 4 + rng.standard_normal((10_000, 32))
    names = ["RSA", "mutual kNN", "Jaccard"]
    exact = shesha.compare(X, Y, names, exact=True)
    inside = dict.fromkeys(names, 0)
    for seed in range(n_seeds):
        sampled = shesha.compare(X, Y, names, queries=200, pairs=20_000, seed=seed)
        for name in names:
            low, high = sampled[name].sampling_low, sampled[name].sampling_high
            assert low is not None and high is not None
            inside[name] += low <= exact[name].value <= high
    return {name: count / n_seeds for name, count in inside.items()}


def main() -> None:
    """Print the table, or the coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=float, default=np.inf)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--coverage", type=int, default=0)
    options = parser.parse_args()
    if options.coverage:
        for name, share in coverage(options.coverage).items():
            print(f"{name}: {100 * share:.1f} % of {options.coverage} seeds")
        return
    versions = [None] if options.before is None else [options.before, None]
    prefixes = [""] if options.before is None else ["before: ", ""]
    columns = [f"{prefix}{what}" for prefix in prefixes for what in ("CPU s", "wall s", "peak MiB")]
    lines = []
    for name, (verb, shape) in CALLS.items():
        if options.only not in name or np.prod([float(size) for size in shape.split("x")]) > options.largest:
            continue
        cells = [cell for version in versions for cell in measure(verb, shape, options.limit, version)]
        lines.append([name, shape.replace("x", " x "), *cells])
        print(*lines[-1], sep=" | ", flush=True)
    table = markdown_table(["call", "data", *columns], lines)
    if options.markdown:
        options.markdown.write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
