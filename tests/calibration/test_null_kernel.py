"""Relabelled views give what views of permuted rows would give, at once or one by one, by any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import shesha.measures as measures
from shesha import CalibrationWarning, NotEstimableWarning, Rdm, calibrate, calibrate_layers
from shesha.calibration import permutation_scores as null_kernel
from shesha.kernels.condensed_matrices import permutation_grids
from shesha.nulls.permutations import identity_first
from shesha.support.warnings import NotEstimable
from shesha.views import Features, Gram, Representation, features

pytestmark = pytest.mark.filterwarnings("ignore:saturated:shesha.CalibrationWarning")

PAIRED = [name for name in measures.names() if measures.get(name).paired and name != "sampled CKA"]
"""Features drawn apart, as here, have no sampled CKA; its own tests hold its null against permuted rows."""
WHOLE = ("CKA", "unbiased CKA", "RV")
"""Measures whose null is a cross-product of factors for few features, and a product of triangles for many."""
EXACT = {"atol": 1e-12, "rtol": 1e-12}


def data(n, p, q, seed=0, share=0.5):
    rng = np.random.default_rng([seed, n, p, q])
    X = rng.standard_normal((n, p)) + 0.3
    return X, share * X @ rng.standard_normal((p, q)) + rng.standard_normal((n, q)) * np.geomspace(1, 2, q) - 0.2


def tied(n, p, q):
    rng = np.random.default_rng([1, n, p, q])
    return rng.integers(1, 4, (n, p)).astype(float), rng.integers(1, 4, (n, q)).astype(float)


SHAPES = {
    "few features": data(26, 4, 4),
    "unequal widths": data(26, 5, 9),
    "more features than rows": data(14, 30, 30),
    "one side wide": data(16, 3, 40),
    "tied": tied(26, 6, 7),
}


def drawn(n, count=19, seed=0):
    rng = np.random.default_rng([seed, n])
    return np.array([rng.permutation(n) for _ in range(count)])


def views(measure, arrays):
    return [measure.look(Representation.build(array)) for array in arrays]


def reason_against(measure, X, Y):
    """Why the measure has no value for the data, if it has none."""
    try:
        measure.score(X, Y)
    except NotEstimable as reason:
        return str(reason)
    return ""


@pytest.mark.parametrize("name", PAIRED)
def test_the_null_is_what_permuted_rows_give(small, name):
    measure = small(name)
    for X, Y in SHAPES.values():
        orders, reason = drawn(len(X)), reason_against(measure, X, Y)
        if reason:
            with pytest.warns(NotEstimableWarning):
                assert calibrate(X, Y, measure, permutations=orders).reason == reason
            continue
        found = calibrate(X, Y, measure, permutations=orders)
        assert_allclose(found.value, measure.score(X, Y), **EXACT)
        assert_allclose(found.null, [measure.score(X, Y[order]) for order in orders], **EXACT)


def test_only_canonical_correlations_have_nothing_to_say(small):
    """So that a comparison above is not left out unawares."""
    silent = {shape: {name for name in PAIRED if reason_against(small(name), *SHAPES[shape])} for shape in SHAPES}
    spanning = {"more features than rows": {"CCA", "PWCCA"}, "one side wide": {"CCA", "PWCCA", "SVCCA"}}
    assert silent == {shape: spanning.get(shape, set()) for shape in SHAPES}


@pytest.mark.parametrize("name", ["RSA", "RDM drift", "DistCorr", "RSMDiff", "Jaccard", "mutual kNN", "2nd-Cos", "RTD"])
def test_given_distances_are_relabelled_on_both_sides(small, name):
    X, Y = SHAPES["few features"]
    D = np.linalg.norm(Y[:, None] - Y, axis=-1)
    measure, orders = small(name), drawn(len(X))
    found = calibrate(X, Rdm(D), measure, permutations=orders)
    expected = [measure.score(X, Rdm(D[np.ix_(order, order)])) for order in orders]
    assert_allclose(found.null, expected, **EXACT)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    ("n", "p", "q", "gathers"),
    [
        (40, 3, 4, False),
        (40, 20, 29, False),
        (40, 20, 30, True),
        (70, 40, 40, True),
        (5, 2, 2, False),
        (5, 20, 20, False),
        (30, 60, 3, False),
        (16, 40, 60, True),
    ],
)
def test_factors_and_triangles_give_the_same_null(small, monkeypatch, name, n, p, q, gathers):
    X, Y = data(n, p, q)
    measure, orders, taken = small(name), drawn(n, 25), []
    whole = null_kernel._products
    monkeypatch.setattr(null_kernel, "_products", lambda *args: taken.append(args) or whole(*args))
    found = calibrate(X, Y, measure, permutations=orders)
    assert bool(taken) == gathers
    assert_allclose(found.null, [measure.score(X, Y[order]) for order in orders], **EXACT)
    monkeypatch.setattr(null_kernel, "_gathers", lambda a, b: not gathers)
    assert_allclose(calibrate(X, Y, measure, permutations=orders).null, found.null, **EXACT)


@pytest.mark.parametrize("name", [name for name in PAIRED if measures.get(name).inner_product])
def test_too_little_memory_for_squares_changes_nothing(small, monkeypatch, name):
    X, Y = data(40, 30, 30)
    orders = drawn(40)
    found = calibrate(X, Y, small(name), permutations=orders)
    monkeypatch.setattr(null_kernel, "_fits_memory", lambda rows, columns: False)
    assert_allclose(calibrate(X, Y, small(name), permutations=orders).null, found.null, **EXACT)


@pytest.mark.parametrize(
    ("n", "first", "second"), [(4, 1, 1), (4, 3, 5), (33, 2, 3), (34, 9, 1), (120, 3, 40), (260, 2, 3), (260, 2, 4)]
)
def test_permuted_grids_are_inner_products_of_squares(rng, n, first, second):
    squares = []
    for count in (first, second):
        side = np.triu(rng.standard_normal((count, n, n)), k=1)
        squares.append(side + side.transpose(0, 2, 1))
    upper = np.triu_indices(n, k=1)
    orders = drawn(n, 5)
    found = list(permutation_grids([a[upper] for a in squares[0]], [b[upper] for b in squares[1]], n, list(orders)))
    for order, grid in zip(orders, found, strict=True):
        moved = squares[1][:, order][:, :, order]
        assert_allclose(grid, np.einsum("aij,bij->ab", squares[0], moved) / 2, atol=1e-10)


LAYERS_A = [data(30, 6, width, seed=1)[1] for width in (4, 25, 6)]
LAYERS_B = [data(30, 6, width, seed=2)[1] for width in (30, 5, 4, 12)]
LAYER_MEASURES = [
    *WHOLE,
    "DistCorr",
    "RSA",
    "RDM drift",
    "mutual kNN",
    "CKNNA",
    "SVCCA",
    "OrthProc",
    "PermProc",
    "RSMDiff",
    "GULP",
]


@pytest.mark.parametrize("name", LAYER_MEASURES)
@pytest.mark.parametrize("turned", [False, True], ids=["narrow first", "wide first"])
def test_layer_grids_are_their_pairs(small, name, turned):
    """Which way is taken depends on the widths of the first pair only: either must do for all."""
    measure, orders = small(name), drawn(30, 19)
    sides = [LAYERS_B, LAYERS_A] if turned else [LAYERS_A, LAYERS_B]
    rows, columns = (views(measure, side) for side in sides)
    found = list(null_kernel.grids(measure, rows, columns, list(orders)))
    expected = [[calibrate(a, b, measure, permutations=orders).null for b in sides[1]] for a in sides[0]]
    assert_allclose(np.array(found).transpose(1, 2, 0), expected, **EXACT)


@pytest.mark.parametrize("name", ["CKA", "RSA", "RDM drift", "mutual kNN", "OrthProc"])
def test_a_grid_of_one_pair_is_calibrated_as_the_pair_is(name, small):
    X, Y = SHAPES["unequal widths"]
    one = calibrate(X, Y, small(name), n_permutations=39, seed=3)
    grid = calibrate_layers([X], [Y], small(name), n_permutations=39, seed=3)
    assert grid.null == pytest.approx(one.null, abs=1e-12)
    for field in ("value", "calibrated", "p_value", "threshold", "chance", "chance_sd"):
        assert getattr(grid, field) == pytest.approx(getattr(one, field), abs=1e-12)
    assert grid.closest.p_value == one.p_value


def test_the_observed_value_goes_through_the_same_kernel(small):
    """A draw that changes nothing is a tie to the last bit."""
    X, Y = SHAPES["unequal widths"]
    stays = np.tile(np.arange(len(X)), (19, 1))
    for name in PAIRED:
        with pytest.warns(CalibrationWarning, match="permutations contain only 1 distinct permutations"):
            found = calibrate(X, Y, small(name), permutations=stays)
        assert found.null == (found.value,) * 19, name
        assert (found.p_value, found.calibrated) == (1.0, 0.0), name


@pytest.mark.parametrize("name", PAIRED)
def test_which_draw_comes_first_changes_no_bit(small, name):
    """What the first draw works out serves the others: threads would make it a matter of luck."""
    X, Y = SHAPES["unequal widths"]
    measure, orders = small(name), list(drawn(len(X), 9))
    found = []
    for one_way in (orders, orders[::-1]):
        rows, columns = (views(measure, [side]) for side in (X, Y))
        found.append(np.array(list(null_kernel.grids(measure, rows, columns, one_way)))[:, 0, 0])
    assert found[0].tolist() == found[1][::-1].tolist()


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("shape", ["unequal widths", "tied"])
def test_threads_change_no_bit(small, with_threads, shape, name):
    X, Y = SHAPES[shape]
    measure, orders = small(name), drawn(len(X), 27)
    one, two = (with_threads(count, lambda: calibrate(X, Y, measure, permutations=orders)) for count in (1, 2))
    assert one == two


@pytest.mark.parametrize("name", LAYER_MEASURES)
def test_threads_change_no_bit_of_a_grid(small, with_threads, name):
    orders = drawn(30, 27)
    one, two = (
        with_threads(count, lambda: calibrate_layers(LAYERS_A, LAYERS_B, small(name), permutations=orders))
        for count in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize("name", PAIRED)
def test_every_view_is_made_once_however_many_draws(small, counted, name):
    X, Y = SHAPES["unequal widths"]
    measure = small(name)
    made = counted(measure.view)
    for n_permutations in (19, 60):
        made.clear()
        calibrate(X, Y, measure, n_permutations=n_permutations, seed=0)
        assert len(made) == 2


@pytest.mark.parametrize("name", LAYER_MEASURES)
def test_every_layer_is_looked_at_once(small, counted, name):
    measure = small(name)
    made = counted(measure.view)
    calibrate_layers(LAYERS_A, LAYERS_B, measure, n_permutations=19, seed=0)
    assert len(made) == len(LAYERS_A) + len(LAYERS_B)


@pytest.fixture
def triangular_factors(monkeypatch):
    """List the wide matrices of which a triangular factor is computed from now on."""
    done, compute = [], features.triangular_factor
    monkeypatch.setattr(features, "triangular_factor", lambda rows: done.append(rows.shape) or compute(rows))
    return done


def test_wide_features_are_made_compact_once(small, triangular_factors):
    calibrate(*data(20, 50, 60), small("OrthProc"), n_permutations=30, seed=0)
    assert len(triangular_factors) == 2


def test_wide_layers_are_made_compact_once(small, triangular_factors):
    a, b = ([data(20, 6, 50, seed=seed)[1] for seed in side] for side in ((1, 2), (3, 4, 5)))
    calibrate_layers(a, b, small("OrthProc"), n_permutations=30, seed=0)
    assert len(triangular_factors) == 5


def test_relabelling_keeps_what_has_been_worked_out(rng, triangular_factors):
    """Also for the second time, and whichever of the two is asked first."""
    source = Representation.build(rng.standard_normal((12, 20)))
    features, order = source.view(Features), rng.permutation(12)
    moved = features.permute(order)
    again = moved.permute(order)
    for name in ("centred", "compact", "rows"):
        assert np.array_equal(getattr(moved, name), getattr(features, name)[order])
        assert np.array_equal(getattr(again, name), getattr(features, name)[order][order])
    assert np.array_equal(again.unit_columns[0], features.unit_columns[0][order][order])
    assert again.centred_norm == features.centred_norm
    assert len(triangular_factors) == 1
    gram = source.view(Gram)
    assert np.array_equal(gram.permute(order).factor, gram.factor[order])


@pytest.mark.parametrize("name", PAIRED)
def test_where_permutations_change_nothing_nothing_is_significant(small, name):
    """Rows of a block are equal, so that all draws tie, ties among neighbours included."""
    rng, block = np.random.default_rng(0), np.repeat(np.arange(12), 3)
    X = rng.standard_normal((12, 6))
    for Y in (rng.standard_normal((12, 6)), X @ rng.standard_normal((6, 6)), X + 0.3 * rng.standard_normal((12, 6))):
        found = calibrate(X[block], Y[block], small(name), blocks=block, n_permutations=19, seed=0)
        assert (found.p_value, found.calibrated) == (1.0, 0.0)


@pytest.mark.parametrize("n_orders", [1, 3])
def test_the_identity_comes_first(n_orders):
    orders = list(drawn(7, n_orders))
    first, *others = identity_first(orders)
    assert np.array_equal(first, np.arange(7))
    assert all(a is b for a, b in zip(orders, others, strict=True))


@pytest.mark.parametrize("products", [True, False])
def test_measures_that_share_a_pass_score_as_alone(rng, products):
    """Kernel alignments of one view: the observed score first, then that of each permutation."""
    n = 30
    X, Y = rng.standard_normal((2, n, 3))
    chosen = [measures.get("CKA"), measures.get("RV")]
    a, b = (chosen[0].look(Representation.build(one, "X")) for one in (X, Y))
    if products:
        a, b = a.dense(), b.dense()
    assert null_kernel._uses_products(chosen[0], [a], [b]) is products
    orders = [rng.permutation(n) for _ in range(4)]
    assert null_kernel.shared(chosen, a, b) == [chosen]
    found = list(null_kernel.side_by_side(chosen, a, b, orders))
    expected = [
        [measure.compare_views(*(measure.look(Representation.build(one, "X")) for one in (X, Y[order])))
         for measure in chosen]
        for order in (np.arange(n), *orders)
    ]  # fmt: skip
    assert np.array(found) == pytest.approx(np.array(expected))


def test_products_and_other_measures_have_passes_of_their_own(rng):
    X, Y = rng.standard_normal((2, 12, 30))
    chosen = [measures.get("CCA"), measures.get("PWCCA")]
    a, b = (chosen[0].look(Representation.build(one, "X")) for one in (X, Y))
    assert null_kernel.shared(chosen, a, b) == [chosen]
    assert null_kernel.shared([], a, b) == []
