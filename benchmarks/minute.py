"""Time default calls at large sizes: processor and elapsed seconds, and peak memory.

    python benchmarks/minute.py [--before CHECKOUT] [--only consensus] [--largest 1e8] [--limit 600] [--markdown FILE]
    python benchmarks/minute.py --coverage 200

Each call or command runs in its own process. The peak of a call is above imports and data; that of a command includes
them, and the pages of mapped files. CHECKOUT is the folder of an earlier version, whose calls run in alternation.
--largest skips data with more numbers. Files are written to the current folder and removed. The last lines count the
calls that end within a minute, and the refused ones. --coverage counts how often the stated error of a sampled value
contains the exact value, over this many seeds (10,000 rows x 32 features).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

from shesha.report import markdown_table
from shesha.support.progress import collect

CALLS = {
    "compare, 2,000 rows, chance levels and intervals": ("compare default", "2000x128"),
    "compare, 1,000 wide rows, chance levels and intervals": ("compare default", "1000x4096"),
    "compare, 8,000 rows": ("compare", "8000x128"),
    "compare, 16,000 rows": ("compare", "16000x128"),
    "peer: rsatoolbox, RSA, 2,000 rows": ("rsatoolbox", "2000x128"),
    "peer: scikit-learn, mutual kNN, 8,000 rows": ("scikit-learn", "8000x128"),
    "peer: torch loop, CKA of batches, 16,000 rows": ("torch loop", "16000x128"),
    "calibrate RSA, 8,000 rows": ("calibrate", "8000x128"),
    "calibrate RSA, 16,000 rows": ("calibrate", "16000x128"),
    "calibrate RSA, 32,000 rows": ("calibrate", "32000x128"),
    "consensus of three, 500 rows": ("consensus3", "500x128"),
    "consensus of three, 2,000 rows": ("consensus3", "2000x128"),
    "consensus of three, 32,000 rows": ("consensus3", "32000x128"),
    "consensus of three, unrelated": ("unrelated3", "500x128"),
    "consensus of six, unrelated, 500 rows": ("unrelated6", "500x128"),
    "consensus of six, unrelated": ("unrelated6", "2000x128"),
    "rank_models": ("rank", "1000x128"),
    "coherence of 100 groups": ("coherence", "12000x1500"),
    "coherence of 200 groups": ("coherence", "100000x2000"),
    "audit with labels": ("audit", "32000x128"),
    "audit with labels, 1,000 wide rows": ("audit", "1000x4096"),
    "diff with index, float16": ("diff", "200000x384"),
}
COMMANDS = {
    "shesha demo": ("demo --out demo", ""),
    "shesha compare, 100,000 rows": ("compare x.npy y.npy", "100000x384"),
    "shesha compare, 200,000 rows": ("compare x.npy y.npy", "200000x384"),
    "shesha diff --index, 200,000 rows": ("diff x.npy y.npy --index", "200000x384"),
    "shesha compare": ("compare x.npy y.npy", "1000000x768"),
    "shesha diff": ("diff x.npy y.npy", "1000000x768"),
    "shesha audit --labels": ("audit x.npy --labels labels.csv", "1000000x768"),
    "shesha layers": ("layers x.npy y.npy", "1000000x768"),
    "shesha rank": ("rank x.npy z.npy --data y.npy", "1000000x768"),
    "shesha consensus": ("consensus x.npy y.npy z.npy", "1000000x768"),
    "shesha index": ("index x.npy --way 256 --way int8", "1000000x768"),
    "shesha monitor init": ("monitor init x.npy --out reference", "1000000x768"),
    "shesha monitor check": ("monitor check reference y.npy", "1000000x768"),
    "shesha drift": ("drift x.npy y.npy", "1000000x768"),
}
"""Commands, and the shape of the float16 files that they read."""
CALL = """
import resource, sys, time, warnings
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


def torch_loop(X, Y, n_batches=16):
    import torch

    values = []
    for x, y in zip(torch.chunk(X, n_batches), torch.chunk(Y, n_batches)):
        K, L = (side @ side.T for side in (x - x.mean(0), y - y.mean(0)))
        values.append((K * L).sum() / (K.norm() * L.norm()))
    return float(torch.stack(values).mean())


def peer(verb, X, Y):
    if verb == "rsatoolbox":
        from rsatoolbox.data import Dataset
        from rsatoolbox.rdm import calc_rdm, compare

        return lambda: compare(*(calc_rdm(Dataset(side), "correlation") for side in (X, Y)), "spearman")
    if verb == "scikit-learn":
        from sklearn.neighbors import NearestNeighbors

        def overlap():
            near = [
                NearestNeighbors(n_neighbors=11, metric="cosine", n_jobs=-1).fit(side).kneighbors(return_distance=False)
                for side in (X, Y)
            ]
            return np.mean([len(np.intersect1d(*pair)) / 11 for pair in zip(*near)])

        return overlap
    import torch

    both = torch.tensor(X), torch.tensor(Y)
    return lambda: torch_loop(*both)


def call(verb, n, d):
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
    if verb in ("rsatoolbox", "scikit-learn", "torch loop"):
        return peer(verb, X, Y)
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


call(verb, 200, 20)()
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


def environment_of(checkout: Path | None) -> dict[str, str]:
    """Return the environment in which an earlier version is imported, if there is a checkout."""
    return dict(os.environ) if checkout is None else {**os.environ, "PYTHONPATH": str(checkout / "src")}


def time_call(verb: str, shape: str, limit: float, checkout: Path | None) -> list[str]:
    """Return processor seconds, elapsed seconds and MiB of one call in Python."""
    try:
        command = [sys.executable, "-c", CALL, verb, shape]
        environment = environment_of(checkout)
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return [f"> {limit:.0f}", f"> {limit:.0f}", ""]
    except subprocess.CalledProcessError as error:
        return [f"failed: {error.stderr.strip().split(chr(10))[-1][:80]}", "", ""]
    return ended.stdout.strip().split("\n")[-1].split("|")


def time_command(arguments: str, limit: float, checkout: Path | None, folder: Path) -> list[str]:
    """Return processor seconds, elapsed seconds and MiB of one command that reads the files in the folder."""
    with (folder / "printed.txt").open("w+", encoding="utf-8") as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "shesha", *arguments.split()],
            env=environment_of(checkout),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=printed,
        )
        stop = threading.Timer(limit, process.kill)
        stop.start()
        _, status, used = os.wait4(process.pid, 0)
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = [f"{used.ru_utime + used.ru_stime:.1f}", f"{time.perf_counter() - start:.1f}"]
        printed.seek(0)
        errors = [line for line in printed.read().splitlines() if line.startswith("shesha: ")]
    if process.returncode == -signal.SIGKILL:
        return [f"> {limit:.0f}", f"> {limit:.0f}", ""]
    # `monitor check` also ends with 1 (drift) and 2 (undecided), but only refusals name a memory budget or an option.
    if process.returncode not in (0, 1) and errors and " must " in errors[-1]:
        return [f"refused: {errors[-1].removeprefix('shesha: ')[:80]}", *seconds[1:], ""]
    return [*seconds, f"{used.ru_maxrss / 1024:.0f}"]


def write_files(folder: Path, shape: str) -> None:
    """Write three related float16 matrices that fit a command, and classes of their rows."""
    n, d = map(int, shape.split("x"))
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, 16, d)).astype("f4")
    # Noise is drawn once and used from a random row on, because drawing it would take most of the time.
    noise = 2 * rng.standard_normal((3, 30_000, d), dtype="f4")
    files = [np.lib.format.open_memmap(folder / f"{name}.npy", "w+", "f2", (n, d)) for name in "xyz"]
    classes = []
    for start in range(0, n, 10_000):
        latent = rng.standard_normal((min(10_000, n - start), 16), dtype="f4")
        classes += [f"class {k}" for k in latent[:, :5].argmax(axis=1)]
        for file, weight, of_file in zip(files, weights, noise, strict=True):
            first = int(rng.integers(20_000))
            file[start : start + len(latent)] = latent @ weight + of_file[first : first + len(latent)]
    (folder / "labels.csv").write_text("\n".join(["label", *classes]), encoding="utf-8")


def coverage(n_seeds: int) -> dict[str, list[int]]:
    """Count how often the stated interval of a sampled value contains the value of all rows, and the trials."""
    import shesha
    from shesha.changes import stored_vectors
    from shesha.comparison import sampled_scores
    from shesha.measures.expected_time import sum_seconds

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, d = 10_000, 32
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, d)) / 4 + rng.standard_normal((n, d))
    labels = np.argmax(X[:, :5] + rng.standard_normal((n, 5)), axis=1)
    names, ways = ["RSA", "mutual kNN", "Jaccard"], [8, "int8", "binary"]
    audited = {"n_bootstrap": 100, "n_permutations": 0}
    unbiased = shesha.measures.choose("unbiased CKA")
    no_chance = {"calibrate": False, "alpha": 0.05, "n_draws": 200}
    # A fifth of the rows is summed, as for rows whose sums take five times as long as they may.
    few = 3 * sum_seconds(n, (d, d)) / 5
    exact = {score.name: score.value for score in shesha.compare(X, Y, [*names, *unbiased], exact=True).scores}
    exact |= {f"index, {one.name}": one.value for one in stored_vectors(X, ways, exact=True)}
    # Scores of pairs have no bias, so the mean over many samples stands for all pairs, which take minutes.
    of_pairs = {"feature_split": None, "basis_averaged_split": None, "supervised_alignment": labels}
    for variant, y in of_pairs.items():
        many = [
            shesha.estimate(X, y, variant=variant, n_bootstrap=0, n_permutations=0, pairs=500_000, seed=1000 + k)
            for k in range(10)
        ]
        exact[f"audit, {variant}"] = float(np.mean([one.value for one in many]))
    [whole] = shesha.audit(X, labels, **audited, pairs=1_000).representations
    # The stability of centroids refers to the number of rows that were used.
    classes = [name for name in whole.supervised if name != "label_conditioned_split" and name not in of_pairs]
    exact |= {f"audit, {name}": whole.supervised[name].value for name in classes}
    inside = {name: [0, 0] for name in exact}

    def count(name: str, low: float | None, high: float | None) -> None:
        assert low is not None and high is not None
        inside[name][0] += low <= exact[name] <= high
        inside[name][1] += 1

    def draw(seed: int) -> None:
        for score in shesha.compare(X, Y, names, queries=200, pairs=20_000, seed=seed).scores:
            count(score.name, score.sampling_low, score.sampling_high)
        with mock.patch.object(sampled_scores, "MINUTE", few):
            sampling = sampled_scores.Sampling(seed=seed)
            [score] = sampled_scores.compare_stored(X, Y, ("X", "Y"), unbiased, sampling, no_chance).scores
        count(score.name, score.sampling_low, score.sampling_high)
        for one in stored_vectors(X, ways, exact=False, seed=seed):
            count(f"index, {one.name}", one.low, one.high)
        with mock.patch.dict(os.environ, {"SHESHA_MEMORY": "4M"}):
            [found] = shesha.audit(X, labels, **audited, seed=seed).representations
        for name in (*of_pairs, *classes):
            estimate = found.scores.get(name) or found.supervised[name]
            assert "random" in " ".join(estimate.notes), f"{name} was not sampled"
            count(f"audit, {name}", estimate.low, estimate.high)

    # Ctrl-C prints the table of the seeds so far.
    collect(map(draw, range(n_seeds)), n_seeds, "seeds", fewest=1)
    return inside


_MINUTE = 60.0


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
        lines = [[name, f"{100 * part / n:.1f}", str(n)] for name, (part, n) in coverage(options.coverage).items()]
        print(markdown_table(["sampled value", "contains the exact value, %", "seeds"], lines))
        return
    versions = [None] if options.before is None else [options.before, None]
    prefixes = [""] if options.before is None else ["before: ", ""]
    columns = [f"{prefix}{what}" for prefix in prefixes for what in ("CPU s", "wall s", "peak MiB")]
    lines: list[list[str]] = []

    def add(name: str, shape: str, results: list[list[str]]) -> None:
        lines.append([name, shape.replace("x", " x "), *(cell for cells in results for cell in cells)])
        print(*lines[-1], sep=" | ", flush=True)

    def chosen(name: str, shape: str) -> bool:
        sizes = [float(size) for size in shape.split("x") if size]
        return options.only in name and np.prod(sizes) <= options.largest

    for name, (verb, shape) in CALLS.items():
        if chosen(name, shape):
            # Other libraries are timed once.
            before = versions[-1:] if name.startswith("peer") else versions
            add(name, shape, [time_call(verb, shape, options.limit, version) for version in before])
    with tempfile.TemporaryDirectory(dir=".") as name_of_folder:
        folder, written = Path(name_of_folder).resolve(), ""
        for name, (arguments, shape) in COMMANDS.items():
            if not chosen(name, shape):
                continue
            if shape and shape != written:
                write_files(folder, written := shape)
            add(name, shape, [time_command(arguments, options.limit, version, folder) for version in versions])
    ours = [line for line in lines if not line[0].startswith("peer")]
    refused = sum("refused" in line[-3] for line in ours)
    quick = sum(line[-2].replace(".", "").isdigit() and float(line[-2]) <= _MINUTE for line in ours) - refused
    print(f"{quick} of {len(ours)} calls end within {_MINUTE:.0f} s; {refused} refused")
    table = markdown_table(["call", "data", *columns], lines)
    if options.markdown:
        options.markdown.write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
