"""Dependent rows are found where they lie one after another or repeat; clean data raise no alarm."""

import warnings
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from shesha import (
    CalibrationWarning,
    Moments,
    Rdm,
    audit,
    calibrate,
    calibrate_layers,
    compare,
    consensus,
    estimate,
    match_units,
    steering,
)
from shesha.kernels.repeated_rows import repeats, row_hashes
from shesha.nulls import dependence, exchange
from shesha.nulls.dependence import DiagnosticRows, _is_discrete, p_of_first
from shesha.nulls.design_warnings import find_undeclared_dependence, p_value_within_design
from shesha.results.doubts import LEVEL
from shesha_studies import steering_predictors

K = 19


def series(rng, n, phi, d=8):
    """An autoregressive series that has forgotten where it began."""
    rows = rng.standard_normal((n + 200, d))
    for t in range(1, n + 200):
        rows[t] += phi * rows[t - 1]
    return rows[200:]


CLEAN = {
    "Gaussian": lambda rng, n: rng.standard_normal((n, 10)),
    "heavy tails": lambda rng, n: rng.standard_t(2, (n, 10)),
    "skewed": lambda rng, n: rng.lognormal(0, 1.5, (n, 10)),
    "clusters in random order": lambda rng, n: (
        rng.standard_normal((n, 10)) + 4 * rng.standard_normal((5, 10))[rng.integers(0, 5, n)]
    ),
    "two dimensions": lambda rng, n: rng.standard_normal((n, 2)) @ rng.standard_normal((2, 10)),
    "sparse": lambda rng, n: np.maximum(rng.standard_normal((n, 10)) - 1, 0),
    "codes": lambda rng, n: np.eye(5)[rng.integers(0, 5, n)],
    "counts": lambda rng, n: rng.poisson(1.0, (n, 10)),
}


@pytest.mark.parametrize("n", [20, 64])
def test_clean_data_raise_an_alarm_in_at_most_one_run_of_a_hundred(n):
    """Over all kinds of data; the level of each is 0.002."""
    runs = 60
    alarms = sum(
        dependence(make(np.random.default_rng([n, k]), n)).is_dependent for make in CLEAN.values() for k in range(runs)
    )
    assert alarms <= 0.01 * runs * len(CLEAN)


@pytest.mark.parametrize("n", [64])
def test_p_values_of_clean_data_are_those_of_a_test(n):
    found = np.array([dependence(np.random.default_rng([n, k]).standard_normal((n, 6))).p_value for k in range(150)])
    # Twice the standard errors of a share of 150, three times over.
    assert abs(np.mean(found <= 0.5) - 0.5) < 0.13
    assert np.mean(found <= 0.05) < 0.11


ORDERED = {
    "series": lambda rng, n: series(rng, n, 0.5),
    "long memory": lambda rng, n: series(rng, n, 0.9),
    "drift": lambda rng, n: rng.standard_normal((n, 8)) + 2 * np.linspace(0, 1, n)[:, None],
    "classes in sequence": lambda rng, n: (
        rng.standard_normal((n, 8)) + rng.standard_normal((5, 8))[np.sort(rng.integers(0, 5, n))]
    ),
    "batches": lambda rng, n: (
        rng.standard_normal((n, 8)) + 0.7 * rng.standard_normal((n // 8 + 1, 8))[np.arange(n) // 8]
    ),
    "every row twice": lambda rng, n: (
        np.repeat(rng.standard_normal((n // 2, 8)), 2, axis=0) + 0.5 * rng.standard_normal((n, 8))
    ),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("n", [128, 1300])
def test_rows_in_order_are_found_and_their_shuffle_is_not(name, n):
    for k in range(5):
        rng = np.random.default_rng([n, k])
        X = ORDERED[name](rng, n)
        found = dependence(X)
        assert found.has_order, name
        assert "consecutive rows are closer than random rows" in found.text
        assert "shift=True" in found.text and "No permutation of rows corrects" in found.text
        assert dependence(rng.permutation(X)).p_value > found.p_value


def test_of_several_representations_all_must_be_in_order(rng):
    X, Y, noise = series(rng, 100, 0.9), series(rng, 100, 0.9), rng.standard_normal((100, 8))
    assert dependence(X, Y).has_order
    assert not dependence(X, noise).has_order
    assert dependence(X, noise).p_value == max(dependence(X).p_value, dependence(noise).p_value)


def test_scale_and_origin_do_not_matter(rng):
    X = series(rng, 100, 0.3)
    found = dependence(X)
    for other in (1e150 * X, 1e-150 * X, X[:, ::-1]):
        assert dependence(other).p_value == pytest.approx(found.p_value, rel=1e-6)


def test_repeated_rows_are_found_wherever_they_lie(rng):
    order = rng.permutation(120)
    X = np.repeat(rng.standard_normal((60, 5)), 2, axis=0)[order]
    found = dependence(X)
    first = {tuple(row): i for i, row in reversed(list(enumerate(X.tolist())))}
    assert found.repeated == tuple(i for i, row in enumerate(X.tolist()) if first[tuple(row)] != i)
    assert found.has_repeats and "60 rows repeat an earlier row" in found.text and "groups=" in found.text
    near = dependence(X + 1e-4 * rng.standard_normal(X.shape))
    assert near.has_repeats and len(near.nearly_repeated) == 120
    # Repeats that one representation alone has say nothing.
    assert not dependence(X, rng.standard_normal((120, 5))).has_repeats


def test_a_few_repeats_and_rows_of_zeros_are_no_alarm(rng):
    X = rng.standard_normal((100, 5))
    X[3] = X[50]
    X[60:90] = 0
    found = dependence(X)
    assert found.repeated == (50,)
    assert not found.has_repeats


def test_repeats_agree_with_a_plain_loop(rng):
    for n, d, values in ((40, 1, 5), (40, 3, 2), (60, 40, 2), (30, 20, 1000)):
        X = rng.integers(0, values, (n, d)).astype(float)
        X[7], X[n - 1, -1] = X[2], -0.0
        seen, expected = set(), []
        for i, row in enumerate((X + 0.0).tolist()):
            if tuple(row) in seen:
                expected.append(i)
            seen.add(tuple(row))
        assert repeats(row_hashes(X)).tolist() == expected


@pytest.mark.parametrize(("n_values", "discrete"), [(5, True), (30, True), (31, False), (60, False)])
def test_rows_are_discrete_where_columns_have_half_as_many_values_as_there_are_rows(rng, n_values, discrete):
    X = np.stack([rng.permutation(np.arange(60) % n_values) for _ in range(20)], axis=1) * 0.5
    assert len(np.unique(X, axis=0)) == 60
    assert _is_discrete(DiagnosticRows(X)) == discrete


@pytest.mark.parametrize(("n_different", "discrete"), [(5, True), (6, False), (7, False)])
def test_rows_are_discrete_where_fewer_than_a_tenth_differ(rng, n_different, discrete):
    X = rng.standard_normal((n_different, 4))[np.arange(60) % n_different]
    assert _is_discrete(DiagnosticRows(X)) == discrete


@pytest.mark.parametrize(("phi", "expected"), [(0.0, 0.0), (0.5, 2 / 3), (0.8, 1.28 / 0.36)])
def test_memory_is_that_of_both_series_together(phi, expected):
    """2 sum phi^(2 k) = 2 phi^2 / (1 - phi^2)."""
    found = [
        dependence(series(rng, 500, phi), series(rng, 500, phi)).memory
        for rng in (np.random.default_rng(k) for k in range(10))
    ]
    assert np.mean(found) == pytest.approx(expected, rel=0.15, abs=0.02)


def test_the_memory_of_damped_waves_goes_on_after_their_first_zero():
    """2 sum (phi^k cos(k w))^2 is about phi^2 / (1 - phi^2) for waves of many rows."""
    phi, turn = 0.97, 2 * np.pi / 20

    def waves(rng, n=500, d=8):
        rows = rng.standard_normal((n + 200, d))
        for t in range(2, n + 200):
            rows[t] += 2 * phi * np.cos(turn) * rows[t - 1] - phi**2 * rows[t - 2]
        return rows[200:]

    rngs = [np.random.default_rng(k) for k in range(10)]
    found = [dependence(waves(rng), waves(rng)) for rng in rngs]
    assert np.mean([one.memory for one in found]) == pytest.approx(phi**2 / (1 - phi**2), rel=0.2)
    assert all(one.is_short(200) for one in found)


def test_conditions_within_pairs_of_rows_are_an_alternation():
    """Pairs hide that conditions take turns: neighbours share a subject or a condition, rows two apart a condition."""
    found, subject, condition = 0, np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    for run in range(20):
        rng = np.random.default_rng(run)
        sides = [
            0.9 * rng.standard_normal((40, 9))[subject]
            + 1.5 * np.outer(condition, rng.standard_normal(9))
            + rng.standard_normal((80, 9))
            for _ in range(2)
        ]
        found += dependence(*sides).is_dependent
    assert found >= 11


def test_groups_of_larger_units_are_not_exchangeable():
    site, donor, n_found = np.repeat(np.arange(4), 30), np.repeat(np.arange(20), 6), [0, 0]
    for run in range(30):
        rng = np.random.default_rng(run)
        for size in range(2):
            X = size * rng.standard_normal((4, 9))[site] + rng.standard_normal((20, 9))[donor]
            X += rng.standard_normal((120, 9))
            n_found[size] += p_value_within_design(exchange(120, groups=donor), X) <= 0.002
            assert p_value_within_design(exchange(120, groups=donor, blocks=site), X) > 1e-6
    assert n_found[0] == 0 and n_found[1] >= 19


def test_a_series_is_short_below_thirty_times_its_memory(rng):
    found = dependence(series(rng, 64, 0.9), series(rng, 64, 0.9))
    assert found.is_short(64) and not found.is_short(30 * found.memory)


def test_what_cannot_be_told_is_not_told(rng):
    for X in (np.ones((40, 3)), rng.standard_normal((5, 3)).cumsum(axis=0), np.zeros((20, 2))):
        assert not dependence(X).has_order
        assert str(dependence(X)) == "no sign that rows depend on one another" or dependence(X).has_repeats
    with pytest.raises(ValueError, match="representations must contain at least one, got none"):
        dependence()
    with pytest.raises(ValueError, match="representations must have the same rows, got 4, 5"):
        dependence(np.zeros((4, 2)), np.zeros((5, 2)))


CALLS = {
    "calibrate": lambda X, Y, **design: calibrate(X, Y, "CKA", n_permutations=K, seed=0, **design),
    "own function": lambda X, Y, **design: calibrate(X, Y, lambda a, b: 0.5, n_permutations=K, seed=0, **design),
    "layers": lambda X, Y, **design: calibrate_layers([X], [Y], n_permutations=K, seed=0, **design),
    "compare": lambda X, Y, **design: compare(X, Y, "CKA", calibrate=True, n_permutations=K, **design),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_dependent_rows_without_a_design_are_told(rng, call):
    X, Y = series(rng, 100, 0.5), series(rng, 100, 0.5)
    with pytest.warns(
        CalibrationWarning, match="permuting all rows may give too many false positives: consecutive rows are closer"
    ):
        call(X, Y)
    # Whoever says what may be exchanged, or has one side that does not depend on the order, hears nothing.
    call(X, Y, shift=True)
    for design in ({"blocks": np.arange(100) // 25}, {"groups": np.arange(100) // 4}, {"block_length": 4}):
        with pytest.warns(CalibrationWarning, match="closer than after permutations by (blocks|groups|block_length)"):
            call(X, Y, **design)
        call(X, rng.permutation(Y), **design)
    call(X, Y, permutations=np.array([np.roll(np.arange(100), 5 * k) for k in range(1, 20)]))
    call(X, rng.permutation(Y))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_shifts_of_a_short_series_are_told(rng, call):
    X, Y = series(rng, 64, 0.9), series(rng, 64, 0.9)
    with pytest.warns(CalibrationWarning, match="series of 64 rows are too short for a memory of"):
        call(X, Y, shift=True)
    with pytest.warns(CalibrationWarning, match="series of 32 rows are too short"):
        call(X, Y, shift=True, blocks=np.arange(64) // 32)


def drifting(rng, n, d=8):
    """Noise about a line of a direction of its own."""
    return rng.standard_normal((n, d)) + 3 * np.linspace(0, 1, n)[:, None] * rng.standard_normal(d)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("design", [{"shift": True}, {"block_length": 10}, {"blocks": np.arange(100) // 25}])
def test_a_drift_is_told_whatever_the_design(call, design):
    rng = np.random.default_rng(3)
    X, Y = drifting(rng, 100), drifting(rng, 100)
    with pytest.warns(CalibrationWarning, match="rows drift smoothly over the whole series. No permutation"):
        call(X, Y, **design)
    call(X, rng.standard_normal((100, 8)), **design)


@pytest.mark.parametrize("n", [64, 256])
def test_drifts_are_told_from_memories_that_die_out(n):
    found = {
        name: [dependence(make(np.random.default_rng([n, k]), n)).has_drift for k in range(20)]
        for name, make in (("drift", drifting), ("series", lambda rng, n: series(rng, n, 0.5)), *CLEAN.items())
    }
    assert np.mean(found.pop("drift")) > 0.8
    assert max(map(np.mean, found.values())) <= 0.05


def test_groups_and_blocks_whose_rows_are_exchangeable_are_not_called_a_series():
    alarms = 0
    for k in range(60):
        rng = np.random.default_rng([41, k])
        group = np.arange(96) // 8
        X = 2 * rng.standard_normal((12, 6))[group] + rng.standard_normal((96, 6))
        alarms += p_value_within_design(exchange(96, groups=group), X) <= LEVEL
        alarms += p_value_within_design(exchange(96, blocks=group), X) <= LEVEL
        alarms += p_value_within_design(exchange(96, within=X[:, 0]), rng.standard_normal((96, 6))) <= LEVEL
    assert alarms <= 3


def test_scale_does_not_matter_within_a_design_and_constant_rows_are_no_series(rng):
    design, X = exchange(64, blocks=np.arange(64) // 8), series(rng, 64, 0.5)
    for scale in (1e200, 1e-200):
        assert p_value_within_design(design, scale * X) == p_value_within_design(design, X)
    assert p_value_within_design(design, np.zeros((64, 2))) == p_value_within_design(design, np.ones((64, 2)))


def test_series_in_groups_and_blocks_are_found():
    X = series(np.random.default_rng(0), 64, 0.9)
    for design in ({"blocks": np.arange(64) // 8}, {"groups": np.arange(64) // 4}, {"block_length": 4}):
        assert p_value_within_design(exchange(64, **design), X) <= LEVEL


def test_chance_tells_of_a_drift_and_of_a_series():
    rng = np.random.default_rng(5)
    options = {"n_permutations": K, "n_splits": 2, "seed": 0}
    with pytest.warns(CalibrationWarning, match="rows drift smoothly over the whole series"):
        estimate(drifting(rng, 100), shift=True, **options, n_bootstrap=0)
    with pytest.warns(CalibrationWarning, match="closer than after permutations by blocks"):
        estimate(series(rng, 200, 0.6), blocks=np.arange(200) // 25, **options, n_bootstrap=0)


def test_distances_alone_have_no_order_to_look_at(rng):
    D = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    calibrate(Rdm(D), Rdm(D), "RSA", n_permutations=K, seed=0)


@pytest.mark.parametrize(
    ("p_value", "order", "alternation"), [(0.001, True, False), (0.03, True, False), (0.2, False, True)]
)
def test_close_rows_two_apart_are_an_order_unless_neighbours_are_far(p_value, order, alternation):
    found = replace(
        dependence(np.random.default_rng(0).standard_normal((64, 4))), p_value=p_value, alternation_p_value=0.001
    )
    assert (found.has_order, found.has_alternation) == (order, alternation)


def _moments(X, Y):
    first, second = Moments.of(X[:60], Y[:60]), Moments.of(X[60:], Y[60:])
    return compare(first.merge(second), "CKA", calibrate=True)


HALVES = np.repeat([0, 1], 60)
UNDECLARED = {
    "chance": lambda X, Y: estimate(X, n_permutations=K, seed=0, n_bootstrap=0),
    "chance of labels": lambda X, Y: estimate(
        X, HALVES, "supervised_alignment", n_permutations=K, seed=0, n_bootstrap=0
    ),
    "consensus": lambda X, Y: consensus({"X": X, "Y": Y, "sum": X + Y}),
    "estimate": lambda X, Y: estimate(X, n_bootstrap=K, seed=0),
    "held-out values": lambda X, Y: compare(X, Y, "LinReg", folds=4),
    "match_units": lambda X, Y: match_units(X, Y),
    "moments": _moments,
    "rank_layers": lambda X, Y: steering.rank_layers({"X": X, "Y": Y}, HALVES, n_splits=1, n_draws=K, seed=0),
    "steering predictors": lambda X, Y: steering_predictors.predictors(X, HALVES, n_draws=K, seed=0),
}
"""Functions that permute or resample rows, without the option that declares groups."""


@pytest.mark.parametrize("name", UNDECLARED)
def test_every_function_that_permutes_or_resamples_looks_for_undeclared_dependence(name):
    rng = np.random.default_rng(3)
    donors = np.repeat(np.arange(24), 5)
    for dependent in (False, True):
        X, Y = rng.standard_normal((2, 120, 6)) + dependent * 3 * rng.standard_normal((2, 24, 6))[:, donors]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = UNDECLARED[name](X, Y)
        said = " ".join([*(str(warning.message) for warning in caught), *getattr(result, "notes", ())]).lower()
        assert ("consecutive rows are closer than random rows" in said) == dependent


def test_rows_sorted_by_their_label_are_not_dependent():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((120, 6)) + 2 * HALVES[:, None]
    assert find_undeclared_dependence([X]) and not find_undeclared_dependence([X], HALVES)
    walk = X.cumsum(axis=0)
    assert find_undeclared_dependence([walk], HALVES) and not find_undeclared_dependence(
        [walk], rng.permutation(HALVES)
    )


def test_moments_that_were_saved_keep_the_signs_of_dependence(tmp_path):
    donors = np.repeat(np.arange(24), 5)
    X, Y = 3 * np.random.default_rng(5).standard_normal((2, 24, 6))[:, donors]
    moments = Moments.of(X, Y)
    moments.save(tmp_path / "moments.npz")
    assert Moments.load(tmp_path / "moments.npz").dependence == moments.dependence != ""


@pytest.mark.parametrize("rows", [np.arange(9.0).reshape(3, 3) ** 2, np.ones((40, 3))])
def test_rows_that_are_few_or_equal_have_no_memory(rows):
    found = dependence(rows)
    assert (found.memory, found.persistence) == (0, 0)


def test_the_first_number_is_compared_with_a_normal_prediction_from_the_others(rng):
    first, *others = values = rng.standard_normal(7)
    spread = stdev(others) * np.sqrt(1 + 1 / 6)
    assert p_of_first(values) == pytest.approx(norm.sf((first - fmean(others)) / spread))


RNG = np.random.default_rng(5)
TEXTS = RNG.permutation(np.repeat(np.arange(20), 6))
NAMED = {
    "chunks": [f"doc{text}_chunk{row}" for row, text in enumerate(TEXTS)],
    "parts after a space": [f"report {text}.pdf | {row}" for row, text in enumerate(TEXTS)],
    "names of their own": [f"text{row}" for row in range(120)],
    "other groups": [f"doc{row % 20}_chunk{row}" for row in range(120)],
}


@pytest.mark.parametrize("named", NAMED)
def test_rows_whose_names_have_one_beginning_are_looked_at(named):
    X, Y = (
        pd.DataFrame(RNG.standard_normal((20, 12))[TEXTS] + RNG.standard_normal((120, 12)), index=NAMED[named])
        for _ in range(2)
    )
    calls = (
        lambda **design: compare(X, Y, "CKA", calibrate=True, n_permutations=19, **design),
        lambda **design: audit(X, n_bootstrap=3, n_permutations=19, **design),
    )
    for call in calls:
        assert warned(call) == (named in ("chunks", "parts after a space"))
        assert not warned(lambda call=call: call(groups=TEXTS))
    # Rows may be named after their class.
    assert not warned(lambda: audit(X, TEXTS, n_bootstrap=3, n_permutations=19))


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return any("rows whose names differ only in the last number, such as" in str(one.message) for one in found)


def sets_of_rows(rng, size, noise):
    """Return 40 inputs with some noisy copies of each, in random order."""
    inputs = np.repeat(rng.standard_normal((40, 64)), size, axis=0)
    return rng.permutation(inputs + noise * rng.standard_normal(inputs.shape))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_sets_of_near_copies_are_found(rng, size):
    found = dependence(sets_of_rows(rng, size, 0.15))
    assert found.has_repeats and len(found.nearly_repeated) >= 0.9 * found.n_looked_at
    assert "nearly repeat another row" in found.signs
    # Labels, which repeat by design, hide no repeats of what they are labels of.
    labels = np.eye(2)[rng.integers(0, 2, 40 * size)]
    X = sets_of_rows(rng, size, 0.15)
    assert not dependence(rng.standard_normal(X.shape), labels).has_repeats


def test_classes_and_small_groups_are_no_sets_of_copies(rng):
    for _ in range(60):
        centres = rng.standard_normal((8, 20))
        classes = 3 * centres[rng.integers(0, 8, 200)] + rng.standard_normal((200, 20))
        with_rare = rng.standard_normal((200, 20))
        with_rare[:6] = 30 + 0.1 * rng.standard_normal((6, 20))
        for X in (classes, with_rare, sets_of_rows(rng, 6, 1.0), rng.standard_t(2, (100, 3))):
            assert not dependence(X).has_repeats
