"""Representations of different widths are ranked with as many features each."""

import sys

import numpy as np
import pytest

import shesha
from shesha.auditing.audit import score_at_width
from shesha.auditing.representation_audit import Settings
from shesha.views import Rows


@pytest.fixture(scope="module")
def regions():
    """The wide one is more stable by its features alone: of each, the narrow one has more signal."""
    draw = np.random.default_rng(3)
    signal = draw.standard_normal((70, 5))
    wide = signal @ draw.standard_normal((5, 96)) + 4 * draw.standard_normal((70, 96))
    narrow = signal @ draw.standard_normal((5, 12)) + 2 * draw.standard_normal((70, 12))
    return {"wide": wide, "narrow": narrow}


@pytest.fixture(scope="module")
def audited(regions, quick_audit):
    return quick_audit(regions)


def test_the_ranking_is_that_of_as_many_features(audited):
    wide, narrow = audited["wide"], audited["narrow"]
    assert wide.feature_split.value > narrow.feature_split.value
    assert audited.ranking == ("narrow", "wide")
    assert narrow.same_width == narrow.feature_split
    assert (wide.same_width.n_features, wide.same_width.n_partitions) == (12, 30)
    assert wide.same_width.low < wide.same_width.value < wide.same_width.high
    table = audited.to_frame(full=True)
    assert table["same_width"].tolist() == [wide.same_width.value, narrow.feature_split.value]
    assert f"With all its 96 features, wide scores higher ({wide.feature_split.value:.2f})" in audited.full_text()


def test_what_leads_at_its_own_width_as_well_needs_no_warning(regions, quick_audit):
    found = quick_audit({"wide": regions["wide"], "noise": np.random.default_rng(0).standard_normal((70, 12))})
    assert found.ranking == ("wide", "noise")
    assert "features each" in found.full_text()
    assert "scores higher" not in found.full_text()


def test_it_is_the_mean_over_random_choices_of_features(regions):
    X = regions["wide"]
    settings = Settings("cosine", 0.95, 0, 0, None, 1, {})
    found = score_at_width(Rows(X), 12, settings, 96)
    draw = np.random.default_rng(0)
    many = [shesha.feature_split(X[:, draw.choice(96, 12, replace=False)], n_splits=2, seed=i) for i in range(400)]
    assert found.value == pytest.approx(np.mean(many), abs=4 * found.monte_carlo_error)
    assert 0 < found.monte_carlo_error < 0.05


def test_equal_widths_need_no_comparison(regions, quick_audit):
    found = quick_audit({"a": regions["wide"], "b": regions["wide"] ** 3})
    assert [one.same_width for one in found.representations] == [None, None]
    assert "same_width" not in found.to_frame(full=True)
    assert "features each" not in found.full_text()


def test_a_representation_without_scores_sets_no_width(regions, quick_audit):
    found = quick_audit({**regions, "gaps": np.full((70, 6), np.nan)})
    assert found["wide"].same_width.n_features == 12
    assert found["gaps"].same_width is None


def test_a_store_gives_the_same_and_keeps_it(regions, quick_audit, tmp_path, monkeypatch):
    store = tmp_path / "kept.sqlite"
    first = quick_audit(regions, store=store)
    assert first.representations == quick_audit(regions).representations
    monkeypatch.setattr(sys.modules["shesha.auditing.audit"], "_equal_width_score", None)
    assert quick_audit(regions, store=store).representations == first.representations
