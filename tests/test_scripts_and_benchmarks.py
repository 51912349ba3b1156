"""Scripts and benchmarks, which no other test runs, use names that the library still has."""

import ast
import importlib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("scripts", "benchmarks", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]


def resolve(module, name):
    """Return an imported name, which is an attribute or a submodule."""
    imported = importlib.import_module(module)
    return getattr(imported, name) if hasattr(imported, name) else importlib.import_module(f"{module}.{name}")


def imported_objects(tree):
    """Return what a file imports from the library, by local name."""
    objects = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shesha") and not node.level:
            for alias in node.names:
                objects[alias.asname or alias.name] = resolve(node.module, alias.name)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "shesha":
                    whole = importlib.import_module(alias.name)
                    objects[alias.asname or "shesha"] = whole if alias.asname else importlib.import_module("shesha")
    return objects


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_name_of_the_library_exists_and_is_used_as_what_it_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    objects = imported_objects(tree)
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assigned |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        name = getattr(getattr(node, "value", None), "id", None) if isinstance(node, ast.Attribute) else None
        if name in objects and name not in assigned and isinstance(objects[name], types.ModuleType):
            assert hasattr(objects[name], node.attr), f"line {node.lineno}: {name}.{node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in assigned:
            assert not isinstance(objects.get(node.func.id), types.ModuleType), f"line {node.lineno}: calls a module"


def test_the_tests_that_mutations_run_exist(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    listed = importlib.import_module("_mutant_runs").FURTHER_TESTS
    assert [name for names in listed.values() for name in names if not (ROOT / name).exists()] == []
