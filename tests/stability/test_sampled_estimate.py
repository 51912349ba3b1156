"""Estimates from sampled pairs agree with those from all pairs, and work on files."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import shesha
from shesha.kernels.pairs import distinct_pairs
from shesha.stability import row_matching, row_matching as sampled_pairs, split_scores
from shesha.views import Rows, SampledHalves, features


def both(X, variant, pairs=60_000, **options):
    """The estimate from all pairs and that from sampled ones."""
    options = {"n_bootstrap": 0, "n_permutations": 0, "n_draws": 20, **options}
    return tuple(shesha.estimate(X, variant=variant, pairs=some, seed=0, **options) for some in (None, pairs))


@pytest.mark.parametrize("d", [16, 17])
def test_sampled_pairs_agree_with_all_of_the_same_partitions(low_rank, metric, d):
    exact, found = both(low_rank(400, d) + 0.5, "feature_split", metric=metric)
    assert exact.pair_error == 0
    assert 0 < found.pair_error < 0.01
    assert abs(found.value - exact.value) < 4 * found.pair_error
    assert found.monte_carlo_error == pytest.approx(exact.monte_carlo_error, rel=0.1)


def test_sampled_pairs_agree_with_all_over_rotations(low_rank, metric):
    # Offsets of whole rows, which correlation must not see and the other metrics must.
    X = low_rank(300, 16, noise=3.0) + 10 * np.random.default_rng(1).standard_normal((300, 1))
    exact, found = both(X, "basis_averaged_split", metric=metric, n_draws=100, pairs=40_000)
    error = np.hypot(np.hypot(exact.monte_carlo_error, found.monte_carlo_error), found.pair_error)
    assert abs(found.value - exact.value) < 4 * error < 0.1


def test_pair_error_predicts_the_spread_over_samples_of_pairs(low_rank, monkeypatch):
    X = low_rank(80, 16)
    found = []
    for purpose in range(60):
        # The same partitions, other pairs.
        monkeypatch.setattr(split_scores, "spawn", lambda _, __, seed=purpose: np.random.default_rng(seed))
        found.append(shesha.estimate(X, pairs=2000, n_splits=2, seed=0, n_permutations=0))
    predicted = np.mean([one.pair_error for one in found])
    assert np.std([one.value for one in found]) == pytest.approx(predicted, rel=0.3)
    assert np.mean([one.value for one in found]) == pytest.approx(shesha.feature_split(X, 2, seed=0), abs=0.005)


def test_analytic_interval_is_as_wide_as_the_bootstrap(low_rank):
    X = low_rank(80, 16)
    bootstrap, analytic = (
        shesha.estimate(X, pairs=pairs, n_splits=20, seed=0, n_permutations=0) for pairs in (None, 3000)
    )
    assert analytic.standard_error == pytest.approx(bootstrap.standard_error, rel=0.2)
    assert bootstrap.n_resamples == 200
    assert analytic.n_resamples == 0
    assert "analytic" in str(analytic)


def test_more_pairs_mean_less_error(low_rank):
    X = low_rank(500, 16)
    few, many = (shesha.estimate(X, pairs=pairs, n_splits=10, seed=0, n_permutations=0) for pairs in (10_000, 90_000))
    assert many.pair_error == pytest.approx(few.pair_error / 3, rel=0.1)
    assert (few.n_pairs, many.n_pairs) == (10_000, 90_000)


@pytest.mark.parametrize("variant", ["feature_split", "basis_averaged_split"])
def test_as_many_pairs_as_there_are_or_more_mean_all(low_rank, variant):
    X = low_rank(30, 8)
    exact = shesha.estimate(X, variant=variant, n_draws=4, n_bootstrap=10, seed=0, n_permutations=0)
    for pairs in (435, 30_000):
        assert (
            shesha.estimate(X, variant=variant, n_draws=4, n_bootstrap=10, pairs=pairs, seed=0, n_permutations=0)
            == exact
        )
    null = shesha.estimate(X, variant=variant, n_draws=4, n_permutations=19, seed=0, n_bootstrap=0)
    assert shesha.estimate(X, variant=variant, n_draws=4, n_permutations=19, pairs=435, seed=0, n_bootstrap=0) == null
    every, audited = (shesha.audit(X, pairs=pairs, n_bootstrap=5, n_permutations=19)["X"] for pairs in (None, 30_000))
    assert audited.scores[variant] == every.scores[variant]


@pytest.mark.parametrize(("n", "pairs", "n_draws"), [(30, 434, 30), (30, 100, 3), (200, 2000, 30), (200, 5001, 4)])
def test_fewer_pairs_than_there_are_mean_exactly_so_many_and_none_twice(low_rank, monkeypatch, n, pairs, n_draws):
    asked = []
    score = SampledHalves.score
    monkeypatch.setattr(SampledHalves, "score", lambda *given: asked.append(given[2]) or score(*given))
    found = shesha.estimate(low_rank(n, 8), pairs=pairs, n_draws=n_draws, seed=0, n_permutations=0)
    assert found.n_pairs == pairs
    assert f"{pairs:,} random pairs of {n * (n - 1) // 2:,} were used" in found.notes[0]
    drawn = {(int(i), int(j)) for own in asked for i, j in zip(*own, strict=True)}
    assert len(drawn) == pairs
    assert all(i < j < n for i, j in drawn)
    assert min(len(own[0]) for own in asked) >= min(pairs, 1000)
    assert len(asked) == n_draws
    audited = shesha.audit(low_rank(n, 8), pairs=pairs, n_bootstrap=0, n_permutations=19)
    assert audited["X"].feature_split.n_pairs == pairs


def test_too_little_memory_for_all_pairs_means_sampled_ones(low_rank, monkeypatch):
    X = low_rank(300, 8)
    exact = shesha.feature_split(X, 5, seed=0)
    monkeypatch.setenv("SHESHA_MEMORY", "2M")
    monkeypatch.setattr(sampled_pairs, "DEFAULT_PAIRS", 50_000)
    found = shesha.estimate(X, n_splits=5, seed=0, n_permutations=0)
    assert found.n_pairs == (2 << 20) // 144
    assert "14,563 random pairs of 44,850 were used" in found.notes[0]
    assert abs(found.value - exact) < 4 * found.pair_error


@pytest.mark.parametrize("n", [300, 2_000])
def test_the_default_number_of_pairs_fits_the_budget_and_a_request_beyond_it_is_refused(low_rank, monkeypatch, n):
    X = low_rank(n, 8)
    monkeypatch.setenv("SHESHA_MEMORY", "3M")
    found = shesha.estimate(X, n_splits=5, seed=0, n_bootstrap=0, n_permutations=0)
    assert (3 << 20) // 144 <= found.n_pairs < (3 << 20) // 144 + 5
    with pytest.raises(shesha.support.memory.MemoryBudgetError, match="30,000 pairs of rows must fit the memory"):
        shesha.estimate(X, n_splits=5, seed=0, n_bootstrap=0, pairs=30_000, n_permutations=0)


def test_many_rows_are_scored_on_random_pairs_and_on_all_when_asked(low_rank, monkeypatch):
    monkeypatch.setattr(sampled_pairs, "DEFAULT_PAIRS", 2_000)
    X, y = low_rank(80, 8), np.arange(80) % 3
    for variant, labels in (("feature_split", None), ("supervised_alignment", y)):
        sampled = shesha.estimate(X, labels, variant, seed=0, n_permutations=0)
        exact = shesha.estimate(X, labels, variant, pairs="all", seed=0, n_permutations=0)
        assert (sampled.pair_error > 0, exact.pair_error) == (True, 0)
        assert exact.n_pairs == 80 * 79 / 2
        assert abs(sampled.value - exact.value) < 5 * sampled.pair_error
    assert exact.value == pytest.approx(shesha.supervised_alignment(X, y, max_samples=None), abs=1e-12)
    assert shesha.estimate(X, pairs="all", seed=0, n_permutations=0).value == shesha.feature_split(X, seed=0)
    assert shesha.estimate(X, pairs=10**9, seed=0, n_permutations=0) == shesha.estimate(
        X, pairs="all", seed=0, n_permutations=0
    )


def test_undefined_pairs_are_left_out_and_counted(low_rank):
    X = low_rank(300, 8)
    X[[4, 9], 1:] = 0.0
    found = shesha.estimate(X, pairs=40_000, n_splits=4, seed=0, n_permutations=0)
    touched = 1 - (298 * 297) / (300 * 299)
    assert found.pairs_dropped == pytest.approx(40_000 * touched, rel=0.1)
    exact = shesha.feature_split(np.delete(X, [4, 9], axis=0), 4, seed=0)
    assert abs(found.value - exact) < 4 * found.pair_error


def test_equal_rows_within_a_half_give_nan_and_a_reason():
    X = np.ones((20, 8))
    found = shesha.estimate(X, pairs=1000, seed=0, n_permutations=19)
    assert np.isnan([found.value, found.chance, found.threshold, found.p_value, found.calibrated]).all()
    assert found.reason == "all distances are equal within a half of the features, in every draw"
    assert "not estimable" in str(found)


@pytest.mark.parametrize("scale", [1e-170, 1e-100, 1e100, 1e170])
def test_sampled_estimates_do_not_depend_on_a_common_scale(low_rank, metric, scale):
    X = low_rank(40, 8)
    plain, scaled = (
        shesha.estimate(rows, pairs=2000, metric=metric, n_splits=3, seed=0, n_permutations=0)
        for rows in (X, X * scale)
    )
    assert scaled.value == pytest.approx(plain.value, abs=1e-9)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """A file of 25 MB: blocks of rows with a common latent structure."""
    shape = (200_000, 32)
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    rng = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    mixing = rng.standard_normal((4, 32))
    for start in range(0, shape[0], 20_000):
        file[start : start + 20_000] = rng.standard_normal((20_000, 4)) @ mixing + rng.standard_normal((20_000, 32))
    file.flush()
    return path


@pytest.mark.parametrize("variant", ["feature_split", "basis_averaged_split"])
def test_a_mapped_file_is_scored_without_loading_it(on_disk, variant, monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "1")  # Each thread has its own stretch of rows.
    mapped = np.load(on_disk, mmap_mode="r")
    shesha.estimate(
        mapped[:1000], variant=variant, n_draws=2, pairs=2000, seed=0, n_permutations=0
    )  # Imports are not counted.
    tracemalloc.start()
    found = shesha.estimate(mapped, variant=variant, n_draws=5, pairs=50_000, seed=0, n_permutations=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < on_disk.stat().st_size / 2
    assert found.n_rows == 200_000
    assert found.low < found.value < found.high
    assert found == shesha.estimate(
        np.load(on_disk), variant=variant, n_draws=5, pairs=50_000, seed=0, n_permutations=0
    )


def test_chance_of_a_mapped_file_is_that_of_the_array(on_disk):
    mapped, loaded = np.load(on_disk, mmap_mode="r"), np.load(on_disk)
    options = {"pairs": 3000, "n_permutations": 19, "n_draws": 3, "seed": 0}
    assert shesha.estimate(mapped, **options, n_bootstrap=0) == shesha.estimate(loaded, **options, n_bootstrap=0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("scale", [2.0**520, 2.0**-520])
def test_the_unit_of_the_features_changes_no_sampled_score(low_rank, metric, scale):
    X = low_rank(80, 12)
    plain, scaled = (
        shesha.estimate(rows, metric=metric, pairs=500, n_splits=4, n_bootstrap=0, seed=0, n_permutations=0)
        for rows in (X, scale * X)
    )
    assert scaled.value == pytest.approx(plain.value, rel=1e-9)
    assert scaled.pair_error == pytest.approx(plain.pair_error, rel=1e-6)


@pytest.fixture
def small_is_wide(monkeypatch):
    """Treat more than 8 features as wide, and score each partition on few rows and pairs."""
    monkeypatch.setattr(sampled_pairs, "WIDE_FEATURES", 8)
    monkeypatch.setattr(features, "WIDE_FEATURES", 8)
    monkeypatch.setattr(sampled_pairs, "DEFAULT_PAIRS", 20_000)
    monkeypatch.setattr(sampled_pairs, "_WIDE_ROWS", 85)
    monkeypatch.setattr(sampled_pairs, "_FEWEST_ROWS", 16)


def test_products_of_few_rows_give_the_scores_of_separate_pairs(low_rank, metric, monkeypatch):
    X = low_rank(40, 12) + 0.3
    X[3, 6:] = 0.0
    halves = SampledHalves(Rows(X), metric, rotated=False)
    pairs = distinct_pairs(40, 600, np.random.default_rng(1))
    draw = np.arange(12)
    separate = halves.score(draw, pairs)
    monkeypatch.setattr(features, "WIDE_FEATURES", 8)
    products = halves.score(draw, pairs)
    assert products.score == pytest.approx(separate.score, abs=1e-12)
    for name in ("i", "j", "influence"):
        np.testing.assert_allclose(getattr(products, name), getattr(separate, name), atol=1e-9)


@pytest.mark.parametrize("variant", ["feature_split", "basis_averaged_split"])
def test_errors_of_wide_data_include_the_choice_of_rows(low_rank, variant, small_is_wide):
    X = low_rank(400, 32, noise=2.0)
    exact = shesha.estimate(X, variant=variant, pairs="all", n_bootstrap=50, n_draws=60, seed=99, n_permutations=0)
    found = [shesha.estimate(X, variant=variant, n_draws=20, seed=seed, n_permutations=0) for seed in range(30)]
    values = np.array([one.value for one in found])
    assert "in each partition of 42 random rows" in str(found[0])
    assert values.mean() == pytest.approx(
        exact.value, abs=4 * (values.std(ddof=1) / np.sqrt(30) + exact.monte_carlo_error)
    )
    predicted = np.mean([one.monte_carlo_error for one in found])
    assert values.std(ddof=1) == pytest.approx(predicted, rel=0.4)
    assert np.mean([one.standard_error for one in found]) > 0.9 * exact.standard_error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
def test_wide_data_have_a_null_that_is_not_too_narrow(low_rank, small_is_wide, monkeypatch):
    monkeypatch.setattr(row_matching, "WIDE_FEATURES", 8)
    rng = np.random.default_rng(3)
    for variant in ("feature_split", "basis_averaged_split"):
        chances = [
            shesha.estimate(
                rng.standard_t(3, (400, 24)), variant=variant, n_draws=4, n_permutations=19, seed=seed, n_bootstrap=0
            )
            for seed in range(40)
        ]
        # At a level of 5 %, more than 6 of 40 false positives have a probability of 0.003.
        assert sum(chance.p_value <= 0.05 for chance in chances) <= 6
        signal = shesha.estimate(
            low_rank(400, 24), variant=variant, n_draws=4, n_permutations=19, seed=0, n_bootstrap=0
        )
        assert signal.p_value == 0.05


@pytest.mark.parametrize(
    ("d", "rotated", "n_rows"), [(300, False, 4096), (2048, False, 2048), (10**6, False, 256), (1024, True, 512)]
)
def test_the_null_of_wide_rows_matches_fewer(d, rotated, n_rows):
    halves = SimpleNamespace(rows=SimpleNamespace(shape=(9000, d)), rotated=rotated)
    assert row_matching._most_rows(halves, SimpleNamespace(pairs=1), 1.0) == n_rows


def test_the_null_of_rotations_is_no_narrower_than_that_of_as_many_pairs(low_rank):
    options = {"variant": "basis_averaged_split", "n_draws": 3, "n_bootstrap": 0, "n_permutations": 60, "seed": 0}
    assert shesha.estimate(low_rank(80, 16), pairs=600, **options).chance_sd > 0.9 / np.sqrt(600)
