"""The jackknife over clusters: how many clusters it needs, and which it leaves out."""

import numpy as np
from scipy.stats import t as student

from shesha.neuro.score_correlations import jackknife_correlation


def correlation_of(x: np.ndarray, y: np.ndarray):
    return lambda mask: float(np.corrcoef(x[mask], y[mask])[0, 1])


def data(n_clusters: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(5 * n_clusters)
    return x, x + rng.standard_normal(len(x)), [f"animal {k // 5}" for k in range(len(x))]


def test_three_clusters_suffice_and_two_do_not():
    for n_clusters, suffice in ((2, False), (3, True)):
        x, y, clusters = data(n_clusters)
        (low, high), p_value = jackknife_correlation(correlation_of(x, y), clusters, 0.95)
        assert np.isfinite([low, high, p_value]).all() == suffice


def test_every_cluster_is_left_out_once():
    x, y, clusters = data(6)
    left_out = []

    def score(mask: np.ndarray) -> float:
        left_out.append({name for name, kept in zip(clusters, mask, strict=True) if not kept})
        return correlation_of(x, y)(mask)

    jackknife_correlation(score, clusters, 0.95)
    assert sorted(map(sorted, left_out)) == [[], *([f"animal {k}"] for k in range(6))]


def test_interval_and_p_value_agree_on_fishers_scale():
    """The p-value is the level at which the interval ends at zero."""
    x, y, clusters = data(6)
    p_value = jackknife_correlation(correlation_of(x, y), clusters, 0.95)[1]
    low, high = jackknife_correlation(correlation_of(x, y), clusters, 1 - p_value)[0]
    assert min(abs(low), abs(high)) < 1e-9
    whole = np.arctanh(correlation_of(x, y)(np.ones(len(x), dtype=bool)))
    low, high = np.arctanh(jackknife_correlation(correlation_of(x, y), clusters, 0.5)[0])
    assert np.isclose((low + high) / 2, whole)
    assert np.isclose((high - low) / 2, student.ppf(0.75, 5) * whole / student.isf(p_value / 2, 5))


def test_a_negative_correlation_has_the_mirrored_interval():
    x, y, clusters = data(6)
    (low, high), p_value = jackknife_correlation(correlation_of(x, y), clusters, 0.95)
    (low_of_minus, high_of_minus), p_of_minus = jackknife_correlation(correlation_of(x, -y), clusters, 0.95)
    assert np.allclose([low_of_minus, high_of_minus, p_of_minus], [-high, -low, p_value])
