"""Compare every layer of one model with every layer of another."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import cast

from shesha.calibration.best_layer_pair import Layers, check_layers, layer_mapping
from shesha.comparison import engine
from shesha.comparison.compare import seed_measures
from shesha.comparison.moment_scores import compare_layer_moments
from shesha.comparison.pairwise import arrange_scores
from shesha.comparison.resumable_pairs import require_same_rows
from shesha.inputs import MissingRows, RowChoice
from shesha.measures import as_measure
from shesha.measures.registry import Choice
from shesha.moments import LayerMoments
from shesha.results import LayerComparison, Score
from shesha.support.layer_axis import LayerAxis, layer_sequence
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number
from shesha.support.types import Seed
from shesha.views import layers_in_one_order, select_layer_rows


@keep_statements
def compare_layers(
    layers_a: Layers | LayerMoments,
    layers_b: Layers | Choice | None = None,
    measure: Choice = "CKA",
    *,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
    layer_axis: LayerAxis = "guess",
) -> LayerComparison:
    """Compare every layer of one model with every layer of another, using one measure.

    Parameters
    ----------
    layers_a, layers_b : mappings of names to arrays, or sequences of arrays
        Layers of shape (n_samples, n_features), all computed from the same inputs. In a sequence, layers are named by
        their position. Layers in alphabetical order are put in the order of their numbers. The layers of a model may
        also be one 3-D array. A `shesha.LayerMoments` object summarises the layers of both models, for any number of
        rows. From it, ``compare_layers(moments, measure)`` computes measures that depend only on means and products.
        CKA then has a p-value for each pair, corrected for the number of pairs.
    measure : str or function
        Name of a measure, which may include options, a function of `shesha.measures`, or your own f(X, Y) -> float.
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed of random measures.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which its layers are stacked. None: the array is one layer of token sequences.
        'guess': the first axis, or the second if it is at most a third as long, with a warning.

    Returns
    -------
    LayerComparison
        The grid of scores, with `.matrix()`, `.plot()` and `.best`. It prints as a grid.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> layers = [rng.standard_normal((50, 8)) for _ in range(3)]
    >>> found = compare_layers(layers, {"copy of 2": layers[2], "noise": rng.standard_normal((50, 4))})
    >>> found.closest.first, found.closest.second
    ('2', 'copy of 2')
    """
    if isinstance(layers_a, LayerMoments):
        chosen_one = as_measure(cast(Choice, measure if layers_b is None else layers_b))
        return compare_layer_moments(layers_a, chosen_one)
    if layers_b is None:
        raise TypeError("layers_b must be the layers of a second model, got None; only LayerMoments need no layers_b")
    layers_b = cast(Layers, layers_b)
    models = {
        name: layer_mapping(layer_sequence(layers, name, layer_axis), name)
        for name, layers in (("layers_a", layers_a), ("layers_b", layers_b))
    }
    (first, second), _ = select_layer_rows(models, rows=rows, missing=missing)
    a, b = layers_in_one_order(check_layers(first, "layers_a"), check_layers(second, "layers_b"))
    chosen = seed_measures([as_measure(measure)], seed)
    require_same_rows({f"layers_a[{k}]": v for k, v in a.items()} | {f"layers_b[{k}]": v for k, v in b.items()})
    # The prefixes distinguish the models, whose layers may have the same names.
    sources = {f"a {name}": layer for name, layer in a.items()} | {f"b {name}": layer for name, layer in b.items()}
    pairs = {chosen[0].name: [(f"a {i}", f"b {j}") for i, j in product(a, b)]}
    groups = engine.group_by_view(chosen, pairs, sources.values())
    skipped = engine.too_large(groups, sources)
    pair_scores, interrupted = engine.collect(engine.run(groups, sources, skipped), len(a) * len(b))
    scores = tuple(_restore_layer_names(pair) for pair in arrange_scores(pair_scores, chosen, pairs))
    n_rows = int(next(iter(a.values())).shape[0])
    return LayerComparison(tuple(a), tuple(b), scores, chosen[0].closer, number(seed), interrupted, n_rows=n_rows)


def _restore_layer_names(pair: Score) -> Score:
    reason = pair.reason
    for name in (pair.first, pair.second):
        if reason.startswith(f"{name}: "):
            reason = reason[2:]
            break
    return replace(pair, first=pair.first[2:], second=pair.second[2:], reason=reason)
