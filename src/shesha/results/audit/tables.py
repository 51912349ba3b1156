"""The numbers of an audit as tables with a row per representation and a column per number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from shesha.report import Column, Explained, Part, Section, Strip, Table, Text
from shesha.results.stability.estimate import Estimate
from shesha.support.plurals import lowercase_start

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, Meaning, RepresentationAudit

_LEADING = "feature_split"
_TIES = " ="


def tables(audit: Audit, words: Callable[[str], str] = str) -> list[Section]:
    """Return the tables of scores: stability, shape, and agreement with labels."""
    scored = [row for row in audit.representations if not row.reason]
    kinds = {
        "Stability": [name for name in audit.meanings if any(name in row.scores for row in scored)],
        "Shape": [name for name in audit.meanings if any(name in row.descriptors for row in scored)],
        "Agreement with the labels": [name for name in audit.meanings if any(name in row.supervised for row in scored)],
    }
    return [_kind(audit, title, names, scored, words) for title, names in kinds.items() if names]


def _kind(
    audit: Audit,
    title: str,
    names: list[str],
    findings: list[RepresentationAudit],
    words: Callable[[str], str],
) -> Section:
    groups = [_score_columns(audit, name, findings) for name in names]
    if _LEADING in names:
        groups = [
            _size_columns(audit, findings),
            _rank_columns(audit, findings),
            *groups,
            _same_width_columns(findings),
        ]
    parts: list[Part] = [Table(tuple(row.name for row in findings), tuple(map(tuple, groups)), title, "representation")]
    if any(cell.endswith(_TIES) for group in groups for column in group for cell in column.cells):
        parts.append(Text("= after a rank means that the interval overlaps the interval of the next better rank."))
    parts += [_explain(name, audit.meanings[name]) for name in names if audit.meanings[name].asks]
    parts += [Text(words(text)) for text in _missing_reasons(audit, names, findings)]
    return Section(title, tuple(parts))


def _explain(name: str, meaning: Meaning) -> Explained:
    says = f"{meaning.asks} {meaning.caution}".strip()
    return Explained(meaning.title, says, "reading_an_audit.md", f"shesha scores {name}", lowercase_start(meaning.asks))


def _score_columns(audit: Audit, name: str, findings: list[RepresentationAudit]) -> list[Column]:
    """Show one number for each representation, with its chance level if there is one."""
    title = audit.meanings[name].title
    if any(name in row.descriptors for row in findings):
        return [Column(title, tuple(_format_number(row.descriptors.get(name)) for row in findings))]
    chances = [row.chances.get(name) or row.supervised_chances.get(name) for row in findings]
    known = [None if chance is None or chance.observed != chance.observed else chance for chance in chances]
    if not any((score := find_estimate(row, name)) and score.value == score.value for row in findings):
        # The reason for a missing value is printed below the table.
        return []
    return [
        Column(title, tuple(interval(find_estimate(row, name)) for row in findings), "<", _strips(name, findings)),
        Column("chance up to", tuple("" if chance is None else f"{chance.threshold:.3f}" for chance in known)),
        Column("p", tuple("" if chance is None else f"{chance.p_value:.2g}" for chance in known)),
    ]


def _strips(name: str, findings: list[RepresentationAudit]) -> tuple[Strip | None, ...]:
    """Show the values on a common scale, with their chance thresholds."""
    pairs = [(find_estimate(row, name), row.chances.get(name) or row.supervised_chances.get(name)) for row in findings]
    return tuple(
        None
        if score is None or score.value != score.value
        else Strip(score.value, score.low, score.high, nan if chance is None else chance.threshold)
        for score, chance in pairs
    )


def _size_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    if len({(row.n_samples, row.n_features) for row in audit.representations}) == 1:
        return []
    return [Column("rows x features", tuple(f"{row.n_samples:,} x {row.n_features or '-'}" for row in findings))]


def place(audit: Audit, name: str) -> str:
    """Return the position of a representation in the ranking by stability; empty if it has none."""
    return str(audit.ranking.index(name) + 1) if name in audit.ranking else ""


def _rank_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    """Show positions in the ranking by stability, with an equals sign where intervals overlap."""
    if len(audit.ranking) < 2:
        return []
    ranks = {}
    for place, name in enumerate(audit.ranking, 1):
        score, above = audit[name].ranking_score, audit[audit.ranking[place - 2]].ranking_score
        ties = place > 1 and score is not None and above is not None and score.high >= above.low
        ranks[name] = f"{place}{_TIES if ties else '  '}"
    return [Column("rank", tuple(ranks.get(row.name, "") for row in findings))]


def _same_width_columns(findings: list[RepresentationAudit]) -> list[Column]:
    widths = {row.same_width.n_features for row in findings if row.same_width is not None}
    if not widths:
        return []
    head = f"Feature split with {min(widths):,} features each"
    return [Column(head, tuple(interval(row.same_width) for row in findings), "<")]


def _missing_reasons(audit: Audit, names: list[str], findings: list[RepresentationAudit]) -> Iterator[str]:
    """List why numbers are missing, mentioning each reason once."""
    missing: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for finding in findings:
        reasons: dict[str, list[str]] = {}
        for name in names:
            score = find_estimate(finding, name)
            if score is not None and score.value != score.value:
                reasons.setdefault(score.reason, []).append(name)
        for reason, lacking in reasons.items():
            missing.setdefault((reason, tuple(lacking)), []).append(finding.name)
    for (reason, which), row_names in missing.items():
        titles = ", ".join(audit.meanings[name].title for name in which)
        yield f"{list_names(row_names, len(audit.representations))}: no value of {titles}: {reason}"


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


def interval(estimate: Estimate | None, digits: int = 3) -> str:
    """Format a score with its interval."""
    if estimate is None:
        return ""
    if estimate.value != estimate.value:
        return "none"
    ends = f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]" if estimate.low == estimate.low else ""
    return f"{estimate.value:.{digits}f}{ends}"


def _format_number(number: float | None) -> str:
    return "" if number is None else "none" if number != number else f"{number:.4g}"
