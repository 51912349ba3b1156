"""Labels: which are refused before any work, which scores they add, and what is said of scores that are not given."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.results import LabelClasses
from shesha.stability import list_variants

SUPERVISED = tuple(one.name for one in list_variants().values() if one.audited and one.needs_labels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(59) % 3, "y must have one label for each of the 60 rows, got 59"),
        (np.arange(61) % 3, "y must have one label for each of the 60 rows, got 61"),
        (np.zeros(60), "y must contain at least 2 classes, got 1"),
        (np.arange(60), "y must contain classes, got 60 different labels for 60 rows"),
        (np.linspace(0, 1, 60), "y must contain classes, got 60 different labels for 60 rows"),
        (np.arange(60) % 31, "y must contain classes, got 31 different labels for 60 rows"),
        (["a", None] * 30, "y must contain at least 2 classes, got 1"),
    ],
)
def test_labels_that_are_no_classes_are_refused(layers, quick_audit, y, message):
    with pytest.raises(ValueError, match=message):
        quick_audit(layers, y)


def test_names_of_classes_do_not_matter(layers, classes, quick_audit):
    data = {"late": layers["late"]}
    numbered = quick_audit(data, classes)
    named = quick_audit(data, np.array(["c10", "c20", "c30"])[classes])
    listed = quick_audit(data, np.array([2.5, 7, 99])[classes].tolist())
    assert named.representations == listed.representations == numbered.representations
    assert named.labels == LabelClasses(("c10", "c20", "c30"), (20, 20, 20))


def test_too_few_groups_to_permute_leave_the_stability_undecided(layers, classes, quick_audit):
    """Donors of unequal size cannot be permuted; with all classes in each, labels can, so they come first."""
    X, donor = layers["middle"], np.repeat(["d1", "d2", "d3", "d4"], [12, 14, 16, 18])
    alone = quick_audit(X, groups=donor)
    assert str(alone).startswith("Whether the stability exceeds chance cannot be decided: feature-split")
    told = " ".join(str(alone).split())
    assert "got 1 (whole groups)" in told and "equal_groups" in told and "do not interpret" not in told
    assert alone["X"].chance is None and "p_value" not in alone["X"].feature_split.to_dict()
    labelled = quick_audit(X, np.repeat(["a", "b"], [26, 34]), groups=donor)
    told = " ".join(str(labelled).split())
    assert "closer than by chance cannot be decided (alignment" in told
    among = quick_audit(X + 3 * layers["late"][:3][classes], classes, groups=donor)
    assert str(among).startswith("Labels: 3 classes") and "above chance" in str(among)
    assert "cannot be decided: feature-split" in " ".join(str(among).split())
    equal = quick_audit(X, groups=np.arange(60) // 15, n_permutations=39)
    assert str(equal).startswith("Stable above chance") and equal["X"].chance.n_draws == 23


def test_two_classes_have_no_geometry_of_centroids(layers, quick_audit):
    found = quick_audit({"late": layers["late"]}, np.arange(60) % 2)
    refused = found["late"].supervised["label_conditioned_split"]
    assert np.isnan([refused.value, refused.low, refused.high]).all()
    assert refused.reason == "y must contain at least 3 classes, got 2"
    told = " ".join(found.full_text().split())
    assert "late: no value of Stability of class centroids: y must contain at least 3 classes, got 2" in told
    others = {name: score.value for name, score in found["late"].supervised.items() if name != refused.name}
    assert tuple(others) == SUPERVISED[:4]
    assert np.isfinite(list(others.values())).all()


def test_a_class_that_is_left_without_rows_is_a_reason(layers, quick_audit):
    X = layers["late"].copy()
    y = np.arange(60) // 20
    X[y == 2] = 0.0
    refused = quick_audit(X, y)["X"]
    assert refused.n_used == 0
    assert refused.reason.startswith("no cosine distance for 20 zero rows of 60")
    found = quick_audit(X, y, missing="drop")["X"]
    assert found.n_used == 40
    assert np.isfinite(found.feature_split.value)
    reasons = {name: score.reason for name, score in found.supervised.items()}
    assert reasons.pop("label_conditioned_split") == "y must contain at least 3 classes, got 2"
    assert set(reasons.values()) == {""}


def test_labels_score_the_representations_whose_rows_they_name(layers, classes, quick_audit):
    found = quick_audit({"all": layers["late"], "some": layers["late"][:40]}, classes)
    assert tuple(found["all"].supervised) == SUPERVISED
    assert {score.reason for score in found["some"].supervised.values()} == {
        "needs one label per row, got 60 labels for 40 rows"
    }
    assert np.isnan([score.value for score in found["some"].supervised.values()]).all()
    heads = [line for line in found.full_text().split("\n") if line.startswith("Agreement with the labels")]
    assert len(heads) == 1


def test_labels_of_other_rows_are_not_taken_for_those_that_are_left(layers, classes, quick_audit):
    X = layers["late"].copy()
    X[[3, 9]] = 0.0
    found = quick_audit({"zeros": X, "some": layers["late"][:58]}, classes[:58])
    assert found["zeros"].supervised == {}
    assert found["zeros"].reason.startswith("no cosine distance for 2 zero rows of 60")
    with pytest.raises(ValueError, match="y must have one entry for each of the 60 rows, got 58"):
        quick_audit(X, classes[:58], missing="drop")


def test_a_score_that_the_labels_do_not_allow_holds_nothing_but_its_reason(rng):
    X = rng.standard_normal((20, 5))
    found = shesha.audit(X, np.repeat(["one", "two"], [19, 1]), n_bootstrap=10, n_permutations=19)["X"]
    missing = [one for one in found.supervised.values() if one.reason]
    assert missing
    for one in missing:
        assert np.isnan([one.value, one.low, one.high, one.standard_error, one.monte_carlo_error]).all()
        assert (one.pair_error, one.n_partitions, one.n_resamples, one.n_pairs, one.pairs_dropped) == (0, 0, 0, 0, 0)
        assert (one.n_rows, one.n_features) == (20, 5)


def test_labels_named_like_clusters_are_doubted_if_they_agree_with_the_data(quick_audit):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 12)) + 3 * y[:, None] * (np.arange(12) % 2)
    for name, doubted in {"leiden": True, "seurat_clusters": True, "cell_type": False}.items():
        text = " ".join(str(quick_audit(X, pd.Series(y, name=name))).split())
        assert ("agree with it by construction" in text) is doubted


@pytest.mark.parametrize(("labels", "named"), [(np.arange(60) % 20 / 4, True), (np.arange(60) % 20 * 1.0, False)])
def test_numbers_with_fractions_are_named(labels, named):
    rows = np.random.default_rng(0).standard_normal((60, 6))
    found = shesha.audit(rows, labels, n_bootstrap=0, n_permutations=0)
    assert any("y has 20 values with fractions" in text for text in found.inputs) == named
