"""What a paper would say of many representations: pairs, a consensus, a ranking of models."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.citation_sources import add_source
from shesha.results.paper_sentences import claim
from shesha.results.similarity.calibrated_many_pairs import CalibratedMany
from shesha.results.similarity.consensus import Consensus
from shesha.results.similarity.model_ranking import ModelRanking, RankedModel
from shesha.results.similarity.pairwise import PairScore, PairwiseComparison
from shesha.results.similarity.recommended_measures import RECOMMENDED

_CORRECTIONS = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg"}


@claim.register
def _many(result: CalibratedMany) -> str:
    first = result.results[0]
    known = zip(result.pairs, result.results, result.corrected_p_values, strict=True)
    ordered = sorted(known, key=lambda one: (one[2] != one[2], one[2]))
    above = sum(reaches_level(p, one.alpha) for _, one, p in ordered)
    told = say.join_clauses(
        [_pair_clause(name, one.observed, one.null_mean, p) for name, one, p in ordered], "more pairs"
    )
    correction = _CORRECTIONS.get(result.correction, result.correction)
    return (
        f"{above} of {say.count(len(result.pairs), 'pair')} {_verb(above)} above chance at {first.alpha:g} by "
        f"{add_source(first.measure)} (p corrected by {correction}): {told}; {first.n_rows:,} rows, "
        f"{say.draws(first.n_permutations, first.exchanged)}"
    )


def _verb(n: int) -> str:
    return "was" if n == 1 else "were"


def _pair_clause(name: str, value: float, chance: float, p: float) -> str:
    if value != value:
        return f"{name} not estimable"
    beside = "" if p != p else f" (chance {say.format_number(chance)}, p = {say.format_p(p)})"
    return f"{name} {say.format_number(value)}{beside}"


@claim.register
def _pairwise(result: PairwiseComparison) -> str:
    rows = f"{result.shapes[0][0]:,} rows"
    ordered = sorted(result.measures, key=lambda one: len(result.measures) > say.MOST + 1 and one not in RECOMMENDED)
    clauses = say.join_clauses([_measure_clause(result, name) for name in ordered], "more measures")
    null = ""
    if result.exchanged:
        null = (
            f"; {say.draws(result.n_permutations, result.exchanged)}, p corrected for the number of pairs (step-down "
            "maximum)"
        )
    return f"Similarity of {len(result.names)} representations over {rows}: {clauses}{null}"


def _measure_clause(result: PairwiseComparison, measure: str) -> str:
    pairs = [one for one in result.scores if one.score.measure == measure and one.first != one.second]
    known = [one for one in pairs if one.score.has_value]
    if not known:
        return f"{add_source(measure)} not estimable"
    ordered = sorted(known, key=lambda one: one.score.value, reverse=known[0].score.closer == "higher")
    ends = _extreme(ordered[0]) if len(ordered) == 1 else f"{_extreme(ordered[0])} to {_extreme(ordered[-1])}"
    tested = [one.score for one in known if one.score.has_null]
    if not tested:
        return f"{add_source(measure)} from {ends}, without a chance level"
    above = sum(reaches_level(one.deciding_p_value, result.alpha) for one in tested)
    levels = [one.null_mean for one in tested]
    chance = say.format_number(sum(levels) / len(levels))
    return (
        f"{add_source(measure)} from {ends}, {above} of {say.count(len(tested), 'pair')} above chance at "
        f"{result.alpha:g} (mean chance level {chance})"
    )


def _extreme(pair: PairScore) -> str:
    p = pair.score.deciding_p_value
    beside = f", p = {say.format_p(p)}" if p == p else ""
    return f"{say.format_number(pair.score.value)} ({pair.first} and {pair.second}{beside})"


@claim.register
def _consensus(result: Consensus) -> str:
    outlying = [one for one in result if one.name in result.outlying]
    told = "; ".join(
        f"{one.name}, distance {say.format_number(one.distance)}{say.interval(one.low, one.high, result.confidence)}, "
        f"p = {say.format_p(one.corrected_p_value)}"
        for one in outlying
    )
    apart = f"{len(outlying) or 'none'} lay apart from the others at {result.alpha:g}{f': {told}' if told else ''}"
    nearest = result.members[0]
    return (
        f"Of {len(result.members)} representations of {result.n_rows:,} rows, {apart} (Procrustes distance to the mean "
        f"shape of the others; one-sided Grubbs test, p corrected by Holm); {nearest.name} was nearest "
        f"({say.format_number(nearest.distance)}), and the spread around the mean of all was "
        f"{say.format_number(result.spread)}"
    )


@claim.register
def _ranking(result: ModelRanking) -> str:
    clauses = say.join_clauses([_model_clause(one, result) for one in result.models], "more models")
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


def _model_clause(one: RankedModel, result: ModelRanking) -> str:
    p = one.corrected_p_value
    chance = f", p against chance {say.format_p(p)}" if p == p else ""
    return f"{one.name} {say.format_number(one.value)}{say.interval(one.low, one.high, result.confidence)}{chance}"
