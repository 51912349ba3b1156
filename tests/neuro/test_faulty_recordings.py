"""The same faulty trials through every function of recordings: the fault is named, or cannot harm the number."""

import re

import numpy as np
import pytest

from shesha import neuro

N_CONDITIONS, N_NEURONS = 6, 20
N = 16 * N_CONDITIONS


def session(seed=0):
    """Spike counts of tuned neurons: (responses, responses of another session, conditions, runs, outcome)."""
    rng = np.random.default_rng(seed)
    shown = np.concatenate([rng.permutation(np.repeat(np.arange(N_CONDITIONS), 2)) for _ in range(8)])
    rates = np.random.default_rng(7).gamma(2, 2, (N_CONDITIONS, N_NEURONS))[shown] + 1
    X, Y = rng.poisson(rates, (2, *rates.shape)).astype(float)
    return X, Y, shown, np.repeat(np.arange(4), N // 4), rng.standard_normal(N) + 0.3 * X[:, 0]


def with_change(change):
    """Return a fault that changes the responses of both sessions."""

    def make(X, Y, *others):
        return change(X), change(Y), *others

    return make


def set_to(value, where):
    def change(X):
        X[where] = value
        return X

    return with_change(change)


def scale(by, where):
    def change(X):
        X[where] *= by
        return X

    return with_change(change)


def repeat(X):
    X[1::2] = X[::2]
    return X


def add_walk(X):
    return X + 3 * np.random.default_rng(3).standard_normal(X.shape).cumsum(axis=0)


def without_labels(X, Y, shown, *others):
    shown = shown.astype(float)
    shown[:4] = np.nan
    return X, Y, shown, *others


def once_each(*arrays):
    first = [np.flatnonzero(arrays[2] == k)[0] for k in range(N_CONDITIONS)]
    return tuple(array[first] for array in arrays)


def sorted_trials(*arrays):
    order = np.argsort(arrays[2], kind="stable")
    return (*(array[order] for array in arrays[:3]), *arrays[3:])


FAULTS = {
    "a lost trial": (set_to(np.nan, np.s_[5]), r"1 of 96 trials without any number"),
    "a lost neuron": (set_to(np.nan, np.s_[:, 3]), r"1 of 20 features without any number"),
    "NaN": (set_to(np.nan, np.s_[5, 3]), r"must have a number for every neuron in every trial, got NaN"),
    "missing conditions": (without_labels, r"4 of 96 trials without a condition left out"),
    "silent neurons": (set_to(0, np.s_[:, :4]), r"4 of 20 neurons are 0 in all trials|silent"),
    "one loud neuron": (scale(200, np.s_[:, 2]), r"of the variance of all"),
    "a distant trial": (scale(300, np.s_[9]), r"row 9, a trial, has \d+ % of the sum of squares"),
    "repeated trials": (with_change(repeat), r"trials repeat another"),
    "offsets of runs": (with_change(lambda X: X + 20 * np.arange(N)[:, None] // (N // 4)), r"deviate alike"),
    "frames as trials": (with_change(add_walk), r"deviate alike"),
    "neurons in rows": (with_change(np.transpose), r"pass X\.T|must have one entry for each of the 20 trials"),
    "one trial for each condition": (once_each, r"two trials|2 trials|fewer than|one trial|at least"),
    "sorted trials": (sorted_trials, r"follow one another \("),
}
FEW = {"n_permutations": 39}
FUNCTIONS = {
    "crossnobis": lambda X, Y, shown, runs, outcome: neuro.crossnobis(X, shown, runs),
    "crossnobis without runs": lambda X, Y, shown, runs, outcome: neuro.crossnobis(X, shown),
    "crossnobis_test": lambda X, Y, shown, runs, outcome: neuro.crossnobis_test(X, shown, runs),
    "discriminability": lambda X, Y, shown, runs, outcome: neuro.discriminability(X, shown, runs, **FEW),
    "trial_split": lambda X, Y, shown, runs, outcome: neuro.trial_split(X, shown, **FEW),
    "wuc": lambda X, Y, shown, runs, outcome: neuro.wuc(X, shown, **FEW),
    "noise_ceiling": lambda X, Y, shown, runs, outcome: neuro.noise_ceiling(X, shown, runs),
    "over_time": lambda X, Y, shown, runs, outcome: neuro.over_time(np.stack([X, Y], 2), shown, **FEW),
    "time_clusters": lambda X, Y, shown, runs, outcome: neuro.time_clusters(np.stack([X, Y], 2), shown, **FEW),
    "trials_needed": lambda X, Y, shown, runs, outcome: neuro.trials_needed(X, shown, **FEW),
    "session_drift": lambda X, Y, shown, runs, outcome: neuro.session_drift(
        {"X": (X, shown), "Y": (Y, shown)}, n_permutations=79
    ),
    "behaviour_coupling": lambda X, Y, shown, runs, outcome: neuro.behaviour_coupling(X, outcome, **FEW),
    "centroid_drift": lambda X, Y, shown, runs, outcome: neuro.centroid_drift(X, **FEW),
    "permutation_null": lambda X, Y, shown, runs, outcome: neuro.permutation_null(X, lambda A: A[0].mean(), **FEW),
}
WITHIN_RUNS = {
    # Residuals and distances are within runs, in which a constant cancels, and runs are crossed with conditions.
    *("offsets of runs", "frames as trials", "sorted trials"),
}
WITHOUT_CONDITIONS = {
    # Trials have no condition, and the order of trials is the subject or is permuted by circular shifts.
    *("missing conditions", "offsets of runs", "frames as trials", "one trial for each condition", "sorted trials"),
    # Any matrix can be trials by neurons if nothing is paired with its rows.
    "neurons in rows",
}
UNHARMED = {
    "crossnobis": WITHIN_RUNS,
    "crossnobis_test": WITHIN_RUNS,
    "discriminability": WITHIN_RUNS,
    "noise_ceiling": WITHIN_RUNS,
    "behaviour_coupling": WITHOUT_CONDITIONS - {"neurons in rows"},
    "centroid_drift": WITHOUT_CONDITIONS,
    "permutation_null": WITHOUT_CONDITIONS,
}
CASES = [(name, fault) for name in FUNCTIONS for fault in FAULTS if fault not in UNHARMED.get(name, ())]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_fault_of_trials_is_named(name, fault, said):
    make, pattern = FAULTS[fault]
    text = said(FUNCTIONS[name], *make(*session()))
    assert re.search(pattern, text), text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_trials_without_fault_are_not_doubted(name, said):
    text = said(FUNCTIONS[name], *session(1))
    for fault in set(FAULTS) - {"one trial for each condition"}:
        assert not re.search(FAULTS[fault][1], text), (fault, text)


@pytest.mark.parametrize(
    ("memory", "order", "doubted"),
    [(0.9, "blocks", True), (0.5, "blocks", True), (0.0, "blocks", False), (0.9, "random", False)],
)
def test_frames_of_blocks_are_no_independent_trials(memory, order, doubted):
    """Conditions in random order may be permuted, whatever the noise; frames of one block may not."""
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(6), 36)
    shown = np.concatenate([np.repeat(rng.permutation(4), 9) for _ in range(6)])
    if order == "random":
        shown = np.concatenate([rng.permutation(shown[runs == run]) for run in range(6)])
    X = rng.standard_normal((216, 12))
    for t in range(1, 216):
        X[t] += memory * X[t - 1] * (runs[t] == runs[t - 1])
    X += 3 * rng.standard_normal((6, 12))[runs]
    tests = (
        neuro.crossnobis_test(X, shown, runs, n_permutations=19),
        neuro.discriminability(X, shown, null="permute", blocks=runs, n_permutations=19),
    )
    for found in tests:
        assert (
            any("trials of one condition that follow one another within runs" in one for one in found.inputs) == doubted
        )


@pytest.mark.parametrize(
    ("fault", "ended"),
    [
        ("none", ""),
        ("sparse", ""),
        ("blocked conditions", ""),
        ("lost", "3 of 20 neurons are 0 in all trials after or before some trial"),
        ("one late", "1 of 20 neurons is 0 in all trials after or before some trial"),
    ],
)
def test_neurons_that_were_lost_in_the_session_are_named(fault, ended):
    X, _, shown, *_ = session()
    if fault == "lost":
        X[60:, :3] = 0
    elif fault == "one late":
        X[:40, 5] = 0
    elif fault == "sparse":
        X = np.random.default_rng(1).poisson(0.02, X.shape).astype(float)
        X[:, 0] += 1
    elif fault == "blocked conditions":
        # Neurons respond to one condition each, and conditions follow one another.
        shown = np.sort(shown)
        X = X * (np.arange(N_NEURONS) % N_CONDITIONS == shown[:, None])
    drift = () if fault == "blocked conditions" else (neuro.centroid_drift(X, n_permutations=19),)
    for found in (neuro.discriminability(X, shown, n_permutations=19), *drift):
        assert any(ended in one for one in found.inputs if "after or before some trial" in one) == bool(ended)


@pytest.mark.parametrize(("scaled", "named"), [("each condition", True), ("all trials", False), ("runs", False)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conditions_that_were_standardised_by_themselves_are_named(scaled, named, dtype):
    rng = np.random.default_rng(0)
    conditions = np.concatenate([rng.permutation(8) for _ in range(20)])
    parts = {"each condition": conditions, "all trials": np.zeros(160), "runs": np.arange(160) // 40}[scaled]
    X = rng.standard_normal((8, 30))[conditions] + rng.standard_normal((160, 30))
    for part in np.unique(parts):
        rows = X[parts == part]
        X[parts == part] = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = neuro.trial_split(X.astype(dtype), conditions, n_permutations=0)
    assert str(found).startswith("Check first: the means of all 8 conditions are equal in every neuron") == named
