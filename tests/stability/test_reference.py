"""Every recorded value of the public stability functions, on three inputs."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shesha

FOLDER = Path(__file__).resolve().parents[1] / "reference"
FUNCTIONS = (
    "anchor_profile_stability",
    "anchor_stability",
    "class_separation_ratio",
    "compute_rdm",
    "feature_split",
    "lda_stability",
    "rdm_drift",
    "rdm_similarity",
    "replicate_stability",
    "sample_split",
    "shesha",
    "supervised_alignment",
    "variance_ratio",
)
OTHER_TYPES = {"n_bootstrap_ci", "return_all_splits", "return_type", "target_mc_se"}
"""Options of the public package that change what a function returns: here `estimate` does their work."""


def load():
    with (FOLDER / "expected.json").open() as file:
        return json.load(file)


EXPECTED = load()
RECORDED = [record for record in EXPECTED["values"] if record["measure"].startswith("shesha.")]
# Names of two parts are stability functions; `shesha.sim.*` are similarity measures.
STABILITY = [record for record in RECORDED if record["measure"].count(".") == 1]
TAKEN = [record for record in STABILITY if not OTHER_TYPES & set(record["parameters"])]
WITH_VALUE = [record for record in TAKEN if "reference_failed" not in record]
WITHOUT_VALUE = [record for record in TAKEN if "reference_failed" in record]


def named(record):
    options = "-".join(f"{name}={value}" for name, value in record["parameters"].items() if name != "anchor_ids")
    return f"{record['measure']}-{record['case']}-{'+'.join(record['inputs'])}-{options}"


@cache
def array(case, name):
    return np.load(FOLDER / case / f"{name}.npy")


def call(record):
    function = getattr(shesha, record["measure"].split(".")[1])
    return function(*(array(record["case"], name) for name in record["inputs"]), **record["parameters"])


def summary(vector):
    ends = (*vector[:3], *vector[-3:])
    return [len(vector), vector.sum(), (vector**2).sum(), vector.min(), vector.max(), *ends, np.isnan(vector).sum()]


def test_no_record_is_left_out():
    assert len(STABILITY) == 189
    assert len(WITH_VALUE) + len(WITHOUT_VALUE) == len(TAKEN) == 150
    assert {record["measure"].split(".")[1] for record in TAKEN} == set(FUNCTIONS)
    assert all(isinstance(record["value"], dict) for record in STABILITY if record not in TAKEN)


@pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")
@pytest.mark.parametrize("record", WITH_VALUE, ids=named)
def test_value_is_the_recorded_one(record):
    found = call(record)
    assert isinstance(found, float) != bool(record.get("summary_of_vector"))
    found = summary(found) if record.get("summary_of_vector") else [found]
    expected = np.atleast_1d(record["value"])
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    assert (np.abs(found - expected) <= tolerance * np.maximum(1, np.abs(expected))).all()


@pytest.mark.parametrize("record", WITHOUT_VALUE, ids=named)
def test_what_the_public_package_refuses_is_refused(record):
    assert record["reference_failed"] == "ValueError"
    with pytest.raises(ValueError, match=r"y must contain exactly 2 classes, got \d"):
        call(record)
