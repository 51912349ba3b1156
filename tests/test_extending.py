"""docs/extending.md keeps its word: its listings are added from outside, and to the package by its diffs, and used."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import shesha

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
SOURCE = Path(shesha.__file__).parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
MODULES = dict(
    re.match(r"# (mypackage/\w+\.py)\n(.*)", text, re.DOTALL).groups() for kind, text in BLOCKS if kind == "python"
)
DIFFS = [text for kind, text in BLOCKS if kind == "diff"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with two representations and labels, in files of the library's and of one's own kind."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    y = np.arange(30) % 3
    X = np.round(rng.standard_normal((30, 6)) + 2 * np.eye(3, 6)[y], 3)
    X[::5, 2] = 0
    Y = X + 0.5 * rng.standard_normal(X.shape)
    np.save(folder / "X.npy", X)
    np.save(folder / "Y.npy", Y)
    np.savetxt(folder / "rows.blank", X)
    np.savetxt(folder / "labels.txt", y, fmt="%d")
    return folder


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder with the page's package, installed as far as Python can tell."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (named,) = (text for kind, text in BLOCKS if kind == "toml")
    points = re.sub(r'\[project\.entry-points\."(.+)"\]', r"[\1]", named).replace('"', "")
    info = folder / "mypackage-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(points)
    return folder


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """A folder with a copy of the library to which every diff of the page was applied."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(SOURCE, folder / "shesha", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (folder / "shesha" / "data").symlink_to(SOURCE / "data")
    for diff in DIFFS:
        new, changed = re.findall(r"^\+\+\+ src/(\S+)$", diff, re.MULTILINE)
        assert not (folder / new).exists()
        (folder / new).write_text(MODULES[f"mypackage/{Path(new).name}"])
        path = folder / changed
        path.write_text(applied(path.read_text(), diff.split(f"+++ src/{changed}\n")[1]))
    return folder


def applied(text, hunks):
    """Insert each added line behind the line that the diff shows above it."""
    lines, at = text.split("\n"), -1
    for line in hunks.rstrip("\n").split("\n"):
        if line.startswith(" "):
            at = lines.index(line[1:], at + 1)
        else:
            assert line.startswith("+")
            at += 1
            lines.insert(at, line[1:])
    return "\n".join(lines)


# Runs programs one after the other, since imports take longer than what they do.
_LOOP = """
import contextlib, io, json, os, sys, traceback
from shesha.cli import main
for line in sys.stdin:
    folder, code, sys.argv[1:] = json.loads(line)
    os.chdir(folder)
    out, err = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {"__name__": "__main__"})
        except SystemExit as ended:
            err = str(ended.code or "")
        except BaseException:
            err = traceback.format_exc()
    print(json.dumps([out.getvalue(), err]), flush=True)
"""


@pytest.fixture(scope="module")
def run(outside):
    """Run code within a folder, in a process in which the modules of the page come first."""
    paths = [str(outside), str(SOURCE.parent), os.environ.get("PYTHONPATH", "")]
    loop = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _LOOP],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run_code(folder, code, *arguments):
        loop.stdin.write(json.dumps([str(folder), code, list(map(str, arguments))]) + "\n")
        loop.stdin.flush()
        out, err = json.loads(loop.stdout.readline())
        assert err == "", out + err
        return out

    yield run_code
    loop.communicate()


@pytest.fixture(scope="module")
def command(run):
    return lambda folder, *arguments: run(folder, "from shesha.cli import main; main()", *arguments)


def test_no_diff_touches_more_than_two_files():
    assert len(DIFFS) == 5
    for diff in DIFFS:
        files = re.findall(r"^\+\+\+ src/(shesha/\S+)$", diff, re.MULTILINE)
        assert len(files) == 2 and (SOURCE.parent / files[1]).is_file()
        text = (SOURCE.parent / files[1]).read_text(encoding="utf-8")
        assert applied(text, diff.split(f"+++ src/{files[1]}\n")[1]).count("\n") > text.count("\n")


@pytest.mark.skipif(find_spec("ruff") is None, reason="ruff is not installed")
def test_the_library_with_every_diff_passes_lint_and_format(inside):
    for check in (("check",), ("format", "--check")):
        settings = ("--no-cache", "--config", PAGE.parents[1] / "pyproject.toml")
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *settings, inside / "shesha"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout


def test_a_measure_is_listed_and_compared(command, data):
    assert "column agreement: Mean correlation of corresponding columns." in command(
        data, "measures", "column-agreement"
    )
    out = command(data, "compare", "X.npy", "Y.npy", "--measures", "column agreement,CKA")
    X, Y = np.load(data / "X.npy"), np.load(data / "Y.npy")
    expected = np.mean([np.corrcoef(X[:, j], Y[:, j])[0, 1] for j in range(6)])
    assert re.search(rf"column agreement +{expected:.3f}", out)


def test_a_score_has_interval_chance_and_a_place_in_every_audit(run, command, data):
    code = """
import numpy as np, shesha
X, y = np.load("X.npy"), np.loadtxt("labels.txt")
found = shesha.estimate(X, y, "nearest_mean", seed=0)
assert found.low < found.value < found.high and found.p_value < 0.01
print(found.value)
"""
    X, y = np.load(data / "X.npy"), np.loadtxt(data / "labels.txt").astype(int)
    means = [X[y == one].mean(axis=0) for one in range(3)]
    nearest = [np.argmin([np.linalg.norm(row - mean) for mean in means]) for row in X]
    expected = np.mean(nearest == y)
    assert float(run(data, code)) == pytest.approx(expected)
    report = command(data, "audit", "X.npy", "--labels", "labels.txt", "--full", "--bootstrap", 5, "--permutations", 19)
    told = " ".join(report.split())
    assert f" {expected:.3f} [" in report
    assert "Nearest class mean: share of the rows whose nearest class mean is that of their own class" in told
    assert command(data, "scores", "nearest class mean").startswith("nearest_mean: Nearest class mean. ")


def test_a_descriptor_has_a_place_in_every_audit(command, data):
    report = command(data, "audit", "X.npy", "--full", "--bootstrap", 0, "--permutations", 19)
    share = (np.load(data / "X.npy") == 0).mean()
    assert f" {share:.3f}\n" in report
    assert "Zeros: share of the entries that are zero" in " ".join(report.split())
    assert command(data, "scores", "Zeros").startswith("zeros: Zeros. Share of the entries that are zero.")


def test_a_format_is_read_by_every_command(command, data):
    found = [
        command(data, "audit", file, "--full", "--bootstrap", 0, "--permutations", 19).replace("rows  ", "X  ")
        for file in ("rows.blank", "X.npy")
    ]
    scores = [re.findall(r"-?\d+\.\d+", text) for text in found]
    assert scores[0] == scores[1] and len(scores[0]) > 5


def test_a_command_is_one_of_the_programs(command, data):
    assert command(data, "shapes", "X.npy") == "X: 30 rows x 6 features\n"
    assert "Print the shape of each representation of a file." in command(data, "shapes", "--help")
    assert "shapes" in command(data, "--help")


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_data_set_a_network_and_a_test_are_run_by_the_benchmark(run, command, tmp_path):
    suite, store = "mypackage.bench:mysuite", ("--store", "own.sqlite")
    chosen = ("--test", "mypackage.bench:mytest", "--measure", "CKA", "--measure", "mypackage.columns:column_agreement")
    command(tmp_path, "bench", "run", suite, *chosen, *store, "--workers", 1)
    code = f"""
from shesha_bench import results, suite
from shesha_bench.tests import find
find("mypackage.bench:mytest")
found = results("own.sqlite", suite("{suite}"))
print(*sorted(set(found["measure"])), sep="|")
print(*set(found["dataset"]), *set(found["test"]), found["value"].notna().all())
"""
    assert run(tmp_path, code).splitlines() == [
        "CKA|column agreement",
        "mypackage.bench:mydata sureness True",
    ]


BROKEN = "three = 3\n\n\ndef measures():\n    pass\n"


def test_what_cannot_be_loaded_is_told_and_stops_nothing(tmp_path, data):
    (tmp_path / "broken.py").write_text(BROKEN)
    info = tmp_path / "broken-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[shesha.marks]\ngone = nowhere_to_be_found\n"
        "[shesha.commands]\nbad = broken:three\nmeasures = broken:measures\ngone = broken:gone\n"
    )
    code = "from shesha.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "scores", "anisotropy"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(SOURCE.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0 and ended.stdout.startswith("anisotropy: Anisotropy.")
    assert (
        "shesha: module gone of nowhere_to_be_found could not be loaded and is left out (ModuleNotFoundError"
        in ended.stderr
    )
    assert "shesha: command gone of broken:gone could not be loaded and is left out (AttributeError" in ended.stderr
    assert "shesha: command measures was not added: the name is in use" in ended.stderr
    assert "shesha: command bad was not added: TypeError: 3 is not a callable object" in ended.stderr
