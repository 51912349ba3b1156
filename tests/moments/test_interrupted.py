"""Ctrl-C, failing loaders and dying workers: every batch is counted once, as a whole, or not at all."""

import sys

import numpy as np
import pytest

from shesha import Moments
from shesha.moments import merge_all


def pair(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) + 1e4, rng.standard_normal((n, 3))


def require_equal(found, pair):
    one, other = merge_all(found.parts()), merge_all(Moments.of(*pair).parts())
    assert one.n_rows == other.n_rows == len(pair[0])
    assert one.cross[0, 1] == pytest.approx(other.cross[0, 1], rel=1e-9, abs=1e-9)


class InterruptAt:
    """Ctrl-C at the line of this number that runs in `shesha.moments`."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, arg):
        if "shesha/moments" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def update_until(moments, number, *batch, **options):
    """Return whether the batch was interrupted."""
    before = sys.gettrace()
    sys.settrace(InterruptAt(number))
    try:
        moments.update(*batch, **options)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize(("first", "stop", "step"), [(30, 150, 1), (0, 50, 1), (4_000, 4_200, 257)])
def test_ctrl_c_at_any_line_counts_a_whole_batch_or_nothing(first, stop, step, monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "1")
    X, Y = pair(4_500)
    n_interrupted = 0
    for number in range(1, 20_000, step):
        moments = Moments()
        moments.update(X[:first], Y[:first])
        interrupted = update_until(moments, number, X[first:stop], Y[first:stop])
        if interrupted and len(moments) == first:
            moments.update(X[first:stop], Y[first:stop])
        assert len(moments) == stop
        require_equal(moments, (X[:stop], Y[:stop]))
        if not interrupted:
            break
        n_interrupted += 1
    assert n_interrupted > 20
    assert not interrupted


def test_a_batch_with_nan_in_its_last_panel_counts_nothing():
    X, Y = pair(20_000)
    moments = Moments()
    moments.add_unchecked([X[:100], Y[:100]])
    bad = X.copy()
    bad[19_990] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity in rows 19890 of the batch that begins at row 100"):
        moments.add_unchecked([bad[100:], Y[100:]])
    assert len(moments) == 100
    moments.add_unchecked([X[100:], Y[100:]])
    require_equal(moments, (X, Y))


def test_a_stream_has_no_state(tmp_path):
    with pytest.raises(ValueError, match=r"state must be None with a stream of batches, got a path"):
        Moments.of(iter([pair(10)]), state=tmp_path / "state.npz")


def test_batches_of_three_matrices_are_refused():
    X, Y = pair(10)
    with pytest.raises(ValueError, match=r"a batch must contain 2 matrices, X and Y, got 3"):
        Moments.of([(X, Y, Y)])


def test_lists_of_lists_are_batches():
    X, Y = pair(30)
    require_equal(Moments.of([{"x": X[:20].tolist(), "y": Y[:20].tolist()}, (X[20:], Y[20:])]), (X, Y))


def test_an_unused_state_of_a_refused_file_does_not_stay(tmp_path, monkeypatch):
    from shesha.cli.compare import compare_large

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    X, Y = pair(500)
    X[300] = np.inf
    for name, rows in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", rows)
    sample = {"queries": None, "pairs": None, "error": None, "confidence": 0.95}
    with pytest.raises(ValueError, match=r"x must be finite, got NaN or infinity in rows 300"):
        compare_large([tmp_path / "x.npy", tmp_path / "y.npy"], ["CKA"], sample, seed=0, calibrate=False)
    assert not list((tmp_path / "cache" / "shesha").iterdir())


def test_moments_about_distant_means_are_merged_exactly():
    X, Y = pair(4_000)
    X[:1_000] += 1e6
    X[1_000:] -= 1e6
    Y[:1_000] *= 1e-3
    merged = Moments.of(X[:1_000], Y[:1_000]).merge(Moments.of(X[1_000:], Y[1_000:]))
    x, y = (np.asarray(side, dtype=np.longdouble) for side in (X, Y))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    found = merge_all(merged.parts())
    for block, product in ((found.sides[0].features, x.T @ x), (found.cross[0, 1][:-1, :-1], x.T @ y)):
        assert np.abs(block - product).max() < 1e-13 * np.abs(product).max()


def test_moments_of_another_version_name_it(tmp_path):
    from shesha.moments import moments as state_files

    path = tmp_path / "state.npz"
    Moments.of(*pair(100)).save(path)
    kept = dict(np.load(path))
    kept["header"] = np.frombuffer(bytes(kept["header"]).replace(b"moments 1", b"moments 2"), dtype=np.uint8)
    np.savez(path, **kept)
    with pytest.raises(
        state_files.DamagedStateError, match=r"in the format 'shesha moments 1', got 'shesha moments 2'"
    ):
        Moments.load(path)
