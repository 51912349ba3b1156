"""Inputs in other units, axes and objects: read as meant, refused with the way out, or warned of."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.spatial.distance import pdist

import shesha
from shesha.neuro import (
    behaviour_coupling,
    crossnobis,
    crossnobis_test,
    discriminability,
    noise_ceiling,
    over_time,
    searchlight,
    session_drift,
    spike_counts,
    time_clusters,
    trial_split,
)

RNG = np.random.default_rng(0)
SPIKES = [np.sort(RNG.uniform(0, 100, 300)) for _ in range(3)]
ONSETS = np.arange(10) * 9 + 0.5
SQUARES = np.abs(RNG.standard_normal((5, 6, 6))) + 3 * RNG.random((6, 6))
SQUARES = (SQUARES + SQUARES.transpose(0, 2, 1)) * (1 - np.eye(6))
CUBE = np.random.default_rng(1).poisson(3, size=(40, 5, 7))
MIXED = np.random.default_rng(3).permutation(np.repeat(np.arange(4), 10))


class Rdms:
    """An object with the methods of rsatoolbox's RDMs."""

    def __init__(self, matrices, **descriptors):
        self.matrices, self.pattern_descriptors = matrices, descriptors

    def get_matrices(self):
        return self.matrices


@pytest.mark.parametrize(
    ("onsets", "window", "warned"),
    [
        (ONSETS, (0, 0.5), ""),
        (ONSETS * 1000, (0, 500), "outside the time of the spikes"),
        (np.arange(20) * 10 + 0.5, (0, 0.5), "10 of 20 windows are outside the time of the spikes"),
        (np.arange(19) / 1000 + 0.5, (0, 0.0005), "18 of 19 windows contain no spike"),
        (
            ONSETS,
            (0, 500),
            "9 of 10 windows overlap the next one: windows last 500 and onsets are 9 apart (median), so",
        ),
        (ONSETS, (-9, 9), "so a spike counts in up to 2 trials"),
        (ONSETS[::-1], (-4, 5), ""),
        ([10, 20, 20, 29.999, 40], (0, 10), "1 of 5 windows overlaps the next one"),
        (ONSETS[:1], (0, 0.5), ""),
        ([], (0, 1), ""),
    ],
)
def test_windows_in_another_unit_are_named(onsets, window, warned):
    early = [*SPIKES, np.array([0.5001])]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        spike_counts(early, onsets, window=window)
    assert [warned in str(one.message) for one in found] == [True] * bool(warned)


@pytest.mark.parametrize(("shape", "hint"), [((20, 60), ", which .* pass X.T"), ((20, 59), "")])
def test_neurons_in_rows_are_refused_with_the_transpose(shape, hint):
    with pytest.raises(ValueError, match=f"conditions must have one entry for each of the 20 trials, got 60{hint}$"):
        crossnobis(np.ones(shape), np.tile(np.arange(6), 10))


def test_axes_of_trials_are_stated_and_named_in_errors():
    found = trial_split(CUBE, MIXED, n_permutations=19)
    assert found.inputs == ("X: 40 trials x 5 neurons x 7 times", "conditions 0, 1, 2, 3")
    for labels in (np.arange(7), np.arange(7)[None]):
        with pytest.raises(
            ValueError,
            match=r"got 7; the axes of X are trials, neurons and times, got \(40, 5, 7\); .* pass numpy.moveaxis",
        ):
            trial_split(CUBE, labels)


def test_a_column_of_the_table_is_no_condition():
    table = pd.DataFrame(RNG.poisson(3, size=(40, 5)), columns=[*"abcde"]).assign(stim=np.tile(np.arange(4), 10))
    with pytest.raises(TypeError, match=r"got the name 'stim'; pass X\['stim'\], and only the columns of neurons"):
        trial_split(table, "stim")


@pytest.mark.parametrize(("time", "unit"), [("time", "cluster"), ("spike_times", "unit_id"), ("t", "neuron")])
def test_a_table_with_one_row_per_spike(time, unit):
    units = np.repeat([0, 1, 2], 300)
    table = pd.DataFrame({time: np.concatenate(SPIKES), unit: units, "amplitude": 1.0}).sample(frac=1, random_state=0)
    np.testing.assert_array_equal(spike_counts(table, ONSETS), spike_counts(SPIKES, ONSETS))
    np.testing.assert_array_equal(
        spike_counts(table.drop(columns=unit), ONSETS, clusters=table[unit]), spike_counts(SPIKES, ONSETS)
    )
    with pytest.raises(TypeError, match=r"one column of times, and one of neurons .* got a table with the columns"):
        spike_counts(table.drop(columns=unit), ONSETS)


@pytest.mark.parametrize("spikes", [{0.1, 0.2}, {(0.1, 0.2), (0.3, 0.4)}, frozenset({(0.1, 0.2)})])
def test_spikes_without_an_order_of_neurons_are_refused(spikes):
    with pytest.raises(TypeError, match="spikes must be a sequence of spike times, one array per neuron, got"):
        spike_counts(spikes, ONSETS)


@pytest.mark.parametrize("noise", [-1, 3])
def test_a_cluster_of_noise_is_named(noise):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        spike_counts(np.concatenate(SPIKES), ONSETS, clusters=np.repeat([noise, 1, 2], 300))
    assert ["cluster -1" in str(one.message) for one in found] == [True] * (noise < 0)


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize(
    ("shown", "blocked", "shifted"),
    [
        (np.repeat(np.arange(4), 10), True, True),
        (np.repeat(np.tile(np.arange(4), 3), [4, 3, 3] * 4), True, False),
        (MIXED, False, False),
    ],
)
def test_conditions_that_are_blocked_in_time_are_named(shown, blocked, shifted):
    calls = [
        (lambda: crossnobis_test(CUBE, shown, n_permutations=199).inputs, "drift looks like", blocked),
        (lambda: crossnobis(CUBE, shown).read, "drift looks like", blocked),
        (lambda: trial_split(CUBE, shown, null="permute", n_permutations=39).inputs, "drift looks like", blocked),
        # Circular shifts preserve stretches, but one or two of each condition hardly have other positions.
        (lambda: trial_split(CUBE, shown, n_permutations=19).inputs, "circular shifts cannot tell", shifted),
        (lambda: discriminability(CUBE, shown, n_permutations=19).inputs, "circular shifts cannot tell", shifted),
    ]
    for call, effect, expected in calls:
        assert any(f"so {effect}" in text for text in call()) == expected


@pytest.mark.filterwarnings("ignore:not estimable")
@pytest.mark.parametrize(
    ("X", "n"),
    [
        (CUBE, 0),
        (np.repeat(CUBE[:20], 2, axis=0), 20),
        (np.repeat(CUBE[:20] * 0.3, 2, axis=0), 20),
        (CUBE * (CUBE > 8), 0),
    ],
)
def test_repeated_trials_are_counted(X, n):
    found = trial_split(X + 0.0, MIXED, n_permutations=19, normalize=False)
    assert [f"{n} of 40 trials repeat" in text for text in found.inputs if "repeat another" in text] == [True] * (n > 0)


TUNED = np.random.default_rng(5).gamma(1.5, 2, size=(4, 24))


def responses(tuning, seed):
    return np.random.default_rng(seed).poisson(tuning[MIXED]).astype(float)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("other", "matched"),
    [
        (TUNED, True),
        (TUNED * np.random.default_rng(6).gamma(2, 1, 24), True),
        (TUNED[[1, 2, 3, 0]], True),
        (TUNED[:, ::-1], False),
        (np.random.default_rng(7).gamma(1.5, 2, size=(4, 24)), False),
    ],
)
def test_numbers_of_units_in_each_session_do_not_match_neurons(other, matched, named):
    days = {name: responses(tuning, seed) for seed, (name, tuning) in enumerate({"a": TUNED, "b": other}.items())}
    if named:
        days = {name: pd.DataFrame(X).add_prefix("unit_") for name, X in days.items()}
    days = {name: (X, MIXED) for name, X in days.items()}
    found = session_drift(days, n_permutations=39)
    assert found.pairs[0].matched == matched
    assert found.headline.startswith("Neurons could not be matched between sessions a and b: those of one") != matched
    assert ("changed significantly" in found.headline) <= matched
    assert f"neurons {'matched by name' if named else 'paired by position (no names)'}" in found.inputs
    if not matched:
        tracked = session_drift(days, np.tile(np.arange(24)[:, None], 2), n_permutations=39)
        assert "could not be matched" not in tracked.headline


@pytest.mark.filterwarnings("ignore:not estimable")
@pytest.mark.parametrize(
    ("standardise", "estimable"),
    [
        (lambda X: X, True),
        (lambda X: X / X.std(axis=0), True),
        (lambda X: (X - X.mean(axis=0)) / X.std(axis=0), False),
        (lambda X: X / X.mean(axis=0), False),
        # Trials that were left out after standardising.
        (lambda X: ((X - X.mean(axis=0)) / X.std(axis=0))[:34], False),
        (lambda X: np.where(np.arange(24) == 3, 0.0, X - X.mean(axis=0)) * 1e-170, False),
    ],
)
def test_rates_of_standardised_sessions_are_not_estimable(standardise, estimable):
    days = {name: standardise(responses(TUNED, seed)) for seed, name in enumerate("ab")}
    found = session_drift({name: (X, MIXED[: len(X)]) for name, X in days.items()}, n_permutations=39)
    rate = found.pairs[0]["rate"]
    assert (rate.value == rate.value, rate.reason == "") == (estimable, estimable)
    assert found.pairs[0]["tuning"].value > 0.3
    assert ("(rate is not estimable)" in found.headline) != estimable
    assert ("rate is not estimable: all neurons have the same mean" in " ".join(str(found).split())) != estimable


def wave(seed):
    return np.repeat(np.random.default_rng(seed).normal(size=12), 10)


@pytest.mark.parametrize(
    ("size", "outcome", "permuted", "stretched"),
    [
        (np.linspace(0, 2, 120), np.linspace(0, 2, 120), True, True),
        # Stretches keep half of the similar neighbours.
        (wave(0), wave(1), True, False),
        (np.linspace(0, 1, 120), np.zeros(120), False, False),
        (np.zeros(120), wave(1), False, False),
    ],
)
def test_permuted_trials_that_depend_on_their_order_are_warned_of(size, outcome, permuted, stretched):
    rng = np.random.default_rng(0)
    X = rng.poisson(np.exp(1 + 0.6 * size)[:, None], (120, 10))
    noisy = outcome + 0.3 * rng.standard_normal(120)
    for null, length, warned in (("permute", None, permuted), ("shift", None, False), ("stretches", 5, stretched)):
        found = behaviour_coupling(X, noisy, n_permutations=39, null=null, block_length=length)
        assert any("response size and outcome both depend on the order" in text for text in found.inputs) == warned


@pytest.mark.parametrize(("drift", "favoured", "warned"), [(3, True, True), (3, False, False), (0, True, False)])
def test_conditions_that_drift_with_the_responses_are_warned_of(drift, favoured, warned):
    rng, late = np.random.default_rng(0), np.linspace(0, 1, 200)
    shown = np.clip(4 * (late if favoured else 0.5) + rng.normal(0, 0.8, 200), 0, 3).astype(int)
    X = rng.standard_normal((200, 8)) + drift * late[:, None]
    found = trial_split(X, shown, null="permute", n_permutations=39)
    assert any("responses and conditions both depend on the order" in text for text in found.inputs) == warned


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("other", "statement"),
    [
        (lambda X: X, "40 of 40 trials of session b are also in session a"),
        (lambda X: X[::-1] - X.mean(axis=0), "all neurons of session b have the same mean, as after z-scoring"),
        (lambda X: X + 0.1, ""),
    ],
)
def test_sessions_that_are_no_second_measurement_are_named(other, statement):
    shown = np.tile(np.arange(4), 10)
    tuned = RNG.gamma(1, 2, size=(4, 12))[shown] + 0.1 * RNG.standard_normal((40, 12))
    found = session_drift({"a": (tuned, shown), "b": (other(tuned), shown)}, n_permutations=39)
    warned = [text for text in found.inputs if text.startswith("warning")]
    assert (statement in warned[0]) if statement else not warned
    assert "neurons paired by position (no names)" in found.inputs


def test_trials_without_a_run_are_left_out_and_counted():
    shown, runs = np.tile(np.arange(4), 10), np.repeat(np.arange(4.0), 10)
    runs[[3, 17]] = np.nan
    known = ~np.isnan(runs)
    found = crossnobis(CUBE, shown, runs)
    np.testing.assert_allclose(found, crossnobis(CUBE[known], shown[known], runs[known]))
    assert "2 of 40 trials without a run left out" in found.read
    assert "2 of 40 trials without a run left out" in crossnobis_test(CUBE, shown, runs).inputs


@pytest.mark.parametrize("scale", [1.0, 1e-13])
def test_distances_have_no_unit(scale):
    shown = MIXED
    found, plain = (
        session_drift({"a": (X, shown), "b": (X[::-1], shown)}, n_permutations=19) for X in (CUBE * scale, CUBE)
    )
    assert found.pairs[0]["geometry"].value == pytest.approx(plain.pairs[0]["geometry"].value)
    split, same = (trial_split(X, shown, normalize=False, n_permutations=0).value for X in (CUBE * scale, CUBE))
    assert split == pytest.approx(same)


@pytest.mark.parametrize("indices", [np.triu_indices, np.tril_indices])
def test_a_triangle_with_its_diagonal_is_no_triangle_of_one_more_condition(indices):
    vectors = SQUARES[:, *indices(6)]
    for call in (lambda: shesha.Rdm(vectors[0]), lambda: noise_ceiling(vectors), lambda: noise_ceiling(list(vectors))):
        with pytest.raises(ValueError, match="a triangle without the diagonal, got 21 values with 0 at the places"):
            call()
    assert shesha.Rdm(SQUARES[0][np.triu_indices(6, 1)]).n_rows == 6


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"spike_times": SPIKES, "KSLabel": ["good", "mua", "good"]}, "units by KSLabel: 2 good, 1 mua; all are used"),
        ({"spike_times": SPIKES, "KSLabel": ["good"] * 3}, ""),
        (
            {
                "time": np.concatenate(SPIKES),
                "unit": np.repeat([0, 1, 2], 300),
                "group": np.repeat(["noise", "b"], [300, 600]),
            },
            "units by group: 2 b, 1 noise",
        ),
    ],
)
def test_units_that_a_sorter_judged_poor_are_counted(table, named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = spike_counts(pd.DataFrame(table), ONSETS)
    assert counts.shape == (10, 3)
    texts = [str(one.message) for one in caught if "units by" in str(one.message)]
    assert len(texts) == bool(named) and all(named in text for text in texts)


def test_codes_of_missing_outcomes_are_stated():
    outcome = np.where(np.arange(40) < 4, -999, np.arange(40) % 2)
    found = behaviour_coupling(CUBE, outcome, n_permutations=19)
    assert "warning: outcome: -999 is used as a class of 4 rows; if it means no label, leave it empty" in found.inputs


@pytest.mark.parametrize(
    ("code", "others", "is_named"),
    [
        (9999, (300, 900), True),
        (999, (300, 900), True),
        (-1, (300, 900), True),
        (-1, (0.3, 0.9), True),
        (99, (0, 98), False),
        (900, (300, 800), False),
        (-1, (-3, 3), False),
    ],
)
def test_codes_among_measured_outcomes_are_named(code, others, is_named):
    outcome = np.random.default_rng(0).permutation(np.linspace(*others, 40)).round(3)
    outcome[:5] = code
    found = behaviour_coupling(CUBE, outcome, n_permutations=19)
    expected = f"warning: outcome: {code} occurs in 5 of 40 trials, beside values from"
    assert any(text.startswith(expected) for text in found.inputs) == is_named


def test_a_null_without_other_values_is_no_verdict():
    shown = np.tile(np.arange(6), 10)
    X = RNG.standard_normal((60, 8)) + RNG.standard_normal((6, 8))[shown]
    text = str(trial_split(X, shown, how="random", n_permutations=19))
    assert "cannot be tested, because every permutation gives this value" in " ".join(text.split())
    assert "not above" not in text


@pytest.mark.parametrize(
    "stack",
    [SQUARES, np.moveaxis(SQUARES, 0, 2), SQUARES[:, *np.triu_indices(6, k=1)], Rdms(SQUARES)],
    ids=["first", "last", "condensed", "rsatoolbox"],
)
def test_stacks_of_distances(stack):
    found = shesha.Rdm.stack(stack)
    assert len(found) == 5
    for one, square in zip(found, SQUARES, strict=True):
        np.testing.assert_array_equal(one.condensed, square[np.triu_indices(6, k=1)])


def test_distances_of_rsatoolbox_are_data_and_models():
    names = np.array(list("fbdace"))
    rdms = Rdms(SQUARES, index=np.arange(6), stimulus=names)
    plain = shesha.rank_models(list(map(shesha.Rdm, SQUARES)), {"m": shesha.Rdm(SQUARES[0])}, n_resamples=20)
    found = shesha.rank_models(rdms, {"m": Rdms(SQUARES[:1], stimulus=names)}, n_resamples=20)
    assert found.models[0].value == plain.models[0].value
    assert list(shesha.Rdm.stack(rdms)[0].names.values) == list(names)
    np.testing.assert_array_equal(noise_ceiling(rdms).left_out, noise_ceiling(SQUARES).left_out)
    with pytest.raises(ValueError, match=r"D must contain one RDM, got 5; pass shesha\.Rdm\.stack\(D\)"):
        shesha.Rdm(rdms)


@pytest.mark.parametrize(("call", "name"), [(shesha.Rdm, "D"), (lambda D: noise_ceiling(np.array([D, D])), "rdms")])
def test_similarities_are_refused_with_the_conversion(call, name):
    with pytest.raises(ValueError, match=f"if it contains similarities, pass 1 - {name}"):
        call(np.corrcoef(RNG.standard_normal((6, 9))))


def test_data_sets_of_rsatoolbox_and_tables_are_refused_with_the_way_out():
    class Dataset:
        measurements, obs_descriptors = SQUARES[0], {"stim": np.arange(6), "run": np.zeros(6)}

    with pytest.raises(TypeError, match=r"convert it with from_rsatoolbox\(X, conditions, runs\).* stim, run"):
        crossnobis(Dataset(), "stim", "run")


def test_repeats_with_names_may_lack_conditions_and_have_any_order():
    whole = [pd.DataFrame(square, index=list("abcdef"), columns=list("abcdef")) for square in SQUARES]
    holed = SQUARES.copy()
    holed[1, 2], holed[1, :, 2] = np.nan, np.nan
    mixed = [whole[0], whole[1].drop(index="c", columns="c"), *(one.iloc[::-1, ::-1] for one in whole[2:])]
    expected = noise_ceiling(holed)
    for repeats in (mixed, dict(enumerate(mixed)), [shesha.Rdm(one) for one in mixed]):
        found = noise_ceiling(repeats)
        assert found.left_out == pytest.approx(expected.left_out)
        assert found.inputs == ("distances missing (NaN): 10 to 15 of 15 pairs of conditions known per repeat",)
    assert noise_ceiling(dict(zip("abcde", SQUARES, strict=True))) == noise_ceiling(SQUARES)
    with pytest.raises(ValueError, match="rdms must have names if their numbers of conditions differ, got 5, 6"):
        noise_ceiling([SQUARES[0], SQUARES[1, :5, :5]])


def test_times_of_another_axis_are_refused_and_those_of_epochs_are_used():
    class Epochs:
        times = np.arange(7) / 10
        drop_log = ((),) * 40 + (("MEG 1",), ("MEG 1",))

        def get_data(self):
            return CUBE

        def __array__(self, dtype=None, copy=None):
            return CUBE

    shown = np.repeat(np.arange(4), 10)
    assert over_time(Epochs(), shown, n_permutations=19).times == tuple(Epochs.times)
    with pytest.raises(ValueError, match=r"got float64 \(5,\); the axes of X are trials, neurons and times"):
        over_time(CUBE, shown, times=np.arange(5.0))
    with pytest.raises(ValueError, match=r"got 42; X lacks dropped epochs, so pass those of X\.selection"):
        over_time(Epochs(), np.arange(42) % 4)


def test_only_good_channels_of_data_of_epochs_are_used():
    mne = pytest.importorskip("mne")
    info = mne.create_info(["Fz", "EOG", "Cz", "Pz", "STI"], 10, ["eeg", "eog", "eeg", "eeg", "stim"])
    epochs, shown = mne.EpochsArray(CUBE.astype(float), info, verbose="error"), np.repeat(np.arange(4), 10)
    epochs.info["bads"] = ["Pz"]
    found = over_time(epochs, shown, n_permutations=19)
    assert found.inputs[0] == "X: 3 of 5 channels left out: EOG (eog), STI (stim), Pz (bad)"
    assert found.values == over_time(CUBE[:, [0, 2]], shown, n_permutations=19).values
    epochs.set_channel_types({"Cz": "mag"}, on_unit_change="ignore")
    assert any("of several types (eeg, mag)" in text for text in over_time(epochs, shown, n_permutations=19).inputs)
    epochs.set_channel_types(dict.fromkeys(("Fz", "Cz", "Pz"), "misc"), on_unit_change="ignore")
    with pytest.raises(ValueError, match=r"X must have channels of data, got misc, eog, stim; to use all, pass X"):
        over_time(epochs, shown)


SHOWN = np.random.default_rng(4).permutation(np.tile(np.arange(4), 15))


def _responses(change=""):
    X = np.random.default_rng(5).standard_normal((60, 10))
    X[:, :3] *= 0.0 if change == "masked" else 1.0
    X[:, 9] *= 1000.0 if change == "another unit" else 1.0
    X[:, 4:] *= 100.0 if change == "several units" else 1.0
    return X


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", ""),
        ("masked", "3 of 10 neurons are 0 in all trials"),
        ("another unit", "column 9 has 100 % of the variance of all 10 neurons"),
        ("several units", "6 of 10 columns (4, 5, 6 and 3 more) have about 10,000 times the variance of the others (0"),
    ],
)
@pytest.mark.parametrize("test", [crossnobis, trial_split])
def test_neurons_that_dominate_or_are_silent_are_named(change, said, test):
    found = test(_responses(change), SHOWN)
    read = found.read if test is crossnobis else found.inputs
    assert any(said in text for text in read) if said else all(text.startswith("conditions 0, ") for text in read)


ANGLES = np.tile(["0", "45", "90", "135", "null"], 12)
OTHER_KIND = {
    "a word among texts of numbers": (
        ANGLES,
        "'null' counts as a condition like the others, which are numbers; trials",
    ),
    "among objects": (np.where(ANGLES == "null", "gray", ANGLES).astype(object), "'gray' counts as a condition like"),
    "among units": (
        [f"{angle} deg".replace("null deg", "off") for angle in ANGLES],
        "'off' counts as a condition like",
    ),
    "in one of two columns": (np.column_stack([ANGLES, np.tile([1, 2, 3], 20)]), "'null' counts as a condition like"),
    "among words": (
        np.tile(["face", "house", "blank", "tool"], 15),
        "'blank' counts as a condition like the others;",
    ),
    "numbers": (np.tile([0, 45, 90, 135], 15), ""),
    "words": (np.tile(["face", "house", "tool", "body"], 15), ""),
    "numbered words": (np.tile(["image 1", "image 2", "image 3", "scene 1"], 15), ""),
    "numbers and words": (np.tile(["1", "2", "go", "nogo", "left"], 12), ""),
}


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize("kind", OTHER_KIND)
@pytest.mark.parametrize("test", [trial_split, crossnobis_test, discriminability])
def test_conditions_without_a_stimulus_are_named(kind, test):
    shown, said = OTHER_KIND[kind]
    rng = np.random.default_rng(0)
    found = test(rng.standard_normal((60, 6)), np.array(shown)[rng.permutation(60)], n_permutations=19)
    assert any(said in text for text in found.inputs) if said else "like the others" not in " ".join(found.inputs)


def test_few_conditions_are_listed_in_order():
    rng = np.random.default_rng(0)
    X, order = rng.standard_normal((180, 6)), rng.permutation(180)
    listed = [trial_split(X, order % n, n_permutations=19).inputs for n in (8, 9)]
    assert "conditions 0, 1, 2, 3, 4, 5, 6, 7" in listed[0] and "9 conditions: 0, 1, ..., 7, 8" in listed[1]


COLUMNS = {
    "MEG": ([f"MEG {k:04d}" for k in range(6)], "columns"),
    "voxels": ([f"voxel_{k}" for k in range(6)], "columns"),
    "scalp": (["Fz", "Cz", "Pz", "C3", "C4", "Oz"], "columns"),
    "units": ([f"unit {k}" for k in range(6)], "neurons"),
    "cells": (["A1", "B2", "C3", "D4", "E5", "F6"], "neurons"),
    "no names": (list(range(6)), "neurons"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_channels_and_voxels_are_not_called_neurons(kind):
    names, noun = COLUMNS[kind]
    rng = np.random.default_rng(0)
    X, shown = rng.standard_normal((60, 6)), rng.permutation(60) % 4
    found = trial_split(pd.DataFrame(X, columns=names), shown, n_permutations=19)
    assert found.column_noun == noun and f" of 6 {noun} under 4 conditions" in found.sentence()
    labelled = xr.DataArray(X, dims=("trial", "channel" if noun == "columns" else "unit"))
    assert crossnobis_test(labelled, shown, n_permutations=19).column_noun == noun


RUNS = np.repeat(np.arange(5), 12)
RUN_FAULTS = {
    "nothing": (lambda X: X, SHOWN, RUNS, ""),
    "outside the mask": (
        lambda X: np.where((RUNS[:, None] == 1) & (np.arange(10) < 3), 0, X),
        SHOWN,
        RUNS,
        "(columns 0, 1",
    ),
    "a constant": (
        lambda X: np.where((RUNS[:, None] == 1) & (np.arange(10) == 3), 7, X),
        SHOWN,
        RUNS,
        "3) is constant in",
    ),
    "silent by chance": (lambda X: np.where(X > 1.3, 1.0, 0.0), SHOWN, RUNS, ""),
    "silent in all": (lambda X: X * (np.arange(10) > 0), SHOWN, RUNS, ""),
    "two sessions": (
        lambda X: X,
        SHOWN,
        np.tile(np.repeat([1, 2, 3], 10), 2),
        "runs 1, 2, 3 follow one another 2 times",
    ),
    "sorted by condition": (lambda X: X, np.repeat(np.arange(4), 15), np.tile(np.repeat(np.arange(3), 5), 4), ""),
    "odd and even trials": (lambda X: X, SHOWN, np.arange(60) % 2, ""),
    "runs out of order": (lambda X: X, SHOWN, np.repeat([0, 1, 2, 1, 0, 2], 10), ""),
}


@pytest.mark.parametrize("name", RUN_FAULTS)
def test_runs_that_lack_neurons_or_restart_are_named(name):
    change, shown, runs, said = RUN_FAULTS[name]
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        read = crossnobis(change(_responses()), shown, runs).read
    texts = [text for text in read if " of run " in text or ("follow one another" in text and "runs" in text)]
    assert [said in text for text in texts] == [True] * bool(said)
    assert sum(text.removeprefix("warning: ") == str(one.message) for text in texts for one in raised) == len(texts)


@pytest.mark.parametrize(("shown", "refused"), [(0, True), (-1, False), (0.5, False)])
def test_counts_without_zeros_are_refused(shown, refused):
    counts = np.random.default_rng(1).poisson(0.8, (60, 10)) + float(shown)
    table = pd.DataFrame(counts).where(counts != shown)
    with pytest.raises(ValueError, match=("must have 0 where" if refused else "a number for every neuron")):
        trial_split(table, SHOWN)
    assert trial_split(table.fillna(0), SHOWN, n_permutations=19).has_value


def test_neurons_that_a_session_lost_are_named():
    X, Y = _responses(), _responses("masked")
    found = session_drift({"a": (X, SHOWN), "b": (Y, SHOWN)}, n_permutations=19)
    assert any("0 in all trials (3 in b)" in text for text in found.inputs)
    assert not any("lost" in text for text in session_drift([(X, SHOWN), (X + 1, SHOWN)], n_permutations=19).inputs)
    with pytest.raises(ValueError, match="session b must have a condition with at least 2 trials, got 3 trials"):
        session_drift({"a": (X, SHOWN), "b": (X[:3], [0, 1, 2])})


@pytest.mark.parametrize("values", [np.linspace(0, 1, 60), [f"trial {k}" for k in range(60)]])
def test_measurements_are_no_conditions(values):
    for test in (crossnobis, trial_split):
        with pytest.raises(ValueError, match="conditions must repeat, got 60 different values in 60 trials"):
            test(_responses(), values)


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (lambda codes: [f"image {code}" for code in codes], ""),
        (lambda codes: codes, ""),
        (lambda codes: np.where(codes < 10, codes, codes + 0.5), ""),
        (lambda codes: [f"image {place}" for place in range(len(codes))], "0 occur more than once .*. Pass only"),
        (lambda codes: np.round(np.sin(codes + np.arange(80)), 2), "occur more than once .*pandas.qcut"),
    ],
)
def test_conditions_of_which_some_repeat_are_used_and_counted(names, refused):
    codes = np.random.default_rng(0).permutation(np.concatenate([np.repeat(np.arange(10), 4), np.arange(10, 50)]))
    X = np.random.default_rng(1).standard_normal((50, 12))[codes]
    if refused:
        with pytest.raises(ValueError, match=refused):
            trial_split(X, names(codes), n_permutations=19)
        return
    found = trial_split(X, names(codes), how="random", n_permutations=19)
    assert any(
        "10 of 50 conditions, with 40 of 80 trials: the others have fewer than 2" in text for text in found.inputs
    )
    # The score is that of the trials of conditions that repeat.
    rest = codes < 10
    alone = trial_split(X[rest], codes[rest], how="random", trials_per_half="all", n_permutations=0)
    whole = trial_split(X, names(codes), how="random", trials_per_half="all", n_permutations=0)
    assert alone.value == pytest.approx(1) == whole.value
    few = trial_split(X, names(codes), n_permutations=0)
    assert f"{few.n_conditions} of 10 conditions)" in str(few).replace("\n    ", " ")


@pytest.mark.parametrize("scale", [30.0, 0.1, 1e-5])
def test_conditions_that_differ_by_rounding_are_one(scale):
    rounded = np.where(np.arange(60) % 2, np.rad2deg(np.deg2rad(scale * SHOWN)) * (1 + 2e-15), scale * SHOWN)
    assert np.array_equal(crossnobis(_responses(), rounded), crossnobis(_responses(), SHOWN))
    assert len(crossnobis(_responses(), 1e9 + 0.1 * SHOWN)) == 4


def test_trials_along_another_axis_and_neurons_of_other_trials_are_named():
    X = _responses()
    with pytest.raises(ValueError, match=r"if trials are along axis 2, pass numpy.moveaxis\(X, 2, 0\)"):
        trial_split(np.zeros((10, 7, 60)), SHOWN)
    X[:30, :4], X[30:, 4:] = np.nan, np.nan
    for missing in ("refuse", "drop"):
        with pytest.raises(ValueError, match="no trial has all neurons"):
            trial_split(X, SHOWN, missing=missing)


def test_reversed_and_transposed_distances_are_named():
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((12, 6))
    repeats = np.array([shesha.compute_rdm(truth + 0.5 * rng.standard_normal(truth.shape)) for _ in range(10)])
    assert not noise_ceiling(repeats).inputs
    turned = repeats.copy()
    turned[3] = 2 - turned[3]
    assert "distances of repeat 3" in noise_ceiling(turned).inputs[0]
    assert "if they are 10 repeats of 12 conditions" in noise_ceiling(repeats.T).inputs[0]


@pytest.mark.parametrize(
    ("beside", "left_out", "warned"),
    [
        ({"trial": range(64), "rt": None}, "left out: trial, rt", ""),
        ({"stim": [0, 1] * 32, "reaction_time_ms": None, "correct": [0, 1] * 32}, "reaction_time_ms", ""),
        ({"condition": ["a", "b"] * 32, "CA1_9": None}, "", "column CA1_9 has 9"),
        ({"latency": None}, "", "column latency has 9"),
    ],
)
def test_behaviour_in_a_table_of_trials_is_no_neuron(beside, left_out, warned):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"CA1_1": rng.poisson(5, 64), **{name: rng.normal(500, 99, 64) for name in beside}})
    frame = frame.assign(**{name: values for name, values in beside.items() if values is not None})
    frame = frame.assign(**{f"V1_{i}" if i % 2 else f"LP_{i}": rng.poisson(5, 64) for i in range(2, 10)})
    found = trial_split(frame, np.arange(64) // 2 % 8, n_permutations=19)
    assert any(left_out in text for text in found.inputs), found.inputs
    assert any("% of the variance" in text for text in found.inputs) == bool(warned)
    assert any(warned in text for text in found.inputs), found.inputs


@pytest.mark.parametrize("kind", ["absent", "without distances"])
def test_conditions_that_a_model_lacks_are_named(kind):
    names = [f"c{k}" for k in range(8)]
    places = np.random.default_rng(0).standard_normal((8, 3))
    full = pd.DataFrame(np.linalg.norm(places[:, None] - places, axis=2), names, names)
    model = full.drop(index="c2", columns="c2")
    if kind == "without distances":
        model = model.reindex(index=names, columns=names)
        model.loc["c2", "c2"] = 0.0
    shown = np.repeat(names, 5)
    X = np.random.default_rng(1).standard_normal((40, 9, 3))
    with pytest.raises(ValueError, match="distances of all 8 conditions, got none of c2; leave this condition out"):
        time_clusters(X, shown, model=model)
    message = "of all 8 conditions, got none of c2" if kind == "absent" else r"got 7 \(NaN\), all of c2; to leave out"
    with pytest.raises(ValueError, match=message):
        searchlight(pd.DataFrame(X[:8, :, 0], index=names), model, [[0, 1]])
    if kind == "without distances":
        noisy = [places + np.random.default_rng(seed).standard_normal((8, 3)) for seed in range(3)]
        found = shesha.rank_models(
            [shesha.Rdm(pdist(one)) for one in noisy], {"full": shesha.Rdm(full), "part": shesha.Rdm(model)}
        )
        assert "pairs that model part lacks (7, all of c2) are left out for all models" in found.inputs
