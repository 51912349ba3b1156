"""The report of an audit: its tables and sections, on one screen, as text and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

from shesha.report import (
    Column,
    Drawing,
    Either,
    Explained,
    Lines,
    Metric,
    Page,
    Part,
    Point,
    Section,
    Strip,
    Table,
    Text,
    as_text,
    texts,
)
from shesha.results.audit.verdict import (
    find_estimate,
    has_uninformative_axes,
    headline,
    interval,
    list_names,
    readings,
    verdict,
    what_to_do,
)
from shesha.results.generic_page import run_details
from shesha.support.wording import count, lowercase_start

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, Meaning, RepresentationAudit
    from shesha.results.audit.doubts import Doubt
    from shesha.results.stability.scores import Estimate


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
    scores = [find_estimate(row, name) for row in findings]
    known = [score if score is not None and score.has_null else None for score in scores]
    if not any(score is not None and score.has_value for score in scores):
        # The reason for a missing value is printed below the table.
        return []
    return [
        Column(title, tuple(interval(find_estimate(row, name)) for row in findings), "<", _strips(name, findings)),
        Column("chance up to", tuple("" if chance is None else f"{chance.threshold:.3f}" for chance in known)),
        Column("p", tuple("" if chance is None else f"{chance.p_value:.2g}" for chance in known)),
    ]


def _strips(name: str, findings: list[RepresentationAudit]) -> tuple[Strip | None, ...]:
    """Show the values on a common scale, with their chance thresholds."""
    scores = [find_estimate(row, name) for row in findings]
    return tuple(
        None if score is None or not score.has_value else Strip(score.value, score.low, score.high, score.threshold)
        for score in scores
    )


def _size_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    if len({(row.n_rows, row.n_features) for row in audit.representations}) == 1:
        return []
    return [Column("rows x features", tuple(f"{row.n_rows:,} x {row.n_features or '-'}" for row in findings))]


def _rank_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    """Show positions in the ranking by stability, with an equals sign where intervals overlap."""
    if len(audit.ranking) < 2:
        return []
    ranks = {}
    for position, name in enumerate(audit.ranking, 1):
        score, above = audit[name].ranking_score, audit[audit.ranking[position - 2]].ranking_score
        ties = position > 1 and score is not None and above is not None and score.high >= above.low
        ranks[name] = f"{position}{_TIES if ties else '  '}"
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


def _format_number(number: float | None) -> str:
    return "" if number is None else "none" if number != number else f"{number:.4g}"


_EFFECT = (
    "Problems are sorted by their effect: the change of the feature split when the problem is removed, or the "
    "affected share of the data."
)


def doubts(audit: Audit, words: Callable[[str], str] = str) -> Section | None:
    """Return the doubts by decreasing effect; a doubt shared by several representations appears once."""
    with_it: dict[str, list[tuple[Doubt, str]]] = {}
    for finding in audit.representations:
        for doubt in finding.doubts or ():
            with_it.setdefault(doubt.name, []).append((doubt, finding.name))
    if not with_it:
        return None
    several = len(audit.representations)
    worst = {name: max(pairs, key=lambda pair: pair[0].effect) for name, pairs in with_it.items()}
    points = []
    for name, (doubt, most) in sorted(worst.items(), key=lambda item: -item[1][0].effect):
        names = [representation for _, representation in with_it[name]]
        where = "" if several == 1 else f"{list_names(names, several)}, "
        most_in = f"strongest in {most}: " if len(names) > 1 else ""
        points.append(
            Point(name, f"{where}{doubt.evidence}", f"{most_in}{words(doubt.text)}.", f"{words(doubt.advice)}.")
        )
    return Section("What could be wrong", tuple(points), _EFFECT)


_DRIFT = (
    "Drift is 1 minus the rank correlation of all distances between rows. It is 0 for the same geometry and about 1 "
    "for an unrelated one. Rotations and rescalings do not change it."
)
_STABLE = "A stable geometry is not necessarily correct, and an unstable one has not necessarily lost information."
_MORE = "`shesha scores NAME` explains the meaning and limits of a number."


def sections(audit: Audit, words: Callable[[str], str] = str) -> list[Section]:
    """Return the sections of the report; the function `words` rewords reasons for the caller."""
    parts = [
        headline(audit),
        doubts(audit, words),
        data(audit, words),
        *tables(audit, words),
        drift(audit),
        readings(audit),
        notes(audit),
    ]
    return [part for part in parts if part is not None]


def data(audit: Audit, words: Callable[[str], str] = str) -> Section | None:
    """List faults in the data, each once, with the representations that have it."""
    several = len(audit.representations)
    names_by_fault: dict[str, list[str]] = {}
    for finding in audit.representations:
        for fault in _fault_lines(finding):
            names_by_fault.setdefault(fault, []).append(finding.name)
    parts = tuple(Text(_prefix_names(names, several, words(text))) for text, names in names_by_fault.items())
    return Section("Data", parts) if parts else None


def _prefix_names(names: list[str], several: int, text: str) -> str:
    return text if several == 1 else f"{list_names(names, several)}: {text}"


def _fault_lines(finding: RepresentationAudit) -> Iterable[str]:
    yield from (f"! {fault}" for fault in finding.faults.lines())
    if finding.reason:
        yield f"! no scores: {finding.reason}"


def drift(audit: Audit) -> Section | None:
    """Describe how far each representation has drifted along the sequence."""
    drift_path = audit.drift
    if audit.drift_reason:
        return Section("Drift", (Text(f"No drift was computed: {audit.drift_reason}"),))
    if drift_path is None:
        return None
    kinds = {"from the first": drift_path.from_first, "from the previous": drift_path.from_previous}
    columns = [Column(head, tuple(_describe_drift(value) for value in values)) for head, values in kinds.items()]
    why = tuple(
        Text(f"{name}: {reason}") for name, reason in zip(drift_path.names, drift_path.reasons, strict=False) if reason
    )
    table = Table(drift_path.names, (tuple(columns),), "Drift", "representation")
    return Section("Drift along the given order", (Either(tuple(str(drift_path).split("\n")), (table, *why)),), _DRIFT)


def _describe_drift(value: float) -> str:
    return "none" if value != value else f"{value:.4f}"


def notes(audit: Audit) -> Section | None:
    """Explain brackets and p-values, and mention omitted pairs."""
    names_by_note: dict[str, list[str]] = {}
    for finding in audit.representations:
        for score in (*finding.scores.values(), *finding.supervised.values()):
            dropped = [f"{count(score.pairs_dropped, 'undefined pair')} left out"] if score.pairs_dropped else []
            sampled = (
                [f"sampling pairs adds a standard error of {score.pair_error:.1g}"] if score.pair_error > 0 else []
            )
            for text in (*score.notes, *sampled, *dropped):
                names_by_note.setdefault(text, []).append(f"{finding.name}, {score.name}")
    lines = [f"{'; '.join(where)}: {text}" for text, where in names_by_note.items()]
    parts = tuple(Text(text) for text in (*_general(audit), *lines))
    return Section("Notes", parts) if parts else None


def _general(audit: Audit) -> Iterable[str]:
    if audit.interrupted:
        yield "Interrupted: the other representations were not audited."
    level = audit.options.get("confidence", float("nan"))
    if any(score.low == score.low for finding in audit.representations for score in finding.scores.values()):
        kinds = "other rows of the same kind and other partitions of the features"
        yield f"Brackets are {100 * level:g}% intervals for {kinds}."
    if any(score.pair_error > 0 for finding in audit.representations for score in finding.scores.values()):
        yield "Scores with a standard error from sampling use random pairs of rows. Numbers under Shape use all rows."
    draws = {score.n_draws for finding in audit.representations for score in finding.scores.values() if score.n_draws}
    if draws:
        least = min(draws)
        smallest = 1 / (least + 1)
        yield f"With {least:,} random matchings of rows, the smallest possible p-value is {smallest:.2g}."
    if any(finding.feature_split is not None for finding in audit.representations):
        yield f"{_STABLE} {_MORE}"


SCREEN = 30
"""Most lines that `print` shows, each up to 80 characters long."""
_FEWEST = 3
"""Fewest representations that the table shows."""
_FAULTS = 3
_SCALE = (
    "Do random halves of the features have the same geometry? Reference values: unrelated features 0, an untrained "
    "digits network 0.60 to 0.76, MiniLM 0.64 to 0.80."
)
_CELL_SCALE = (
    "Reference values for principal components of cells: feature split 0, basis-averaged split 0.17 (one cell line) to "
    "0.87 (several types of blood cells)."
)
_AGREEMENT = (
    "Alignment: are rows with the same label closer to each other than to other rows? Reference values: random labels "
    "0, cell types of blood 0.49 to 0.54."
)
_REST = Section("More", (Text("`full_text()` prints every number; `save_html('audit.html')` saves a page."),))


def first_screen(audit: Audit, words: Callable[[str], str] = str, more: Section = _REST) -> list[Section]:
    """Return the parts of a report that fits on one screen.

    Parameters
    ----------
    audit : Audit
        The audit to report.
    words : callable
        Function that rewords reasons for the caller, for example with the option names of the command line.
    more : Section
        The last section, which says what to do next and where to find the remaining numbers.
    """
    scored = [finding for finding in audit.representations if not finding.reason]
    for brief in (False, True):
        rest = [_first_faults(audit, words), _first_doubt(audit, words, brief=brief), more]
        parts = [headline(audit, brief=True), *(section for section in rest if section is not None)]
        if not scored:
            break
        used = as_text([*parts, _table(audit, scored[:1], len(scored), brief=brief)], 80).count("\n")
        room = SCREEN - used
        if room >= min(_FEWEST, len(scored)):
            break
    if scored:
        room = max(_FEWEST, room)
        shown = scored if len(scored) <= room else _sample(audit, scored, room - 1)
        parts.insert(1, _table(audit, shown, len(scored), brief=brief))
    if audit.interrupted:
        parts.append(Section("Interrupted: the other representations were not audited."))
    return parts


def _table(audit: Audit, shown: Sequence[RepresentationAudit], several: int, *, brief: bool) -> Section:
    """Show the leading score with its chance level and a verdict in words."""
    off_axes = all(map(has_uninformative_axes, shown))
    has_labels = any("supervised_alignment" in finding.supervised for finding in shown)
    stability = any(finding.feature_split is not None for finding in shown) and not (off_axes and has_labels)
    title, name = ("Stability", "feature_split") if stability else ("Agreement", "supervised_alignment")
    scores = [find_estimate(finding, name) for finding in shown]
    columns = (
        Column(_HEADS[title], tuple(interval(find_estimate(finding, name), 2) for finding in shown), "<"),
        Column("chance up to", tuple(f"{score.threshold:.2f}" if _is_tested(score) else "" for score in scores)),
        Column("p", tuple(f"{score.p_value:.2g}" if _is_tested(score) else "" for score in scores)),
        Column("verdict", tuple(_verdict(finding, title) for finding in shown), "<"),
    )
    parts: list[Part] = [Table(tuple(finding.name for finding in shown), (columns,), title, "representation")]
    if 1 < len(shown) < several:
        parts.append(
            Text(f"{len(shown)} of {several} representations are shown, including the most and the least stable.")
        )
    scale = (_CELL_SCALE if off_axes else _SCALE) if stability else _AGREEMENT
    parts.append(Text(f"{_brackets(audit, shown, name)}{scale}"))
    if stability and not brief:
        parts += texts([what_to_do(audit.representations)])
    return Section(title, (*parts, *texts(["" if brief else _farthest(audit)])))


_HEADS = {"Stability": "feature split", "Agreement": "alignment with labels"}


def _brackets(audit: Audit, shown: Sequence[RepresentationAudit], name: str) -> str:
    estimates = [estimate for estimate in (find_estimate(each, name) for each in shown) if estimate is not None]
    known = any(estimate.low == estimate.low for estimate in estimates)
    return f"Brackets: {100 * audit.options.get('confidence', 0.95):g}% intervals. " if known else ""


def _farthest(audit: Audit) -> str:
    """Name the representation that has drifted farthest from the first."""
    known = {} if audit.drift is None else dict(zip(audit.drift.names, audit.drift.from_first, strict=True))
    known = {name: value for name, value in known.items() if value == value}
    if len(known) < 2 or audit.drift is None:
        return ""
    name = max(known, key=lambda candidate: known[candidate])
    return (
        f"Largest drift from {audit.drift.names[0]}: {known[name]:.2f} ({name}). 0 means the same geometry, and 1 an "
        "unrelated one."
    )


def _is_tested(score: Estimate | None) -> TypeGuard[Estimate]:
    return score is not None and score.has_null


def _verdict(finding: RepresentationAudit, title: str) -> str:
    if title == "Stability":
        return verdict(finding)
    score = finding.supervised.get("supervised_alignment")
    return score.verdict if _is_tested(score) else ""


def _sample(audit: Audit, scored: Sequence[RepresentationAudit], room: int) -> list[RepresentationAudit]:
    """Choose evenly spaced representations in order, always including the most and the least stable."""
    ends = {*audit.ranking[:1], *audit.ranking[-1:]}
    places = {round(step * (len(scored) - 1) / max(1, room - 3)) for step in range(room - 2)}
    return [finding for place, finding in enumerate(scored) if place in places or finding.name in ends]


def _first_faults(audit: Audit, words: Callable[[str], str]) -> Section | None:
    """The first few faults in the data."""
    section = data(audit, words)
    if section is None or len(section.parts) <= _FAULTS:
        return section
    more = Text(f"The full report lists {len(section.parts) - _FAULTS} more faults.")
    return Section(section.title, (*section.parts[:_FAULTS], more))


def _first_doubt(audit: Audit, words: Callable[[str], str], *, brief: bool) -> Section | None:
    """Describe the problem with the largest effect (if brief, only its remedy), and name the others."""
    section = doubts(audit, words)
    if section is None:
        return None
    points = [part for part in section.parts if isinstance(part, Point)]
    first = points[0]
    shown = Text(f"{first.name} ({first.evidence}): {first.advice}") if brief else first
    others = ", ".join(point.name for point in points[1:])
    return Section(section.title, (shown, *texts([f"Other problems: {others}." if others else ""])))


def next_steps(commands: Sequence[tuple[str, str]]) -> Section:
    """Return a section of next steps: commands, each with the question that it answers."""
    return Section("Next", (Lines(tuple(line for answer, command in commands for line in (answer, f"  {command}"))),))


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
    numbers, *rest = tables(audit) or [Section("")]
    # The first table stands beside the answer; its explanations follow below.
    explained = Section("What these numbers mean", numbers.parts[1:]) if numbers.parts[1:] else None
    sections = [data(audit), explained, *rest, drift(audit), readings(audit), notes(audit)]
    picture = [_picture(audit)] if 2 < len(audit.ranking) <= _DRAWN else []
    return Page(
        title=head.title,
        question=_QUESTION.format(these="this representation" if is_single else "these representations"),
        answer=tuple(part.text for part in head.parts if isinstance(part, Text)),
        numbers=(*numbers.parts[:1], *texts([what_to_do(audit.representations)])),
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
            {}
            if chance is None
            else {"chance": chance.chance, "threshold": chance.threshold, "p_value": chance.p_value}
        )
        metrics.append(Metric(finding.name, _ranking_name(audit), score.value, score.low, score.high, **calibration))
    return metrics


def _ranking_name(audit: Audit) -> str:
    """Return the name of the score that ranks the representations."""
    same_width = any(finding.same_width is not None for finding in audit.representations)
    return "stability, at equal numbers of features" if same_width else "feature-split stability"


def _dependence_parts(audit: Audit) -> tuple[Part, ...]:
    return (Text(_DESIGN),) if any(finding.dependence is not None for finding in audit.representations) else ()


def _picture(audit: Audit) -> Section:
    shows = (
        "Both stability scores of each representation in the given order, with their intervals. The dashed line is "
        "the chance threshold."
    )
    return Section("Stability in the given order", (Drawing(shows, audit.plot),))


def _sizes(audit: Audit) -> str:
    several = [f"{finding.name}: {finding.n_rows:,} x {finding.n_features:,}" for finding in audit.representations]
    sizes = {(finding.n_rows, finding.n_features) for finding in audit.representations}
    if len(sizes) == 1:
        rows, features = sizes.pop()
        return f"{count(len(several), 'representation')} of {rows:,} rows x {features:,} features"
    return "; ".join(several)
