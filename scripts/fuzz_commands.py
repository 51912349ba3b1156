"""Run commands with hostile names, values and files, and report tracebacks, hangs, and text that could fool a terminal.

    python scripts/fuzz_commands.py --minutes 10 --seed 0
    python scripts/fuzz_commands.py --case 12

Each run is a good command (`COMMANDS`) in which one or two words are replaced, removed or added, in its own folder.
It must end with a status that is documented, or with an error of the library, and must print no control characters.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _foreign_folders import make_models
from fuzz_calls import Late, judged, limit
from fuzz_stores import make_submissions

import shesha.cli
from shesha.cli._app import app
from shesha.drift import DriftMonitor

NAME = "x\x1b[2J\r\nFAKE: all is well\u202e"
"""A name that clears the screen, begins a line of its own, and reverses the rest of a line."""
FAST = "--bootstrap 0 --permutations 19"
COMMANDS = (
    *(f"audit a.npy {FAST}", f"audit layers.npz {FAST} --json out.json", f"audit rows.csv --labels kind {FAST}"),
    f"audit a.npy --labels rows.csv:kind {FAST} --html out.html --card card.md",
    *("compare a.npy b.npy --measures CKA,RSA", "compare data --measures CKA --store s.sqlite"),
    *("compare a.npy b.npy --measures CKA --calibrate --permutations 19", "layers layers.npz layers.npz --measure CKA"),
    *("diff layers.npz layers.npz --json out.json", "drift a.npy b.npy", "index a.npy b.npy", "rank a.npy b.npy a.npy"),
    *("consensus layers.npz", "measures CKA", "scores feature_split", "cite CKA", "doctor"),
    *(
        "monitor init a.npy --out new --nulls nulls.npy --about revision=1",
        "monitor check watch b.npy --about revision=1",
    ),
    *("monitor update watch b.npy --json out.json", "monitor history watch", "monitor acknowledge watch"),
    *("bench leaderboard submissions --out out.md", "study list"),
)
OF_MODELS = (
    f"audit --model models/bert --texts texts.txt {FAST}",
    "extract models/bert --texts rows.csv:text --out out.safetensors",
    "compare --model models/bert --model models/bert --texts texts.txt --measures CKA",
)
VALUES = (
    *(NAME, f"rows.csv:{NAME}", f"{NAME}.npy", f"{NAME}.npz", f"{NAME}=1", f"revision={NAME}", f"--{NAME}"),
    *(
        "",
        "-",
        "--",
        "-1",
        "0",
        "1",
        "2",
        "0.5",
        "1e999",
        "nan",
        "9" * 30,
        "None",
        "\udcff",
        "a" * 5000,
        "a,,b",
        "*",
        "[a",
    ),
    *("/dev/zero", "/dev/full", "pipe", "pipe.npy", "pipe.csv", "pipe.parquet", "pipe.txt", "nothing.npy", "nowhere/a"),
    *("data", "a.npy", "b.npy", "nulls.npy", "layers.npz", "rows.csv", "rows.csv:kind", "rows.csv:text", "hostile.csv"),
    *(
        "texts.txt",
        "wide.txt",
        "broken.txt",
        "broken.csv",
        "broken.parquet",
        "empty.npy",
        "submissions",
        "watch",
        "models",
    ),
    *(
        "s.sqlite",
        "rows.csv:",
        ":kind",
        "CKA",
        "cosine",
        "all",
        "RSA(method=x)",
        "cka(",
        "out.json",
        "out.png",
        "deep.toml",
    ),
)
NOT_TRIED = {"workers", "scheduler", "port", "host", "help"}
"""Options that start processes, or wait for other computers."""
OUTPUTS = {"--json", "--html", "--card", "--plot", "--explore", "--out"}
STATUSES = {0, 1, 2, 130}
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|^FAKE", re.MULTILINE)


def make(folder: Path, with_models: bool) -> None:
    """Write good files, and files with hostile names and contents."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    Y = X[:, :4] + rng.standard_normal((40, 4))
    (folder / "data").mkdir()
    for place, rows in (("a", X), ("b", X + 0.1 * Y[:, :1]), ("data/c", X), ("data/d", Y), (NAME, X)):
        np.save(folder / f"{place}.npy", rows)
    np.save(folder / "nulls.npy", X + 0.01 * rng.standard_normal((19, 40, 6)))
    np.savez(folder / "layers.npz", one=X, two=Y)
    np.savez(folder / f"{NAME}.npz", **{NAME: X, f"b{NAME}": Y})
    for file, name in (("rows", "{}"), ("hostile", f"{{}}{NAME}")):
        head = ",".join(f'"{name.format(column)}"' for column in ("id", "kind", "text", "u", "v", "w"))
        lines = [
            f'"{name.format(i)}","{name.format("xyz"[i % 3])}","word {i}",{i},{i * i % 7},0.{i}' for i in range(40)
        ]
        (folder / f"{file}.csv").write_text("\n".join([head, *lines]), newline="")
    (folder / "texts.txt").write_text("\n".join(["a b", "b"] * 20))
    (folder / "wide.txt").write_bytes("a\nb\n".encode("utf-16"))
    (folder / "broken.txt").write_bytes(b"a\nb\xff\n")
    for ending in ("csv", "parquet"):
        (folder / f"broken.{ending}").write_bytes(b'PAR1"\xff\x00,\n' * 9)
    (folder / "empty.npy").touch()
    (folder / "deep.toml").write_text(f"a = {'[' * 5000}")
    (folder / "submissions").mkdir()
    make_submissions(folder / "submissions")
    DriftMonitor(X, nulls=list(np.load(folder / "nulls.npy")), false_alarm=0.05).save(folder / "watch", keep_rows=True)
    if with_models:
        (folder / "models").mkdir()
        make_models(folder / "models")


def options_of(words: list[str]) -> list[str]:
    """Return the options of a command."""
    import typer

    found: Any = typer.main.get_command(app)
    for word in words:
        if word not in getattr(found, "commands", {}):
            break
        found = found.commands[word]
    return [name for one in found.params if one.name not in NOT_TRIED for name in one.opts if name.startswith("--")]


def words_of(case: str, rng: np.random.Generator) -> list[str]:
    """Return the words of a command, with one or two of them replaced, removed or added."""
    words = case.split()
    first = 2 if words[0] in ("monitor", "bench", "study") else 1
    for _ in range(int(rng.choice([1, 1, 2]))):
        value, how = VALUES[int(rng.integers(len(VALUES)))], rng.random()
        place = int(rng.integers(first, max(first + 1, len(words))))
        if how < 0.5:
            words[place : place + 1] = [value]
        elif how < 0.55:
            del words[place : place + 1]
        elif how < 0.6:
            words.insert(place, value)
        else:
            names = options_of(words[:first]) or [value]
            words += [names[int(rng.integers(len(names)))], value]
    # A report that is written to a pipe waits for its reader.
    to_pipe = {place for place, word in enumerate(words) if word.startswith("pipe") and words[place - 1] in OUTPUTS}
    return [word for place, word in enumerate(words) if place not in to_pipe]


def outcome(words: list[str]) -> tuple[str, str]:
    """Run a command, and classify its end and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("surrogateescape", "backslashreplace"))
    sys.argv = ["shesha", *words]
    signal.setitimer(signal.ITIMER_VIRTUAL, 30)
    signal.setitimer(signal.ITIMER_REAL, 120)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            shesha.cli.main()
        word, where = "result", ""
    except Late:
        word, where = "LATE", ""
    except SystemExit as stop:
        word, where = ("result" if stop.code in STATUSES or stop.code is None else "STATUS"), f"{stop.code}"
    except BaseException as error:
        word, where = judged(error)
        # Commands name options and files, and need no other form; errors of the system name the file.
        word = "refused" if word == "FORM" or (isinstance(error, OSError) and error.filename) else word
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    out.flush(), err.flush()
    said = (out.buffer.getvalue() + err.buffer.getvalue()).decode("utf-8", "replace")
    if word in ("result", "refused") and (found := SEEN.search(said)):
        return "CONTROL", repr(said[max(0, found.start() - 60) : found.end() + 40])
    return word, where


@contextlib.contextmanager
def copied(good: Path, place: Path) -> Iterator[None]:
    """Work in a copy of the folder, with pipes and a link to nothing."""
    before, environment = Path.cwd(), dict(os.environ)
    shutil.copytree(good, place)
    for name in ("pipe", "pipe.npy", "pipe.csv", "pipe.parquet", "pipe.txt"):
        os.mkfifo(place / name)
    (place / "nothing.npy").symlink_to(place / "target.npy")
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        shutil.rmtree(place)


def run(numbers: range, minutes: float, seed: int, with_models: bool) -> Counter[str]:
    """Run commands for a given processor time, print each kind of fault once, and count the outcomes."""
    tally, seen = Counter[str](), set[str]()
    commands = [*COMMANDS, *(OF_MODELS if with_models else ())]
    os.environ |= {"SHESHA_DEBUG": "1", "SHESHA_QUIET": "1", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        (place / "good").mkdir()
        make(place / "good", with_models)
        until = time.process_time() + 60 * minutes
        for number in numbers:
            if time.process_time() > until:
                break
            rng = np.random.default_rng([seed, number])
            words = words_of(commands[int(rng.integers(len(commands)))], rng)
            with copied(place / "good", place / "here"):
                word, where = outcome(words)
            tally[word] += 1
            kind = f"{word} {words[0]} {':'.join(where.split(':')[:3])}"
            if word not in ("result", "refused") and kind not in seen:
                seen.add(kind)
                print(f"--seed {seed} --case {number}: {word} {words!r:.300}\n    {where}", flush=True)
    return tally


def main() -> int:
    """Run hostile commands, or repeat one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor time")
    parser.add_argument("--cases", type=int, default=1 << 31, help="run so many commands at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this command only")
    parser.add_argument("--no-models", action="store_true", help="leave out commands that load a model")
    asked = parser.parse_args()
    limit()
    signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGVTALRM))
    numbers = range(asked.cases) if asked.case is None else range(asked.case, asked.case + 1)
    tally = run(numbers, asked.minutes, asked.seed, not asked.no_models)
    print(", ".join(f"{count:,} {word}" for word, count in tally.most_common()))
    return 1 if set(tally) - {"result", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main())
