"""Comparisons with chance level, p-value and interval on every line."""

from __future__ import annotations

import numpy as np
import pytest

import shesha
from shesha import compare
from shesha.comparison.engine import N_SUBSETS
from shesha.views import Rdm

NAMES = ["CKA", "mutual kNN", "OrthProc", "RSA", "MagDiff"]


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((60, 3))
    X, Y = (latent @ rng.standard_normal((3, 8)) + rng.standard_normal((60, 8)) for _ in range(2))
    return X, Y


@pytest.fixture(scope="module")
def found(pair):
    return compare(*pair, NAMES, calibrate=True, confidence=0.9, n_permutations=39, seed=0)


def test_values_are_those_without_calibration(pair, found):
    plain = compare(*pair, NAMES, seed=0)
    assert [score.value for score in found.scores] == [score.value for score in plain.scores]


def test_related_data_are_above_chance(found):
    for name in ("CKA", "mutual kNN", "OrthProc", "RSA"):
        score = found[name]
        assert score.p_value == pytest.approx(1 / 40)
        assert score.calibrated > 0
        assert score.low <= score.value <= score.high


def test_each_subset_makes_its_views_once_for_all_measures(pair, counted):
    chosen = ["OrthProc", "ProcDist", "AngShape"]
    made = counted(shesha.measures.get("OrthProc").view)
    compare(*pair, chosen, calibrate=True, n_permutations=19)
    assert len(made) == 2 + 2 * N_SUBSETS


def test_distances_are_calibrated_downwards(found):
    score = found["OrthProc"]
    assert score.value < score.threshold < score.chance


def test_measures_blind_to_the_order_of_rows_have_an_interval_and_no_null(found):
    score = found["MagDiff"]
    assert not score.has_null
    assert np.isfinite(score.low)


def test_the_null_is_that_of_calibrate_with_the_same_permutations(pair, found):
    from shesha.comparison.engine import Evidence

    orders = Evidence.draw(60, 39, 0.05, 0.9, 0).orders
    alone = shesha.calibrate(*pair, "CKA", permutations=np.array(orders))
    assert found["CKA"].p_value == alone.p_value
    assert found["CKA"].threshold == pytest.approx(alone.threshold, rel=1e-12)


def test_wider_confidence_gives_wider_intervals(pair):
    narrow, wide = (compare(*pair, "CKA", calibrate=True, confidence=c, seed=0)["CKA"] for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_distances_given_instead_of_features(pair):
    D = [np.linalg.norm(Z[:, None] - Z[None], axis=2) for Z in pair]
    score = compare(Rdm(D[0]), Rdm(D[1]), "RSA", calibrate=True, n_permutations=39)["RSA"]
    features = compare(*pair, "RSA(metric=euclidean)", calibrate=True, n_permutations=39).scores[0]
    assert (score.p_value, score.chance) == (features.p_value, pytest.approx(features.chance, abs=1e-9))
    assert score.low == pytest.approx(features.low, abs=1e-9)


def test_positions_as_rows_get_no_chance_level():
    tokens = np.random.default_rng(0).standard_normal((20, 5, 4))
    score = compare(tokens, 2 * tokens, "CKA", calibrate=True, n_permutations=19)["CKA"]
    assert score.value == pytest.approx(1)
    assert not score.has_null
    assert score.notes == ("no interval and no chance level: the compared rows are tokens or positions, not inputs",)
    with pytest.raises(ValueError, match="X and Y must have one row per input"):
        shesha.calibrate(tokens, tokens, "CKA")


def test_feature_maps_are_calibrated_where_positions_become_features():
    maps = np.random.default_rng(0).standard_normal((2, 30, 3, 2, 2))
    found = compare(*maps, ["RSA", "OrthProc"], calibrate=True, n_permutations=19)
    rows = compare(*maps.reshape(2, 30, 12), "RSA", calibrate=True, n_permutations=19)["RSA"]
    assert found["RSA"].has_null
    assert found["RSA"].low == pytest.approx(rows.low)
    assert not found["OrthProc"].has_null
    assert "positions" in found["OrthProc"].notes[0]


def test_what_cannot_be_added_is_told(pair):
    """A measure that fails on relabelled rows keeps its value and says what is missing."""
    from shesha.measures import measure, registry
    from shesha.views import Features

    @measure(
        "counts its calls",
        view=Features,
        closer="higher",
        bounds=(0, 1),
        symmetric=True,
        invariant=(),
        family="tests",
        cost="n d",
        formula="",
        reference="",
    )
    def counts_its_calls(a: Features, b: Features) -> float:
        """Fail once the rows have been exchanged."""
        if len(a.rows) == 60 and (b.rows[0] != first).any():
            raise RuntimeError("exchanged")
        return 0.5

    first = shesha.views.Features.build(shesha.views.Representation.build(pair[1])).rows[0]
    try:
        found = compare(*pair, ["counts its calls", "CKA"], calibrate=True, n_permutations=19)
    finally:
        del registry.MEASURES.known["counts its calls"]
        registry.MEASURES.aliases.pop("countsitscalls")
    assert found.scores[0].value == 0.5
    assert "RuntimeError: exchanged" in found.scores[0].notes[0]
    assert "RuntimeError: exchanged" in str(found)
    assert found["CKA"].has_null


def test_truncation_compares_the_leading_components(pair):
    X, Y = pair
    reduced = []
    for Z in (X, Y):
        centred = Z - Z.mean(axis=0)
        u, s, _ = np.linalg.svd(centred, full_matrices=False)
        reduced.append(u[:, :3] * s[:3])
    whole = shesha.calibrate(X, Y, "OrthProc", truncate=3, seed=0, n_permutations=39)
    by_hand = shesha.calibrate(*reduced, "OrthProc", seed=0, n_permutations=39)
    assert whole.value == pytest.approx(by_hand.value, rel=1e-9)
    assert whole.null == pytest.approx(by_hand.null, rel=1e-9)
    with pytest.raises(ValueError, match="truncate must be at least 1, got 0"):
        shesha.calibrate(X, Y, truncate=0)
    with pytest.raises(ValueError, match=r"truncate must be in \(0, 1\], got 1.5"):
        shesha.calibrate(X, Y, truncate=1.5)


def test_p_values_are_corrected_by_the_maximum_over_the_draws_of_all_measures(pair, found):
    """The oracle: `calibrate` of each measure with the same permutations, and their nulls side by side."""
    from shesha.comparison.engine import Evidence
    from shesha.nulls.null_summary import max_statistic_p_values

    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((40, 5)), rng.standard_normal((40, 4))
    names = ["CKA", "RSA", "mutual kNN", "OrthProc", "MagDiff"]
    together = compare(X, Y, names, calibrate=True, n_permutations=39, seed=2)
    orders = np.array(Evidence.draw(40, 39, 0.05, 0.95, 2).orders)
    alone = [shesha.calibrate(X, Y, name, permutations=orders, seed=2) for name in names[:-1]]
    expected = max_statistic_p_values([np.r_[one.value, one.null] for one in alone], [one.closer for one in alone])
    assert [together[name].corrected_p_value for name in names[:-1]] == expected.tolist()
    assert np.isnan(together["MagDiff"].corrected_p_value)
    assert found["CKA"].corrected_p_value == found["CKA"].p_value


def test_a_measure_whose_draws_fail_takes_no_part_in_the_correction(pair):
    def fails(X, Y):
        if not np.array_equal(Y, pair[1]):
            raise RuntimeError("relabelled")
        return 1.0

    both = compare(*pair, ["CKA", fails], calibrate=True, n_permutations=19)
    alone = compare(*pair, "CKA", calibrate=True, n_permutations=19)
    assert both["CKA"].corrected_p_value == alone["CKA"].corrected_p_value
    assert not both["fails"].has_null
