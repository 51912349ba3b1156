"""Compare all layers of two models, using only sums over batches of their activations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.engine import score_not_reached
from shesha.comparison.moment_scores import add_exact_null, has_exact_moments, is_unbiased, score_sums
from shesha.comparison.projection_bias import correct_projection
from shesha.extract import stream_layers
from shesha.measures import Measure
from shesha.moments import LayerMoments, SummedRepresentation, Sums
from shesha.moments.layer_pair_sums import grid_bytes
from shesha.nulls.corrections import holm
from shesha.results import LayerComparison, PairScore
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed

_FEWEST_ROWS = 4


@dataclass(frozen=True)
class _Strip:
    """Some layers of the first model, with the moments of these and of all layers of the second model."""

    names: tuple[str, ...]
    moments: LayerMoments

    @property
    def sums(self) -> Sums:
        """The sums over all layers."""
        return self.moments.sums()


def compare_layer_moments(moments: LayerMoments, measure: Measure) -> LayerComparison:
    """Compare all pairs of layers; kernel alignments have p-values with Holm's correction for the pairs."""
    _require_estimable(moments, measure)
    n_rows = moments.sums().n_rows
    strip = _Strip(moments.first_names, moments)
    grid = _grid(measure, [_pairs(measure, strip)], moments.first_names, moments.second_names)
    return replace(grid, n_rows=n_rows)


def compare_models(
    models: Sequence[Any],
    data: Sequence[Any],
    measure: Measure,
    *,
    project: int | None = None,
    seed: Seed = 0,
    names: tuple[str, str] | tuple[()] = (),
    **options: Any,
) -> LayerComparison:
    """Run two models on the same inputs, batch by batch, and compare every pair of their layers.

    Activations are not stored. If the sums for all pairs of layers exceed the memory budget, the layers of the first
    model are processed in strips, and each strip needs its own pass over the inputs.

    Parameters
    ----------
    models : two models
        As for `shesha.extract.encode`.
    data : sequence
        Texts or images.
    measure : Measure
        A measure that depends only on means and products.
    project, seed
        As for `LayerMoments`.
    names : pair of str
        Names of the models in the result. Default: no names.
    **options
        As for `shesha.extract.stream_layers`.
    """
    number = draw_seed(seed)
    _require_estimable(LayerMoments(project=project, seed=number), measure)
    steps: list[list[PairScore]] = []
    first: tuple[str, ...] = ()
    remaining: list[str] | None = None
    second: tuple[str, ...] = ()
    while remaining is None or remaining:
        strip, remaining = _sum_strip(models, data, LayerMoments(project=project, seed=number), remaining, options)
        first, second = (*first, *strip.names), strip.moments.second_names
        # Only the scores of a strip are kept, because the sums of all strips would exceed the memory budget.
        steps.append(list(_pairs(measure, strip)))
    return replace(_grid(measure, steps, first, second), seed=number, names=names, n_rows=len(data))


def _sum_strip(
    models: Sequence[Any], data: Sequence[Any], moments: LayerMoments, names: list[str] | None, options: Any
) -> tuple[_Strip, list[str]]:
    """Sum over the inputs for as many layers as fit in memory; also return the names of the other layers."""
    chosen: list[str] = []
    for first, second in stream_layers(models, data, **options):
        if not chosen:
            names = list(first) if names is None else names
            chosen = _strip(names, first, second, moments)
        moments.update({name: first[name] for name in chosen}, second)
    assert names is not None
    return _Strip(tuple(chosen), moments), names[len(chosen) :]


def _require_estimable(moments: LayerMoments, measure: Measure) -> None:
    """Refuse measures for which the error due to a random projection is unknown."""
    if moments.projection is not None and not has_exact_moments(measure):
        raise ValueError(
            f"measure must be a kernel alignment with project, such as CKA or unbiased CKA, got {measure.name}"
        )


def _strip(names: list[str], first: Any, second: Any, moments: LayerMoments) -> list[str]:
    """Return as many leading layers as fit in memory together with all layers of the other model."""
    widths = {name: moments.width(int(first[name].shape[1])) for name in names}
    others = [moments.width(int(layer.shape[1])) for layer in second.values()]
    budget, strip = memory.memory_budget(), list(names)
    while len(strip) > 1 and grid_bytes([widths[name] for name in strip], others) > budget:
        strip.pop()
    return strip


def _grid(
    measure: Measure, parts: Iterable[Iterable[PairScore]], first: tuple[str, ...], second: tuple[str, ...]
) -> LayerComparison:
    scores: list[PairScore] = []
    interrupted = False
    try:
        scores.extend(track(chain.from_iterable(parts), len(first) * len(second), "pairs of layers"))
    except KeyboardInterrupt:
        interrupted = True
    done = {(pair_score.first, pair_score.second) for pair_score in scores}
    missing = [PairScore(i, j, score_not_reached(measure)) for i, j in product(first, second) if (i, j) not in done]
    return LayerComparison(first, second, (*_correct(scores), *missing), measure.closer, interrupted=interrupted)


def _pairs(measure: Measure, strip: _Strip) -> Iterator[PairScore]:
    sums, moments = strip.sums, strip.moments
    sides = [SummedRepresentation(sums, place, precision) for place, precision in enumerate(moments.precisions)]
    for (i, first), (j, other) in product(enumerate(strip.names), enumerate(moments.second_names, len(strip.names))):
        score, factor = score_sums(measure, (sides[i], sides[j])), 1.0
        projected = moments.projected[i], moments.projected[j]
        if score.has_value and any(projected):
            score, factor = correct_projection(score, sums, (i, j), projected, unbiased=is_unbiased(measure))
        if score.has_value and has_exact_moments(measure) and sums.n_rows >= _FEWEST_ROWS:
            score = add_exact_null(measure, score, sums, (i, j), 0.05, factor)
        elif score.has_value:
            score = add_note(score, "no chance level: sums over rows give a chance level for kernel alignments only")
        yield PairScore(first, other, score)


def _correct(scores: Sequence[PairScore]) -> list[PairScore]:
    corrected = holm([pair_score.score.p_value for pair_score in scores])
    return [
        replace(pair_score, score=replace(pair_score.score, corrected_p_value=float(p)))
        for pair_score, p in zip(scores, corrected, strict=True)
    ]
