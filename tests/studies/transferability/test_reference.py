"""Every recorded value of the public transferability scores, on three inputs."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from shesha_studies import transferability as transfer

FOLDER = Path(__file__).resolve().parents[2] / "reference"
DEFINED = {
    "transfer.LogME:fixed": transfer.logme,
    "transfer.LEEP": transfer.leep,
    "transfer.NCE": transfer.nce,
    "transfer.HScore": transfer.h_score,
}
PUBLISHED = {"transfer.LogME": transfer.logme, "transfer.LogME:regression": transfer.logme_regression}
EXPLAINED = {"transfer.LogME:icml", "transfer.HScore:gs"}


def load():
    with (FOLDER / "expected.json").open() as file:
        return json.load(file)


EXPECTED = load()
RECORDED = [record for record in EXPECTED["values"] if record["measure"].startswith("transfer.")]


def records(names):
    return [pytest.param(r, id=f"{r['measure']}-{r['case']}") for r in RECORDED if r["measure"] in names]


@cache
def array(case, name):
    if name == "Y3":
        return array(case, "Y")[:, :3]
    return np.load(FOLDER / case / f"{name}.npy")


def inputs(record):
    return [array(record["case"], name) for name in record["inputs"]]


def close(record):
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    return pytest.approx(record["value"], abs=tolerance * max(1, abs(record["value"])))


def test_no_record_is_left_out():
    assert {record["measure"] for record in RECORDED} == {*DEFINED, *PUBLISHED, *EXPLAINED}
    assert len(RECORDED) == 24


@pytest.mark.parametrize("record", records(DEFINED))
def test_the_definition_gives_the_recorded_value(record):
    assert DEFINED[record["measure"]](*inputs(record)) == close(record)


@pytest.mark.parametrize("record", records(PUBLISHED))
def test_the_published_option_gives_the_recorded_value(record):
    assert PUBLISHED[record["measure"]](*inputs(record), published=True) == close(record)


@pytest.mark.parametrize("record", records(PUBLISHED))
def test_published_and_defined_evidence_differ_for_fewer_rows_than_features_only(record):
    found = PUBLISHED[record["measure"]](*inputs(record))
    assert (found == close(record)) == (record["case"] != "few_rows_50")


@pytest.mark.parametrize("record", records({"transfer.LogME:icml"}))
def test_a_looser_stop_never_finds_more_evidence(record):
    found = transfer.logme(*inputs(record))
    assert 0 < found - record["value"] < 0.004


@pytest.mark.parametrize("record", records({"transfer.HScore:gs"}))
def test_the_companion_code_divides_the_part_between_classes_by_n(record):
    n = len(inputs(record)[0])
    # Its absolute ridge shows where the total covariance is singular.
    assert transfer.h_score(*inputs(record)) * (n - 1) / n == pytest.approx(record["value"], abs=1e-5)
