"""Sentences with which a paper can report many representations: pairs, a consensus or a ranking."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.citation_sources import add_source
from shesha.results.paper_sentences import claim
from shesha.results.similarity.calibrated_many_pairs import CalibratedMany
from shesha.results.similarity.consensus import Consensus
from shesha.results.similarity.model_ranking import ModelRanking, RankedModel
from shesha.results.similarity.pairwise import PairScore, PairwiseComparison
from shesha.results.similarity.recommended_measure_names import RECOMMENDED
from shesha.support.plurals import agree

_CORRECTIONS = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg"}


@claim.register
def _many(result: CalibratedMany) -> str:
    first = result.results[0]
    known = zip(result.pairs, result.results, result.corrected_p_values, strict=True)
    ordered = sorted(known, key=lambda row: (row[2] != row[2], row[2]))
    above = sum(reaches_level(p, test.alpha) for _, test, p in ordered)
    clauses = say.join_clauses(
        [_pair_clause(name, test.observed, test.null_mean, p) for name, test, p in ordered], "more pairs"
    )
    correction = _CORRECTIONS.get(result.correction, result.correction)
    pairs, where = (
        say.count(len(result.pairs), "pair"),
        f"above chance at {first.alpha:g} by {add_source(first.measure)}",
    )
    found = f"{above} of {pairs} {agree(above, 'was', 'were')} {where}"
    if result.undecided:
        found = f"Whether any of {pairs} is {where} {result.undecided}"
    return (
        f"{found} (p corrected by {correction}): {clauses}; {first.n_rows:,} rows, "
        f"{say.draws(first.n_permutations, first.exchanged)}"
    )


def _pair_clause(name: str, value: float, chance: float, p: float) -> str:
    if value != value:
        return f"{name} not estimable"
    note = "" if p != p else f" (chance {say.format_number(chance)}, p = {say.format_p(p)})"
    return f"{name} {say.format_number(value)}{note}"


@claim.register
def _pairwise(result: PairwiseComparison) -> str:
    rows = f"{result.shapes[0][0]:,} rows"
    ordered = sorted(result.measures, key=lambda name: len(result.measures) > say.MOST + 1 and name not in RECOMMENDED)
    clauses = say.join_clauses([_measure_clause(result, name) for name in ordered], "more measures")
    null = ""
    if result.exchanged:
        null = (
            f"; {say.draws(result.n_permutations, result.exchanged)}, p corrected for the number of pairs (step-down "
            "maximum)"
        )
    return f"Similarity of {len(result.names)} representations over {rows}: {clauses}{null}"


def _measure_clause(result: PairwiseComparison, measure: str) -> str:
    pairs = [pair for pair in result.scores if pair.score.measure == measure and pair.first != pair.second]
    known = [pair for pair in pairs if pair.score.has_value]
    if not known:
        return f"{add_source(measure)} not estimable"
    ordered = sorted(known, key=lambda pair: pair.score.value, reverse=known[0].score.closer == "higher")
    ends = _extreme(ordered[0]) if len(ordered) == 1 else f"{_extreme(ordered[0])} to {_extreme(ordered[-1])}"
    tested = [pair.score for pair in known if pair.score.has_null]
    if not tested:
        return f"{add_source(measure)} from {ends}, without a chance level"
    above = sum(reaches_level(score.deciding_p_value, result.alpha) for score in tested)
    levels = [score.null_mean for score in tested]
    chance = say.format_number(sum(levels) / len(levels))
    return (
        f"{add_source(measure)} from {ends}, {above} of {say.count(len(tested), 'pair')} above chance at "
        f"{result.alpha:g} (mean chance level {chance})"
    )


def _extreme(pair: PairScore) -> str:
    p = pair.score.deciding_p_value
    note = f", p = {say.format_p(p)}" if p == p else ""
    return f"{say.format_number(pair.score.value)} ({pair.first} and {pair.second}{note})"


@claim.register
def _consensus(result: Consensus) -> str:
    if result.shares_nothing:
        return (
            f"{len(result.members)} representations of {result.n_rows:,} rows shared no shape above chance at "
            f"{result.alpha:g} (p = {say.format_p(result.shared_p_value)}, permutations of the rows of each)"
        )
    outlying = [member for member in result if member.name in result.outlying]
    parts = "; ".join(
        f"{m.name}, distance {say.format_number(m.distance)}{say.interval(m.low, m.high, result.confidence)}, "
        f"p = {say.format_p(m.corrected_p_value)}"
        for m in outlying
    )
    were = agree(len(outlying), "was an outlier", "were outliers")
    text = f"{len(outlying) or 'none'} {were} at {result.alpha:g}{f': {parts}' if parts else ''}"
    nearest = result.members[0]
    return (
        f"Of {len(result.members)} representations of {result.n_rows:,} rows, {text} (Procrustes distance to the mean "
        f"shape of the others; one-sided Grubbs test, p corrected by Holm); {nearest.name} was nearest "
        f"({say.format_number(nearest.distance)}), and the spread around the mean of all was "
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
