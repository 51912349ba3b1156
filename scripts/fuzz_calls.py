"""Call every public function with invalid arguments, and report errors of other libraries, hangs, and changed inputs.

    python scripts/fuzz_calls.py --calls 5000 --seed 0
    python scripts/fuzz_calls.py --minutes 10 --calls 1000000
    python scripts/fuzz_calls.py --only shesha.rsa --calls 200
    python scripts/fuzz_calls.py --case 1234

Each call is a good call (`_good_calls.py`) in which one or two arguments are replaced (`_hostile_values.py`). It must
return a result, or raise an error of the library that names the argument. Everything else is reported once per place in
the code. The report contains the number of the case, with which `--case` repeats the call.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import linecache
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _good_calls import Arguments, functions
from _hostile_values import LABELS, MATRICES, SCALARS, TABLES, pool

from shesha import NotEstimable

SECONDS = 30.0
"""Processor time allowed for a call, in seconds."""
ROOM = 3 << 30
"""Address space allowed in addition to that used by imports."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: its kind, the place in the code, and the arguments."""

    word: str
    where: str
    call: str

    @property
    def is_fault(self) -> bool:
        """Return whether the outcome is a fault of the library."""
        return self.word not in ("result", "refused")


class Late(BaseException):
    """Raised if a call exceeds its time; the library cannot catch it."""


def case(number: int, seed: int, good: Arguments, known: list[tuple[str, Callable[..., Any]]]) -> Outcome:
    """Make the call with a given number."""
    rng = np.random.default_rng([seed, number])
    path, function = known[int(rng.integers(len(known)))]
    arguments = good.of(path, function)
    told = []
    for _ in range(int(rng.choice([1, 1, 1, 2]))):
        name, label, value = _replacement(function, arguments, rng)
        arguments[name] = value
        told.append(f"{name}={label}")
    return outcome(path, function, arguments, ", ".join(told))


def _replacement(
    function: Callable[..., Any], arguments: dict[str, Any], rng: np.random.Generator
) -> tuple[str, str, Any]:
    """Choose an argument and an invalid value for it: usually of the same kind, sometimes of any kind."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.kind != one.VAR_KEYWORD]
    chosen = parameters[int(rng.integers(len(parameters)))]
    if rng.random() < 0.5 and arguments:
        chosen = parameters[int(rng.integers(min(2, len(parameters))))]
    good = arguments.get(chosen.name, chosen.default)
    if isinstance(good, dict | list) and good and rng.random() < 0.5:
        label, odd = _odd(next(iter(good.values())) if isinstance(good, dict) else good[0], rng)
        if isinstance(good, dict):
            return chosen.name, f"one of {label}", {**good, next(iter(good)): odd}
        return chosen.name, f"one of {label}", [odd, *good[1:]]
    return chosen.name, *_odd(good, rng)


def _odd(good: Any, rng: np.random.Generator) -> tuple[str, Any]:
    values = pool(good)
    if rng.random() < 0.25:
        values = (SCALARS, LABELS, MATRICES)[int(rng.integers(3))]
    label = list(values)[int(rng.integers(len(values)))]
    stand_in = np.arange(48) % 2 if values is LABELS else np.random.default_rng(5).normal(size=(48, 6))
    fits = isinstance(good, np.ndarray) and (good.ndim == 1 if values is LABELS else good.ndim > 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return label, values[label](good if fits or values is SCALARS or values is TABLES else stand_in)
    except Exception:
        # Not every fault can be made of every value, such as a date of few bytes.
        return "None", None


def outcome(path: str, function: Callable[..., Any], arguments: dict[str, Any], told: str) -> Outcome:
    """Call a function with a time limit, and classify the outcome."""
    before = {name: _content(value) for name, value in arguments.items()}
    call = f"{path}({told})"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            found = function(**arguments)
            word, where = "result", ""
        except Late as error:
            word, where = "LATE", _place(error.__traceback__)
        except BaseException as error:
            word, where = judged(error)
            if isinstance(error, NotEstimable) and "NotEstimable" in (function.__doc__ or ""):
                word = "refused"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    changed = [name for name, value in arguments.items() if _content(value) != before[name] and name != "adata"]
    raw = [one for one in caught if issubclass(one.category, RuntimeWarning)]
    if changed:
        return Outcome("CHANGED", f"{path}: {', '.join(changed)}", call)
    if word == "result" and raw:
        return Outcome("WARNING", f"{_short(raw[0].filename)}:{raw[0].lineno}: {raw[0].message}", call)
    if word == "result" and isinstance(found, float) and np.isnan(found) and not caught:
        return Outcome("SILENT NaN", path, call)
    return Outcome(word, where, call)


def judged(error: BaseException) -> tuple[str, str]:
    """Distinguish an error that the library raises itself, with a message on the expected value, from any other."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    where = f"{_place(error.__traceback__)}: {type(error).__name__}: {str(error)[:160]}"
    own = _is_own(last.filename) and last.lineno in _raised(last.filename)
    if (isinstance(error, ImportError) and own) or (isinstance(error, FileNotFoundError) and error.filename):
        return "refused", where
    if not own or not isinstance(error, ValueError | TypeError | MemoryError | OSError | KeyError):
        return "FAULT", where
    return ("refused" if " must " in str(error) or not isinstance(error, ValueError | TypeError) else "FORM"), where


def _is_own(file: str) -> bool:
    """Return whether a file belongs to one of our packages."""
    return bool({"shesha", "shesha_bench", "shesha_studies"} & set(Path(file).parts))


@cache
def _raised(file: str) -> frozenset[int]:
    """Return the lines of a file at which errors are raised."""
    tree = ast.parse("".join(linecache.getlines(file)))
    spans = (range(node.lineno, (node.end_lineno or 0) + 1) for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return frozenset(line for span in spans for line in span)


def _place(trace: TracebackType | None) -> str:
    """Return the last line of the library in the traceback of an error."""
    own = [frame for frame in traceback.extract_tb(trace) if _is_own(frame.filename)]
    return f"{_short(own[-1].filename)}:{own[-1].lineno}" if own else "outside"


def _short(file: str) -> str:
    return file.rpartition("/shesha/")[2] if "/shesha/" in file else file.rpartition("/site-packages/")[2]


def _content(value: Any) -> Any:
    """Return the values that a call must not change."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        return np.ma.getdata(value).tobytes()
    if isinstance(value, dict):
        return [(str(key), _content(entry)) for key, entry in value.items()]
    if isinstance(value, list | tuple):
        return [_content(entry) for entry in value]
    if hasattr(value, "iloc"):
        return repr((list(value.index), np.asarray(value, dtype=object).tolist())) if len(value) < 100 else None
    return None


def available(good: Arguments, only: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions that can be called here; some need an extra that may be missing."""
    for path, function in functions():
        if path.startswith(only):
            with contextlib.suppress(ImportError):
                good.of(path, function)
                yield path, function


def run(calls: range, seed: int, only: str, minutes: float = math.inf) -> Counter[str]:
    """Make calls for a given processor time, print each kind of fault once, and count the calls by outcome."""
    from matplotlib import pyplot

    tally: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        good = Arguments(Path(place))
        known = list(available(good, only))
        for number in calls:
            if time.process_time() > 60 * minutes:
                break
            found = case(number, seed, good, known)
            pyplot.close("all")
            tally[found.word] += 1
            if found.is_fault:
                kind = found.word + ":".join(found.where.split(":")[:3])
                seen[kind] += 1
                if seen[kind] == 1:
                    print(f"--seed {seed} --case {number}: {found.word} {found.call}\n    {found.where}", flush=True)
    return tally


def sound(only: str = "") -> list[str]:
    """Return the good calls that do not return a result, whose arguments must be corrected."""
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        good = Arguments(Path(place))
        for path, function in functions():
            if path.startswith(only):
                try:
                    found = outcome(path, function, good.of(path, function), "")
                except Exception as error:
                    found = Outcome("UNKNOWN", f"no good values: {error!r}", path)
                if found.word != "result":
                    wrong.append(f"{found.word} {found.call} {found.where}")
    return wrong


def _end(*_: Any) -> None:
    raise Late


def limit() -> None:
    """Limit the time and memory of this process."""
    import matplotlib

    matplotlib.use("Agg")
    signal.signal(signal.SIGVTALRM, _end)
    used = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmSize" in line)
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + ROOM, used * 1024 + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Make calls with invalid arguments, or repeat one call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor time")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="functions whose path starts so")
    parser.add_argument("--case", type=int, help="make this call only, with its traceback")
    parser.add_argument("--sound", action="store_true", help="make the good calls only")
    chosen = parser.parse_args()
    limit()
    if chosen.sound:
        print("\n".join(sound(chosen.only)) or "all good calls end in a result")
        return 0
    if chosen.case is not None:
        calls = range(chosen.case, chosen.case + 1)
    else:
        calls = range(chosen.first, chosen.first + chosen.calls)
    tally = run(calls, chosen.seed, chosen.only, chosen.minutes)
    print(", ".join(f"{count:,} {word}" for word, count in tally.most_common()))
    return 1 if set(tally) - {"result", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main())
