"""Measure how often the tests of single answers are wrong on data without an effect, and the coverage of intervals.

    python scripts/measure_answer_rates.py [--runs 200] [--only searchlight]

The script prints one line per answer and kind of data, as in docs/false_positives.md and docs/intervals.md. The data
are small, so that all lines take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import anndata
import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2
from scipy.stats import binomtest

from shesha import bio, changes, drift, neuro, rank_models
from shesha.results import Number
from shesha.support.types import Array

LEVEL = 0.05


def smooth_noise(rng: np.random.Generator, n_trials: int, n_neurons: int = 15, n_times: int = 15) -> Array:
    """Return noise of which neighbouring times are similar: (trials, neurons, times)."""
    steps = rng.standard_normal((n_trials, n_neurons, n_times + 4))
    return sum(weight * steps[:, :, k : k + n_times] for k, weight in enumerate((0.5, 1, 2, 1, 0.5)))


def time_clusters(seed: int, **options: str) -> bool:
    """Whether any cluster of times is above chance in noise."""
    rng = np.random.default_rng(seed)
    shown = rng.permutation(np.tile(np.arange(6), 12))
    found = neuro.time_clusters(smooth_noise(rng, len(shown), 10, 12), shown, n_permutations=39, seed=seed, **options)
    return bool(found.significant)


def searchlight(seed: int) -> bool:
    """Whether any centre matches a model to which the recording is unrelated."""
    rng = np.random.default_rng(seed)
    places = np.argwhere(np.ones((5, 5, 4)))
    patterns = rng.standard_normal((12, 100)) + rng.standard_normal((12, 5)) @ rng.standard_normal((5, 100))
    model = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12)))
    graph = neuro.neighbours_in_radius(places, 1.5)
    return bool(neuro.searchlight(patterns, model, graph, n_permutations=199, seed=seed).significant)


def two_samples(seed: int) -> bool:
    """Whether any of three tests tells two samples of one distribution apart."""
    X, Y = np.random.default_rng(seed).standard_t(5, size=(2, 60, 8))
    return bool(drift.two_sample_tests(X, Y, n_permutations=99, seed=seed).significant)


def e_distance(seed: int, donors: str, groups: str | None) -> bool:
    """Whether cells differ between two conditions that differ in their donors only."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(16), 20) if donors == "nested" else np.repeat(np.arange(8), 40)
    treated = donor >= 8 if donors == "nested" else np.arange(320) % 40 < 20
    cells = (
        rng.standard_normal((320, 5)) + (0.5 * rng.standard_normal((16, 5)))[donor + 8 * treated * (donors != "nested")]
    )
    obs = pd.DataFrame({"drug": np.where(treated, "drug", "control"), "donor": donor.astype(str)})
    adata = anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": cells})
    return bool(bio.e_distances(adata, "drug", groups=groups, n_draws=99, seed=seed).significant)


def clusters(seed: int) -> bool:
    """Whether any of five k-means clusters of Gaussian cells is above chance."""

    def five_means(matrix: Array) -> Array:
        return kmeans2(matrix, 5, minit="++", seed=0)[1]

    cells = np.random.default_rng(seed).standard_normal((200, 6)) * np.geomspace(2, 0.5, 6)
    obs = pd.DataFrame({"group": five_means(cells).astype(str)}, index=np.arange(200).astype(str))
    adata = anndata.AnnData(obs=obs, obsm={"X_pca": cells})
    options = {"cluster": five_means, "n_draws": 19, "n_subsamples": 5, "seed": seed}
    return bool(bio.cluster_stability(adata, "group", **options).significant)


def flexible(seed: int, *, chance: bool) -> bool:
    """Whether a flexible model is above chance in unrelated data, or differs from an equally good one."""
    rng = np.random.default_rng(seed)
    parts = dict(zip("abcd", rng.standard_normal((4, 24, 4)), strict=True))
    shares = rng.uniform(0.3, 1, size=(6, 2)) * (not chance)
    subjects = [
        np.hstack([w * parts["a"], v * parts["b"], w * parts["c"], v * parts["d"]]) + rng.standard_normal((24, 16)) / 2
        for w, v in shares
    ]
    options = {"n_resamples": 60, "n_permutations": 39, "weights_of": "each subject", "seed": seed}
    sums = {"ab": ["a", "b"], "cd": ["c", "d"]}
    found = rank_models(subjects, parts, "RSA(metric=euclidean)", flexible=sums, **options)
    return (found["ab"] if chance else found.pair("ab", "cd")).p_value <= LEVEL


def recall(seed: int) -> Number:
    """Recall of the neighbours of 200 vectors in their first 8 of 32 dimensions."""
    vectors = np.random.default_rng(seed).standard_normal((200, 32)) * np.geomspace(3, 0.3, 32)
    return changes.stored_vectors(vectors, [8]).numbers[0]


def index_recall(seed: int) -> Number:
    """Recall of new queries in an index of old vectors, which lack 24 of the 32 dimensions of the new ones."""
    new = np.random.default_rng(seed).standard_normal((200, 32)) * np.geomspace(3, 0.3, 32)
    old = np.where(np.arange(32) < 8, new, 0)
    return changes.diff(old, new, index=True, max_rows=10).index["as it is"]


def reliability(seed: int) -> Number:
    """Reliability of the distances between 12 conditions with 8 trials each; neurons are the same in all runs."""
    rng, tuning = np.random.default_rng(seed), np.random.default_rng(0).gamma(1, 1, size=(400, 30))
    shown = rng.permutation(np.tile(np.arange(12), 16))
    rates = 2 + tuning[rng.choice(400, 12, replace=False)]
    found = neuro.trials_needed(rng.poisson(rates[shown]), shown, n_permutations=19, n_splits=10, seed=seed)
    return found.reliability


INTERVALS: dict[str, Callable[[int], Number]] = {
    "stored_vectors, recall": recall,
    "diff, recall in an index": index_recall,
    "trials_needed, reliability": reliability,
}
ANSWERS: dict[str, Callable[[int], bool]] = {
    "time_clusters, permuted trials": partial(time_clusters, null="permute"),
    "time_clusters, circular shifts": partial(time_clusters, null="shift"),
    "time_clusters, all pairs of times, permuted trials": partial(time_clusters, null="permute", pairs="all"),
    "time_clusters, all pairs of times, circular shifts": partial(time_clusters, null="shift", pairs="all"),
    "searchlight": searchlight,
    "two_sample_tests": two_samples,
    "e_distances, nested donors, cells permuted": partial(e_distance, donors="nested", groups=None),
    "e_distances, nested donors, groups='donor'": partial(e_distance, donors="nested", groups="donor"),
    "e_distances, paired donors, cells permuted": partial(e_distance, donors="paired", groups=None),
    "e_distances, paired donors, groups='donor'": partial(e_distance, donors="paired", groups="donor"),
    "cluster_stability, k-means": clusters,
    "rank_models, flexible model against chance": partial(flexible, chance=True),
    "rank_models, two flexible models": partial(flexible, chance=False),
}


def rate(found: list[bool]) -> str:
    """A share in percent with its exact 95 % confidence interval."""
    share = binomtest(sum(found), len(found)).proportion_ci()
    return f"{np.mean(found):.1%} ({share.low:.1%} to {share.high:.1%})"


def main() -> None:
    """Print one line per answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", default="", help="answers whose name begins with this")
    chosen = parser.parse_args()
    for name, wrong in ANSWERS.items():
        if name.startswith(chosen.only):
            print(f"| {name} | {rate([wrong(seed) for seed in range(chosen.runs)])} |", flush=True)
    for name, number in INTERVALS.items():
        if name.startswith(chosen.only):
            found = [number(seed) for seed in range(chosen.runs)]
            mean = float(np.mean([each.value for each in found]))
            covered = [each.low <= mean <= each.high for each in found]
            print(f"| {name}: intervals that contain the mean | {rate(covered)} |", flush=True)


if __name__ == "__main__":
    main()
