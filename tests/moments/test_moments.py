"""Sums over batches equal those over all rows, however the rows come."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shesha
from shesha import Moments
from shesha.moments import merge_all
from shesha.moments.sums import sum_panel

# What sums suffice for.
LINEAR = [
    "CKA",
    "unbiased CKA",
    "RV",
    "PWCKA",
    "CCA",
    "SVCCA",
    "PWCCA",
    "OrthProc",
    "AngShape",
    "ProcDist",
    "Procrustes similarity",
    "Procrustes similarity(scale=False)",
    "LinReg",
    "GULP",
    "GULP(ridge=0.1)",
    "EOS",
    "subspace overlap",
    "HardCorr",
    "SoftCorr",
    "soft matching",
    "eigenspectrum similarity",
    "MagDiff",
]


def pair(n, widths=(14, 12), offset=0.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 6))
    sides = (shared @ rng.standard_normal((6, d)) + 0.5 * rng.standard_normal((n, d)) for d in widths)
    return [side * scale + offset for side in sides]


def centred_products(rows):
    """Products of (x - m, |x - m|^2), by the definition, in extended precision."""
    rows = np.asarray(rows, dtype=np.longdouble)
    moved = rows - rows.mean(axis=0)
    lengths = (moved**2).sum(axis=1)
    z = np.column_stack([moved, lengths - lengths.mean()])
    return np.asarray(z, dtype=float)


@pytest.mark.parametrize(
    ("n", "offset", "scale", "kind"),
    [
        (500, 0.0, 1.0, np.float64),
        (20_000, 1e6, 1e-6, np.float64),
        (3_000, -1e3, 1.0, np.float32),
        (3_000, 0.0, 1e-150, np.float64),
        (300, 0.0, 1e-200, np.float64),
        (3_000, 0.0, 1e120, np.float64),
        (60, 0.0, 1.0, np.float16),
    ],
)
def test_every_linear_measure_equals_that_of_the_rows(n, offset, scale, kind):
    X, Y = (side.astype(kind) for side in pair(n, offset=offset, scale=scale))
    streamed, direct = shesha.compare(Moments.of(X, Y), LINEAR), shesha.compare(X, Y, LINEAR)
    for score in streamed:
        assert score.value == pytest.approx(direct[score.name].value, rel=1e-12, abs=0), score.name


@pytest.mark.parametrize("widths", [(30, 4), (4, 30), (1, 1), (1, 9)])
def test_unequal_and_single_columns(widths):
    X, Y = pair(200, widths)
    names = [name for name in LINEAR if "subspace" not in name]
    streamed, direct = shesha.compare(Moments.of(X, Y), names), shesha.compare(X, Y, names)
    for score in streamed:
        expected = direct[score.name]
        assert score.has_value == expected.has_value
        assert not score.has_value or score.value == pytest.approx(expected.value, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(("offset", "kind"), [(0.0, np.float64), (0.0, np.float32), (300.0, np.float32)])
def test_dependent_and_constant_columns_have_the_rank_that_the_rows_have(offset, kind):
    """What rounding of the stored numbers adds to dependent columns is no direction."""
    X, Y = pair(400)
    X = (np.column_stack([X, X[:, :3] @ np.ones((3, 2)), np.full(400, 7.0)]) + offset).astype(kind)
    streamed, direct = shesha.compare(Moments.of(X, Y), LINEAR), shesha.compare(X, Y, LINEAR)
    for score in streamed:
        assert score.value == pytest.approx(direct[score.name].value, rel=1e-9), score.name
    assert "constant" in streamed["HardCorr"].notes[0]


@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_batches_of_any_lengths_give_the_same_bits(lengths, seed):
    X, Y = pair(sum(lengths), (5, 3), seed=seed)
    moments, start = Moments(), 0
    for length in lengths:
        moments.update(X[start : start + length], Y[start : start + length])
        start += length
    whole = Moments.of(X, Y)
    assert len(moments) == len(whole) == sum(lengths)
    for one, other in zip(moments.parts(), whole.parts(), strict=True):
        assert (one.cross[0, 1] == other.cross[0, 1]).all()
        assert (one.sides[0].products == other.sides[0].products).all()


def test_threads_do_not_change_a_bit(monkeypatch):
    X, Y = pair(100_000, (40, 30))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SHESHA_THREADS", threads)
        found.append(merge_all(Moments.of(X, Y).parts()))
    assert (found[0].cross[0, 1] == found[1].cross[0, 1]).all()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_products_and_means_are_those_of_the_definition(offset):
    X, Y = pair(5_000, offset=offset)
    sums = merge_all(Moments.of(X, Y).parts())
    x, y = centred_products(X), centred_products(Y)
    assert sums.sides[0].mean == pytest.approx(X.mean(axis=0), rel=1e-12)
    for found, expected in ((sums.sides[0].products, x.T @ x), (sums.cross[0, 1], x.T @ y)):
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_merging_in_any_order_gives_the_same_value():
    X, Y = pair(6_000, offset=1e5)
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.choice(np.arange(1, 6_000), 7, replace=False))
    pieces = [Moments.of(x, y) for x, y in zip(np.split(X, cuts), np.split(Y, cuts), strict=True)]
    expected = shesha.compare(X, Y, LINEAR)
    for _ in range(30):
        merged = Moments()
        for place in rng.permutation(len(pieces)):
            merged = merged.merge(pieces[place])
        assert len(merged) == 6_000
        for score in shesha.compare(merged, LINEAR):
            assert score.value == pytest.approx(expected[score.name].value, rel=1e-12), score.name


def merge_at_random(pieces, rng):
    """Merge pairs until one is left."""
    while len(pieces) > 1:
        first, second = rng.choice(len(pieces), 2, replace=False)
        merged = pieces[first].merge(pieces[second])
        pieces = [piece for place, piece in enumerate(pieces) if place not in (first, second)] + [merged]
    return pieces[0]


def test_batches_of_one_to_all_rows_merged_at_random_give_every_measure_far_from_zero():
    X, Y = pair(20_000, offset=1e6, scale=1e-6)
    rng = np.random.default_rng(2)
    expected = shesha.compare(X, Y, LINEAR)
    seen = set()
    for _ in range(12):
        cuts = np.cumsum(np.exp(rng.uniform(0, np.log(20_001), 60)).astype(int))
        cuts = cuts[cuts < 20_000]
        pieces = [Moments.of(x, y) for x, y in zip(np.split(X, cuts), np.split(Y, cuts), strict=True)]
        seen |= {len(piece) for piece in pieces}
        for score in shesha.compare(merge_at_random(pieces, rng), LINEAR):
            assert score.value == pytest.approx(expected[score.name].value, rel=1e-12, abs=0), score.name
    assert min(seen) == 1
    assert max(seen) > 15_000


@pytest.mark.parametrize("size", [1, 7, 1_000, 20_000])
def test_every_size_of_batches_gives_every_measure_far_from_zero(size):
    X, Y = pair(20_000, offset=1e6, scale=1e-6)
    moments = Moments()
    for start in range(0, 20_000, size):
        moments.update(X[start : start + size], Y[start : start + size])
    expected = shesha.compare(X, Y, LINEAR)
    for score in shesha.compare(moments, LINEAR):
        assert score.value == pytest.approx(expected[score.name].value, rel=1e-12, abs=0), score.name


def test_the_list_of_linear_measures_is_complete():
    from shesha.measures import choose, takes_moments

    assert {one.name for one in choose("all") if takes_moments(one)} == {name for name in LINEAR if "(" not in name}


def test_a_far_first_row_costs_the_others_no_digits():
    X, Y = pair(3_000, offset=5.0)
    X[0] = 1e9
    left_out = next(iter(shesha.moments.leave_one_out(Moments.of(X, Y).parts())))
    x = centred_products(X[-left_out.n_rows :])
    assert np.abs(left_out.sides[0].features - (x.T @ x)[:-1, :-1]).max() < 1e-6 * np.abs(x.T @ x)[:-1, :-1].max()


def test_means_and_covariances_are_numpys():
    X, Y = pair(700, offset=100.0)
    moments = Moments.of(X, Y)
    assert moments.mean("Y") == pytest.approx(Y.mean(axis=0))
    assert moments.covariance("X") == pytest.approx(np.cov(X.T), rel=1e-10)
    both = np.cov(np.column_stack([X, Y]).T)
    assert moments.covariance("X", "Y") == pytest.approx(both[:14, 14:], rel=1e-8)
    assert repr(moments) == "Moments of 700 rows: X (14) and Y (12) features"


@pytest.mark.parametrize("sample", ["", "rows", "columns"])
@pytest.mark.parametrize(
    "name", ["effective_rank", "participation_ratio", "corrected_participation_ratio", "anisotropy"]
)
def test_descriptors_of_one_side_are_those_of_the_rows(name, sample):
    X, Y = pair(900, offset=1e4)
    describe, options = getattr(shesha.descriptors, name), {"sample": sample} if sample else {}
    if not sample or name == "corrected_participation_ratio":
        assert describe(Moments.of(X, Y).side("X"), **options) == pytest.approx(describe(X, **options), rel=1e-9)


def test_descriptors_that_need_rows_say_so():
    side = Moments.of(*pair(100)).side("Y")
    for name, options in (("intrinsic_dimension", {}), ("corrected_participation_ratio", {"sample": "both"})):
        with pytest.warns(shesha.NotEstimableWarning):
            assert np.isnan(getattr(shesha.descriptors, name)(side, **options))


def test_leaving_out_parts_equals_sums_of_the_other_rows():
    X, Y = pair(1_000, (3, 2))
    parts = Moments.of(X, Y).parts()
    ends = np.cumsum([part.n_rows for part in parts])
    for place, sums in enumerate(shesha.moments.leave_one_out(parts)):
        kept = np.ones(1_000, dtype=bool)
        kept[ends[place] - parts[place].n_rows : ends[place]] = False
        x, y = centred_products(X[kept]), centred_products(Y[kept])
        assert sums.n_rows == kept.sum()
        assert np.abs(sums.cross[0, 1] - x.T @ y).max() < 1e-11 * np.abs(x.T @ y).max()


def test_few_parts_stay_however_many_rows_come():
    moments = Moments.of(*pair(200_000, (2, 2)))
    assert 20 <= len(moments.parts()) <= 65


def test_the_null_has_the_moments_of_all_permutations():
    from shesha.comparison.moment_scores import inner_product_null, kernel_sums

    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((7, 3)) ** 3, rng.standard_normal((7, 2))
    sums = merge_all(Moments.of(X, Y).parts())
    x, y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    K, L = x @ x.T, y @ y.T
    for unbiased in (False, True):
        if unbiased:
            K, L = _u_centred(X @ X.T), _u_centred(Y @ Y.T)
        values = [float((K * L[np.ix_(order, order)]).sum()) for order in permutations(range(7))]
        null = inner_product_null(7, *(kernel_sums(sums, side, unbiased) for side in (0, 1)), unbiased=unbiased)
        assert null.mean == pytest.approx(np.mean(values), abs=1e-9 * np.std(values))
        assert null.sd == pytest.approx(np.std(values), rel=1e-9)


def _u_centred(kernel):
    """Szekely and Rizzo 2014: zero diagonal, rows that sum to zero."""
    kernel = kernel - np.diag(np.diag(kernel))
    n, rows = len(kernel), kernel.sum(axis=1)
    found = kernel - (rows[:, None] + rows) / (n - 2) + kernel.sum() / ((n - 1) * (n - 2))
    return found - np.diag(np.diag(found))


def test_two_sides_of_many_have_their_own_products():
    sides = [*pair(50, (4, 3)), *pair(50, (2, 5), seed=1)]
    whole = sum_panel(sides, list(combinations(range(4), 2)))
    for i, j in permutations(range(4), 2):
        alone = sum_panel([sides[i], sides[j]], [(0, 1)])
        assert whole.cross_products(i, j) == pytest.approx(alone.cross_products(0, 1))
        assert whole.cross_products(j, i) == pytest.approx(alone.cross_products(0, 1).T)
        assert whole.cross_products(j, j) == pytest.approx(alone.sides[1].products)


def test_merged_sums_show_the_dependence_of_either_part():
    rng = np.random.default_rng(0)
    walk, noise = np.cumsum(rng.standard_normal((600, 4)), axis=0), rng.standard_normal((600, 4))
    series, independent = Moments(), Moments()
    series.update(walk, walk)
    independent.update(noise, noise)
    assert series.dependence and not independent.dependence
    for first, second in ((series, independent), (independent, series)):
        assert first.merge(second).dependence == series.dependence
