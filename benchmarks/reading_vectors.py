"""Time reading vectors that a text table keeps as text, and how much of it the decision about columns takes.

    python benchmarks/reading_vectors.py [--rows 200000] [--features 1536] [--repeats 3] [--folder FOLDER]

The table is what notebooks of embedding services write: a text, a number of tokens and the vector as "[0.1, ...]". The
peers are pandas and pyarrow, which return text, followed by `json.loads` of each vector. Each reading is a
process of its own, so that its peak memory can be measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from shesha.report import markdown_table

_READ = {
    "shesha": """
import shesha.io.tables as tables
from shesha.io import read
plain, deciding = tables.decide, [0.0]
def decide(*given, **options):
    start = time.perf_counter()
    try:
        return plain(*given, **options)
    finally:
        deciding[0] += time.perf_counter() - start
tables.decide = decide
start = time.perf_counter()
X = read(path)["embedding"]
""",
    "pandas": """
import pandas
start, deciding = time.perf_counter(), [0.0]
X = np.array([json.loads(text) for text in pandas.read_csv(path)["embedding"]])
""",
    "pyarrow": """
import pyarrow.csv
start, deciding = time.perf_counter(), [0.0]
options = pyarrow.csv.ParseOptions(newlines_in_values=True)
block = pyarrow.csv.ReadOptions(block_size=1 << 26)
column = pyarrow.csv.read_csv(path, parse_options=options, read_options=block)["embedding"]
X = np.array([json.loads(text.as_py()) for text in column])
""",
}
_START = "import json, resource, sys, time\nimport numpy as np\npath = sys.argv[1]\n"
_END = """
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, deciding[0], peak, list(X.shape), float(X[-1, -1])]))
"""


def write_table(path: Path, n_rows: int, n_features: int) -> None:
    """Write a text table with one vector per row as text."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("text,n_tokens,embedding\n")
        for row in range(n_rows):
            vector = rng.standard_normal(n_features).astype(np.float32).tolist()
            stream.write(f'"text number {row}",{rng.integers(5, 400)},"{vector}"\n')


def time_reading(reader: str, path: Path) -> tuple[float, float, float, list[float]]:
    """Return the seconds, those of the decision, the peak in GiB, and what was read."""
    command = [sys.executable, "-c", _START + _READ[reader] + _END, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, deciding, peak, shape, last = json.loads(done.stdout.splitlines()[-1])
    return seconds, deciding, peak, [*shape, last]


def main() -> None:
    """Print the median time of each reader."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=1_536)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="folder for the table; by default a temporary one")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "vectors.csv"
        write_table(path, asked.rows, asked.features)
        for reader in _READ:
            runs = [time_reading(reader, path) for _ in range(asked.repeats)]
            seconds, deciding, peak = (statistics.median(run[i] for run in runs) for i in range(3))
            share = f"{100 * deciding / seconds:.1f} %" if reader == "shesha" else ""
            rows.append([reader, f"{seconds:.2f}", share, f"{peak:.2f}"])
            if runs[0][3] != time_reading("pandas", path)[3]:
                raise ValueError(f"{reader} must read what pandas reads, got {runs[0][3]}")
    print(f"{asked.rows:,} x {asked.features:,} vectors as text in a CSV\n")
    print(markdown_table(["reader", "seconds", "deciding", "peak GiB"], rows))


if __name__ == "__main__":
    main()
