"""Rank correlations of a table of perturbations, against SciPy line by line and resample by resample."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shesha import CalibrationWarning
from shesha_studies.perturbation_tables import ablation, correlation, correlations, influence, pooled_correlations
from shesha_studies.perturbation_tables._bootstrap_ranks import bootstrap_rank_correlations, rank_correlations


def table_of(n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (n, 4)).astype(float) if ties else rng.random((n, 4))
    found = pd.DataFrame(values, columns=["magnitude", "coherence", "unbiased", "n"])
    found["coherence"] += found["magnitude"]
    found["n"] += 0.5 * found["magnitude"] + 1
    found["dataset"] = np.where(np.arange(n) % 2, "a", "b")
    return found


def by_residuals(columns):
    """The definition: ranks, straight lines of the covariates' ranks taken out, Pearson."""
    ranks = stats.rankdata(columns, axis=0)
    design = np.column_stack([np.ones(len(ranks)), ranks[:, 2:]])
    left = ranks[:, :2] - design @ np.linalg.lstsq(design, ranks[:, :2], rcond=None)[0]
    return np.corrcoef(left.T)[0, 1]


@pytest.mark.parametrize("ties", [False, True])
def test_without_covariates_it_is_spearmans(ties):
    table = table_of(25, ties=ties)
    found = correlation(table, n_bootstrap=50)
    expected = stats.spearmanr(table["magnitude"], table["coherence"])
    assert found.value == pytest.approx(expected.statistic, abs=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("covariates", [("n",), ("n", "unbiased")])
def test_covariates_are_taken_out_of_ranks(ties, covariates):
    table = table_of(30, seed=1, ties=ties)
    found = correlation(table, covariates=covariates, n_bootstrap=50)
    columns = table[["magnitude", "coherence", *covariates]].to_numpy()
    assert found.value == pytest.approx(by_residuals(columns), abs=1e-12)
    # A partial correlation has as many degrees of freedom as a plain one of fewer rows.
    freedom = 30 - 2 - len(covariates)
    t = found.value * np.sqrt(freedom / (1 - found.value**2))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("p", [2, 3, 4])
def test_resamples_are_those_of_rows_copied(ties, p):
    columns = table_of(18, seed=2, ties=ties).to_numpy()[:, :p].astype(float)
    found = bootstrap_rank_correlations(columns, 40, np.random.default_rng(5))
    chosen = np.random.default_rng(5).integers(18, size=(40, 18))
    for value, rows in zip(found, chosen, strict=True):
        assert value == pytest.approx(by_residuals(columns[rows]), abs=1e-9)


def test_the_interval_is_that_of_percentiles():
    table = table_of(18, seed=3)
    found = correlation(table, n_bootstrap=400, confidence=0.9, seed=7)
    draws = bootstrap_rank_correlations(table[["magnitude", "coherence"]].to_numpy(), 400, np.random.default_rng(7))
    assert (found.low, found.high) == tuple(np.quantile(draws, [(1 - 0.9) / 2, (1 + 0.9) / 2]))
    assert found.n_lost == 0
    assert str(found).startswith(f"rho(magnitude, coherence) = {found.value:.3f} [")


def test_resamples_without_a_value_are_left_out_and_told():
    table = pd.DataFrame({"magnitude": [1.0, 2, 3, 4, 5], "coherence": [0.0, 0, 0, 0, 1]})
    with pytest.warns(CalibrationWarning, match=r"undefined in \d+ of 500 resamples of 5 perturbations"):
        found = correlation(table, n_bootstrap=500)
    # The one value that differs is missing from a resample with probability (4/5)^5.
    assert found.n_undefined / 500 == pytest.approx(0.8**5, abs=0.06)
    assert found.low > 0


@pytest.mark.parametrize(
    ("columns", "covariates", "reason"),
    [
        ({"magnitude": 1.0}, (), "magnitude is constant"),
        ({"coherence": 2.0}, ("n",), "coherence is constant"),
        ({"n": "magnitude"}, ("n",), "magnitude is fully explained by n"),
        ({"n": "coherence"}, ("n",), "coherence is fully explained by n"),
    ],
)
def test_what_has_no_value_says_why(columns, covariates, reason):
    table = table_of(12)
    for name, value in columns.items():
        table[name] = table[value] if isinstance(value, str) else value
    found = correlation(table, covariates=covariates, n_bootstrap=10)
    assert np.isnan([found.value, found.low, found.p_value]).all()
    assert found.reason == reason
    assert f"not estimable ({reason})" in str(found)


def test_missing_values_are_left_out():
    table = table_of(20)
    table.loc[[2, 5], "coherence"] = [np.nan, np.inf]
    found = correlation(table, n_bootstrap=20)
    assert found.n_rows == 18
    assert found.value == correlation(table.drop([2, 5]), n_bootstrap=20).value


def test_correlations_have_a_line_for_each_question_and_a_seed_of_their_own():
    table = table_of(40)
    found = correlations(table, by="dataset", n_bootstrap=60)
    assert list(found["dataset"]) == ["b"] * 4 + ["a"] * 4
    assert list(found["y"][:4]) == ["coherence", "coherence", "unbiased", "unbiased"]
    assert list(found["covariates"][:4]) == ["", "n", "", "n"]
    part = table[table["dataset"] == "a"]
    assert found["value"][7] == correlation(part, y="unbiased", covariates=["n"], n_bootstrap=5).value
    # The same data under two names: same value, other draws.
    twice = correlations(part.assign(unbiased=part["coherence"]), n_bootstrap=60)
    assert twice["value"][0] == twice["value"][2]
    assert twice["low"][0] != twice["low"][2]
    assert found.equals(correlations(table, by="dataset", n_bootstrap=60))


def test_pooling_scales_within_data_sets():
    table = table_of(40)
    table.loc[table["dataset"] == "a", ["magnitude", "coherence"]] += 10
    found = pooled_correlations(table, n_bootstrap=20).set_index("scaled")
    scaled = table.copy()
    for name in ("magnitude", "coherence"):
        scaled[name] = table.groupby("dataset")[name].transform(lambda one: stats.zscore(one))
    spearman = stats.spearmanr
    assert found.value["raw"] == pytest.approx(spearman(table.magnitude, table.coherence).statistic)
    assert found.value["both"] == pytest.approx(spearman(scaled.magnitude, scaled.coherence).statistic)
    assert found.value["magnitude"] == pytest.approx(spearman(scaled.magnitude, table.coherence).statistic)
    assert pooled_correlations(table, covariates=("n",), n_bootstrap=20)["covariates"].tolist() == ["n"] * 3


@pytest.mark.parametrize("covariates", [(), ("n",)])
def test_influence_is_that_of_leaving_out(covariates):
    table = table_of(15, seed=4).set_index(pd.Index(list("abcdefghijklmno")))
    found = influence(table, covariates=covariates)
    full = by_residuals(table[["magnitude", "coherence", *covariates]].to_numpy())
    for name, line in found.iterrows():
        rho = by_residuals(table.drop(name)[["magnitude", "coherence", *covariates]].to_numpy())
        assert line["rho_without"] == pytest.approx(rho, abs=1e-12)
        assert line["change"] == pytest.approx(full - rho, abs=1e-12)
    assert found["change"].is_monotonic_decreasing
    assert set(found.index) == set(table.index)


def test_ablation_compares_settings():
    first, second = (table_of(20, seed=seed) for seed in (5, 6))
    found = ablation({50: first, "x": second, 20: first}, n_bootstrap=30)
    assert found.settings == ("50", "x", "20")
    frame = found.to_frame()
    assert frame["rho"][1] == correlation(second, n_bootstrap=5).value
    assert frame["rho_given_size"][1] == correlation(second, covariates=["n"], n_bootstrap=5).value
    between = stats.spearmanr(first["coherence"], second["coherence"]).statistic
    assert found.consistency["coherence"]["mean"] == pytest.approx((1 + 2 * between) / 3)
    assert found.consistency["coherence"]["min"] == pytest.approx(min(1, between))
    assert "rank correlation between settings for coherence" in str(found)


def test_rows_that_do_not_count_change_nothing():
    columns = table_of(12).to_numpy()[:, :3].astype(float)
    counts = np.ones((1, 12), dtype=int)
    counts[0, 3] = 0
    assert rank_correlations(columns, counts)[0] == pytest.approx(by_residuals(np.delete(columns, 3, axis=0)))
