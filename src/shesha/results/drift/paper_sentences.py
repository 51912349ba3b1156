"""Sentences with which a paper can report checks of a drift monitor, streams and pairs of samples."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.drift.stream import StreamVerdict, TwoSample
from shesha.results.drift.verdict import DriftVerdict
from shesha.results.paper_sentences import claim
from shesha.results.sentence_parts import add_source


@claim.register
def _verdict(result: DriftVerdict) -> str:
    score = result.scores[0]
    start = f"{add_source(score.name)} between {result.n_rows:,} inputs and their reference"
    if score.value != score.value:
        return f"{start} could not be estimated: {result.reason or score.reason}"
    start = f"{start} was {say.format_number(score.value)}"
    if result.basis == "re-encodings":
        side = "above" if score.beyond else "not above"
        alert = "; the accumulated evidence of all checks raised the alert" if result.by_sequence else ""
        return (
            f"{start}, {side} the threshold for unchanged encodings at {result.level:g} (mean "
            f"{say.format_number(score.chance)}, threshold {say.format_number(score.threshold)}, p = "
            f"{say.format_p(score.p_value)}, {result.n_nulls:,} re-encodings): {result.state_in_words}{alert}"
        )
    assumed = " (for independent rows; here, neighbouring rows depend on each other)" if result.dependence else ""
    start = f"{start}, at least {say.format_number(score.low)}"
    return (
        f"{start} with {100 * (1 - result.level):g} % confidence{assumed} over "
        f"{result.n_nulls:,} resamples of the rows (tolerance {result.tolerance:g}): {result.state_in_words}"
    )


@claim.register
def _stream(result: StreamVerdict) -> str:
    if result.state == "not estimable":
        return f"Evidence of change in the stream could not be estimated: {result.reason}"
    alarm = f"an alarm was raised at {result.unit} {result.alarm_since:,}" if result.alarm_since else "no alarm"
    independent = "independent " if result.dependence else ""
    dependent = f"; here, neighbouring {result.unit}s depend on each other" if result.dependence else ""
    return (
        f"After {result.n_seen:,} new {result.unit}s the conformal test martingale reached "
        f"10^{result.log10_highest:.1f} (alarm at 10^{result.log10_threshold:.1f}, which unchanged "
        f"{independent}{result.unit}s reach with a probability of at most {result.alpha:g}{dependent}): {alarm}"
    )


@claim.register
def _two_sample(result: TwoSample) -> str:
    if result.reason:
        return f"{add_source(result.name)} could not be estimated: {result.reason}"
    dependent = ", which depend on their neighbours, so that p is too small" if result.dependence else ""
    verb = "differed" if result.significant else "did not differ"
    return (
        f"{result.n_reference:,} reference rows and {result.n_window:,} new ones {verb} at {result.alpha:g} by "
        f"{add_source(result.name)}: {say.format_number(result.value)}, null mean "
        f"{say.format_number(result.chance)}, threshold {say.format_number(result.threshold)}, p = "
        f"{say.format_p(result.p_value)} ({result.n_draws:,} permutations of rows{dependent})"
    )
