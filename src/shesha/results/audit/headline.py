"""The headline of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shesha.report import Section, texts
from shesha.results.audit.estimates import interval
from shesha.results.audit.name_lists import list_names
from shesha.results.audit.verdict import NEAR_ZERO, has_fitted_axes, is_stable_off_axes
from shesha.results.stability.estimate import Estimate

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit

_ALIGNMENT = "supervised_alignment"
_CIRCULAR = (
    " If these labels are clusters of the same data, they agree with it by construction, even in noise: the p-value "
    "then says nothing about kinds of rows."
)
_DERIVED = "The labels follow the features of {} even near the boundaries of classes, as clusters do."
_NAMED = 3
"""Most representations that a sentence lists by name."""


def headline(audit: Audit, *, brief: bool = False) -> Section:
    """Return the headline: the data, which stability is above chance, and how well labels agree with it.

    A brief headline gives the number of representations instead of naming more than two.
    """
    sentences = [*_chance_sentence(audit, 2 if brief else _NAMED), _order(audit), _labels(audit)]
    return Section(_title(audit), texts(sentences))


def _title(audit: Audit) -> str:
    findings = audit.representations
    rows, features = {finding.n_samples for finding in findings}, {finding.n_features for finding in findings}
    size = f"{_format_range(rows)} rows"
    if features == {0}:
        size = f"distances of {size}"
    elif 0 not in features:
        size += f" x {_format_range(features)} features"
    what = findings[0].name if len(findings) == 1 else f"{len(findings)} representations"
    return f"Audit of {what}: {size}"


def _format_range(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _chance_sentence(audit: Audit, most: int) -> list[str]:
    scored = [finding for finding in audit.representations if _has_value(finding.feature_split)]
    if not scored:
        return [_no_scores_sentence(audit)]
    return [
        sentence(_which(audit, findings, most), findings)
        for kind, sentence in _SENTENCES.items()
        if (findings := [finding for finding in scored if _kind(finding) == kind])
    ]


def _kind(finding: RepresentationAudit) -> str:
    """Return which kind of sentence describes a representation."""
    if has_fitted_axes(finding):
        return "fitted"
    if is_stable_off_axes(finding):
        return "off axes"
    if finding.chance is None:
        return "not asked"
    if not finding.chance.significant:
        return "not above"
    return "near zero" if _value_or_lowest(finding.feature_split) < NEAR_ZERO else "above"


def _which(audit: Audit, findings: Sequence[RepresentationAudit], most: int) -> str:
    several = len(audit.representations)
    if most < min(_NAMED, len(findings)) and len(findings) < several:
        return f"{len(findings)} of {several}, "
    return "" if several == 1 else f"{list_names(_names(findings), several)}, "


def _score_sentence(start: str) -> Callable[[str, Sequence[RepresentationAudit]], str]:
    return lambda which, findings: f"{start}: {which}feature-split stability {_values(findings)}{_p_values(findings)}."


def _warn_of_fitted_axes(which: str, findings: Sequence[RepresentationAudit]) -> str:
    """Give the basis-averaged score, because halves of decorrelated columns never share a geometry."""
    return (
        f"Axes were fitted to the rows (principal components): {which}basis-averaged stability "
        f"{_basis_averaged(findings)}. The feature split is not informative for such columns."
    )


def _off_axes_sentence(which: str, group: Sequence[RepresentationAudit]) -> str:
    """Give the basis-averaged score first, since the axes share nothing although random directions do."""
    return (
        f"Stable across random directions, not across the given columns: {which}basis-averaged stability "
        f"{_basis_averaged(group)}, feature split {_values(group)}. The columns are nearly uncorrelated, like some "
        "principal components."
    )


def _basis_averaged(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.basis_averaged_split for finding in findings]
    low, high = (choose(_value_or_lowest(estimate) for estimate in known) for choose in (min, max))
    return interval(known[0], 2) if len(known) == 1 else f"{low:.2f} to {high:.2f}"


_SENTENCES: dict[str, Callable[[str, Sequence[RepresentationAudit]], str]] = {
    "fitted": _warn_of_fitted_axes,
    "off axes": _off_axes_sentence,
    "above": _score_sentence("Stable above chance"),
    "near zero": _score_sentence("Above chance, but near zero, so single distances are mostly noise"),
    "not above": _score_sentence("Not above chance"),
    "not asked": _score_sentence("Stability"),
}
"""The sentence for each kind of representation."""


def _no_scores_sentence(audit: Audit) -> str:
    if any(finding.supervised for finding in audit.representations):
        return "A distance matrix allows label agreement only; stability needs the features."
    reasons = list(dict.fromkeys(finding.reason for finding in audit.representations))
    if len(reasons) == 1 and reasons[0]:
        return f"No representation could be scored: {reasons[0].rstrip('.')}."
    return "No representation could be scored. The reasons are listed under Data."


def _values(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.feature_split for finding in findings if finding.feature_split is not None]
    if len(known) == 1:
        return interval(known[0], 2)
    low, high = (round(choose(estimate.value for estimate in known), 2) for choose in (min, max))
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def _p_values(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.chance.p_value for finding in findings if finding.chance is not None]
    if not known:
        return "; no chance level was computed"
    low, high = min(known), max(known)
    return f", p = {low:.2g}" if f"{low:.2g}" == f"{high:.2g}" else f", p = {low:.2g} to {high:.2g}"


def _order(audit: Audit) -> str:
    if len(audit.ranking) < 2:
        return ""
    ordered = [audit[name] for name in audit.ranking]
    first, last = ordered[0], ordered[-1]
    tied = [finding for finding in ordered[1:] if _upper_limit(finding) >= _lower_limit(first)]
    where = ""
    if first.same_width is not None:
        where = f" with {first.same_width.n_features:,} features each"
    if len(tied) == len(ordered) - 1:
        sentence = f"No representation is clearly the most stable{where}: the intervals overlap."
    else:
        whose = "that" if len(tied) == 1 else "those"
        overlap = f"; its interval overlaps {whose} of {list_names(_names(tied), len(ordered))}" if tied else ""
        most, least = (f"{finding.name} ({_value(finding):.2f})" for finding in (first, last))
        sentence = f"Most stable{where}: {most}{overlap}. Least stable: {least}."
    return sentence + _width_order_sentence(audit, first)


def _width_order_sentence(audit: Audit, first: RepresentationAudit) -> str:
    """Warn that a ranking may merely reflect different numbers of features."""
    if first.same_width is None:
        if len({finding.n_features for finding in audit.representations if _has_value(finding.feature_split)}) > 1:
            return " Note: the numbers of features differ, and more features alone raise stability."
        return ""
    widest = max(audit.representations, key=lambda finding: _value_or_lowest(finding.feature_split))
    if widest.name == first.name:
        return ""
    return (
        f" With all its {widest.n_features:,} features, {widest.name} scores higher "
        f"({_value_or_lowest(widest.feature_split):.2f}), but more features alone raise stability."
    )


def _labels(audit: Audit) -> str:
    if audit.labels is None:
        return ""
    intro = f"Labels: {audit.labels}."
    known = [finding for finding in audit.representations if _has_value(finding.supervised.get(_ALIGNMENT))]
    if not known:
        return intro
    best = max(known, key=lambda finding: finding.supervised[_ALIGNMENT].value)
    where = f" closest in {best.name}" if len(known) > 1 else " closer than other rows"
    score = interval(best.supervised[_ALIGNMENT], 2)
    if best.supervised[_ALIGNMENT].low <= 0 or _not_above_chance(best):
        everywhere = " in any representation" * (len(known) > 1)
        return (
            f"{intro} Rows of the same class are not significantly closer than other rows{everywhere} (alignment "
            f"{score})."
        )
    most = f"maximum {audit.labels.highest_alignment:.2f}"
    circular = _CIRCULAR if audit.labels.look_like_clusters else ""
    derived = [finding.name for finding in known if finding.labels_from_features]
    if derived and not circular:
        circular = f" {_DERIVED.format(list_names(derived, len(known)))}{_CIRCULAR}"
    return f"{intro} Rows of the same class are{where} (alignment {score}, {most}).{circular}"


def _not_above_chance(finding: RepresentationAudit) -> bool:
    chance = finding.supervised_chances.get(_ALIGNMENT)
    return chance is not None and not chance.significant


def _names(findings: Sequence[RepresentationAudit]) -> list[str]:
    return [finding.name for finding in findings]


def _has_value(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.value == estimate.value


def _value_or_lowest(estimate: Estimate | None) -> float:
    return estimate.value if estimate is not None and estimate.value == estimate.value else -2.0


def _value(finding: RepresentationAudit) -> float:
    return _value_or_lowest(finding.ranking_score)


def _lower_limit(finding: RepresentationAudit) -> float:
    return float("nan") if finding.ranking_score is None else finding.ranking_score.low


def _upper_limit(finding: RepresentationAudit) -> float:
    return float("nan") if finding.ranking_score is None else finding.ranking_score.high
