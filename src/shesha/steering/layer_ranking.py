"""Ranking of layers for steering or probing, against the best layer under shuffled labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, orders, split_names, validation as check
from shesha.nulls import summarise
from shesha.results import LayerRanking, RankedLayer
from shesha.steering.labelled_rows import Coordinates, Labelled, check_labelled, coordinates, warn_of_dependence
from shesha.steering.steerability import SATURATED, SCORES, Outcome, Setup, draw_plan, interval, mean, outcomes
from shesha.steering.vectors import METHODS, RELATIVE, Method, Units, strengths
from shesha.support import types as kinds
from shesha.support.layer_axis import LayerAxis, layer_sequence
from shesha.support.progress import track
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import ALPHA, generator, number
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.wording import join_items
from shesha.views import select_rows

By = Literal["max_drop", "accuracy"]
_BY = ("max_drop", "accuracy")


@keep_statements
def rank_layers(
    layers: Mapping[str, ArrayLike] | Sequence[ArrayLike] | ArrayLike,
    y: ArrayLike,
    *,
    by: By = "max_drop",
    alphas: ArrayLike = RELATIVE,
    units: Units = "norm",
    groups: ArrayLike | None = None,
    method: Method = "logistic",
    C: float = 1.0,
    n_splits: int = 3,
    n_draws: int = 99,
    missing: MissingRows = "refuse",
    seed: Seed = None,
    layer_axis: LayerAxis = "guess",
) -> LayerRanking:
    """Rank layers by steering or probing, and compare the best with the best under shuffled labels.

    The best of many layers exceeds the chance level of a single layer far too often. The best layer is therefore
    compared with the largest value over all layers under shuffled labels. All layers use the same shuffles and halves,
    so that they are compared on the same rows.

    Parameters
    ----------
    layers : mapping of str to arrays, sequence of arrays, or array of shape (n_layers, n_samples, n_features)
        Activations for the same rows, one array per layer.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least 4 rows each.
    by : {'max_drop', 'accuracy'}
        Value by which layers are ranked: the accuracy that a probe loses through steering, or its accuracy without
        steering.
    alphas, units
        As for `steerability`, except that the default unit is the mean row length in each layer, because raw strengths
        favour layers with small activations. If the largest strengths push all rows into one class, max drop is the
        accuracy minus a constant.
    groups, method, C, n_splits, n_draws, seed
        As for `steerability`; `n_draws` must be at least 19.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out together with rows of zeros, and counted. Rows
        without a label are left out.
    layer_axis
        As for `shesha.compare_layers`.

    Returns
    -------
    LayerRanking
        Contains one line per layer, with its interval, its chance level, its p-value against the best layer under
        shuffled labels, and its distance to the best layer. `winner` is the best layer, `tied_names` includes the
        layers that are not significantly worse, and `plot` shows the chance level.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> layers = {f"layer {k}": rng.standard_normal((60, 8)) + k * np.eye(8)[y] for k in range(3)}
    >>> found = rank_layers(layers, y, by="accuracy", n_draws=19, seed=0)
    >>> found.winner, found.significant, round(float(found.best.chance), 2)
    ('layer 2', True, 0.56)
    """
    named = _name_layers(layers, layer_axis)
    check.choice(by, _BY, "by")
    check.choice(method, METHODS, "method")
    named, along = select_rows(named, {"y": y, "groups": groups}, missing=missing)
    y, groups = along["y"], along["groups"]
    named = _leave_out_constant(named)
    orders_of = orders({name: split_names(X, name)[1] for name, X in named.items()})
    rows = {
        name: coordinates(np.asarray(split_names(X)[0])[orders_of[name]] if name in orders_of else X, name)
        for name, X in named.items()
    }
    n = _check_same_rows(rows)
    first = next(iter(named.values()))
    known = check_labelled(first, y, groups, n)
    warn_of_dependence(next(iter(rows.values())).values, known)
    grid = strengths(alphas, units, 1.0)[0]
    plan = draw_plan(
        known,
        check.count(n_splits, "n_splits"),
        check.count(n_draws, "n_draws", minimum=19),
        generator(seed),
    )
    setup = Setup(grid, method, check.positive(C, "C", most=check.SQUARABLE[1]), 0)
    outcomes_of_layers = {
        name: outcomes(X, known.n_classes, plan, replace(setup, alphas=grid * (X.norm if units == "norm" else 1.0)))
        for name, X in track(rows.items(), len(rows), "layers")
    }
    values = np.array([_ranked_values(runs, by, plan.n_labellings) for runs in outcomes_of_layers.values()])
    highest = mean(values).max(axis=0)
    best = summarise(float(highest[0]), highest[1:], "higher", ALPHA, 1.0)
    lines = _lines(values, highest, rows, {name: runs[: 2 * n_splits] for name, runs in outcomes_of_layers.items()})
    return LayerRanking(
        by=by,
        layers=lines,
        best=best,
        level=ALPHA,
        null=tuple(highest[1:].tolist()),
        method=method,
        exchanged=known.shuffle_description,
        units=units,
        alphas=tuple(grid.tolist()),
        n_rows=n,
        n_splits=n_splits,
        n_draws=plan.n_labellings - 1,
        notes=(*known.notes, *_saturation(lines, known)),
        seed=number(seed),
    )


def _saturation(lines: tuple[RankedLayer, ...], y: Labelled) -> tuple[str, ...]:
    """Return a note on those layers in which max drop reflects only the accuracy."""
    smallest = float(np.bincount(y.codes).min()) / len(y.codes)
    full = [layer.name for layer in lines if layer.max_drop >= SATURATED * (layer.accuracy - smallest) > 0]
    if not full:
        return ()
    return (
        f"in {len(full)} of {len(lines)} layers, the largest strengths push nearly all rows into one class, "
        "so max drop only reflects the accuracy; use smaller alphas",
    )


def _name_layers(layers: object, layer_axis: LayerAxis) -> dict[str, ArrayLike]:
    if isinstance(layers, Mapping):
        arrays = {str(name): X for name, X in layers.items()}
    else:
        several = kinds.sequence(layer_sequence(layers, "layers", layer_axis), "layers", "arrays")
        arrays = {str(place): X for place, X in enumerate(several)}
    if not arrays:
        raise ValueError("layers must contain at least one layer, got none")
    return arrays


def _leave_out_constant(layers: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out layers whose rows are all equal, such as the last token of a template before the first block."""
    constant = []
    for name, X in layers.items():
        values = split_names(X, name)[0]
        if isinstance(values, np.ndarray) and values.ndim == 2 and len(values) > 1 and (values == values[0]).all():
            constant.append(name)
    if len(constant) == len(layers):
        return dict(layers)
    if constant:
        state(f"{join_items(constant)}, whose rows are all equal, left out")
    return {name: X for name, X in layers.items() if name not in constant}


def _check_same_rows(rows: dict[str, Coordinates]) -> int:
    counts = {name: len(X.values) for name, X in rows.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"layers must have the same rows, got {check.join_items(f'{n} in {k}' for k, n in counts.items())}"
        )
    return next(iter(counts.values()))


def _ranked_values(results: list[Outcome], name: str, n_labellings: int) -> Matrix:
    """Values by which layers are ranked, of shape (labellings, probes)."""
    column = [outcome.scores[SCORES.index(name)] for outcome in results]
    return np.array(column).reshape(n_labellings, -1)


def _lines(
    values: Matrix, highest: Vector, rows: dict[str, Coordinates], own_scores: dict[str, list[Outcome]]
) -> tuple[RankedLayer, ...]:
    means = mean(values)
    order = np.argsort(-means[:, 0], kind="stable")
    first = values[order[0], 0]
    lines = []
    for place, (name, X) in enumerate(rows.items()):
        alone = summarise(float(means[place, 0]), means[place, 1:], "higher", ALPHA, 1.0)
        among = summarise(float(means[place, 0]), highest[1:], "higher", ALPHA, 1.0)
        low, high = np.clip(interval(values[place, 0]), 0, 1)
        gaps = first - values[place, 0]
        nearer, farther = interval(gaps)
        scores = mean(np.array([outcome.scores for outcome in own_scores[name]]), axis=0)
        lines.append(
            RankedLayer(
                name=name,
                rank=int(np.flatnonzero(order == place)[0]) + 1,
                value=float(means[place, 0]),
                low=float(low),
                high=float(high),
                chance=alone.chance,
                p_value=alone.p_value,
                corrected_p_value=among.p_value,
                behind=float(gaps.mean()),
                behind_low=nearer,
                behind_high=farther,
                accuracy=float(scores[SCORES.index("accuracy")]),
                max_drop=float(scores[SCORES.index("max_drop")]),
                strength=float(np.median([outcome.strength for outcome in own_scores[name]])) / X.norm,
                norm=X.norm,
                n_features=X.axes.shape[1],
            )
        )
    return tuple(lines)
