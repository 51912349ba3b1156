"""Scores less what covariates explain: what they are, and that nothing is found where nothing else is shared."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space, polar
from scipy.stats import binom, rankdata

import shesha.measures as measures
from shesha import CalibrationWarning, Rdm, RowNamesWarning, calibrate, compare, estimate
from shesha.kernels.regression import natural_spline
from shesha.views import Adjusted, Covariates, RankedRdm, Representation

N, D = 30, 6
LABELS = np.repeat(list("abc"), N // 3)
RUNS = 30


def of_covariate(rng, covariate, shared=0.0):
    """X and Y that both depend on the covariate, and on a hidden part where something else is shared."""
    effect = (LABELS[:, None] == np.unique(LABELS)) * 1.0 if covariate == "labels" else rng.standard_normal((N, 1))
    hidden = rng.standard_normal((N, 2))

    def side():
        signal = 2 * effect @ rng.standard_normal((effect.shape[1], D))
        return signal + shared * hidden @ rng.standard_normal((2, D)) + rng.standard_normal((N, D))

    return side(), side(), LABELS if covariate == "labels" else effect[:, 0]


def positive(covariate, measure, shared=0.0, runs=RUNS):
    found = 0
    for run in range(runs):
        X, Y, known = of_covariate(np.random.default_rng([21, run]), covariate, shared)
        found += calibrate(X, Y, measure, n_permutations=19, seed=run, covariates=known).significant
    return found


@pytest.mark.parametrize("measure", ["CKA", "RSA(metric=euclidean)", "mutual kNN(k=5)"])
@pytest.mark.parametrize("covariate", ["labels", "number"])
def test_what_only_the_covariate_shares_is_found_no_more_often_than_alpha(covariate, measure):
    assert positive(covariate, measure) <= binom.ppf(0.999, RUNS, 0.06)


@pytest.mark.parametrize("covariate", ["labels", "number"])
def test_what_else_is_shared_is_found(covariate):
    assert positive(covariate, "CKA", shared=1.0, runs=10) >= 9
    assert positive(covariate, "RSA(metric=euclidean)", shared=2.0, runs=10) >= 7


def test_rows_with_names_are_matched_by_them():
    rng = np.random.default_rng(3)
    X, Y, _ = of_covariate(rng, "labels")
    names = [f"row {i}" for i in range(N)]
    table = pd.DataFrame({"class": LABELS, "depth": rng.standard_normal(N)}, index=names)
    mixed = table.iloc[rng.permutation(N)]
    named = pd.DataFrame(X, index=names)
    with pytest.warns(RowNamesWarning, match="rows of covariates are in a different order from those of X"):
        assert measures.cka(named, Y, covariates=mixed) == measures.cka(X, Y, covariates=table)
    with pytest.warns(RowNamesWarning, match="rows of covariates are in a different order from those of X"):
        found = estimate(named, covariates=mixed, seed=0)
    assert found.value == estimate(X, covariates=table, seed=0).value
    with pytest.warns(RowNamesWarning, match="rows of covariates are in a different order from those of X"):
        drawn = estimate(named, covariates=mixed, n_permutations=19, seed=0, n_bootstrap=0)
    assert drawn.p_value == estimate(X, covariates=table, n_permutations=19, seed=0, n_bootstrap=0).p_value
    with pytest.raises(ValueError, match="rows of covariates must have the same names as those of X"):
        measures.cka(named, Y, covariates=table.set_index(table.index + "?"))


def test_many_covariates_take_their_degrees_of_freedom():
    """Freely permuted residuals would find too much here: they vary in fewer directions than rows."""
    found = 0
    runs = 12
    for run in range(runs):
        rng = np.random.default_rng([22, run])
        known = rng.standard_normal((N, 14))
        X, Y = (known @ rng.standard_normal((14, D)) + rng.standard_normal((N, D)) for _ in "XY")
        found += calibrate(X, Y, "CKA", n_permutations=19, seed=run, covariates=known).significant
    assert found <= binom.ppf(0.999, runs, 0.07)


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((N, D))
    return X, X[:, :4] + rng.standard_normal((N, 4)), rng.standard_normal((N, 2))


def less(rows, known):
    """The residuals of splines with three terms for each of two numbers of 30 rows; the mean stays."""
    design = np.column_stack([np.ones(len(rows)), *(natural_spline(column, 3) for column in known.T)])
    return rows - design @ np.linalg.lstsq(design, rows, rcond=None)[0] + rows.mean(axis=0)


def test_partial_cka_is_cka_of_the_residuals(pair):
    X, Y, known = pair
    expected = measures.cka(less(X, known), less(Y, known))
    assert measures.cka(X, Y, covariates=known) == pytest.approx(expected, abs=1e-12)
    assert compare(X, Y, "CKA", covariates=known)["CKA"].value == pytest.approx(expected, abs=1e-12)
    assert calibrate(X, Y, "CKA", covariates=known, seed=0).value == pytest.approx(expected, abs=1e-12)


def test_rsa_looks_at_the_residuals_as_other_measures_do(pair):
    X, Y, known = pair
    expected = measures.rsa(less(X, known), less(Y, known), metric="euclidean")
    assert measures.rsa(X, Y, metric="euclidean", covariates=known) == pytest.approx(expected, abs=1e-12)


def test_of_distances_partial_rsa_is_the_rank_partial_correlation(pair):
    X, Y, known = pair

    def ranks(rows):
        i, j = np.triu_indices(N, k=1)
        return rankdata(np.linalg.norm(rows[i] - rows[j], axis=1))

    z = (known - known.mean(axis=0)) / known.std(axis=0)
    r = np.corrcoef([ranks(X), ranks(Y), ranks(z)])
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    distances = Rdm(np.linalg.norm(z[:, None] - z, axis=2))
    assert measures.rsa(X, Y, metric="euclidean", covariates=distances) == pytest.approx(expected, abs=1e-10)
    given = [Rdm(np.linalg.norm(side[:, None] - side, axis=2)) for side in (X, Y)]
    assert measures.rsa(*given, covariates=known) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("measure", ["CKA", "RSA(metric=euclidean)"])
def test_a_draw_is_nearest_to_the_permutation_among_residuals(pair, measure):
    X, Y, known = pair
    orders = np.array([np.random.default_rng(k).permutation(N) for k in range(19)])
    if measure == "CKA":
        left = less(Y, known)
        directions = null_space(np.column_stack([np.ones(N), less(np.eye(N), known) - np.eye(N)]).T, rcond=1e-9)
        nearest = [polar(directions.T @ directions[order])[0] for order in orders]
        moved = [directions @ one @ directions.T @ left for one in nearest]
        expected = [measures.cka(less(X, known), one) for one in moved]
    else:
        known = Covariates.build(known, N).distances
        a, b, z = (
            side.view(RankedRdm, metric="euclidean").ranks
            for side in (
                Representation.build(X),
                Representation.build(Y),
                Representation.build(known),
            )
        )
        square = np.zeros((N, N))
        square[np.triu_indices(N, k=1)] = b - (b @ z) * z
        square += square.T
        expected = [_partial(a, square[np.ix_(order, order)][np.triu_indices(N, k=1)], z) for order in orders]
    found = calibrate(X, Y, measure, covariates=known, permutations=orders)
    assert found.null == pytest.approx(expected, abs=1e-10)
    assert compare(X, Y, measure, covariates=known, calibrate=True, permutations=orders)[measure].chance == (
        pytest.approx(np.mean(expected), abs=1e-10)
    )


def _partial(a, b, z):
    a, b = a - (a @ z) * z, b - (b @ z) * z
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_rows_of_like_covariates_take_each_others_place(pair):
    X, Y, known = pair
    assert calibrate(X, Y, covariates=known, seed=0).exchanged == "rows of similar covariates"
    found = compare(X, Y, "CKA", covariates=LABELS, blocks=np.arange(N) % 2, calibrate=True)
    assert found.exchanged == "rows of similar covariates, within blocks"
    assert found["CKA"].low < found["CKA"].value < found["CKA"].high
    assert calibrate(X, Y, covariates=known, groups=np.arange(N) // 2, seed=0).exchanged == "whole groups"
    strata = Covariates.build(LABELS, N).design()
    assert [set(LABELS[rows]) for rows in strata.strata] == [{"a"}, {"b"}, {"c"}]


def test_labels_and_their_columns_are_the_same(pair):
    X, Y, _ = pair
    as_labels = measures.cka(X, Y, covariates=LABELS)
    assert measures.cka(X, Y, covariates=(LABELS[:, None] == ["a", "b"]) * 1.0) == pytest.approx(as_labels)
    assert measures.cka(X, Y, covariates=np.unique(LABELS, return_inverse=True)[1]) == pytest.approx(as_labels)
    frame = pd.DataFrame({"batch": LABELS, "depth": X[:, 0] * 1e3 + 7})
    expected = measures.cka(X, Y, covariates=np.column_stack([X[:, 0], LABELS == "a", LABELS == "b"]) * 1.0)
    assert measures.cka(X, Y, covariates=frame) == pytest.approx(expected)
    assert measures.cka(X, Y, covariates=frame.to_numpy()) == pytest.approx(expected)


def test_units_and_copies_of_covariates_do_not_matter(pair):
    X, Y, known = pair
    once = measures.cka(X, Y, covariates=known)
    assert measures.cka(X, Y, covariates=known * [1e-200, 1e200]) == pytest.approx(once)
    assert measures.cka(X, Y, covariates=np.hstack([known, known])) == pytest.approx(once)


def test_subsets_are_adjusted_among_themselves(pair):
    X, _, known = pair
    rows = np.arange(0, N, 2)
    found = Adjusted(Representation.build(X), Covariates.build(known, N)).take_rows(rows)
    design = np.column_stack([np.ones(N), *(natural_spline(column, 3) for column in known.T)])[rows]
    fitted = design @ np.linalg.lstsq(design, X[rows], rcond=None)[0]
    assert found.rows == pytest.approx(X[rows] - fitted + X[rows].mean(axis=0))


def test_what_covariates_explain_whole_has_no_value(pair):
    X, Y, _ = pair
    found = compare(X, Y, ["CKA", "RSA(metric=euclidean)"], covariates=X)
    assert not found["CKA"].has_value
    alone = Rdm(np.abs(X[:, :1] - X[:, 0]))
    found = compare(alone, Y, "RSA(metric=euclidean)", covariates=alone)["RSA(metric=euclidean)"]
    assert "distances between covariates explain all distances between rows" in found.reason


@pytest.mark.parametrize("measure", ["CKA", "RSA(metric=euclidean)"])
def test_several_curved_covariates_are_taken_out(measure):
    """One distance for all covariates, or straight lines, left something to find in half of the runs and more."""
    found, n = 0, 100
    for run in range(RUNS):
        rng = np.random.default_rng([23, run])
        known = rng.standard_normal((n, 2))
        effect = np.hstack([known, known**2])
        X, Y = (1.5 * effect @ rng.standard_normal((4, D)) + rng.standard_normal((n, D)) for _ in "XY")
        found += calibrate(X, Y, measure, n_permutations=19, seed=run, covariates=known).significant
    assert found <= binom.ppf(0.999, RUNS, 0.07)


def test_natural_splines_are_those_of_scipy(rng):
    """Interpolating splines through values at the knots, straight beyond the outer ones, are combinations of terms."""
    values = rng.standard_normal(200)
    terms = np.column_stack([np.ones(200), natural_spline(values, 4)])
    knots = np.quantile(values, np.linspace(0, 1, 5))
    for heights in np.eye(5):
        smooth = CubicSpline(knots, heights, bc_type="natural")(values)
        left = smooth - terms @ np.linalg.lstsq(terms, smooth, rcond=None)[0]
        assert np.abs(left).max() < 1e-9


@pytest.mark.parametrize("bends", [25, 40])
def test_an_effect_with_more_bends_than_the_spline_is_warned_of(bends, rng):
    known = rng.uniform(-1, 1, 200)
    wave = np.sin(bends * np.pi * known)[:, None]
    X, Y = (3 * wave @ rng.standard_normal((1, D)) + rng.standard_normal((200, D)) for _ in "XY")
    with pytest.warns(
        CalibrationWarning,
        match=r"features still depend on covariates after a smooth fit \(.*\), so p-values may be too small",
    ):
        calibrate(X, Y, "CKA", covariates=known, n_permutations=19, seed=0)


@pytest.mark.parametrize("bends", [1.5, 3])
def test_splines_grow_with_the_bends_of_an_effect(bends):
    """Four terms called 63 to 93 % of these related."""
    found, n, terms, runs = 0, 200, [], 15
    for run in range(runs):
        rng = np.random.default_rng([24, run])
        known = rng.standard_normal(n)
        wave = np.sin(bends * np.pi * known / 2)[:, None]
        X, Y = (2 * wave * rng.standard_normal(8) + rng.standard_normal((n, 8)) for _ in "XY")
        found += calibrate(X, Y, "CKA", n_permutations=19, seed=run, covariates=known).significant
        terms.append(Covariates.build(known, n).fit(X, Y).n_taken - 1)
    assert found <= binom.ppf(0.999, runs, 0.07)
    assert 2 * bends + 4 < np.median(terms) <= 40


def test_terms_are_chosen_by_generalised_cross_validation(rng):
    known, label = rng.standard_normal(100), rng.integers(0, 3, 100).astype(str)
    X = np.sin(4 * known)[:, None] * rng.standard_normal(5) + 0.5 * rng.standard_normal((100, 5))
    counts = [4, 6, 8, 10, 12, 14, 16, 20]
    losses = []
    for count in counts:
        columns = [np.ones(100), natural_spline(known, count), label[:, None] == ["0", "1"]]
        design = np.column_stack(columns).astype(float)
        left = X - design @ np.linalg.lstsq(design, X, rcond=None)[0]
        losses.append((left**2).sum() / (100 - design.shape[1]) ** 2)
    best = counts[int(np.argmin(losses))]
    assert best > 4
    found = Covariates.build({"a": known, "b": label}, 100).fit(X, rng.standard_normal((100, 5)))
    assert found.n_taken == 1 + 2 + min(20, round(1.5 * best))


def test_straight_effects_and_few_rows_keep_their_few_terms(rng):
    known = rng.standard_normal(100)
    taken = [
        Covariates.build(known, 100).fit(known[:, None] + rng.standard_normal((100, 20))).n_taken for _ in range(20)
    ]
    assert np.median(taken) == 5
    few = Covariates.build(known[:24], 24)
    assert few.fit(np.sin(9 * known[:24, None])) is few


def test_distances_only_suffice_for_ranked_distances(pair):
    X, Y, known = pair
    found = compare(
        X,
        Y,
        ["CKA", "RSA"],
        covariates=Rdm(np.ones((N, N)) - np.eye(N) + 0.1 * (known @ known.T > 0) * (1 - np.eye(N))),
    )
    assert (
        "controlling for covariates needs features and covariate columns, got a distance matrix" in found["CKA"].reason
    )


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (np.r_[np.inf, np.ones(N - 1)], "covariates must be free of NaN, got NaN or infinity in rows 0"),
        (np.c_[np.arange(N), np.full(N, np.inf)], "column 1 of covariates must be free of NaN"),
        ([None, *LABELS[1:]], "covariates must be free of missing labels, got none in rows 0"),
        (np.ones(N), "covariates must vary between rows, got 1 in all rows"),
        (np.c_[np.arange(N), ["a"] * N], "column 1 of covariates must vary between rows, got a in all"),
        (np.arange(N - 1), f"covariates must have one value for each of the {N} rows, got {N - 1}"),
        (np.ones((2, N, 1)), r"covariates must be of shape \(n,\) or \(n, n_covariates\), got shape"),
        (np.arange(N).astype(str), f"covariates must leave at least 4 degrees of freedom of {N} rows, got {N} terms"),
        (
            np.random.default_rng(0).standard_normal((N, N)),
            "covariates must leave at least 4 degrees of freedom of 30 rows",
        ),
        (Rdm(np.ones((4, 4)) - np.eye(4)), f"covariates must have the {N} rows of the data, got 4 rows"),
    ],
)
def test_covariates_that_cannot_be_taken_out_are_refused(pair, covariates, message):
    X, Y, _ = pair
    with pytest.raises(ValueError, match=message):
        compare(X, Y, "CKA", covariates=covariates)


def test_nearly_as_many_covariates_as_rows_are_taken_out(pair):
    X, Y, _ = pair
    known = np.random.default_rng(1).standard_normal((N, N - 5))
    assert 0 < measures.cka(X, Y, covariates=known) <= 1


def test_what_has_no_rows_to_adjust_is_refused(pair):
    X, Y, known = pair
    with pytest.raises(ValueError, match="covariates need a measure of the library, got the function"):
        calibrate(X, Y, lambda a, b: 1.0, covariates=known)
    with pytest.raises(ValueError, match="truncate must be None with covariates, got 3"):
        calibrate(X, Y, covariates=known, truncate=3)
    with pytest.raises(ValueError, match="covariates must have one row per input, got data of shape"):
        compare(np.ones((N, 2, 3)), np.ones((N, 2, 3)), "CKA", covariates=known)


def test_a_mapping_is_a_table_of_named_covariates(rng):
    n = 60
    X, Y = rng.standard_normal((2, n, 5))
    known = {"depth": rng.standard_normal(n), "batch": rng.integers(3, size=n).astype(str)}
    found = calibrate(X, Y, "CKA", covariates=known, n_permutations=19, seed=0)
    table = calibrate(X, Y, "CKA", covariates=pd.DataFrame(known), n_permutations=19, seed=0)
    assert found.null == table.null


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"depth": np.ones((20, 2))}, r"covariates\['depth'\] must be of shape \(n,\), got shape \(20, 2\)"),
        ({"depth": np.ones(3)}, r"covariates\['depth'\] must have one value for each of the 20 rows, got 3"),
    ],
)
def test_a_mapping_of_no_columns_is_refused(rng, known, message):
    X, Y = rng.standard_normal((2, 20, 5))
    with pytest.raises(ValueError, match=message):
        calibrate(X, Y, "CKA", covariates=known, n_permutations=19)


@pytest.mark.parametrize("scale", [1e-200, 1e160, 2.0**1000])
def test_residuals_do_not_depend_on_the_scale_of_the_features(rng, scale):
    rows = rng.standard_normal((40, 3))
    known = Covariates.build(rng.standard_normal(40), 40)
    np.testing.assert_allclose(known.residuals(rows * scale) / scale, known.residuals(rows), rtol=1e-12, atol=1e-14)
    sizes = np.array([1, 1e-20, 1e-9])
    np.testing.assert_allclose(known.residuals(rows * sizes), known.residuals(rows) * sizes, rtol=1e-9)


@pytest.mark.parametrize("n_covariates", [1, 2, 14])
def test_permuted_residuals_keep_their_degrees_of_freedom(rng, n_covariates):
    """Adjusted twice, they would lose directions, and half of all wide unrelated data would look related."""
    known = Covariates.build(rng.standard_normal((40, n_covariates)), 40)
    rows = known.residuals(rng.standard_normal((40, 60)) + 3)
    moved = known.permute(rows, rng.permutation(40))
    centred, permuted = rows - rows.mean(axis=0), moved - moved.mean(axis=0)
    np.testing.assert_allclose(permuted.T @ permuted, centred.T @ centred, atol=1e-11)
    np.testing.assert_allclose(known.basis.T @ permuted, 0, atol=1e-12)
    np.testing.assert_allclose(known.permute(rows, np.arange(40)), rows, atol=1e-12)


def test_residuals_permuted_within_the_classes_of_a_label_are_moved_as_they_are(rng):
    known = Covariates.build(LABELS, N)
    rows = known.residuals(rng.standard_normal((N, 4)))
    order = np.concatenate([place[rng.permutation(len(place))] for place in np.arange(N).reshape(3, -1)])
    np.testing.assert_allclose(known.permute(rows, order), rows[order], atol=1e-12)


def test_wide_unrelated_rows_are_no_more_similar_than_permuted_ones():
    found = []
    for run in range(3):
        rng = np.random.default_rng([23, run])
        X, Y, known = (rng.standard_normal((60, d)) for d in (300, 300, 6))
        found.append(calibrate(X, Y, "CKA", covariates=known, n_permutations=39, seed=0).z)
    assert abs(np.mean(found)) < 2.5


def test_a_jump_is_taken_out_where_it_is(rng):
    number = rng.standard_normal(80)
    jump = np.sign(number - 0.3)[:, None] * rng.standard_normal(12)
    known = Covariates.build(number, 80)
    smooth, both = known.fit(rng.standard_normal((80, 12))), known.fit(jump + 0.5 * rng.standard_normal((80, 12)))
    assert smooth.n_taken == known.n_taken
    assert both.n_taken == known.n_taken + 1
    np.testing.assert_allclose(both.residuals(jump), np.tile(jump.mean(axis=0), (80, 1)), atol=1e-9)


def test_a_bump_has_two_jumps(rng):
    number = rng.standard_normal(60)
    bump = (np.abs(number) < 0.5)[:, None] * 3 * rng.standard_normal(16)
    known = Covariates.build(number, 60).fit(bump + rng.standard_normal((60, 16)))
    assert known.n_taken == Covariates.build(number, 60).n_taken + 2
    np.testing.assert_allclose(known.residuals(bump), np.tile(bump.mean(axis=0), (60, 1)), atol=1e-9)


@pytest.mark.parametrize("variant", ["feature_split", "basis_averaged_split"])
def test_halves_of_noise_are_not_stable_beyond_two_covariates(variant):
    """Covariates leave both halves the same rows that are shorter than others."""
    p_values = []
    for run in range(3):
        rng = np.random.default_rng([24, run])
        X, known = rng.standard_normal((40, 100)), rng.standard_normal((40, 2))
        p_values.append(
            estimate(X, variant=variant, covariates=known, n_permutations=19, n_draws=4, seed=0, n_bootstrap=0).p_value
        )
    assert max(p_values) > 0.2


def test_halves_that_share_more_than_covariates_are_stable(rng):
    known = rng.standard_normal((40, 2))
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 60)) + rng.standard_normal((40, 60))
    assert estimate(
        X + known @ rng.standard_normal((2, 60)), covariates=known, n_permutations=19, seed=0, n_bootstrap=0
    ).significant


def _with_product(n, labelled, seed):
    """Two unrelated representations that follow the product of two covariates, and the covariates."""
    rng = np.random.default_rng(seed)
    depth, other = rng.standard_normal((2, n))
    batch = rng.integers(0, 3, n)
    effect = depth * np.array([-1, 0, 1.5])[batch] if labelled else depth * other
    sides = [effect[:, None] * rng.standard_normal(8) + rng.standard_normal((n, 8)) for _ in range(2)]
    return sides, {"depth": depth, "other": batch.astype(str) if labelled else other}, depth * other


@pytest.mark.parametrize("labelled", [False, True])
def test_an_interaction_of_covariates_is_reported_and_its_product_removes_it(labelled):
    (X, Y), covariates, product = _with_product(120, labelled, 1)
    with pytest.warns(CalibrationWarning, match=r"still depend on the product of .*depth.* and .*other"):
        calibrate(X, Y, "CKA", covariates=covariates, seed=0)
    if not labelled:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CalibrationWarning)
            assert not calibrate(X, Y, "CKA", covariates=covariates | {"product": product}, seed=0).significant


def test_effects_that_add_up_are_no_interaction():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 100))
    effect = np.exp(a) + b**2
    X, Y = (effect[:, None] * rng.standard_normal(8) + rng.standard_normal((100, 8)) for _ in range(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrate(X, Y, "CKA", covariates={"a": a, "b": b}, seed=0)
    assert not [one for one in caught if "product of" in str(one.message)]
