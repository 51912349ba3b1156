"""Rows that stand for all, and signs that a screened search finds as well."""

import numpy as np
import pytest

from shesha.nulls.dependence import DiagnosticRows, find_dependence, stretches


@pytest.mark.parametrize("n", [40, 511, 513, 700, 1000, 5001])
def test_products_of_any_rows_are_those_of_centred_rows(n):
    X = np.random.default_rng(n).standard_normal((n, 5)) + 3
    one = DiagnosticRows(X)
    rows = np.unique(np.concatenate([one.rows[::7], [0, 1, n // 2, n // 2 + 3, n - 1]]))
    found = one.products(rows)
    centred = X[rows] - X[one.rows].mean(axis=0)
    assert found * np.abs(X[one.rows]).max() ** 2 == pytest.approx(centred @ centred.T, abs=1e-9)


@pytest.mark.parametrize("n", [513, 600, 1000, 1024, 9999])
def test_shorter_stretches_lie_within_longer_ones(n):
    assert np.isin(np.concatenate(stretches(n, 64)), np.concatenate(stretches(n))).all()


def _pairs(rng, n=150, d=8):
    noise, other = rng.standard_normal((2, n, d))
    walk = noise.cumsum(axis=0)
    alternating = noise + 3 * (np.arange(n) % 2)[:, None]
    twins = np.concatenate([noise[: n // 2], noise[: n // 2] + 1e-5 * other[: n // 2]])
    wave = noise + 3 * np.sin(2 * np.pi * np.arange(n)[:, None] / 17.3)
    return {
        "noise": (noise, other),
        "one walk": (walk, other),
        "walks": (walk, walk @ rng.standard_normal((d, d))),
        "alternating": (alternating, 2 * alternating + other),
        "twins": (twins, twins @ rng.standard_normal((d, d))),
        "counts": (rng.poisson(0.2, (n, d)).astype(float), rng.poisson(0.2, (n, d)).astype(float)),
        "waves": (wave, wave + other),
    }


@pytest.mark.parametrize("name", _pairs(np.random.default_rng(0)))
@pytest.mark.parametrize("swapped", [False, True])
def test_a_screened_search_finds_the_same_signs(name, swapped):
    pair = _pairs(np.random.default_rng(3))[name]
    full, screened = (
        find_dependence([DiagnosticRows(side) for side in (pair[::-1] if swapped else pair)], screened=quick)
        for quick in (False, True)
    )
    assert screened.text == full.text
    assert (screened.repeated, screened.nearly_repeated) == (full.repeated, full.nearly_repeated)
    if name in ("walks", "alternating", "twins", "waves"):
        assert screened.is_dependent


def test_one_far_row_makes_no_near_repeats():
    X = np.random.default_rng(1).standard_normal((60, 12))
    X[[13, 7, 43]] *= 1e9
    assert find_dependence([DiagnosticRows(X)]).nearly_repeated == ()
