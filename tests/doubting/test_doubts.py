"""Planted faults come first, clean rows raise nothing, and what is asked is checked."""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform
from scipy.stats import norm

import shesha
from shesha import doubts
from shesha.data import digits_network
from shesha.doubting.doubt_input import CovariateShare, Headline, functions
from shesha.doubting.feature_doubts import features_in_two_units
from shesha.doubting.row_doubts import _share_of_ties, find_near_copies
from shesha.nulls.dependence import dependence
from shesha.results import Doubt
from shesha.support import provenance

N, D = 120, 24


def low_rank(rng, n=N, d=D):
    return rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + 0.5 * rng.standard_normal((n, d))


def planted(name, rng):
    """Rows with one fault, what is told of them, and the doubts that may come first."""
    noise, offset = rng.standard_normal((N, D)), rng.standard_normal((1, D))
    batch = np.repeat(np.arange(3), N // 3)
    batches = noise + 2 * rng.standard_normal((3, D))[batch]
    known = rng.standard_normal(N)
    driven = noise + 2 * known[:, None] * offset
    rogue, far = low_rank(rng), low_rank(rng)
    rogue[:, 3] = 30 * rng.standard_normal(N)
    far[7] *= 60
    centred = low_rank(rng)
    left, sizes, _ = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    shuffled = rng.permutation(N)
    return {
        "row scale": (np.exp(0.8 * rng.standard_normal((N, 1))) * noise + 3 * offset, {}),
        "order": (noise + np.linspace(-3, 3, N)[:, None] * offset, {}),
        "batches in order": (batches, {}),
        "confounded labels": (batches, {"y": batch}),
        "covariate": (batches[shuffled], {"covariates": batch[shuffled].astype(str)}),
        "groups": (batches[shuffled], {"groups": batch[shuffled]}),
        "driven": (driven, {"covariates": known}),
        "labels and covariate": (driven, {"covariates": {"dose": known}, "y": known > 0}),
        "copied features": (np.tile(noise, 4), {}),
        "whitened": (left, {}),
        "principal components": (left * sizes, {}),
        "offset": (noise + 9 * offset, {}),
        "few rows": (far, {}),
        "duplicates": (np.concatenate([low_rank(rng, N // 2)] * 2), {}),
        "few coordinates": (rogue, {}),
        "raw counts": (rng.poisson(rng.gamma(3, 1, (N, 1)) * rng.gamma(1, 1, (4, D))[rng.integers(4, size=N)]), {}),
        "missing codes": (np.where(rng.random((N, D)) < 0.03, -999, noise), {}),
        "no variation": (np.float32(offset + 1e-7 * noise), {}),
        "ties": ((rng.random((N, 12)) < 0.1).astype(float), {}),
        "near copies": (np.where(known[:, None] > 0.5, offset + 1e-3 * noise, low_rank(rng)), {}),
        "mixed units": (low_rank(rng) * np.where(np.arange(D) % 5 < 2, 1e-3, 1), {}),
    }[name]


FIRST = {
    "raw counts": {"raw counts", "row scale"},
    "row scale": {"row scale", "offset"},
    "batches in order": {"order"},
    "groups": {"covariate"},
    "driven": {"covariate"},
    "labels and covariate": {"confounded labels"},
    "principal components": {"whitened"},
}
FAULTS = ["row scale", "order", "batches in order", "confounded labels", "covariate", "groups", "driven"]
FAULTS += ["labels and covariate", "copied features", "whitened", "principal components", "offset", "few rows"]
FAULTS += [
    "duplicates",
    "near copies",
    "few coordinates",
    "mixed units",
    "ties",
    "raw counts",
    "missing codes",
    "no variation",
]


@pytest.mark.parametrize(("metric", "named"), [("cosine", True), ("correlation", False), ("euclidean", False)])
def test_a_common_level_is_an_offset_for_angles_alone(metric, named):
    """Correlation distances remove the mean of each row, and so one level of all features."""
    level = np.random.default_rng(0).standard_normal((N, D)) + 9
    assert ("offset" in doubts(level, metric=metric)) == named


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_comes_first(fault):
    X, told = planted(fault, np.random.default_rng(1))
    found = doubts(X, **told)
    assert found.names[0] in FIRST.get(fault, {fault})
    assert [one.effect for one in found] == sorted((one.effect for one in found), reverse=True)
    assert all(0 <= one.effect <= 1 and one.text and one.advice for one in found)


CHANGES = ["row scale", "covariate", "groups", "driven", "labels and covariate", "copied features", "copies that share"]


SINGLE_ROWS = {
    "classes": lambda noise, k: 3 * noise[:5][k % 5] + 0.1 * noise,
    "repeated trials": lambda noise, k: noise[:20][k % 20] + 1e-3 * noise,
    "one tight class": lambda noise, k: np.where(k[:, None] < 60, noise, 3 * noise[0] + 0.1 * noise),
    "far rows": lambda noise, k: np.where(k[:, None] < 100, noise, 1e4 * noise),
    "a narrow cone": lambda noise, k: noise + 100,
    "a walk": lambda noise, k: noise.cumsum(axis=0),
    "lengths": lambda noise, k: noise * np.exp(3 * noise[:, :1]),
    "exact copies": lambda noise, k: np.where(k[:, None] < 60, noise, noise[0]),
}


@pytest.mark.parametrize("kind", SINGLE_ROWS)
def test_only_many_near_copies_of_one_vector_are_told(kind):
    noise, places = np.random.default_rng(2).standard_normal((N, D)), np.arange(N)
    rows = SINGLE_ROWS[kind](noise, places)
    assert not find_near_copies(rows).any()
    assert "near copies" not in doubts(rows, order=False).names
    copied = np.where(places[:, None] % 3 == 0, rows[1] * (1 + 1e-5 * noise), rows)
    if kind in ("one tight class", "a narrow cone", "a walk"):
        assert (find_near_copies(copied) == 1).sum() >= N // 3


@pytest.mark.parametrize("side", [0, 1])
def test_near_copies_on_one_side_of_a_pair_are_told(side):
    rng = np.random.default_rng(0)
    sides = [low_rank(rng), low_rank(rng)]
    sides[side][:40] = sides[side][0] + 1e-4 * rng.standard_normal((40, D))
    found = shesha.compare(*sides, ["RSA"]).doubts["near copies"]
    assert f"40 of {N} checked rows of {'XY'[side]} are near copies of one vector" in found.text
    assert found.rows == tuple(range(40)) and "the other 80" in found.text


@pytest.mark.parametrize("fault", CHANGES)
def test_the_effect_is_the_change_that_the_text_states(fault):
    """Duplicates of features that share their geometry change a score that is high without them."""
    rng = np.random.default_rng(1)
    X = np.tile(low_rank(rng, d=8) + 2 * rng.standard_normal((N, 8)), 2)
    X, told = (X, {}) if fault not in FAULTS else planted(fault, rng)
    n_changes = 0
    for one in doubts(X, **told):
        if change := re.search(r"changes from (-?[\d.]+) to (-?\d\.\d+)", one.text):
            before, after = map(float, change.groups())
            # A score that changes its sign is explained completely.
            effects = abs(before - after), abs(before) - max(0.0, np.sign(before) * after)
            assert min(abs(one.effect - effect) for effect in effects) < 0.011, one
            n_changes += 1
    assert n_changes


def test_totals_of_counts_are_in_doubt_only_if_they_differ():
    rng = np.random.default_rng(0)
    means, depth = rng.gamma(1, 1, (4, D))[rng.integers(4, size=N)], rng.gamma(3, 0.3, (N, 1))
    for values, doubted in (
        (rng.poisson(depth * means), True),
        (np.log1p(rng.poisson(depth * means)), False),
        (rng.poisson(means / means.sum(axis=1, keepdims=True) * 40), False),
        (rng.integers(0, 256, (N, D)), False),
        (rng.random((N, D)) < rng.random((N, 1)), False),
    ):
        found = doubts(values.astype(float), metric="euclidean")
        assert ("raw counts" in found.names) == doubted, found


def _normalised(X):
    return np.log1p(X / X.sum(axis=1, keepdims=True) * 1e4)


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (_normalised, 0),
        (np.log1p, 0),
        (np.sqrt, 0),
        (lambda X: _normalised(_normalised(X)), N),
        (lambda X: np.log1p(_normalised(X)), N),
        (lambda X: np.log1p(np.log1p(X)).astype(np.float32), N),
        (lambda X: np.concatenate([_normalised(X[: N // 2]), _normalised(_normalised(X[N // 2 :]))]), N // 2),
        (lambda X: np.maximum(np.random.default_rng(1).standard_normal(X.shape), 0), 0),
    ],
)
def test_logarithms_of_logarithms_are_named(prepare, expected):
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(3, 0.3, (N, 1)) * rng.gamma(0.5, 2, (4, 5 * D))[rng.integers(4, size=N)])
    found = {one.name: one for one in doubts(prepare(counts.astype(float)), metric="euclidean")}
    assert ("two logarithms" in found) == bool(expected)
    if expected:
        assert found["two logarithms"].effect == pytest.approx(expected / N, abs=0.1)
    pair = shesha.compare(_normalised(counts), prepare(counts.astype(float)), "CKA", calibrate=False)
    assert any("two logarithms" in text and "of Y contain" in text for text in pair.inputs) == bool(expected)


@pytest.mark.parametrize("make", [lambda rng: rng.standard_normal((N, D)), low_rank])
@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
def test_clean_rows_raise_nothing(make, metric):
    assert sum(len(doubts(make(np.random.default_rng(seed)), metric=metric)) for seed in range(4)) == 0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda rng: np.float32(3 + 1e-7 * rng.standard_normal((N, D))), True),
        (lambda rng: np.float16(3 + 1e-3 * rng.standard_normal((N, D))), True),
        (lambda rng: 3 + 1e-7 * rng.standard_normal((N, D)), False),
        # One huge column without variation hides nothing in the others.
        (lambda rng: np.float32(np.c_[np.full(N, 1e9), rng.standard_normal((N, D))]), False),
        (lambda rng: np.float32(rng.standard_normal((N, D))), False),
    ],
)
def test_rows_that_differ_by_rounding_alone_have_no_geometry(make, named):
    rng = np.random.default_rng(0)
    X, Y = make(rng), make(rng)
    for rows in (X, X.astype(float)):
        assert any("no more than the rounding of" in one.text for one in doubts(rows)) == named
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ("no more than the rounding of" in str(shesha.compare(X, Y, "CKA"))) == named


def test_rows_sorted_by_class_are_told_only_with_their_classes_in_doubt():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(4, size=N))
    X = 3 * rng.standard_normal((4, D))[y] + rng.standard_normal((N, D))
    assert doubts(X).names == ("order",)
    assert doubts(X, y).names == ("confounded labels",)
    assert doubts(X, y, order=False).names == ()
    assert "look like class differences" in doubts(X, y).found[0].text
    shuffled = rng.permutation(N)
    assert doubts(X[shuffled], y[shuffled]).names == ()
    # Labels of other rows, such as a table sorted by class.
    assert "in the order of the rows" in doubts(X[shuffled], y).found[0].advice


@pytest.mark.parametrize("effects", [{"few rows": 0.9, "raw counts": 0.1}, {"raw counts": 0.1, "few rows": 0.9}])
def test_doubts_about_the_values_come_first(effects):
    found = [Doubt(name, effect, None, "", "") for name, effect in effects.items()]
    assert [one.name for one in sorted(found, key=lambda one: one.order)] == ["raw counts", "few rows"]


def test_a_screen_of_raw_counts_names_the_counts_first():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(1, 1, (N, 1)) * np.exp(2 * rng.standard_normal(D)))
    found = doubts(counts, metric="euclidean")
    assert found.names[0] == "raw counts" and len(found) > 1 and found.found[0].effect < found.found[1].effect


def test_a_drift_within_sorted_classes_is_still_told():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(2), N // 2)
    X = 2 * rng.standard_normal((2, D))[y] + rng.standard_normal((N, D))
    X += np.tile(np.linspace(-3, 3, N // 2), 2)[:, None] * rng.standard_normal(D)
    assert "order" in doubts(X, y)


@pytest.mark.parametrize("scale", [1e-290, 1e200])
def test_the_unit_of_the_features_does_not_matter(scale):
    X, _ = planted("few coordinates", np.random.default_rng(2))
    assert doubts(X * scale).names == doubts(X).names


def test_rows_are_called_by_their_own_numbers():
    X, _ = planted("few rows", np.random.default_rng(3))
    found = doubts(np.insert(X, 2, 0, axis=0))["few rows"]
    assert found.rows == (8,)
    assert "row 8 accounts for" in found.text


def test_sparse_rows_and_mapped_files_are_doubted_alike(tmp_path):
    X, _ = planted("ties", np.random.default_rng(4))
    X = X[X.any(axis=1)]
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert doubts(csr_array(X)) == doubts(mapped) == doubts(X)


def test_too_little_to_be_doubted():
    assert len(doubts(np.random.default_rng(0).standard_normal((8, 10)))) == 0


@pytest.mark.parametrize("rows", [np.ones((30, 8)), np.repeat(np.arange(1.0, 9.0)[None], 30, axis=0)])
def test_constant_rows_are_doubted(rows):
    assert doubts(rows, metric="euclidean").names == ("no variation",)
    assert doubts(np.repeat(np.eye(2, 8), 15, axis=0), order=False).names[0] == "ties"


def test_a_rare_cluster_is_called_a_cluster_and_not_scale():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 50)) + 2 * rng.standard_normal((1, 50))
        members = np.sort(rng.permutation(200)[:16])
        X[members] += 3 * rng.standard_normal((1, 50))
        found = doubts(X)
        assert found.names[0] == "rare cluster" and not {"row scale", "few rows"} & set(found.names)
        assert found[0].rows == tuple(members.tolist())
        noise, offset = rng.standard_normal((200, 50)), 3 * rng.standard_normal((1, 50))
        assert "row scale" in doubts(np.exp(0.7 * rng.standard_normal((200, 1))) * noise + offset)


ROGUE = [(32, 2), (50, 2), (64, 3), (90, 3), (40, 4), (120, 4), (64, 5), (12, 2), (60, 6), (50, 9)]


@pytest.mark.parametrize(("d", "n_rogue"), ROGUE)
def test_a_few_rogue_features_are_found_together(d, n_rogue):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, chosen = low_rank(rng, 200, d), np.sort(rng.permutation(d)[:n_rogue])
        X[:, chosen] = 25 * rng.standard_normal((200, n_rogue))
        found = doubts(X)["few coordinates"]
        named = found.text.split("(")[1].split(")")[0].removesuffix(", ...")
        assert found.text.startswith(f"{n_rogue} of {d} features")
        assert len(set(map(int, named.split(", "))) & set(chosen.tolist())) == min(n_rogue, 5)


UNITS = {
    "half": (lambda rng: low_rank(rng, 200, 40), np.arange(40) % 2 == 0, 100),
    "a third of unequal columns": (lambda rng: low_rank(rng, 200, 60) * np.exp(0.5 * rng.standard_normal(60)), 20, 300),
    "two thirds": (lambda rng: rng.standard_normal((100, 120)), 80, 100),
}


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_columns_in_two_units_are_found(kind, metric):
    make, which, factor = UNITS[kind]
    for seed in range(3):
        X = make(np.random.default_rng(seed))
        is_larger = which if isinstance(which, np.ndarray) else np.arange(X.shape[1]) >= X.shape[1] - which
        found = doubts(1e-13 * X * np.where(is_larger, factor, 1), metric=metric, order=False)["mixed units"]
        assert found.text.startswith(f"{is_larger.sum()} of {X.shape[1]} features")
        standardised = doubts((X - X.mean(axis=0)) / X.std(axis=0), metric=metric, order=False)
        assert "mixed units" not in standardised
        if standardised.value is not None:
            assert f"becomes {standardised.value:.2f}" in found.text


def sorted_axes(X):
    left, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return left * sizes


ONE_UNIT = {
    "Gaussian": lambda rng, d: rng.standard_normal((100, d)),
    "log-normal scales": lambda rng, d: rng.standard_normal((100, d)) * np.exp(rng.standard_normal(d)),
    "counts": lambda rng, d: rng.poisson(rng.gamma(0.5, 2, d), (100, d)),
    "logarithms of counts": lambda rng, d: np.log1p(rng.poisson(rng.gamma(0.3, 2, d), (100, d))),
    "rarely active units": lambda rng, d: np.maximum(0, rng.standard_normal((100, d)) - 3 * (rng.random(d) < 0.3)),
    "axes of low rank": lambda rng, d: sorted_axes(low_rank(rng, 100, d) - 0.4999 * rng.standard_normal((100, d))),
    "axes of exactly low rank": lambda rng, d: sorted_axes(rng.standard_normal((100, 5)) @ rng.standard_normal((5, d))),
    "classes": lambda rng, d: np.eye(d)[rng.choice(d, 100, p=rng.dirichlet(np.full(d, 0.5)))],
    "probabilities": lambda rng, d: rng.dirichlet(np.full(d, 0.1), 100),
}


@pytest.mark.parametrize("kind", ONE_UNIT)
def test_columns_in_one_unit_are_not_called_two(kind):
    for seed in range(100):
        for d in (8, 20, 64):
            X = np.asarray(ONE_UNIT[kind](np.random.default_rng(seed), d), dtype=float)
            assert features_in_two_units(X, "euclidean") is None, (seed, d)
            assert features_in_two_units(X, "cosine") is None, (seed, d)


def test_the_network_of_digits_has_one_unit():
    for layer in digits_network()[0].values():
        assert features_in_two_units(np.asarray(layer, dtype=float).reshape(len(layer), -1), "cosine") is None


NO_EFFECT = {
    "Student t(3)": lambda rng: rng.standard_t(3, (200, 50)),
    "exact rank 2": lambda rng: rng.standard_normal((200, 2)) @ rng.standard_normal((2, 50)),
    "exact rank 3": lambda rng: rng.standard_normal((200, 3)) @ rng.standard_normal((3, 50)),
    "counts": lambda rng: rng.poisson(0.5, (200, 50)) + 0.0,
    "sparse ReLU": lambda rng: np.maximum(0, low_rank(rng, 200, 50) - 2),
    "dead units": lambda rng: low_rank(rng, 200, 50) * (np.arange(50) % 5 == 0),
}


@pytest.mark.parametrize("name", NO_EFFECT)
def test_what_changes_nothing_is_not_doubted(name):
    found = [doubts(NO_EFFECT[name](np.random.default_rng(seed)), order=False).names for seed in range(12)]
    assert sum(map(bool, found)) <= 3, found


@pytest.mark.parametrize("n_rows", [50, 200])
@pytest.mark.parametrize("r", [0.95, 0.96, 0.98, 1])
def test_noisy_copies_of_features_are_found(r, n_rows):
    for seed in range(2):
        X, noise = np.random.default_rng(seed).standard_normal((2, n_rows, 25))
        found = doubts(np.hstack([X, r * X + np.sqrt(1 - r**2) * noise]), order=False).names
        assert "copied features" in found, seed


def autoregressive(rng, n, d, phi):
    X = rng.standard_normal((n, d))
    for column in range(1, d):
        X[:, column] = phi * X[:, column - 1] + np.sqrt(1 - phi**2) * X[:, column]
    return X


def exact_rank(rng, n, rank):
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, 50))


NO_COPIES = {
    "rank 2": lambda rng, n: exact_rank(rng, n, 2),
    "rank 3": lambda rng, n: exact_rank(rng, n, 3),
    "rank 5": lambda rng, n: exact_rank(rng, n, 5),
    "neighbours correlated at 0.95": lambda rng, n: autoregressive(rng, n, 40, 0.95),
    "all correlated at 0.5": lambda rng, n: rng.standard_normal((n, 1)) + rng.standard_normal((n, 40)),
}


@pytest.mark.parametrize("n_rows", [50, 300])
@pytest.mark.parametrize("name", NO_COPIES)
def test_correlated_features_are_not_called_copies(name, n_rows):
    found = [doubts(NO_COPIES[name](np.random.default_rng(seed), n_rows), order=False).names for seed in range(3)]
    assert not any("copied features" in names for names in found), found


def test_the_largest_numbers_raise_no_warning():
    X = np.random.default_rng(0).standard_normal((40, 8))
    X[0, 0] = np.finfo(float).max
    doubts(X)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
@pytest.mark.parametrize("n_distinct", [1, 2, 3])
def test_rows_that_hardly_differ_are_not_called_free_of_doubt(metric, n_distinct):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_distinct, 8))[rng.integers(0, n_distinct, 50)]
    found = doubts(X, metric=metric)
    assert f"only {n_distinct} of the 50 checked rows are distinct" in found.reason
    assert found.reason in " ".join(str(found).split())


@pytest.mark.parametrize("X", [np.zeros((50, 8)), np.eye(8), np.random.default_rng(0).standard_normal((50, 3))])
def test_data_that_are_too_small_are_not_called_free_of_doubt(X):
    found = doubts(X)
    assert len(found) == 0
    assert " ".join(str(found).split()).startswith(
        "No checks were possible: the checks need at least 12 rows with defined"
    )


def alternating(n, strength, rng, d=16):
    return (-1.0) ** np.arange(n)[:, None] * strength * rng.standard_normal((1, d)) + rng.standard_normal((n, d))


@pytest.mark.parametrize("n", [60, 300, 1000])
def test_a_condition_that_alternates_is_told(n):
    rng = np.random.default_rng(n)
    found = [doubts(alternating(n, 1.0, rng)) for _ in range(5)]
    assert all("alternating order" in one and "order" not in one for one in found)
    X = alternating(n, 1.0, rng)
    assert "alternating order" not in doubts(X, order=False)
    # Classes in turn explain their own order.
    assert "alternating order" not in doubts(X, np.arange(n) % 2)


@pytest.mark.parametrize("period", [3, 4, 5])
def test_conditions_in_turn_are_told(period):
    rng = np.random.default_rng(period)
    turn = np.arange(150) % period
    X = rng.standard_normal((period, 24))[turn] + rng.standard_normal((150, 24))
    (found,) = (one for one in doubts(X) if one.name == "alternating order")
    assert "the rows have a period of about" in found.text
    assert found.effect > 0.5 * doubts(X).value
    # Classes in turn explain their own order.
    assert "alternating order" not in doubts(X, turn)


def test_a_condition_that_both_of_a_pair_alternate_with_is_warned_of():
    rng = np.random.default_rng(0)
    X, Y = alternating(80, 1.0, rng), alternating(80, 1.0, rng)
    with pytest.warns(shesha.CalibrationWarning, match="rows two positions apart are similar"):
        shesha.calibrate(X, Y, "RSA", n_permutations=19)
    assert not dependence(X, rng.standard_normal((80, 16))).is_dependent


def test_what_a_quantity_explains_is_a_partial_correlation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 16)) + 2 * rng.standard_normal((30, 1))
    headline, known = Headline.from_halves(X, "euclidean", 0), rng.standard_normal(30)
    explaining = functions(known)
    design = np.column_stack([np.ones(explaining.shape[1]), *explaining])

    def rest(side):
        return side - design @ np.linalg.lstsq(design, side, rcond=None)[0]

    pairs = zip(headline.first, headline.second, strict=True)
    expected = np.mean([np.corrcoef(rest(a), rest(b))[0, 1] for a, b in pairs])
    assert headline.partial_score(explaining) == pytest.approx(expected, abs=1e-9)
    assert CovariateShare(headline, known, "it").partial_score == pytest.approx(expected, abs=1e-9)


def test_the_p_value_of_what_is_explained_is_that_of_one_more_normal_draw():
    """A new draw differs from the mean of m by a standard deviation of sqrt(1 + 1 / m)."""
    rng = np.random.default_rng(0)
    known = rng.standard_normal(30)
    X = rng.standard_normal((30, 16)) + 2 * rng.standard_normal((30, 1)) + 0.3 * known[:, None]
    headline = Headline.from_halves(X, "euclidean", 0)
    assert headline.value > 0
    draw = np.random.default_rng(7)
    others = [headline.partial_score(functions(known[draw.permutation(30)])) for _ in range(19)]
    scale = np.std(others, ddof=1) * np.sqrt(20 / 19)
    expected = norm.cdf(headline.partial_score(functions(known)), np.mean(others), scale)
    assert 0.1 < expected < 0.9
    assert CovariateShare(headline, known, "it").p_value(np.random.default_rng(7)) == pytest.approx(expected)


def test_the_headline_is_the_feature_split_of_the_same_draws():
    X = low_rank(np.random.default_rng(0))
    assert Headline.from_halves(X, "cosine", 5).value == pytest.approx(shesha.feature_split(X, n_splits=8, seed=5))


def test_the_share_of_tied_neighbours_is_that_of_a_loop(rng):
    n = 600
    levels = rng.integers(0, 60, n * (n - 1) // 2)
    shares = []
    for row in squareform(levels) + np.diag([99] * n):
        last = sorted(row)[9]
        free = 10 - (row < last).sum()
        shares.append(free / 10 * (1 - free / (row == last).sum()))
    assert _share_of_ties(levels, n) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("n", [20, 60, 300])
def test_equal_rows_with_one_large_column_are_doubted(n):
    row = np.random.default_rng(0).standard_normal(384).astype(np.float32)
    row[0] = 40
    found = doubts(np.repeat(row[None], n, axis=0))
    assert "no variation" in found.names or found.reason


def test_rows_that_were_never_written_are_named(rng):
    X = rng.standard_normal((100, 32)).astype(np.float32)
    X[60:] = rng.integers(0, 2**20, (40, 32), dtype=np.int32).view(np.float32)
    (found,) = [doubt for doubt in doubts(X) if doubt.name == "wrong type"]
    assert found.rows == tuple(range(60, 100)) and "never written in 40 rows (60, 61" in found.text


def make_named_columns(tmp_path, form):
    """A table, an AnnData object or a file of either, in which cd19 determines the distances."""
    rows = np.random.default_rng(0).standard_normal((200, 9))
    rows[:, 4] *= 200
    names = ["kras", "myc", "tp53", "egfr", "cd19", "gapdh", "actb", "sox2", "nanog"]
    if form in ("DataFrame", "csv"):
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame(rows, columns=names)
        if form == "csv":
            table.to_csv(tmp_path / "x.csv", index=False)
        return table if form == "DataFrame" else tmp_path / "x.csv"
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(rows)
    data.var_names = names
    if form == "h5ad":
        data.write_h5ad(tmp_path / "x.h5ad")
    return data if form == "AnnData" else tmp_path / "x.h5ad"


@pytest.mark.parametrize("form", ["DataFrame", "csv", "AnnData", "h5ad"])
def test_doubts_call_features_by_their_names(tmp_path, form):
    found = shesha.doubts(make_named_columns(tmp_path, form))
    assert "1 of 9 features (cd19)" in found["few coordinates"].text


def test_features_have_numbers_if_two_tables_name_them_differently():
    with provenance.collect_statements():
        provenance.record_features(3, lambda: "abc")
        assert provenance.name_features([0, 2], 3) == ["a", "c"]
        provenance.record_features(3, lambda: "xyz")
        assert provenance.name_features([0, 2], 3) == ["0", "2"]
    assert provenance.name_features([0, 2], 3) == ["0", "2"]


def find_order(rows):
    return next(found for found in doubts(rows) if found.name == "order")


@pytest.mark.parametrize(("n", "where"), [(60, "about row 30"), (400, "a row between 176 and 224")])
def test_two_kinds_of_rows_one_after_the_other_are_no_series(n, where):
    rng = np.random.default_rng(0)
    shared, apart = rng.standard_normal((n // 2, 64)), 6 * rng.standard_normal(64)
    pictures = shared + 0.1 * rng.standard_normal(shared.shape) + apart
    found = find_order(np.vstack([pictures, shared - apart]))
    assert found.text.startswith(f"rows from {where} on differ from those before it (")
    assert "two kinds of rows" in found.advice


@pytest.mark.parametrize("kind", ["walk", "drift", "four batches"])
def test_other_orders_are_not_two_kinds_of_rows(kind):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 20))
    rows = {
        "walk": rows.cumsum(axis=0),
        "drift": rows + np.linspace(0, 3, 200)[:, None] * rng.standard_normal(20),
        "four batches": rows + 2 * np.repeat(rng.standard_normal((4, 20)), 50, axis=0),
    }[kind]
    assert find_order(rows).text.startswith("consecutive rows are closer than random pairs")


@pytest.mark.parametrize("turn", [2 * np.pi, 360])
@pytest.mark.parametrize("start", [-0.5, 0])
def test_angles_are_told(start, turn):
    rng = np.random.default_rng(0)
    rows = turn * ((rng.uniform(size=(100, 20)) + rng.uniform(size=(100, 1))) % 1 + start)
    found = doubts(rows.astype(np.float32))["angles"]
    assert f"like angles in {'degrees' if turn == 360 else 'radians'}" in found.text


@pytest.mark.parametrize("kind", ["normal", "whole degrees", "beyond", "one end"])
def test_other_values_are_no_angles(kind):
    rng = np.random.default_rng(0)
    uniform = rng.uniform(size=(200, 20))
    rows = {
        "normal": np.clip(rng.standard_normal((200, 20)), -3.14, 3.14),
        "whole degrees": np.rint(360 * uniform),
        "beyond": 7 * uniform,
        "one end": 2 * np.pi * uniform**9,
    }[kind]
    assert "angles" not in [found.name for found in doubts(rows)]


def test_a_label_among_the_features_is_told():
    rng = np.random.default_rng(0)
    labels, rows = rng.integers(3, size=200), rng.standard_normal((200, 12))
    rows[:, 7] = np.array([2.0, -1, 5])[labels]
    found = doubts(rows, labels)["label features"]
    assert found.text.startswith("1 feature (7) with ") and "one value in each class" in found.text
    assert "label features" not in [found.name for found in doubts(np.delete(rows, 7, axis=1), labels)]
    # Conditions without noise have one value in each class in all features.
    assert "label features" not in [found.name for found in doubts(rng.standard_normal((3, 12))[labels], labels)]


def test_rows_that_were_only_sorted_by_class_are_told_from_a_drift():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 40)
    rows = rng.standard_normal((6, 15))[labels] @ rng.standard_normal((15, 40)) + rng.standard_normal((240, 40))
    assert "have no order within classes" in doubts(rows, labels)["confounded labels"].text
    drift = np.linspace(0, 8, 240)[:, None] * rng.standard_normal(40)
    assert "classes follow the order of the rows" in doubts(rows + drift, labels)["confounded labels"].text


def test_few_features_with_most_of_the_distances_are_named_without_others():
    rows = np.random.default_rng(0).standard_normal((200, 256))
    rows[:, [7, 100]] = 300 + 30 * rows[:, [7, 100]]
    assert "2 of 256 features (" in doubts(rows)["few coordinates"].text


@pytest.mark.parametrize("n", [150, 900])
def test_axes_of_a_discriminant_analysis_are_told(n):
    discriminant = pytest.importorskip("sklearn.discriminant_analysis")
    rng = np.random.default_rng(3)
    labels, rows = rng.integers(6, size=n), rng.standard_normal((n, 100))
    axes = discriminant.LinearDiscriminantAnalysis().fit_transform(rows, labels)
    assert "discriminant analysis" in doubts(axes, labels)["label features"].text
    components = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0][:, :5]
    assert "label features" not in [found.name for found in doubts(components, labels)]


@pytest.mark.parametrize("baseline", [0.0, 30.0])
def test_baselines_of_rows_are_not_called_copies(baseline):
    """Frames of calcium traces resemble one another because cells have baselines of their own."""
    rng = np.random.default_rng(0)
    traces = rng.standard_normal((90, 200)) + 100 + baseline * rng.standard_normal((90, 1))
    found = doubts(traces, order=False)
    assert ("copied features" in found.names) == (baseline > 0)
    if baseline:
        assert "not after the mean of each row is subtracted" in found["copied features"].text
        assert "Subtract the baseline" in found["copied features"].advice
        copies = np.repeat(rng.standard_normal((90, 50)), 4, axis=1) + 10 * rng.standard_normal((90, 1))
        assert "Keep one column" in doubts(copies, order=False)["copied features"].advice
