"""Test runs for `mutate.py`, each in a fork of a process that has already loaded the libraries."""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

import pytest
from _probes import HITS, Recorder

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build", "site", "studies.egg-info")
# The package contains a pytest plugin, so assertion rewriting would recompile the whole package in every run.
OPTIONS = ["--assert=plain", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
FURTHER_TESTS = {
    "views": [
        *("tests/measures", "tests/stability", "tests/descriptors", "tests/comparison/test_covariates.py"),
        *("tests/comparison/test_sampled.py", "tests/neuro/test_inputs_as_people_have_them.py"),
    ],
    "io": ["tests/cli/test_exports_of_other_programs.py", "tests/cli/test_formats.py"],
    "nulls": ["tests/calibration/test_null_kernel.py"],
    "comparison": ["tests/moments/test_layer_moments.py", "tests/doubting/test_pairs.py"],
    "moments": ["tests/comparison/test_streamed.py"],
    "changes": ["tests/results/test_change_sentences.py"],
    "coherence": ["tests/bio/test_controls.py", "tests/bio/test_doors.py"],
    "neuro": ["tests/results/test_field_types.py"],
    "support": ["tests/runs", "tests/cli/test_terminal.py", "tests/test_atomic.py"],
    "kernels": [
        *("tests/measures/test_twins.py", "tests/test_devices.py", "tests/comparison/test_sampled.py"),
        *(f"tests/stability/test_{name}_twins.py" for name in ("drift", "geometry", "label", "split")),
        *("tests/comparison/test_unit_matching.py", "tests/descriptors"),
        *("tests/neuro/test_distances.py", "tests/neuro/test_split.py"),
    ],
    "measures": ["tests/comparison/test_held_out.py", "tests/comparison/test_sampled.py"],
    "results": [
        *(f"tests/auditing/test_{name}.py" for name in ("first_screen", "readings", "width", "audit_report")),
        *(f"tests/comparison/test_{name}.py" for name in ("printed", "embedding", "within")),
        *("tests/changes", "tests/drift/test_status_page.py", "tests/steering/test_page.py"),
        "tests/neuro/test_sessions.py",
    ],
    "charts": ["tests/test_plot.py", "tests/auditing/test_audit_plot.py"],
}
"""Tests of a room in other folders: for rooms without a folder of tests, for kernels that are tested with their
measures, and for texts and pictures of results that are tested with their functions."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test run."""

    verdict: Literal["survived", "killed", "timed out", "not judged"]
    seconds: dict[str, float]
    fixtures: dict[str, list[str]]
    failed: list[str]


def list_tests(root: Path, room: str) -> list[str]:
    """List the folders and files with the tests of a room, and the room itself, whose docstrings contain examples."""
    own = [f"tests/{room}"] if (root / "tests" / room).is_dir() else []
    own += FURTHER_TESTS.get(room, [])
    alone = root / "tests" / f"test_{room}.py"
    # Tests of all rooms are part of the tests of each room.
    listed = [str(alone.relative_to(root))] if alone.exists() else []
    return [*own, *listed, "tests/test_defaults.py", f"src/shesha/{room}"]


def list_files_of(root: Path, test: str) -> list[Path]:
    """List the files of a folder that contain tests or examples."""
    if test.endswith(".py"):
        return [root / test]
    pattern = "*.py" if test.startswith("src") else "test_*.py"
    return [file for file in sorted((root / test).rglob(pattern)) if pattern != "*.py" or b">>>" in file.read_bytes()]


def load_libraries(root: Path, tests: list[str]) -> None:
    """Import the external modules that test files use, so that test runs need not import them."""
    names = {
        "numpy",
        "scipy.stats",
        "scipy.spatial.distance",
        "pandas",
        "hypothesis.strategies",
        "hypothesis.extra.numpy",
    }
    names |= {point.module for point in entry_points(group="pytest11")}
    for path in (file for test in tests for file in list_files_of(root, test) if not test.startswith("src")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names.add(node.module)
    for name in sorted(names):
        local = (root / "tests").rglob(f"{name.split('.')[0]}.py")
        if name.split(".")[0] not in ("shesha", "shesha_bench", "shesha_studies", "conftest", "tests") and not any(
            local
        ):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def run_tests(
    copy: Path, tests: list[str], limit: float | None = None, notes: Path | None = None, most: float | None = None
) -> Outcome:
    """Run tests in a fork; no test starts after `most` seconds.

    The fork is killed after `limit` seconds of the processor, which other work on the machine does not shorten, or if
    it waits ten times as long.
    """
    out = copy.parent / f"{copy.name}.outcome"
    out.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit), round(limit) + 10))
        _run_and_exit(copy, tests, out, notes, most)
    status = _wait(child, None if limit is None else 10 * limit)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Outcome("timed out", {}, {}, [])
    if not out.exists():
        return Outcome("killed" if os.WIFSIGNALED(status) else "not judged", {}, {}, [_last_line(copy)])
    outcome = Outcome(**json.loads(out.read_text()))
    return replace(outcome, failed=[_last_line(copy)]) if outcome.verdict == "not judged" else outcome


def _last_line(copy: Path) -> str:
    return "".join(Path(f"{copy}.log").read_text(errors="replace").splitlines()[-1:])


def _wait(child: int, limit: float | None) -> int | None:
    """Return the exit status of the child; None if it exceeded the limit."""
    stop = time.monotonic() + (limit or float("inf"))
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > stop:
            return None
        time.sleep(0.02)
    return ended[1]


def _run_and_exit(copy: Path, tests: list[str], out: Path, notes: Path | None, most: float | None) -> None:
    """Run the tests in this process, and exit."""
    code = 1
    try:
        os.setsid()
        os.chdir(copy)
        log = os.open(f"{copy}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        paths = [
            str(copy / "src"),
            *(str(copy / "packages" / name / "src") for name in ("shesha-bench", "shesha-studies")),
        ]
        sys.path[:] = paths + [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
        sys.argv = ["pytest"]
        if notes:
            os.environ[HITS] = str(notes)
        recorder = Recorder(most)
        code = int(pytest.main([*OPTIONS, *tests], plugins=[recorder]))
        # Any other exit status, such as a missing test or an internal error of pytest, does not judge the mutation.
        stopped = code == int(pytest.ExitCode.INTERRUPTED) and not recorder.failed and most is not None
        verdict = "survived" if code == 0 or stopped else "killed" if recorder.failed else "not judged"
        kept = {"seconds": recorder.seconds, "fixtures": recorder.fixtures, "failed": recorder.failed}
        out.write_text(json.dumps({"verdict": verdict, **kept}))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
