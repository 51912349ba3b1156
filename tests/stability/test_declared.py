"""Whatever a stability score declares of itself holds, and what it does not declare is not so: for every one there is.

The tests are made from the marks, so that a new score is tested as soon as it is marked.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import ortho_group

import shesha
from shesha.inputs.validation import INVARIANCES
from shesha.stability import list_variants
from shesha.views import Representation

pytestmark = pytest.mark.filterwarnings("ignore::shesha.support.warnings.NotIdentifiableWarning")

N = 60
SEED = 5
TIGHT = 1e-9
VARIANTS = list_variants()
GIVEN = {"anchor_ids": [0, 3, 7, 20]}
"""Options that have no default."""

every = pytest.mark.parametrize("name", VARIANTS)


def those(claim):
    return pytest.mark.parametrize("name", [name for name, one in VARIANTS.items() if claim(one)])


def independent(rng):
    return rng.standard_normal((N, 6)) + 0.3


def low_rank(rng):
    return rng.standard_normal((N, 3)) @ rng.standard_normal((3, 9)) + 0.2 * rng.standard_normal((N, 9))


def heavy_tails(rng):
    return rng.standard_t(2, (N, 8)) * np.geomspace(1, 20, 8) + 1


def wide(rng):
    return rng.standard_normal((N, 60)) * np.geomspace(0.1, 10, 60)


def tied(rng):
    return rng.integers(0, 3, (N, 12)) + np.eye(N, 12) + 1.0


def in_classes(rng):
    return rng.standard_normal((N, 5)) + 4 * np.eye(6, 5)[np.arange(N) % 6]


DATA = {
    f"{make.__name__} {draw}": make(np.random.default_rng([draw, number]))
    for number, make in enumerate((independent, low_rank, heavy_tails, wide, tied, in_classes))
    for draw in range(2)
}
PLAIN = DATA["independent 0"]


def labels(variant):
    """Classes as many as the score takes."""
    y = np.arange(N) % 3
    try:
        variant.check_labels(y, N)
    except ValueError:
        return y % 2
    return y


def beside(X):
    """A replicate of the same rows."""
    return X + 0.5 * X.std() * np.random.default_rng(9).standard_normal(X.shape)


FEW = 4
"""Splits, where a claim holds for any number of them."""


def data_of(variant, X):
    if variant.needs == "replicates":
        return X, beside(np.asarray(X))
    return (X, labels(variant)) if variant.needs_labels else (X,)


def options_of(variant, **chosen):
    """The options that a score has, of those chosen; and those that must be given."""
    given = {"seed": SEED, **GIVEN, **chosen}
    return {name: given[name] for name in variant.options if name in given}


def score(variant, X, **chosen):
    return variant(*data_of(variant, X), **options_of(variant, **chosen))


def close(a, b, tolerance=TIGHT):
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-11


@every
def test_bounds_are_never_left_and_no_number_has_a_reason(name):
    variant = VARIANTS[name]
    low, high = variant.bounds
    found = []
    for X in DATA.values():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", shesha.NotEstimableWarning)
            value = score(variant, X, n_splits=FEW)
        reasons = [str(one.message) for one in told if issubclass(one.category, shesha.NotEstimableWarning)]
        assert bool(reasons) == bool(np.isnan(value))
        assert np.isnan(value) or low <= value <= high
        found.append(value)
    assert np.isfinite(found).sum() >= 10 and np.nanstd(found) > 0


CHANGED = {
    "scaling": [lambda X: X * 1e-150, lambda X: X * 3, lambda X: X * 1e150],
    "translation": [lambda X: X + 7.0, lambda X: X + np.linspace(-30, 50, X.shape[1])],
    "orthogonal": [lambda X: X @ ortho_group.rvs(X.shape[1], random_state=1)],
}
PAIRS = [(name, change) for name in VARIANTS for change in INVARIANCES]


def moved(variant, change):
    """Values before and after each version of the change."""
    for name, X in DATA.items():
        if name.startswith("tied") and change == "orthogonal":
            continue  # A rotation of rows that repeat changes which of them are nearest by rounding alone.
        data, options = data_of(variant, X), options_of(variant, n_splits=FEW)
        before = variant(*data, **options)
        for version in CHANGED[change]:
            yield before, variant(version(X), *data[1:], **options)


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, change in PAIRS if change in VARIANTS[name].invariant]
)
def test_declared_invariance_holds(name, change):
    for before, after in moved(VARIANTS[name], change):
        assert close(before, after)


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, change in PAIRS if change not in VARIANTS[name].invariant]
)
def test_undeclared_invariance_does_not_hold(name, change):
    assert any(not close(before, after, 1e-6) for before, after in moved(VARIANTS[name], change))


@every
def test_rows_that_are_all_equal_have_no_value_and_a_reason(name):
    variant = VARIANTS[name]
    X = np.ones((N, 6))
    data = (X, X) if variant.needs == "replicates" else data_of(variant, X)
    with pytest.warns(shesha.NotEstimableWarning, match="not estimable: "):
        assert np.isnan(variant(*data, **options_of(variant, metric="euclidean")))
    if variant.estimand and variant.needs != "replicates":
        metric = {"metric": "euclidean"} if "metric" in variant.estimator_options else {}
        found = shesha.estimate(*data, variant=name, seed=SEED, n_bootstrap=3, **metric)
        assert np.isnan(found.value) and found.reason


@those(lambda one: "seed" in one.options)
def test_a_seed_is_repeatable_and_a_generator_stands_for_its_seed(name):
    variant = VARIANTS[name]
    found = score(variant, PLAIN, seed=3)
    assert found == score(variant, PLAIN, seed=3) == score(variant, PLAIN, seed=np.random.default_rng(3))
    assert found == score(variant, PLAIN, seed=np.int64(3))


@those(lambda one: one.needs_labels)
def test_names_of_classes_do_not_matter(name):
    variant = VARIANTS[name]
    y = labels(variant)
    found = variant(PLAIN, y, **options_of(variant))
    words = np.array(["a cat", "b dog", "c eel"])
    for other in (y.tolist(), y + 7, y / 2 - 1.0, words[y], words[y].astype(object), pd.Series(words[y])):
        assert variant(PLAIN, other, **options_of(variant)) == found
    if "seed" not in variant.options:
        assert close(variant(PLAIN, -y, **options_of(variant)), found)


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
@those(lambda one: one.estimand and one.needs != "replicates")
def test_estimate_and_chance_give_the_value_of_the_function(name):
    variant = VARIANTS[name]
    for X in (PLAIN, DATA["heavy_tails 1"], DATA["in_classes 0"]):
        data = data_of(variant, X)
        # Without subsamples of the rows, of which the estimate takes none but those that are the score itself.
        whole = {} if "subsample_frac" in variant.estimator_options else {"subsample_frac": 1.0}
        found = score(variant, X, max_samples=None, **whole)
        asked = {"variant": name, "seed": SEED}
        for seed in (SEED, np.random.default_rng(SEED)):
            estimate = shesha.estimate(*data, **(asked | {"seed": seed}), n_bootstrap=3, n_permutations=0)
            assert estimate.value == pytest.approx(found, rel=1e-12)
        if variant.has_chance:
            chance = shesha.estimate(*data, **asked, n_permutations=19, n_bootstrap=0)
            assert chance.value == pytest.approx(found, rel=1e-12)
        else:
            with pytest.raises(ValueError, match=f"variant must have a null distribution, got '{name}'"):
                shesha.estimate(*data, **asked, n_bootstrap=0)


def stored(X, folder):
    """The same numbers in every form that is taken."""
    torch = pytest.importorskip("torch")
    path = folder / "rows.npy"
    np.save(path, X)
    return {
        "list": X.tolist(),
        "single precision": X.astype(np.float32),
        "Fortran order": np.asfortranarray(X),
        "every second row": np.repeat(X, 2, axis=0)[::2],
        "mapped file": np.load(path, mmap_mode="r"),
        "sparse CSR": sparse.csr_array(X),
        "sparse COO": sparse.coo_matrix(X),
        "tensor": torch.from_numpy(X.copy()),
        "representation": Representation.build(X),
        "table": pd.DataFrame(X),
    }


@every
def test_every_form_of_the_same_numbers_gives_the_same_value(name, tmp_path):
    variant = VARIANTS[name]
    X = PLAIN.astype(np.float32).astype(np.float64)
    X[::7, 0] = 0
    found = score(variant, X)
    data = data_of(variant, X)
    estimated = variant.estimand and variant.needs != "replicates"
    value = (
        shesha.estimate(*data, variant=name, seed=SEED, n_bootstrap=0, n_permutations=0).value if estimated else None
    )
    for form, other in stored(X, tmp_path).items():
        same = (other, *data[1:])
        assert close(variant(*same, **options_of(variant)), found), form
        if estimated:
            assert close(
                shesha.estimate(*same, variant=name, seed=SEED, n_bootstrap=0, n_permutations=0).value, value
            ), form


def distances(variant, X):
    """What a score sees of X: distances under its metric, of centred columns where it centres them."""
    if variant.view_options.get("centred"):
        X = X - X.mean(axis=0)
    return shesha.Rdm(shesha.compute_rdm(X, metric=variant.options["metric"]))


@those(lambda one: one.takes_distances)
def test_distances_may_stand_for_features_where_that_is_declared(name):
    variant = VARIANTS[name]
    for X in (PLAIN, DATA["wide 0"], DATA["heavy_tails 0"]):
        data, options = data_of(variant, X), options_of(variant)
        given = [distances(variant, one) if np.ndim(one) == 2 else one for one in data]
        assert close(variant(*given, **options), variant(*data, **options))
        if variant.estimand and variant.needs != "replicates":
            asked = {"variant": name, "n_bootstrap": 5, "seed": SEED}
            found, expected = shesha.estimate(*given, **asked), shesha.estimate(*data, **asked)
            assert close(found.value, expected.value) and found.n_features == 0
