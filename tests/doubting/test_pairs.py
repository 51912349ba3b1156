"""Doubts beside similarities and their nulls."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import shesha
from shesha.doubting.pair_doubts import cka_without_each, cluster_doubt
from shesha.measures import cka
from shesha.views import Gram, Representation


@pytest.fixture
def far():
    """Two unrelated representations that share one far row."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 10)), rng.standard_normal((60, 10))
    X[7] *= 100
    Y[7] *= 100
    return X, Y


def test_one_far_row_is_told_with_what_is_left_without_it(far):
    with pytest.warns(shesha.CalibrationWarning, match="few rows: CKA is .* with row 7, but"):
        found = shesha.calibrate(*far, "CKA", seed=0)
    doubt = found.doubts["few rows"]
    without = cka(*(np.delete(side, 7, axis=0) for side in far))
    assert f"{without:.2f} without it" in doubt.text
    assert doubt.rows == (7,)
    assert "unbiased CKA" in doubt.advice and shesha.measures.unbiased_cka(*far) < 0.2
    assert "few rows" in str(found)


@pytest.mark.parametrize(
    ("n_rows", "n_far", "name"), [(60, 3, "few rows"), (80, 2, "few rows"), (200, 8, "rare cluster")]
)
def test_far_rows_that_hide_one_another_are_told_together(n_rows, n_far, name):
    X, Y = np.random.default_rng(1).standard_normal((2, n_rows, 10))
    chosen = np.arange(n_far) * 5
    X[chosen], Y[chosen] = X[chosen] + 40, Y[chosen] + 40
    with pytest.warns(shesha.CalibrationWarning, match=name):
        doubt = shesha.calibrate(X, Y, "CKA", seed=0).doubts[name]
    assert sorted(doubt.rows) == chosen.tolist()
    assert f"{cka(*(np.delete(side, chosen, axis=0) for side in (X, Y))):.2f}" in doubt.text
    assert sorted(shesha.doubts(X)[name].rows)[0] in chosen
    # The advice holds: what it names is not moved, and what would be is not named.
    kept = np.setdiff1d(np.arange(n_rows), chosen)
    assert abs(shesha.measures.rsa(X, Y) - shesha.measures.rsa(X[kept], Y[kept])) < 0.2
    assert shesha.measures.unbiased_cka(X, Y) > 0.9 and "unbiased" not in doubt.advice


def test_measures_that_a_shared_rare_cluster_does_not_move_have_no_such_doubt():
    X, Y = np.random.default_rng(1).standard_normal((2, 200, 10))
    X[::20], Y[::20] = X[::20] + 40, Y[::20] + 40
    assert "rare cluster" not in shesha.calibrate(X, Y, "Jaccard", seed=0).doubts


def test_measures_that_a_far_row_does_not_move_have_no_such_doubt(far):
    assert shesha.calibrate(*far, "Jaccard", seed=0).doubts.names == ()


def test_a_comparison_prints_its_doubts(far):
    found = shesha.compare(*far, ["CKA", "Jaccard"])
    assert "What could be wrong" in str(found)
    assert found.doubts.names == ("few rows",)
    with pytest.warns(shesha.CalibrationWarning, match="few rows"):
        assert shesha.compare(*far, ["CKA"], calibrate=True, n_permutations=19).doubts.names[0] == "few rows"


def test_a_measure_at_its_best_by_chance_is_saturated():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 40)), rng.standard_normal((30, 40))
    with pytest.warns(shesha.CalibrationWarning, match="saturated: LinReg saturates for 30 rows"):
        found = shesha.calibrate(X, Y, "LinReg", n_permutations=19, seed=0)
    assert found.doubts.names == ("saturated",)
    with pytest.warns(shesha.CalibrationWarning, match="saturated"):
        table = shesha.compare(X, Y, ["LinReg", "CKA"], calibrate=True, n_permutations=19)
    assert "LinReg saturates" in table.doubts["saturated"].text


def test_a_scale_that_both_share_looks_like_agreement():
    rng = np.random.default_rng(0)
    scale = np.exp(0.8 * rng.standard_normal((100, 1)))
    X, Y = (scale * rng.standard_normal((100, 20)) + 3 * rng.standard_normal((1, 20)) for _ in range(2))
    with pytest.warns(shesha.CalibrationWarning, match="row scale"):
        found = shesha.compare(X, Y, ["RSA", "CKA"], calibrate=True, n_permutations=19)
    assert found.doubts["row scale"].effect > 0.3


def test_clean_pairs_raise_nothing():
    rng = np.random.default_rng(0)
    for _ in range(5):
        Z = rng.standard_normal((80, 6))
        X, Y = (Z @ rng.standard_normal((6, 20)) + rng.standard_normal((80, 20)) for _ in range(2))
        assert shesha.compare(X, Y, ["CKA", "RSA", "Jaccard", "CCA", "SVCCA"]).doubts.names == ()


def test_cka_that_is_mostly_chance_is_told():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 30, 512))
    found = shesha.compare(X, Y, ["CKA"])
    doubt = found.doubts["width"]
    assert doubt.effect == pytest.approx(np.mean([cka(X, Y[rng.permutation(30)]) for _ in range(300)]), abs=0.002)
    assert f"Unbiased CKA is {shesha.measures.unbiased_cka(X, Y):.2f}" in doubt.text
    assert "width" not in shesha.compare(X, Y, ["unbiased CKA"]).doubts


def test_the_doubt_of_width_uses_what_the_comparison_computed(monkeypatch):
    X, Y = np.random.default_rng(0).standard_normal((2, 30, 512))
    made, build = [], Gram.build.__func__
    monkeypatch.setattr(
        Gram, "build", classmethod(lambda cls, *given, **kw: made.append(1) or build(cls, *given, **kw))
    )
    assert "width" in shesha.compare(X, Y, ["CKA"]).doubts
    assert len(made) == 2


@pytest.mark.parametrize("d", [3, 40])
def test_unbiased_cka_follows_from_cka_and_the_diagonals(d):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 20, d))
    first, second = (Representation.build(side).view(Gram) for side in (X, X + Y))
    found = first.unbiased_alignment(second, first.inner(second))
    assert found == pytest.approx(shesha.measures.unbiased_cka(X, X + Y), rel=1e-12)


def test_cka_of_many_rows_is_not_doubted_for_its_width():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 300, 10))
    assert "width" not in shesha.compare(X, Y, ["CKA"]).doubts
    assert "width" not in shesha.compare(X, X + Y, ["CKA"]).doubts


def test_of_distances_nothing_is_doubted():
    rng = np.random.default_rng(0)
    D = [shesha.compute_rdm(rng.standard_normal((20, 8))) for _ in range(2)]
    found = shesha.compare(shesha.Rdm(D[0]), shesha.Rdm(D[1]), ["RSA"])
    assert len(found.doubts) == 0


def test_an_audit_begins_with_its_doubts():
    rng = np.random.default_rng(0)
    layers = {"early": rng.standard_normal((60, 12)), "late": np.tile(rng.standard_normal((60, 12)), 3)}
    found = shesha.audit(layers, n_bootstrap=0, n_permutations=19)
    assert found["late"].doubts.names == ("copied features",)
    assert "What could be wrong\n  copied features (late, effect" in found.full_text()
    assert list(found.to_frame(full=True)["doubts"]) == ["", "copied features"]


def test_an_audit_with_a_design_does_not_doubt_the_order():
    rng = np.random.default_rng(0)
    batch = np.repeat(np.arange(3), 20)
    X = rng.standard_normal((60, 12)) + 3 * rng.standard_normal((3, 12))[batch]
    quick = {"n_bootstrap": 0, "n_permutations": 19}
    assert shesha.audit(X, **quick)["X"].doubts.names == ("order",)
    assert shesha.audit(X, blocks=batch, **quick)["X"].doubts.names == ()
    found = shesha.audit(X, batch, blocks=batch, n_bootstrap=0, n_permutations=19)["X"].doubts
    assert found.names == ("confounded labels",)
    assert found[0].text == "each class has its own value of blocks=, so no analysis can separate their effects"


@pytest.mark.parametrize("far", [1.0, 30.0, 1e3, 1e7])
def test_cka_without_each_row_is_that_of_the_other_rows(far):
    X, Y = np.random.default_rng(4).standard_normal((2, 40, 6))
    X[0], Y[0], X[2] = far * X[0], far * Y[0], far * X[2]
    whole, left = cka_without_each([X @ X.T, Y @ Y.T], 4)
    assert whole == pytest.approx(cka(X, Y), rel=1e-9)
    expected = [cka(np.delete(X, row, axis=0), np.delete(Y, row, axis=0)) for row in range(4)]
    assert left == pytest.approx(expected, rel=1e-6 if far < 1e6 else 0.05)


def test_very_far_rows_leave_the_precise_value_of_the_others():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 12))
    Y = X.copy()
    X[[3, 9, 21]] *= 1e9
    doubt = shesha.compare(X, Y, "CKA").doubts["few rows"]
    assert {3, 9, 21} <= set(doubt.rows)
    assert "but 1.00 without them" in doubt.text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda X: X.copy(), "the same values"),
        (lambda X: X.astype(np.float32), "rotated, shifted or rescaled"),
        (lambda X: 3 * X + 5, "rotated, shifted or rescaled"),
        (lambda X: X @ np.linalg.qr(np.random.default_rng(2).standard_normal((10, 10)))[0], "rotated"),
        (lambda X: np.hstack([X, np.zeros((len(X), 3))]), "rotated, shifted or rescaled"),
    ],
)
def test_a_copy_raises_a_doubt_without_a_warning(change, text):
    X = np.random.default_rng(1).standard_normal((80, 10))
    doubt = shesha.calibrate(X, change(X), "CKA", seed=0).doubts["copies"]
    assert text in doubt.text
    assert "copies" in shesha.compare(X, change(X), ["CKA"]).doubts


def test_rows_that_differ_in_their_lengths_only_are_named():
    X = np.random.default_rng(1).standard_normal((80, 10))
    with pytest.warns(shesha.CalibrationWarning, match="differ in their lengths only: row lengths are 1 in"):
        found = shesha.calibrate(X, X / np.linalg.norm(X, axis=1, keepdims=True), "CKA", seed=0)
    assert found.doubts.names == ("row lengths",)


def test_nearly_equal_data_are_no_copies():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 10))
    for Y in (X + 1e-4 * rng.standard_normal(X.shape), X[:, ::-1] * np.linspace(1, 1.01, 10), np.tanh(X)):
        assert "copies" not in shesha.calibrate(X, Y, "CKA", seed=0).doubts
    assert "copies" not in shesha.calibrate(X[:, :1], rng.standard_normal((80, 1)), "CKA", seed=0).doubts


def test_repeated_rows_are_told_with_the_score_without_them():
    """Empty texts have one vector in each of two unrelated encoders."""
    rng = np.random.default_rng(1)
    X, Y, means = *rng.standard_normal((2, 120, 10)), rng.standard_normal((2, 10))
    empty = rng.random(120) < 0.25
    X[empty], Y[empty] = 3 * means
    with pytest.warns(shesha.CalibrationWarning, match="rows repeat"):
        text = shesha.calibrate(X, Y, "RSA", seed=0).doubts["duplicates"].text
    kept = ~empty | (np.arange(120) == np.argmax(empty))
    scores = [shesha.measures.rsa(X[rows], Y[rows], metric="cosine") for rows in (kept, slice(None))]
    assert "Without the repeated rows, RSA is {:.2f} (with them {:.2f})".format(*scores) in text


@pytest.mark.parametrize(("order", "advice"), [("axes", "They are the first axes"), ("shuffled", "may be no features")])
def test_leading_axes_are_told_from_foreign_features(order, advice):
    rng = np.random.default_rng(3)
    signal = rng.standard_normal((150, 2))
    axes = np.c_[30 * signal, rng.standard_normal((150, 18)) * np.geomspace(1, 0.2, 18)]
    axes = axes[:, rng.permutation(20)] if order == "shuffled" else axes
    found = shesha.compare(axes, signal @ rng.standard_normal((2, 20)), "CKA")
    assert advice in found.doubts["few coordinates"].advice


def test_a_change_of_sign_is_an_effect_of_at_most_one():
    assert cluster_doubt("RSA", (3,), 0.9, -0.6, 1.5).effect == 1


def test_a_join_on_repeated_values_is_told():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 100, 8))
    same = np.r_[np.zeros(20, int), np.arange(1, 81)]
    left, right = np.nonzero(same[:, None] == same)
    with pytest.warns(shesha.CalibrationWarning, match=r"joined rows: the 480 rows .* combinations of only 100"):
        found = shesha.compare(X[left], Y[right], "CKA", calibrate=True)
    assert str(found).startswith("Check first: joined rows")


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeated_pairs_are_no_join(repeats):
    X, Y = np.repeat(np.random.default_rng(0).standard_normal((2, 60, 8)), repeats, axis=1)
    assert "joined rows" not in [
        found.name
        for found in shesha.doubting.find_pair_doubts([Representation.build(X), Representation.build(Y)], None)
    ]


def test_distances_of_the_other_triangle_are_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 5))
    square = squareform(pdist(X + 0.2 * rng.standard_normal(X.shape)))
    first, other = shesha.Rdm(pdist(X)), shesha.Rdm(square[np.tril_indices(25, -1)])
    with pytest.warns(
        shesha.CalibrationWarning, match=r"order of pairs: .* but of 0\.9\d if those of Y list the lower"
    ):
        shesha.compare(first, other, "RSA", calibrate=True)
    assert not shesha.compare(first, shesha.Rdm(square), "RSA", calibrate=True).doubts
