"""Sentences on how to read those numbers of an audit that could mislead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shesha.report import Item, Section
from shesha.results.audit.tables import list_names
from shesha.results.audit.verdict import is_clearly_above

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit

_MANY_FEATURES = 100
_SHORT = 0.1
"""The report mentions an underestimated number of directions if the relative error is at least this large."""
Which = Callable[["RepresentationAudit"], bool]


def readings(audit: Audit) -> Section | None:
    """Return explanations of those numbers that could mislead."""
    scored = [finding for finding in audit.representations if not finding.reason]
    hints = _unequal_rows(audit) + [
        text
        for name in audit.meanings
        if any(_has_number(finding, name) for finding in scored)
        for text in _reading_lines(audit, name)
    ]
    return Section("How to read these numbers", tuple(map(Item, hints))) if hints else None


def _reading_lines(audit: Audit, name: str) -> list[str]:
    if name not in _RULES:
        meaning = audit.meanings[name]
        return [f"{meaning.title}: {meaning.caution}"] if meaning.caution else []
    lines = []
    for which, text in _RULES[name]:
        names = [finding.name for finding in audit.representations if not finding.reason and which(finding)]
        if names:
            lines.append(text.format(names=list_names(names, len(audit.representations)), **_placeholder_values(audit)))
    return lines


def _placeholder_values(audit: Audit) -> dict[str, str]:
    classes = audit.labels
    if classes is None:
        return {}
    by_chance = (len(classes.names) - 1) / max(1, sum(classes.sizes) - 1)
    return {"by_chance": f"{by_chance:.2g}", "highest": f"{classes.highest_alignment:.2f}"}


def _has_number(finding: RepresentationAudit, name: str) -> bool:
    estimate = finding.scores.get(name) or finding.supervised.get(name)
    if estimate is not None:
        return estimate.value == estimate.value
    return finding.descriptors.get(name, float("nan")) == finding.descriptors.get(name)


def _depends_on_few_axes(finding: RepresentationAudit) -> bool:
    return is_clearly_above(finding.basis_averaged_split, finding.feature_split) and not _is_stable_on_other_axes(
        finding
    )


def _is_stable_on_other_axes(finding: RepresentationAudit) -> bool:
    """Return whether the given axes are not above chance although the geometry itself is stable."""
    not_above = finding.chance is not None and not finding.chance.significant
    return not_above and is_clearly_above(finding.basis_averaged_split, finding.feature_split)


def _is_stable_on_its_axes(finding: RepresentationAudit) -> bool:
    return not _is_at_chance(finding) and is_clearly_above(finding.feature_split, finding.basis_averaged_split)


def _is_at_chance(finding: RepresentationAudit) -> bool:
    not_above = (
        finding.chance is not None
        and finding.chance.observed == finding.chance.observed
        and not finding.chance.significant
    )
    return not_above and not _is_stable_on_other_axes(finding)


def _has_full_rank(finding: RepresentationAudit) -> bool:
    return finding.effective_rank >= 0.75 * min(finding.n_features, finding.n_used - 1)


def _has_too_few_rows(finding: RepresentationAudit) -> bool:
    """Return whether the population has more directions than these rows can show."""
    corrected = finding.descriptors.get("corrected_participation_ratio", float("nan"))
    # The estimate is missing if there were too few rows to compute it.
    unknown = corrected != corrected and finding.participation_ratio == finding.participation_ratio
    return unknown or finding.participation_ratio < (1 - _SHORT) * corrected


def _unequal_rows(audit: Audit) -> list[str]:
    """Warn that numbers of directions are not comparable if numbers of rows differ."""
    sizes = [finding.n_used for finding in audit.representations if _has_number(finding, "effective_rank")]
    if len(set(sizes)) < 2 or min(sizes) > (1 - _SHORT) * max(sizes):
        return []
    return [
        f"These representations have {min(sizes):,} to {max(sizes):,} rows. Effective rank and participation ratio "
        "grow with the number of rows, so they cannot rank these representations. Compare the corrected participation "
        "ratio, or audit equal numbers of rows."
    ]


def _supervised_limit(name: str, limit: float) -> Which:
    return lambda finding: name in finding.supervised and finding.supervised[name].value < limit


def _labels_look_random(finding: RepresentationAudit) -> bool:
    estimate = finding.supervised.get("variance_ratio")
    return estimate is not None and estimate.low < 0.05


def _has_many_features(finding: RepresentationAudit) -> bool:
    return finding.n_features >= _MANY_FEATURES and _supervised_limit("class_separation_ratio", 1.25)(finding)


_RULES: dict[str, list[tuple[Which, str]]] = {
    "feature_split": [
        (
            _is_at_chance,
            "{names}: random halves of the features agree no better than unrelated halves would. The rows may still "
            "differ in a few features, or along combinations of features.",
        ),
    ],
    "basis_averaged_split": [
        (
            _depends_on_few_axes,
            "{names}: the basis-averaged score is above the feature split, so a few axes carry much of the geometry.",
        ),
        (
            _is_stable_on_other_axes,
            "{names}: the given axes share no geometry, but random directions do. This is expected for principal "
            "components, which are uncorrelated by construction. Use the basis-averaged score. For the feature "
            "split, audit the features from which the components were computed.",
        ),
        (
            _is_stable_on_its_axes,
            "{names}: the feature split is above the basis-averaged score, so the axes are more redundant than "
            "random directions would be.",
        ),
    ],
    "effective_rank": [
        (
            _has_full_rank,
            "{names}: the variance is spread over most of the available directions. A higher rank is not better, "
            "because noise has the highest rank.",
        )
    ],
    "participation_ratio": [
        (
            lambda one: one.participation_ratio < one.effective_rank / 10,
            "{names}: the participation ratio is far below the effective rank, so a few directions dominate a long "
            "tail.",
        )
    ],
    "corrected_participation_ratio": [
        (
            _has_too_few_rows,
            "{names}: there are too few rows to observe all directions. Effective rank (RankMe) and participation "
            "ratio are too low, and would rise with more rows. Report the corrected participation ratio. Compare "
            "the uncorrected numbers only between equal numbers of rows.",
        )
    ],
    "anisotropy": [
        (
            lambda one: one.anisotropy > 0.5,
            "{names}: most of the variance is along one direction. This direction may be a strong signal or an "
            "artefact, so inspect it.",
        )
    ],
    "supervised_alignment": [
        (
            lambda one: "supervised_alignment" in one.supervised,
            "Alignment with the labels: its maximum is about {highest}, even if the classes are perfectly separated.",
        ),
        (
            _supervised_limit("supervised_alignment", 0.1),
            "{names}: low alignment with the labels does not mean that they cannot be decoded.",
        ),
    ],
    "variance_ratio": [
        (_labels_look_random, "Variance between classes: random labels would give about {by_chance}, not 0."),
    ],
    "class_separation_ratio": [
        (
            _has_many_features,
            "{names}: with many features, class separation is close to 1 even for well-separated classes.",
        ),
    ],
    "zscore_separation": [
        (
            _supervised_limit("zscore_separation", 0.1),
            "Distance from other classes: random labels give slightly more than 0.",
        ),
    ],
    "label_conditioned_split": [],
}
"""For each number, the sentences about it and the condition under which each one is shown."""
