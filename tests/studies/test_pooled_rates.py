"""Rates and ranks of studies: against definitions written out."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from shesha_studies.benchmark import _resi_scores_and_places as resi
from shesha_studies.chance import _false_positive_data as unrelated
from shesha_studies.chance._false_positives_page import outside, pool_rates
from shesha_studies.chance._interval_coverage import NAMES
from shesha_studies.chance.intervals import pool_coverage
from shesha_studies.framework.rates import rate_interval


@pytest.mark.parametrize(("hits", "runs"), [(0, 20), (3, 40), (20, 20), (11, 200)])
def test_limits_are_the_rates_at_which_so_few_or_so_many_are_rare(hits, runs):
    low, high = rate_interval(hits, runs)
    assert low == 0 if hits == 0 else binom.sf(hits - 1, runs, low) == pytest.approx(0.025)
    assert high == 1 if hits == runs else binom.cdf(hits, runs, high) == pytest.approx(0.025)


def test_batches_add_up_and_lines_without_a_run_are_left_out():
    rows = pd.DataFrame({"score": ["a", "b", "a", "c"], "hits": [1, 0, 19, 0], "runs": [20, 20, 20, 0]})
    table = pool_rates(rows, ["score"])
    assert table.score.tolist() == ["a", "b"]
    assert table.rate.tolist() == [0.5, 0.0] and table.runs.tolist() == [40, 20]
    assert outside(table, 0.05).tolist() == [True, False]


def test_coverage_is_that_of_all_runs_together():
    cell = {"part": "scores", "data": "x", "n": 9, "d": 3, "declared": "-", "score": "all"}
    batches = [{"CKA runs": 10, "CKA 90%": 0.8, "CKA 95%": 0.9}, {"CKA runs": 15, "CKA 90%": 0.6, "CKA 95%": 1.0}]
    (line,) = pool_coverage(pd.DataFrame([cell | one for one in batches])).to_dict("records")
    assert (line["runs"], line["at 90"], line["at 95"]) == (25, 17 / 25, 24 / 25)
    assert len(set(NAMES.split("; "))) == 26


def test_measures_are_ordered_by_median_then_by_mean_rank(rng):
    ranks = rng.integers(1, 6, (7, 5)).astype(float)
    ranks[rng.random(ranks.shape) < 0.2] = np.nan
    keys = [(np.nanmedian(column), np.nanmean(column)) for column in ranks.T]
    assert [keys[at] for at in resi.order(ranks)] == sorted(keys)


def test_a_measure_that_always_leads_is_first_in_every_draw():
    rows = [
        {
            "domain": "graph",
            "dataset": data,
            "architecture": "GCN",
            "pooling": "",
            "test": "shortcut",
            "quality": "auprc",
        }
        | {"measure": name, "value": value}
        for data in "xyz"
        for name, value in (("best", 0.9), ("middle", 0.5), ("last", 0.1))
    ]
    assert resi.positions(pd.DataFrame(rows)) == {"best": (1, 1.0), "last": (3, 0.0), "middle": (2, 0.0)}


@pytest.mark.parametrize(
    ("data", "design", "names"),
    [
        ("series: 0.5", "free", set()),
        ("series: 0.5", "blocks of 8", {"blocks"}),
        ("series: 0.9", "stretches of 8", {"block_length"}),
        ("series: 0.9", "shift", {"shift"}),
        ("8 sessions: 0.5", "blocks, shift", {"blocks", "shift"}),
        ("20 groups: equal", "groups", {"groups"}),
        ("20 groups: all different", "equal_groups", {"groups"}),
        ("a number: 1", "within", {"within"}),
        ("a known batch", "covariates", {"covariates"}),
    ],
)
def test_a_design_is_the_argument_it_names(rng, data, design, names):
    found = unrelated.designed(rng, 40, data, design, False)
    assert set(found) == {"X", "Y"} | names
    assert all(len(found[name]) == len(found["X"]) for name in names & {"blocks", "groups", "within"})
    assert all(len(column) == len(found["X"]) for column in found.get("covariates", {}).values())


def test_a_shared_part_is_shared(rng):
    for shared in (False, True):
        given = unrelated.clouds(rng, 400, 6, "Gaussian", "free", shared)
        largest = np.linalg.svd(np.corrcoef(given["X"].T, given["Y"].T)[:6, 6:], compute_uv=False)[0]
        assert (largest > 0.5) == shared
