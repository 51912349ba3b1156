"""The fixture `canary`: it writes a reference, passes while nothing changed, and says what changed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from shesha.drift import DriftMonitor

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how_to" / "canary_in_pytest.md"
PLUGIN = ("-p", "shesha.pytest_plugin", "-p", "no:cacheprovider")
MODEL = """
import numpy as np

class load:
    def encode(self, texts):
        return np.load({!r})
"""
TEST = """
import numpy as np
from shesha.inputs import NamedRows

X = np.load({rows!r})
rng = np.random.default_rng({seed})

def encode():
    return {encoding}

def test_encoder(canary):
    canary("reference.npz", encode{options})
"""


@pytest.fixture
def project(pytester, rng):
    """Run pytest on a project of one test, whose encoder is given as an expression of its rows X."""
    rows = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 8)) + 0.5 * rng.standard_normal((40, 8))
    np.save(pytester.path / "rows.npy", rows)

    def run(encoding, *arguments, options="", seed=0):
        text = TEST.format(rows=str(pytester.path / "rows.npy"), encoding=encoding, options=options, seed=seed)
        pytester.makepyfile(test_encoder=text)
        return pytester.runpytest_inprocess(*PLUGIN, *arguments)

    return run


def test_the_entry_point_names_the_module():
    with (ROOT / "pyproject.toml").open("rb") as file:
        found = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert found == {"shesha.pytest_plugin": "shesha.pytest_plugin"}


def test_the_plugin_costs_a_run_of_pytest_nothing():
    code = "import sys, shesha.pytest_plugin; print('numpy' in sys.modules, 'shesha.drift' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False False\n"


def test_a_reference_is_written_once_and_then_compared_with(project, pytester):
    missing = project("X")
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(
        ["*canary: the reference reference.npz does not exist", "*pytest --canary-update test_encoder.py::test_encoder"]
    )
    written = project("X", "--canary-update")
    written.assert_outcomes(passed=1)
    written.stdout.fnmatch_lines(["*= canaries =*", "wrote reference.npz (40 rows, 19 re-encodings)*commit the file"])
    project("X").assert_outcomes(passed=1)
    assert DriftMonitor.load(pytester.path / "reference.npz").n_rows == 40


def test_a_failure_says_what_drifted_by_how_much_and_where(project):
    named = "NamedRows({}, ['row-' + 'abcd'[i % 4] + str(i) for i in range(40)])"
    project(named.format("X"), "--canary-update")
    changed = "np.vstack([X[:7], 40 * rng.standard_normal((12, 8)), X[19:]])"
    failed = project(named.format(changed))
    failed.assert_outcomes(failed=1)
    text = failed.stdout.str()
    assert "canary: the encodings drifted from reference.npz: RDM drift 0." in text
    assert "(tolerance 0.001; unchanged encodings reach 0)" in text
    named_first = text.split("rows that moved most: ")[1].splitlines()[0].split(", ")
    assert {int(name[5:]) for name in named_first} <= set(range(7, 19))
    assert "What to do: " in text
    assert "If the change was intended, run\n  pytest --canary-update test_encoder.py::test_encoder" in text
    # The library's own frames say nothing to whoever broke an encoder.
    assert "pytest_plugin.py" not in text


def test_the_example_of_the_page_runs(pytester, rng):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "canaries.txt").write_text("\n".join(f"text {i}" for i in range(50)))
    np.save(pytester.path / "rows.npy", rng.standard_normal((50, 8)))
    pytester.makepyfile(mymodel=MODEL.format(str(pytester.path / "rows.npy")), test_encoder=code)
    pytester.syspathinsert()
    written = pytester.runpytest_inprocess(*PLUGIN, "--canary-update")
    (printed,) = re.findall(r"^wrote reference.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert printed in written.stdout.str()
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


def test_an_encoder_that_varies_fails_only_beyond_its_own_re_encodings(project):
    noisy = "X + 0.1 * rng.standard_normal(X.shape)"
    project(noisy, "--canary-update")
    project(noisy, seed=1).assert_outcomes(passed=1)
    failed = project("X + 0.3 * rng.standard_normal(X.shape)", seed=2)
    failed.assert_outcomes(failed=1)
    assert "with 19 re-encodings" in " ".join(failed.stdout.str().split())
    # The same small drift fails where the encoder repeats itself.
    project("X", "--canary-update")
    project(noisy, seed=1).assert_outcomes(failed=1)


def test_rounding_of_another_precision_is_within_the_tolerance(project):
    project("X", "--canary-update")
    project("X.astype(np.float16)").assert_outcomes(passed=1)
    project("X + 1e-1 * rng.standard_normal(X.shape)").assert_outcomes(failed=1)


def test_a_tolerance_turns_a_failure_into_a_note(project):
    options = ", tolerance=0.3"
    project("X", "--canary-update", options=options)
    watched = project("X + 0.1 * rng.standard_normal(X.shape)", options=options)
    watched.assert_outcomes(passed=1)
    watched.stdout.fnmatch_lines(["*passed, but with a sign of drift: RDM drift*"])


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("X[:30]", "*current must be the 40 rows of the reference encoded again, got 30 rows*"),
        ("np.where(X > 2, np.nan, X)", "*the encodings cannot be compared with reference.npz: current has NaN*"),
    ],
)
def test_what_cannot_be_compared_fails_with_its_reason(project, encoding, told):
    project("X", "--canary-update")
    failed = project(encoding)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines([told])


def test_a_file_of_another_kind_is_not_replaced(project, pytester):
    np.savez(pytester.path / "reference.npz", mine=np.arange(3.0))
    for arguments in ([], ["--canary-update"]):
        failed = project("X", *arguments)
        failed.assert_outcomes(failed=1)
        failed.stdout.fnmatch_lines(["*must be a monitor that was saved as one file, got another file*"])
    with np.load(pytester.path / "reference.npz") as kept:
        assert list(kept) == ["mine"]
