"""Compare all layers of two models from sums over batches of activations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from shesha.comparison.engine import unreached_score
from shesha.comparison.evidence import add_note
from shesha.comparison.streamed import add_exact_null, has_exact_moments, score_sums
from shesha.extract import stream_layers
from shesha.measures import Measure
from shesha.moments import LayerMoments, SummedRepresentation, Sums
from shesha.moments.layer_moments import grid_bytes
from shesha.nulls.corrections import holm
from shesha.results import LayerComparison, PairScore
from shesha.support import memory as memory
from shesha.support.progress import track

_FEWEST_ROWS = 4


@dataclass(frozen=True)
class _Strip:
    """Some layers of the first model, with their sums and those of all layers of the second."""

    names: tuple[str, ...]
    sums: Sums
    precisions: Sequence[float]


def compare_layer_moments(moments: LayerMoments, measure: Measure, alpha: float = 0.05) -> LayerComparison:
    """Compare all pairs of layers; kernel alignments have p-values, corrected for the number of pairs (Holm)."""
    sums = moments.sums()
    return _grid(measure, [_Strip(moments.first_names, sums, moments.precisions)], moments.second_names, alpha)


def compare_models(models: Sequence[Any], data: Sequence[Any], measure: Measure, **options: Any) -> LayerComparison:
    """Run two models on the same inputs, batch by batch, and compare every pair of their layers.

    Activations are not kept. Where the sums of all pairs exceed the memory budget, the layers of the first model are
    taken in strips, with a pass over the inputs for each.

    Parameters
    ----------
    models : two models
        As `shesha.extract.encode` takes them.
    data : sequence
        Texts or images.
    measure : Measure
        One that is a function of means and products.
    **options
        Of `shesha.extract.stream_layers`.
    """
    strips: list[_Strip] = []
    remaining: list[str] | None = None
    second: tuple[str, ...] = ()
    while remaining is None or remaining:
        moments = LayerMoments()
        chosen: list[str] = []
        for first_layers, second_layers in stream_layers(models, data, **options):
            if not chosen:
                names = list(first_layers) if remaining is None else remaining
                chosen = _strip(names, first_layers, second_layers)
                remaining = names[len(chosen) :]
            moments.update({name: first_layers[name] for name in chosen}, second_layers)
        strips.append(_Strip(tuple(chosen), moments.sums(), moments.precisions))
        second = moments.second_names
    return _grid(measure, strips, second, 0.05)


def _strip(names: list[str], first: Any, second: Any) -> list[str]:
    """Return the first layers that fit in memory together with all layers of the other model."""
    others = [int(layer.shape[1]) for layer in second.values()]
    budget, taken = memory.memory_budget(), list(names)
    while len(taken) > 1 and grid_bytes([int(first[name].shape[1]) for name in taken], others) > budget:
        taken.pop()
    return taken


def _grid(measure: Measure, strips: Sequence[_Strip], second: tuple[str, ...], alpha: float) -> LayerComparison:
    first = tuple(name for strip in strips for name in strip.names)
    steps = (step for strip in strips for step in _pairs(measure, strip, second, alpha))
    found: list[PairScore] = []
    interrupted = False
    try:
        found.extend(track(steps, len(first) * len(second), "pairs of layers"))
    except KeyboardInterrupt:
        interrupted = True
    done = {(one.first, one.second) for one in found}
    missing = [PairScore(i, j, unreached_score(measure)) for i, j in product(first, second) if (i, j) not in done]
    return LayerComparison(first, second, (*_correct(found), *missing), measure.closer, interrupted=interrupted)


def _pairs(measure: Measure, strip: _Strip, second: tuple[str, ...], alpha: float) -> Iterator[PairScore]:
    sums = strip.sums
    sides = [SummedRepresentation(sums, place, precision) for place, precision in enumerate(strip.precisions)]
    for (i, first), (j, other) in product(enumerate(strip.names), enumerate(second, len(strip.names))):
        score = score_sums(measure, (sides[i], sides[j]))
        if score.has_value and has_exact_moments(measure) and sums.n_rows >= _FEWEST_ROWS:
            score = add_exact_null(measure, score, sums, (i, j), alpha)
        elif score.has_value:
            score = add_note(score, "no chance level: only kernel alignments have one from sums of layers")
        yield PairScore(first, other, score)


def _correct(found: Sequence[PairScore]) -> list[PairScore]:
    corrected = holm([one.score.p_value for one in found])
    return [
        replace(one, score=replace(one.score, corrected_p_value=float(p)))
        for one, p in zip(found, corrected, strict=True)
    ]
