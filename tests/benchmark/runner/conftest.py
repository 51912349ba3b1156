"""A toy suite, and ways to run it: in this process, or in workers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shesha_bench import run_suite
from shesha_bench.suites import Suite, Task

from .toy_run import Inline, task

HERE = Path(__file__).parent
collect_ignore = ["toy_parts.py"]
"""Its suites name it by its place, where only the tests' path finds it."""


@pytest.fixture(scope="session")
def toy() -> Suite:
    """Six standard models, three per group, three whose layers are compared."""
    return Suite("toy", (task(),))


@pytest.fixture(scope="session")
def make_task() -> Callable[..., Task]:
    return task


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    """A monkeypatch for fixtures that several tests share; modules of this folder are importable by name."""
    pytest.importorskip("torch", reason="training writes checkpoints")
    with pytest.MonkeyPatch.context() as patching:
        patching.syspath_prepend(HERE)
        # What the environment holds is not the tests' business.
        for name in ("TOY_LOG", "TOY_CALLS", "TOY_FAULTS", "TOY_PAUSE", "TOY_SLEEP", "TOY_VICTIM"):
            patching.delenv(name, raising=False)
        yield patching


@pytest.fixture
def here(patch: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Work is done in this process, files lie in a fresh folder, which is returned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_suite, "_executor", lambda *_: Inline())
    return tmp_path


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Say what goes wrong with which models from now on."""
    return lambda some: monkeypatch.setenv("TOY_FAULTS", json.dumps(some))


@pytest.fixture(scope="session")
def script_environment() -> dict[str, str]:
    """The environment of a program that is to find the modules of this folder."""
    paths = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH", ""))))
    return {name: value for name, value in os.environ.items() if not name.startswith("TOY_")} | {"PYTHONPATH": paths}
