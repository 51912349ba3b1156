"""Freeze the numbers of every public function, and compare a later version with them.

    python scripts/freeze_outputs.py write outputs.json.gz
    python scripts/freeze_outputs.py check outputs.json.gz

Every public function is called with small valid inputs from three seeds. Each number that it returns is stored in full
precision under its place in the result. `check` prints each place whose number differs by more than 1e-12 (relative),
and each call that fails now. A place that no longer exists counts as the same if its number is still in the result
under another name, so that fields may be renamed.
"""

from __future__ import annotations

import dataclasses
import gzip
import inspect
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _good_calls import Arguments, N, functions

from shesha.results import Number

SEEDS = (0, 1, 2)
TOLERANCE = 1e-12
_LARGEST = 64
"""Largest number of entries of an array that are stored; larger arrays are stored as their shape and three sums."""
_TIMES = {"seconds", "duration", "created", "time", "wall_s", "version", "path"}
"""Fields whose values differ from run to run."""


class Inputs(Arguments):
    """Valid arguments whose numbers depend on a seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder)
        if seed:
            rng = np.random.default_rng(seed)
            self._X = rng.normal(size=(N, 6)) + rng.permutation(np.arange(N) % 4)[:, None]
            self._Y = self._X[:, :5] @ rng.normal(size=(5, 5)) + rng.normal(size=(N, 5))


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in a result with its place."""
    if isinstance(value, bool | np.bool_ | str | bytes | Path | None.__class__):
        return
    if isinstance(value, int | float | np.integer | np.floating):
        yield place, float(value)
    elif isinstance(value, pd.DataFrame):
        yield from leaves(value.to_dict(orient="list"), place)
    elif isinstance(value, pd.Series):
        yield from leaves(value.to_numpy(), place)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if str(key) not in _TIMES:
                yield from leaves(one, f"{place}.{key}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if field.name not in _TIMES:
                yield from leaves(getattr(value, field.name), f"{place}.{field.name}")
        if isinstance(value, Number):
            for name in ("centred", "z", "adjusted", "percentile"):
                yield from leaves(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for i, one in enumerate(value):
            words = [getattr(one, word, None) for word in ("first", "second", "measure", "name")]
            name = " ".join(word for word in words if isinstance(word, str) and word) or i
            yield from leaves(one, f"{place}[{name}]")
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            return
        if array.size <= _LARGEST:
            yield from ((f"{place}[{i}]", float(one)) for i, one in enumerate(array.ravel()))
        else:
            weights = np.cos(np.arange(array.size))
            sums = {"sum": array.sum(), "squares": (array.astype(float) ** 2).sum(), "order": weights @ array.ravel()}
            yield from ((f"{place}.{name}", float(one)) for name, one in sums.items())


def numbers() -> dict[str, dict[str, str] | str]:
    """Call every function with every seed; return its numbers as hexadecimal texts, or the error that it raised."""
    found: dict[str, dict[str, str] | str] = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            inputs = Inputs(Path(folder), seed)
            for path, function in functions():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        chosen = inputs.of(path, function)
                        if "path" in chosen or "path" in inspect.signature(function).parameters:
                            chosen.setdefault("path", str(Path(folder) / "result.json"))
                        if "seed" in inspect.signature(function).parameters or function.__name__ == "shesha":
                            chosen.setdefault("seed", seed)
                        result = function(**chosen)
                    except Exception as error:
                        found[f"{path} {seed}"] = f"{type(error).__name__}"
                        continue
                found[f"{path} {seed}"] = {place: one.hex() for place, one in leaves(result)}
    return found


def is_same(old: str, new: str) -> bool:
    """Whether two numbers agree up to the tolerance."""
    a, b = float.fromhex(old), float.fromhex(new)
    return old == new or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def differences(before: Mapping[str, dict[str, str] | str], after: Mapping[str, dict[str, str] | str]) -> Iterator[str]:
    """Yield a line for each call or place that differs."""
    for call, old in before.items():
        new = after.get(call, "no such function")
        if isinstance(old, str) or isinstance(new, str):
            if old != new:
                kinds = [one if isinstance(one, str) else "numbers" for one in (old, new)]
                yield f"{call}: {' -> '.join(kinds)}"
            continue
        renamed = set(new.values())
        for place, one in old.items():
            if place in new:
                if not is_same(one, new[place]):
                    yield f"{call}{place}: {float.fromhex(one)!r} -> {float.fromhex(new[place])!r}"
            elif one not in renamed:
                yield f"{call}{place}: {float.fromhex(one)!r} -> missing"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in {"write", "check"}:
        raise SystemExit(__doc__)
    path = Path(sys.argv[2])
    if sys.argv[1] == "write":
        frozen = numbers()
        path.write_bytes(gzip.compress(json.dumps(frozen, sort_keys=True).encode(), mtime=0))
        known = [one for one in frozen.values() if not isinstance(one, str)]
        print(f"{len(known)} calls with {sum(map(len, known)):,} numbers, {len(frozen) - len(known)} that raise")
    else:
        lines = list(differences(json.loads(gzip.decompress(path.read_bytes())), numbers()))
        print("\n".join(lines) if lines else "no differences")
        sys.exit(bool(lines))
