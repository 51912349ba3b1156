"""Pages of layers compared with layers: the grid, and its best pair with the chance level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Drawing, Explained, HeatMap, Page, Part, Section, Text
from shesha.results.generic_page import what_was_run
from shesha.results.similarity.pages import NO_CHANCE, measure_explained, measures_explained, points

if TYPE_CHECKING:
    from shesha.results.similarity.calibrated_layers import CalibratedLayers
    from shesha.results.similarity.pairwise import LayerComparison

_BEST_OF_MANY = Text(
    "The closest of many pairs is close by chance alone: the p-value of the largest answers for it, not that of its "
    "cell."
)


def layers_page(found: LayerComparison) -> Page:
    """Return the page of a grid of layers without a null."""
    known = any(pair.score.has_value for pair in found.scores)
    values = tuple(map(tuple, found.matrix().to_numpy(dtype=float).tolist()))
    best = found.best if known else None
    at = None if best is None else (found.rows.index(best.first), found.columns.index(best.second))
    told = (
        f"No pair of layers has a value: {found.reason}."
        if best is None
        else f"The closest layers are {best.first} and {best.second}: {found.measure} {best.score.value:.3g}."
    )
    return Page(
        title=f"{len(found.rows)} x {len(found.columns)} layers by {found.measure}",
        question="Which layers of one model match which of the other?",
        answer=(told,),
        numbers=(HeatMap(found.measure, found.rows, found.columns, values, found.closer, at),),
        doubts=(_BEST_OF_MANY, NO_CHANCE),
        sections=(Section("What the measure looks at", tuple(measures_explained([found.scores[0].score]))),),
        ran=what_was_run(found),
    )


def calibrated_layers_page(found: CalibratedLayers) -> Page:
    """Return the page of a grid of layers, whose best is beside the best of chance."""
    at = (found.rows.index(found.best[0]), found.columns.index(found.best[1]))
    beyond = "above" if found.significant else "not above"
    p_values = HeatMap(
        "p of each pair, had it been named beforehand",
        found.rows,
        found.columns,
        found.entry_p_values,
        "lower",
        None,
        3,
        "Smaller is darker.",
    )
    says = Explained(
        found.aggregate, "What is reported of the grid, beside the same of grids whose rows are matched at random.",
        "calibration.md",
    )  # fmt: skip
    return Page(
        title=f"{len(found.rows)} x {len(found.columns)} layers by {found.measure}",
        question="Do the two models have layers that match, beyond the best match that chance gives?",
        answer=(
            f"The {found.aggregate.replace('_', ' ')} of {found.measure} over the grid is {found.observed:.3g}, "
            f"{beyond} chance (p = {found.p_value:.2g}).",
            f"Closest: {found.best[0]} and {found.best[1]}. Rows matched at random give {found.null_mean:.3g} +- "
            f"{found.null_sd:.2g}, and rarely pass {found.threshold:.3g}; calibrated {found.score:.3g}.",
        ),
        numbers=(HeatMap(found.measure, found.rows, found.columns, found.grid, found.closer, at),),
        doubts=(
            *points(found.doubts),
            _BEST_OF_MANY,
            Text(f"Permuted under the null: {found.exchanged}. Declare rows that depend on one another."),
        ),
        sections=(
            Section("The null", _null(found)),
            Section("Every pair on its own", (p_values,), str(_BEST_OF_MANY.text)),
            Section("What the numbers mean", (says, measure_explained(found.measure, found.family, found.closer))),
        ),
        ran=what_was_run(found, {"n_rows": found.n_rows, "aggregate": found.aggregate}),
    )


def _null(found: CalibratedLayers) -> tuple[Part, ...]:
    from shesha.charts import null_distribution

    shows = f"What is reported of {len(found.null)} grids whose rows were matched at random, and of the grid itself."
    label = f"{found.aggregate} of {found.measure}"
    return (Drawing(shows, lambda: null_distribution(found.null, found.observed, found.threshold, label=label)),)
