"""What is returned prints its number with its uncertainty, converts to plain values and tables, and never changes."""

import json
import math
from dataclasses import fields, replace

import pytest

import shesha
from shesha.results import Audit, DriftPath, Estimate, Faults, LabelClasses, RepresentationAudit
from shesha.results.base import Result

NAN = float("nan")
ESTIMATE = Estimate(
    name="feature_split",
    value=0.81234,
    low=0.70004,
    high=0.90006,
    confidence=0.9,
    standard_error=0.05,
    monte_carlo_error=0.0123,
    pair_error=0.00047,
    n_rows=12_000,
    n_features=64,
    n_partitions=30,
    n_resamples=200,
    n_pairs=1_000_000,
    pairs_dropped=0,
    seed=7,
    options={"metric": "cosine"},
)
CHANCE = replace(
    ESTIMATE,
    chance=0.01234,
    chance_sd=0.04321,
    threshold=0.05678,
    p_value=0.00498,
    calibrated=0.80104,
    best=1.0,
    n_draws=200,
    exchanged="all rows",
    null=(0.25, -0.125),
)
DRIFT = DriftPath(("day 1", "day 20"), (0.0, 0.25), (0.0, 0.125), "spearman", "cosine")
FAULTS = Faults(2, (4, 9), (), tuple(range(7)), (1000,))
ONE = RepresentationAudit(
    "late",
    60,
    12,
    FAULTS,
    {"feature_split": CHANCE, "basis_averaged_split": ESTIMATE},
    {"effective_rank": 5.0, "participation_ratio": 4.0, "corrected_participation_ratio": 4.2, "anisotropy": 0.5},
    {"variance_ratio": ESTIMATE},
)
RESULTS = [ESTIMATE, CHANCE, DRIFT, FAULTS, ONE, Audit((ONE, replace(ONE, name="b")), DRIFT, "", {"seed": 7})]

everything = pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)


def test_tables_are_narrow_unless_every_field_is_requested():
    narrow = ["name", "value", "low", "high", "chance", "p_value", "verdict"]
    assert list(CHANCE.to_frame().columns) == narrow
    assert list(ESTIMATE.to_frame().columns) == ["name", "value", "low", "high", "verdict"]
    assert {"threshold", "calibrated", "n_partitions"} <= set(CHANCE.to_frame(full=True).columns)


@everything
def test_plain_values_are_json_and_a_copy(result):
    plain = result.to_dict()
    if type(result).to_dict is Result.to_dict:
        assert list(plain) == [*(field.name for field in fields(result) if field.name != "inputs"), *result.aliases]
    text = json.dumps(plain, allow_nan=False)
    assert json.dumps(result.to_dict()) == text
    for value in plain.values():
        if isinstance(value, dict):
            value.clear()
    assert json.dumps(result.to_dict()) == text


def test_the_ranking_leaves_out_what_has_no_score_and_keeps_the_order_of_ties():
    scores = {"low": 0.1, "none": None, "tie": 0.5, "nan": NAN, "other tie": 0.5, "negative": -0.25, "high": 0.75}
    found = tuple(
        replace(ONE, name=name, scores={} if score is None else {"feature_split": replace(ESTIMATE, value=score)})
        for name, score in scores.items()
    )
    assert Audit(found).ranking == ("high", "tie", "other tie", "low", "negative")
    assert math.isnan(Audit(found)["nan"].feature_split.value)


def test_a_file_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "deep.json"
    for depth in (2_000, 200_000):
        path.write_text('{"format": 1, "result": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(ValueError, match="path must be valid JSON, got too many nested levels"):
            shesha.load(path)


def test_a_file_whose_names_and_numbers_disagree_is_refused(tmp_path):
    labels = LabelClasses(("a", "b"), (3, 4))
    path = labels.save(tmp_path / "labels.json")
    path.write_text(path.read_text().replace('["a", "b"]', '["a"]'))
    with pytest.raises(ValueError, match="result must have as many names as sizes, got 1 names, 2 sizes"):
        shesha.load(path)


def test_fields_that_are_no_object_are_refused(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text('{"format": 1, "result": {"$result": "Estimate", "fields": 3}}')
    with pytest.raises(
        ValueError, match=r"result must be marked as in files of `save`, got '\$result': fields are int"
    ):
        shesha.load(path)
