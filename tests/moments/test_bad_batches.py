"""What batches and states must be; after an error nothing is counted twice or lost."""

import zipfile

import numpy as np
import pytest

import shesha
from shesha import Moments
from shesha.moments import merge_all


def pair(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)), rng.standard_normal((n, 3))


def equal(one, other):
    first, second = merge_all(one.parts()), merge_all(other.parts())
    return first.n_rows == second.n_rows and np.allclose(first.cross[0, 1], second.cross[0, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ((np.zeros((5, 4)), np.zeros((4, 3))), ValueError, r"Y must have as many rows as X \(5\), got 4"),
        ((np.zeros((5, 6)), np.zeros((5, 3))), ValueError, r"X must have 4 features, as in earlier batches, got 6"),
        (
            (np.full((5, 4), np.nan), np.zeros((5, 3))),
            ValueError,
            r"X must be finite, got NaN or infinity in rows 0, 1",
        ),
        ((np.zeros(5), np.zeros((5, 3))), ValueError, r"X must be 2-D \(n_samples, n_features\), got shape \(5,\)"),
        ((np.zeros((5, 4)), np.zeros((5, 3), dtype=complex)), TypeError, r"Y must be a matrix of real numbers"),
        ((np.zeros((5, 4)),), TypeError, r"sides must be 2 matrices, one for each name, got 1"),
    ],
)
def test_a_bad_batch_counts_nothing(batch, error, message):
    X, Y = pair()
    moments = Moments()
    moments.update(X[:100], Y[:100])
    with pytest.raises(error, match=message):
        moments.update(*batch)
    moments.update(X[100:], Y[100:])
    assert equal(moments, Moments.of(X, Y))


def test_batches_without_rows_and_of_one_row():
    X, Y = pair(5)
    moments = Moments()
    moments.update(X[:0], Y[:0])
    for i in range(5):
        moments.update(X[i : i + 1], Y[i : i + 1])
    assert equal(moments, Moments.of(X, Y))


def test_a_buffer_that_is_filled_again_does_not_change_what_was_counted():
    X, Y = pair()
    moments, x, y = Moments(), np.empty((10, 4)), np.empty((10, 3))
    for start in range(0, 300, 10):
        x[:], y[:] = X[start : start + 10], Y[start : start + 10]
        moments.update(x, y)
    assert equal(moments, Moments.of(X, Y))


def test_integers_do_not_overflow():
    X = np.random.default_rng(0).integers(-128, 127, (500, 3)).astype(np.int8)
    Y = np.random.default_rng(1).integers(0, 2**62, (500, 2))
    found = Moments.of(X, Y)
    assert found.covariance("X") == pytest.approx(np.cov(X.astype(float).T))
    assert found.covariance("Y") == pytest.approx(np.cov(Y.astype(float).T))


def test_merging_refuses_other_data():
    X, Y = pair()
    with pytest.raises(ValueError, match=r"widths must be \(4, 3\), got \(3, 4\)"):
        Moments.of(X, Y).merge(Moments.of(Y, X))
    with pytest.raises(ValueError, match=r"names must be X, Y, got A, B"):
        Moments.of(X, Y).merge(Moments.of(X, Y, names=("A", "B")))
    with pytest.raises(TypeError, match=r"other must be Moments, got int"):
        Moments.of(X, Y).merge(3)
    assert equal(Moments().merge(Moments.of(X, Y)), Moments.of(X, Y))


def test_saved_moments_go_on_where_they_were(tmp_path):
    X, Y = pair(1_000)
    moments = Moments()
    moments.update(X[:333].astype(np.float32), Y[:333])
    moments.save(tmp_path / "state.npz")
    loaded = Moments.load(tmp_path / "state.npz")
    for one in (moments, loaded):
        one.update(X[333:], Y[333:])
    assert len(loaded) == 1_000
    assert loaded.precision(0) == moments.precision(0) == np.finfo(np.float32).eps
    assert all((a.cross[0, 1] == b.cross[0, 1]).all() for a, b in zip(moments.parts(), loaded.parts(), strict=True))


def test_damaged_and_foreign_states_are_refused(tmp_path):
    X, Y = pair()
    path = tmp_path / "state.npz"
    Moments.of(X, Y).save(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\x93NUMPY", whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must contain moments that shesha.Moments.save wrote"):
            Moments.load(path)
    np.savez(path, header=np.frombuffer(b'{"format": "shesha moments 9"}', dtype=np.uint8))
    with pytest.raises(ValueError, match=r"must be in the format 'shesha moments 1', got 'shesha moments 9'"):
        Moments.load(path)
    np.savez(path, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=r"damaged or has another format"):
        Moments.load(path)


def test_a_state_with_a_changed_part_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    Moments.of(*pair()).save(path)
    with np.load(path) as arrays:
        kept = dict(arrays)
    for change in (np.zeros((2, 2)), np.full_like(kept["part 0 side 0"], np.nan)):
        np.savez(path, **(kept | {"part 0 side 0": change}))
        with pytest.raises(ValueError, match=r"damaged"):
            Moments.load(path)
    np.savez(path, **{name: value for name, value in kept.items() if "part 0" not in name})
    with pytest.raises(ValueError, match=r"damaged"):
        Moments.load(path)
    assert zipfile.is_zipfile(path)


def test_empty_moments_have_no_file_and_no_mean(tmp_path):
    with pytest.raises(ValueError, match=r"moments must have at least one row to be saved, got none"):
        Moments().save(tmp_path / "state.npz")
    with pytest.raises(ValueError, match=r"moments must have at least one row, got none"):
        Moments().mean("X")
    with pytest.raises(ValueError, match=r"names must be two different names"):
        Moments(("X", "X"))
    with pytest.raises(ValueError, match=r"name must be one of X, Y, got 'Z'"):
        Moments.of(*pair()).mean("Z")


def test_the_widest_are_refused_before_any_product(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    with pytest.raises(ValueError, match=r"sums of products of 400 and 400 features must fit the memory budget"):
        Moments.of(np.zeros((10, 400)), np.zeros((10, 400)))


def test_rows_too_large_to_sum_are_refused_without_a_raw_warning():
    X = np.random.default_rng(0).standard_normal((40, 6))
    with pytest.raises(ValueError, match="rows must differ by less than"):
        shesha.compare(Moments.of(np.sign(X) * np.finfo(float).max, X), "CKA")
