"""Compiled inner products are those of NumPy, on every instruction set, and nothing depends on their being there."""

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import shesha
from shesha.kernels import condensed_matrices, native

BUILT = pytest.mark.skipif(not native.serves_grid(1, 1), reason="compiled kernels were not built, or are switched off")
ROOT = Path(native.__file__).parents[3]
GRIDS = [(1, 1), (1, 2), (2, 1), (3, 3), (1, 12), (12, 1), (3, 5), (7, 9), (13, 17), (12, 32), (33, 8)]
"""Of every height and width of a tile, and of some left over."""


@pytest.fixture
def levels(monkeypatch):
    """Choose an instruction set, if this processor has it."""
    library = native._library()

    class Chosen:
        def __init__(self, level):
            self.level = level

        def __getattr__(self, name):
            return getattr(library, name)

        def shesha_level(self):
            return self.level

    def choose(level):
        if level > library.shesha_level():
            pytest.skip(f"this processor has no {native._LEVELS[level]}")
        monkeypatch.setattr(native, "_library", lambda: Chosen(level))
        monkeypatch.setattr(native, "_SMALL", 10**6)

    return choose


def data(n, first, second, count=11):
    rng = np.random.default_rng([n, first, second])
    sides = [list(rng.standard_normal((layers, n * (n - 1) // 2))) for layers in (first, second)]
    return (*sides, n, [np.arange(n), *(rng.permutation(n) for _ in range(count - 1))])


def by_numpy(*case):
    return np.array(list(condensed_matrices._numpy_grids(*case)))


def compiled(*case):
    return np.array(list(condensed_matrices._native_grids(*case)))


def assert_same(found, expected, n):
    """Up to 1e-12 of the product of the norms, which is what an inner product's rounding is measured by."""
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * n * (n - 1) / 2)


@BUILT
@pytest.mark.parametrize("level", range(len(native._LEVELS)), ids=native._LEVELS)
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{grid[0]}x{grid[1]}")
def test_compiled_grids_are_those_of_numpy(levels, level, grid):
    levels(level)
    for n in (2, 3, 17, 66, 131):
        case = data(n, *grid)
        assert_same(compiled(*case), by_numpy(*case), n)


@BUILT
def test_large_grids_without_wide_registers_are_left_to_the_blas(levels, monkeypatch):
    levels(0)
    monkeypatch.setattr(native, "_SMALL", 16)
    assert native.serves_grid(4, 4) and not native.serves_grid(3, 6)


@BUILT
@pytest.mark.parametrize("name", ["CKA", "unbiased CKA", "RSA", "RDM drift", "DistCorr", "RV"])
def test_calibration_is_the_same_either_way(monkeypatch, name):
    X, Y = np.random.default_rng(2).standard_normal((2, 70, 90))
    taken = []
    whole = condensed_matrices._native_grids
    monkeypatch.setattr(condensed_matrices, "_native_grids", lambda *case: taken.append(case) or whole(*case))
    found = shesha.calibrate(X, Y, name, n_permutations=25, seed=0)
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    expected = shesha.calibrate(X, Y, name, n_permutations=25, seed=0)
    assert len(taken) == 1
    assert_allclose((found.value, *found.null), (expected.value, *expected.null), rtol=1e-12, atol=1e-14)
    assert found.p_value == expected.p_value


@BUILT
@pytest.mark.parametrize("grid", [(1, 1), (12, 12), (5, 33)], ids=str)
def test_threads_and_neighbouring_draws_change_no_bit(with_threads, grid):
    *sides, n, orders = data(90, *grid, count=19)
    one, two = (with_threads(count, lambda: compiled(*sides, n, orders)) for count in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(compiled(*sides, n, orders[::-1])[::-1], one)
    assert np.array_equal(compiled(*sides, n, orders[3:4])[0], one[3])


@BUILT
@pytest.mark.parametrize(
    "order",
    [np.zeros(9, int), np.arange(1, 10), np.arange(-1, 8), np.full(9, 10**12), np.arange(8), np.arange(10)],
    ids=["repeated", "too large", "negative", "far off", "short", "long"],
)
def test_what_is_no_permutation_never_reaches_compiled_code(order):
    first, second, n, _ = data(9, 1, 2)
    with pytest.raises(ValueError, match="each order must be a permutation of 0 to 8"):
        compiled(first, second, n, [order])


@BUILT
def test_triangles_of_another_size_never_reach_compiled_code():
    first, second, n, orders = data(9, 1, 2)
    for case in ([first[0][:-1]], second), (first, [second[0], second[1][1:]]):
        with pytest.raises(ValueError, match=r"must have 36 entries, got shape \(35,\)"):
            compiled(*case, n, orders)


def test_without_the_library_numpy_serves(monkeypatch):
    case = data(40, 2, 3)
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    monkeypatch.setattr(condensed_matrices, "_native_grids", lambda *_: pytest.fail("compiled code was called"))
    assert not native.serves_grid(1, 1)
    assert np.array_equal(np.array(list(condensed_matrices.permutation_grids(*case))), by_numpy(*case))


@pytest.mark.parametrize("content", [None, b"no library"], ids=["missing", "broken"])
def test_a_library_that_does_not_load_is_no_error(monkeypatch, tmp_path, content):
    if content is not None:
        (tmp_path / "libshesha.so").write_bytes(content)
    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "libshesha.so")
    assert native._library.__wrapped__() is None


@BUILT
def test_a_library_of_another_version_is_left_alone(monkeypatch):
    assert isinstance(native._library.__wrapped__(), ctypes.CDLL)
    monkeypatch.setattr(native, "_ABI", native._ABI + 1)
    assert native._library.__wrapped__() is None


@pytest.fixture
def hook():
    pytest.importorskip("hatchling", reason="hatchling builds the package, and need not be there afterwards")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    if not (ROOT / "hatch_build.py").exists() or spec is None or spec.loader is None:
        pytest.skip("not run from a source tree")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(hook, tmp_path, monkeypatch):
    """A small project that is built as this one is."""
    root = tmp_path / "tree"
    native_folder = root / "src/shesha/kernels/native"
    native_folder.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    package = root / "src/shesha"
    shutil.copy(ROOT / "src/shesha/_version.py", package)
    for folder in (package, native_folder.parent, native_folder):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (native_folder / "native.c").write_text(
        "#ifndef __AVX2__\nint shesha_abi(void) { return 7; }\n#endif\n", encoding="utf-8"
    )
    monkeypatch.delenv("SHESHA_NATIVE", raising=False)
    return root


def built(root):
    """Build the wheel; return its tag, the library in it, and which files the tree has gained."""
    from hatchling.builders.wheel import WheelBuilder

    def files():
        return {path.relative_to(root).as_posix() for path in root.rglob("*") if "__pycache__" not in path.parts}

    before = files()
    (path,) = WheelBuilder(str(root)).build(directory=str(root.parent / "wheels"), versions=["standard"])
    with zipfile.ZipFile(path) as wheel:
        library = wheel.read(INSIDE) if INSIDE in wheel.namelist() else None
        (record,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("WHEEL")]
    tag = Path(path).stem.split("-", 2)[2]
    assert f"Tag: {tag}" in record
    return tag, library, sorted(files() - before)


INSIDE = "shesha/kernels/native/libshesha.so"
COMPILER = pytest.mark.skipif(shutil.which("cc") is None or sys.platform == "win32", reason="there is no C compiler")


@COMPILER
@pytest.mark.parametrize("stale", [True, False])
def test_a_wheel_with_the_library_serves_every_python_of_the_platform(tree, tmp_path, stale):
    if stale:
        (tree / "src" / INSIDE).write_bytes(b"left by an editable install")
    tag, library, gained = built(tree)
    assert tag.startswith("py3-none-") and tag != "py3-none-any"
    assert sysconfig.get_platform().split("-")[0] in tag
    assert not gained
    (tmp_path / "libshesha.so").write_bytes(library)
    assert ctypes.CDLL(str(tmp_path / "libshesha.so")).shesha_abi() == 7


@pytest.mark.parametrize(("name", "value"), [("SHESHA_NATIVE", "0"), ("CC", "no-such-compiler"), ("CC", "gcc 'x")])
@pytest.mark.parametrize("stale", [True, False])
def test_a_wheel_without_the_library_serves_every_platform(tree, monkeypatch, name, value, stale):
    if stale:
        (tree / "src" / INSIDE).write_bytes(b"left by an editable install")
    monkeypatch.setenv(name, value)
    assert built(tree) == ("py3-none-any", None, [])


@COMPILER
def test_an_editable_install_puts_the_library_beside_its_sources(hook, tree, monkeypatch):
    def install():
        made = hook.CustomBuildHook(str(tree), {}, None, None, "", "wheel")
        data = {"force_include": {}}
        made.initialize("editable", data)
        made.finalize("editable", data, "")
        assert data == {"force_include": {}}

    install()
    assert ctypes.CDLL(str(tree / "src" / INSIDE)).shesha_abi() == 7
    assert sorted(path.name for path in (tree / "src" / INSIDE).parent.iterdir()) == [
        "__init__.py",
        "libshesha.so",
        "native.c",
    ]
    monkeypatch.setenv("SHESHA_NATIVE", "0")
    install()
    assert not (tree / "src" / INSIDE).exists()


@COMPILER
@pytest.mark.parametrize("source", sorted(Path(native.__file__).parent.glob("*.c")), ids=lambda path: path.name)
def test_the_source_compiles_without_a_warning(source):
    options = ["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run(["cc", *options, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
