"""Versions change with everything that can change a stored number."""

import importlib
import linecache
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import shesha
import shesha.measures as measures
from shesha.measures import code_version
from shesha.runs import code_versions, version_of_code

SOURCE = Path(shesha.__file__).parent


@pytest.fixture
def version_after(tmp_path):
    """Copy the sources of the library, add a line to a file, and return the version then."""

    def edit(name):
        place = tmp_path / "edited"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        with (place / name).open("a") as stream:
            stream.write("\n")
        code_versions._library_version.cache_clear()
        return code_versions._library_version(place)

    return edit


COUNTED = ("kernels/ranks.py", "kernels/native/ranks.c", "views/rdm.py", "nulls/dependence.py", "stability/estimate.py")


@pytest.mark.parametrize("name", [*COUNTED, "report/text.py", "cli/audit.py", "results/audit.py"])
def test_every_source_counts_except_presentation(version_after, name):
    assert (version_after(name) != code_versions._library_version(SOURCE)) == (name in COUNTED)


def test_another_process_finds_the_same_version():
    program = "from shesha.measures import get, code_version; print(code_version(get('CKA')))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert found == code_version(measures.get("CKA"))
    assert len(found) == 12 and int(found, 16) >= 0


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a module of one's own, and return its function `f`, imported anew."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        (tmp_path / "own_code.py").write_text(textwrap.dedent(text))
        sys.modules.pop("own_code", None)
        linecache.clearcache()
        importlib.invalidate_caches()
        return importlib.import_module("own_code").f

    yield write
    sys.modules.pop("own_code", None)


def test_own_code_counts_as_it_is_written(own):
    text = "FACTOR = 2\n\ndef f(X, Y):\n    return FACTOR\n"
    version = version_of_code(own(text))
    assert version == version_of_code(own(text)) != version_of_code()
    assert version_of_code(own(text.replace("FACTOR = 2", "FACTOR = 3"))) != version


def test_code_without_source_counts_as_it_is_compiled():
    def made(text):
        space = {"__name__": "nowhere"}
        exec(text, space)
        return space["f"]

    one = version_of_code(made("def f(X, Y):\n    return 1.0\n"))
    assert one == version_of_code(made("# A remark.\ndef f(X, Y):\n\n    return 1.0\n"))
    assert one != version_of_code(made("def f(X, Y):\n    return 2.0\n"))
    inner = "def f(X, Y):\n    return (lambda: {})()\n"
    assert version_of_code(made(inner.format(1))) != version_of_code(made(inner.format(2)))
    assert version_of_code(made("class f:\n    def g(self):\n        return 1\n")) != version_of_code(
        made("class f:\n    def g(self):\n        return 2\n")
    )
