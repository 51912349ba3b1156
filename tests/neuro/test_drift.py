"""Change of the mean response along a session, and other numbers of a series of trials."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import shesha
from shesha.neuro import behaviour_coupling, centroid_drift, permutation_null
from shesha.neuro.session_drift import steps

RNG = np.random.default_rng(3)
DRIFTING = RNG.poisson(np.linspace(RNG.gamma(2, 2, 10), RNG.gamma(2, 2, 10), 90)).astype(float)
STILL = RNG.poisson(4, (90, 10)).astype(float)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_the_value_is_that_of_the_definition() -> None:
    unit = DRIFTING / np.linalg.norm(DRIFTING, axis=1, keepdims=True)
    found = centroid_drift(DRIFTING, n_permutations=39)
    assert found.value == pytest.approx(cosine(unit[:45].mean(axis=0), unit[45:].mean(axis=0)))
    assert found.further["share of the chance level"] == pytest.approx(found.value / np.mean(found.null))
    raw = centroid_drift(DRIFTING, normalize=False, n_permutations=0)
    assert raw.value == pytest.approx(cosine(DRIFTING[:45].mean(axis=0), DRIFTING[45:].mean(axis=0)))
    assert not raw.has_null


def test_drift_is_below_chance_and_stillness_is_not() -> None:
    assert centroid_drift(DRIFTING, n_permutations=99).p_value == 0.01
    hits = sum(
        centroid_drift(RNG.permutation(STILL), n_permutations=19, null=null).significant
        for null in ("permute", "shift")
        for _ in range(30)
    )
    assert hits <= 9


def test_a_half_without_responses_has_no_drift() -> None:
    dead = DRIFTING.copy()
    dead[45:] = 0
    with pytest.warns(shesha.NotEstimableWarning, match="one half of the session has no responses"):
        assert np.isnan(centroid_drift(dead, n_permutations=19).value)


def test_thirds() -> None:
    unit = DRIFTING / np.linalg.norm(DRIFTING, axis=1, keepdims=True)
    early, middle, late = (unit[k : k + 30].mean(axis=0) for k in (0, 30, 60))
    assert steps(unit, 3).tolist() == pytest.approx([cosine(early, middle), cosine(middle, late)])


def test_any_number_beside_other_orders() -> None:
    found = permutation_null(DRIFTING, lambda X: float(X[0, 0] - X[-1, 0]), closer="either", n_permutations=49)
    assert found.value == DRIFTING[0, 0] - DRIFTING[-1, 0]
    assert len(found.null) == 49
    with pytest.raises(ValueError, match="closer must be one of"):
        permutation_null(DRIFTING, np.mean, closer="up")
    with pytest.raises(TypeError, match="the value that mean returns must be one real number"):
        permutation_null(DRIFTING, lambda X: X.mean(axis=0), name="mean")


def test_circular_shifts_and_stretches_draw_what_they_say() -> None:
    shifts = centroid_drift(DRIFTING, null="shift", n_permutations=500)
    assert (shifts.n_draws, shifts.exchanged) == (89, "circular shifts")
    stretches = centroid_drift(DRIFTING, null="stretches", block_length=9, n_permutations=49)
    assert stretches.exchanged == "stretches of 9 rows"
    blocks = centroid_drift(DRIFTING, blocks=np.arange(90) // 45, n_permutations=19)
    # Trials never leave their half, so that the halves are the same in every order.
    assert np.ptp([*blocks.null, blocks.value]) < 1e-12


def test_coupling_is_the_rank_correlation() -> None:
    outcome = RNG.random(90)
    found = behaviour_coupling(STILL, outcome, n_permutations=89)
    assert found.value == pytest.approx(spearmanr(np.linalg.norm(STILL, axis=1), outcome).statistic)
    assert not found.significant
    assert behaviour_coupling(STILL, -STILL.sum(axis=1)).significant
    with pytest.warns(shesha.NotEstimableWarning, match="constant over trials"):
        assert np.isnan(behaviour_coupling(STILL, np.ones(90)).value)
    with pytest.raises(ValueError, match="outcome must be one number for each of the 90 trials"):
        behaviour_coupling(STILL, outcome[:50])
    known = outcome <= 0.9
    found = behaviour_coupling(STILL, np.where(known, outcome, np.nan), n_permutations=89)
    assert found.value == behaviour_coupling(STILL[known], outcome[known], n_permutations=89).value
    assert found.inputs == (f"{(~known).sum()} of 90 trials without an outcome left out",)
    with pytest.raises(ValueError, match="outcome must be finite, got infinity in rows"):
        behaviour_coupling(STILL, np.where(known, outcome, np.inf))


def test_slow_changes_of_both_do_not_couple_them() -> None:
    """A response and an outcome that rise and fall with their own slow waves."""
    hits = {"shift": 0, "permute": 0}
    for _ in range(60):
        slow = RNG.standard_normal((2, 90)).cumsum(axis=1)
        slow -= np.linspace(0, 1, 90) * slow[:, -1:]
        X = np.exp(slow[0] / 5)[:, None] * np.ones(5)
        for null in hits:
            hits[null] += behaviour_coupling(X, slow[1], null=null, n_permutations=39).significant
    assert hits["shift"] <= 10
    assert hits["permute"] >= 30


def test_rises_of_both_over_the_session_do_not_couple_them() -> None:
    rng, rise = np.random.default_rng(4), np.linspace(0, 3, 90)
    found = [
        behaviour_coupling(STILL + rise[:, None], rng.choice([-2, 2]) * rise + rng.standard_normal(90))
        for _ in range(20)
    ]
    assert all(one.p_value <= 0.05 for one in found)
    assert sum(one.significant for one in found) <= 3
    assert any("cubic trends of both" in note for note in found[0].notes)
    # What is left of equal series without trends is equal.
    same = behaviour_coupling(STILL + rise[:, None], np.linalg.norm(STILL + rise[:, None], axis=1))
    assert same.significant
    assert same.further["correlation without the trends over the session"] == pytest.approx(1)


def test_too_few_trials() -> None:
    with pytest.raises(ValueError, match="X must have at least 4 rows, got 3"):
        centroid_drift(STILL[:3])
    with pytest.raises(ValueError, match="the design must leave at least 20 distinct permutations"):
        centroid_drift(STILL[:15], null="shift")
