"""The package of the benchmark: what it imports, its version, and what the library does without it."""

import ast
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import shesha
import shesha.benchmark
import shesha_bench
from shesha.cli.package_commands import PACKAGES, add_package_commands

FOLDER = Path(shesha_bench.__path__[0])
ROOT = Path(__file__).parents[2]


def test_the_package_imports_public_names_of_the_library():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            for parts in (module.split(".") for module in modules):
                assert parts[0] != "shesha" or not any(
                    part.startswith("_") and part != "__version__" for part in parts
                ), path


def test_the_package_has_the_version_of_the_library():
    project = tomllib.loads((ROOT / "packages" / "shesha-bench" / "pyproject.toml").read_text())["project"]
    assert project["version"] == shesha.__version__
    assert project["dependencies"] == [f"{shesha.DISTRIBUTION}=={shesha.__version__}"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"shesha-bench=={shesha.__version__}" in extras["bench"]


def test_the_former_name_leads_to_the_package(monkeypatch):
    assert shesha.benchmark.published is shesha_bench.published
    assert dir(shesha.benchmark) == sorted(shesha_bench.__all__)
    monkeypatch.setitem(sys.modules, "shesha_bench", None)
    with pytest.raises(ImportError, match=r"separate package: pip install \"shesha-representations\[bench\]\""):
        _ = shesha.benchmark.rank


@pytest.mark.parametrize("words", [[], ["run", "small", "--workers", "2"], ["--help"]])
def test_without_a_package_its_command_says_in_one_line_what_to_install(monkeypatch, words):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    app = typer.Typer()
    add_package_commands(app)
    app.command("other")(lambda: None)
    for name in PACKAGES:
        ended = CliRunner().invoke(app, [name, *words])
        assert ended.exit_code == 1
        assert str(ended.exception) == (
            f'`shesha {name}` is in a separate package: pip install "{shesha.DISTRIBUTION}[{name}]"'
        )


def test_a_package_that_cannot_be_loaded_stops_no_other_command(monkeypatch):
    broken = EntryPoint("bench", "shesha_bench.no_such_module:bench", "shesha.commands")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: [broken] if asked["name"] == "bench" else [])
    app = typer.Typer()
    add_package_commands(app)
    app.command("other")(lambda: None)
    assert CliRunner().invoke(app, ["other"]).exit_code == 0
    message = str(CliRunner().invoke(app, ["bench", "run"]).exception)
    assert message.startswith("`shesha bench` could not be loaded (No module named 'shesha_bench.no_such_module')")


def test_with_a_package_its_commands_are_there():
    app = typer.Typer()
    add_package_commands(app)
    assert "leaderboard" in typer.main.get_group(app).commands["bench"].commands
