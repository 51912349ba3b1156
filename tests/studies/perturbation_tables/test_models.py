"""The mixed-effects model against closed forms, kinds and quartiles against their definitions, and the null model."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shesha_studies.perturbation_tables import (
    correlation,
    discordance_quartiles,
    discordances,
    mixed_model,
    null_model,
    single_against_combined,
)


def two_sets(n=40, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.random((3 * n, 2)), columns=["magnitude", "spread"])
    table["n"] = rng.integers(10, 400, 3 * n)
    table["dataset"] = np.repeat(["a", "b", "c"], n)
    table["coherence"] = table["magnitude"] - table["spread"] / 2 + rng.random(3 * n) + np.repeat([0, 1, 3], n)
    return table.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("centre", [False, True])
def test_slopes_are_those_within_data_sets(centre):
    # Predictors have mean zero within every data set, so generalised least squares are ordinary ones within.
    table = two_sets()
    found = mixed_model(table, centre=centre)
    z = table.assign(size=np.log(table["n"]))
    for name in ("magnitude", "size", "spread"):
        z[name] = z.groupby("dataset")[name].transform(stats.zscore)
    z["y"] = z["coherence"] - z.groupby("dataset")["coherence"].transform("mean")
    design = z[["magnitude", "size", "spread"]].to_numpy()
    slopes, squares = np.linalg.lstsq(design, z["y"].to_numpy(), rcond=None)[:2]
    assert [one.name for one in found.effects] == ["intercept", "magnitude", "log n", "spread"]
    assert [one.value for one in found.effects[1:]] == pytest.approx(slopes.tolist(), abs=1e-6)
    if centre:
        # What the paper reports: nothing is left between data sets, and the intercept is zero.
        assert found.effects[0].value == 0
        assert np.isnan([found.effects[0].low, found.effects[0].high, found.effects[0].p_value]).all()
        assert found.residual_variance == pytest.approx(squares[0] / (120 - 3 - 3))
        assert found.dataset_variance == 0
    else:
        # Balanced, one way: variance components in closed form.
        within = squares[0] / (120 - 3 - 3)
        means = table.groupby("dataset")["coherence"].mean()
        assert found.fitted == "REML"
        assert found.residual_variance == pytest.approx(within, rel=1e-3)
        assert found.dataset_variance == pytest.approx(means.var(ddof=1) - within / 40, rel=1e-2)
        assert found.effects[0].value == pytest.approx(means.mean(), abs=1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * found.residual_variance)
    assert [(one.high - one.low) / 2 / 1.959964 for one in found.effects[1:]] == pytest.approx(
        errors.tolist(), rel=1e-3
    )
    assert "magnitude" in str(found)


def test_the_model_is_that_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    table = two_sets().sample(80, random_state=1).sort_values("dataset")
    found = mixed_model(table)
    z = table.assign(**{"log n": np.log(table["n"])})
    names = ["magnitude", "log n", "spread"]
    design = api.add_constant(np.column_stack([z.groupby("dataset")[name].transform(stats.zscore) for name in names]))
    expected = api.MixedLM(z["coherence"].to_numpy(), design, groups=z["dataset"]).fit(reml=True)
    assert [one.value for one in found.effects] == pytest.approx(list(expected.fe_params), rel=1e-5)
    assert [one.z for one in found.effects] == pytest.approx(list(expected.fe_params / expected.bse_fe), rel=1e-3)
    assert found.dataset_variance == pytest.approx(float(np.ravel(expected.cov_re)[0]), rel=1e-3)
    assert found.residual_variance == pytest.approx(expected.scale, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_variance_on_its_boundary_is_least_squares(seed):
    # Nothing lies between the data sets, so about half of the tables have their best variance at 0.
    rng = np.random.default_rng(seed)
    sizes = (25, 70, 12, 40)
    table = pd.DataFrame(rng.random((sum(sizes), 3)), columns=["magnitude", "spread", "coherence"])
    table["n"], table["dataset"] = rng.integers(10, 400, len(table)), np.repeat(list("abcd"), sizes)
    found = mixed_model(table)
    assert found.fitted == "REML"
    assert (found.dataset_variance == 0) == any("lower bound" in note for note in found.notes)
    widths = [one.high - one.low for one in found.effects]
    assert 0 < min(widths) <= max(widths) < 1
    centred = mixed_model(table, centre=True)
    assert [one.z for one in centred.effects[1:]] == pytest.approx([one.z for one in found.effects[1:]], rel=0.05)


@pytest.mark.parametrize("centre", [False, True])
def test_a_predictor_that_is_constant_within_data_sets_has_no_slope(centre):
    table = two_sets()
    table["n"] = table["dataset"].map({"a": 7, "b": 301, "c": 43})
    found = mixed_model(table, centre=centre)
    assert np.isnan(found.effects[2].value)
    assert any("log n is constant" in note for note in found.notes)
    others = mixed_model(table, predictors=("magnitude", "spread"), centre=centre)
    assert [found.effects[1], found.effects[3]] == list(others.effects[1:])


def test_single_and_combined_perturbations():
    rng = np.random.default_rng(0)
    names = [f"G{i}" for i in range(9)] + ["KLF1+ctrl"] + [f"G{i}+G{i + 1}" for i in range(12)]
    table = pd.DataFrame(rng.random((22, 3)), columns=["magnitude", "coherence", "n"], index=names)
    table.loc[names[10:], "coherence"] += 0.5
    found = single_against_combined(table, n_bootstrap=50)
    single, combined = table["coherence"][:10], table["coherence"][10:]
    u, p = stats.mannwhitneyu(single, combined)
    assert (found.u, found.p_value) == (u, p)
    frame = found.to_frame()
    assert frame["n"].tolist() == [10, 12]
    assert frame["coherence_mean"].tolist() == pytest.approx([single.mean(), combined.mean()])
    assert frame["coherence_sd"]["combined"] == pytest.approx(combined.std())
    assert frame["rho"]["single"] == correlation(table[:10], n_bootstrap=5).value
    named = single_against_combined(table.reset_index(names="gene"), label="gene", n_bootstrap=50)
    assert named == found


def test_size_is_taken_out_before_kinds_are_compared():
    # The score follows size alone, and combined perturbations are small.
    n = np.arange(40.0, 0, -1)
    names = [f"G{i}" for i in range(20)] + [f"G{i}+H" for i in range(20)]
    noise = np.random.default_rng(0).random(40)
    table = pd.DataFrame({"magnitude": noise, "coherence": (1 + noise) / n, "n": n}, index=names)
    assert single_against_combined(table, n_bootstrap=20).p_value < 1e-6
    assert single_against_combined(table, covariates=["n"], n_bootstrap=20).p_value > 0.05


def test_discordance_is_the_difference_of_z_scores():
    table = two_sets()
    found = discordances(table, by="dataset")
    z = table.groupby("dataset")[["magnitude", "coherence"]].transform(stats.zscore)
    assert found.loc[table.index].tolist() == pytest.approx((z["magnitude"] - z["coherence"]).tolist())
    sized = discordances(table, covariates=["n"])
    # What is left has nothing to do with the logarithm of the size.
    assert np.corrcoef(sized.loc[table.index], np.log(table["n"]))[0, 1] == pytest.approx(0, abs=1e-12)


def test_quartiles_of_discordance():
    table = two_sets(n=20)
    found = discordance_quartiles(table)
    assert found.index.tolist() == ["Q1", "Q2", "Q3", "Q4"]
    assert found["n"].tolist() == [15] * 4
    ordered = discordances(table).sort_values().index
    last = table.loc[ordered[45:]]
    assert found["magnitude_mean"]["Q4"] == pytest.approx(last["magnitude"].mean())
    assert found["coherence_sd"]["Q4"] == pytest.approx(last["coherence"].std())
    assert found["median_n"]["Q4"] == last["n"].median()


def test_the_null_model_has_its_closed_forms():
    # Squared magnitude: d (effect^2 + noise^2 / n + 1 / controls).
    table = null_model(400, noise=[2.0], n_features=20, n_cells=25, n_controls=50, effect=0.5, seed=1)
    assert (table["magnitude"] ** 2).mean() == pytest.approx(20 * (0.25 + 4 / 25 + 1 / 50), rel=0.04)
    assert (table["snr"] == table["magnitude"] / table["spread"]).all()
    still = null_model(300, noise=[1.0], n_features=50, n_cells=30, n_controls=10**9, effect=0, seed=2)
    # Unit vectors without a direction: the mean's length is 1 / sqrt(n), and pairs have a mean cosine of 0.
    assert still["coherence"].mean() == pytest.approx(30**-0.5, rel=0.03)
    assert abs(still["unbiased"].mean()) < 3 * still["unbiased"].std() / np.sqrt(300)


def test_in_the_null_model_signal_to_noise_decides():
    table = null_model(60, seed=0)
    assert table.groupby("noise").size().tolist() == [60] * 4
    assert correlation(table, "snr", "coherence", n_bootstrap=20).value > 0.99
    assert null_model(3, seed=5).equals(null_model(3, seed=5))


def test_sizes_alone_correlate_magnitude_with_coherence_but_not_with_the_unbiased_score():
    still = null_model(150, noise=[1.0], n_cells=[10, 20, 50, 100, 400], effect=0, n_controls=10**6, seed=3)
    assert correlation(still, n_bootstrap=20).value > 0.95
    assert abs(correlation(still, "n", "unbiased", n_bootstrap=20).value) < 0.2
