"""Sentences with which a paper can report a pair of representations or their layers."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.citation_sources import add_source
from shesha.results.paper_sentences import claim
from shesha.results.similarity import paper_claims_of_many as paper_claims_of_many
from shesha.results.similarity.calibrated import Calibrated
from shesha.results.similarity.calibrated_layers import AGGREGATE_NAMES, CalibratedLayers
from shesha.results.similarity.comparison import Comparison
from shesha.results.similarity.layer_comparison import LayerComparison
from shesha.results.similarity.models_with_reference_within_classes import SeveralWithinClasses
from shesha.results.similarity.noise_ceiling import NoiseCeiling
from shesha.results.similarity.recommended_measure_names import RECOMMENDED
from shesha.results.similarity.score import Score
from shesha.results.similarity.unit_matching import UnitMatching
from shesha.results.similarity.within_classes import WithinClasses


@claim.register
def _calibrated(result: Calibrated) -> str:
    if result.observed != result.observed:
        return f"{add_source(result.measure)} could not be estimated: {result.reason}"
    start = f"{add_source(result.measure)} of the two representations was {say.format_number(result.observed)}"
    rows = f"over {result.n_rows:,} rows"
    if not result.has_null:
        return f"{start} {rows}, without a chance level"
    null = say.null(result, result.alpha)
    return f"{start} {rows}, {null}, {say.draws(result.n_permutations, result.exchanged)}; {_calibrated_part(result)})"


@claim.register
def _layers(result: CalibratedLayers) -> str:
    size = f"{len(result.rows)} x {len(result.columns)} layers"
    start = f"{add_source(result.measure)} over {size}: {_aggregate(result.aggregate)}"
    if result.observed != result.observed:
        return f"{start} could not be estimated"
    null = say.null(result, result.alpha, "null of the same aggregate:")
    return (
        f"{start} was {say.format_number(result.observed)} over {result.n_rows:,} rows, {null}, "
        f"{say.draws(result.n_permutations, result.exchanged)}; {_calibrated_part(result)}); the closest layers were "
        f"{result.best[0]} and {result.best[1]}"
    )


def _aggregate(name: str) -> str:
    return AGGREGATE_NAMES.get(name, f"the aggregate '{name}' of the grid")


def _calibrated_part(result: Calibrated | CalibratedLayers) -> str:
    kind = "calibrated score" if result.maximum is not None else "excess over the threshold"
    return f"{kind} {say.format_number(result.score)}"


@claim.register
def _comparison(result: Comparison) -> str:
    design = f"; permutations of {result.exchanged}" if result.exchanged else ""
    if result.n_permutations:
        design = f"; {say.draws(result.n_permutations, result.exchanged)}"
    known = [score for score in sort_recommended_first(result.scores) if score.has_value]
    clauses = say.join_clauses([_score(score, result) for score in known], "more measures") or "no measure has a value"
    rows = f"{result.shapes[0][0]:,} rows"
    return f"Similarity of {result.first} and {result.second} over {rows}: {clauses}{design}"


def sort_recommended_first(scores: tuple[Score, ...]) -> list[Score]:
    """Return the scores with the recommended measures first; if there are few, keep their order."""
    if len(scores) <= say.MOST + 1:
        return list(scores)
    return sorted(scores, key=lambda score: score.measure not in RECOMMENDED)


def _score(score: Score, result: Comparison) -> str:
    p = score.deciding_p_value
    corrected = "corrected " if score.corrected_p_value == score.corrected_p_value else ""
    chance = f", chance {say.format_number(score.null_mean)}, {corrected}{say.equal_p(p)}" if p == p else ""
    held = "" if score.held_out is None else f", held out {say.format_number(score.held_out)} ({result.folds} folds)"
    value = (
        f"{say.format_number(score.value)}{say.interval(score.interval_low, score.interval_high, result.confidence)}"
    )
    return f"{add_source(score.measure)} {value}{chance}{held}"


@claim.register
def _layer_comparison(result: LayerComparison) -> str:
    size = result.size.replace(" (rows)", "").replace(" (columns)", "")
    known = [pair for pair in result.scores if pair.score.has_value]
    if not known:
        return f"No pair of {size} has a value of {add_source(result.measure)}: {result.reason}"
    best = result.best
    p = best.score.corrected_p_value
    chance = f"{say.equal_p(p)}, corrected for the number of pairs" if p == p else "no chance level was drawn"
    return (
        f"Of {size}, {result.pair_of_best} were closest by {add_source(result.measure)}: "
        f"{say.format_number(best.score.value)}; {chance}"
    )


@claim.register
def _noise_ceiling(result: NoiseCeiling) -> str:
    what = f"The noise ceiling of {add_source(result.measure)}"
    if not result.has_value:
        return f"{what} could not be estimated: {result.reason}"
    return (
        f"{what} was {say.format_number(result.lower)} to {say.format_number(result.upper)} "
        f"({say.count(result.n_repeats, 'repeat')} of {result.n_rows:,} rows; two repeats agree at "
        f"{say.format_number(result.reliability)} on average)"
    )


@claim.register
def _unit_matching(result: UnitMatching) -> str:
    null = say.null(result, result.alpha)
    found = (
        f"{result.n_matched:,} of {min(result.widths):,} units had a one-to-one counterpart above chance (false "
        f"discovery rate {result.alpha:g})"
    )
    return (
        f"{result.headline.removesuffix('.') if result.undecided else found}; the mean correlation of matched units "
        f"was {say.format_number(result.observed)} over {result.n_rows:,} rows, {null}, "
        f"{say.draws(result.n_permutations, result.exchanged)})"
    )


@claim.register
def _within_classes(result: WithinClasses) -> str:
    return f"{_kept_within(result)} ({_null_within(result)})"


def _kept_within(result: WithinClasses, *, sources: bool = True) -> str:
    """Return within which classes geometry was kept, with the values and the source of each measure."""
    values = {add_source(name) if sources else name: _values_within(result, name) for name in result.measures}
    return f"{result.headline.removesuffix('.')}: {'; '.join(f'{name} {value}' for name, value in values.items())}"


def _null_within(result: WithinClasses) -> str:
    rows = say.span([result.sizes[name] for name in result.classes])
    return (
        f"{rows} rows per class; {result.n_permutations:,} permutations of rows within the class"
        f"{' and block' * bool(result.n_blocks)}, p corrected over the classes by Benjamini and Hochberg, level "
        f"{result.alpha:g}"
    )


def _values_within(result: WithinClasses, measure: str) -> str:
    """Return the range of the values, with p-values, for classes above chance and for the other classes."""
    clauses = []
    for above, where, end in ((False, "not above chance", min), (True, "above chance", max)):
        chosen = [name for name in result.classes if result.is_above(measure, name) == above]
        known = [result[name][measure].value for name in chosen if result[name][measure].has_value]
        if known:
            p = end(result.corrected[measure][name] for name in chosen if result[name][measure].has_value)
            low, high = say.format_number(min(known)), say.format_number(max(known))
            values = low if low == high else f"{low} to {high}"
            bound = "at least" if end is min else "at most"
            clauses.append(f"{values} where {where} (p {bound} {say.format_p(p)})")
    return " and ".join(clauses) or "not estimable"


@claim.register
def _several_within_classes(result: SeveralWithinClasses) -> str:
    first, *others = result
    texts = [_kept_within(first), *(_kept_within(comparison, sources=False) for comparison in others)]
    if len({_null_within(comparison) for comparison in result}) == 1:
        return f"{'. '.join(texts)} ({_null_within(first)})"
    return ". ".join(f"{text} ({_null_within(comparison)})" for text, comparison in zip(texts, result, strict=True))
