"""Ways to run the program: within this process, and as users do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from typer.testing import CliRunner

from shesha.cli import main
from shesha.cli._app import app


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    status: int
    out: str
    err: str


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def invoke() -> Callable[..., Ended]:
    """Invoke the application; whatever is no exit is an error of the test."""

    def run(*args: object) -> Ended:
        result = CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)
        return Ended(result.exit_code, _plain(result.stdout), _plain(result.stderr))

    return run


@pytest.fixture
def invoke_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Call what the console script calls, within this process."""

    def run(*args: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["shesha", *map(str, args)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return Ended(stopped.value.code, _plain(out), _plain(err))

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Ended]:
    """Run the console script that stands beside the interpreter."""
    script = shutil.which("shesha", path=str(Path(sys.executable).parent))
    assert script is not None

    def run(*args: object) -> Ended:
        ended = subprocess.run([script, *map(str, args)], cwd=tmp_path, capture_output=True, text=True, check=False)
        return Ended(ended.returncode, _plain(ended.stdout), _plain(ended.stderr))

    return run


@pytest.fixture
def strict_json() -> Callable[[str], Any]:
    """Parse JSON as the standard has it, without NaN."""

    def refuse(token: str) -> NoReturn:
        raise AssertionError(f"{token} is not JSON")

    return lambda text: json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="session")
def X() -> np.ndarray:
    draw = np.random.default_rng(2)
    return draw.standard_normal((60, 4)) @ draw.standard_normal((4, 12)) + 0.5 * draw.standard_normal((60, 12))


@pytest.fixture(scope="session")
def kinds() -> np.ndarray:
    return np.array(["x", "yy", "z"])[np.arange(60) % 3]
