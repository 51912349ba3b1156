"""The page of an audit: headline, main scores and possible problems, followed by every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Metric, Page, Part, Section, Strip, Table, Text
from shesha.results.audit.doubts_section import doubts
from shesha.results.audit.headline import headline
from shesha.results.audit.reading_hints import readings
from shesha.results.audit.sections import data, drift, notes
from shesha.results.audit.tables import interval, place, tables
from shesha.results.generic_page import run_details
from shesha.support.plurals import count

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit
    from shesha.results.stability.estimate import Estimate

_QUESTION = (
    "Is the geometry of {these} stable? That is, do random halves of the features give the same distances between "
    "rows? Is the stability above chance, and what could make it misleading?"
)
_NO_DOUBT = "The checks found no problem that changes the stability. They cannot check how the rows were chosen."
_DRAWN = 24
"""Most representations in one picture."""
_DESIGN = (
    "No design was given, so rows are treated as independent. If rows share a donor, session or time series, declare "
    "it with groups, blocks or shift; otherwise p-values are too small."
)


def audit_page(audit: Audit) -> Page:
    """Return the page of an audit."""
    head, doubts_section = headline(audit), doubts(audit)
    is_single = len(audit.representations) == 1
    sections = [data(audit), *tables(audit), drift(audit), readings(audit), notes(audit)]
    picture = [_picture(audit)] if 2 < len(audit.ranking) <= _DRAWN else []
    return Page(
        title=head.title,
        question=_QUESTION.format(these="this representation" if is_single else "these representations"),
        answer=tuple(part.text for part in head.parts if isinstance(part, Text)),
        numbers=_score_table(audit),
        doubts=(*doubts_section.parts, Text(doubts_section.explanation))
        if doubts_section
        else (Text(_NO_DOUBT), *_dependence_parts(audit)),
        sections=(*picture, *(section for section in sections if section is not None)),
        ran=(("data", _sizes(audit)), *run_details(audit)),
    )


def audit_metrics(audit: Audit) -> list[Metric]:
    """Return the score by which each representation is ranked, for the header of a card."""
    metrics = []
    for finding in audit.representations:
        score, chance = finding.ranking_score, finding.chance
        if score is None:
            continue
        calibration = (
            {} if chance is None else {"chance": chance.level, "threshold": chance.threshold, "p_value": chance.p_value}
        )
        metrics.append(Metric(finding.name, _ranking_name(audit), score.value, score.low, score.high, **calibration))
    return metrics


def _score_table(audit: Audit) -> tuple[Part, ...]:
    """Show the ranking score with its chance level, or the agreement with labels if there is no stability."""
    known = [row for row in audit.representations if row.ranking_score is not None]
    if not known:
        rest = tables(audit)
        return tuple(part for section in rest for part in section.parts if isinstance(part, Table))[:1]
    ranked = [Column("rank", tuple(str(place(audit, row.name)) for row in known))] if len(audit.ranking) > 1 else []
    score = Column(
        _ranking_name(audit),
        tuple(interval(row.ranking_score) for row in known),
        ">",
        tuple(_strip(row, row.ranking_score) for row in known),
    )
    chance = Column("chance up to", tuple(f"{row.chance.threshold:.3f}" if row.chance else "" for row in known))
    p_values = Column("p", tuple(f"{row.chance.p_value:.2g}" if row.chance else "" for row in known))
    columns = (*ranked, score, *_full_width_scores(known), chance, p_values)
    return (Table(tuple(row.name for row in known), (columns,), "Stability", "representation"),)


def _full_width_scores(known: Sequence[RepresentationAudit]) -> list[Column]:
    """If representations are ranked at equal numbers of features, also show the scores of all features."""
    if all(row.same_width is None for row in known):
        return []
    values = tuple("" if row.feature_split is None else f"{row.feature_split.value:.3f}" for row in known)
    return [Column("with all features", values)]


def _ranking_name(audit: Audit) -> str:
    """Return the name of the score that ranks the representations."""
    same_width = any(finding.same_width is not None for finding in audit.representations)
    return "stability, at equal numbers of features" if same_width else "feature-split stability"


def _strip(finding: RepresentationAudit, score: Estimate | None) -> Strip | None:
    if score is None or score.value != score.value:
        return None
    return Strip(score.value, score.low, score.high, finding.chance.threshold if finding.chance else float("nan"))


def _dependence_parts(audit: Audit) -> tuple[Part, ...]:
    return (Text(_DESIGN),) if any(finding.dependence is not None for finding in audit.representations) else ()


def _picture(audit: Audit) -> Section:
    shows = (
        "Both stability scores of each representation in the given order, with their intervals. The dashed line is "
        "the chance threshold."
    )
    return Section("Stability in the given order", (Drawing(shows, audit.plot),))


def _sizes(audit: Audit) -> str:
    several = [f"{finding.name}: {finding.n_samples:,} x {finding.n_features:,}" for finding in audit.representations]
    sizes = {(finding.n_samples, finding.n_features) for finding in audit.representations}
    if len(sizes) == 1:
        rows, features = sizes.pop()
        return f"{count(len(several), 'representation')} of {rows:,} rows x {features:,} features"
    return "; ".join(several)
