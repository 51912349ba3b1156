"""Measures of one's own, as a user would write them; TOY_CALLS names a file that gets a line for each call."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import numpy as np


def _print_of(X: np.ndarray, Y: np.ndarray) -> str:
    return hashlib.sha256(X.tobytes() + b"|" + Y.tobytes()).hexdigest()[:16]


def _log(name: str, X: np.ndarray, Y: np.ndarray) -> None:
    if "TOY_CALLS" in os.environ:
        with Path(os.environ["TOY_CALLS"]).open("a") as file:
            file.write(f"{name} {_print_of(X, Y)}\n")


def _share(X: np.ndarray, Y: np.ndarray) -> float:
    """Return a number from 0 to 1 that depends on the pair alone."""
    return int(_print_of(X, Y), 16) / 16**16


def logged(X: np.ndarray, Y: np.ndarray) -> float:
    _log("logged", X, Y)
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    return float(np.linalg.norm(X) - np.abs(Y).sum())


def one_more(X: np.ndarray, Y: np.ndarray) -> float:
    _log("one_more", X, Y)
    return -float(np.abs(X.mean(axis=0)[:3] - Y.mean(axis=0)[:3]).sum())


def raising(X: np.ndarray, Y: np.ndarray) -> float:
    raise ArithmeticError("cannot be done")


def sometimes_raising(X: np.ndarray, Y: np.ndarray) -> float:
    if _share(X, Y) < 0.2:
        raise ArithmeticError("cannot be done for these")
    return _share(X, Y)


def sometimes_nan(X: np.ndarray, Y: np.ndarray) -> float:
    return float("nan") if _share(X, Y) < 0.2 else _share(X, Y)


def killing(X: np.ndarray, Y: np.ndarray) -> float:
    if _print_of(X, Y) == os.environ.get("TOY_VICTIM"):
        os._exit(1)
    return _share(X, Y)
