"""The pages that show grids of layers, and the best pair with its chance level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Drawing, Explained, HeatMap, Page, Part, Section, Text
from shesha.results.generic_page import run_details
from shesha.results.sentence_parts import equal_p
from shesha.results.similarity.comparison_pages import NO_CHANCE, measure_explained, measures_explained, points

if TYPE_CHECKING:
    from shesha.results.similarity.calibrated_layers import CalibratedLayers
    from shesha.results.similarity.layer_comparison import LayerComparison

_BEST_OF_MANY = Text(
    "The closest of many pairs is close by chance alone. Use the p-value of the maximum, not the p-value of its cell."
)

_CORRECTED = Text(
    "Each pair has a p-value, corrected for the number of pairs (Holm). The null distribution permutes single rows, so "
    "p-values are too small if rows depend on one another."
)


def projection_lines(result: LayerComparison) -> list[str]:
    """Return how many values were estimated from projected layers, and their largest standard error."""
    errors = [pair.score.sampling_error for pair in result.scores if pair.score.sampling_error]
    return (
        [
            f"{len(errors)} of {len(result.scores)} values are estimates from random projections of wide layers. Their "
            f"standard error is at most {max(errors):.2g} (see the table of scores)"
        ]
        if errors
        else []
    )


def answer_lines(result: LayerComparison) -> list[str]:
    """Return sentences on the closest layers, and on the closest and farthest layers with the same name."""
    best, p = result.best.score, result.best.score.corrected_p_value
    chance = f" ({equal_p(p)}, corrected for {len(result.scores)} pairs)" if p == p else ""
    lines = [f"The closest layers are {result.pair_of_best}: {result.measure} {best.value:.4g}{chance}."]
    same = result.same_layers
    if same:
        most, least = ((pair.first, f"{pair.score.value:.4g}") for pair in (same[0], same[-1]))
        lines.append(
            f"All layers with the same name have {result.measure} {most[1]}."
            if most[1] == least[1]
            else f"Among layers with the same name, {most[0]} is most similar ({most[1]}) and {least[0]} least similar "
            f"({least[1]})."
        )
    return lines


def layers_page(result: LayerComparison) -> Page:
    """Return the page for a grid of layers without a null."""
    known = any(pair.score.has_value for pair in result.scores)
    values = tuple(map(tuple, result.matrix().to_numpy(dtype=float).tolist()))
    best = result.best if known else None
    cells = () if best is None else ((result.rows.index(best.first), result.columns.index(best.second)),)
    has_null = best is not None and best.score.has_null
    chance = (_CORRECTED,) if has_null else (_BEST_OF_MANY, NO_CHANCE)
    answer = [f"No pair of layers has a value: {result.reason}."] if best is None else answer_lines(result)
    return Page(
        title=f"{len(result.rows)} x {len(result.columns)} layers by {result.measure}",
        question=f"Which layers of the two models match? {result.size}.",
        answer=tuple(answer),
        numbers=(HeatMap(result.measure, result.rows, result.columns, values, result.closer, cells),),
        doubts=(*map(Text, projection_lines(result)), *chance),
        sections=(Section("What the measure responds to", tuple(measures_explained([result.scores[0].score]))),),
        ran=run_details(result),
    )


def calibrated_layers_page(result: CalibratedLayers) -> Page:
    """Return the page for a grid of layers that compares its aggregate with chance."""
    says = Explained(
        result.aggregate, "The summary of the grid, compared with that of grids with randomly matched rows.",
        "calibration.md",
    )  # fmt: skip
    return Page(
        title=f"{len(result.rows)} x {len(result.columns)} layers by {result.measure}",
        question="Do the two models have layers that match better than the best match by chance?",
        answer=(result.answer, result.chance_sentence, result.n_above_chance_sentence),
        numbers=(_similarity_map(result),),
        doubts=(
            *points(result.doubts),
            _BEST_OF_MANY,
            Text(
                f"Permuted under the null: {result.exchanged}. If rows depend on one another, declare it with "
                "groups, blocks or shift."
            ),
        ),
        sections=(
            Section("The null", _null(result)),
            Section("Each pair by itself", (_p_value_map(result),), str(_BEST_OF_MANY.text)),
            Section("What the numbers mean", (says, measure_explained(result.measure, result.family, result.closer))),
        ),
        ran=run_details(result, {"n_rows": result.n_rows, "aggregate": result.aggregate}),
    )


def _similarity_map(result: CalibratedLayers) -> HeatMap:
    return HeatMap(
        result.measure,
        result.rows,
        result.columns,
        result.grid,
        result.closer,
        result.framed_cells,
        "above chance, corrected for the number of pairs" if len(result.framed_cells) > 1 else "",
    )


def _p_value_map(result: CalibratedLayers) -> HeatMap:
    return HeatMap(
        "p-value of each pair, valid only if the pair was chosen in advance",
        result.rows,
        result.columns,
        result.entry_p_values,
        "lower",
        digits=3,
        legend="Smaller is darker.",
    )


def _null(result: CalibratedLayers) -> tuple[Part, ...]:
    from shesha.charts import null_distribution

    shows = f"The summary of {len(result.null)} grids with randomly matched rows, and the summary of the observed grid."
    label = f"{result.aggregate} of {result.measure}"
    return (Drawing(shows, lambda: null_distribution(result.null, result.observed, result.threshold, label=label)),)
