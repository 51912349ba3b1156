"""Inputs that seeds make, for the recorded values of the public package and the tests that read them."""

import anndata
import numpy as np
import pandas as pd


def arrays(seed, n_controls, n_cells, n_features):
    rng = np.random.default_rng(seed)
    scales = np.linspace(0.5, 2, n_features)
    return tuple(rng.standard_normal((n, n_features)) * scales + by for n, by in ((n_controls, 0), (n_cells, 0.4)))


def cells(seed):
    """AnnData of controls, two perturbations, and one of few cells."""
    rng = np.random.default_rng(seed)
    sizes, shift = {"control": 70, "STAT1": 40, "JAK2": 35, "few": 12}, {"STAT1": 1.0, "JAK2": 0.3, "few": 0.6}
    names = np.repeat(list(sizes), list(sizes.values()))[rng.permutation(157)]
    X = rng.standard_normal((157, 8)) + np.array([shift.get(name, 0.0) for name in names])[:, None]
    obs = pd.DataFrame({"perturbation": names}, index=np.arange(157).astype(str))
    return anndata.AnnData(X, obs=obs, layers={"double": 2 * X + 1})


def table(seed):
    """Scores of forty perturbations, one of them missing."""
    rng = np.random.default_rng(seed)
    magnitude = rng.gamma(2, 1, 40)
    coherence = np.tanh(magnitude / 4) + 0.1 * rng.standard_normal(40)
    found = pd.DataFrame({"Sp": coherence, "Mp": magnitude})
    found["split_half_cosine"] = coherence + 0.2 * rng.standard_normal(40)
    found.loc[3, "Sp"] = np.nan
    return found
