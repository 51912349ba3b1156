"""Files beyond the memory: scores of labels come from random rows, and say so."""

import numpy as np
import pytest

import shesha
from shesha.auditing.representation_audit import RowSample
from shesha.views import Rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 40_000)
    X = rng.standard_normal((6, 16))[y] + rng.standard_normal((40_000, 16))
    return X.astype(np.float32), y


@pytest.mark.slow
def test_scores_of_labels_come_from_sampled_rows_with_intervals_that_hold_the_value_of_all(data, monkeypatch):
    X, y = data
    options = {"n_bootstrap": 30, "n_permutations": 19, "pairs": 20_000}
    monkeypatch.setenv("SHESHA_MEMORY", "1G")
    whole = shesha.audit(X, y, **options).representations[0]
    monkeypatch.setenv("SHESHA_MEMORY", "8M")
    found = shesha.audit(X, y, **options)
    few = found.representations[0]
    size = 8 * 2**20 // (64 * 16)
    assert set(few.supervised) == set(whole.supervised)
    for name, estimate in few.supervised.items():
        expected = whole.supervised[name]
        assert f"{size:,} of 40,000 rows, drawn at random, were used" in " ".join(estimate.notes), name
        assert not any("drawn at random, were used" in text for text in expected.notes)
        assert estimate.n_rows == size
        # Twice the interval, since one of five may miss.
        reach = 2 * max(estimate.high - estimate.value, estimate.value - estimate.low)
        assert abs(estimate.value - expected.value) <= reach, name
        assert few.supervised[name].p_value == pytest.approx(0.05)
    assert f"{size:,} of 40,000 rows" in " ".join(found.full_text().split())
    assert "sampling pairs adds a standard error of" in " ".join(found.full_text().split())


def test_a_sample_keeps_labels_and_design_with_their_rows(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "64k")
    rows = np.column_stack([np.arange(5_000.0), np.ones(5_000)])
    design = shesha.nulls.exchange(5_000, blocks=np.arange(5_000) % 7)
    found = RowSample.draw(Rows(rows), np.arange(5_000) * 2, design, 0)
    chosen = found.rows.read(slice(None))[:, 0].astype(int)
    assert len(chosen) == 512 == len(set(chosen))
    assert (np.diff(chosen) > 0).all()
    assert (found.labels == 2 * chosen).all()
    assert found.exchange is not None
    assert (found.exchange.block == design.block[chosen]).all()
    assert 2_000 < chosen.mean() < 3_000
