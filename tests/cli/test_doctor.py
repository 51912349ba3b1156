"""What an installation is made of, and what is noticed of other packages in its place."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shesha
from shesha.cli.doctor import EXTRAS
from shesha.support import conflicting_distributions

SOURCE = Path(shesha.__file__).parent


def test_one_screen_tells_what_is_there(invoke, monkeypatch, tmp_path):
    (tmp_path / "cora").mkdir()
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    monkeypatch.setenv("SHESHA_MEMORY", "2G")
    ended = invoke("doctor")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.split("\n")
    assert len(lines) <= 30
    for text in (f"{shesha.DISTRIBUTION} {shesha.__version__}", str(SOURCE), "2.0 GiB (SHESHA_MEMORY=2G)", "cora"):
        assert text in ended.out
    assert lines[-2] == "nothing is wrong"


def test_the_files_of_another_package_are_told(invoke, monkeypatch):
    monkeypatch.setattr("shesha.support.conflicting_distributions.other_distributions", lambda: ["shesha-geometry"])
    ended = invoke("doctor")
    assert ended.status == 1
    assert "! files of shesha-geometry are in the same folder: run pip uninstall shesha-geometry" in ended.out


def test_every_extra_is_told_and_every_library_of_it():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    assert project["name"] == shesha.DISTRIBUTION
    extras = {
        name: {re.split("[>=]", one)[0] for one in needs} for name, needs in project["optional-dependencies"].items()
    }
    assert set(EXTRAS) == set(extras) - {"all"}
    told = set()
    for name, libraries in EXTRAS.items():
        told |= set(libraries)
        assert set(libraries) <= extras[name]
        assert {one for one in extras[name] if "[" not in one} <= told


@pytest.fixture
def place(tmp_path):
    """A copy of what is looked at, into which another package is installed."""
    folder = tmp_path / "shesha"
    for room in ("cli", "support"):
        (folder / room).mkdir(parents=True)
    for name in (
        "__init__.py",
        "_version.py",
        "support/__init__.py",
        "support/lazy.py",
        "support/conflicting_distributions.py",
        "support/provenance.py",
        "support/warnings.py",
        "cli/__init__.py",
    ):
        (folder / name).write_text((SOURCE / name).read_text())
    return folder


def run(place, code):
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=place.parent, env={}, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_another_package_laid_over_the_library_is_told(place):
    (place / "__init__.py").write_text("__version__ = '0.3.0'\n")
    (place / "_rdm.py").touch()
    told = "has overwritten files of shesha-representations"
    status, text = run(place, "from shesha.cli import main; main()")
    assert status == 2
    assert "another package " + told in text
    assert "pip uninstall shesha-geometry shesha-representations" in text
    assert "Traceback" not in text
    status, text = run(place, "import shesha.support.warnings")
    assert status == 1
    assert f"ImportError: shesha-geometry {told}" in text


def test_what_another_package_left_behind_is_warned_of(place):
    assert run(place, "import shesha") == (0, "")
    (place / "_rdm.py").touch()
    status, text = run(place, "import shesha")
    assert status == 0
    assert "UserWarning: files of shesha-geometry are mixed with those of shesha-representations" in text


def test_nothing_else_is_in_our_place():
    assert conflicting_distributions.other_distributions() == []
    assert not conflicting_distributions.overwritten()
    assert not any((SOURCE / name).exists() for name in conflicting_distributions.FOREIGN)
