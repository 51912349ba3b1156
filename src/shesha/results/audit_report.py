"""The report of an audit: its answer, tables and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from shesha.report import (
    Column,
    Drawing,
    Explained,
    Item,
    Lines,
    Page,
    Part,
    Point,
    Section,
    Table,
    Text,
    texts,
)
from shesha.results import sentence_parts as say
from shesha.results.audit import Audit
from shesha.results.audit_verdict import (
    LARGE_EFFECT,
    find_estimate,
    has_uninformative_axes,
    headline,
    leaves_stability_open,
    list_names,
    readings,
    verdict,
    what_to_do,
)
from shesha.results.generic_page import run_details
from shesha.results.number import format_value, strip
from shesha.support.seeds import CONFIDENCE
from shesha.support.wording import count, lowercase_start

if TYPE_CHECKING:
    from shesha.results.audit import Meaning, RepresentationAudit
    from shesha.results.doubts import Doubt
    from shesha.results.stability import Estimate


_LEADING, _ALIGNMENT = "feature_split", "supervised_alignment"
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
    # The main table of the report shows the leading score.
    groups = [_score_columns(audit, name, findings) for name in names if name != _LEADING]
    parts: list[Part] = [Table(tuple(row.name for row in findings), tuple(map(tuple, groups)), title, "representation")]
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
        return [Column.of(title, [row.descriptors.get(name) for row in findings])]
    scores = [find_estimate(row, name) for row in findings]
    known = [score if score is not None and score.has_null else None for score in scores]
    if not any(score is not None and score.has_value for score in scores):
        # The reason for a missing value is printed below the table.
        return []
    return [Column.of(title, map(format_value, scores), map(strip, scores)), *_test_columns(known)]


def _test_columns(tests: Sequence[Estimate | None]) -> tuple[Column, Column]:
    return (
        Column.of("chance up to", [None if test is None else test.threshold for test in tests]),
        Column.of("p", [None if test is None else test.p_value for test in tests]),
    )


def _size_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    if len({(row.n_rows, row.n_features) for row in audit.representations}) == 1:
        return []
    if len({row.n_rows for row in audit.representations}) == 1:
        return [Column.of("features", [row.n_features or "-" for row in findings])]
    return [Column.of("rows x features", [f"{row.n_rows:,} x {row.n_features or '-'}" for row in findings])]


def _rank_columns(audit: Audit, findings: list[RepresentationAudit]) -> list[Column]:
    """Show positions in the ranking by stability, with an equals sign where intervals overlap."""
    if len(audit.ranking) < 2:
        return []
    ranks = {}
    for position, name in enumerate(audit.ranking, 1):
        score, above = audit[name].ranking_score, audit[audit.ranking[position - 2]].ranking_score
        ties = position > 1 and score is not None and above is not None and score.high >= above.low
        ranks[name] = f"{position}{_TIES if ties else '  '}"
    return [Column.of("rank", [ranks.get(row.name, "") for row in findings])]


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


_EFFECT = (
    "Problems are sorted by their effect: the change of the feature split when the problem is removed, or the "
    "affected share of the data."
)


_DRIFT = (
    "Drift is 1 minus the rank correlation of all distances between rows. It is 0 for the same geometry and about 1 "
    "for an unrelated one. Rotations and rescalings do not change it."
)
_STABLE = "A stable geometry is not necessarily correct, and an unstable one has not necessarily lost information."
_MORE = "`shesha scores NAME` explains the meaning and limits of a number."


def _faults(audit: Audit, words: Callable[[str], str]) -> tuple[Item, ...]:
    """List faults in the data, each once, with the representations that have it."""
    several = len(audit.representations)
    names_by_fault: dict[str, list[str]] = {}
    for finding in audit.representations:
        for fault in _fault_lines(finding):
            names_by_fault.setdefault(fault, []).append(finding.name)
    return tuple(
        Item(f"{'' if several == 1 else f'{list_names(names, several)}: '}{words(text)}")
        for text, names in names_by_fault.items()
    )


def _fault_lines(finding: RepresentationAudit) -> Iterable[str]:
    yield from finding.faults.lines()
    if finding.reason:
        yield f"no scores: {finding.reason}"


def drift(audit: Audit) -> Section | None:
    """Describe how far each representation has drifted along the sequence."""
    if audit.drift_reason:
        return Section("Drift", (Text(f"No drift was computed: {audit.drift_reason}"),))
    if audit.drift is None:
        return None
    return Section("Drift along the given order", audit.drift._numbers(), _DRIFT)


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


_TITLE = "feature-split stability"


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


def audit_page(audit: Audit, words: Callable[[str], str] = str) -> Page:
    """Return the report of an audit; the function `words` rewords reasons for the caller."""
    head = headline(audit)
    is_single = len(audit.representations) == 1
    sections = [drift(audit), *tables(audit, words), readings(audit), notes(audit)]
    picture = [_picture(audit)] if 2 < len(audit.ranking) <= _DRAWN else []
    is_partial = any(one.is_interrupted for one in audit.representations)
    interrupted = (
        f"Interrupted: the other {'scores were not computed' if is_partial else 'representations were not audited'}."
    )
    return Page(
        title=head.title,
        question=_QUESTION.format(these="this representation" if is_single else "these representations"),
        answer=tuple(part.text for part in head.parts if isinstance(part, Text)),
        numbers=(*_score_table(audit), *(Text(remark, "") for remark in _remarks(audit))),
        doubts=(*((Item(interrupted),) if audit.interrupted else ()), *_faults(audit, words), *_doubts(audit, words)),
        sections=(*picture, *(section for section in sections if section is not None)),
        ran=(("data", _sizes(audit)), *run_details(audit)),
    )


def _doubts(audit: Audit, words: Callable[[str], str]) -> tuple[Part, ...]:
    """Return the doubts in order; a doubt shared by several representations appears once."""
    with_it: dict[str, list[tuple[Doubt, str]]] = {}
    for finding in audit.representations:
        for doubt in finding.doubts or ():
            with_it.setdefault(doubt.name, []).append((doubt, finding.name))
    if not with_it:
        is_design_unknown = any(finding.dependence is not None for finding in audit.representations)
        is_checked = any(finding.doubts is not None for finding in audit.representations)
        return texts([_NO_DOUBT if is_checked else "", _DESIGN if is_design_unknown else ""])
    several = len(audit.representations)
    worst = {name: max(pairs, key=lambda pair: pair[0].effect) for name, pairs in with_it.items()}
    points = []
    for name, (doubt, most) in sorted(worst.items(), key=lambda item: item[1][0].order):
        names = [representation for _, representation in with_it[name]]
        where = "" if several == 1 else f"{list_names(names, several)}, "
        most_in = f"strongest in {most}: " if len(names) > 1 else ""
        points.append(
            Point(name, f"{where}{doubt.evidence}", f"{most_in}{words(doubt.text)}.", f"{words(doubt.advice)}.")
        )
    return (*points, Explained("effect", _EFFECT))


def _score_table(audit: Audit) -> tuple[Part, ...]:
    """Show the stability with its chance level and verdict, or the agreement with labels without stability."""
    known = list(audit.representations)
    is_stability = leads_with_stability(known)
    scores = [row.feature_split if is_stability else find_estimate(row, _ALIGNMENT) for row in known]
    tests = [row.chance if is_stability else score for row, score in zip(known, scores, strict=True)]
    verdicts = [
        # The column of p says that a score is above chance, the verdict how strong it is.
        verdict(row).removeprefix("above chance, ")
        if is_stability or row.reason
        else test.verdict
        if test is not None and test.has_null
        else ""
        for row, test in zip(known, tests, strict=True)
    ]
    title = _TITLE if is_stability else "alignment with labels"
    score = (
        Column.of("verdict", verdicts),
        Column.of(title, map(format_value, scores), map(strip, scores)),
    )
    # Ranks follow the score that they order.
    widths, ranks = _equal_width_scores(known) if is_stability else (), _rank_columns(audit, known)
    tested = _test_columns(tests)
    leading: tuple[tuple[Column, ...], ...] = ((*score, *ranks), tested)
    if widths:
        leading = (score, tested, (*widths, *ranks))
    names = [row.name for row in known]
    # Of many representations, the most and the least stable and the ends are shown first.
    shown = [*audit.ranking[:1], *audit.ranking[-1:], names[0], names[-1]]
    important = tuple(dict.fromkeys(names.index(name) for name in shown if name in names))
    groups = (*leading, tuple(_size_columns(audit, known)))
    return (Table(tuple(names), groups, "Stability", "representation", important),)


def leads_with_stability(findings: Sequence[RepresentationAudit]) -> bool:
    """Return whether stability comes first: it does unless it says nothing everywhere and there are labels."""
    has_labels = any(find_estimate(row, _ALIGNMENT) is not None for row in findings)
    if has_labels and all(map(leaves_stability_open, findings)):
        return False
    return any(row.ranking_score is not None for row in findings)


def _remarks(audit: Audit) -> Iterator[str]:
    """Explain sizes, brackets and the scale of the score, and name the representation that drifted farthest."""
    known = [row for row in audit.representations if not row.reason]
    if not known:
        return
    is_stability = leads_with_stability(known)
    scores = [row.feature_split if is_stability else find_estimate(row, _ALIGNMENT) for row in known]
    has_interval = any(score is not None and score.has_interval for score in scores)
    level = 100 * audit.options.get("confidence", CONFIDENCE)
    brackets = f"Brackets are {level:g}% intervals. " if has_interval else ""
    has_ties = any(cell.endswith(_TIES) for column in _rank_columns(audit, known) for cell in column.cells)
    ties = "= after a rank: the interval overlaps that of the next better rank. " if has_ties else ""
    scale = _CELL_SCALE if all(map(has_uninformative_axes, known)) else _SCALE
    n_pairs = audit.options.get("pairs")
    sizes = _size_sentence(audit) + (f"Distances are those of {n_pairs:,} sampled pairs. " if n_pairs else "")
    yield f"{sizes}{brackets}{ties}{scale if is_stability else _AGREEMENT}"
    yield from filter(None, [what_to_do(known) if is_stability else ""])
    if audit.drift is not None and sum(value == value for value in audit.drift.from_first) > 1:
        yield audit.drift.headline


def _equal_width_scores(known: Sequence[RepresentationAudit]) -> tuple[Column, ...]:
    """Show the scores that rank representations with unequal numbers of features."""
    scores = [row.same_width for row in known]
    width = next((score.n_features for score in scores if score is not None), None)
    return () if width is None else (Column.of(f"with {width:,} features each", map(format_value, scores)),)


def _picture(audit: Audit) -> Section:
    shows = (
        "Both stability scores of each representation in the given order, with their intervals. The dashed line is "
        "the chance threshold."
    )
    return Section("Stability in the given order", (Drawing(shows, audit.plot),))


def _size_sentence(audit: Audit) -> str:
    """Say the sizes that the table does not show."""
    n_rows = {finding.n_rows for finding in audit.representations}
    if len({(finding.n_rows, finding.n_features) for finding in audit.representations}) == 1:
        return f"{_sizes(audit)}. "
    several = count(len(audit.representations), "representation")
    return f"{several} of {n_rows.pop():,} rows. " if len(n_rows) == 1 else ""


def _sizes(audit: Audit) -> str:
    several = [f"{finding.name}: {finding.n_rows:,} x {finding.n_features:,}" for finding in audit.representations]
    sizes = {(finding.n_rows, finding.n_features) for finding in audit.representations}
    if len(sizes) == 1:
        rows, features = sizes.pop()
        return f"{count(len(several), 'representation')} of {rows:,} rows x {features:,} features"
    return "; ".join(several)


def audit_claim(result: Audit) -> str:
    """Return the sentence for a paper: the leading scores of each representation, and the null distribution."""
    # Columns such as principal components share nothing: labels and rotated axes are reported instead.
    is_fitted = all(map(has_uninformative_axes, result.representations))
    claims = []
    for name in (_ALIGNMENT, "basis_averaged_split") if is_fitted else (_LEADING,):
        scores = {one.name: score for one in result if (score := find_estimate(one, name)) is not None}
        title = say.add_source(name, result.meanings[name].title) if scores else ""
        sampled = next((score.sampled_pairs for score in scores.values() if score.has_value), "")
        rows = f"{say.span(score.n_rows for score in scores.values() if score.has_value)} rows{sampled}"
        if len(scores) == 1:
            ((of, score),) = scores.items()
            claims.append(say.statement(score, f"{title} of {of}", rows))
        elif scores:
            ordered = sorted(scores, key=lambda of: -scores[of].value if scores[of].has_value else inf)
            tested = [score for score in scores.values() if score.has_null]
            null = dict.fromkeys(say.draws(score.n_draws, score.exchanged) for score in tested)
            n_above = sum(score.significant for score in tested)
            above = f", {n_above} of {len(tested)} above chance at {tested[0].alpha:g}" if tested else ""
            clauses = [say.clause(scores[of], of) for of in ordered]
            head = f"{title} of {len(scores)} representations over {rows}{above}"
            claims.append(say.listing(head, clauses, *null, others="representations"))
    if any(one.dependence is not None and one.dependence.is_dependent for one in result.representations):
        claims.append("rows look dependent on one another, and no design is declared, so p may be too small")
    large = {
        f"{doubt.name} ({doubt.evidence})": None
        for one in result.representations
        for doubt in one.doubts or ()
        if doubt.effect >= LARGE_EFFECT
    }
    if claims and large:
        claims.append(f"possible problems: {', '.join(large)}")
    return "; ".join(claims) or "The stability of the geometry could not be estimated"
