"""The shape that representations share: laws of the mean, netrep as oracle, and who lies apart."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import procrustes

import shesha
from shesha import CalibrationWarning, compare, consensus, mean_shape
from shesha.comparison.procrustes_consensus import _sum_rows, outlier_p_values
from shesha.kernels import shapes as kernel


def rotation(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def seeds(seed=0, n_members=6, n=40, d=5, noise=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, d))
    return {f"s{k}": (truth + noise * rng.standard_normal((n, d))) @ rotation(rng, d) for k in range(n_members)}


def centred(members):
    rows = [one - one.mean(axis=0) for one in members.values()]
    return [one / np.linalg.norm(one) for one in rows]


@pytest.mark.parametrize("seed", range(16))
def test_the_mean_is_that_of_netrep(seed):
    multiset = pytest.importorskip("netrep.multiset")
    shapes = centred(seeds(seed, n_members=3 + seed % 4, d=2 + seed % 5))
    theirs = multiset.frechet_mean(
        shapes, method="full_batch", tol=1e-12, max_iter=2000, random_state=seed, warmstart=shapes[0]
    )
    ours, _, converged = kernel.mean_shape(shapes)
    assert converged

    def spread(mean):
        return sum(np.linalg.norm(kernel.rotate_onto(one, mean) - mean) ** 2 for one in shapes)

    # The search may end in another valley: ours is no worse.
    assert spread(ours) <= spread(theirs) * (1 + 1e-6)


def test_of_two_the_distance_is_that_of_scipy():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 30, 4))
    found = consensus({"a": X, "b": X @ rotation(rng, 4), "c": Y})
    # Of c the others are one shape.
    assert found["c"].value == pytest.approx(compare(X, Y, "OrthProc")["OrthProc"].value, abs=1e-9)
    disparity = procrustes(X, Y)[2]
    assert (1 - found["c"].value ** 2 / 2) ** 2 == pytest.approx(1 - disparity)


def test_nothing_nearer_is_around_the_mean():
    shapes = centred(seeds())
    mean, _, _ = kernel.mean_shape(shapes)
    best = np.linalg.norm(mean)
    rng = np.random.default_rng(1)
    for _ in range(50):
        start = np.mean([one @ rotation(rng, 5) for one in shapes], axis=0)
        other, _, _ = kernel.mean_shape(shapes, start=start)
        assert np.linalg.norm(other) <= best + 1e-6


def test_rotations_sizes_shifts_and_the_order_change_nothing():
    members = seeds()
    rng = np.random.default_rng(2)
    moved = {name: 3 * X @ rotation(rng, 5) + rng.standard_normal(5) for name, X in reversed(members.items())}
    moved["s2"] = np.pad(moved["s2"], ((0, 0), (0, 4)))
    found, again = consensus(members), consensus(moved)
    for one in found:
        assert again[one.name].value == pytest.approx(one.value, abs=1e-6)
        assert again[one.name].corrected_p_value == pytest.approx(one.corrected_p_value, abs=1e-4)


def test_who_lies_apart_is_named():
    rng = np.random.default_rng(0)
    found = consensus({**seeds(), "broken": rng.standard_normal((40, 7))})
    assert found.outlying == ("broken",)
    assert found.headline.startswith("broken is an outlier")
    assert found.members[-1].name == "broken"
    assert consensus(seeds()).outlying == ()


def test_copies_count_once():
    members = seeds()
    copy = -2 * members["s1"] @ rotation(np.random.default_rng(3), 5)
    expected, found = consensus(members), consensus({**members, "again": copy})
    assert found.copies == {"again": "s1"} and "Copies count once: again is a copy of s1." in found.headline
    for one in (*members, "again"):
        same = expected[one if one != "again" else "s1"]
        assert (found[one].value, found[one].corrected_p_value) == (same.value, same.corrected_p_value)
    few = consensus({"s0": members["s0"], "half": members["s0"].astype("f2"), "s1": members["s1"]})
    assert "2 of 3 representations are different" in few.headline and few.outlying == ()


def test_the_distance_to_the_others_is_never_smaller():
    found = consensus(seeds())
    assert all(one.value > one.distance_to_all for one in found)
    assert all(one.low < one.value < one.high for one in found)
    assert found.spread == pytest.approx(np.sqrt(np.mean([one.distance_to_all**2 for one in found])))


def test_grubbs_by_hand():
    """Of 4 equal neighbours and one at 2: t = (2 - mean) / (sd sqrt(1 + 1/4)) = 10.95, 3 degrees of freedom."""
    p = outlier_p_values(np.array([0.9, 1.0, 1.1, 1.0, 2.0]))
    assert p[4] == pytest.approx(0.00081, rel=0.02)
    assert p[0] > 0.5


def test_more_columns_than_rows_are_turned_away():
    rng = np.random.default_rng(0)
    wide = {f"w{k}": rng.standard_normal((12, 50)) for k in range(3)}
    short = {name: np.linalg.qr(X.T)[1].T for name, X in wide.items()}
    assert consensus(wide)["w0"].value == pytest.approx(consensus(short)["w0"].value, abs=1e-6)
    assert mean_shape(wide).shape == (12, 12)


def test_groups_widen_intervals():
    groups = np.repeat(np.arange(10), 4)
    rng = np.random.default_rng(0)
    members = {name: X[::4].repeat(4, axis=0) + 0.05 * rng.standard_normal(X.shape) for name, X in seeds().items()}
    with pytest.warns(CalibrationWarning, match="consecutive rows are closer"):
        alone = consensus(members)
    together = consensus(members, groups=groups)
    assert sum(one.high - one.low for one in together) > 1.5 * sum(one.high - one.low for one in alone)
    few = consensus(members, groups=groups // 3)
    assert np.isnan(few["s0"].low)
    assert "No intervals" in str(few)


def test_rows_are_matched_by_their_names():
    names = [f"row {k}" for k in range(40)]
    frames = {name: pd.DataFrame(X, index=names) for name, X in seeds().items()}
    frames["s1"] = frames["s1"].iloc[::-1]
    with pytest.warns(shesha.RowNamesWarning):
        assert consensus(frames)["s1"].value == pytest.approx(consensus(seeds())["s1"].value)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"a": np.eye(9), "b": np.eye(9)}, ValueError, "representations must be at least 3"),
        ([np.eye(9)] * 3, TypeError, "representations must be"),
        (seeds() | {"short": np.ones((7, 3))}, ValueError, "must have 40 rows, got 7"),
        (seeds() | {"flat": np.ones((40, 3))}, ValueError, "must have rows that differ"),
        (seeds() | {"d": shesha.Rdm(np.zeros(780))}, ValueError, "must be features"),
    ],
)
def test_bad_input_is_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        consensus(given)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("unit", [2.0**500, 2.0**1000, 2.0**-500])
def test_the_unit_of_all_rows_changes_no_distance(unit, scale):
    rng = np.random.default_rng(4)
    named = {name: rng.standard_normal((20, 4)) for name in "abc"}
    one, other = (
        shesha.consensus({name: rows * factor for name, rows in named.items()}, scale=scale).to_frame()
        for factor in (1.0, unit)
    )
    pd.testing.assert_frame_equal(one, other)


def test_representations_that_share_nothing_have_no_outliers_and_this_is_said():
    rng = np.random.default_rng(0)
    found = consensus({str(k): rng.standard_normal((40, 5)) for k in range(6)})
    assert found.shares_nothing and found.headline.startswith("No shared shape was found")
    assert found.sentence().startswith(found.headline.removesuffix("."))
    truth = rng.standard_normal((40, 5))
    related = consensus({str(k): truth + rng.standard_normal((40, 5)) for k in range(6)})
    assert not related.shares_nothing and "outlier" in related.headline


def unrelated(n_members, n, d, seed=0):
    rng = np.random.default_rng(seed)
    return centred({str(k): rng.standard_normal((n, d)) for k in range(n_members)})


@pytest.mark.parametrize("wide", [512, 1])
@pytest.mark.parametrize(("n_members", "n", "d"), [(3, 60, 20), (6, 60, 20), (6, 20, 20), (12, 100, 8)])
def test_the_mean_of_unrelated_shapes_converges_in_few_steps_to_a_stationary_mean(n_members, n, d, wide, monkeypatch):
    monkeypatch.setattr(kernel, "_WIDE", wide)
    shapes = unrelated(n_members, n, d)
    mean, n_steps, converged = kernel.mean_shape(shapes)
    assert converged
    assert n_steps < (250 if wide > 1 else 60)
    # A hundred plain steps from there, each of which can only lengthen the mean, gain next to nothing.
    again = mean
    for _ in range(100):
        again = np.mean([kernel.rotate_onto(shape, again) for shape in shapes], axis=0)
    assert 0 <= np.linalg.norm(again) - np.linalg.norm(mean) < 1e-5


@pytest.mark.parametrize("n", [60, 9])
def test_products_with_all_and_with_all_others_are_those_of_the_rows(n):
    shapes, turns = unrelated(3, n, 4), np.stack([rotation(np.random.default_rng(k), 4) for k in range(3)])
    product = kernel.product_with_rotated(shapes)
    turned = [shape @ turn for shape, turn in zip(shapes, turns, strict=True)]
    np.testing.assert_allclose(product(turns), [shape.T @ sum(turned) for shape in shapes], atol=1e-14)
    others = kernel.product_of_others(product, 1)(turns[[0, 2]])
    expected = [shapes[k].T @ (turned[0] + turned[2]) for k in (0, 2)]
    np.testing.assert_allclose(others, expected, atol=1e-14)
    np.testing.assert_allclose(kernel.product_of_others(product, 1)(turns[[0, 2]], [1]), expected[1:], atol=1e-14)


def test_sums_of_singular_values_are_exact_whatever_their_range():
    rng = np.random.default_rng(0)
    for smallest in (0, -3, -5, -9, -300):
        values = np.append(np.logspace(0, smallest, 11), 0.0)
        found = kernel.sum_of_singular_values(rotation(rng, 12) * values @ rotation(rng, 12))
        assert found == pytest.approx(values.sum(), rel=1e-9)


@pytest.mark.parametrize("noise", [0.1, 1.0, 10.0])
def test_permuted_shapes_that_cannot_reach_a_length_are_only_limited(noise):
    rng = np.random.default_rng(0)
    shapes = centred(seeds(n_members=3, n=200, noise=noise))
    exact = kernel.norm_of_rough_mean(shapes, 2)
    orders = [np.arange(200), *(rng.permutation(200) for _ in range(2))]
    drawn = kernel.norm_of_rough_mean(shapes, 2, orders)
    limited = kernel.norm_of_rough_mean(shapes, 2, orders, beyond=exact)
    assert drawn <= limited < exact or drawn == pytest.approx(limited, rel=1e-12)
    assert (limited > drawn * 1.001) == (noise < 10), "only shapes that share something are longer than all limits"


def test_the_distance_without_rows_is_that_of_the_other_rows():
    rng = np.random.default_rng(0)
    pair = tuple(side - side.mean(axis=0) for side in rng.standard_normal((2, 50, 4)))
    pair[0][7] += 1e9
    sums = _sum_rows(*pair)
    for left_out in (np.array([3]), np.array([7]), np.arange(5, 15), np.arange(40)):
        kept = np.delete(np.arange(50), left_out)
        rest = [side[kept] - side[kept].mean(axis=0) for side in pair]
        closeness = kernel.closeness(*rest) / (np.linalg.norm(rest[0]) * np.linalg.norm(rest[1]))
        assert sums.without(pair, left_out).distance() == pytest.approx(np.sqrt(2 - 2 * closeness), rel=1e-9)


@pytest.mark.parametrize(("n_members", "n", "d"), [(3, 50, 4), (12, 20, 6)])
def test_the_rough_mean_is_that_of_rotations_one_by_one(n_members, n, d):
    shapes = unrelated(n_members, n, d)
    mean = shapes[0]
    for _ in range(2):
        mean = np.mean([kernel.rotate_onto(shape, mean) for shape in shapes], axis=0)
    assert kernel.norm_of_rough_mean(shapes, 2) == pytest.approx(np.linalg.norm(mean), rel=1e-12)


@pytest.mark.filterwarnings("ignore:few rows")
def test_heavy_tails_make_no_outlier():
    """A distance that a few rows determine must be larger: without this, 13 of 40 sets had an outlier."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.standard_normal((20, 30))
        found += bool(consensus({f"m{k}": truth + rng.standard_t(3, (20, 30)) for k in range(10)}).outlying)
    assert found <= 1


def test_an_error_as_large_as_that_of_the_others_changes_nothing():
    distances = np.array([0.9, 1.0, 1.1, 1.0, 2.0])
    np.testing.assert_array_equal(outlier_p_values(distances, np.full(5, 0.3)), outlier_p_values(distances))
    assert outlier_p_values(distances, np.array([0.3, 0.3, 0.3, 0.3, 0.9]))[4] > 0.05


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["seed0_step1000", "seed0_step2000", "seed0_step3000", "seed1_step3000"], True),
        (["a/epoch-1", "a/epoch-2", "b/epoch-2"], True),
        (["step1", "step2", "step3", "step4"], False),
        (["seed0", "seed1", "seed2", "layer.3"], False),
        (["sub-01", "sub-02", "sub-03"], False),
    ],
)
def test_checkpoints_of_one_run_among_others_are_named(names, named):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((40, 5))
    found = shesha.consensus({name: truth + 0.3 * rng.standard_normal((40, 5)) for name in names})
    assert any("like checkpoints of one run" in text for text in found.inputs) == named
