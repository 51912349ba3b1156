"""Which trials, neurons and conditions enter a score: numbers in any container, several columns, missing entries."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.inputs import validation as check
from shesha.inputs.class_labels import class_names
from shesha.neuro import (
    behaviour_coupling,
    centroid_drift,
    crossnobis,
    crossnobis_test,
    discriminability,
    noise_ceiling as ceiling,
    permutation_null,
    session_drift,
    spike_counts,
    stochastic_shape,
    trial_split,
    wuc,
)
from shesha.neuro.session_drift import check_tracked, shared_neurons
from shesha.support.provenance import collect_statements
from shesha_studies.session_table import Session, session_table

RNG = np.random.default_rng(0)
SHOWN = RNG.permutation(np.tile(np.arange(1, 13), 10))
X = RNG.standard_normal((120, 6)) + RNG.standard_normal((12, 6))[SHOWN - 1]
NUMBERS = {
    "integers": SHOWN,
    "list": SHOWN.tolist(),
    "floats": SHOWN.astype(float),
    "objects": SHOWN.astype(object),
    "objects of both kinds": np.array(
        [int(k) if place % 2 else float(k) for place, k in enumerate(SHOWN)], dtype=object
    ),
    "Int64": pd.Series(SHOWN).astype("Int64"),
    "category": pd.Series(SHOWN).astype("category"),
    "table of numbers and text": pd.DataFrame({"a": SHOWN, "b": "x"}).to_numpy()[:, 0],
    "text": SHOWN.astype(str),
    "text of floats": SHOWN.astype(float).astype(str),
    "row": SHOWN[None],
    "column": SHOWN[:, None],
    "cells": np.array([np.array([k]) for k in SHOWN] + [None], dtype=object)[:-1],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_stay_in_numerical_order(kind):
    found = crossnobis(X, NUMBERS[kind], noise=None)
    assert found.names == tuple(map(str, range(1, 13)))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(crossnobis(X, SHOWN, noise=None)))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["b", "a"], ("a", "b")),
        (["face 10", "face 2"], ("face 2", "face 10")),
        ([-45, 0, -90.0, 45], ("-90", "-45", "0", "45")),
        (["-45", "0", "-90"], ("-90", "-45", "0")),
        ([0.5, 1, 0.25], ("0.25", "0.5", "1")),
        ([0.1 + 0.2, 0.3, -1.1, 1.1 - 2.2, 0, 1e-9], ("-1.1", "0", "1e-09", "0.3")),
        (np.array([0.3, 0.4], dtype="f4"), ("0.3", "0.4")),
        (["B", "A ", " A"], ("A", "B")),
        (np.array([10, "catch", 2, "2"], dtype=object), ("2", "10", "catch")),
        (np.array([b"b", b"a"]), ("a", "b")),
        ([True, False], ("False", "True")),
        (np.array([True, False], dtype=object), ("False", "True")),
    ],
)
def test_classes_and_their_names(labels, names):
    codes, classes = check.labels(labels, len(labels))
    assert class_names(classes) == names
    assert sorted(set(codes)) == list(range(len(names)))


def test_names_are_equal_across_sessions():
    """1, 1.0 and an object 1 are one condition in `session_drift`."""
    tuning = np.random.default_rng(1).gamma(1, 2, size=(4, 20))
    shown = np.tile([1, 2, 3, 10], 15)
    X = np.random.default_rng(2).poisson(np.tile(tuning, (15, 1)))
    days = [(X, shown), (X, shown.astype(float)), (X, shown.astype(object)), (X, shown.astype(str))]
    found = shesha.neuro.session_drift(days, n_permutations=19)
    assert [pair.n_conditions for pair in found.pairs] == [4] * 6


TWO = pd.DataFrame({"stimulus": [f"s{k % 3}" for k in SHOWN], "side": np.where(SHOWN > 6, "left", "right")})
SEVERAL = {
    "table": TWO,
    "objects": TWO.to_numpy(),
    "tuples": list(zip(TWO["stimulus"], TWO["side"], strict=True)),
    "index": pd.MultiIndex.from_frame(TWO),
    "mapping": dict(TWO),
    "records": TWO.to_records(index=False),
    "text and numbers": pd.DataFrame({"side": TWO["side"], "contrast": (SHOWN % 3) / 4}),
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_several_columns_are_one_condition_each(kind):
    together = TWO["stimulus"] + TWO["side"]
    found = trial_split(X, SEVERAL[kind], n_permutations=0)
    assert found.n_conditions == 6
    assert found.value == pytest.approx(trial_split(X, together, n_permutations=0).value)


def test_columns_of_which_one_is_always_missing_are_refused():
    sides = pd.DataFrame(
        {side: np.where(k == SHOWN % 2, SHOWN / 8, np.nan) for k, side in enumerate(("left", "right"))}
    )
    with pytest.raises(ValueError, match=r"must have a value in every column of some trial, got none .*fillna\(0\)"):
        trial_split(X, sides, n_permutations=0)
    assert trial_split(X, sides.fillna(-1), n_permutations=0).n_conditions == len(set(SHOWN))


@pytest.mark.parametrize("labels", [np.stack([SHOWN, SHOWN]), SHOWN[:-1]])
def test_labels_of_other_lengths_are_refused(labels):
    with pytest.raises(ValueError, match="conditions must have one entry for each of the 120 trials"):
        trial_split(X, labels)


def test_trials_without_responses_or_conditions_are_left_out():
    padded, shown = X.copy(), SHOWN.astype(float)
    padded[::7] = np.nan
    shown[3::11] = np.nan
    known = ~np.isnan(padded).any(axis=1) & ~np.isnan(shown)
    n_padded, n_blank = 18, int((~np.isnan(padded).any(axis=1) & np.isnan(shown)).sum())
    blocks = np.repeat(np.arange(4), 30)
    for call in (trial_split, wuc):
        options = {"n_permutations": 19, "min_trials": 4, "null": "permute"}
        found = call(padded, shown, blocks=blocks, **options)
        same = call(X[known], SHOWN[known], blocks=blocks[known], **options)
        assert (found.value, found.null) == (same.value, same.null)
        assert found.inputs == (
            f"{n_padded} of 120 trials without any number (NaN) left out",
            f"{n_blank} of 120 trials without a condition left out",
            "12 conditions: 1, 2, ..., 11, 12",
        )
        assert "Read: 18 of 120 trials" in str(found)
    distances = crossnobis(padded, np.where(np.isnan(shown), "n/a", SHOWN.astype(str)), blocks, noise=None)
    np.testing.assert_allclose(distances, crossnobis(X[known], SHOWN[known], blocks[known], noise=None))
    lacking = "conditions that some of the 4 runs lack (number of runs): 1 (3), 2 (3), 5 (3), 7 (3)"
    assert distances.read == (*found.inputs, lacking)
    apart = discriminability(
        X, SHOWN, np.where(SHOWN < 3, np.arange(120) % 3, 3 + np.arange(120) % 3), n_permutations=0
    )
    assert "; 46 of 66 pairs of conditions occur together in two runs or more" in " ".join(apart.inputs)
    assert centroid_drift(padded, n_permutations=0).n_rows == 102
    assert behaviour_coupling(padded, SHOWN, n_permutations=19).n_rows == 102


def test_neurons_outside_the_mask_are_left_out_and_others_named():
    outside = np.column_stack([X, np.full((120, 2), np.nan)])
    found = crossnobis(outside, SHOWN, noise=None)
    np.testing.assert_allclose(found, crossnobis(X, SHOWN, noise=None), atol=1e-12)
    assert found.read == ("2 of 8 features without any number (NaN) left out", "12 conditions: 1, 2, ..., 11, 12")
    assert found.read[0] in str(found)
    lost = X.copy()
    lost[5:9, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN in 1 neuron \(columns 2\) in 4 trials \(rows 5, 6, 7, 8\)"):
        crossnobis(lost, SHOWN)
    with pytest.raises(ValueError, match="X must contain responses, got only NaN"):
        crossnobis(np.full((6, 2), np.nan), [0, 1] * 3)


def test_distances_carry_names_into_rdms(tmp_path):
    import pickle

    found = crossnobis(X, SHOWN, noise=None)
    assert list(found.to_frame().columns) == list(found.names)
    assert type(found[0]) is np.ndarray and type(found * 2) is np.ndarray and found.copy().names == found.names
    assert pickle.loads(pickle.dumps(found)).names == found.names
    labels = [f"c{k}" for k in SHOWN]
    model = pd.DataFrame(np.asarray(found), index=found.names).rename(lambda name: f"c{name}")[::-1]
    model = model.iloc[:, ::-1]
    named = crossnobis(X, labels, noise=None)
    with pytest.warns(shesha.RowNamesWarning):
        assert shesha.measures.rsa(shesha.Rdm(named), shesha.Rdm(model)) == pytest.approx(1)


RUNS = np.repeat(np.arange(4), 30)
OFFSETS = 5 * RNG.standard_normal((4, 6))[RUNS]
ONCE = np.tile(np.arange(10), 12)


@pytest.mark.parametrize("noise", [None, "diagonal", "ledoit-wolf", 0.3])
@pytest.mark.parametrize(("shown", "runs"), [(np.tile(np.arange(5), 24), RUNS), (ONCE, np.repeat(np.arange(12), 10))])
def test_a_constant_added_to_a_run_changes_no_distance(noise, shown, runs):
    offsets = 5 * np.random.default_rng(3).standard_normal((12, 6))[runs]
    expected = crossnobis(X, shown, runs, noise=noise)
    np.testing.assert_allclose(crossnobis(X + offsets, shown, runs, noise=noise), expected, rtol=1e-8, atol=1e-10)


def test_a_constant_added_to_a_block_changes_no_whitened_cosine():
    shown = np.tile(np.arange(5), 24)
    options = {"n_permutations": 0, "normalize": False, "blocks": RUNS}
    assert wuc(X + OFFSETS, shown, **options).value == pytest.approx(wuc(X, shown, **options).value)


def test_one_precision_per_run():
    """The covariances of both runs are averaged for each pair of runs, as in rsatoolbox."""
    shown, runs = np.tile(np.arange(5), 3), np.repeat(["b", "a", "c"], 5)
    rows = X[:15]
    factors = np.random.default_rng(4).standard_normal((3, 6, 6))
    covariances = dict(zip("abc", factors @ factors.transpose(0, 2, 1) + np.eye(6), strict=True))
    total = np.zeros((5, 5))
    for one, other in ("ab", "ac", "bc"):
        weights = np.linalg.inv((covariances[one] + covariances[other]) / 2)
        first, second = rows[runs == one], rows[runs == other]
        differences = first[:, None] - first[None], second[:, None] - second[None]
        total += np.einsum("ijk,kl,ijl->ij", differences[0], weights, differences[1]) / 3 / 6
    precisions = {name: np.linalg.inv(matrix) for name, matrix in covariances.items()}
    for noise in (precisions, list(precisions.values()), np.array(list(precisions.values()))):
        np.testing.assert_allclose(crossnobis(rows, shown, runs, noise=noise), total, atol=1e-10)
    with pytest.raises(ValueError, match=r"noise must have one matrix for each of the 3 runs \(a, b, c\), got 2"):
        crossnobis(rows, shown, runs, noise=list(precisions.values())[:2])
    with pytest.raises(ValueError, match="runs must be given if noise has one matrix per run"):
        crossnobis(rows, shown, noise=list(precisions.values()))


def correlated_noise(rng, n, p):
    basis = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return (rng.standard_normal((n, p)) / np.sqrt(np.arange(1, p + 1))) @ basis.T


@pytest.mark.parametrize("design", ["repeats in runs", "once per run", "no runs"])
def test_many_neurons_with_correlated_noise_give_no_positive_distances(design):
    rng = np.random.default_rng(5)
    shown = np.arange(120) % 6
    runs = {"repeats in runs": np.arange(120) // 24, "once per run": np.arange(120) // 6, "no runs": None}[design]
    upper = np.triu_indices(6, k=1)
    with pytest.warns(shesha.MeasureWarning):
        values = np.array([crossnobis(correlated_noise(rng, 120, 90), shown, runs)[upper] for _ in range(8)])
    assert 0.3 < (values < 0).mean() < 0.7


def test_many_neurons_with_correlated_noise_give_no_whitened_cosine():
    rng = np.random.default_rng(6)
    options = {"n_permutations": 0, "normalize": False}
    with pytest.warns(shesha.MeasureWarning, match="noise is whitened only in part"):
        values = [wuc(correlated_noise(rng, 160, 120), rng.integers(6, size=160), **options).value for _ in range(12)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(12)


@pytest.mark.filterwarnings("ignore:.*overlaps the next one:shesha.MeasureWarning")
@pytest.mark.parametrize(
    ("spikes", "onsets", "options", "expected"),
    [
        ([[0.3, 0.1 + 0.2, 0.1]], [0.0, 0.1], {"window": (0, 0.3), "n_bins": 3}, [[[0, 1, 0]], [[1, 0, 2]]]),
        ([[0.3, 0.6, 0.9]], [0.0, 0.3, 0.6], {"window": (0, 0.3)}, [[0], [1], [1]]),
        (np.array([[0.1, 0.2], [0.3, 0.4]]), [0.0], {}, [[2, 2]]),
        (([0.1, 0.2, 0.3], [7, 2, 7]), [0.0], {}, [[1, 2]]),
        ((np.array([0.1, 0.2, 0.3]), np.array([2, 7, 7])), [0.0], {}, [[1, 2]]),
        ([0.1, 0.2, 0.3], [0.0], {"clusters": ["b", "a", "b"]}, [[1, 2]]),
        ([np.float32([1000.1])], [1000.0], {"window": (0.1, 0.2)}, [[1]]),
    ],
)
def test_spikes_are_counted_once(spikes, onsets, options, expected):
    assert spike_counts(spikes, onsets, **options).tolist() == expected


def test_trials_without_onset_are_left_out_and_counted():
    with pytest.warns(shesha.MeasureWarning, match=r"1 of 3 trials without an onset \(NaN\) left out"):
        assert spike_counts([[0.1, 2.1]], [0.0, np.nan, 2.0]).tolist() == [[1], [1]]
    with pytest.raises(ValueError, match="got 3 single times; pass the neuron of each spike as clusters="):
        spike_counts([0.1, 0.2, 0.3], [0.0])
    with pytest.raises(ValueError, match="clusters must have one entry for each of the 3 spikes, got 2"):
        spike_counts([0.1, 0.2, 0.3], [0.0], clusters=[1, 2])


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ([[0, 3], [1, -1]], 0),
        ([[0, 3], [1, np.nan]], 0),
        (np.array([[0, 3], [1, None]], dtype=object), 0),
        (pd.DataFrame({"a": [0, 1], "b": pd.array([3, None], dtype="Int64")}), 0),
        ([[1, 4], [2, 0]], 1),
    ],
)
def test_missing_neurons_of_tracked_tables(table, first):
    assert check_tracked(table, [2, 4], first=first).tolist() == [[0, 3], [1, -1]]
    assert shared_neurons(table, first=first).tolist() == [[2, 1], [1, 1]]


@pytest.mark.parametrize(("table", "stated"), [([[1, 1], [2, -1]], True), ([[0, 1], [1, -1]], False)])
def test_a_table_without_the_first_neuron_may_count_from_one(table, stated):
    with collect_statements() as said:
        check_tracked(table, [4, 4])
    assert any("pass first=1" in one for one in said) == stated


@pytest.mark.parametrize("names", ["u{}", "cell{}_b", "abcdefghij"])
def test_neurons_of_tables_are_matched_by_name(names):
    rng = np.random.default_rng(7)
    tuning, shown, order = rng.gamma(1, 2, size=(6, 10)), np.tile(np.arange(6), 20), rng.permutation(10)
    named = [names.format(i) if "{" in names else names[i] * 3 for i in range(10)]
    first, second = (pd.DataFrame(rng.poisson(tuning[shown]), columns=named) for _ in range(2))
    expected = session_drift([(first.to_numpy(), shown), (second.to_numpy(), shown)], n_permutations=19)
    found = session_drift([(first, shown), (second.iloc[:, order], shown)], n_permutations=19)
    assert [part.value for part in found.pairs[0]] == [part.value for part in expected.pairs[0]]
    part = session_drift([(first.iloc[:, :8], shown), (second.iloc[:, order], shown)], n_permutations=19)
    assert "8 of 10 neurons matched by name" in part.inputs
    with pytest.raises(ValueError, match="sessions must have neurons of the same names unless tracked is given"):
        session_drift([(first, shown), (second.add_prefix("other"), shown)], n_permutations=19)


@pytest.mark.parametrize("library", ["xarray", "mne"])
def test_neurons_of_recordings_are_matched_by_name(library):
    module, rng = pytest.importorskip(library), np.random.default_rng(7)
    tuning, shown, names = rng.gamma(1, 2, size=(6, 10)), np.tile(np.arange(6), 20), [f"EEG{i:03d}" for i in range(10)]

    def recording(order):
        X = rng.poisson(tuning[shown])[:, order, None] * np.ones(3)
        channels = [names[i] for i in order]
        if library == "mne":
            info = module.create_info([*channels, "EOG"], 10, ["eeg"] * 10 + ["eog"])
            return module.EpochsArray(np.concatenate([X, X[:, :1]], 1), info, verbose="error")
        return module.DataArray(X, dims=("trial", "channel", "time"), coords={"channel": channels})

    days = {"a": (recording(range(10)), shown), "b": (recording(rng.permutation(10)), shown)}
    found = session_drift(days, n_permutations=19)
    assert "all neurons matched by name, in another order" in found.inputs
    assert all(part.value > 0.6 for part in found.pairs[0])


def test_tables_that_count_from_one_are_not_shifted():
    rng = np.random.default_rng(7)
    tuning, shown = rng.gamma(1, 2, size=(6, 30)), np.tile(np.arange(6), 20)
    order = rng.permutation(30)
    days = [(rng.poisson(tuning[shown]), shown), (rng.poisson(tuning[shown][:, order]), shown)]
    table = 1 + np.column_stack([np.arange(30), np.argsort(order)])
    table = table[(table < 30).all(axis=1)]
    table[3, 1] = table[9, 0] = 0
    with pytest.raises(ValueError, match=r"tuning agrees better if counted from 1 .* pass first=1"):
        shesha.neuro.session_drift(days, table)
    found = shesha.neuro.session_drift(days, table, first=1, n_permutations=19)
    assert found.pairs[0].n_shared == len(table) - 2 and found.pairs[0]["tuning"].value > 0.9
    with pytest.raises(ValueError, match="mark missing neurons by 0 if it counts from 1, got both 0 and -1"):
        check_tracked([[0, 1], [1, -1]], first=1)
    with pytest.raises(ValueError, match=r"got 30; .* or pass first=1 if the table counts from 1"):
        shesha.neuro.session_drift(days, np.repeat(np.arange(1, 31)[:, None], 2, axis=1))


def test_tables_of_few_neurons_may_only_count_from_zero(rng):
    shown = np.tile(np.arange(6), 20)
    days = [(rng.poisson(3, (120, 4)), shown)] * 2
    found = shesha.neuro.session_drift(days, np.repeat(np.arange(3)[:, None], 2, axis=1), n_permutations=19)
    assert found.pairs[0].n_shared == 3


def test_changes_between_sessions_are_tested():
    rng = np.random.default_rng(8)
    tuning, shown = rng.gamma(1, 2, size=(6, 30)), np.tile(np.arange(6), 20)
    gain = rng.gamma(2, 1, size=30)
    still = {name: (rng.poisson(tuning[shown]), shown) for name in "abc"}
    found = shesha.neuro.session_drift(still, n_permutations=99)
    assert found.headline.startswith("No significant change between sessions at 0.05 (smallest corrected p = ")
    assert found.headline.endswith("; 12 tests, 3 pairs of sessions).")
    moved = {**still, "d": (rng.poisson((tuning * gain)[shown]), shown)}
    found = shesha.neuro.session_drift(moved, n_permutations=99, alpha=0.02, confidence=0.9)
    assert "The largest change in rate is between" in found.headline and " and d:" in found.headline
    assert "its 90 % interval" in " ".join(found.full_text().split()) and "change (90 % interval" in found.sentence()
    part = found.pairs[-1]["rate"]
    assert part.change_low < part.change < part.change_high and part.change_p_value == 0.01
    assert found.is_changed(part) and not found.is_changed(found.pairs[0]["rate"])
    assert {"change_low", "corrected_change_p_value"} <= set(found.to_frame().columns)


@pytest.mark.parametrize("n_conditions", [2, 6, 9])
def test_one_overwhelming_difference_among_many_pairs_is_found(n_conditions):
    rng = np.random.default_rng(9)
    shown, runs = np.tile(np.arange(n_conditions), 16), np.repeat(np.arange(4), 4 * n_conditions)
    X = rng.standard_normal((len(shown), 6)) + 40 * np.eye(n_conditions, 6)[shown] * (shown == 0)[:, None]
    found = shesha.neuro.crossnobis_test(X, shown, runs, noise=None)
    assert all(found.significant[: n_conditions - 1])
    strict = shesha.neuro.crossnobis_test(X, shown, runs, noise=None, alpha=0.01)
    assert "at 0.01" in strict.headline and "at 0.01" in strict.sentence()
    with pytest.raises(ValueError, match=r"n_permutations must be at least 999, because fewer cannot reach p = 0\.001"):
        shesha.neuro.crossnobis_test(X, shown, runs, alpha=0.001)


ORDER = ["low", "mid", "high", "top"]
LEVELS = pd.Series(pd.Categorical.from_codes(np.tile(np.arange(4), 6), ORDER, ordered=True))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (LEVELS, tuple(ORDER)),
        (LEVELS.array, tuple(ORDER)),
        (pd.DataFrame({"level": LEVELS}), tuple(ORDER)),
        (LEVELS.cat.as_unordered(), ("high", "low", "mid", "top")),
        (LEVELS.astype(str), ("high", "low", "mid", "top")),
        (LEVELS.cat.add_categories("unused"), tuple(ORDER)),
        (LEVELS.where(LEVELS != "mid"), ("low", "high", "top")),
        (
            pd.DataFrame({"level": LEVELS, "side": np.repeat(["r", "l"], 12)}),
            tuple(f"{level} {side}" for level in ORDER for side in "lr"),
        ),
    ],
)
def test_ordered_categories_keep_their_order(labels, names):
    responses = np.random.default_rng(1).standard_normal((24, 3))
    found = crossnobis(responses, labels, noise=None)
    assert found.names == names
    # The order of the names changes the order of the distances, not their values.
    text = (
        np.asarray(pd.Series(labels).astype(object))
        if names == tuple(ORDER) and not hasattr(labels, "columns")
        else None
    )
    if text is not None:
        plain = crossnobis(responses, text, noise=None)
        moved = [plain.names.index(name) for name in names]
        np.testing.assert_allclose(np.asarray(found), np.asarray(plain)[np.ix_(moved, moved)])


@pytest.mark.parametrize(
    "score",
    [
        lambda data, shown, **options: crossnobis(data, shown, noise=None, **options),
        lambda data, shown, **options: crossnobis_test(data, shown, n_permutations=19, **options).distances,
        lambda data, shown, **options: discriminability(data, shown, n_permutations=19, **options).value,
        lambda data, shown, **options: trial_split(data, shown, how="random", n_permutations=19, **options).value,
        lambda data, shown, **options: wuc(data, shown, n_permutations=19, **options).value,
        lambda data, shown, **options: ceiling(data + 3 * X[:4][shown], shown, **options).reliability,
        lambda data, shown, **options: (
            session_drift([(data, shown)] * 2, n_permutations=19, **options).pairs[0]["rate"].value
        ),
        lambda data, shown, **options: centroid_drift(data, n_permutations=19, **options).value,
        lambda data, shown, **options: permutation_null(data, np.mean, n_permutations=19, **options).value,
        lambda data, shown, **options: behaviour_coupling(data, shown, n_permutations=19, **options).value,
        lambda data, shown, **options: stochastic_shape(data, data, shown, n_splits=1, kind="energy", **options).value,
        lambda data, shown, **options: [
            session_table(
                [Session(data, shown, ["a"] * data.shape[1], outcome=shown)],
                min_neurons=2,
                min_trials=20,
                n_permutations=0,
                n_splits=2,
                trials_per_half="all",
                **options,
            )
            .lines[0]
            .scores[name]
            .value
            for name in ("centroid_drift", "behaviour_coupling")
        ],
    ],
)
def test_trials_with_missing_neurons_are_refused_or_left_out(score):
    data, shown = X[:40].copy(), np.arange(40) // 2 % 4
    data[[3, 17], 2] = np.nan
    kept = ~np.isnan(data).any(axis=1)
    with pytest.raises(ValueError, match=r"got NaN in 1 neuron .* to leave out these trials, pass missing='drop'"):
        score(data, shown)
    np.testing.assert_array_equal(score(data, shown, missing="drop"), score(data[kept], shown[kept]))


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Float64", "object"])
def test_outcomes_of_pandas_may_be_missing(dtype):
    outcome = pd.Series(np.arange(40) % 2 == 0).astype(dtype)
    outcome[:3] = pd.NA
    for given in (outcome, outcome.array):
        assert (
            "3 of 40 trials without an outcome left out" in behaviour_coupling(X[:40], given, n_permutations=0).inputs
        )


def test_a_cycle_of_conditions_in_odd_and_even_trials_is_named():
    with pytest.warns(shesha.NotEstimableWarning, match="show different conditions; pass how='random'"):
        trial_split(X[:32], np.tile(np.arange(8), 4), n_permutations=19)
    with pytest.warns(shesha.NotEstimableWarning, match="show different conditions; pass runs="):
        ceiling(X[:32], np.tile(np.arange(8), 4))


@pytest.mark.parametrize(("per_trial", "is_warned"), [(1, False), (2, True)])
def test_rows_of_one_trial_are_named_only_if_there_are_several(per_trial, is_warned):
    table = pd.DataFrame(X[:48], columns=[f"n_{i}" for i in range(X.shape[1])])
    table.insert(0, "trial", np.arange(48) // per_trial)
    table.insert(1, "stim", np.tile(np.repeat(np.arange(4), 2), 6) + 10 * (np.arange(48) % 2))
    result = trial_split(table, table["stim"], n_permutations=19, how="random", n_splits=2)
    assert ("rows of one trial may resemble one another" in str(result)) == is_warned


@pytest.mark.parametrize(("outcome", "told"), [("times", True), ("counts", False), ("ratings", False), ("near", False)])
def test_zeros_apart_from_all_other_outcomes_are_named(rng, outcome, told):
    missed = rng.permutation(150) < 25
    given = {
        "times": rng.gamma(9, 0.06, 150).round(3),
        "counts": rng.poisson(9, 150).astype(float) + 3,
        "ratings": rng.integers(2, 6, 150) / 2,
        "near": rng.gamma(1, 0.06, 150),
    }[outcome]
    with collect_statements() as stated:
        behaviour_coupling(rng.poisson(5, (150, 30)).astype(float), np.where(missed, 0, given), n_permutations=19)
    assert any("0 occurs in 25 of 150 trials" in text for text in stated) == told
