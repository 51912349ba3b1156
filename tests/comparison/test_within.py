"""Comparisons within classes: each is the comparison of its rows, and what lies between classes does not help."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import compare, compare_within
from shesha.io import NamedRows
from shesha.nulls import holm

NAMES = ("before", "after")


@pytest.fixture(scope="module")
def cells():
    """Three types that lie apart; one has lost all that was within it."""
    rng = np.random.default_rng(0)
    types = np.repeat(["B", "NK", "T", "rare"], [45, 30, 45, 6])[rng.permutation(126)]
    X = rng.standard_normal((126, 8)) + 5 * (types == "T")[:, None] - 5 * (types == "NK")[:, None]
    Y = X + 0.3 * rng.standard_normal((126, 8))
    lost = types == "T"
    Y[lost] = rng.standard_normal((lost.sum(), 8)) + 5
    return X, Y, types


def found_in(cells, measures=("RSA", "CKA"), **options):
    X, Y, types = cells
    return compare_within(X, Y, types, measures, names=NAMES, n_permutations=59, **options)


def test_each_class_is_the_comparison_of_its_rows(cells):
    X, Y, types = cells
    found = found_in(cells)
    assert list(found.classes) == ["B", "NK", "T"]
    assert found.sizes == {"B": 45, "NK": 30, "T": 45}
    assert found.excluded == {"rare": "6 rows, fewer than 20"}
    for name in found.classes:
        own = types == name
        alone = compare(X[own], Y[own], ["RSA", "CKA"], calibrate=True, n_permutations=59, seed=0)
        for measure in ("RSA", "CKA"):
            line, expected = found[name][measure], alone[measure]
            assert (line.value, line.p_value, line.chance) == (expected.value, expected.p_value, expected.chance)


def test_what_was_lost_within_a_class_is_found_though_classes_stay_apart(cells):
    found = found_in(cells)
    frame = found.to_frame().set_index(["name", "class"])
    shares = np.array([45, 30, 45]) / 120
    for measure in ("RSA", "CKA"):
        assert frame.loc[(measure, "all rows"), "value"] == pytest.approx(
            shares @ [found[name][measure].value for name in ("B", "NK", "T")]
        )
    assert frame.loc[("RSA", "T"), "p_value"] > 0.1
    assert frame.loc[("RSA", "B"), "p_value"] == frame.loc[("RSA", "NK"), "p_value"] == 1 / 60
    for measure in ("RSA", "CKA"):
        own = frame.loc[measure].drop("all rows")
        over_measures = [found[name][measure].corrected_p_value for name in found.classes]
        assert own["corrected_p_value"].tolist() == holm(over_measures).tolist()
        assert over_measures >= own["p_value"].tolist()
        assert np.isnan(frame.loc[(measure, "all rows"), "corrected_p_value"])
    text = str(found)
    assert found.page().title == "after compared with before, within 3 classes"
    assert "Not compared: rare (6 rows, fewer than 20)." in text
    assert found.to_dict()["classes"]["B"]["scores"][0]["name"] == "RSA"
    with pytest.raises(KeyError, match="name must be one of B, NK, T, got 'rare'"):
        found["rare"]


def test_all_rows_are_exchanged_within_classes(cells):
    X, Y, types = cells
    scrambled = Y.copy()
    for name in np.unique(types):
        rows = np.flatnonzero(types == name)
        scrambled[rows] = Y[np.random.default_rng(1).permutation(rows)]
    assert compare(X, scrambled, ["CKA"], calibrate=True, n_permutations=39)["CKA"].p_value == 1 / 40
    found = compare_within(X, scrambled, types, "CKA", n_permutations=39)
    assert found.whole["CKA"].value < 0.3, "pairs of rows from different classes do not enter"
    assert found.whole["CKA"].p_value > 0.05


def test_batches_that_both_know_do_not_count(cells):
    X, _, types = cells
    rng = np.random.default_rng(3)
    batch = rng.choice(["b1", "b2"], len(X))
    shift = 3 * (batch == "b1")[:, None] * (np.arange(8) < 4)
    other = rng.standard_normal(X.shape) + shift
    free = compare_within(X + shift, other, types, "RSA", n_permutations=39)
    held = compare_within(X + shift, other, types, "RSA", blocks=batch, n_permutations=39)
    assert free["B"]["RSA"].p_value == 1 / 40
    assert held["B"]["RSA"].p_value > 0.05
    assert held["B"]["RSA"].value < 0.15 < free["B"]["RSA"].value


def test_donors_move_together_as_equally_large_groups(cells):
    _, _, types = cells
    donor = np.random.default_rng(5).choice(list("abcdef"), len(types))
    found = found_in(cells, "RSA", groups=donor, min_group=3)
    for name, comparison in found.classes.items():
        counts = np.unique(donor[types == name], return_counts=True)[1]
        kept = counts[counts >= 3]
        assert found.sizes[name] == len(kept) * kept.min()
        assert "groups" in comparison.exchanged
    with pytest.raises(ValueError, match=r"B: 0 groups with at least 40 rows, fewer than 3"):
        found_in(cells, "RSA", groups=donor, min_group=40)


def test_rows_are_matched_by_name_and_rows_without_a_label_left_out(cells):
    X, Y, types = cells
    names = [f"c{i}" for i in range(len(X))]
    order = np.random.default_rng(7).permutation(len(X))
    labels = pd.Series(types, index=names, dtype=object)
    expected = found_in(cells)
    first, second = pd.DataFrame(X, index=names), pd.DataFrame(Y[order], index=[names[i] for i in order])
    with pytest.warns(shesha.RowNamesWarning):
        found = compare_within(first, second, labels.iloc[order], ("RSA", "CKA"), names=NAMES, n_permutations=59)
    assert found.to_frame().equals(expected.to_frame())
    narrow, full = (found.to_frame(full=full).columns for full in (False, True))
    assert len(narrow) <= 10 < len(full)
    assert set(narrow) < set(full)
    labels[types == "NK"] = np.nan
    part = compare_within(NamedRows(X, names), Y, labels, "RSA", n_permutations=59)
    assert list(part.classes) == ["B", "T"]


@pytest.mark.parametrize(
    ("signal", "verdict"), [(1.0, "kept"), (0.97, "kept"), (0.6, "partly kept"), (0.3, "partly kept"), (0.0, "lost")]
)
def test_significance_is_not_preservation(signal, verdict):
    """The share of the structure decides, not the p-value, which is at its minimum for 0.3 of the signal already."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    Y = signal * X + np.sqrt(1 - signal**2) * rng.standard_normal(X.shape)
    found = compare_within(X, Y, np.repeat(["a", "b"], 150), n_permutations=39)
    assert [found.class_verdict(name) for name in found.classes] == [verdict] * 2
    assert found.classes_with(verdict) == ("a", "b")
    assert found.headline.startswith(f"Y, compared with X: {verdict} the geometry within both classes (unbiased CKA ")
    if verdict == "partly kept":
        assert all(found.is_above("RSA", name) for name in found.classes)


def test_few_rows_do_not_show_that_the_geometry_is_lost():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 40, 6))
    found = compare_within(X, Y, np.repeat(["a", "b"], 20), "RSA", n_permutations=39)
    assert found.classes_with("undecided") == ("a",)
    assert "it is undecided within a (not above chance, but intervals include partial retention: RSA" in found.headline


@pytest.mark.parametrize("n_classes", [2, 12, 30])
def test_one_class_among_many_is_found_with_default_draws(n_classes):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 20 * n_classes, 5))
    Y[:20] = X[:20]
    types = np.repeat(np.arange(n_classes), 20)
    found = compare_within(X, Y, types, "CKA")
    assert found.kept == ("0",)
    assert list(found.classes) == [str(number) for number in range(n_classes)], "10 comes after 9"
    assert found.n_draws == max(200, 20 * n_classes - 1)
    if n_classes == 12:
        few = compare_within(X, Y, types, "CKA", n_permutations=199)
        assert few.headline.endswith("This cannot be decided with 199 permutations: at least 239.")


def test_large_classes_are_compared_on_random_rows(rng, monkeypatch):
    monkeypatch.setattr("shesha.comparison.within_classes.MOST_ROWS_TESTED", 60)
    labels, X = np.repeat(["few", "many"], [50, 150]), rng.standard_normal((200, 6))
    Y = X + rng.standard_normal(X.shape)
    found = shesha.compare_within(X, Y, labels, "CKA", n_permutations=39)
    assert found.sizes == {"few": 50, "many": 60}
    assert "60 random rows drawn from many" in str(found)
    values = [found[name]["CKA"].value for name in ("few", "many")]
    assert found.whole["CKA"].value == pytest.approx(np.average(values, weights=[50, 150]))
    other = shesha.compare_within(X, Y, labels, "CKA", n_permutations=39, seed=1)
    assert other["few"]["CKA"].value == values[0]
    assert other["many"]["CKA"].value != values[1]
    donors = np.resize(["p", "q", "r"], 200)
    assert shesha.compare_within(X, Y, labels, "CKA", groups=donors, n_permutations=19, alpha=0.5).sizes["many"] == 60


@pytest.mark.filterwarnings("ignore:62 of 126 checked rows", "ignore:row offset")
def test_rows_in_another_order_are_suspected_where_no_class_is_left(cells):
    X, Y, types = cells
    batch = np.arange(len(X)) % 2
    corrected = (X + 3 * batch[:, None])[np.argsort(batch, kind="stable")]
    for other, doubted in ((corrected, True), (Y, False), (X, False)):
        found = found_in((X, other, types))
        assert any("as if its rows were in another order" in text for text in found.inputs) == doubted
