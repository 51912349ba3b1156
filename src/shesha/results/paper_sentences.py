"""Sentences for a paper: value, interval, chance level, p, null, rows, source and version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha._version import DISTRIBUTION, __version__
from shesha.results.base import reaches_level
from shesha.results.sources import with_source

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit
    from shesha.results.similarity.calibrated import Calibrated
    from shesha.results.similarity.comparison import Comparison, Score
    from shesha.results.stability.chance import Chance
    from shesha.results.stability.estimate import Estimate

_VERSION = f"({DISTRIBUTION} {__version__})"


def calibrated_sentence(result: Calibrated) -> str:
    """Return a sentence on a similarity and its permutation null."""
    if result.observed != result.observed:
        return f"{with_source(result.measure)} could not be estimated: {result.reason} {_VERSION}."
    start = f"{with_source(result.measure)} of the two representations was {_number(result.observed)} "
    rows = f"over {result.n_rows:,} rows"
    if not result.has_null:
        return f"{start}{rows}, without a chance level {_VERSION}."
    null = _null(result.null_mean, result.null_sd, result.p_value, result.alpha)
    score = "calibrated score" if result.maximum is not None else "excess over the threshold"
    return (
        f"{start}{rows}, {null}, {result.n_permutations:,} permutations of {result.exchanged}; {score} "
        f"{_number(result.score)}) {_VERSION}."
    )


def estimate_sentence(result: Estimate) -> str:
    """Return a sentence on a score of one representation."""
    return f"{_estimate(result)} {_VERSION}."


def comparison_sentence(result: Comparison) -> str:
    """Return a sentence on the measures of two representations, one clause each."""
    rows = result.shapes[0][0]
    design = f"; permutations of {result.exchanged}" if result.exchanged else ""
    told = "; ".join(_score(one) for one in result.scores)
    return f"Similarity of {result.first} and {result.second} over {rows:,} rows: {told}{design} {_VERSION}."


def audit_sentence(result: Audit) -> str:
    """Return the stability of each representation, with its interval and its chance level."""
    clauses = "; ".join(_stability(one) for one in result.representations)
    return f"Stability of the geometry, {with_source('feature_split', 'feature split')}: {clauses} {_VERSION}."


def _stability(one: RepresentationAudit) -> str:
    found = one.feature_split
    if found is None or found.value != found.value:
        return f"{one.name}, not estimable"
    chance = one.chances.get("feature_split")
    told = f", {_chance(chance)}" if chance is not None and chance.p_value == chance.p_value else ""
    return f"{one.name}, {_number(found.value)}{_interval(found)} over {found.n_samples:,} rows{told}"


def _chance(chance: Chance) -> str:
    return (
        f"{_null(chance.null_mean, chance.null_sd, chance.p_value, chance.alpha)}, {chance.n_permutations:,} "
        f"permutations of {chance.exchanged})"
    )


def _estimate(result: Estimate) -> str:
    name = with_source(result.variant, result.variant.replace("_", " "))
    start = name[0].upper() + name[1:]
    if result.value != result.value:
        return f"{start} could not be estimated: {result.reason}"
    return (
        f"{start} was {_number(result.value)}{_interval(result)} over {result.n_samples:,} rows and "
        f"{result.n_features:,} features"
    )


def _interval(result: Estimate) -> str:
    if result.low != result.low:
        return ""
    return f" ({100 * result.confidence:g} % interval {_number(result.low)} to {_number(result.high)})"


def _score(one: Score) -> str:
    if not one.has_value:
        return f"{with_source(one.measure)} not estimable"
    p = one.deciding_p_value
    corrected = "corrected " if one.corrected_p_value == one.corrected_p_value else ""
    chance = f", chance {_number(one.null_mean)}, {corrected}p = {_p(p)}" if p == p else ""
    return f"{with_source(one.measure)} {_number(one.value)}{chance}"


def _null(mean: float, spread: float, p: float, alpha: float) -> str:
    """Return the verdict and the null, with an open parenthesis that the caller closes."""
    beyond = "above" if reaches_level(p, alpha) else "not above"
    return f"{beyond} chance at {alpha:g} (p = {_p(p)}, null mean {_number(mean)}, sd {_number(spread)}"


def _p(value: float) -> str:
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _number(value: float) -> str:
    """Return a number with three significant digits."""
    return "0" if value == 0 else f"{value:.2g}" if abs(value) < 0.01 else f"{value:.3g}"
