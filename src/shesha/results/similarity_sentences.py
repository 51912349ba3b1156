"""Sentences with which a paper can report a pair of representations or their layers."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.comparison import RECOMMENDED, Comparison, NoiseCeiling, PairwiseComparison, Score
from shesha.results.consensus import Consensus, UnitMatching
from shesha.results.layer_grids import AGGREGATE_NAMES, LayerComparison
from shesha.results.model_ranking import ModelRanking, RankedModel
from shesha.results.paper_sentences import claim
from shesha.results.sentence_parts import add_source
from shesha.results.within_classes import SeveralWithinClasses, WithinClasses
from shesha.support.wording import agree

_CORRECTIONS = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg"}


@claim.register
def _pairwise(result: PairwiseComparison) -> str:
    rows = f"{say.span([shape[0] for shape in result.shapes] or [pair.n_rows for pair in result.scores])} rows"
    ordered = sorted(result.measures, key=lambda name: len(result.measures) > say.MOST + 1 and name not in RECOMMENDED)
    clauses = say.join_clauses([_measure_clause(result, name) for name in ordered], "more measures")
    null = ""
    if result.exchanged:
        correction = _CORRECTIONS.get(result.correction, "step-down maximum")
        null = f"; {say.draws(result.n_draws, result.exchanged)}, p corrected for the number of pairs ({correction})"
    n_pairs = len({(pair.first, pair.second) for pair in result.scores})
    what = say.count(len(result.names), "representation") if result.names else say.count(n_pairs, "pair")
    return f"Similarity of {what} over {rows}: {clauses}{null}"


def _measure_clause(result: PairwiseComparison, measure: str) -> str:
    pairs = [pair for pair in result.scores if pair.name == measure and pair.first != pair.second]
    known = [pair for pair in pairs if pair.has_value]
    if not known:
        return f"{add_source(measure)} not estimable"
    ordered = sorted(known, key=lambda pair: pair.value, reverse=known[0].closer == "higher")
    ends = _extreme(ordered[0]) if len(ordered) == 1 else f"{_extreme(ordered[0])} to {_extreme(ordered[-1])}"
    tested = [pair for pair in known if pair.has_null]
    if not tested:
        return f"{add_source(measure)} from {ends}, without a chance level"
    above = sum(reaches_level(score.deciding_p_value, result.alpha) for score in tested)
    levels = [score.chance for score in tested]
    chance = say.format_number(sum(levels) / len(levels))
    n_above = f"{above} of {say.count(len(tested), 'pair')} above chance at {result.alpha:g}"
    if why := result.undecided.get(measure, ""):
        n_above = f"whether any of {say.count(len(tested), 'pair')} is above chance at {result.alpha:g} {why}"
    return f"{add_source(measure)} from {ends}, {n_above} (mean chance level {chance})"


def _extreme(pair: Score) -> str:
    p = pair.deciding_p_value
    note = f", p = {say.format_p(p)}" if p == p else ""
    return f"{say.format_number(pair.value)} ({pair.pair()}{note})"


def _rows(result: Consensus) -> str:
    return f"{result.n_rows:,} rows" + (f" in {result.n_groups:,} groups" if result.n_groups else "")


@claim.register
def _consensus(result: Consensus) -> str:
    if result.shares_nothing:
        return (
            f"{len(result.members)} representations of {_rows(result)} shared no shape above chance at "
            f"{result.alpha:g} (p = {say.format_p(result.shared_p_value)}, permutations of the rows of each)"
        )
    outlying = [member for member in result if member.name in result.outlying]
    parts = "; ".join(
        f"{m.name}, distance {say.format_number(m.value)}{say.interval(m.low, m.high, result.confidence)}, "
        f"p = {say.format_p(m.corrected_p_value)}"
        for m in outlying
    )
    were = agree(len(outlying), "was an outlier", "were outliers")
    text = f"{len(outlying) or 'none'} {were} at {result.alpha:g}{f': {parts}' if parts else ''}"
    nearest = result.members[0]
    return (
        f"Of {len(result.members)} representations of {_rows(result)}, {text} (Procrustes distance to the mean shape "
        f"of the others; one-sided Grubbs test, p corrected by Holm); {nearest.name} was nearest "
        f"({say.format_number(nearest.value)}), and the spread around the mean of all was "
        f"{say.format_number(result.spread)}"
    )


@claim.register
def _ranking(result: ModelRanking) -> str:
    clauses = say.join_clauses([_model_clause(model, result) for model in result.models], "more models")
    ceiling = ""
    if result.has_ceiling:
        ends = f"{say.format_number(result.ceiling_lower)} to {say.format_number(result.ceiling_upper)}"
        ceiling = f"; noise ceiling {ends}"
    correction = _CORRECTIONS.get(result.correction, result.correction)
    tested = f"; differences tested over resampled {result.resampled}, corrected by {correction}"
    return (
        f"{result.headline.removesuffix('.')} ({add_source(result.measure)}; "
        f"{say.count(result.n_subjects, 'subject')} of {result.n_rows:,} rows): {clauses}{ceiling}"
        f"{tested if result.n_resamples else ''}"
    )


def _model_clause(line: RankedModel, result: ModelRanking) -> str:
    p = line.corrected_p_value
    chance = f", p against chance {say.format_p(p)}" if p == p else ""
    return f"{line.name} {say.format_number(line.value)}{say.interval(line.low, line.high, result.confidence)}{chance}"


@claim.register
def _calibrated(result: Score) -> str:
    if result.value != result.value:
        return f"{add_source(result.name)} could not be estimated: {result.reason}"
    value = f"{say.format_number(result.value)}{say.interval(result.low, result.high, result.confidence)}"
    start = f"{add_source(result.name)} of the two representations was {value}"
    rows = f"over {result.n_rows:,} rows"
    if not result.has_null:
        known = result.chance == result.chance
        level = f"not tested (chance level {say.format_number(result.chance)})" if known else "without a chance level"
        return f"{start} {rows}, {level}"
    null = say.null(result, result.alpha)
    return f"{start} {rows}, {null}, {say.draws(result.n_draws, result.exchanged)}; {_calibrated_part(result)})"


@claim.register
def _layers(result: LayerComparison) -> str:
    size, measure = result.size.replace(" (rows)", "").replace(" (columns)", ""), add_source(result.name)
    if not result.partners:
        return f"No pair of {size} has a value of {measure}: {result.reason}"
    if result.has_null:
        null = say.null(result, result.alpha, "null of the same aggregate:")
        return (
            f"{measure} of {size}: {_aggregate(result.aggregate)} was {say.format_number(result.value)}, {null}, "
            f"{say.draws(result.n_draws, result.exchanged)}; {_calibrated_part(result)}); the closest layers were "
            f"{result.pair_of_best}"
        )
    p = result.closest.corrected_p_value
    chance = f"{say.equal_p(p)}, corrected for the number of pairs" if p == p else "no chance level was drawn"
    return (
        f"Of {size}, {result.pair_of_best} were closest by {measure}: {say.format_number(result.closest.value)}; "
        f"{chance}"
    )


def _aggregate(name: str) -> str:
    return AGGREGATE_NAMES.get(name, f"the aggregate '{name}' of the grid")


def _calibrated_part(result: Score | LayerComparison) -> str:
    kind = "calibrated score" if result.best == result.best else "excess over the threshold"
    return f"{kind} {say.format_number(result.calibrated)}"


@claim.register
def _comparison(result: Comparison) -> str:
    design = f"; permutations of {result.exchanged}" if result.exchanged else ""
    if result.n_draws:
        design = f"; {say.draws(result.n_draws, result.exchanged)}"
    known = [score for score in sort_recommended_first(result.scores) if score.has_value]
    clauses = say.join_clauses([_score(score, result) for score in known], "more measures") or "no measure has a value"
    rows = f"{result.shapes[0][0]:,} rows"
    return f"Similarity of {result.first} and {result.second} over {rows}: {clauses}{design}"


def sort_recommended_first(scores: tuple[Score, ...]) -> list[Score]:
    """Return the scores with the recommended measures first; if there are few, keep their order."""
    if len(scores) <= say.MOST + 1:
        return list(scores)
    return sorted(scores, key=lambda score: score.name not in RECOMMENDED)


def _score(score: Score, result: Comparison) -> str:
    p = score.deciding_p_value
    corrected = "corrected " if score.corrected_p_value == score.corrected_p_value else ""
    chance = f", chance {say.format_number(score.chance)}, {corrected}{say.equal_p(p)}" if p == p else ""
    held = "" if score.held_out is None else f", held out {say.format_number(score.held_out)} ({result.folds} folds)"
    value = f"{say.format_number(score.value)}{say.interval(score.low, score.high, result.confidence)}"
    return f"{add_source(score.name)} {value}{chance}{held}"


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
        f"was {say.format_number(result.value)} over {result.n_rows:,} rows, {null}, "
        f"{say.draws(result.n_draws, result.exchanged)})"
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
        f"{rows} rows per class; {result.n_draws:,} permutations of rows within the class"
        f"{' and block' * bool(result.n_blocks)}, p corrected over measures and classes by Holm's method, level "
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
