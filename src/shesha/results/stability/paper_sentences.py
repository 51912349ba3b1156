"""Sentences with which a paper can report stability scores, chance levels, and drift along a sequence."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.paper_sentences import claim
from shesha.results.sentence_parts import add_source
from shesha.results.stability.scores import DriftPath, Estimate


def _name(variant: str) -> str:
    name = add_source(variant, variant.replace("_", " "))
    return name[:1].upper() + name[1:]


@claim.register
def _estimate(result: Estimate) -> str:
    if result.value != result.value:
        return f"{_name(result.name)} could not be estimated: {result.reason}"
    value = f"{say.format_number(result.value)}{say.interval(result.low, result.high, result.confidence)}"
    text = f"{_name(result.name)} was {value} over {result.n_rows:,} rows and {result.n_features:,} features"
    if not result.has_null:
        return text
    null = f"{say.null(result, result.alpha)}, {say.draws(result.n_draws, result.exchanged)}"
    return f"{text}, {null}; calibrated score {say.format_number(result.calibrated)})"


@claim.register
def _drift_path(result: DriftPath) -> str:
    name = add_source("rdm_drift", "RDM drift")
    known = [(value, label) for value, label in zip(result.from_first, result.names, strict=True) if value == value]
    if not known:
        return f"{name} could not be estimated for any of {len(result.names)} representations"
    largest, last = max(known), known[-1]
    end = "" if largest is last else f"; the drift of the last, {last[1]}, was {say.format_number(last[0])}"
    return (
        f"Over {len(result.names)} representations, {name} from {result.names[0]} was largest at {largest[1]}: "
        f"{say.format_number(largest[0])} (0 for the same geometry, about 1 for an unrelated one){end}"
    )
