"""Time stability scores of shesha and of the public package, in alternation in one process.

    make bench                     (installs shesha-geometry 0.3.0 in a separate folder, and runs this)
    python benchmarks/stability.py --public FOLDER [--repeats 3] [--only NAME] [--markdown FILE]

Each case alternates between both sides, and reports the median of the ratios. Peak memory is measured in separate
processes. A second table compares all documented functions by processor time. `--only documented` prints only this
table.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import documented_functions
import numpy as np

import shesha
from shesha.report import markdown_table

N_BOOTSTRAP = 200
PUBLIC_BOOTSTRAP = 20
"""The time of the public bootstrap is linear in the resamples and takes minutes, so a tenth is run and multiplied."""


@dataclass(frozen=True)
class Case:
    """A computation that both sides do for the same input."""

    name: str
    bar: str
    data: Callable[[], tuple[Any, ...]]
    ours: Callable[..., Any]
    theirs: Callable[..., Any] | None
    scale: float = 1.0
    """Factor by which the time of the public package is multiplied, because it does only a part of the work."""
    difference: bool = True
    """Whether both sides return the same number."""


def embeddings(n: int, d: int, rank: int = 50, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + rng.standard_normal((n, d))


def labelled(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.random.default_rng(1).integers(0, 10, n)
    return embeddings(n, d), y


def cases(public: ModuleType | None) -> list[Case]:
    """Build the cases; without the public package, only our side runs."""

    def their(name: str, **options: Any) -> Callable[..., Any] | None:
        return None if public is None else lambda *data: getattr(public, name)(*data, **options)

    return [
        Case(
            "feature_split, 1600 x 768, 30 splits",
            ">= 10x, difference <= 1e-9",
            lambda: (embeddings(1600, 768),),
            lambda X: shesha.feature_split(X, seed=320),
            their("feature_split", seed=320),
        ),
        Case(
            f"estimate, {N_BOOTSTRAP} resamples, 500 x 128",
            ">= 25x",
            lambda: (embeddings(500, 128),),
            lambda X: shesha.estimate(X, seed=320, n_bootstrap=N_BOOTSTRAP).value,
            their("feature_split", seed=320, n_bootstrap_ci=PUBLIC_BOOTSTRAP),
            scale=N_BOOTSTRAP / PUBLIC_BOOTSTRAP,
            difference=False,
        ),
        Case(
            "rdm_similarity, 10,000 x 256",
            ">= 8x, < 2 GB",
            lambda: (embeddings(10_000, 256), embeddings(10_000, 256) + embeddings(10_000, 256, seed=2)),
            lambda X, Y: shesha.rdm_similarity(X, Y),
            their("rdm_similarity"),
        ),
        Case(
            "class_separation_ratio, 2000 x 256",
            ">= 20x",
            lambda: labelled(2000, 256),
            lambda X, y: shesha.class_separation_ratio(X, y, seed=320),
            their("class_separation_ratio", seed=320),
        ),
        Case(
            "feature_split of 1,000,000 pairs, 200,000 x 256, 30 splits",
            "< 2 s",
            lambda: (embeddings(200_000, 256),),
            lambda X: shesha.estimate(X, seed=320, pairs=1_000_000).value,
            None,
        ),
        Case(
            "the same, 1 split",
            "",
            lambda: (embeddings(200_000, 256),),
            lambda X: shesha.estimate(X, seed=320, pairs=1_000_000, n_splits=1).value,
            None,
        ),
        Case(
            "audit of 900 x 96 with labels",
            "",
            digits_layer,
            lambda X, y: shesha.audit(X, y).representations[0].anisotropy,
            None,
        ),
    ]


def digits_layer() -> tuple[np.ndarray, np.ndarray]:
    from shesha.data import digits_network

    layers, y = digits_network()
    return layers["trained_layer1"], y


def load_public(folder: Path) -> ModuleType:
    """Import the public package, whose import name is also shesha, under another name."""
    spec = importlib.util.spec_from_file_location("public_shesha", folder / "shesha" / "__init__.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"--public must hold the public package, got {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["public_shesha"] = module
    spec.loader.exec_module(module)
    return module


def timed(work: Callable[..., Any], data: tuple[Any, ...]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = work(*data)
    return time.perf_counter() - start, value


def run(case: Case, repeats: int) -> dict[str, Any]:
    data = case.data()
    case.ours(*[array[:200] if isinstance(array, np.ndarray) else array for array in data])  # Trigger imports.
    ours, theirs, values = [], [], []
    for _ in range(repeats):
        seconds, value = timed(case.ours, data)
        ours.append(seconds)
        if case.theirs is not None:
            seconds, other = timed(case.theirs, data)
            theirs.append(seconds * case.scale)
            values.append((value, other))
    row: dict[str, Any] = {"case": case.name, "bar": case.bar, "ours_s": statistics.median(ours)}
    if theirs:
        row["theirs_s"] = statistics.median(theirs)
        row["ratio"] = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        if case.difference:
            row["difference"] = max(abs(a - b) for a, b in values)
    return row


def high_water_mark() -> float:
    """Peak memory of this process in GiB; getrusage would include memory of the parent process at the fork."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 2**20


def peak_memory(name: str, side: str, public: Path | None) -> float:
    """Peak memory in GiB of one side of a case, in a separate process."""
    command = [sys.executable, __file__, "--only", name, "--peak", side]
    if public is not None:
        command += ["--public", str(public)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def same_bits() -> dict[str, bool]:
    """Return whether one and two threads give identical results."""
    code = (
        "import json, numpy as np, shesha\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.standard_normal((700, 20)) @ rng.standard_normal((20, 96)) + rng.standard_normal((700, 96))\n"
        "y = rng.integers(0, 4, 700)\n"
        "Y = X + rng.standard_normal(X.shape)\n"
        "found = {'feature_split': shesha.feature_split(X, seed=0), 'rdm_similarity': shesha.rdm_similarity(X, Y),\n"
        "         'basis_averaged_split': shesha.basis_averaged_split(X, seed=0),\n"
        "         'class_separation_ratio': shesha.class_separation_ratio(X, y, seed=0),\n"
        "         'lda_subspace_stability': shesha.lda_subspace_stability(X, y, seed=0),\n"
        "         'estimate': shesha.estimate(X, seed=0).to_dict()['high'],\n"
        "         'estimate, sampled pairs': shesha.estimate(X, seed=0, pairs=20000).high,\n"
        "         'chance': shesha.chance(X, seed=0, n_permutations=19).threshold}\n"
        "print(json.dumps({k: float(v).hex() for k, v in found.items()}))\n"
    )
    results = []
    for threads in ("1", "2"):
        environment = {**os.environ, "SHESHA_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        results.append(json.loads(done.stdout))
    return {name: results[0][name] == results[1][name] for name in results[0]}


def import_seconds() -> float:
    """Median time of `import shesha`, measured by -X importtime."""
    times = []
    for _ in range(7):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import shesha"], capture_output=True, text=True, check=True
        )
        line = next(line for line in done.stderr.splitlines() if line.rsplit("|", 1)[-1].strip() == "shesha")
        times.append(int(line.split("|")[1]) / 1e6)
    return statistics.median(times)


def machine() -> str:
    import scipy
    from threadpoolctl import threadpool_info

    blas = {
        f"{lib.get('internal_api')} {lib.get('version')} ({lib.get('architecture', '?')})" for lib in threadpool_info()
    }
    return (
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, BLAS {', '.join(sorted(blas))}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    head = ["work", "public, s", "ours, s", "ratio", "difference", "peak, GiB (public / ours)", "bar"]
    lines = [
        [
            row["case"],
            f"{row['theirs_s']:.2f}" if "theirs_s" in row else "-",
            f"{row['ours_s']:.3f}",
            f"{row['ratio']:.1f}" if "ratio" in row else "-",
            f"{row['difference']:.1e}" if "difference" in row else "-",
            row.get("peak", "-"),
            row["bar"],
        ]
        for row in rows
    ]
    return markdown_table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, help="folder that holds the public package")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="run the cases whose name contains this")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--peak", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    public = load_public(options.public) if options.public else None
    if options.only == "documented" and public is not None:
        print(f"{machine()}\n\n{documented_functions.table(public, embeddings)}")
        return
    chosen = [case for case in cases(public) if not options.only or options.only in case.name]
    if options.peak:
        work = getattr(chosen[0], options.peak)
        work(*chosen[0].data())
        print(high_water_mark())
        return
    rows = []
    for case in chosen:
        rows.append(run(case, options.repeats))
        if "GB" in case.bar:
            sides = [("theirs", case.theirs), ("ours", case.ours)]
            rows[-1]["peak"] = " / ".join(
                f"{peak_memory(case.name, side, options.public):.2f}" if work else "-" for side, work in sides
            )
        print(rows[-1], file=sys.stderr)
    text = f"{machine()}\n\n{table(rows)}\n"
    if not options.only and public is not None:
        text += f"\n{documented_functions.table(public, embeddings)}\n"
    if not options.only:
        bits = same_bits()
        text += f"\nimport shesha: {import_seconds():.3f} s (bar 0.3)\n"
        text += f"same bits with 1 and 2 threads: {'yes' if all(bits.values()) else bits} ({', '.join(bits)})\n"
    print(text)
    if options.markdown:
        with tempfile.NamedTemporaryFile("w", dir=options.markdown.parent, delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(options.markdown)


if __name__ == "__main__":
    main()
