"""The ways to compare distances (rho-a, tau-a, whitened) follow their definitions, and rank models with ties fairly."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata

import shesha
from shesha import Rdm
from shesha.measures import rsa

N = 9
A, B = np.triu_indices(N, k=1)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
Y = X + RNG.standard_normal((N, 5))
CATEGORIES = (np.arange(N)[A] % 3 != np.arange(N)[B] % 3).astype(float)


def squares(rows):
    return ((rows[A] - rows[B]) ** 2).sum(axis=1)


def whitened(a, b, centred):
    """By the inverse of the covariance that equal noise of all rows gives to squared distances."""
    contrasts = np.zeros((len(A), N))
    contrasts[np.arange(len(A)), A], contrasts[np.arange(len(A)), B] = 1, -1
    inverse = np.linalg.inv((contrasts @ contrasts.T) ** 2)
    a, b = (side - side.mean() * centred for side in (a, b))
    return a @ inverse @ b / np.sqrt((a @ inverse @ a) * (b @ inverse @ b))


def tau_a(a, b):
    pairs = list(combinations(range(len(a)), 2))
    return sum(np.sign(a[p] - a[q]) * np.sign(b[p] - b[q]) for p, q in pairs) / len(pairs)


def rho_a(a, b):
    """The mean Spearman correlation over all ways to break ties (Schütt et al. 2023)."""
    n, product = len(a), rankdata(a) @ rankdata(b)
    return 12 * product / (n**3 - n) - 3 * (n + 1) / (n - 1)


DEFINITIONS = {
    "corr_cov": lambda a, b: whitened(a, b, True),
    "cosine_cov": lambda a, b: whitened(a, b, False),
    "tau-a": tau_a,
    "rho-a": rho_a,
}


@pytest.mark.parametrize("method", DEFINITIONS)
@pytest.mark.parametrize("other", ["features", "categories", "negative"])
def test_each_method_follows_its_definition(method, other):
    b = {"features": squares(Y), "categories": CATEGORIES, "negative": squares(Y) - 4}[other]
    expected = DEFINITIONS[method](squares(X), b)
    assert rsa(Rdm(squares(X)), Rdm(b), method=method) == pytest.approx(expected, abs=1e-12)
    if other == "features":
        assert rsa(X, Y, metric="euclidean", method=method) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", DEFINITIONS)
def test_each_method_is_that_of_rsatoolbox(method):
    toolbox = pytest.importorskip("rsatoolbox")
    first, second = (toolbox.rdm.RDMs(rdm[None]) for rdm in (squares(X), CATEGORIES))
    expected = toolbox.rdm.compare(first, second, method=method).item()
    assert rsa(Rdm(squares(X)), Rdm(CATEGORIES), method=method) == pytest.approx(expected, abs=1e-9)


def test_the_whitened_cosine_is_linear_cka():
    assert rsa(X, Y, metric="euclidean", method="cosine_cov") == pytest.approx(shesha.measures.cka(X, Y))


@pytest.mark.parametrize("method", DEFINITIONS)
def test_null_draws_are_values_of_permuted_rows(method):
    """Permuted views must give the same values as permuted data."""
    order = np.random.default_rng(1).permutation(N)
    measure = shesha.measures.get(f"RSA(method={method}, metric=euclidean)")
    a, b = (measure.look(shesha.views.Representation.build(side)) for side in (X, Y))
    moved = measure.compare_views(a, b.permute(order))
    assert moved == pytest.approx(rsa(X, Y[order], metric="euclidean", method=method))
    found = shesha.calibrate(X, Y, measure, n_permutations=99, seed=0)
    assert found.value == pytest.approx(rsa(X, Y, metric="euclidean", method=method))
    assert abs(found.chance - (0.4 if method == "cosine_cov" else 0.0)) < 0.1


@pytest.mark.parametrize(("method", "is_first"), [("spearman", True), ("rho-a", False), ("tau-a", False)])
def test_a_model_with_ties_wins_only_by_spearman(method, is_first):
    """Spearman's correlation rewards predicted ties; rho-a and tau-a do not (Nili et al. 2014)."""
    rng, n = np.random.default_rng(3), 18
    groups = np.eye(3)[np.arange(n) % 3]
    true = 3 * groups @ rng.standard_normal((3, 6)) + rng.standard_normal((n, 6))
    data = [true + 0.3 * rng.standard_normal((n, 6)) for _ in range(4)]
    i, j = np.triu_indices(n, k=1)
    models = {
        "categories": Rdm((groups[i] != groups[j]).any(axis=1).astype(float)),
        "detailed": true + 4 * rng.standard_normal((n, 6)),
    }
    options = {"n_permutations": 19, "n_resamples": 20, "alpha": 0.05}
    found = shesha.rank_models(data, models, f"RSA(method={method}, metric=euclidean)", **options)
    spearman = shesha.rank_models(data, models, "RSA(metric=euclidean)", **options)
    assert found["categories"].value <= spearman["categories"].value + 1e-12
    assert (found["categories"].value == pytest.approx(spearman["categories"].value)) == is_first
    assert found["detailed"].value == pytest.approx(spearman["detailed"].value) or method == "tau-a"


@pytest.mark.parametrize("method", ["rho-a", "tau-a"])
def test_missing_distances_are_left_out(method):
    missing, known = squares(X).copy(), np.arange(len(A)) > 2
    missing[~known] = np.nan
    expected = DEFINITIONS[method](squares(X)[known], CATEGORIES[known])
    assert rsa(Rdm(missing), Rdm(CATEGORIES), method=method) == pytest.approx(expected)
    assert rsa(Rdm(CATEGORIES), Rdm(missing), method=method) == pytest.approx(expected)
