"""The package of the papers' studies: what it imports, its version, and what the library does without it."""

import ast
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import shesha
import shesha_studies
from shesha.cli.package_commands import add_package_commands
from shesha_studies import studies
from shesha_studies.framework import study_lookup

FOLDER = Path(shesha_studies.__path__[0])
FILES = sorted(FOLDER.rglob("*.py"))
PROJECT = Path(__file__).parents[2] / "packages" / "shesha-studies" / "pyproject.toml"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_study_imports_public_names_of_the_library(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shesha":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names if alias.name.startswith("shesha.") for part in alias.name.split(".")]
        assert not [name for name in names if name.startswith("_") and not name.endswith("__")]


def test_the_package_has_the_version_of_the_library():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert project["version"] == shesha.__version__
    needed = [f"{shesha.DISTRIBUTION}[plot]", "shesha-bench"]
    assert project["dependencies"] == [f"{name}=={shesha.__version__}" for name in needed]


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    alone = typer.Typer()
    add_package_commands(alone)
    ended = CliRunner().invoke(alone, ["study", "list", "--out", "x"])
    assert str(ended.exception) == (
        f'`shesha study` is in a separate package: pip install "{shesha.DISTRIBUTION}[study]"'
    )


def test_every_entry_point_of_the_package_is_found():
    assert shesha_studies in study_lookup.packages()
    assert len(studies()) > 40
