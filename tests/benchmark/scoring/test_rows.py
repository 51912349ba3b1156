"""Which pairs each test needs, and scores from values known beforehand."""

import math
from itertools import permutations

import numpy as np
import pytest

from shesha.measures import get
from shesha_bench import tests
from shesha_bench.layer_order_quality import layers
from shesha_bench.measure_quality import groups, spearman

CKA, LINREG, RTD = get("CKA"), get("LinReg"), get("RTD")
GROUPS = {"x": ["b", "a"], "y": ["d", "c"]}


class Watched(dict):
    """Values that note which of them are asked for."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)


def values_of(pairs, seed=0):
    rng = np.random.default_rng(seed)
    return Watched({pair: float(rng.random()) for pair in pairs})


def test_pairs_in_list_order():
    assert tests.pairs_prediction(["b", "a", "c"], True) == [("b", "a"), ("b", "c"), ("a", "c")]
    assert set(tests.pairs_prediction("abc", False)) == set(permutations("abc", 2))
    assert tests.pairs_groups(GROUPS, True) == [
        *(("b", "a"), ("b", "d"), ("b", "c"), ("a", "d"), ("a", "c"), ("d", "c")),
    ]
    asymmetric = tests.pairs_groups(GROUPS, False)
    assert len(asymmetric) == len(set(asymmetric)) == 2 + 8
    assert ("b", "a") in asymmetric and ("a", "b") not in asymmetric and {("a", "c"), ("c", "a")} < set(asymmetric)
    assert tests.pairs_layers([["p", "q"], ["r", "s"]], True) == [("p", "q"), ("r", "s")]
    assert tests.pairs_layers([["p", "q"]], False) == [("p", "q"), ("q", "p")]
    with pytest.raises(ValueError, match="groups must contain each model once"):
        tests.pairs_groups({"x": ["a"], "y": ["a"]}, True)


@pytest.mark.parametrize("measure", [CKA, LINREG], ids=lambda measure: measure.name)
def test_exactly_these_pairs_are_used(measure):
    names = list("abcd")
    differences = {"accuracy": values_of(tests.pairs_prediction(names, True), 1)}
    values = values_of(tests.pairs_prediction(names, measure.symmetric))
    tests.score_prediction(measure, values, names, differences)
    assert values.asked == set(values)
    values = values_of(tests.pairs_groups(GROUPS, measure.symmetric))
    tests.score_groups("shortcut", measure, values, GROUPS)
    assert values.asked == set(values)
    models = [list("abc"), list("def")]
    values = values_of(tests.pairs_layers(models, measure.symmetric))
    tests.score_layers(measure, values, models)
    assert values.asked == set(values)


def test_prediction_turns_similarities_around():
    names = list("abcdef")
    pairs = tests.pairs_prediction(names, True)
    values, differences = values_of(pairs), {"jsd": values_of(pairs, 1), "disagreement": values_of(pairs, 2)}
    rows = tests.score_prediction(RTD, values, names, differences)
    assert [(row.test, row.quality, row.measure) for row in rows] == [
        ("jsd", "spearman", "RTD"),
        ("disagreement", "spearman", "RTD"),
    ]
    found = spearman(list(values.values()), list(differences["jsd"].values()), 6)
    assert (rows[0].value, rows[0].p_value, rows[0].n) == (found.value, found.p_value, 15)
    turned = tests.score_prediction(CKA, values, names, differences)
    assert turned[0].value == pytest.approx(-found.value) and turned[0].p_value == found.p_value


def test_groups_give_both_qualities():
    values = values_of(tests.pairs_groups(GROUPS, False))
    rows = tests.score_groups("shortcut", LINREG, values, GROUPS)
    assert [(row.test, row.quality) for row in rows] == [("shortcut", "auprc"), ("shortcut", "conformity")]
    assert [row.value for row in rows] == [one.value for one in groups(values, GROUPS, "higher", False)]
    assert all(math.isnan(row.p_value) for row in rows)


def test_layers_are_means_over_the_models_with_a_value():
    models = [list("abcd"), list("efgh"), list("ijkl")]
    values = values_of(tests.pairs_layers(models, True))
    rows = {row.quality: row for row in tests.score_layers(CKA, values, models)}
    assert list(rows) == ["conformity", "spearman", "spearman_pooled"]
    each = [
        layers({(i, j): values[own[i], own[j]] for i in range(4) for j in range(i + 1, 4)}, 4, "higher", True)
        for own in models
    ]
    assert rows["conformity"].value == pytest.approx(np.mean([one.conformity.value for one in each]))
    assert rows["spearman"].value == pytest.approx(np.mean([one.by_layer.value for one in each]))
    assert rows["spearman_pooled"].value == pytest.approx(np.mean([one.pooled.value for one in each]))
    assert {(row.n, row.dropped, row.reason) for row in rows.values()} == {(3, 0, "")}
    values |= dict.fromkeys(tests.pairs_layers(models[:1], True), math.nan)
    row = tests.score_layers(CKA, values, models)[0]
    assert row.value == pytest.approx(np.mean([one.conformity.value for one in each[1:]]))
    assert (row.n, row.dropped) == (2, 1) and row.reason == "model 0: no three layers on one side have values"


def test_triples_left_out_of_a_model_are_told():
    models = [list("abcd")]
    values = values_of(tests.pairs_layers(models, True)) | {("a", "b"): math.nan}
    row = tests.score_layers(CKA, values, models)[0]
    assert (row.n, row.dropped) == (1, 0) and row.reason == "2 comparisons of layers left out"


def test_the_six_tests_name_their_results():
    assert [test.name for test in tests.TESTS] == [
        *("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity"),
    ]
    assert [test.grounding for test in tests.TESTS] == ["prediction"] * 2 + ["design"] * 4
    published = pytest.importorskip("shesha_bench._published_results").published()
    named = {(row, quality) for test in tests.TESTS for row in test.rows for quality in test.qualities}
    assert named == set(published[["test", "quality"]].itertuples(index=False, name=None))
