"""Sentences with which a paper can report steering, its predictors, and the choice of a layer."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.paper_sentences import claim
from shesha.results.steering.layer_ranking import BY, LayerRanking
from shesha.results.steering.partial_correlations import PartialCorrelation, PartialCorrelations
from shesha.results.steering.steering import Steerability, SteeringPredictors, SteeringScore
from shesha.support.wording import agree


@claim.register
def _score(result: SteeringScore) -> str:
    if result.value != result.value:
        return f"{result.name} not estimable ({result.reason})"
    value = f"{result.name} {say.format_number(result.value)}{say.interval(result.low, result.high, 0.95)}"
    if not result.has_null:
        return value
    return f"{value}, chance {say.format_number(result.chance)}, p = {say.format_p(result.p_value)}"


@claim.register
def _steerability(result: Steerability) -> str:
    clauses = "; ".join(_score(score) for score in result.scores)
    return (
        f"Steering from {result.source} to {result.target} ({result.method} direction, {result.n_rows:,} rows, "
        f"{say.count(result.n_splits, 'split')} into halves): {clauses}; random directions lower the accuracy by "
        f"{say.format_number(result.random_drop)}; chance levels from {result.exchanged} shuffled {result.n_draws:,} "
        "times"
    )


@claim.register
def _predictors(result: SteeringPredictors) -> str:
    clauses = say.join_clauses([_score(score) for score in result.scores], "more predictors")
    return (
        f"Predictors of steering over {result.n_rows:,} rows: {clauses}; chance levels from {result.exchanged} "
        f"shuffled {result.n_draws:,} times"
    )


@claim.register
def _layers(result: LayerRanking) -> str:
    best = result.layers_best_first[0]
    ties = [name for name in result.tied_names if name != best.name]
    tied = f"; {', '.join(ties)} {agree(len(ties), 'was', 'were')} not significantly worse" if ties else ""
    null = say.null(result.best, result.level, "null of the best layer:")
    return (
        f"Of {len(result.layers)} layers, {best.name} had the largest {BY[result.by]}: {say.format_number(best.value)}"
        f"{say.interval(best.low, best.high, 0.95)} over {result.n_rows:,} rows, {null}, "
        f"{result.exchanged} shuffled {result.n_draws:,} times){tied}"
    )


@claim.register
def _correlations(result: PartialCorrelations) -> str:
    clauses = say.join_clauses([_line(line) for line in result.lines], "more predictors")
    controls = f"partial: controlling for {' and '.join(result.covariates)}; " if result.covariates else ""
    groups = "" if result.n_units == result.n_models else f" in {result.n_units} groups"
    return (
        f"Spearman correlations with {result.target} over {say.count(result.n_models, 'model')}{groups}: {clauses} "
        f"({controls}{result.n_draws:,} shuffles; two-sided 5 % critical value {say.format_number(result.chance)})"
    )


def _line(line: PartialCorrelation) -> str:
    raw = f"{line.predictor} {say.format_number(line.raw)}{say.interval(line.raw_low, line.raw_high, 0.95)}"
    raw += f", p = {say.format_p(line.raw_p)}"
    if line.partial != line.partial:
        return raw
    return f"{raw}, partial {say.format_number(line.partial)}, p = {say.format_p(line.partial_p)}"
