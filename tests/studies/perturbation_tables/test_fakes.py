"""Fake perturbations are groups of controls against the others, and ablations are tables of settings."""

import numpy as np
import pandas as pd
import pytest

from shesha.coherence import (
    coherence_by_group,
    expected_mean_cosine,
    magnitude,
    mean_cosine,
    pairwise_cosine,
    snr,
    spread,
)
from shesha_studies.perturbation_tables import (
    compare_with_null_tables,
    component_ablation,
    correlation,
    fake_tables,
    group_table,
    seed_ablation,
)


@pytest.fixture(scope="module")
def moved():
    rng = np.random.default_rng(1)
    sizes = {"NT": 150, **{f"G{i}": 20 + 5 * (3 * i % 8) for i in range(8)}}
    labels = np.repeat(list(sizes), list(sizes.values()))
    by = {name: i / 4 for i, name in enumerate(sizes)}
    return rng.standard_normal((len(labels), 12)) + np.array([by[name] for name in labels])[:, None], labels


def test_a_fake_is_a_group_of_controls_against_the_others():
    controls = np.random.default_rng(0).standard_normal((60, 8))
    found = fake_tables(controls, {"a": 12, "b": 30}, n_tables=3, seed=4)
    rng = np.random.default_rng(4)
    for table in found:
        assert table.index.tolist() == ["a", "b"]
        for name, n in (("a", 12), ("b", 30)):
            chosen = rng.choice(60, n, replace=False)
            shifts = controls[chosen] - np.delete(controls, chosen, axis=0).mean(axis=0)
            scores = (n, mean_cosine(shifts), pairwise_cosine(shifts), magnitude(shifts), spread(shifts), snr(shifts))
            assert table.loc[name].tolist() == pytest.approx(scores)


def test_fakes_have_the_coherence_of_noise():
    controls = np.random.default_rng(0).standard_normal((4000, 50))
    found = fake_tables(controls, {"a": 25}, n_tables=100)
    mean = np.mean([one.coherence["a"] for one in found])
    assert mean == pytest.approx(expected_mean_cosine(25, 50, 4000 - 25), rel=0.03)


def test_a_statistic_beside_fakes():
    controls = np.random.default_rng(0).standard_normal((400, 20))
    sizes = {f"G{n}": n for n in range(10, 200, 12)}
    null_tables = fake_tables(controls, sizes, n_tables=60)
    plain = compare_with_null_tables(null_tables[0], null_tables[1:], lambda t: correlation(t, n_bootstrap=0).value)
    assert plain.chance > 0.9
    assert plain.low <= plain.chance <= plain.high
    values = np.array([correlation(one, n_bootstrap=0).value for one in null_tables])
    assert plain.p_value == (1 + (values[1:] >= values[0]).sum()) / 60
    assert "mean of 59 null tables" in str(plain)
    given = compare_with_null_tables(
        null_tables[0], null_tables[1:], lambda t: correlation(t, y="unbiased", covariates=["n"], n_bootstrap=0).value
    )
    assert given.chance < plain.chance
    real = null_tables[0].assign(coherence=null_tables[0]["magnitude"])
    assert compare_with_null_tables(real, null_tables, lambda t: float(t["coherence"].max())).p_value == 1 / 61


def test_a_fake_without_a_value_counts_as_extreme():
    tables = [pd.DataFrame({"a": [value]}) for value in (1.0, np.nan, 0.0)]
    assert compare_with_null_tables(tables[0], tables[1:], lambda t: float(t["a"][0])).p_value == 2 / 3


def test_component_ablation_scores_the_first_components(moved):
    X, labels = moved
    found = component_ablation(X, labels, "NT", [3, 12], n_bootstrap=20)
    table = group_table(coherence_by_group(X[:, :3], labels, "NT", n_draws=0))
    assert found.correlations["3"]["rho"] == correlation(table, n_bootstrap=0).value
    assert found.settings == ("3", "12")
    unbiased = component_ablation(X, labels, "NT", [3, 12], y="unbiased", n_bootstrap=20)
    assert unbiased.correlations["3"]["rho"] == correlation(table, y="unbiased", n_bootstrap=0).value


def test_seeds_change_nothing_unless_they_draw_cells(moved):
    X, labels = moved
    whole = seed_ablation(X, labels, "NT", [3, 7, 9], share=1, n_bootstrap=20)
    assert whole.consistency["coherence"] == {"mean": 1.0, "sd": 0.0, "min": 1.0}
    assert len({one["rho"] for one in whole.correlations.values()}) == 1
    part = seed_ablation(X, labels, "NT", [3, 7, 9], share=0.5, n_bootstrap=20)
    # By default seeds draw most of the cells, but not all.
    most = seed_ablation(X, labels, "NT", [3, 7, 9], n_bootstrap=20).consistency["coherence"]["min"]
    assert part.consistency["coherence"]["min"] < most < whole.consistency["coherence"]["min"]
    assert part.consistency["coherence"]["min"] < 1
    assert part.correlations["3"]["n"] == 8
