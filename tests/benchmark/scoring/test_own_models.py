"""The six tests for models of one's own."""

import numpy as np
import pytest

from shesha import compare
from shesha_bench import tests

COLUMNS = ["test", "quality", "measure", "value", "p_value", "n", "dropped", "reason"]
MEASURES = ["CKA", "LinReg", "OrthProc"]


def noisy(rng, X, strength):
    return X + strength * rng.standard_normal(X.shape)


@pytest.fixture
def classifiers(rng):
    """Six models on the way from one representation to another; the farther, the more of the outputs are wrong."""
    X, Z = rng.standard_normal((2, 80, 6))
    labels = rng.integers(0, 3, 80)
    shares = np.linspace(0, 0.5, 6)
    models, outputs = [], []
    for share in shares:
        models.append((1 - share) * X + share * Z)
        predicted = np.where(rng.random(80) < share, (labels + 1) % 3, labels)
        outputs.append(0.9 * np.eye(3)[predicted] + 0.1 / 3)
    return models, outputs, labels


def test_accuracy(classifiers):
    models, outputs, labels = classifiers
    found = tests.accuracy_correlation(models, outputs, labels, MEASURES)
    assert list(found.columns) == COLUMNS and list(found["measure"]) == MEASURES
    # The asymmetric measure has both directions of the 15 pairs.
    assert list(found["n"]) == [15, 30, 15]
    assert (found["value"] > 0.6).all() and found["p_value"].between(1 / 720, 1).all()
    named = tests.accuracy_correlation(
        {f"m{i}": model for i, model in enumerate(models)},
        {f"m{i}": outputs[i] for i in reversed(range(6))},
        labels,
        MEASURES,
    )
    assert named.equals(found)


def test_output(classifiers):
    models, outputs, _ = classifiers
    found = tests.output_correlation(models, outputs, "CKA")
    assert list(found["test"]) == ["jsd", "disagreement"] and set(found["quality"]) == {"spearman"}
    assert (found["value"] > 0.6).all()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (tests.label_randomization, "label_randomization"),
        (tests.shortcut_affinity, "shortcut"),
        (tests.augmentation, "augmentation"),
    ],
)
def test_groups(rng, function, name):
    a, b = rng.standard_normal((2, 60, 6))
    found = function(
        {"a": [noisy(rng, a, 0.1) for _ in range(3)], "b": [noisy(rng, b, 0.1) for _ in range(2)]}, MEASURES
    )
    assert list(found.columns) == COLUMNS and set(found["test"]) == {name}
    assert list(found["quality"]) == ["auprc", "conformity"] * 3
    assert (found["value"] == 1).all() and found["p_value"].isna().all()
    assert list(found.loc[found["quality"] == "auprc", "n"]) == [10, 4 + 12, 10]


def test_a_group_of_one_has_a_reason(rng):
    models = [rng.standard_normal((30, 4)) for _ in range(3)]
    found = tests.augmentation({"off": models[:2], "strong": models[2:]}, "CKA")
    assert found["value"].isna().all()
    assert set(found["reason"]) == {"group strong has 1 model, so there are no pairs within it"}


def test_layers(rng):
    models = [np.cumsum(rng.standard_normal((5, 60, 8)), axis=0) for _ in range(2)]
    found = tests.layer_monotonicity(models, MEASURES)
    assert list(found.columns) == COLUMNS
    assert list(found["quality"]) == ["conformity", "spearman", "spearman_pooled"] * 3
    assert (found["n"] == 2).all() and (found.loc[found["quality"] == "conformity", "value"] > 0.9).all()


def test_values_are_those_of_a_comparison(rng):
    """Two layers that lie as near as the third is far: the score is that of the values `compare` gives."""
    layers = rng.standard_normal((3, 40, 5))
    value = [[compare(a, b, "CKA")["CKA"].value for b in layers] for a in layers]
    right = (value[0][1] >= value[0][2]) + (value[2][1] >= value[2][0])
    found = tests.layer_monotonicity([layers], "CKA")
    assert found["value"][0] == right / 2


def test_the_measures_own_reason_is_told(rng):
    layers = [np.ones((30, 4)), *rng.standard_normal((2, 30, 4))]
    found = tests.layer_monotonicity([layers], "CKA").set_index("quality")
    assert np.isnan(found.loc["conformity", "value"])
    assert found.loc["conformity", "reason"].startswith("model 0: no three layers on one side have values; ")
    assert found.loc["conformity", "reason"].endswith("model 0, layer 0: all rows are equal")


def test_rows_without_a_direction_are_left_out_and_told(rng):
    a, b = rng.standard_normal((2, 60, 6))
    groups = {"a": [noisy(rng, a, 0.1) for _ in range(2)], "b": [noisy(rng, b, 0.1) for _ in range(2)]}
    whole = tests.augmentation(groups, ["CKA", "Jaccard"])
    groups["a"][0][[4, 9]] = 0
    groups["b"][1][[9, 20]] = 0
    found = tests.augmentation(groups, ["CKA", "Jaccard"])
    assert found["value"].tolist() == whole["value"].tolist() == [1] * 4
    assert (whole["reason"] == "").all()
    note = "rows without a direction were left out of 5 comparisons, at most 3 each"
    assert found["reason"].tolist() == ["", "", note, note]
    layered = tests.layer_monotonicity([[*groups["a"], a], [*groups["b"], b]], "Jaccard")
    assert set(layered["reason"]) == {"rows without a direction were left out of 4 comparisons, at most 2 each"}


X = np.random.default_rng(0).standard_normal((12, 3))
