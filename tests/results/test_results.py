"""Tables of results, their ranking, and files whose parts do not fit one another."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import shesha
from shesha.results import Audit, LabelClasses

NAN = float("nan")
X = np.random.default_rng(0).standard_normal((20, 6))
ESTIMATE = shesha.estimate(X, n_bootstrap=5, n_permutations=0, seed=0)
CHANCE = shesha.estimate(X, n_bootstrap=5, n_permutations=19, seed=0)
(ONE,) = shesha.audit(X, n_bootstrap=0, n_permutations=0)


def test_tables_are_narrow_unless_every_field_is_requested():
    narrow = ["name", "value", "low", "high", "chance", "p_value", "verdict"]
    assert list(CHANCE.to_frame().columns) == narrow
    assert list(ESTIMATE.to_frame().columns) == ["name", "value", "low", "high", "verdict"]
    assert {"threshold", "calibrated", "n_partitions"} <= set(CHANCE.to_frame(full=True).columns)


def test_the_ranking_leaves_out_what_has_no_score_and_keeps_the_order_of_ties():
    scores = {"low": 0.1, "none": None, "tie": 0.5, "nan": NAN, "other tie": 0.5, "negative": -0.25, "high": 0.75}
    found = tuple(
        replace(ONE, name=name, scores={} if score is None else {"feature_split": replace(ESTIMATE, value=score)})
        for name, score in scores.items()
    )
    assert Audit(found).ranking == ("high", "tie", "other tie", "low", "negative")
    assert math.isnan(Audit(found)["nan"].feature_split.value)


def test_a_file_whose_names_and_numbers_disagree_is_refused(tmp_path):
    labels = LabelClasses(("a", "b"), (3, 4))
    path = labels.save(tmp_path / "labels.json")
    path.write_text(path.read_text().replace('["a", "b"]', '["a"]'))
    with pytest.raises(ValueError, match="result must have sizes for its names, got 1 names, 2 sizes"):
        shesha.load(path)


def test_a_file_that_lacks_a_measure_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 3))
    path = shesha.compare_all({"a": X, "b": -X}, "CKA").save(tmp_path / "pairs.json")
    for name in ("symmetric", "self_values"):
        plain = json.loads(path.read_text())
        plain["result"]["fields"][name] = {"ckA": True}
        (tmp_path / "damaged.json").write_text(json.dumps(plain))
        with pytest.raises(ValueError, match=f"result must have {name} for its measures, got"):
            shesha.load(tmp_path / "damaged.json")


def test_fields_that_are_no_object_are_refused(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text('{"format": 1, "result": {"$result": "Estimate", "fields": 3}}')
    with pytest.raises(
        ValueError, match=r"result must be marked as in files of `save`, got '\$result': fields are int"
    ):
        shesha.load(path)
