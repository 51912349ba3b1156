"""Recordings of studies: areas, means over sessions, correlations."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shesha_studies.biology import _recordings
from shesha_studies.biology._neuroscience_page import published_numbers
from shesha_studies.biology._recordings import (
    AREAS,
    CELLS,
    MERGED,
    count_areas,
    derived_columns,
    one_area,
    over_sessions,
    session,
    session_correlation,
)
from shesha_studies.biology.odd_even import slow_wave
from shesha_studies.external_data import PUBLISHED
from shesha_studies.framework.published_checks import split_numbers_and_claims
from shesha_studies.printed_p_values import printed_p_values
from shesha_studies.session_table import association, session_table

HERE = Path(os.environ.get("SHESHA_DATA", "data")) / "steinmetz2019"
PAGES = Path(__file__).parents[2] / "docs" / "studies"
needs_data = pytest.mark.skipif(not HERE.exists(), reason=f"steinmetz2019 is not at hand (looked for in {HERE})")


@needs_data
@pytest.mark.parametrize("name", ["Cori 2", "Forssmann 6"])
def test_areas_of_the_grid_are_those_of_a_table_of_all(name):
    found = session_table({name: session(name)}, by="region", scores=("centroid_drift",), n_permutations=0)
    assert sorted(line.area for line in found.lines) == AREAS[name].split()


@needs_data
def test_one_area_scores_as_in_a_table_of_all():
    options = {"scores": ("trial_split",), "n_permutations": 19, "seed": 0}
    whole = session_table({"Cori 2": session("Cori 2")}, by="region", **options)
    (line,) = [one for one in whole.lines if one.area == "CA1"]
    alone = _recordings.session_line(one_area("Cori 2", "CA1"), scores=("trial_split",), n_permutations=19)
    assert alone.scores["trial_split"] == line.scores["trial_split"]


def test_a_mean_over_sessions_is_that_of_a_table_and_wider_where_areas_share_a_session():
    rows = pd.DataFrame({"session": list("aabbcc"), "score": [0.0, 0.1, 0.5, 0.6, 0.9, 1.0]})
    found, apart = over_sessions(rows, "score"), over_sessions(rows.assign(session=list("abcdef")), "score")
    assert found.value == pytest.approx(rows.score.mean())
    assert found.high - found.low > 1.5 * (apart.high - apart.low)


def test_a_correlation_is_that_of_association():
    rng = np.random.default_rng(0)
    from shesha_studies.session_table import Session

    shown = rng.integers(4, size=80)
    areas = np.repeat(["A", "B", "C"], 12)
    days = [Session(rng.poisson(2, (80, 36)), shown, areas, rng.random(80)) for _ in range(5)]
    table = session_table(days, scores=["trial_split", "behaviour_coupling"], n_permutations=0)
    for given in ((), ("rate",)):
        wanted = association(table, "trial_split", "behaviour_coupling", covariates=given)
        found = session_correlation(table.to_frame(), "trial_split", "behaviour_coupling", given)
        assert found.rho.value == pytest.approx(wanted.value)
        assert (*found.rho.limits, found.p) == pytest.approx((wanted.low, wanted.high, wanted.p_value))
        assert found.naive_p == pytest.approx(wanted.naive_p, rel=1e-6)


def test_both_ways_of_merging_contrasts_give_nine_conditions():
    contrasts = np.array([[left, right] for left in (0, 0.25, 0.5, 1) for right in (0, 0.25, 0.5, 1)])
    for merge in MERGED.values():
        assert len(np.unique(merge(contrasts), axis=0)) == 9
    assert MERGED["nine"](contrasts[[3, 6]]).tolist() == [[0, 2], [1, 1]]
    assert MERGED["difference"](contrasts[[3, 6]]).tolist() == [[1], [0.25]]


def test_areas_beyond_chance_are_counted_without_those_that_have_no_value():
    rows = pd.DataFrame({"score": [0.1, 0.2, np.nan], "score_p": [0.05, 0.06, 0.01]})
    assert count_areas(rows, "score") == (1, 2)


def test_the_slow_wave_repeats_conditions_that_no_neuron_knows():
    X, shown = slow_wave(np.random.default_rng(0))
    assert X.shape == (96, 8)
    assert (shown.reshape(16, 6) == shown.reshape(16, 6)[:, :1]).all()
    assert np.bincount(shown).tolist() == [24] * 4


def test_every_published_number_of_the_recordings_is_judged():
    published, _ = split_numbers_and_claims(pd.read_csv(PUBLISHED / "neuroscience.csv", comment="#"))
    rows = pd.read_csv(PAGES / "neuroscience" / "rows.csv")
    assert len(rows) == len(CELLS)
    # Each key of the file is one that we have.
    follows = {name.split(" | ")[1] for name in printed_p_values(published)}
    assert set(published.key) - {"absent"} - follows <= set(published_numbers(derived_columns(rows)))
