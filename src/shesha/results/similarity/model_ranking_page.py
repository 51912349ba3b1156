"""Headline, table and page of a model ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Item, Page, Part, Section, Table, Text, columns, page_width, wrap
from shesha.results.generic_page import run_details
from shesha.support.plurals import agree

if TYPE_CHECKING:
    from shesha.results.similarity.model_ranking import ModelRanking, RankedModel


def headline(result: ModelRanking) -> str:
    """Return which model is closest, and which models are not significantly worse."""
    first, best = result.models[0], result.best
    value = f"{result.measure} {_format_number(first.value)}"
    if len(result.models) == 1:
        return f"{first.name}: {value}. A single model is not ranked."
    if not result.pairs or result.pairs[0].corrected_p_value != result.pairs[0].corrected_p_value:
        return f"{first.name} is closest ({value}). It was not tested whether other rows would change the order."
    ties = [name for name in best if name != first.name]
    if ties:
        several = f"{', '.join(ties[:4])}{f' and {len(ties) - 4} more' if len(ties) > 4 else ''}"
        return f"{first.name} is closest ({value}), but not significantly closer than {several}."
    others = {2: result.models[1].name, 3: "both others"}.get(
        len(result.models), f"all {len(result.models) - 1} others"
    )
    return f"{first.name} explains the data best ({value}), significantly better than {others}."


def ceiling_sentence(result: ModelRanking) -> str:
    """Return a sentence on the noise ceiling."""
    if not result.has_ceiling:
        return ""
    reach = [model.name for model in result.models if model.p_ceiling > result.alpha]
    clause = (
        f"{', '.join(reach)} {agree(len(reach), 'does', 'do')} not differ from it significantly"
        if reach
        else "every model differs from it significantly"
    )
    low, high = _format_number(result.ceiling_lower), _format_number(result.ceiling_upper)
    return f"The noise ceiling is {low} to {high}; {clause}."


def combination_sentence(result: ModelRanking) -> str:
    """Return a sentence on the held-out gain from weighting several models."""
    combination = result.combination
    if combination is None:
        return ""
    weights = sorted(combination.weights.items(), key=lambda pair: -pair[1])
    shares = ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:5] if weight >= 0.005)
    return (
        f"A weighted combination of the models reaches {_format_number(combination.value)} on held-out rows (weights: "
        f"{shares}). {combination.best_single} alone reaches {_format_number(combination.best_single_value)} on the "
        "same rows."
    )


def variance_sentence(result: ModelRanking) -> str:
    """Return a sentence on the variance that all models explain."""
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
            *(model.name, _format_number(model.value), _interval(model.low, model.high), _place(model)),
            *(_format_number(model.corrected_p_value), _format_share(model.alone), _format_share(model.unique)),
        ]
        for model in result.models
    ]
    known = len(heads) if result.explained == result.explained else 5
    return [row[:known] for row in (heads, *rows)]


def _design_note(result: ModelRanking) -> str:
    subjects = f"{result.n_subjects} subjects" if result.n_subjects > 1 else "one subject"
    return (
        f"{result.closer.capitalize()} is closer. The data have {result.n_rows:,} rows and {subjects}. Brackets are "
        f"{result.confidence:.0%} intervals from {result.n_resamples:,} resamples of {result.resampled}. Places follow "
        f"from tests of the differences between pairs of models ({result.correction})."
    )


def ranking_page(result: ModelRanking) -> Page:
    """Return the page: the answer, the picture, every model, every pair."""
    sentences = (headline(result), ceiling_sentence(result), combination_sentence(result))
    return Page(
        title="Which model explains the data best",
        question="Which model is closest to the data, is the difference significant, and how close could any model be?",
        answer=tuple(filter(None, sentences)),
        numbers=(_model_table(result),),
        doubts=tuple(Item(note) for note in result.notes),
        sections=(
            Section("Models and the noise ceiling", (Drawing(_PICTURE, result.plot, wide=True),)),
            *((Section("Pairs", (_pair_table(result),), _PAIRS),) if result.pairs else ()),
            *_share_sections(result),
        ),
        ran=(("resamples", f"{result.n_resamples:,} of {result.resampled}"), *run_details(result)),
    )


def _model_table(result: ModelRanking) -> Table:
    listed = result.models
    cells = (
        Column("value", tuple(_format_number(model.value) for model in listed)),
        Column("interval", tuple(_interval(model.low, model.high) for model in listed), "<"),
        Column("place", tuple(map(_place, listed)), "<"),
        Column("corrected p, chance", tuple(_format_number(model.corrected_p_value) for model in listed)),
        Column("p, ceiling", tuple(_format_number(model.p_ceiling) for model in listed)),
    )
    return Table(tuple(model.name for model in listed), (cells,), result.measure, "model")


def _pair_table(result: ModelRanking) -> Table:
    cells = (
        Column("difference", tuple(_format_number(pair.difference) for pair in result.pairs)),
        Column("interval", tuple(_interval(pair.low, pair.high) for pair in result.pairs), "<"),
        Column("p", tuple(_format_number(pair.p_value) for pair in result.pairs)),
        Column("corrected p", tuple(_format_number(pair.corrected_p_value) for pair in result.pairs)),
        Column("verdict", tuple("differ" if result.is_different(pair) else "tie" for pair in result.pairs), "<"),
    )
    return Table(tuple(f"{pair.first}, {pair.second}" for pair in result.pairs), (cells,), "Differences", "pair")


def _share_sections(result: ModelRanking) -> tuple[Section, ...]:
    if result.explained != result.explained:
        return ()
    cells = (
        Column("alone", tuple(_format_share(model.alone) for model in result.models)),
        Column("unique", tuple(_format_share(model.unique) for model in result.models)),
        Column(
            "interval of unique", tuple(_interval(model.unique_low, model.unique_high) for model in result.models), "<"
        ),
        Column("shared", tuple(_format_share(model.shared) for model in result.models)),
    )
    table = Table(tuple(model.name for model in result.models), (cells,), "Shares of the variance", "model")
    parts: list[Part] = [Text(variance_sentence(result)), table]
    return (
        Section(
            "Variance that each model explains alone, and variance that no other model explains", tuple(parts), _SHARES
        ),
    )


def _place(model: RankedModel) -> str:
    return f"{model.rank_low}" if model.rank_low == model.rank_high else f"{model.rank_low} to {model.rank_high}"


def _format_number(value: float) -> str:
    return "" if value != value else f"{value:.3g}" if abs(value) < 0.001 else f"{value:.3f}"


def _format_share(value: float) -> str:
    return "" if value != value else f"{value:.1%}"


def _interval(low: float, high: float) -> str:
    return "" if low != low else f"[{_format_number(low) or '0'}, {_format_number(high) or '0'}]"


_PICTURE = (
    "Each bar is a model with its interval. The grey band is the noise ceiling. Lines above the bars connect pairs "
    "that differ significantly after correction. A dot at the foot of a bar marks a model above chance."
)
_PAIRS = (
    "Intervals and p-values are for new rows and, with several subjects, new subjects. 'Tie' means no significant "
    "difference."
)
_SHARES = (
    "Shares are squared correlations with the distances of each subject, averaged over subjects. They are in sample, "
    "so even an unrelated model has a small positive share. Compare intervals, not single values."
)
