"""Results do not depend on the unit of the data, from 1e-160 to 1e160, or scale with it."""

import warnings

import numpy as np
import pytest

import shesha
from shesha.neuro.stochastic_shape import stochastic_shape

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 6))
Y = X[:, :5] + RNG.standard_normal((30, 5))
NOISE = 0.1 * RNG.standard_normal(X.shape)


@pytest.mark.parametrize("scale", (1e-150, 1e160))
def test_a_diff_and_a_consensus_do_not_depend_on_the_unit(scale):
    drift = {unit: shesha.diff(X * unit, (X + NOISE) * unit) for unit in (1.0, scale)}
    assert str(drift[scale]) == str(drift[1.0])
    shapes = {"a": X, "b": X + NOISE, "c": np.pad(Y, ((0, 0), (0, 1)))}
    one, other = (shesha.consensus({name: rows * unit for name, rows in shapes.items()}) for unit in (1.0, scale))
    np.testing.assert_allclose([other[name].value for name in shapes], [one[name].value for name in shapes])


@pytest.mark.parametrize(("kind", "power"), [("gaussian", 1), ("energy", 0.5)])
def test_a_distance_of_shapes_scales_with_the_data(kind, power):
    shown = np.repeat(np.arange(6), 8)
    rng = np.random.default_rng(0)
    first, second = (2 * rng.standard_normal((6, 4))[shown] + rng.standard_normal((48, 4)) for _ in range(2))
    expected = stochastic_shape(first, second, shown, kind=kind, n_splits=2).value
    for scale in (1e-160, 1e160):
        found = stochastic_shape(first * scale, second * scale, shown, kind=kind, n_splits=2).value
        np.testing.assert_allclose(found, expected * scale**power, rtol=1e-10)


def test_rows_that_are_rotated_to_fewer_coordinates_give_the_same_values(monkeypatch):
    wide = RNG.standard_normal((20, 200)) + 1
    pair = wide, wide[:, ::2] + RNG.standard_normal((20, 100))
    chosen = ["CKA", "DistCorr", "mutual kNN", "CKNNA", "LinReg", "ProcDist", "PermProc", "PWCCA", "EOS", "MagDiff"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = shesha.compare(*pair, chosen)
        monkeypatch.setattr("shesha.views.representation._LARGE", 1)
        found = shesha.compare(*pair, chosen)
    for before, after in zip(expected.scores, found.scores, strict=True):
        np.testing.assert_allclose(after.value, before.value, rtol=1e-9, err_msg=before.name)
        assert after.reason == before.reason


def test_a_ridge_in_the_unit_of_the_data_gives_limits_and_no_zero():
    """Whitening does nothing to data that are far smaller than the documented ridge, which is absolute."""
    from shesha.bio import perturbation_coherence, perturbation_coherence_whitened

    rng = np.random.default_rng(0)
    controls, cells = rng.standard_normal((60, 5)) * np.arange(1, 6), rng.standard_normal((40, 5)) + 0.5
    plain = perturbation_coherence(controls, cells)
    for scale in (1e-8, 1e-100, 1e-160, 1e-300):
        assert perturbation_coherence_whitened(controls * scale, cells * scale) == pytest.approx(plain, rel=1e-8)
    whitened = perturbation_coherence_whitened(controls, cells, 1e-12)
    for scale in (1e100, 1e160):
        assert perturbation_coherence_whitened(controls * scale, cells * scale) == pytest.approx(whitened, rel=1e-9)
