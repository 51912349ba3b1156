"""Every recorded calibration of the published study, on three inputs, with the recorded permutations."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shesha.measures as measures
from shesha import NotEstimableWarning, calibrate

FOLDER = Path(__file__).resolve().parents[1] / "reference"
ALPHA = 0.05
UNDEFINED = ("cca", "pwcca")
"""Identically 1 with fewer rows than columns: the recorded numbers are rounding, ours are NaN."""
MEASURES = {
    "cca": ("cca", {}),
    "cka_linear": ("cka", {}),
    "cka_rbf": ("cka", {"kernel": "rbf", "bandwidth": "published"}),
    "cka_unbiased": ("unbiased_cka", {}),
    "cknna": ("cknna", {"center": False, "include_self": True, "product": "trace"}),
    "cycle_knn": ("cycle_knn", {}),
    "mutual_knn": ("mutual_knn", {"metric": "dot"}),
    "procrustes": ("procrustes_similarity", {"published": True}),
    "pwcca": ("pwcca", {"weights": "l1"}),
    "rsa": ("rsa", {"metric": "euclidean"}),
    "rv_coefficient": ("rv", {}),
    "svcca": ("svcca", {"components": 10}),
}
FIELDS = {
    "observed": lambda found: found.value,
    "calibrated": lambda found: found.calibrated,
    "tau": lambda found: found.threshold,
    "pvalue": lambda found: found.p_value,
    "null_mean": lambda found: found.chance,
    "null_sd": lambda found: found.chance_sd,
    "z": lambda found: found.z,
    "tail_strength": lambda found: max(0.0, 1 - found.p_value / ALPHA),
}

with (FOLDER / "expected.json").open() as file:
    EXPECTED = json.load(file)
RECORDS = {
    kind: [record for record in EXPECTED["values"] if record["measure"].startswith(f"{kind}.")]
    for kind in ("calibrate", "calibrate_generic")
}


def recorded(kind):
    return pytest.mark.parametrize("record", RECORDS[kind], ids=lambda r: f"{r['measure'].split('.')[1]}-{r['case']}")


@cache
def arrays(case):
    return [np.load(FOLDER / case / f"{name}.npy") for name in ("X", "Y", "perms")]


def chosen(record):
    function, fixed = MEASURES[record["measure"].split(".")[1]]
    return function, fixed | record["parameters"]


def compare(record, found):
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    assert record["value"].keys() <= FIELDS.keys()
    assert {name: FIELDS[name](found) for name in record["value"]} == {
        name: pytest.approx(value, abs=tolerance * max(1, abs(value)), rel=0) for name, value in record["value"].items()
    }


@recorded("calibrate")
def test_recorded_calibration(record):
    X, Y, permutations = arrays(record["case"])
    function, options = chosen(record)
    if function in UNDEFINED and record["case"] == "few_rows_50":
        with pytest.warns(NotEstimableWarning, match="canonical correlations are all 1"):
            found = calibrate(X, Y, function, permutations=permutations, alpha=ALPHA, **options)
        assert np.isnan([found.value, found.calibrated, found.p_value, found.threshold, found.z]).all()
        return
    compare(record, calibrate(X, Y, function, permutations=permutations, alpha=ALPHA, **options))


@recorded("calibrate_generic")
def test_recorded_calibration_of_a_function(record):
    X, Y, permutations = arrays(record["case"])
    name, options = chosen(record)
    function = getattr(measures, name)
    found = calibrate(X, Y, lambda x, y: function(x, y, **options), permutations=permutations, alpha=ALPHA, maximum=1)
    compare(record, found)


def test_every_calibration_of_the_study_is_compared():
    assert {record["measure"].split(".")[1] for record in RECORDS["calibrate"]} == set(MEASURES)
    assert len(RECORDS["calibrate"]) == 3 * len(MEASURES)
    assert len(RECORDS["calibrate_generic"]) == 6
