"""Measure false positives, power and coverage of clusters, trials needed and flexible models on simulated data.

    python scripts/measure_cluster_rates.py [--only "k-means, 3"] [--runs 100]

The script prints one line per question and kind of data, as in docs/single_cells.md, docs/false_positives.md and
docs/intervals.md.
"""

from __future__ import annotations

import argparse
import random
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2
from scipy.spatial import KDTree

from shesha import bio, changes, drift, neuro, rank_models
from shesha.results import Number
from shesha.results.number import NumberTable
from shesha.support.types import Array, Labels, Matrix
from shesha_studies.framework.study_decorator import Unreachable

Rng = np.random.Generator
Row = dict[str, float]
Clustering = Callable[[Matrix], Labels]
LEVEL = 0.05
N_FURTHER = 50
"""Number of further subsamples whose mean an interval of the stability of a cluster should contain."""


def share_significant(table: NumberTable) -> Row:
    """Return the share of the numbers that are significant after correction."""
    return {"significant": len(table.significant) / len(table)}


def number_row(found: Number) -> Row:
    """Return a number with its interval."""
    return {"value": found.value, "low": found.low, "high": found.high}


def library(name: str, install: str) -> Any:
    """Import an optional library."""
    try:
        return import_module(name)
    except ImportError:
        raise Unreachable(f"{name} (pip install {install})") from None


# Clusters of cells


def k_means(matrix: Matrix, k: int) -> Labels:
    """Divide cells into k clusters."""
    with warnings.catch_warnings():
        # A subsample may leave a cluster empty.
        warnings.simplefilter("ignore")
        return np.asarray(kmeans2(matrix, k, minit="++", seed=0)[1])


def leiden(matrix: Matrix, resolution: float, n_neighbors: int = 15) -> Labels:
    """Cluster the graph of nearest neighbours by the Leiden algorithm, without the weights of scanpy, for speed."""
    igraph = library("igraph", "igraph")
    k = min(n_neighbors, len(matrix))
    _, places = KDTree(matrix).query(matrix, k=k)
    edges = {(min(i, j), max(i, j)) for i, row in enumerate(places.tolist()) for j in row if i != j}
    graph = igraph.Graph(n=len(matrix), edges=sorted(edges))
    # The library draws from the generator of Python.
    random.seed(0)
    found = graph.community_leiden(objective_function="modularity", resolution=resolution, n_iterations=2)
    return np.asarray(found.membership)


SCALES = np.geomspace(2, 0.5, 6)


def groups_of_cells(rng: Rng, distance: float, n_groups: int = 3, size: int = 60) -> Matrix:
    """Draw groups of cells whose centres have this distance, in standard deviations of a group."""
    centres = distance / np.sqrt(2) * np.eye(n_groups, 6)
    return centres[np.arange(n_groups * size) % n_groups] + rng.standard_normal((n_groups * size, 6))


def curved_group(rng: Rng, n: int = 200) -> Matrix:
    """Draw cells along three quarters of a circle without gaps."""
    angle = rng.uniform(0, 1.5 * np.pi, n)
    return 4 * np.column_stack([np.cos(angle), np.sin(angle), *np.zeros((4, n))]) + 0.5 * rng.standard_normal((n, 6))


def cells_of_counts(rng: Rng, n_types: int, n: int = 300, n_genes: int = 300, n_components: int = 10) -> Matrix:
    """Draw counts of equally many cells of each type, normalise them, and return their principal components.

    Counts are Poisson with log-normal rates and depths, the model of Grabski et al. A fifth of the genes differ
    between types.
    """
    rates = np.tile(rng.gamma(0.5, 2, n_genes), (n_types, 1))
    rates *= np.exp(rng.standard_normal(rates.shape) * (np.arange(n_genes) < n_genes // 5) * (n_types > 1))
    noise = 0.3 * rng.standard_normal((n, n_genes)) + 0.3 * rng.standard_normal((n, 1))
    counts = rng.poisson(rates[np.arange(n) % n_types] * np.exp(noise))
    logs = np.log1p(1e3 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    left, sizes, _ = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)
    return np.asarray(left[:, :n_components] * sizes[:n_components])


def clustree_simulation(rng: Rng, n_groups: int, size: int = 150, d: int = 100) -> Matrix:
    """Draw the five simulations of Zappia and Oshlack, with fewer cells: uniform noise, or one to four groups."""
    if not n_groups:
        return rng.uniform(0, 10, size=(size, d))
    first, shift = 10 * rng.standard_normal(d), 2 * rng.standard_normal(d)
    third = first + shift / 2 + 5 * rng.standard_normal(d)
    centres = np.array([first, first + shift, third, third + shift / 2 + 2 * rng.standard_normal(d)])
    return np.repeat(centres[:n_groups], size, axis=0) + 5 * rng.standard_normal((n_groups * size, d))


def iris(rng: Rng) -> Matrix:
    """Return the measurements of iris flowers, which Zappia and Oshlack divide by k-means."""
    return np.asarray(library("sklearn.datasets", "scikit-learn").load_iris().data)


def clusters(seed: int, draw: Callable[[Rng], Matrix], method: Clustering) -> Row:
    """Test the clusters of some cells, and compare their intervals with the means over further subsamples."""
    rng = np.random.default_rng(seed)
    cells = draw(rng)
    labels = method(cells)
    if len(np.unique(labels)) < 2:
        return {"significant": 0.0}
    names = np.arange(len(cells)).astype(str)
    obs = pd.DataFrame({"group": labels.astype(str)}, index=names)
    adata = library("anndata", "anndata").AnnData(obs=obs, obsm={"X_pca": cells})
    found = bio.cluster_stability(adata, "group", cluster=method, n_draws=19, seed=seed)
    means = further_stability(cells, labels, method, np.random.default_rng([1, seed]))
    inside = [each.low <= means[each.name] <= each.high for each in found]
    return share_significant(found) | number_row(found.agreement) | {"covered": float(np.mean(inside))}


def further_stability(cells: Matrix, labels: Labels, method: Clustering, rng: Rng) -> dict[str, float]:
    """Return the mean Jaccard index of each cluster over further subsamples, written out."""
    values: dict[str, list[float]] = {str(name): [] for name in np.unique(labels)}
    for _ in range(N_FURTHER):
        kept = rng.choice(len(cells), round(0.8 * len(cells)), replace=False)
        old, new = labels[kept], method(cells[kept])
        for name in np.unique(old):
            mine = old == name
            shares = [(mine & (new == other)).sum() / (mine | (new == other)).sum() for other in np.unique(new)]
            values[str(name)].append(max(shares))
    return {name: float(np.mean(found)) for name, found in values.items()}


def e_distance(seed: int, donors: str, groups: str | None, shift: float = 0.0) -> Row:
    """Compare two conditions whose donors differ, and whose cells differ by a common shift."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(16), 20) if donors == "nested" else np.repeat(np.arange(8), 40)
    treated = donor >= 8 if donors == "nested" else np.arange(320) % 40 < 20
    cells = (
        rng.standard_normal((320, 5)) + (0.5 * rng.standard_normal((16, 5)))[donor + 8 * treated * (donors != "nested")]
    )
    cells[treated, 0] += shift
    obs = pd.DataFrame({"drug": np.where(treated, "drug", "control"), "donor": donor.astype(str)})
    adata = library("anndata", "anndata").AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": cells})
    return share_significant(bio.e_distances(adata, "drug", groups=groups, n_draws=99, seed=seed))


# Recordings


def smooth_noise(rng: Rng, n_trials: int, n_neurons: int, n_times: int) -> Array:
    """Return noise of which neighbouring times are similar: (trials, neurons, times)."""
    steps = rng.standard_normal((n_trials, n_neurons, n_times + 4))
    return sum(weight * steps[:, :, k : k + n_times] for k, weight in enumerate((0.5, 1, 2, 1, 0.5)))


def time_clusters(seed: int, effect: float = 0.0, **options: str) -> Row:
    """Find clusters of times; conditions differ in the second half of the times if there is an effect."""
    rng = np.random.default_rng(seed)
    shown = rng.permutation(np.tile(np.arange(6), 12))
    trials = smooth_noise(rng, len(shown), 10, 12)
    trials[:, :, 6:] += effect * rng.standard_normal((6, 10))[shown][:, :, None]
    found = neuro.time_clusters(trials, shown, n_permutations=39, seed=seed, **options)
    return {"significant": float(len(found.significant) > 0)}


def searchlight(seed: int, effect: float = 0.0) -> Row:
    """Search 100 correlated voxels for a model that is found in the first 20 of them if there is an effect."""
    rng = np.random.default_rng(seed)
    places = np.argwhere(np.ones((5, 5, 4)))
    patterns = rng.standard_normal((12, 100)) + rng.standard_normal((12, 5)) @ rng.standard_normal((5, 100))
    patterns[:, :20] += effect * np.arange(12)[:, None] / 12
    model = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12)))
    graph = neuro.neighbours_in_radius(places, 1.5)
    found = neuro.searchlight(patterns, model, graph, n_permutations=199, seed=seed)
    return {"significant": float(len(found.significant) > 0)}


def trials_needed(seed: int, n_trials: int = 16, tuning: float = 1.0) -> Row:
    """Measure the reliability of the distances between 12 conditions; the neurons are the same in all runs."""
    rng, strengths = np.random.default_rng(seed), np.random.default_rng(0).gamma(1, 1, size=(400, 30))
    shown = rng.permutation(np.tile(np.arange(12), n_trials))
    rates = 2 + tuning * strengths[rng.choice(400, 12, replace=False)]
    found = neuro.trials_needed(rng.poisson(rates[shown]), shown, n_permutations=39, n_splits=10, seed=seed)
    return {"significant": float(found.reliability.p_value <= LEVEL)} | number_row(found.reliability)


# Models and vectors


def flexible(seed: int, *, chance: bool, n: int = 24, effect: float = 0.0) -> Row:
    """Test a flexible model against chance, or against another one.

    The other one is equally good if there is no effect, and otherwise unrelated to the subjects.
    """
    rng = np.random.default_rng(seed)
    parts = dict(zip("abcd", rng.standard_normal((4, n, 4)), strict=True))
    shares = rng.uniform(0.3, 1, size=(6, 2)) * (effect if effect else not chance)
    others = ("a", "b") if effect else ("c", "d")
    subjects = [
        np.hstack([w * parts["a"], v * parts["b"], *((w * parts["c"], v * parts["d"]) if others[0] == "c" else ())])
        for w, v in shares
    ]
    subjects = [each + rng.standard_normal(each.shape) / 2 for each in subjects]
    options: dict[str, Any] = {"n_resamples": 60, "n_permutations": 39, "weights_of": "each subject", "seed": seed}
    sums = {"ab": ["a", "b"], "cd": ["c", "d"]}
    found = rank_models(subjects, parts, "RSA(metric=euclidean)", flexible=sums, **options)
    return {"significant": float((found["ab"] if chance else found.pair("ab", "cd")).p_value <= LEVEL)}


def two_samples(seed: int, shift: float = 0.0) -> Row:
    """Compare two samples with heavy tails by three tests."""
    X, Y = np.random.default_rng(seed).standard_t(5, size=(2, 60, 8))
    found = drift.two_sample_tests(X, Y + shift, n_permutations=99, seed=seed)
    return {"significant": float(len(found.significant) > 0)}


def recall(seed: int) -> Row:
    """Recall of the neighbours of 200 vectors in their first 8 of 32 dimensions."""
    vectors = np.random.default_rng(seed).standard_normal((200, 32)) * np.geomspace(3, 0.3, 32)
    return number_row(changes.stored_vectors(vectors, [8]).numbers[0])


def index_recall(seed: int) -> Row:
    """Recall of new queries in an index of old vectors, which lack 24 of the 32 dimensions of the new ones."""
    new = np.random.default_rng(seed).standard_normal((200, 32)) * np.geomspace(3, 0.3, 32)
    old = np.where(np.arange(32) < 8, new, 0)
    return number_row(changes.diff(old, new, index=True, max_rows=10).index["as it is"])


Condition = tuple[bool, int, Callable[[int], Row]]
"""Whether there is an effect, the number of data sets, and the function for a seed."""


NONE, SOME = False, True


def _cluster_conditions() -> dict[tuple[str, str], Condition]:
    """Return the conditions of clusters: cells without and with clusters, by two methods."""
    one: dict[str, Callable[[Rng], Matrix]] = {
        "one Gaussian": lambda rng: rng.standard_normal((200, 6)) * SCALES,
        "one group, heavy tails": lambda rng: rng.standard_t(3, (200, 6)) * SCALES,
        "one curved group": curved_group,
    }
    three: dict[str, Callable[[Rng], Matrix]] = {
        "three separate groups": partial(groups_of_cells, distance=8),
        "three groups that touch": partial(groups_of_cells, distance=3.5),
    }
    trees = {n: f"simulation of clustree, {f'{n} group' + 's' * (n > 1) if n else 'uniform noise'}" for n in range(5)}
    listed: list[tuple[str, Callable[[Rng], Matrix], Clustering, bool, int]] = [
        *((data, draw, partial(k_means, k=5), NONE, 100) for data, draw in one.items()),
        *((data, draw, partial(leiden, resolution=1.0), NONE, 100) for data, draw in one.items()),
        *((data, draw, partial(k_means, k=3), SOME, 100) for data, draw in three.items()),
        *((data, draw, partial(leiden, resolution=0.3), SOME, 100) for data, draw in three.items()),
        ("counts of one cell type", partial(cells_of_counts, n_types=1), partial(leiden, resolution=1.0), NONE, 50),
        *(
            ("counts of two cell types", partial(cells_of_counts, n_types=2), partial(leiden, resolution=at), SOME, 50)
            for at in (0.2, 2.5)
        ),
        *(
            (trees[n], partial(clustree_simulation, n_groups=n), partial(k_means, k=k), n > 1, 20)
            for n, k in ((0, 4), (1, 4), (2, 2), (3, 3), (4, 4), (2, 6))
        ),
        *(("iris flowers", iris, partial(k_means, k=k), SOME, 5) for k in (2, 3, 5)),
    ]
    return {
        (f"bio.cluster_stability, {_method_name(method)}", data): (
            effect,
            n_seeds,
            partial(clusters, draw=draw, method=method),
        )
        for data, draw, method, effect, n_seeds in listed
    }


def _method_name(method: Any) -> str:
    k, resolution = (method.keywords.get(name) for name in ("k", "resolution"))
    return f"k-means, {k} clusters" if k else f"Leiden, resolution {resolution:g}"


CONDITIONS: Mapping[tuple[str, str], Condition] = {
    **_cluster_conditions(),
    **{
        (f"bio.e_distances, {'cells permuted' if groups is None else 'groups=donor'}", f"{donors} donors, {data}"): (
            shift > 0,
            100,
            partial(e_distance, donors=donors, groups=groups, shift=shift),
        )
        for donors in ("nested", "paired")
        for groups in (None, "donor")
        for data, shift in (("no effect", 0.0), ("shift of 1 sd", 1.0))
        if shift == 0 or groups
    },
    **{
        (f"neuro.time_clusters, {name}", "smooth noise"): (NONE, 100, partial(time_clusters, **options))
        for name, options in {
            "permuted trials": {"null": "permute"},
            "circular shifts": {"null": "shift"},
            "all pairs of times, permuted trials": {"null": "permute", "pairs": "all"},
        }.items()
    },
    ("neuro.time_clusters, permuted trials", "tuning at half of the times"): (
        SOME,
        100,
        partial(time_clusters, effect=3.0, null="permute"),
    ),
    ("neuro.searchlight", "unrelated to the model"): (NONE, 100, searchlight),
    ("neuro.searchlight", "20 of 100 voxels follow the model"): (SOME, 100, partial(searchlight, effect=4.0)),
    **{
        ("neuro.trials_needed", f"tuning {tuning:g}, {n} trials"): (
            tuning > 0,
            100,
            partial(trials_needed, n_trials=n, tuning=tuning),
        )
        for tuning in (0.0, 0.5, 1.0)
        for n in (4, 8, 16)
    },
    **{
        (f"rank_models(flexible=), {against}", f"{n} rows, 6 subjects, {data}"): (
            effect > 0,
            100,
            partial(flexible, chance=chance, n=n, effect=effect),
        )
        for n in (12, 24)
        for chance, against, cases in (
            (True, "against chance", (("unrelated", 0.0), ("weak parts", 0.3), ("strong parts", 1.0))),
            (False, "two models", (("equally good", 0.0), ("weak parts in one", 0.3), ("strong parts in one", 1.0))),
        )
        for data, effect in cases
    },
    ("drift.two_sample_tests", "one distribution, heavy tails"): (NONE, 100, two_samples),
    ("drift.two_sample_tests", "means differ by half a unit"): (SOME, 100, partial(two_samples, shift=0.5)),
    ("changes.stored_vectors, recall", "8 of 32 dimensions"): (SOME, 100, recall),
    ("changes.diff(index=True), recall", "8 of 32 dimensions"): (SOME, 100, index_recall),
}


def main() -> None:
    """Print the mean of each number over the data sets of a condition."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", default="", help="questions and data that contain this")
    chosen = parser.parse_args()
    for (question, data), (effect, n_seeds, measured) in CONDITIONS.items():
        if chosen.only in f"{question}, {data}":
            rows = pd.DataFrame([measured(seed) for seed in range(min(chosen.runs, n_seeds))])
            if "significant" in rows:
                rows["any significant"] = rows.significant > 0
            means = ", ".join(f"{name} {value:.3f}" for name, value in rows.mean().items())
            print(
                f"| {question} | {data} | {'effect' if effect else 'no effect'} | {len(rows)} | {means} |", flush=True
            )


if __name__ == "__main__":
    main()
