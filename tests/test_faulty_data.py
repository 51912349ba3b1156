"""The same faulty data through every function that compares rows: the fault is named, in the result or by an error."""

import re
import warnings
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import shesha
from shesha import changes, drift

N, D = 60, 16
RNG = np.random.default_rng(0)


def noise():
    return RNG.standard_normal((N, D)) * np.linspace(2, 0.5, D)


def near(X):
    return X + 0.5 * RNG.standard_normal(X.shape)


def with_identifiers():
    identifiers = 40.0 * RNG.permutation(N)
    return np.c_[noise(), identifiers], np.c_[noise(), identifiers]


def with_outlier():
    X, Y = noise(), noise()
    X[7] *= 300
    Y[7] *= 300
    return X, Y


def with_repeated_rows():
    X = np.tile(noise()[: N // 2], (2, 1))
    return X, np.tile(near(X[: N // 2]), (2, 1))


def with_codes():
    X = noise()
    Y = near(X)
    for row in (3, 9, 30):
        X[row, 5] = Y[row + 1, 5] = -999
    return X, Y


def with_depths():
    depths = RNG.gamma(2, 3, (N, 1))
    return tuple(RNG.poisson(RNG.gamma(2, 1, D) * depths).astype(float) for _ in range(2))


def reordered():
    X = noise()
    return X, X[RNG.permutation(N)]


def random_walks():
    return noise().cumsum(axis=0), noise().cumsum(axis=0)


def of_unit_length():
    X = noise()
    return X, X / np.linalg.norm(X, axis=1, keepdims=True)


def copied():
    X = noise()
    return X, X.copy()


def half_encoded_again():
    X, Y = noise(), noise()
    Y[N // 2 :] = X[N // 2 :]
    return X, Y


def shifted():
    X = np.random.default_rng(5).standard_normal((N + 1, D))
    return X[1:], near_copy(X)[:-1]


def near_copy(X):
    return X + 0.02 * RNG.standard_normal(X.shape)


def of_wrong_type():
    X = noise()
    wrong = np.ascontiguousarray(RNG.standard_normal((N, 2 * D)).astype(np.float32)).view(np.float64)
    return wrong, wrong + 0.1 * X * wrong


def half_normalised():
    X = noise()
    X[::2] /= np.linalg.norm(X[::2], axis=1, keepdims=True)
    return X, near(X)


def monitored(X, Y):
    monitor = drift.DriftMonitor(X, nulls=[X + 1e-3 * RNG.standard_normal(X.shape)] * 19, false_alarm=0.05)
    return f"{monitor.dependence}\n{monitor.check(Y)}"


def monitored_after_loading(X, Y):
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        again = [X + 1e-3 * RNG.standard_normal(X.shape)] * 19
        drift.DriftMonitor(X, nulls=again, false_alarm=0.05).save(f"{folder}/monitor")
        return drift.DriftMonitor.load(f"{folder}/monitor").check(Y)


def not_filled():
    X, Y = noise(), noise()
    X[50:] = Y[50:] = 0
    return X, Y


FAULTS = {
    "a column of identifiers": (with_identifiers, r"without feature 16 of|few coordinates|feature 16 is"),
    "a distant row": (with_outlier, r"(row|rows) .{0,30}\b7\b|\b7\b.{0,40}outli|outli.{0,40}\b7\b"),
    "repeated rows": (with_repeated_rows, r"repeat|duplicate|copies of the query"),
    "codes of missing values": (with_codes, r"-999|missing codes"),
    "counts of uneven depth": (with_depths, r"raw counts"),
    "rows in another order": (reordered, r"in another order|60 of 60 rows"),
    "dependent rows": (random_walks, r"consecutive rows|depend"),
    "unit length": (of_unit_length, r"length"),
    "copies": (copied, r"cop(y|ies)|same values|equal|identical|unchanged|rows of the ref"),
    "half of the rows encoded again": (half_encoded_again, r"exactly equal|as if only some rows|30 of 60 rows"),
    "shifted rows": (shifted, r"in another order|the same inputs"),
    "bytes of another type": (of_wrong_type, r"bytes of another type"),
    "half of the rows normalised": (half_normalised, r"have length 1 and the others"),
    "rows of zeros": (not_filled, r"(zero|constant).{0,60}\b50, 51"),
}
FUNCTIONS = {
    "compare": lambda X, Y: shesha.compare(X, Y, n_permutations=20),
    "calibrate": lambda X, Y: shesha.calibrate(X, Y, n_permutations=20),
    "compare_all": lambda X, Y: shesha.compare_all({"a": X, "b": Y, "c": X + Y}, calibrate=True, n_permutations=20),
    "compare_layers": lambda X, Y: shesha.compare_layers([X], [Y], calibrate=True, n_permutations=20),
    "compare_within": lambda X, Y: shesha.compare_within(X, Y, np.arange(N) % 2, n_permutations=20),
    "diff": lambda X, Y: shesha.diff(X, Y, measures=["RDM drift"]),
    "consensus": lambda X, Y: shesha.consensus({"a": X, "b": Y, "c": (X + Y) / 2}),
    "rank_models": lambda X, Y: shesha.rank_models(X, {"a": Y, "b": noise()}, n_permutations=20, n_resamples=20),
    "match_units": lambda X, Y: shesha.match_units(X, Y, n_permutations=20),
    "noise_ceiling": lambda X, Y: shesha.noise_ceiling([X, Y, (X + Y) / 2]),
    "stored_vectors": lambda X, Y: changes.stored_vectors(X, {"b": Y}),
    "two_sample_tests": lambda X, Y: drift.two_sample_tests(X, Y, n_permutations=99),
    "audit": lambda X, Y: shesha.audit({"a": X, "b": Y}, n_bootstrap=5, n_permutations=20),
    "estimate": lambda X, Y: shesha.estimate(X, n_permutations=20, n_bootstrap=5),
    "drift_path": lambda X, Y: shesha.drift_path([X, Y]),
    "monitor": lambda X, Y: monitored(X, Y),
    "loaded monitor": lambda X, Y: monitored_after_loading(X, Y),
    "update": lambda X, Y: drift.DriftMonitor(X).update(Y),
    "two_sample": lambda X, Y: drift.two_sample(X, Y, n_permutations=20),
    "index": lambda X, Y: shesha.diff(X, Y, measures=["RDM drift"], index=True, index_metric="ip"),
    "explore": lambda X, Y: shesha.explore(X, Y),
}
UNHARMED = {
    # The answer lists the units that are equal, which are no harm to the others.
    "match_units": {"a column of identifiers", "copies"},
    # New inputs that are like the reference are no change.
    "update": {"shifted rows"},
    # Neighbours by angle do not depend on other rows; equal vectors are found, as the answer says.
    "stored_vectors": {"a distant row", "counts of uneven depth", "copies"},
    # The other pairs are not named in the answer.
    "compare_all": {"half of the rows encoded again"},
    # Ranks of angles and the unbiased CKA hardly depend on a single row.
    "diff": {"a distant row"},
    "rank_models": {"a distant row"},
    "compare_layers": {"a distant row"},
    # Representations are scored one by one.
    "audit": {"unit length", "half of the rows encoded again"},
    "estimate": {
        *("a distant row", "rows in another order", "unit length", "copies"),
        *("half of the rows encoded again", "shifted rows"),
    },
    # Ranks of distances, without p-values.
    "drift_path": {"a distant row", "repeated rows", "dependent rows", "copies"},
    # Directions, without p-values; the answer says that all neighbours are kept.
    "explore": {"a distant row", "repeated rows", "dependent rows", "unit length", "copies"},
    # p-values are ranks among re-encodings of the same rows, whose own axes are not stored.
    "loaded monitor": {"repeated rows", "dependent rows", "half of the rows encoded again", "shifted rows"},
}
CASES = [(name, fault) for name in FUNCTIONS for fault in FAULTS if fault not in UNHARMED.get(name, ())]


@pytest.fixture(scope="module")
def data():
    return {fault: make() for fault, (make, _) in FAULTS.items()}


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_fault_of_the_data_is_named(data, name, fault, said):
    text = said(FUNCTIONS[name], *data[fault])
    assert re.search(FAULTS[fault][1], text), text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_data_without_fault_give_no_warning(name, said):
    X = np.random.default_rng(1).standard_normal((N, D))
    Y = X + 0.7 * np.random.default_rng(2).standard_normal((N, D))
    text = said(FUNCTIONS[name], X, Y)
    for fault in ("a column of identifiers", "a distant row", "codes of missing values", "rows in another order"):
        assert not re.search(FAULTS[fault][1], text), text


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda X, Y: shesha.diff(X, Y, measures=["RDM drift"]), "no closer than unrelated rows"),
        (lambda X, Y: shesha.consensus({**{k: near(X) for k in "abcd"}, "e": Y}), "no better than in random order"),
        (lambda X, Y: drift.DriftMonitor(X, nulls=[Y] * 19), "19 of 19 re-encodings .* with a median drift of"),
    ],
)
def test_rows_of_other_inputs_are_named(said, function, found):
    X = noise()
    other, noisy = (said(function, X, Y) for Y in (near(X)[RNG.permutation(N)], near(X)))
    assert re.search(found, other) and not re.search(found, noisy), other


def test_rows_that_differ_by_rounding_were_not_encoded_again(said):
    X = noise()
    Y = np.where(np.arange(N)[:, None] < N // 2, X, X.astype(np.float16))
    assert "exactly equal" not in said(FUNCTIONS["diff"], X, Y)


def test_an_input_with_several_partners_is_named(said):
    X = np.repeat(noise()[:12], 5, axis=0)[RNG.permutation(N)]
    for name in ("compare", "diff", "explore", "drift_path", "match_units"):
        assert "48 of 60 checked rows of" in said(FUNCTIONS[name], X, near(X)), name
    # Rows of counts are equal by chance.
    assert "checked rows of" not in said(FUNCTIONS["explore"], np.round(X), near(X))


@pytest.mark.parametrize("size", [1.0, 1e28])
def test_a_distant_row_makes_no_copies(size, said):
    X, Y = noise(), noise()
    X[7] *= size
    Y[7] *= size
    answers = [said(FUNCTIONS[name], X, Y) for name in ("compare", "consensus")]
    assert not any(re.search("cop(y|ies)", answer) for answer in answers), answers


def test_a_distant_row_hardly_changes_scores_of_angles():
    X, Y = with_outlier()
    rest = np.arange(N) != 7
    for score in (
        lambda X, Y: shesha.estimate(X, n_bootstrap=0, n_permutations=20).value,
        lambda X, Y: shesha.drift_path([X, Y]).from_first[1],
        lambda X, Y: np.mean(shesha.explore(X, Y).neighbours_lost),
    ):
        assert abs(score(X, Y) - score(X[rest], Y[rest])) < 0.06
