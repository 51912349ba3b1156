"""The same seed gives the same number, bit for bit, on any number of threads, and global state is left alone."""

import numpy as np
import pytest

import shesha

N = 64
VARIANTS = [
    "feature_split",
    "basis_averaged_split",
    "variance_ratio",
    "supervised_alignment",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
]


def data():
    rng = np.random.default_rng(1)
    y = np.arange(N) % 4
    X = rng.standard_normal((N, 10)) + rng.standard_normal((4, 10))[y]
    return X, X + rng.standard_normal((N, 10)), y, y % 2


X, Y, y, y2 = data()

SEEDED = {
    "feature_split": lambda seed: shesha.feature_split(X, 4, seed=seed),
    "feature_split, correlation": lambda seed: shesha.feature_split(X, 4, "correlation", seed=seed),
    "feature_split, subset": lambda seed: shesha.feature_split(X, 4, "euclidean", seed=seed, max_samples=30),
    "basis_averaged_split": lambda seed: shesha.basis_averaged_split(X, 4, seed=seed),
    "sample_split": lambda seed: shesha.sample_split(X, 4, seed=seed),
    "anchor_stability": lambda seed: shesha.anchor_stability(X, 4, seed=seed),
    "supervised_alignment": lambda seed: shesha.supervised_alignment(X, y, seed=seed, max_samples=30),
    "class_separation_ratio": lambda seed: shesha.class_separation_ratio(X, y, 9, seed=seed),
    "label_conditioned_split": lambda seed: shesha.label_conditioned_split(X, y, 9, seed=seed),
    "lda_stability": lambda seed: shesha.lda_stability(X, y2, 9, seed=seed),
    "lda_subspace_stability": lambda seed: shesha.lda_subspace_stability(X, y, 9, seed=seed),
    "encoder_stability": lambda seed: shesha.encoder_stability(np.tanh, X, 0.1, n=3, seed=seed),
}
FIXED = {
    "compute_rdm": lambda: shesha.compute_rdm(np.tile(X, (9, 1)), "euclidean").tobytes(),
    "rdm_similarity": lambda: shesha.rdm_similarity(X, Y),
    "rdm_similarity, pearson": lambda: shesha.rdm_similarity(X, Y, "pearson", "euclidean"),
    "replicate_stability": lambda: shesha.replicate_stability(X, Y),
    "anchor_profile_stability": lambda: shesha.anchor_profile_stability(X, Y, [1, 2]),
    "drift_path": lambda: shesha.drift_path([X, Y, 2 * X]),
    "variance_ratio": lambda: shesha.variance_ratio(X, y),
    "zscore_separation": lambda: shesha.zscore_separation(X, y),
}


def labels_for(variant):
    return None if variant in VARIANTS[:2] else (y2 if variant == "lda_stability" else y)


def few(variant):
    """Fewer draws than the default, where there are draws."""
    takes_draws = "split" in variant or "lda" in variant
    return {"n_draws": 4} if takes_draws else {}


def estimated(variant, seed=3, **options):
    return shesha.estimate(
        X, labels_for(variant), variant, seed=seed, n_bootstrap=20, n_permutations=0, **few(variant), **options
    )


def compared(variant, seed=3, **options):
    return shesha.estimate(
        X, labels_for(variant), variant, seed=seed, n_permutations=19, **few(variant), **options, n_bootstrap=0
    )


RESULTS = {
    **{f"estimate, {variant}": lambda seed, variant=variant: estimated(variant, seed) for variant in VARIANTS},
    **{f"estimate, {variant}, pairs": lambda s, v=variant: estimated(v, s, pairs=500) for variant in VARIANTS[:2]},
    **{f"chance, {variant}": lambda seed, variant=variant: compared(variant, seed) for variant in VARIANTS},
    **{f"chance, {variant}, pairs": lambda s, v=variant: compared(v, s, pairs=500) for variant in VARIANTS[:2]},
}
pytestmark = pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")


def plain(result):
    """Compare results with NaN by their text."""
    return repr(result)


def on_one_and_two_threads(call, with_threads):
    """Return the number from one seed, which must be the same twice, and leave the global state alone."""
    before = np.random.get_state()  # noqa: NPY002
    one, two = (with_threads(n, lambda: call(3)) for n in (1, 2))
    after = np.random.get_state()  # noqa: NPY002
    assert plain(one) == plain(two)
    assert before[2] == after[2] and np.array_equal(before[1], after[1])
    return one


@pytest.mark.parametrize("name", FIXED)
def test_a_score_without_a_seed_is_one_number_on_any_number_of_threads(name, with_threads):
    on_one_and_two_threads(lambda _: FIXED[name](), with_threads)


@pytest.mark.parametrize("name", SEEDED)
def test_one_seed_is_one_number_another_seed_another_and_no_seed_a_fresh_one(name, with_threads):
    call = SEEDED[name]
    found = on_one_and_two_threads(call, with_threads)
    assert call(np.random.default_rng(3)) == call(np.int64(3)) == found != call(4)
    assert len({call(None) for _ in range(6)}) > 1


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_a_generator_gives_the_value_of_its_seed_and_repeatable_intervals(name, with_threads):
    seeded = on_one_and_two_threads(RESULTS[name], with_threads)
    first, second = (RESULTS[name](np.random.default_rng(3)) for _ in range(2))
    assert plain(first) == plain(second)
    if "pairs" not in name:
        assert first.value == seeded.value


LARGE = {
    "feature_split": lambda X, y: shesha.feature_split(X, 2, seed=0),
    "feature_split, correlation": lambda X, y: shesha.feature_split(X, 2, "correlation", seed=0),
    "basis_averaged_split": lambda X, y: shesha.basis_averaged_split(X, 2, seed=0),
    "rdm_similarity": lambda X, y: shesha.rdm_similarity(X, X[:, ::2]),
    "estimate": lambda X, y: shesha.estimate(X, n_draws=2, n_bootstrap=3, seed=0, n_permutations=0),
    "estimate, pairs": lambda X, y: shesha.estimate(X, n_draws=2, pairs=9_000, seed=0, n_permutations=0),
    "estimate, rotations": lambda X, y: shesha.estimate(
        X, None, "basis_averaged_split", n_draws=2, pairs=900, seed=0, n_permutations=0
    ),
    "chance": lambda X, y: shesha.estimate(X, n_draws=2, n_permutations=19, seed=0, n_bootstrap=0),
    "class_separation_ratio": lambda X, y: shesha.class_separation_ratio(X, y, 5, seed=0),
    "supervised_alignment": lambda X, y: shesha.supervised_alignment(X, y, seed=0),
    "variance_ratio": lambda X, y: shesha.variance_ratio(X, y),
    "lda_subspace_stability": lambda X, y: shesha.lda_subspace_stability(X, y, 2, seed=0),
    "label_conditioned_split": lambda X, y: shesha.label_conditioned_split(X, y, 2, seed=0),
    "anchor_stability": lambda X, y: shesha.anchor_stability(X, 2, 50, 100, seed=0),
}


@pytest.mark.parametrize("shape", [(450, 200), (300, 520)], ids=["tall", "wide"])
@pytest.mark.parametrize("name", LARGE)
def test_matrices_that_the_blas_would_share_out_give_one_number(name, shape, with_threads):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape) + 0.1, np.arange(shape[0]) % 3
    one, two = (with_threads(n, lambda: plain(LARGE[name](X, y))) for n in (1, 2))
    assert one == two
