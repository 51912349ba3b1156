"""Tables of sessions: areas, groups, what is left out, and intervals over sessions or animals."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from shesha.kernels.mean_intervals import mean_interval
from shesha.neuro import centroid_drift, trial_split
from shesha.neuro.score_correlations import jackknife_correlation
from shesha_studies.partial_rank_correlations import partial_rank_correlations
from shesha_studies.session_table import (
    Session,
    allen_areas,
    association,
    brain_division,
    brain_region,
    session_table,
)

RNG = np.random.default_rng(8)
AREAS = np.array(["VISp"] * 14 + ["CA1"] * 12 + ["root"] * 20 + ["MOs"] * 4)
FAST = {"n_permutations": 19, "min_trials": 40}


def recorded(n_trials: int = 60, animal: str = "") -> Session:
    shown = RNG.integers(4, size=n_trials)
    tuned = 1 + RNG.gamma(1, 2, size=(4, 14))[shown]
    X = RNG.poisson(np.hstack([tuned, np.full((n_trials, 36), 2.0)]))
    return Session(X, shown, AREAS, RNG.random(n_trials), animal)


SESSIONS = {f"s{k}": recorded(animal="ab"[k % 2]) for k in range(4)}


def test_lines_are_the_scores_of_the_areas() -> None:
    table = session_table(SESSIONS, scores=("trial_split", "centroid_drift"), **FAST)
    assert [(line.session, line.area) for line in table.lines[:2]] == [("s0", "CA1"), ("s0", "VISp")]
    one = SESSIONS["s0"]
    X = one.X[:, AREAS == "VISp"]
    line = table.lines[1]
    split = trial_split(X, one.conditions, n_permutations=19)
    assert (line.scores["trial_split"].value, line.scores["trial_split"].p_value) == (split.value, split.p_value)
    drift = centroid_drift(X, n_permutations=19)
    assert line.scores["centroid_drift"].value == drift.value
    assert line.scores["centroid_drift"].chance == drift.chance
    assert (line.n_neurons, line.n_trials, line.n_conditions) == (14, 60, 4)


def test_a_saved_table_loads_before_its_package_is_imported(tmp_path: Path) -> None:
    session_table(SESSIONS, scores=("trial_split",), **FAST).save(tmp_path / "table.json")
    code = "import sys, shesha; print(type(shesha.load(sys.argv[1])).__name__)"
    told = subprocess.run([sys.executable, "-c", code, tmp_path / "table.json"], capture_output=True, text=True)
    assert told.stdout == "SessionTable\n", told.stderr


def test_groups_are_means_with_intervals_over_sessions_or_animals() -> None:
    table = session_table(SESSIONS, scores=("trial_split",), **FAST)
    values = [line.scores["trial_split"].value for line in table.lines if line.area == "VISp"]
    found = table["VISp"].means["trial_split"]
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx(mean_interval(np.array(values), list("abcd"), 0.95))
    assert table["VISp"].n_animals == 2
    animals = session_table(SESSIONS, scores=("trial_split",), interval="animal", **FAST)["VISp"].means["trial_split"]
    assert (animals.low, animals.high) == pytest.approx(mean_interval(np.array(values), list("abab"), 0.95))
    assert table.groups[0].means["trial_split"].value >= table.groups[1].means["trial_split"].value


def test_what_is_left_out_is_listed() -> None:
    few = {**SESSIONS, "short": recorded(30)}
    table = session_table(few, scores=("trial_split",), **FAST)
    assert ("short", "", "fewer than 40 trials") in table.excluded
    assert ("s0", "MOs", "fewer than 10 neurons") in table.excluded
    assert ("s0", "root", "no area") in table.excluded
    assert "left out (fewer than 10 neurons): MOs in s0, MOs in s1" in str(table)


def test_regions_and_groups_of_ones_own() -> None:
    by_region = session_table(SESSIONS, "region", scores=("trial_split",), **FAST)
    assert {one.name for one in by_region.groups} == {"Visual", "Hippocampus"}
    own = session_table(SESSIONS, {"VISp": "all", "CA1": "all"}, scores=("trial_split",), **FAST)
    assert [one.name for one in own.groups] == ["all"]
    assert own["all"].n == 8
    with pytest.raises(KeyError, match="group must be one of all, got 'Visual'"):
        own["Visual"]


def test_equal_numbers_of_neurons() -> None:
    table = session_table(SESSIONS, scores=("trial_split",), n_neurons=12, n_draws=4, n_permutations=0, min_trials=40)
    assert {line.area for line in table.lines} == {"VISp", "CA1"}
    full = session_table(SESSIONS, scores=("trial_split",), n_permutations=0, min_trials=40)
    # All of 12 neurons are the same 12.
    assert table.lines[0].scores["trial_split"].value == full.lines[0].scores["trial_split"].value
    assert table.lines[1].scores["trial_split"].value != full.lines[1].scores["trial_split"].value
    wide = session_table(SESSIONS, scores=("trial_split",), n_neurons=13, n_draws=2, n_permutations=0, min_trials=40)
    assert {line.area for line in wide.lines} == {"VISp"}


def test_one_session_has_no_interval() -> None:
    table = session_table([SESSIONS["s0"]], scores=("trial_split",), **FAST)
    found = table["VISp"].means["trial_split"]
    assert np.isnan([found.low, found.high]).all()
    assert "no interval for groups with a single session" in str(table)


def test_an_outcome_that_is_not_there_has_a_reason() -> None:
    bare = Session(SESSIONS["s0"].X, SESSIONS["s0"].conditions, AREAS)
    table = session_table([bare], scores=("behaviour_coupling",), **FAST)
    assert table.lines[0].scores["behaviour_coupling"].reason == "the session has no trial outcomes"


def test_labelled_sessions() -> None:
    xarray = pytest.importorskip("xarray")
    one = SESSIONS["s0"]
    given = xarray.DataArray(
        one.X, dims=("trial", "unit"), coords={"shape": ("trial", one.conditions), "area": ("unit", AREAS)}
    )
    same = session_table([Session(given, "shape", "area")], scores=("trial_split",), **FAST)
    assert same.lines[0].scores == session_table([one], scores=("trial_split",), **FAST).lines[0].scores


def test_the_interval_of_clusters_of_one_is_students() -> None:
    from scipy.stats import t, ttest_1samp

    values = RNG.standard_normal(9)
    expected = ttest_1samp(values, 0).confidence_interval(0.9)
    assert mean_interval(values, [str(k) for k in range(9)], 0.9) == pytest.approx((expected.low, expected.high))
    # The same values three times are no more than once.
    tripled = mean_interval(np.repeat(values, 3), np.repeat(np.arange(9), 3).astype(str).tolist(), 0.9)
    assert tripled == pytest.approx((expected.low, expected.high))
    assert t.ppf(0.95, 8) > 0


def test_intervals_over_few_animals_hold_the_mean() -> None:
    held = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        animals = np.repeat(np.arange(4), 5)
        values = rng.standard_normal(4)[animals] + rng.standard_normal(20)
        low, high = mean_interval(values, animals.astype(str).tolist(), 0.9)
        held += low < 0 < high
    assert 0.86 < held / 300 < 0.94


def test_associations_over_sessions() -> None:
    table = session_table(SESSIONS, n_permutations=0, min_trials=40)
    frame = table.to_frame()
    found = association(table, "trial_split", "behaviour_coupling")
    assert found.value == pytest.approx(spearmanr(frame["trial_split"], frame["behaviour_coupling"]).statistic)
    assert found.n_units == 4
    assert "p = " in str(found)
    given = association(table, "trial_split", "rate", covariates=["n_neurons"])
    assert abs(given.value) <= 1
    with pytest.raises(ValueError, match="columns must be one of"):
        association(table, "trial_split", "animal")


def test_partial_correlation_takes_out_what_is_given() -> None:
    size = RNG.random(200)
    a, b = size + 0.3 * RNG.random(200), size + 0.3 * RNG.random(200)
    assert partial_rank_correlations(np.column_stack([a, b]), 0, [])[1] == pytest.approx(spearmanr(a, b).statistic)
    assert abs(partial_rank_correlations(np.column_stack([a, b, size]), 0, [2])[1]) < 0.2
    interval, p = jackknife_correlation(lambda rows: 0.5, ["a", "b"], 0.95)
    assert np.isnan([*interval, p]).all()


def test_the_regions_are_those_of_the_paper() -> None:
    assert brain_region("SNr") == "Midbrain"
    assert brain_division("ZI") == "Hypothalamus"
    regions = {one.region for one in allen_areas().values()}
    assert regions == {"Visual", "Thalamus", "Motor", "Frontal", "Hippocampus", "Striatum", "Midbrain", "Other"}
    assert sum(one.region == "Visual" for one in allen_areas().values()) == 7


DATA = Path(os.environ.get("SHESHA_DATA", "")) / "steinmetz2019" / "session01.npz"


@pytest.mark.skipif(not DATA.exists(), reason="SHESHA_DATA does not name a folder with steinmetz2019")
def test_a_real_session() -> None:
    with np.load(DATA) as file:
        contrasts = np.column_stack([file["contrast_left"], file["contrast_right"]])
        session = Session(file["counts"], contrasts, file["brain_area"], file["feedback_type"], "Cori")
    table = session_table({"Cori": session}, "region", n_permutations=19)
    assert len(table.lines) == 7
    drift = table.to_frame()["centroid_drift"]
    assert ((drift > 0.5) & (drift < 1)).all()
    assert {brain_division(line.area) for line in table.lines} <= {one.division for one in allen_areas().values()}
