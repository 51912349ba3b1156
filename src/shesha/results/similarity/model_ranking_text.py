"""The headline, sentences and table of a model ranking, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import columns, page_width, wrap
from shesha.results.base import reaches_level
from shesha.support.plurals import agree

if TYPE_CHECKING:
    from shesha.results.similarity.model_ranking import ModelRanking, RankedModel


def headline(result: ModelRanking) -> str:
    """Return which model is closest, and which models are not significantly worse."""
    first, best = result.models[0], result.best
    value = f"{result.measure} {format_decimals(first.value)}"
    if len(result.models) == 1:
        return f"{first.name}: {value}. A single model is not ranked."
    if not result.pairs or result.pairs[0].corrected_p_value != result.pairs[0].corrected_p_value:
        return f"{first.name} is closest ({value}). It was not tested whether other rows would change the order."
    ties = [name for name in best if name != first.name]
    if ties:
        several = f"{', '.join(ties[:4])}{f' and {len(ties) - 4} more' if len(ties) > 4 else ''}"
        return f"{first.name} is closest ({value}), but not significantly closer than {several} at {result.alpha:g}."
    others = {2: result.models[1].name, 3: "both others"}.get(
        len(result.models), f"all {len(result.models) - 1} others"
    )
    return f"{first.name} explains the data best ({value}), significantly better than {others} at {result.alpha:g}."


def ceiling_sentence(result: ModelRanking) -> str:
    """Return a sentence about the noise ceiling."""
    if not result.has_ceiling:
        return ""
    reaching = [model.name for model in result.models if result.reaches_ceiling(model)]
    short = [model for model in result.models if model.value == model.value and model.name not in reaching]
    below = [model.name for model in short if reaches_level(model.p_ceiling, result.alpha)]
    open_ones = [model.name for model in short if model.p_ceiling == model.p_ceiling and model.name not in below]
    untested = [model.name for model in short if model.p_ceiling != model.p_ceiling]
    clauses = (
        (reaching, f"{agree(len(reaching), 'reaches', 'reach')} it"),
        (below, f"{agree(len(below), 'falls', 'fall')} short of it significantly"),
        (open_ones, f"{agree(len(open_ones), 'falls', 'fall')} short of it, but not significantly"),
        (untested, f"{agree(len(untested), 'falls', 'fall')} short of it (not tested)"),
    )
    clause = "; ".join(f"{', '.join(names)} {text}" for names, text in clauses if names)
    low, high = format_decimals(result.ceiling_lower), format_decimals(result.ceiling_upper)
    return f"The noise ceiling is {low} to {high}; {clause}."


def combination_sentence(result: ModelRanking) -> str:
    """Return a sentence on what a weighted combination of models gains on held-out data."""
    combination = result.combination
    if combination is None:
        return ""
    weights = sorted(combination.weights.items(), key=lambda pair: -pair[1])
    shares = ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:5] if weight >= 0.005)
    return (
        f"A weighted combination of the models reaches {format_decimals(combination.value)} on held-out rows (weights: "
        f"{shares}). {combination.best_single} alone reaches {format_decimals(combination.best_single_value)} on the "
        "same rows."
    )


def variance_sentence(result: ModelRanking) -> str:
    """Return a sentence on the variance that all models together explain."""
    if result.explained != result.explained:
        return ""
    return f"All models together explain {result.explained:.1%} of the variance of the distances, in sample."


def ranking_text(result: ModelRanking) -> str:
    """Return the headline, one line per model, the ceiling, the weights and the notes."""
    width, lines = page_width(), _lines(result)
    text = [
        *wrap(headline(result), width, hanging=""),
        "",
        *columns(lines, "<><<>>>"[: len(lines[0])], indent="  "),
        "",
    ]
    parts = (ceiling_sentence(result), combination_sentence(result), variance_sentence(result), _design_note(result))
    for sentence in filter(None, parts):
        text += wrap(sentence, width, hanging="")
    for note in result.notes:
        text += wrap(f"! {note}", width)
    return "\n".join(text)


def _lines(result: ModelRanking) -> list[list[str]]:
    heads = ["model", result.measure.split("(")[0], "interval", "place", "p chance", "alone", "unique"]
    rows = [
        [
            *(
                model.name,
                format_decimals(model.value),
                format_interval(model.low, model.high),
                format_place(model),
            ),
            *(format_decimals(model.corrected_p_value), format_share(model.alone), format_share(model.unique)),
        ]
        for model in result.models
    ]
    known = len(heads) if result.explained == result.explained else 5
    return [row[:known] for row in (heads, *rows)]


def _design_note(result: ModelRanking) -> str:
    subjects = f"{result.n_subjects} subjects" if result.n_subjects > 1 else "one subject"
    return (
        f"{result.closer.capitalize()} is closer. The data have {result.n_rows:,} rows and {subjects}. Brackets are "
        f"{100 * result.confidence:g} % intervals from {result.n_resamples:,} resamples of {result.resampled}. Places "
        f"follow from tests of the differences between pairs of models ({result.correction})."
    )


def format_place(model: RankedModel) -> str:
    """Format the rank of a model, or its range of ranks if it ties with others."""
    return f"{model.rank_low}" if model.rank_low == model.rank_high else f"{model.rank_low} to {model.rank_high}"


def format_decimals(value: float) -> str:
    """Format a value with three decimals; empty for NaN."""
    return "" if value != value else f"{value:.3g}" if abs(value) < 0.001 else f"{value:.3f}"


def format_share(value: float) -> str:
    """Format a share as a percentage; empty for NaN."""
    return "" if value != value else f"{value:.1%}"


def format_interval(low: float, high: float) -> str:
    """Format an interval in brackets; empty if there is none."""
    return "" if low != low else f"[{format_decimals(low) or '0'}, {format_decimals(high) or '0'}]"
