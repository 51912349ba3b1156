"""Whether two sides differ by the rounding of one of them."""

import numpy as np
import pytest
from scipy.stats import ortho_group

import shesha
from shesha.doubting import find_pair_doubts
from shesha.drift import DriftMonitor
from shesha.views import Representation

SPREAD = 0.05


def rows_of(rng, n=120, d=24):
    return SPREAD * rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) / np.sqrt(6)


def significant(X, digits):
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"))(X)


def found(X, Y):
    sides = [Representation.build(X, "X"), Representation.build(Y, "Y")]
    doubts = find_pair_doubts(sides, None, only_cheap=True)
    return doubts["rounded values"].text if "rounded values" in doubts.names else ""


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("side", [0, 1])
def test_values_that_were_rounded_are_named_with_their_step(rng, kind, side):
    X = rows_of(rng)
    sides = [X + 1e-5 * rng.standard_normal(X.shape), X]
    sides[side] = sides[side].round(2)
    text = found(*(values.astype(kind) for values in sides))
    n = len(np.unique(sides[side].astype(kind)))
    assert text.startswith(f"the values of {'XY'[side]} are multiples of 0.01 ({n} different ones), those of")
    assert "they differ by 0.0029" in text and "(0.0029)" in text


def test_few_significant_digits_are_named(rng):
    X = rows_of(rng)
    assert "the values of Y are numbers of 2 significant digits" in found(X, significant(X, 2))


def test_distances_show_rounding_if_axes_differ(rng):
    X = rows_of(rng)
    text = found(X @ ortho_group.rvs(24, random_state=0), X.round(2))
    assert "squared distances between rows differ by" in text


def test_monitors_without_rows_name_rounding(rng, tmp_path):
    X = rows_of(rng)
    nulls = [X + 1e-5 * rng.standard_normal(X.shape) for _ in range(19)]
    DriftMonitor(X, nulls=nulls).save(tmp_path / "canary")
    for watched in (DriftMonitor(X, nulls=nulls), DriftMonitor.load(tmp_path / "canary")):
        text = str(watched.check(X.round(2)))
        assert text.startswith("Check first: rounded values: the values of the new rows are multiples of 0.01")
        assert "rounded values" not in str(watched.check(X + 0.003 * rng.standard_normal(X.shape)))


SOUND = {
    "both rounded": lambda rng, X: (X.round(2), (X + 0.004 * rng.standard_normal(X.shape)).round(2)),
    "another change": lambda rng, X: (X.round(2), X + 0.01 * rng.standard_normal(X.shape)),
    "noise as large as the rounding": lambda rng, X: (X.round(2), X.round(2) + 0.0029 * rng.standard_normal(X.shape)),
    "counts and logarithms": lambda rng, X: (counts := rng.poisson(3.0, X.shape), np.log1p(counts)),
    "counts of two encodings": lambda rng, X: rng.poisson(3.0, (2, *X.shape)),
    "unrelated": lambda rng, X: (X.round(2), rows_of(rng)),
    "single precision": lambda rng, X: (X.astype(np.float32), X),
    "half precision": lambda rng, X: (X.astype(np.float16), X),
    "many decimals": lambda rng, X: (X.round(6), X),
}


@pytest.mark.parametrize("kind", SOUND)
def test_other_differences_are_not_called_rounding(kind, rng):
    for _ in range(5):
        assert not found(*SOUND[kind](rng, rows_of(rng)))


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sizes_of_values_that_no_square_holds_raise_no_raw_warning(rng, scale):
    X = rng.standard_normal((100, 6))
    shesha.compare(X * scale, X.round(2) * scale, "CKA")
    classes, blocks = rng.integers(3, size=100), np.arange(100) % 2
    shesha.audit(X * scale, y=classes, blocks=blocks, n_permutations=19)
