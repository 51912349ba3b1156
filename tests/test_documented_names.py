"""Every dotted name in the documentation is an attribute after `import shesha` alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]
_NAME = re.compile(r"`(shesha\.(?:drift|bio|neuro|steering|coherence|descriptors|extract)(?:\.[a-z_]\w*)+)`?")
_RESOLVE = "import sys, functools, shesha; functools.reduce(getattr, sys.argv[1].split('.')[1:], shesha)"
PAGES = [DOCS / "README.md", *(DOCS / "docs").glob("*.md")]
NAMES = sorted({name for page in PAGES for name in _NAME.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("name", [*NAMES, "shesha.drift.perturb", "shesha.drift.callbacks"])
def test_a_documented_name_is_an_attribute(name):
    done = subprocess.run([sys.executable, "-c", _RESOLVE, name], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]


def test_every_namespace_of_the_reference_is_an_attribute_and_tab_offers_nothing_else():
    import shesha

    page = (DOCS / "docs" / "_site" / "generated.py").read_text(encoding="utf-8")
    spaces = re.findall(r'^    "shesha\.(\w+)": ', page, re.MULTILINE)
    assert set(spaces) <= set(shesha.__all__)
    assert [name for name in dir(shesha) if not name.startswith("__")] == sorted(shesha.__all__)
