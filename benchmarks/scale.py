"""Time exact comparisons of representations that do not fit in memory, against the matrix products of the machine.

    python benchmarks/scale.py [--rows 10000000] [--features 256] [--stream 100000000] [--folder DIR]

The first two lines are limits: the products that any exact method needs (double precision, in the same panels, from
memory), and reading both files once. The other lines are a NumPy loop with one product per batch, a run that is
interrupted and resumed. All lines run one after the other in the same process. Files
that fit in the page cache are read from there, so compare times with the line for reading. "Own memory" is the growth
of anonymous memory, without mapped files.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shesha
from shesha.kernels.threads import parallel
from shesha.moments.sums import panel_rows
from shesha.report import markdown_table

_STRETCH = 1 << 16


def write_files(folder: Path, n: int, d: int) -> list[Path]:
    """Write two related float32 matrices, some rows at a time."""
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((16, d), dtype=np.float32), rng.standard_normal((16, d), dtype=np.float32)
    paths = [folder / "x.npy", folder / "y.npy"]
    for seed, (path, weights) in enumerate(zip(paths, mix, strict=True), start=2):
        shared = np.random.default_rng(1)
        own = np.random.default_rng(seed)
        with path.open("wb") as stream:
            header = {"descr": "<f4", "fortran_order": False, "shape": (n, d)}
            np.lib.format.write_array_header_1_0(stream, header)
            for start in range(0, n, _STRETCH):
                rows = min(_STRETCH, n - start)
                latent = shared.standard_normal((rows, 16), dtype=np.float32)
                (latent @ weights + own.standard_normal((rows, d), dtype=np.float32)).tofile(stream)
    return paths


def time_products(n: int, d: int) -> float:
    """Seconds of the double-precision products of all panels, on all threads, from one panel in memory."""
    rows = panel_rows((d, d))
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((rows, d)), rng.standard_normal((rows, d))

    def work(_: int) -> None:
        x.T @ x, y.T @ y, x.T @ y

    start = time.perf_counter()
    for _ in parallel(work, range(n // rows)):
        pass
    return time.perf_counter() - start


def time_reading(paths: list[Path], size: int = 1 << 24) -> float:
    """Seconds of reading all bytes of the files once, in turn."""
    start = time.perf_counter()
    for path in paths:
        with path.open("rb", buffering=0) as stream:
            while stream.read(size):
                pass
    return time.perf_counter() - start


def loop_of_numpy(paths: list[Path], batch: int = 8192) -> float:
    """CKA from raw sums in NumPy, which is exact only for data near zero."""
    x, y = (np.load(path, mmap_mode="r") for path in paths)
    n = len(x)
    sums = [np.zeros(x.shape[1]), np.zeros(y.shape[1])]
    products = [np.zeros((x.shape[1], x.shape[1])), np.zeros((y.shape[1], y.shape[1])), np.zeros((x.shape[1],) * 2)]
    for start in range(0, n, batch):
        a, b = (side[start : start + batch].astype(np.float64) for side in (x, y))
        sums[0] += a.sum(axis=0)
        sums[1] += b.sum(axis=0)
        for place, (left, right) in enumerate(((a, a), (b, b), (a, b))):
            products[place] += left.T @ right
    pairs = ((0, 0), (1, 1), (0, 1))
    xx, yy, xy = (p - np.outer(sums[i], sums[j]) / n for p, (i, j) in zip(products, pairs, strict=True))
    return float((xy**2).sum() / np.sqrt((xx**2).sum() * (yy**2).sum()))


def cka(moments: shesha.Moments) -> float:
    """CKA from moments."""
    return shesha.compare(moments, "CKA")["CKA"].value


def killed_and_resumed(paths: list[Path], state: Path) -> float:
    """Count rows, interrupt in the middle, and resume from the saved state."""
    from shesha.moments import moments as room

    halfway = np.load(paths[0], mmap_mode="r").shape[0] // 2
    add = room.Moments.add_unchecked

    def interrupt(self: Any, sides: list[Any]) -> None:
        if halfway < len(self) and not state.exists():
            raise KeyboardInterrupt
        add(self, sides)

    room.Moments.add_unchecked = interrupt  # type: ignore[method-assign]
    try:
        shesha.Moments.of(*paths, state=state)
    except KeyboardInterrupt:
        pass
    finally:
        room.Moments.add_unchecked = add  # type: ignore[method-assign]
    return cka(shesha.Moments.of(*paths, state=state))


def generated(n: int, d: int, batch: int = 50_000) -> Iterator[tuple[Any, Any]]:
    """Yield the same batches repeatedly, so that the time of drawing is not included."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((batch, d), dtype=np.float32), rng.standard_normal((batch, d), dtype=np.float32)
    for _ in range(n // batch):
        yield x, y


class PeakMemory(threading.Thread):
    """Record the peak anonymous memory of the process during a run."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.first = self.peak = anonymous_memory()
        self._done = threading.Event()

    def run(self) -> None:
        """Read the memory twenty times per second."""
        while not self._done.wait(0.05):
            self.peak = max(self.peak, anonymous_memory())

    def stop(self) -> float:
        """Stop, and return the growth in MiB."""
        self._done.set()
        self.join()
        return (self.peak - self.first) / 2**20


def anonymous_memory() -> int:
    """Bytes of memory that are not mapped from files."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon"))


def limit(what: str, rows: int, seconds: float) -> list[str]:
    """Describe a lower limit for the time of any exact method."""
    return [what, f"{seconds:.1f}", f"{rows / seconds / 1e6:.2f}", "", ""]


def measure(what: str, rows: int, work: Callable[[], Any]) -> list[str]:
    """Make one run, and describe it."""
    memory = PeakMemory()
    memory.start()
    start = time.perf_counter()
    value = work()
    seconds = time.perf_counter() - start
    line = [what, f"{seconds:.1f}", f"{rows / seconds / 1e6:.2f}", f"{memory.stop():.0f}", f"{value:.12f}"]
    print("  ".join(line), flush=True)
    return line


def main() -> None:
    """Print a table of all runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--stream", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    asked = parser.parse_args()
    n, d = asked.rows, asked.features
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        paths = write_files(folder, n, d)
        state = folder / "state.npz"
        lines = [
            limit("products alone", n, time_products(n, d)),
            limit("reading alone", n, time_reading(paths)),
            measure("shesha, memory-mapped", n, lambda: cka(shesha.Moments.of(*paths))),
            measure("loop of NumPy", n, lambda: loop_of_numpy(paths)),
            measure("shesha, killed and resumed", n, lambda: killed_and_resumed(paths, state)),
        ]
        lines.append(limit("reading alone, again", n, time_reading(paths)))
        lines.append(limit("products alone, again", n, time_products(n, d)))
    stream = asked.stream
    lines.append(limit(f"products alone, {stream:,} x 64", stream, time_products(stream, 64)))
    lines.append(
        measure(f"shesha, generator of {stream:,} x 64", stream, lambda: cka(shesha.Moments.of(generated(stream, 64))))
    )
    print()
    print("\n".join(markdown_table(["", "seconds", "million rows / s", "own MiB", "CKA"], lines).splitlines()))


if __name__ == "__main__":
    main()
