"""The page that shows a ranking of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Item, Page, Part, Section, Table, Text
from shesha.results.generic_page import run_details
from shesha.results.similarity.model_ranking_text import (
    ceiling_sentence,
    combination_sentence,
    format_decimals,
    format_interval,
    format_place,
    format_share,
    headline,
    variance_sentence,
)

if TYPE_CHECKING:
    from shesha.results.similarity.model_ranking import ModelRanking


def ranking_page(result: ModelRanking) -> Page:
    """Return the page: the answer, the picture, every model, and every pair of models."""
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
        ran=(
            ("resamples", f"{result.n_resamples:,} of {result.resampled}"),
            ("permutations", f"{result.n_permutations:,}"),
            *run_details(result),
        ),
    )


def _model_table(result: ModelRanking) -> Table:
    listed = result.models
    cells = (
        Column("value", tuple(format_decimals(model.value) for model in listed)),
        Column("interval", tuple(format_interval(model.low, model.high) for model in listed), "<"),
        Column("place", tuple(map(format_place, listed)), "<"),
        Column("corrected p, chance", tuple(format_decimals(model.corrected_p_value) for model in listed)),
        Column("p, ceiling", tuple(format_decimals(model.p_ceiling) for model in listed)),
    )
    return Table(tuple(model.name for model in listed), (cells,), result.measure, "model")


def _pair_table(result: ModelRanking) -> Table:
    cells = (
        Column("difference", tuple(format_decimals(pair.difference) for pair in result.pairs)),
        Column("interval", tuple(format_interval(pair.low, pair.high) for pair in result.pairs), "<"),
        Column("p", tuple(format_decimals(pair.p_value) for pair in result.pairs)),
        Column("corrected p", tuple(format_decimals(pair.corrected_p_value) for pair in result.pairs)),
        Column("verdict", tuple("differ" if result.is_different(pair) else "tie" for pair in result.pairs), "<"),
    )
    return Table(tuple(f"{pair.first}, {pair.second}" for pair in result.pairs), (cells,), "Differences", "pair")


def _share_sections(result: ModelRanking) -> tuple[Section, ...]:
    if result.explained != result.explained:
        return ()
    cells = (
        Column("alone", tuple(format_share(model.alone) for model in result.models)),
        Column("unique", tuple(format_share(model.unique) for model in result.models)),
        Column(
            "interval of unique",
            tuple(format_interval(model.unique_low, model.unique_high) for model in result.models),
            "<",
        ),
        Column("shared", tuple(format_share(model.shared) for model in result.models)),
    )
    table = Table(tuple(model.name for model in result.models), (cells,), "Shares of the variance", "model")
    parts: list[Part] = [Text(variance_sentence(result)), table]
    return (
        Section(
            "Variance that each model explains alone, and variance that no other model explains", tuple(parts), _SHARES
        ),
    )


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
