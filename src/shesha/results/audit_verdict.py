"""What an audit concludes, in words: verdicts, the headline, and how to read numbers that could mislead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shesha.report import Item, Section, texts
from shesha.results.doubts import OF_VALUES
from shesha.results.stability import Estimate
from shesha.support.wording import agree, join_names

if TYPE_CHECKING:
    from shesha.results.audit import Audit, RepresentationAudit


NEAR_ZERO = 0.1
"""Score below which single distances are mostly noise, even if the score is above chance."""
GRADES = ((NEAR_ZERO, "mostly noise"), (0.3, "weak"), (0.6, "moderate"), (float("inf"), "strong"))
"""Upper limits of the scores, each with the word for scores below it; a convention, as for correlations."""
TO_DO = {
    "strong": "distances between single rows can be used",
    "moderate": "compare groups of rows, or average several rows",
    "weak": "compare means over many rows only, or use more features",
    "mostly noise": "do not interpret single distances; average many rows, or use other features",
    "not above chance": "do not interpret the distances; check that these are the features you want",
    "undecided": "declare units of which more can be permuted, as described above, before you interpret the distances",
    "basis-averaged": "use the basis-averaged score; the columns themselves share no geometry",
}
"""What to do with the distances, by the last part of a verdict."""
LARGE_EFFECT = 0.2
"""Effect of a doubt from which on the advice depends on it and the sentence for a paper names it."""
_GAP = 0.05
"""Smallest difference between two scores that is reported; smaller ones are ignored even if significant."""


def verdict(finding: RepresentationAudit) -> str:
    """Return a few words that say whether the geometry is stable.

    Examples
    --------
    >>> import numpy as np, shesha
    >>> noise = np.random.default_rng(0).standard_normal((40, 16))
    >>> verdict(shesha.audit({"noise": noise}, n_bootstrap=0, n_permutations=19, seed=0)["noise"])
    'not above chance'
    """
    score = finding.feature_split
    if finding.reason or score is None or score.value != score.value:
        return "not scored"
    if has_uninformative_axes(finding):
        averaged = finding.basis_averaged_split
        return "not above chance" if averaged is None else f"basis-averaged {averaged.value:.2f}"
    if _why_untested(score):
        return "undecided"
    if finding.chance is not None and not finding.chance.significant:
        return "not above chance"
    grade = next(word for below, word in GRADES if score.value < below)
    return grade if finding.chance is None else f"above chance, {grade}"


def has_fitted_axes(one: RepresentationAudit) -> bool:
    """Return whether the axes were fitted to the rows (as in PCA), so that halves of them share nothing."""
    return one.doubts is not None and "whitened" in one.doubts


def is_stable_off_axes(one: RepresentationAudit) -> bool:
    """Return whether the axes share almost nothing although random directions do, as after some PCAs."""
    score = one.feature_split
    return score is not None and score.value < NEAR_ZERO and is_clearly_above(one.basis_averaged_split, score)


def has_uninformative_axes(one: RepresentationAudit) -> bool:
    """Return whether the columns share no geometry because they are, or resemble, principal components."""
    return has_fitted_axes(one) or is_stable_off_axes(one)


def leaves_stability_open(one: RepresentationAudit) -> bool:
    """Return whether the feature split says nothing: fitted axes, or a design that allows too few permutations."""
    return has_uninformative_axes(one) or bool(_why_untested(one.feature_split))


def is_clearly_above(one: Estimate | None, other: Estimate | None) -> bool:
    """Return whether a score exceeds another by a clear margin and, if both have intervals, beyond them."""
    if one is None or other is None:
        return False
    is_disjoint = one.low > other.high if one.low == one.low and other.high == other.high else True
    return is_disjoint and one.value - other.value >= _GAP


def list_names(names: Sequence[str], several: int) -> str:
    """List the names of some representations; 'all' or 'both' if these are all representations.

    Examples
    --------
    >>> list_names(["a", "b", "c", "d", "e"], 9), list_names(["a", "b"], 2)
    ('a, b, c and 2 more', 'both')
    >>> list_names(["a"], 1), list_names(["a", "b"], 3)
    ('a', 'a and b')
    """
    if len(names) == several > 1:
        return "both" if several == 2 else f"all {several}"
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def find_estimate(finding: RepresentationAudit, name: str) -> Estimate | None:
    """Return the score with this name, whether or not it needs labels."""
    return finding.scores.get(name) or finding.supervised.get(name)


def interval(estimate: Estimate) -> str:
    """Format a score with its interval for a sentence, with two decimals."""
    # Adding zero removes the sign of a value that rounds to zero.
    value, low, high = (f"{round(x, 2) + 0.0:.2f}" for x in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]" if estimate.has_interval else value


_ALIGNMENT = "supervised_alignment"
NO_LEVEL = "no chance level: "
"""Start of the note on a score that could not be tested."""
_CIRCULAR = (
    " If these labels are clusters of the same data, or named after them, they agree with it by construction, even in "
    "noise: the p-value then says nothing about kinds of rows."
)
_DERIVED = (
    " Hardly any row of {} lies beyond the plane between two classes, as in k-means clusters or bins of an encoded "
    "variable."
)
_MOST_SIZES = 6
"""Most representations whose numbers of rows a sentence gives."""


def headline(audit: Audit) -> Section:
    """Return the headline: the data, which stability is above chance, and how well labels agree with it."""
    sentences = [*_chance_sentence(audit), _dominance_sentence(audit), _order(audit), _sizes_sentence(audit)]
    # Principal components of cells have no stable axes, so agreement with the labels is the first question.
    labels_first = all(map(leaves_stability_open, audit.representations))
    answer = [_labels(audit), *sentences] if labels_first else [*sentences, _labels(audit)]
    return Section(_title(audit), texts([*answer, _problems_sentence(audit)]))


def what_to_do(findings: Sequence[RepresentationAudit]) -> str:
    """Return one clause per verdict of these representations: how far their distances can be used."""
    verdicts = " ".join(verdict(finding) for finding in findings if not finding.reason)
    known = [f"{word}: {todo}" for word, todo in TO_DO.items() if word in verdicts]
    # Scores off the axes already take whitened columns into account.
    doubts = {doubt.name for finding in findings for doubt in finding.doubts or () if doubt.effect >= LARGE_EFFECT}
    first = ", once the possible problems are resolved" if doubts - {"whitened"} else ""
    clauses = ". ".join(clause[:1].upper() + clause[1:] for clause in known)
    return f"What to do{first}. {clauses}." if known else ""


def _title(audit: Audit) -> str:
    findings = audit.representations
    rows, features = {finding.n_rows for finding in findings}, {finding.n_features for finding in findings}
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


def _chance_sentence(audit: Audit) -> list[str]:
    scored = [finding for finding in audit.representations if _has_value(finding.feature_split)]
    if not scored:
        return [_no_scores_sentence(audit)]
    return [
        sentence(_which(audit, findings), findings)
        for kind, sentence in _SENTENCES.items()
        if (findings := [finding for finding in scored if _kind(finding) == kind])
    ]


def _dominance_sentence(audit: Audit) -> str:
    """Say which few features determine the distances, if the score depends on them; otherwise an empty text."""
    found = [
        (doubt.effect, doubt.text, finding)
        for finding in audit.representations
        for doubt in finding.doubts or ()
        if doubt.name == "few coordinates" and doubt.effect >= LARGE_EFFECT
    ]
    if not found:
        return ""
    _, text, most = max(found, key=lambda entry: entry[0])
    names = _names([finding for *_, finding in found])
    where = f" ({list_names(names, len(audit.representations))})" if len(audit.representations) > 1 else ""
    strongest = f" in {most.name}" if len(names) > 1 else ""
    return f"A few features dominate{where}:{strongest} {text}."


def _problems_sentence(audit: Audit) -> str:
    """Name the doubts with a large effect or of the values that no other sentence mentions; otherwise an empty text."""
    every = sorted(
        (doubt for finding in audit.representations for doubt in finding.doubts or ()), key=lambda one: one.order
    )
    counts = Counter(doubt.name for doubt in every if doubt.name in _OF_P_VALUES)
    large = dict.fromkeys(
        doubt.name
        for doubt in every
        if doubt.effect >= LARGE_EFFECT
        or doubt.name in OF_VALUES
        or counts[doubt.name] >= _OFTEN * len(audit.representations)
    )
    names = [_OF_P_VALUES.get(name, name) for name in large if name not in ("few coordinates", "whitened")]
    return (
        f"Possible {agree(len(names), 'problem', 'problems')}, explained below: {join_names(names)}." if names else ""
    )


_OF_P_VALUES = {
    name: f"{name} (rows depend on one another, so p-values may be too small)"
    for name in ("order", "alternating order")
}
"""Doubts that make p-values too small, whatever their effect on a score."""
_OFTEN = 0.25
"""Smallest share of representations of the same rows that have such a doubt if it is no chance finding."""


def _sizes_sentence(audit: Audit) -> str:
    """Give the number of rows of each representation if they differ; otherwise an empty text."""
    if len({finding.n_rows for finding in audit.representations}) < 2:
        return ""
    sizes = [f"{finding.name} {finding.n_rows:,}" for finding in audit.representations]
    more = f" and {len(sizes) - _MOST_SIZES} more" if len(sizes) > _MOST_SIZES else ""
    return f"Numbers of rows: {', '.join(sizes[:_MOST_SIZES])}{more}."


def _kind(finding: RepresentationAudit) -> str:
    """Return which kind of sentence describes a representation."""
    if has_fitted_axes(finding):
        return "fitted"
    if is_stable_off_axes(finding):
        return "off axes"
    if finding.chance is None:
        return "undecided" if _why_untested(finding.feature_split) else "not asked"
    if not finding.chance.significant:
        return "not above"
    return "near zero" if _value_or_lowest(finding.feature_split) < NEAR_ZERO else "above"


def _why_untested(estimate: Estimate | None) -> str:
    """Return why the declared design allows no test; empty if it does or none was asked for."""
    notes = () if estimate is None else estimate.notes
    return next((note.removeprefix(NO_LEVEL) for note in notes if note.startswith(NO_LEVEL)), "")


def _which(audit: Audit, findings: Sequence[RepresentationAudit]) -> str:
    several = len(audit.representations)
    return "" if several == 1 else f"{list_names(_names(findings), several)}, "


def _score_sentence(start: str) -> Callable[[str, Sequence[RepresentationAudit]], str]:
    return lambda which, findings: (
        f"{start}: {which}feature-split stability {_stability_range(findings)}{_p_values(findings)}."
    )


def _warn_of_fitted_axes(which: str, findings: Sequence[RepresentationAudit]) -> str:
    """Give the basis-averaged score, because halves of decorrelated columns never share a geometry."""
    return (
        f"Columns are uncorrelated, like principal components of the rows: {which}basis-averaged stability "
        f"(after random rotations) {_basis_averaged(findings)}. The feature split is not informative for such columns."
    )


def _off_axes_sentence(which: str, group: Sequence[RepresentationAudit]) -> str:
    """Give the basis-averaged score first, since the axes share nothing although random directions do."""
    return (
        f"Stable across random directions, not across the given columns: {which}basis-averaged stability "
        f"(after random rotations) {_basis_averaged(group)}, feature split {_stability_range(group)}. Halves of the "
        "columns share less than halves of random directions do, as with some components or columns of unequal sizes."
    )


def _basis_averaged(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.basis_averaged_split for finding in findings]
    low, high = (choose(_value_or_lowest(estimate) for estimate in known) for choose in (min, max))
    return interval(known[0]) if len(known) == 1 and known[0] is not None else f"{low:.2f} to {high:.2f}"


_SENTENCES: dict[str, Callable[[str, Sequence[RepresentationAudit]], str]] = {
    "fitted": _warn_of_fitted_axes,
    "off axes": _off_axes_sentence,
    "above": _score_sentence("Stable above chance"),
    "near zero": _score_sentence("Above chance, but near zero, so single distances are mostly noise"),
    "not above": _score_sentence("Not above chance"),
    "not asked": _score_sentence("Stability"),
    "undecided": _score_sentence("Whether the stability exceeds chance cannot be decided"),
}
"""The sentence for each kind of representation."""


def _no_scores_sentence(audit: Audit) -> str:
    if any(finding.supervised for finding in audit.representations):
        return "A distance matrix allows label agreement only; stability needs the features."
    reasons = list(dict.fromkeys(finding.reason for finding in audit.representations))
    if len(reasons) == 1 and reasons[0]:
        return f"No representation could be scored: {reasons[0].rstrip('.')}."
    return "No representation could be scored. The reasons are listed under Data."


def _stability_range(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.feature_split for finding in findings if finding.feature_split is not None]
    if len(known) == 1:
        return interval(known[0])
    low, high = (round(choose(estimate.value for estimate in known), 2) for choose in (min, max))
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def _p_values(findings: Sequence[RepresentationAudit]) -> str:
    known = [finding.chance.p_value for finding in findings if finding.chance is not None]
    if not known:
        return f"; {_why_untested(findings[0].feature_split) or 'no chance level was computed'}"
    low, high = min(known), max(known)
    return f", p = {low:.2g}" if f"{low:.2g}" == f"{high:.2g}" else f", p = {low:.2g} to {high:.2g}"


def _order(audit: Audit) -> str:
    scores = {
        name: score
        for name in audit.ranking
        if (score := audit[name].ranking_score) is not None and not has_uninformative_axes(audit[name])
    }
    if len(scores) < 2:
        return ""
    (first, top), *others = scores.items()
    last, lowest = others[-1]
    tied = [name for name, score in others if score.high >= top.low]
    width = audit[first].same_width
    where = "" if width is None else f" with {width.n_features:,} features each"
    if len(tied) == len(others):
        sentence = f"No representation is clearly the most stable{where}: the intervals overlap."
    else:
        whose = "that" if len(tied) == 1 else "those"
        overlap = f"; its interval overlaps {whose} of {list_names(tied, len(scores))}" if tied else ""
        most, least = f"{first} ({top.value:.2f})", f"{last} ({lowest.value:.2f})"
        sentence = f"Most stable{where}: {most}{overlap}. Least stable: {least}."
    return sentence + _width_order_sentence(audit, audit[first])


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
    alignment = best.supervised[_ALIGNMENT]
    score, everywhere = interval(alignment), " in any representation" * (len(known) > 1)
    if untested := _why_untested(alignment):
        return (
            f"{intro} Whether rows of the same class are closer than by chance cannot be decided{everywhere} "
            f"(alignment {score}): {untested}."
        )
    if (alignment.has_null and not alignment.significant) or (not alignment.has_null and alignment.low <= 0):
        return (
            f"{intro} Rows of the same class are not significantly closer than other rows{everywhere} (alignment "
            f"{score})."
        )
    if alignment.low <= 0:
        return (
            f"{intro} Rows of the same class are hardly closer than other rows{everywhere} (alignment {score}, p = "
            f"{alignment.p_value:.2g})."
        )
    most = f"maximum {audit.labels.highest_alignment:.2f}"
    circular = _CIRCULAR if audit.labels.look_like_clusters else ""
    derived = [finding.name for finding in known if finding.labels_from_features]
    if audit.labels.clusters and not circular:
        circular = f" Rows of one cluster in {audit.labels.clusters} have one label.{_CIRCULAR}"
    elif derived and not circular:
        circular = f"{_DERIVED.format(list_names(derived, len(known)))}{_CIRCULAR}"
    return f"{intro} Rows of the same class are{where} (alignment {score}, {most}).{circular}"


def _names(findings: Sequence[RepresentationAudit]) -> list[str]:
    return [finding.name for finding in findings]


def _has_value(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.value == estimate.value


def _value_or_lowest(estimate: Estimate | None) -> float:
    return estimate.value if estimate is not None and estimate.value == estimate.value else -2.0


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
    not_above = finding.chance is not None and not finding.chance.significant
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
