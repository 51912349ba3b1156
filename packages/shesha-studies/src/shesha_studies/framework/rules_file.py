"""Texts for a study's page, stored as data: rules for lesser claims, the answer, and table headings.

The file is `published/rules/NAME.toml`. An entry of `[claim]` has the key of a published line in words, and contains
the rules that decide this claim. The published line contains its place and its label. The fields of the first rule may
be at the top level of the entry. A star in a key matches several lines; a star in the fields is replaced by the matched
text. An entry of `[[answer]]` is a text with the names of facts in braces, or a rule whose words are the sentence. An
entry of `[columns]` is the heading that replaces a column name in the tables of the page. `notes` are the notes of the
page, with facts in braces. An entry of `[missing]` is the start or the pattern of published keys and the reason why
such lines cannot be repeated. An entry of `[why]` is a pattern of keys and the reason why our numbers differ. Both may
contain facts in braces. `own_numbers`, `repeated` and `transcribed` are lists of words. They apply to lines whose
"place | label |" contains one of the words: the value follows from other printed numbers without an experiment; it uses
the paper's own models or data although the study has stand-ins; or it is a label, a parameter, a sample size or a
consequence of a definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shesha.support.files import read_toml
from shesha_studies.framework.checks import UNREACHABLE, Found
from shesha_studies.framework.claim_files import RULE_FIELDS, parse_claim, parse_rule
from shesha_studies.framework.claims import Claim, Line, fact_names
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.published_checks import claim_key, line_label, published_folder, read_published
from shesha_studies.framework.study_decorator import Study

if TYPE_CHECKING:
    import pandas as pd

Tables = tuple[tuple[str, "pd.DataFrame"], ...]


def read_rules(study: Study) -> dict[str, Any]:
    """Read the file with a study's rules; empty if there is none."""
    place = published_folder(study) / "rules" / f"{study.name}.toml"
    return read_toml(place) if place.exists() else {}


def lesser_claims(study: Study) -> dict[Line, Claim]:
    """Return the lesser claims of a study, by place and label of their published lines.

    Raises
    ------
    ValueError
        If no published line has the key of a rule.
    """
    rules: dict[str, Any] = read_rules(study).get("claim", {})
    published = read_published(study)
    if published is None or not rules:
        return {}
    lines = [(line_label(line), claim_key(line)) for _, line in published.iterrows()]
    entries = {line: entry for line, key in lines if (entry := _entry(key, rules))}
    unused = [key for key in rules if not any(fnmatchcase(known, key) for _, known in lines)]
    if unused:
        raise ValueError(f"claim must be a key of {study.published}, got {unused[0]!r} in the rules of {study.name}")
    return {line: _claim_from_line(study.name, line, entry) for line, entry in entries.items()}


def _entry(key: str, rules: dict[str, Any]) -> dict[str, Any]:
    """Return the entry that matches a key; stars in its fields are replaced by the text matched."""
    pattern = next((rule for rule in rules if fnmatchcase(key, rule)), None)
    if pattern is None:
        return {}
    start, star, end = pattern.partition("*")
    entry: dict[str, Any] = rules[pattern]
    return dict(_substitute(entry, key[len(start) : len(key) - len(end)])) if star else entry


def _substitute(entry: Any, part: str) -> Any:
    if isinstance(entry, dict):
        return {name: _substitute(value, part) for name, value in entry.items()}
    return entry.replace("*", part) if isinstance(entry, str) else entry


def _claim_from_line(study: str, line: Line, entry: dict[str, Any]) -> Claim:
    fields = {"found": "", "on": "", "card": False} | entry
    if "fact" in fields:
        fields["repeated"] = {name: fields.pop(name) for name in RULE_FIELDS if name in fields}
    try:
        return parse_claim("", fields | {"name": line[1], "study": study, "where": line[0], "quote": line[1]})
    except ValueError as error:
        raise ValueError(f"rule of {line[1]!r}: {error}") from None


def study_answer(study: Study, facts: Facts) -> str:
    """Return the answer for a study's page ("" without rules); sentences with missing facts are omitted."""
    return " ".join(filter(None, (_sentence(entry, facts) for entry in read_rules(study).get("answer", ()))))


def explain(study: Study, answers: Mapping[str, Found], facts: Facts) -> dict[str, Found]:
    """Return the answers with the reasons in the rules of a study, by the first pattern that matches their key."""
    reasons = _reasons(study, "why", facts)

    def reason(key: str) -> str:
        return next((reasons[pattern] for pattern in reasons if fnmatchcase(key, pattern)), "")

    return {
        key: answer if answer.why or answer.verdict == UNREACHABLE else replace(answer, why=reason(key))
        for key, answer in answers.items()
    }


def missing_reasons(study: Study, facts: Facts) -> dict[str, str]:
    """Return the reasons why published lines cannot be repeated, by the start or the pattern of their keys."""
    return _reasons(study, "missing", facts)


def _reasons(study: Study, table: str, facts: Facts) -> dict[str, str]:
    texts: dict[str, str] = read_rules(study).get(table, {})
    return {key: text.format(**facts) for key, text in texts.items() if fact_names(text) <= set(facts)}


def study_notes(study: Study, facts: Facts) -> tuple[str, ...]:
    """Return the notes of a study's page; notes with missing facts are omitted."""
    return tuple(note.format(**facts) for note in read_rules(study).get("notes", ()) if fact_names(note) <= set(facts))


def set_headings(study: Study, tables: Tables) -> Tables:
    """Return the tables of a study's page, with column names replaced by the headings in its rules."""
    headings: dict[str, str] = read_rules(study).get("columns", {})
    return tuple((title, table.rename(columns=headings)) for title, table in tables)


def _sentence(entry: dict[str, Any], facts: Facts) -> str:
    rule = parse_rule({"reason": "", **entry}) if "fact" in entry else None
    text = rule.words.get(rule.answer(facts), "") if rule else str(entry["text"])
    return text.format(**facts) if fact_names(text) <= set(facts) else ""
