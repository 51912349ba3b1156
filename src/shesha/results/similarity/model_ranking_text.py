"""A ranking of models in words: the headline, the table, and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Item, Page, Part, Section, Table, Text, columns, page_width, wrap
from shesha.results.generic_page import what_was_run

if TYPE_CHECKING:
    from shesha.results.similarity.model_ranking import ModelRanking, RankedModel


def headline(found: ModelRanking) -> str:
    """Say which model is closest, and whether others tie with it."""
    first, best = found.models[0], found.best
    value = f"{found.measure} {_number(first.value)}"
    if len(found.models) == 1:
        return f"{first.name}: {value}; a single model has no rank."
    if not found.pairs or found.pairs[0].corrected_p_value != found.pairs[0].corrected_p_value:
        return f"{first.name} is closest ({value}); no test says whether other rows would change the order."
    ties = [name for name in best if name != first.name]
    if ties:
        several = f"{', '.join(ties[:4])}{f' and {len(ties) - 4} more' if len(ties) > 4 else ''}"
        return f"{first.name} is closest ({value}), and ties with {several}: no significant difference."
    others = f"all {len(found.models) - 1} others" if len(found.models) > 2 else found.models[1].name
    return f"{first.name} explains the data best ({value}), significantly better than {others}."


def ceiling_sentence(found: ModelRanking) -> str:
    """Say how close any model could come."""
    if not found.has_ceiling:
        return ""
    reach = [one.name for one in found.models if one.p_ceiling > found.alpha]
    said = f"{', '.join(reach)} cannot be told from it" if reach else "every model differs from it significantly"
    return f"Noise ceiling: {_number(found.ceiling_lower)} to {_number(found.ceiling_upper)}; {said}."


def combination_sentence(found: ModelRanking) -> str:
    """Say what weighting several models adds, held out."""
    one = found.combination
    if one is None:
        return ""
    weights = sorted(one.weights.items(), key=lambda pair: -pair[1])
    told = ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:5] if weight >= 0.005)
    return (
        f"Weighted together, held out: {_number(one.value)} ({told}); {one.best_single} alone, on the same held-out "
        f"rows: {_number(one.best_single_value)}."
    )


def explained_sentence(found: ModelRanking) -> str:
    """Say what share of the variance all models explain."""
    if found.explained != found.explained:
        return ""
    return f"All models together explain {found.explained:.1%} of the variance of the distances, in sample."


def ranking_text(found: ModelRanking) -> str:
    """Return the headline, a line per model, the ceiling, the weights and the notes."""
    width, lines = page_width(), _lines(found)
    text = [*wrap(headline(found), width, hanging=""), "", *columns(lines, "<><<>>>"[: len(lines[0])], indent="  "), ""]
    said = (ceiling_sentence(found), combination_sentence(found), explained_sentence(found), _about(found))
    for sentence in filter(None, said):
        text += wrap(sentence, width, hanging="")
    for note in found.notes:
        text += wrap(f"! {note}", width)
    return "\n".join(text)


def _lines(found: ModelRanking) -> list[list[str]]:
    heads = ["model", found.measure.split("(")[0], "interval", "place", "p chance", "alone", "unique"]
    rows = [
        [
            *(one.name, _number(one.value), _interval(one.low, one.high), _place(one)),
            *(_number(one.corrected_p_value), _share(one.alone), _share(one.unique)),
        ]
        for one in found.models
    ]
    known = len(heads) if found.explained == found.explained else 5
    return [row[:known] for row in (heads, *rows)]


def _about(found: ModelRanking) -> str:
    subjects = f"{found.n_subjects} subjects" if found.n_subjects > 1 else "one subject"
    return (
        f"{found.closer.capitalize()} is closer. {found.n_rows:,} rows, {subjects}; intervals at "
        f"{found.confidence:.0%} from {found.n_resamples:,} resamples of {found.resampled}; places from differences of "
        f"pairs ({found.correction})."
    )


def ranking_page(found: ModelRanking) -> Page:
    """Return the page: the answer, the picture, every model, every pair."""
    said = (headline(found), ceiling_sentence(found), combination_sentence(found))
    return Page(
        title="Which model explains the data best",
        question="Which model comes closest, is the difference more than chance, and how close could any model come?",
        answer=tuple(filter(None, said)),
        numbers=(_model_table(found),),
        doubts=tuple(Item(note) for note in found.notes),
        sections=(
            Section("Models beside the noise ceiling", (Drawing(_PICTURE, found.plot, wide=True),)),
            *((Section("Pairs", (_pair_table(found),), _PAIRS),) if found.pairs else ()),
            *_shares(found),
        ),
        ran=(("resamples", f"{found.n_resamples:,} of {found.resampled}"), *what_was_run(found)),
    )


def _model_table(found: ModelRanking) -> Table:
    listed = found.models
    cells = (
        Column("value", tuple(_number(one.value) for one in listed)),
        Column("interval", tuple(_interval(one.low, one.high) for one in listed), "<"),
        Column("place", tuple(map(_place, listed)), "<"),
        Column("corrected p, chance", tuple(_number(one.corrected_p_value) for one in listed)),
        Column("p, ceiling", tuple(_number(one.p_ceiling) for one in listed)),
    )
    return Table(tuple(one.name for one in listed), (cells,), found.measure, "model")


def _pair_table(found: ModelRanking) -> Table:
    cells = (
        Column("difference", tuple(_number(one.difference) for one in found.pairs)),
        Column("interval", tuple(_interval(one.low, one.high) for one in found.pairs), "<"),
        Column("p", tuple(_number(one.p_value) for one in found.pairs)),
        Column("corrected p", tuple(_number(one.corrected_p_value) for one in found.pairs)),
        Column("verdict", tuple("differ" if found.is_different(one) else "tie" for one in found.pairs), "<"),
    )
    return Table(tuple(f"{one.first}, {one.second}" for one in found.pairs), (cells,), "Differences", "pair")


def _shares(found: ModelRanking) -> tuple[Section, ...]:
    if found.explained != found.explained:
        return ()
    cells = (
        Column("alone", tuple(_share(one.alone) for one in found.models)),
        Column("unique", tuple(_share(one.unique) for one in found.models)),
        Column("interval of unique", tuple(_interval(one.unique_low, one.unique_high) for one in found.models), "<"),
        Column("shared", tuple(_share(one.shared) for one in found.models)),
    )
    table = Table(tuple(one.name for one in found.models), (cells,), "Shares of the variance", "model")
    parts: list[Part] = [Text(explained_sentence(found)), table]
    return (Section("What each model explains by itself, and what only it explains", tuple(parts), _SHARES),)


def _place(one: RankedModel) -> str:
    return f"{one.rank_low}" if one.rank_low == one.rank_high else f"{one.rank_low} to {one.rank_high}"


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3g}" if abs(value) < 0.001 else f"{value:.3f}"


def _share(value: float) -> str:
    return "" if value != value else f"{value:.1%}"


def _interval(low: float, high: float) -> str:
    return "" if low != low else f"[{_number(low) or '0'}, {_number(high) or '0'}]"


_PICTURE = (
    "Each bar is a model with its interval; the grey band is the noise ceiling. Lines above join pairs that differ "
    "significantly after correction; a dot at the foot of a bar marks a model above chance."
)
_PAIRS = (
    "Intervals and p-values allow for new rows and, with several subjects, new subjects. No significant difference: a "
    "tie."
)
_SHARES = (
    "Squared correlations with the distances of each subject, averaged. They are in sample, so even an unrelated model "
    "has a small positive share: compare intervals, not single digits."
)
