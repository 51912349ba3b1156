"""Versions follow what computes, and nothing else."""

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
from shesha.auditing.stored_audits import FOLLOWED, list_audit_code
from shesha.comparison.resumable_pairs import calibrated_code
from shesha.measures import code_version
from shesha.runs import code_versions, version_of_code

SOURCE = Path(shesha.__file__).parent
NATIVE = SOURCE / "kernels" / "native"
NAMES = ("CKA", "RSA", "mutual kNN", "RTD", "MagDiff")
PROGRAM = f"""
from shesha.measures import get, code_version
print(*(code_version(get(name)) for name in {NAMES!r}))
"""


@pytest.fixture
def edited(tmp_path):
    """Copy the library, edit some of its files, and return the versions of some measures then."""

    def versions(edits, program=PROGRAM):
        place = tmp_path / "edited"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(SOURCE, place / "shesha", ignore=shutil.ignore_patterns("__pycache__"))
        for name, (old, new) in edits.items():
            text = (place / "shesha" / name).read_text()
            assert old in text, f"{old!r} is not in {name}"
            (place / "shesha" / name).write_text(text.replace(old, new, 1))
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(place)!r})\n{program}"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return dict(zip(NAMES, found, strict=True))

    return versions


def now():
    return {name: code_version(measures.get(name)) for name in NAMES}


def changed(before, after):
    return {name for name in NAMES if before[name] != after[name]}


COSMETIC = {
    "a comment": {
        "kernels/condensed_matrices.py": ("import numpy as np\n", "import numpy as np  # of arrays\n\n# Much more.\n")
    },
    "a docstring": {"views/gram.py": ('"""', '"""Said otherwise: ')},
    "formatting": {
        "measures/rdm.py": ("from __future__ import annotations\n", "from __future__ import (annotations)\n\n\n\n")
    },
    "what a card tells": {"measures/rdm.py": ('reference="', 'reference="As told by ')},
    "a comment in C": {"kernels/native/native.c": ("#include", "/* A comment */\n// and another\n#include")},
    "the version of the library": {"__init__.py": ('"""', '"""Another release. ')},
    "how measures are found": {"measures/lookup.py": ("def names(", "def other_names() -> None: ...\n\n\ndef names(")},
    "how work is spread": {"kernels/threads.py": ("def n_threads(", "EXTRA = 1\n\n\ndef n_threads(")},
}


@pytest.mark.parametrize("case", COSMETIC)
def test_what_computes_nothing_changes_no_version(edited, case):
    assert edited(COSMETIC[case]) == now()


CHANGES = {
    "a kernel of all inner products": (
        {"kernels/condensed_matrices.py": ("import numpy as np\n", "import numpy as np\n\nEXTRA = 1\n")},
        {"CKA"},
        set(),
    ),
    "a kernel of neighbours": (
        {"kernels/neighbours.py": ("import numpy as np\n", "import numpy as np\n\nEXTRA = 1\n")},
        {"mutual kNN", "RTD"},
        {"CKA", "MagDiff"},
    ),
    "a view": (
        {"views/rdm.py": ("import numpy as np\n", "import numpy as np\n\nEXTRA = 1\n")},
        {"RSA"},
        {"CKA"},
    ),
    "what every view is made of": (
        {"views/representation.py": ("ROUNDING * float(", "2 * ROUNDING * float(")},
        set(NAMES),
        set(),
    ),
    "a function": ({"measures/rdm.py": ("-> float:", "-> float:\n    print('hello')")}, {"RSA"}, {"CKA", "RTD"}),
    "an input check": (
        {"inputs/validation.py": ("import numpy as np\n", "import numpy as np\n\nEXTRA = 1\n")},
        set(NAMES),
        set(),
    ),
} | {
    f"compiled code in {path.name}": ({f"kernels/native/{path.name}": ("#", "#define EXTRA 1\n#")}, {"CKA"}, set())
    for path in sorted([*NATIVE.glob("*.c"), *NATIVE.glob("*.h")])
}


NOT_IN_STORES = {
    "shesha.descriptors.intrinsic_dimension",
    "shesha.kernels.condition_distances",
    "shesha.measures.expected_cost",
    "shesha.kernels.shapes",
    "shesha.kernels.threads",
    "shesha.neuro.time_by_time",
    "shesha.comparison.moment_scores",
    "shesha.stability.scores.feature_split",
    "shesha.stability.scores.rdm_drift",
    "shesha.views.registry",
}
"""Modules that no stored comparison or audit uses: trials, steering, ranked models, matched units, the dimension over
scale, scores that audits leave out, declarations."""


def test_every_file_of_the_numerical_rooms_counts_in_measures_or_audits():
    compared = [part for one in measures.choose("all") for part in (one.function, one.view)]
    counted = set().union(
        *(
            code_versions._closure(one.__module__, frozenset(FOLLOWED))
            for one in [*list_audit_code(), *calibrated_code(), *compared]
        )
    )
    modules = {
        ".".join(("shesha", *path.relative_to(SOURCE).with_suffix("").parts))
        for room in ("descriptors", "doubting", "kernels", "nulls", "stability", "views")
        for path in (SOURCE / room).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert modules - counted == NOT_IN_STORES


@pytest.mark.parametrize("case", CHANGES)
def test_what_computes_changes_the_versions_of_those_that_use_it(edited, case):
    edits, different, same = CHANGES[case]
    found = changed(now(), edited(edits))
    assert different <= found
    assert not same & found


def test_the_order_of_imports_does_not_matter(edited):
    first = "import shesha.measures.neighbours, shesha.kernels.neighbours, shesha.views\n"
    assert edited({}, first + PROGRAM) == edited({}, PROGRAM) == now()


def test_another_process_finds_the_same_versions():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    assert found == list(now().values())


@pytest.mark.parametrize("name", ["mutual kNN(k=3)", "mutual kNN(metric=euclidean)"])
def test_options_are_part_of_the_name_not_of_the_version(name):
    assert code_version(measures.get(name)) == code_version(measures.get("mutual kNN"))


def test_every_measure_has_a_version_of_its_family():
    found = {measure.name: code_version(measure) for measure in measures.choose("all")}
    assert all(len(version) == 12 and int(version, 16) >= 0 for version in found.values())
    assert found["CCA"] == found["SVCCA"]
    assert len({found[name] for name in NAMES}) == len(NAMES)


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


PLAIN = """
    import math
    import os

    FACTOR = 2

    def f(X, Y):
        "Say what it does."
        return FACTOR * math.sqrt(1)
"""


def test_own_code_counts_as_it_is_written(own):
    version = version_of_code(own(PLAIN))
    assert version == version_of_code(own(PLAIN))
    told = PLAIN.replace('"Say what it does."', '"""Say it otherwise."""  # at length\n')
    assert version_of_code(own(told)) == version
    assert version_of_code(own(PLAIN.replace("import math\n    import os", "import os\n    import math"))) == version
    assert version_of_code(own(PLAIN.replace("FACTOR = 2", "FACTOR = 3"))) != version
    assert version_of_code(own(PLAIN.replace("sqrt(1)", "sqrt(True)"))) != version


def test_own_code_counts_with_the_kernels_it_uses(own, edited):
    text = "from shesha.kernels.neighbours import *\n\ndef f(X, Y):\n    return 1.0\n"
    assert version_of_code(own(text)) != version_of_code(own(text.replace("neighbours", "condensed_matrices")))


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
