"""The package of the papers' studies: what it imports, its version, and what the library does without it."""

import ast
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shesha
import shesha_studies
from shesha.cli._app import app
from shesha.studies import find, studies, study_lookup

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
        assert not [name for name in names if name.startswith("_")]


def test_no_file_outgrows_one_idea():
    assert not {path.name: n for path in FILES if (n := len(path.read_text(encoding="utf-8").splitlines())) > 310}


def test_the_package_has_the_version_of_the_library():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert project["version"] == shesha.__version__
    needed = [f"{shesha.DISTRIBUTION}[plot]", "shesha-bench"]
    assert project["dependencies"] == [f"{name}=={shesha.__version__}" for name in needed]


def test_the_library_holds_no_study_and_no_published_number():
    library = Path(shesha.__file__).parent
    assert not [path for path in (library / "studies").rglob("*") if path.suffix in {".csv", ".toml"}]
    assert all(one.cell.__module__.split(".")[0] == "shesha_studies" for one in studies())


@pytest.fixture
def library_alone(monkeypatch):
    """The library where no package of studies is installed."""
    cached = (study_lookup.packages, study_lookup.studies)
    monkeypatch.setattr(study_lookup, "entry_points", lambda group: ())
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()


@pytest.mark.usefixtures("library_alone")
def test_without_the_package_one_line_says_how_to_get_it():
    listed = CliRunner().invoke(app, ["study", "list"])
    assert (listed.exit_code, listed.output.splitlines()) == (0, [study_lookup.NOT_INSTALLED])
    with pytest.raises(ValueError, match=r"got 'width'; .*pip install shesha-studies"):
        find("width")


def test_every_entry_point_of_the_package_is_found():
    assert shesha_studies in study_lookup.packages()
    assert len(studies()) > 40
