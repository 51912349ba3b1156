"""Matrices of a file that list trials instead of responses to them."""

import numpy as np
import pytest

from shesha.io import open_file
from shesha.support.provenance import collect_statements

N = 60


def stated(path, **arrays):
    np.savez(path, **arrays)
    with collect_statements() as statements:
        assert open_file(path).representations
    return [text for text in statements if "looks like a table of trials" in text]


def intervals(rng):
    starts = 1200 + np.cumsum(rng.uniform(0.3, 0.6, N))
    return np.column_stack([starts, starts + 0.25, rng.integers(0, 118, N), np.arange(N) // 20])


def events(rng):
    return np.column_stack([np.cumsum(rng.integers(200, 500, N)), np.zeros(N), rng.integers(1, 5, N)])


@pytest.mark.parametrize(
    ("table", "sign"),
    [(intervals, "columns 0 and 1 begin and end intervals"), (events, "column 0 rises from row to row")],
)
def test_tables_of_trials_are_named(rng, tmp_path, table, sign):
    found = stated(tmp_path / "session.npz", V1=rng.standard_normal((N, 30)), stim_table=table(rng))
    assert len(found) == 1 and sign in found[0] and "stim_table" in found[0]


SOUND = {
    "few neurons": lambda rng: rng.poisson(3.0, (N, 4)).astype(float),
    "components": lambda rng: rng.standard_normal((N, 3)),
    "coordinates": lambda rng: np.argwhere(np.ones((4, 5, 3))).astype(float),
    "random walk": lambda rng: np.cumsum(rng.standard_normal((N, 4)), axis=0),
    "drifting values": lambda rng: np.arange(N)[:, None] * [1.0, 2.0] + [0.0, 0.5],
    "time and values": lambda rng: np.column_stack([np.arange(N), rng.standard_normal((N, 3))]),
    "one-hot": lambda rng: np.eye(4)[rng.integers(0, 4, N)],
}


@pytest.mark.parametrize("kind", SOUND)
def test_narrow_matrices_are_not_called_trials(kind, tmp_path):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert not stated(tmp_path / "session.npz", V1=rng.standard_normal((N, 30)), other=SOUND[kind](rng))
