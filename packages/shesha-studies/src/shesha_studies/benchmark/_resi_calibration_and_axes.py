"""Effects of calibration, restricted permutations and basis averaging on the benchmark's models and tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

import shesha
from shesha.calibration.permutation_scores import null_scores
from shesha.nulls.null_summary import summarise
from shesha.nulls.permutations import draw_permutations
from shesha.support.types import Labels, Matrix
from shesha.views import Representation
from shesha_bench import MissingDataError, scores as scoring
from shesha_bench.catalogue import Model
from shesha_bench.domains import domain
from shesha_bench.suites import required_models, suite, trials
from shesha_studies.framework.study_decorator import Unreachable
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

MEASURES = ("CKA", "RSA", "mutual kNN")
DESIGNS = ("raw", "calibrated", "within classes")
AXES: Mapping[str, Callable[[Matrix], float]] = {
    "feature split": lambda X: shesha.feature_split(X, seed=0),
    "basis-averaged": lambda X: shesha.basis_averaged_split(X, seed=0),
}
EPOCHS, N_MODELS, N_ROWS, N_PERMUTATIONS, N_CHANCE = 40, 3, 200, 99, 200
"""A fifth of the suite's epochs on Cora, three models per setting instead of five, and a fifth of the test nodes."""
Values = dict[tuple[str, str], float]


def option_scores(dataset: str, architecture: str, test: str) -> dict[str, float]:
    """Score each measure in each design, and differences of stability on given and random axes, with chance levels."""
    groups, layers, labels = _train_models(dataset, architecture, test)
    row: dict[str, float] = {}
    for measure in MEASURES:
        values = _in_designs(measure, layers, labels)
        row |= {f"{measure}, {design} auprc": _auprc(values[design], groups) for design in DESIGNS}
    for axes, score in AXES.items():
        row[f"stability difference, {axes} auprc"] = _auprc(_stability_differences(score, layers), groups)
    return row | _chance(groups)


def _train_models(dataset: str, architecture: str, test: str) -> tuple[dict[str, list[str]], dict[str, Matrix], Labels]:
    """Train the models of a test; return their names by setting, their last layers, and the classes of the rows."""
    import torch

    tasks = suite("small").choose_tasks(("graph",), (dataset,), (architecture,))
    groups: dict[str, list[str]] = {}
    layers: dict[str, Matrix] = {}
    labels: Labels = np.empty(0, dtype=np.intp)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for model in required_models(trials(tasks, (test,))):
            if model.seed < N_MODELS:
                layers[str(model)], labels = _fit_networks(model)
                groups.setdefault(str(model.setting), []).append(str(model))
    except MissingDataError as error:
        raise Unreachable(str(error)) from error
    finally:
        torch.set_num_threads(threads)
    rows = np.random.default_rng(0).choice(len(labels), N_ROWS, replace=False)
    return groups, {name: layer[rows] for name, layer in layers.items()}, labels[rows]


def _fit_networks(model: Model) -> tuple[Matrix, Labels]:
    fewer = replace(model, hyper={**model.hyper, "epochs": EPOCHS})
    place = domain(model.domain)
    outcome = place.extract(fewer, place.fit(fewer))
    return np.asarray(outcome.representations[""][-1], dtype=np.float64), np.asarray(outcome.labels)


def _in_designs(name: str, layers: Mapping[str, Matrix], labels: Labels) -> dict[str, Values]:
    """Values of all pairs: raw, calibrated by permuting all rows, and calibrated by permuting rows within classes."""
    measure = measure_of_stored_rows(name)
    views = {key: measure.look(Representation.build(layer)) for key, layer in layers.items()}
    n = len(labels)
    free = draw_permutations(n, N_PERMUTATIONS, 0.05, seed=0)[0]
    within = draw_permutations(n, N_PERMUTATIONS, 0.05, design={"blocks": labels}, seed=0)[0]
    values: dict[str, Values] = {design: {} for design in DESIGNS}
    for pair in combinations(views, 2):
        first, second = (views[key] for key in pair)
        for design, orders in (("calibrated", free), ("within classes", within)):
            scores = np.array([grid[0, 0] for grid in null_scores(measure, first, second, orders)])
            summary = summarise(float(scores[0]), scores[1:], measure.closer, 0.05, float(measure.bounds[1]))
            values[design][pair] = summary.calibrated
        values["raw"][pair] = float(scores[0])
    return values


def _stability_differences(score: Callable[[Matrix], float], layers: Mapping[str, Matrix]) -> Values:
    """Negative difference between the scores of the two models, for each pair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = {name: score(layer) for name, layer in layers.items()}
    return {(a, b): -abs(known[a] - known[b]) for a, b in combinations(layers, 2)}


def _auprc(values: Values, groups: Mapping[str, list[str]]) -> float:
    """Return how well the values of pairs separate pairs of the same setting from others."""
    auprc, _ = scoring.groups(values, groups, closer="higher", symmetric=True)
    return float(auprc.value)


def _chance(groups: Mapping[str, list[str]]) -> dict[str, float]:
    """Mean and upper limit of the score of random values, which contain no information on the models."""
    rng, pairs = np.random.default_rng(0), list(combinations([name for group in groups.values() for name in group], 2))
    draws = [_auprc(dict(zip(pairs, rng.standard_normal(len(pairs)), strict=True)), groups) for _ in range(N_CHANCE)]
    return {"chance auprc": float(np.mean(draws)), "chance auprc, 95 %": float(np.quantile(draws, 0.95))}


def option_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean AUPRC over networks by test, with one line per measure and design, and of random values."""
    means = rows[rows.part == "options"].groupby("test", sort=False).mean(numeric_only=True).filter(like="auprc")
    return means.rename(columns=lambda name: name.replace(" auprc", "")).T


def option_facts(options: pd.DataFrame) -> dict[str, float]:
    """Return how much each option changes the scores."""
    facts: dict[str, float] = {}
    raw, calibrated, within = (options.loc[[f"{name}, {design}" for name in MEASURES]].to_numpy() for design in DESIGNS)
    for option, move in (("calibration", calibrated - raw), ("within classes", within - calibrated)):
        facts |= {f"{option} moves": move.mean(), f"{option}, lowest": move.min(), f"{option}, highest": move.max()}
    return facts
