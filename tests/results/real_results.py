"""One result of every kind that a function returns, made from real calls on small data; made once per process."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import anndata
import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import pdist

import shesha
from shesha import bio, changes, coherence, drift, neuro, steering
from shesha.descriptors import dimension_over_scale


@cache
def _arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((40, 5))
    return {
        name: shared @ rng.standard_normal((5, width)) + noise * rng.standard_normal((40, width))
        for name, width, noise in (("first", 8, 0.5), ("second", 9, 1.0), ("third", 8, 2.0), ("fourth", 8, 4.0))
    }


@cache
def _recording() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    shown = rng.permutation(np.tile(np.arange(6), 12))
    return rng.poisson(rng.gamma(1, 2, size=(6, 30))[shown]).astype(float), shown


def _coherence() -> Any:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((130, 6))
    labels = np.repeat(["control", "moved", "still", "other"], [70, 20, 20, 20])
    X[labels == "moved"] += [2, 0, 0, 0, 0, 0]
    return coherence.coherence_by_group(X, labels, control="control", n_draws=99, seed=0)


def _clusters() -> Any:
    def two_means(matrix: Any) -> Any:
        return kmeans2(matrix, 2, minit="++", seed=0)[1]

    X = _arrays()["first"]
    obs = pd.DataFrame({"group": two_means(X).astype(str)}, index=np.arange(40).astype(str))
    adata = anndata.AnnData(obs=obs, obsm={"X_pca": X})
    return bio.cluster_stability(adata, "group", cluster=two_means, n_draws=19, n_subsamples=4)


def _steering_data() -> tuple[Any, Any]:
    X, y = _arrays()["first"], np.arange(40) % 2
    return X + 1.5 * y[:, None], y


def _monitor() -> Any:
    X, rng = _arrays()["first"], np.random.default_rng(4)
    again = [X + 1e-4 * rng.standard_normal(X.shape) for _ in range(19)]
    return drift.DriftMonitor(X, nulls=again, false_alarm=0.05, seed=0)


def _makers() -> dict[str, Any]:
    many, (trials, shown), (S, y) = _arrays(), _recording(), _steering_data()
    X, Y, few = many["first"], many["second"], {"n_permutations": 39, "seed": 0}
    classes = np.repeat(["A", "B"], 20)
    rng = np.random.default_rng(5)
    later = rng.permuted(trials, axis=1)
    return {
        "Audit": lambda: shesha.audit(many, n_bootstrap=19, n_permutations=39, seed=0),
        "Score": lambda: shesha.calibrate(X, Y, "cka", **few),
        "LayerComparison, calibrated": lambda: shesha.calibrate_layers(many, {"a": X, "b": Y}, "cka", **few),
        "PairwiseComparison, named pairs": lambda: shesha.compare_all(
            {"one": (X, Y), "two": (Y, many["fourth"])}, "cka", calibrate=True, **few
        ),
        "CoherenceTable": _coherence,
        "Coherence": lambda: _coherence().groups[0],
        "Comparison": lambda: shesha.compare(X, Y, "standard", calibrate=True, **few),
        "Comparison, raw": lambda: shesha.compare(X, Y, "standard"),
        "Comparison, held out": lambda: shesha.compare(X, Y, ["LinReg", "cka"], folds=4),
        "Consensus": lambda: shesha.consensus(many),
        "ClusterStability": _clusters,
        "CrossnobisPairs": lambda: neuro.crossnobis_test(trials, shown, n_permutations=39),
        "Diff": lambda: shesha.diff({"a": X, "b": Y}, {"a": X + 0.1, "b": many["fourth"]}, seed=0),
        "DimensionCurve": lambda: dimension_over_scale(X),
        "DriftPath": lambda: shesha.drift_path(many),
        "DriftVerdict": lambda: _monitor().check(many["third"]),
        "Estimate": lambda: shesha.estimate(X, n_bootstrap=19, seed=0),
        "LayerComparison": lambda: shesha.compare_layers(many, {"a": X, "b": Y}, "cka"),
        "LayerRanking": lambda: steering.rank_layers({"x": S, "z": X}, y, n_draws=19, seed=0),
        "ModelRanking": lambda: shesha.rank_models([X, Y], {"c": many["third"], "d": many["fourth"]}, seed=0),
        "NoiseCeiling": lambda: shesha.noise_ceiling([X, Y, many["third"]], "rsa"),
        "OverTime": lambda: neuro.over_time(np.stack([trials, later], axis=2), shown, n_permutations=39),
        "PairwiseComparison": lambda: shesha.compare_all(many, ["cka", "rsa"], calibrate=True, **few),
        "PairwiseComparison, raw": lambda: shesha.compare_all(many, ["cka", "rsa"]),
        "RowMap": lambda: shesha.explore(X, Y),
        "Searchlight": lambda: neuro.searchlight(X, pdist(Y), [[0, 1, 2], [3, 4]], n_permutations=39),
        "SessionDrift": lambda: neuro.session_drift({"one": (trials, shown), "two": (later, shown)}, n_permutations=39),
        "Steerability": lambda: steering.steerability(S, y, n_draws=19, n_splits=2, n_directions=5, seed=0),
        "StochasticShape": lambda: neuro.stochastic_shape(trials, later, shown, n_splits=1),
        "StoredVectorsTable": lambda: changes.stored_vectors(X, [4, "int8", "binary"], k=5),
        "StreamVerdict": lambda: _monitor().update(X[:20] + 0.01),
        "TimeClusters": lambda: neuro.time_clusters(
            np.stack([trials, later], axis=2), shown, n_permutations=39, null="permute"
        ),
        "TrialScore": lambda: neuro.trial_split(trials, shown, n_permutations=39),
        "TrialsNeeded": lambda: neuro.trials_needed(trials, shown, n_permutations=39),
        "TwoSample": lambda: drift.two_sample(X, many["third"], n_permutations=39),
        "TwoSampleTests": lambda: drift.two_sample_tests(X, many["third"], n_permutations=59),
        "UnitMatching": lambda: shesha.match_units(X, Y, n_permutations=39),
        "SettingsTable": lambda: shesha.settings_table({"few": _coherence(), "many": _coherence()}),
        "SeveralWithinClasses": lambda: shesha.compare_within(
            X, {"second": Y, "fourth": many["fourth"]}, classes, ["RSA"], n_permutations=39
        ),
        "WithinClasses": lambda: shesha.compare_within(X, Y, classes, n_permutations=39),
    }


KINDS = tuple(_makers())


@cache
def real_result(kind: str) -> Any:
    """Return a result of this kind; 'Kind, variant' names another of the kind."""
    with warnings.catch_warnings():
        # Small data and few draws warn; what they warn of is tested elsewhere.
        warnings.simplefilter("ignore")
        return _makers()[kind]()
