"""`shesha measures`: the list, a card by any name, help with names that are none, and measures of other packages."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import shesha.measures as measures


def test_all_measures_are_listed_under_their_families(invoke):
    ended = invoke("measures")
    assert (ended.status, ended.err) == (0, "")
    family, listed = "", {}
    for line in ended.out.split("\n\n")[0].split("\n"):
        if line.startswith("    "):
            # What a measure means goes on below.
            assert listed[family]
        elif line.startswith("  "):
            name, direction = re.fullmatch(r"  (.+?) +(higher|lower) +is closer  \S.*", line).groups()
            assert direction == measures.get(name).closer
            listed[family].append(name)
        else:
            family = line
            assert family not in listed
            listed[family] = []
    assert list(listed) == measures.families()
    assert sorted(name for names in listed.values() for name in names) == sorted(measures.names())
    for family, names in listed.items():
        assert {measures.get(name).family for name in names} == {family}


@pytest.mark.parametrize("name", ["mutual kNN", "mutual_knn", "MUTUAL-KNN", "mutualknn"])
def test_a_card_is_found_by_any_name(invoke, name):
    ended = invoke("measures", name)
    assert (ended.status, ended.out, ended.err) == (0, f"{measures.card(measures.get('mutual kNN'))}\n", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("jacard", r"NAME must be one of the names that `shesha measures` lists, got 'jacard'; did you mean Jaccard\?"),
        ("xyzzy", r"NAME must be one of CCA, SVCCA, .*, got 'xyzzy'.*"),
    ],
)
def test_an_unknown_name_is_one_line_with_suggestions_and_status_2(invoke_main, name, message):
    ended = invoke_main("measures", name)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(f"shesha: {message}\n", ended.err)


OUTSIDE = '''
from shesha.measures import measure
from shesha.views import Features

@measure("first column", view=Features, closer="lower", bounds=(0, float("inf")), symmetric=True, invariant=(),
         family="outside", cost="n d", formula="|x_11 - y_11|", reference="none", self_value=0.0)
def first_column(a, b):
    """Difference between the first numbers."""
    return abs(a.rows[0, 0] * a.unit - b.rows[0, 0] * b.unit)
'''
BROKEN = {
    "missing": ("nowhere_to_be_found:nothing", None),
    "crashing": ("crashing_measure:nothing", "1 / 0\n"),
    "nameless": ("nameless_measure:nothing", "something = 1\n"),
    "taken": ("taken_name:other_column", OUTSIDE.replace('"first column"', '"CKA"').replace("first_", "other_")),
}


@pytest.fixture
def package(tmp_path):
    """An installed package, as far as Python can tell: modules, and what it offers."""
    (tmp_path / "first_measure.py").write_text(OUTSIDE)
    offers = {"first_column": "first_measure:first_column"}
    for name, (place, text) in BROKEN.items():
        offers[name] = place
        if text is not None:
            (tmp_path / f"{place.split(':')[0]}.py").write_text(text)
    info = tmp_path / "first_measure-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: first-measure\nVersion: 0.1\n")
    lines = [f"{name} = {place}" for name, place in offers.items()]
    (info / "entry_points.txt").write_text("\n".join(["[shesha.measures]", *lines, ""]))
    rng = np.random.default_rng(0)
    for name in ("X", "Y"):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((20, 4)))
    return tmp_path


@pytest.fixture
def run(package):
    def call(*args):
        ended = subprocess.run(
            [sys.executable, "-c", "from shesha.cli import main; main()", *args],
            env=os.environ | {"PYTHONPATH": str(package)},
            cwd=package,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended

    return call


def test_measures_of_other_packages_are_listed_and_broken_ones_told(run):
    ended = run("measures")
    assert "\noutside\n  first column " in ended.stdout
    for name, (place, _) in BROKEN.items():
        assert f"shesha: measure {name} of {place} could not be loaded and is left out (" in ended.stderr
    assert all(line.startswith("shesha: ") for line in ended.stderr.splitlines())
    assert "could not be loaded and is left out (ZeroDivisionError" in ended.stderr
    assert "name must differ from those of other measures, got 'CKA', which CKA has" in ended.stderr
    assert "measure first_column of" not in ended.stderr


def test_measures_of_other_packages_are_compared(run, package):
    out = run("compare", "X.npy", "Y.npy", "--measures", "outside,CKA", "--json", "-").stdout
    X, Y = (np.load(package / f"{name}.npy") for name in "XY")
    outside, cka = json.loads(out)["scores"]
    assert (outside["name"], outside["family"]) == ("first column", "outside")
    assert outside["value"] == pytest.approx(abs(X[0, 0] - Y[0, 0]))
    assert cka["value"] == measures.cka(X, Y)
