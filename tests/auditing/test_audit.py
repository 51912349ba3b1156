"""An audit gathers numbers; each is the one that its own function gives."""

import numpy as np
import pytest

from shesha import estimate, rdm_drift
from shesha.stability import list_variants

SUPERVISED = tuple(one.name for one in list_variants().values() if one.audited and one.needs_labels)

METRICS = ["cosine", "correlation", "euclidean"]
INTERVAL = {"confidence": 0.8, "n_bootstrap": 10}


@pytest.mark.parametrize(("metric", "pairs"), [("correlation", None), ("euclidean", None), ("cosine", 150)])
def test_numbers_are_those_of_the_functions_called_alone(layers, classes, quick_audit, metric, pairs):
    found = quick_audit(layers, classes, metric=metric, pairs=pairs, seed=11, confidence=0.8)
    for name, X in layers.items():
        common = {"metric": metric, "pairs": pairs, "seed": 11}
        assert found[name].feature_split == estimate(X, n_permutations=19, **common, **INTERVAL)
        averaged = estimate(X, variant="basis_averaged_split", n_permutations=0, **common, **INTERVAL)
        assert found[name].basis_averaged_split == averaged
        assert found[name].chance == found[name].feature_split
        assert tuple(found[name].supervised) == SUPERVISED
        for score, own in found[name].supervised.items():
            chosen = {"metric": metric} if score == "label_conditioned_split" else {}
            if score == "supervised_alignment":
                chosen = {"pairs": pairs}
            assert own == estimate(X, classes, score, n_permutations=19, seed=11, **INTERVAL, **chosen)
            assert own.low <= own.value <= own.high
    first, middle, last = layers.values()
    assert found.drift.names == tuple(layers)
    assert found.drift.from_first == (0.0, *(rdm_drift(first, X, metric=metric) for X in (middle, last)))
    assert found.drift.from_previous == (
        0.0,
        rdm_drift(first, middle, metric=metric),
        rdm_drift(middle, last, metric=metric),
    )
    assert found.drift_reason == ""
    assert found.options == {
        "metric": metric,
        "confidence": 0.8,
        "n_bootstrap": 10,
        "n_permutations": 19,
        "pairs": pairs,
        "seed": 11,
    }


def test_the_ranking_is_the_order_of_the_scores(audited):
    scores = {one.name: one.feature_split.value for one in audited.representations}
    assert audited.ranking == tuple(sorted(scores, key=scores.get, reverse=True))
    assert [one.name for one in audited.representations] == ["early", "middle", "late"]
    assert audited.ranking != ("early", "middle", "late")
    assert audited.ranking[0] == "middle"


def test_one_seed_gives_one_audit(layers, classes, quick_audit):
    data = {"late": layers["late"]}
    again = quick_audit(data, classes, seed=5)
    assert again == quick_audit(data, classes, seed=5)
    assert again != quick_audit(data, classes, seed=6)
    drawn, redrawn = (quick_audit(data, classes, seed=np.random.default_rng(5)) for _ in range(2))
    assert drawn == redrawn
    assert drawn == quick_audit(data, classes, seed=drawn.options["seed"])


def test_a_single_array_a_list_and_a_file_give_the_same_numbers(layers, quick_audit, tmp_path):
    X = layers["late"]
    np.save(tmp_path / "late.npy", X)
    alone = quick_audit(X)["X"]
    assert alone == quick_audit(X.tolist())["X"]
    assert alone == quick_audit(np.load(tmp_path / "late.npy", mmap_mode="r"))["X"]
    assert alone == quick_audit({"X": X, "other": layers["early"]})["X"]


UNDIRECTED = {
    "cosine": (0.0, "no cosine distance for 2 zero rows of 60 (4, 30)", "2 zero in late left out"),
    "correlation": (3.0, "no correlation distance for 2 constant rows of 60 (4, 30)", "2 constant in late left out"),
    "euclidean": (0.0, "", ""),
}


@pytest.mark.parametrize("metric", UNDIRECTED)
def test_rows_without_a_direction_are_refused_or_dropped_everywhere(layers, classes, quick_audit, metric):
    value, reason, dropped = UNDIRECTED[metric]
    X = layers["late"].copy()
    X[[4, 30]] = value
    data = {"late": X, "early": layers["early"]}
    found = quick_audit(data, classes, metric=metric)
    assert found["late"].reason.startswith(reason) and bool(found["late"].reason) == bool(reason)
    assert (found["late"].n_used, found["early"].n_used) == (0 if reason else 60, 60)
    if reason:
        kept = quick_audit(data, classes, metric=metric, missing="drop")
        rows = np.delete(np.arange(60), [4, 30])
        assert kept.inputs == (f"58 of 60 rows used: {dropped}",)
        expected = quick_audit({name: values[rows] for name, values in data.items()}, classes[rows], metric=metric)
        assert kept["late"] == expected["late"]
        assert kept.drift.from_first[1] == rdm_drift(X[rows], layers["early"][rows], metric=metric)


def test_what_cannot_be_scored_keeps_its_place_and_says_why(layers, classes, quick_audit):
    broken = layers["middle"].copy()
    broken[[2, 5], 3] = np.nan, np.inf
    mostly_zero = layers["middle"].copy()
    mostly_zero[3:] = 0.0
    data = {
        "broken": broken,
        "late": layers["late"],
        "narrow": layers["late"][:, :3],
        "short": layers["late"][:3],
        "mostly zero": mostly_zero,
    }
    found = quick_audit(data, classes)
    reasons = {one.name: one.reason for one in found.representations}
    assert reasons == {
        "broken": 'NaN or infinity in 2 rows of 60 (2, 5); missing="drop" leaves them out',
        "late": "",
        "narrow": "needs at least 4 rows and 4 columns, got 60 and 3",
        "short": "needs at least 4 rows and 4 columns, got 3 and 12",
        "mostly zero": "no cosine distance for 57 zero rows of 60 (3, 4, 5, 6, 7 and 52 more); "
        'missing="drop" leaves them out',
    }
    assert found["late"] == quick_audit({"late": layers["late"]}, classes)["late"]
    assert found["broken"].faults.not_finite_rows == (2, 5)
    assert found["broken"].feature_split is None
    assert np.isnan(found["broken"].effective_rank)
    assert found.ranking == ("late",)
    assert (found.drift, found.drift_reason) == (None, "a representation could not be scored")


def test_equal_rows_are_not_estimable_and_not_ranked(layers, quick_audit):
    found = quick_audit({"late": layers["late"], "equal": np.full((60, 12), 0.5)})
    equal = found["equal"]
    assert np.isnan(equal.feature_split.value)
    assert "all distances are equal" in equal.feature_split.reason
    assert "all distances are equal" in equal.basis_averaged_split.reason
    assert equal.chance is None
    assert np.isnan([equal.effective_rank, equal.anisotropy]).all()
    assert found.ranking == ("late",)


def test_different_numbers_of_rows_have_no_drift(layers, quick_audit):
    found = quick_audit({"all": layers["late"], "some": layers["early"][:40]})
    assert found.drift is None
    assert found.drift_reason == "the representations have different numbers of rows (40, 60)"
    assert len(found.ranking) == 2
    assert (quick_audit(layers["late"]).drift, quick_audit(layers["late"]).drift_reason) == (None, "")


def test_no_representation_is_lost_to_another_of_the_same_name(layers, quick_audit):
    with pytest.raises(ValueError, match="'1'"):
        quick_audit({1: layers["late"], "1": layers["early"]})
