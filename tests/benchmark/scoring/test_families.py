"""Models of families: related where the families are, so that models are relabelled within them, or families whole."""

import numpy as np
import pytest
from scipy.stats import binom

from shesha_bench.measure_quality import spearman

FAMILY = np.repeat(np.arange(5), 3)
RUNS = 80


def distances(rng):
    """Between models whose families have offsets of their own, in whatever the distances are about."""
    places = 2 * rng.standard_normal((5, 4))[FAMILY] + rng.standard_normal((15, 4))
    i, j = np.triu_indices(15, k=1)
    return np.linalg.norm(places[i] - places[j], axis=1)


def n_positive(**design):
    found = 0
    for run in range(RUNS):
        rng = np.random.default_rng([51, run])
        found += spearman(distances(rng), distances(rng), 15, n_permutations=99, seed=run, **design).p_value <= 0.05
    return found


@pytest.mark.parametrize("design", [{"blocks": FAMILY}, {"groups": FAMILY}], ids=["within families", "whole families"])
def test_unrelated_models_of_families_are_related_no_more_often_than_alpha(design):
    assert n_positive(**design) <= binom.ppf(0.999, RUNS, 0.05)


def test_relabelled_freely_they_are_related_for_their_families_alone():
    assert n_positive() > 0.3 * RUNS


def test_a_relation_beyond_families_is_found():
    rng = np.random.default_rng(0)
    x = distances(rng)
    found = spearman(x, x + 0.1 * rng.standard_normal(len(x)), 15, n_permutations=199, blocks=FAMILY)
    # One in 7,776 relabellings within families is the true one.
    assert found.p_value <= 0.02


def test_families_need_models():
    with pytest.raises(ValueError, match="n_models or pairs must be given with blocks or groups, got neither"):
        spearman(np.arange(10.0), np.arange(10.0), blocks=[0] * 5)
    with pytest.raises(ValueError, match="blocks must have one label for each of the 5 rows, got 4"):
        spearman(np.arange(10.0), np.arange(10.0), 5, blocks=[0] * 4)
