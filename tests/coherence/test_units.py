"""Units enter as units: only pairs of rows from different donors count, and tests relabel or flip whole donors."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shesha.coherence import coherence_by_group, coherence_of_differences


def paired(seed, donors, effect=0.0, n=20, d=6):
    """Donors with controls and treated rows; the shift of each donor has a direction of its own."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(donors), 2 * n)
    treated = np.tile(np.repeat([False, True], n), donors)
    X = rng.normal(size=(len(donor), d)) + 2 * rng.normal(size=(donors, d))[donor]
    X += treated[:, None] * rng.normal(size=(donors, d))[donor]
    X[treated, 0] += effect
    return X, np.where(treated, "drug", "control"), donor


def nested(seed, controls, treated, effect=0.0, n=20, d=6):
    """Donors that are either controls or treated, and differ from one another."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(controls + treated), n)
    X = rng.normal(size=(len(donor), d)) + rng.normal(size=(controls + treated, d))[donor]
    X[donor >= controls, 0] += effect
    return X, np.where(donor >= controls, "drug", "control"), donor


def between(shifts, unit):
    """Return the mean cosine over all pairs of rows from different units, one by one."""
    cosines = 1 - cdist(shifts, shifts, "cosine")
    return cosines[unit[:, None] != unit[None, :]].mean()


def test_pairs_within_a_donor_do_not_enter_the_score():
    X, labels, donor = paired(0, 4)
    shifts = np.concatenate(
        [X[(donor == k) & (labels == "drug")] - X[(donor == k) & (labels == "control")].mean(axis=0) for k in range(4)]
    )
    expected = between(shifts, donor[labels == "drug"])
    by_groups = coherence_by_group(X, labels, "control", groups=donor, n_draws=0)["drug"]
    by_both = coherence_by_group(X, labels, "control", groups=donor, blocks=donor, n_draws=0)["drug"]
    assert by_groups.value == pytest.approx(expected) == by_both.value
    X, labels, donor = nested(0, 3, 4)
    shifts = X[labels == "drug"] - X[labels == "control"].mean(axis=0)
    found = coherence_by_group(X, labels, "control", groups=donor, n_draws=0)["drug"]
    assert found.value == pytest.approx(between(shifts, donor[labels == "drug"]))


@pytest.mark.parametrize("donors", [3, 4, 6])
def test_paired_donors_flip_their_signs_in_every_way(donors):
    X, labels, donor = paired(1, donors, effect=2.0)
    found = coherence_by_group(X, labels, "control", groups=donor)["drug"]
    own = donor[labels == "drug"]
    shifts = X[labels == "drug"] - np.stack([X[(donor == k) & (labels == "control")].mean(axis=0) for k in own])
    scores = [between(shifts * np.array(signs)[own][:, None], own) for signs in product([1, -1], repeat=donors)]
    assert found.p_value == pytest.approx(np.mean(np.array(scores) >= found.value - 1e-12))
    assert found.smallest_p == 2.0 ** (1 - donors)
    assert coherence_of_differences(shifts, groups=own).value == pytest.approx(found.value)


@pytest.mark.parametrize("null", ["controls", "pooled"])
@pytest.mark.parametrize(("controls", "treated"), [(3, 3), (4, 2), (2, 4), (1, 3)])
def test_nested_donors_are_relabelled_in_every_way(null, controls, treated):
    X, labels, donor = nested(2, controls, treated, effect=3.0)
    table = coherence_by_group(X, labels, "control", groups=donor, null=null)
    found = table["drug"]
    scores = []
    for chosen in combinations(range(controls + treated), treated):
        inside = np.isin(donor, chosen)
        scores.append(between(X[inside] - X[~inside].mean(axis=0), donor[inside]))
    assert found.n_draws == len(scores) - 1
    assert found.p_value == pytest.approx(np.mean(np.array(scores) >= found.value - 1e-12))
    assert "units of controls" in table.exchanged
    assert not any("single rows" in note for note in table.notes)


def test_too_few_donors_are_undecided_and_the_smallest_p_is_said():
    X, labels, donor = paired(0, 3, effect=9.0)
    table = coherence_by_group(X, labels, "control", groups=donor)
    assert table["drug"].verdict == "undecided"
    assert "with 3 choices of units p cannot fall below 0.25; this needs more units" in table.headline
    X, labels, donor = nested(0, 1, 3, effect=9.0)
    assert coherence_by_group(X, labels, "control", groups=donor)["drug"].verdict == "undecided"


@pytest.mark.parametrize("make", [paired, lambda seed, donors: nested(seed, donors, donors)])
@pytest.mark.parametrize("donors", [3, 4, 8])
def test_effects_of_single_donors_are_no_effect_of_the_drug(make, donors):
    hits = 0
    for seed in range(40):
        X, labels, donor = make(seed, donors)
        found = coherence_by_group(X, labels, "control", groups=donor, n_draws=99, seed=seed)["drug"]
        hits += found.verdict == "moves together"
    # 40 runs at 5 %: more than 7 happen in one of a thousand.
    assert hits <= 7


def test_a_common_effect_of_eight_donors_is_found():
    X, labels, donor = paired(0, 8, effect=4.0)
    assert coherence_by_group(X, labels, "control", groups=donor)["drug"].verdict == "moves together"
    X, labels, donor = nested(0, 8, 8, effect=4.0)
    assert coherence_by_group(X, labels, "control", groups=donor, n_draws=199)["drug"].verdict == "moves together"


def test_the_interval_of_the_unbiased_score_leaves_out_whole_units():
    X, labels, donor = paired(3, 6, effect=2.0)
    found = coherence_by_group(X, labels, "control", groups=donor, n_draws=0)["drug"]
    own = donor[labels == "drug"]
    shifts = X[labels == "drug"] - np.stack([X[(donor == k) & (labels == "control")].mean(axis=0) for k in own])
    left = np.array([between(shifts[own != k], own[own != k]) for k in range(6)])
    error = np.sqrt(5 / 6 * ((left - left.mean()) ** 2).sum())
    from scipy.stats import t

    assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, 5) * error)


def test_one_unit_has_no_pairs_and_says_so():
    X, labels, donor = nested(0, 6, 1)
    table = coherence_by_group(X, labels, "control", groups=donor)
    assert table["drug"].verdict == "not tested"
    assert "its rows are of one unit (value of groups) only" in table["drug"].reason


def test_notes_count_units_as_units_and_only_mention_draws_that_were_made():
    X, labels, donor = nested(0, 10, 3)
    note = next(note for note in coherence_by_group(X, labels, "control", groups=donor).notes if "15 %" in note)
    assert "15 % as many units (values of groups) as the controls" in note
    assert "rows" not in note
    assert not any("15 %" in note for note in coherence_by_group(X, labels, "control", groups=donor, n_draws=0).notes)


@pytest.mark.parametrize("m", [2, 60])
def test_one_group_among_many_is_found_with_default_draws(m):
    rng = np.random.default_rng(0)
    labels = np.repeat(["control", *(f"g{k}" for k in range(m))], [400, *[10] * m])
    X = rng.normal(size=(len(labels), 4))
    X[labels == "g0"] += 3
    table = coherence_by_group(X, labels, "control")
    assert table.n_draws == max(999, 20 * m - 1)
    assert table["g0"].verdict == "moves together"
    if m == 60:
        few = coherence_by_group(X, labels, "control", n_draws=99)
        assert few["g0"].verdict == "undecided"
        assert "at least 1,199 null groups (n_draws)" in few.headline
