"""The order of the modules, the public names and the cost of importing, as docs/design.md states them."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import shesha
import shesha.core

SOURCE = Path(shesha.__file__).parent
ORDER = [
    {"_version"},
    {"support"},
    {"inputs"},
    {"charts", "report"},
    {"results"},
    {"kernels", "io", "data"},
    {"extract", "runs"},
    {"nulls"},
    {"views"},
    {"moments"},
    {"doubting"},
    {"measures", "stability", "descriptors"},
    {"calibration"},
    {"comparison"},
    {"auditing", "coherence", "ranking"},
    {"bio", "neuro", "steering", "drift"},
    {"changes", "citations"},
    {"benchmark", "transfer"},
    {"cli", "pytest_plugin"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
NAMESPACES = {"__init__", "core", "sim"}
EXTRAS = {"anndata", "distributed", "h5py", "jinja2", "matplotlib", "prometheus_client", "pyarrow", "ripser"}
EXTRAS |= {"polars", "xarray", "safetensors", "statsmodels", "timm", "torch", "torch_geometric", "transformers", "zarr"}
EXTRAS |= {"pynapple", "rsatoolbox", "gensim", "h5netcdf", "netCDF4", "mudata", "loompy", "pynwb"}
DOCUMENTED = [
    "shesha",
    "feature_split",
    "sample_split",
    "anchor_stability",
    "variance_ratio",
    "supervised_alignment",
    "class_separation_ratio",
    "lda_stability",
    "rdm_similarity",
    "rdm_drift",
    "compute_rdm",
]


def part_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Parts of the package that a file imports, at any depth; relative imports are not used."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            modules = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "shesha" else [node.module]
            )
        found |= {module.split(".")[1] for module in modules if module and module.startswith("shesha.")}
    return found


def files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if part_of(path) not in NAMESPACES)


def test_nothing_imports_rightward_or_sideways() -> None:
    for path in files():
        own = part_of(path)
        for other in imports_of(path) - {own}:
            assert RANK[other] < RANK[own], f"{path.relative_to(SOURCE)} imports {other}"


def test_inner_modules_do_not_import_the_package_root() -> None:
    for path in files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "shesha":
                assert {alias.name for alias in node.names} <= set(RANK), path


def outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef):
            yield node
            yield from outside_functions(node)


def test_files_do_not_import_each_other_in_circles() -> None:
    """Imports for types count; those inside functions, such as the pages of results, do not."""
    paths = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in files()}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in outside_functions(tree) if isinstance(node, ast.ImportFrom) and node.module]
        named = [(node.module, alias.name) for node in imports for alias in node.names]
        places = [(f"{package}.{name}", package, f"{package}.__init__") for package, name in named]
        found = {next((place for place in possible if place in paths), "") for possible in places}
        graph[module] = found - {module, ""}
    TopologicalSorter(graph).prepare()


def test_public_names_are_those_listed() -> None:
    assert [name for name in dir(shesha) if not name.startswith("__")] == shesha.__all__
    assert shesha.__all__ == sorted(shesha.__all__)


@pytest.mark.parametrize("package", ["shesha", "shesha_bench", "shesha.results"])
def test_names_that_come_later_are_those_that_readers_see(package: str) -> None:
    """What stands under TYPE_CHECKING is what the package gives when it is asked."""
    own = import_module(package)
    assert own.__file__
    tree = ast.parse(Path(own.__file__).read_text(encoding="utf-8"))
    (seen,) = [node.body for node in tree.body if isinstance(node, ast.If)]
    shown = {}
    for node in seen:
        if isinstance(node, ast.ImportFrom):
            shown |= {alias.name: getattr(import_module(str(node.module)), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            shown |= {str(alias.asname): import_module(alias.name) for alias in node.names}
    assert set(shown) == set(own.__all__)
    for name, value in shown.items():
        assert getattr(own, name) is value
        assert name in dir(own)


def test_no_module_hides_a_function_of_its_name() -> None:
    """A function that is imported when it is first used would give way to a module that was imported before."""
    for path in SOURCE.rglob("__init__.py"):
        later = [node for part in ast.parse(path.read_text()).body if isinstance(part, ast.If) for node in part.body]
        package = ".".join(path.parent.relative_to(SOURCE.parent).parts)
        imports = [node for node in later if isinstance(node, ast.ImportFrom) and node.module != package]
        names = {alias.name for node in imports for alias in node.names}
        assert not names & {inside.stem for inside in path.parent.iterdir()}, path


def test_importing_the_package_imports_next_to_nothing() -> None:
    code = "import shesha, sys; print(len([name for name in sys.modules if name.startswith('shesha')]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ended.stdout) <= 5


def test_every_public_name_is_there_and_no_other() -> None:
    for name in shesha.__all__:
        assert getattr(shesha, name) is not None
    with pytest.raises(AttributeError, match="module 'shesha' has no attribute 'colour'"):
        _ = shesha.colour  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_package() -> None:
    assert shesha.__version__ == version(shesha.DISTRIBUTION)


def test_measures_are_imported_when_they_are_asked_for() -> None:
    code = "import shesha, sys; before = 'shesha.measures' in sys.modules; shesha.sim.cka; print(before)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_documented_names_stand_in_both_documented_places() -> None:
    assert sorted(shesha.core.__all__) == sorted(DOCUMENTED)
    for name in DOCUMENTED:
        assert getattr(shesha, name) is getattr(shesha.core, name)


def test_importing_pulls_in_no_extra() -> None:
    code = "import shesha, sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not EXTRAS & set(loaded)
    # What only some calls need would triple the time that importing takes.
    assert not {"pandas", "scipy", "rich", "typer"} & set(loaded)


def test_functions_for_arrays_work_without_the_extras() -> None:
    """Importing torch alone takes seconds, and `compare` must work where it is not installed."""
    code = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
import shesha
X = np.random.default_rng(0).standard_normal((30, 4))
shesha.compare(X, X[:, ::-1])
shesha.calibrate(X, X, n_permutations=19)
shesha.consensus, shesha.rank_models, shesha.audit, shesha.diff, shesha.compare_layers
"""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code.format(names=sorted(EXTRAS))], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def test_every_function_of_the_library_has_a_seeded_example() -> None:
    functions = [getattr(shesha, name) for name in shesha.__all__ if callable(getattr(shesha, name)) and name.islower()]
    missing = [f.__name__ for f in functions if ">>>" not in (f.__doc__ or "")]
    assert not missing


def test_the_design_page_lists_the_rooms_in_their_order() -> None:
    page = (SOURCE.parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    rooms, order = re.findall(r"^```text\n(.*?)^```$", page.split("## The folders")[1], re.MULTILINE | re.DOTALL)[:2]
    listed = [set(line.split(", ")) for line in order.splitlines()]
    assert listed == ORDER[:-1]
    described = [
        name for line in rooms.splitlines() if not line.startswith(" ") for name in line.split("  ")[0].split(", ")
    ]
    assert {name.rstrip("/") for name in described} == RANK.keys() - {"__main__"} | NAMESPACES - {"__init__"}
    ranks = [RANK[name.rstrip("/")] for name in described if name not in NAMESPACES]
    assert ranks == sorted(ranks)


def test_the_files_that_pages_name_exist() -> None:
    pages = [*(SOURCE.parents[1] / "docs").glob("*.md"), SOURCE.parents[1] / "CONTRIBUTING.md"]
    root = SOURCE.parents[1]
    known = [str(path.relative_to(root)) for path in (*SOURCE.rglob("*.*"), *(root / "packages").rglob("*.py"))]
    for page in pages:
        for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.(?:py|c))`", page.read_text(encoding="utf-8")):
            there = (SOURCE.parents[1] / name).exists() or any(path.endswith("/" + name) for path in known)
            assert there, f"{page.name}: {name}"


def named_in_the_walks() -> list[str]:
    page = (SOURCE.parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    walks = page.split("### Three walks")[1].split("### ")[0]
    return [name for name in re.findall(r"`([\w.]+)`", walks) if "." in name]


def test_the_walks_pass_functions_that_exist_and_none_twice() -> None:
    names = named_in_the_walks()
    assert len(names) > 40
    assert sorted(set(names)) == sorted(names)
    for name in names:
        assert resolved(name) is not None, name


def resolved(name: str) -> object:
    parts = name.removeprefix("shesha.").split(".")
    parts = parts if parts[0].startswith("shesha_") else ["shesha", *parts]
    for cut in range(len(parts), 1, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        if found is not None:
            return found
    return getattr(shesha, name.removeprefix("shesha."), None)
