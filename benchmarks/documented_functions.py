"""Compare the processor time of documented functions in shesha and in shesha-geometry, in alternation."""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

import shesha.core
from shesha.report import markdown_table

SIZES = ((300, 128), (1500, 384))
FUNCTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("feature_split", "X", {"seed": 320}),
    ("sample_split", "X", {"seed": 320}),
    ("anchor_stability", "X", {"seed": 320}),
    ("variance_ratio", "X, y", {}),
    ("supervised_alignment", "X, y", {"seed": 320}),
    ("class_separation_ratio", "X, y", {"seed": 320}),
    ("lda_stability", "X, two", {"seed": 320}),
    ("rdm_similarity", "X, Y", {}),
    ("rdm_drift", "X, Y", {}),
    ("compute_rdm", "X", {}),
    ("shesha", "X", {"variant": "feature_split", "seed": 320}),
)
"""Name, data and options of each function; `y` has ten classes, `two` has two."""
_SHORT, _INNER, _SECONDS = 0.005, 20, 0.8
"""Calls shorter than this many seconds are timed in batches of this size; limit in seconds for the public function."""


def table(public: ModuleType, embeddings: Callable[..., np.ndarray]) -> str:
    """Time each function at each size, and return the table."""
    head = ["function", "rows x features", "public, ms", "ours, ms", "ratio", "difference"]
    lines = [
        _line(public, embeddings, name, data, options, size) for size in SIZES for name, data, options in FUNCTIONS
    ]
    return markdown_table(head, lines)


def _line(
    public: ModuleType,
    embeddings: Callable[..., np.ndarray],
    name: str,
    data: str,
    options: dict[str, Any],
    size: tuple[int, int],
) -> list[str]:
    X = embeddings(*size)
    y = np.random.default_rng(1).integers(0, 10, size[0])
    known = {"X": X, "Y": X + embeddings(*size, seed=2), "y": y, "two": y % 2}
    arguments = [known[one] for one in data.split(", ")]
    ours, theirs = (partial(getattr(side, name), *arguments, **options) for side in (shesha.core, public))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours()
        (_, own), (once, known_value) = _timed(ours, 1), _timed(theirs, 1)
        inner = 1 if once > _SHORT else _INNER
        repeats = int(np.clip(_SECONDS / max(once, 1e-4), 1, 41))
        times = [(_timed(ours, inner)[0], _timed(theirs, inner)[0] if once < 2 else once) for _ in range(repeats)]
    difference = float(np.max(np.abs(np.asarray(own) - np.asarray(known_value))))
    mine, other = (1e3 * statistics.median(side) for side in zip(*times, strict=True))
    ratio = statistics.median(b / a for a, b in times)
    row = [name, f"{size[0]:,} x {size[1]}", f"{other:.2f}", f"{mine:.2f}", f"{ratio:.1f}", f"{difference:.1e}"]
    print(row, file=sys.stderr)
    return row


def _timed(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """Processor time of one call, which other processes affect less than elapsed time, and its value."""
    start = time.process_time()
    for _ in range(times):
        value = work()
    return (time.process_time() - start) / times, value
