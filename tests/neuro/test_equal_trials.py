"""Equal numbers of trials of each condition in each half: the default, what it costs, and what it prevents."""

import numpy as np
import pytest

import shesha
from shesha.kernels.condition_distances import count_trials, equal_sums
from shesha.neuro import noise_ceiling, over_time, trial_split
from shesha_studies.session_table import Session, session_table

FAST = {"n_permutations": 0}


def unequal(rng, tuned: float = 0.0, counts=(8, 12, 24, 48, 96), n_neurons: int = 15):
    """Poisson counts of neurons, whose rates depend on the condition if tuned."""
    shown = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    rates = 2 * np.exp(tuned * rng.standard_normal((len(counts), n_neurons)))
    return rng.poisson(rates[shown]), shown


def test_equal_numbers_of_trials_are_those_of_a_loop(recording) -> None:
    X, shown = recording(n_trials=40, n_conditions=4)
    shown[:3] = -1
    rng = np.random.default_rng(0)
    parts, keys, sizes = rng.integers(3, size=(3, 40)), rng.random((3, 40)), np.array([4, 2, 0])
    sums = equal_sums(np.column_stack([X, np.ones(40)]), shown, 4, parts, keys, sizes)
    counts = count_trials(shown, 4, parts)
    for s, part, k in np.ndindex(3, 3, 4):
        own = np.flatnonzero((shown == k) & (parts[s] == part))
        chosen = own[np.argsort(keys[s, own])[: sizes[s]]] if len(own) >= sizes[s] else own[:0]
        assert sums[s, part, k, :-1] == pytest.approx(X[chosen].sum(axis=0))
        assert sums[s, part, k, -1] == len(chosen)
        assert counts[s, part, k] == len(own)


def test_by_default_every_condition_has_as_many_trials_as_the_rarest() -> None:
    X, shown = unequal(np.random.default_rng(0))
    rarest = min((shown[s::2] == k).sum() for s in (0, 1) for k in range(5))
    found = trial_split(X, shown, **FAST)
    assert found.value == trial_split(X, shown, trials_per_half=int(rarest), **FAST).value
    assert f"{rarest} trials per condition" in found.name
    assert found.n_unused == 188 - 10 * rarest
    assert f"{found.n_unused} of 188 trials are unused, because" in str(found.notes)
    assert f"188 trials ({found.n_unused} unused in each draw) x" in str(found)
    assert f"over 188 trials ({found.n_unused} of them unused in each draw)" in found.sentence()


def test_without_unequal_numbers_nothing_is_lost() -> None:
    rng = np.random.default_rng(0)
    shown = np.repeat(rng.permuted(np.tile(np.arange(5), 12)), 2)
    X = rng.poisson(2, size=(120, 15))
    found = trial_split(X, shown, **FAST)
    assert found.value == pytest.approx(trial_split(X, shown, trials_per_half="all", **FAST).value)
    assert (found.n_unused, found.dropped, found.notes) == (0, (), ())


def test_conditions_with_too_few_trials_in_a_half_are_left_out_and_named() -> None:
    X, shown = unequal(np.random.default_rng(0), counts=(20, 20, 20, 20))
    named = np.array(["a", "b", "c", "d"], dtype="<U4")[shown]
    named[:3] = ["rare", "rare", "rare"]
    found = trial_split(X, named, **FAST)
    assert (found.dropped, found.n_conditions) == (("rare",), 4)
    assert "conditions with fewer than 2 trials in a half are left out: rare" in found.notes
    kept = named != "rare"
    assert found.n_unused == 80 - 8 * min(
        (named[kept & (np.arange(80) % 2 == s)] == k).sum() for s in (0, 1) for k in "abcd"
    )
    with pytest.warns(shesha.NotEstimableWarning, match="only 2 conditions have enough trials"):
        assert trial_split(X, shown % 2, **FAST).n_conditions == 2


@pytest.mark.parametrize("value", [None, "some", 0])
def test_numbers_of_trials_are_checked(recording, value) -> None:
    X, shown = recording()
    message = "trials_per_half must be (at least 1, got 0|a number, 'equal' or 'all', got (None|'some'))"
    for call in (trial_split, lambda X, y, **own: over_time(X[:, :, None], y, **own)):
        with pytest.raises(ValueError, match=message):
            call(X, shown, trials_per_half=value)
    with pytest.raises(ValueError, match=message.replace("half", "run")):
        noise_ceiling(X, shown, trials_per_run=value)


def test_unequal_numbers_alone_make_a_geometry_unless_they_are_made_equal() -> None:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(15):
        X, shown = unequal(rng)
        values.append(
            [trial_split(X, shown, trials_per_half=size, n_splits=5, **FAST).value for size in ("all", 2, "equal")]
        )
    assert "conditions have 8 to 96 trials" in str(trial_split(X, shown, trials_per_half="all", **FAST).notes)
    unequal_value, two, equal = np.nanmean(values, axis=0)
    assert unequal_value > 0.5
    assert abs(two) < 0.2
    assert abs(equal) < 0.2


def test_equal_numbers_find_a_code_that_unequal_ones_hide_and_keep_the_level() -> None:
    hits = {(tuned, size): 0 for tuned in (0.0, 0.4) for size in ("equal", "all")}
    for seed in range(40):
        for tuned, size in hits:
            X, shown = unequal(np.random.default_rng(seed), tuned)
            found = trial_split(X, shown, trials_per_half=size, n_splits=10, n_permutations=19, seed=seed)
            hits[tuned, size] += found.significant
    # Of 40 runs at 5 %, six or more are false positives with probability 0.014.
    assert hits[0.0, "equal"] <= 5
    assert hits[0.4, "equal"] >= 15
    assert hits[0.4, "all"] <= 5


def test_a_ceiling_names_the_reliability_that_trial_split_finds() -> None:
    X, shown = unequal(np.random.default_rng(0))
    split = trial_split(X, shown, **FAST).value
    found = noise_ceiling(X, shown)
    assert found.reliability == pytest.approx(trial_split(X, shown, trials_per_half="all", **FAST).value)
    assert found.reliability > 0.5
    assert f"with equal numbers of trials, the reliability is {split:.3g}" in found.notes
    assert "conditions have 8 to 96 trials" in str(found)


def test_a_ceiling_of_equal_numbers_is_that_of_the_split() -> None:
    X, shown = unequal(np.random.default_rng(0), tuned=1.0)
    found = noise_ceiling(X, shown, trials_per_run="equal")
    assert found.reliability == pytest.approx(trial_split(X, shown, **FAST).value)
    assert found.lower < found.upper
    runs = np.arange(len(X)) // 94
    assert noise_ceiling(X, shown, runs, trials_per_run="equal").n_repeats == 2


def test_a_table_tells_what_equal_numbers_cost() -> None:
    rng = np.random.default_rng(0)
    X, shown = unequal(rng, n_neurons=20)
    shown[np.flatnonzero(shown == 4)[:3]] = 9
    days = [Session(X, shown, ["V1"] * 20)]
    for options in ({}, {"n_neurons": 15, "n_draws": 2}):
        table = session_table(days, scores=["trial_split"], n_permutations=19, **options)
        one = table.lines[0].scores["trial_split"]
        assert one.dropped == ("9",)
        text = " ".join(str(table).split())
        share = f"{100 * one.n_unused / 188:.0f}"
        assert f"of trials in each half, which leaves {share} to {share} % of the trials unused" in text
        assert "conditions left out for too few trials: 9 in 0" in text
    all_trials = session_table(days, scores=["trial_split"], n_permutations=0, trials_per_half="all")
    assert "unused" not in str(all_trials)
