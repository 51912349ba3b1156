"""Find the BibTeX entries for measures and scores, by name or from a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from shesha import descriptors, measures, stability
from shesha._version import __version__
from shesha.results.base import Result
from shesha.support import types as kinds, wording

_BIB = Path(__file__).with_name("references.bib")
_LABEL = re.compile(r"keywords = \{(.*)\}")
_YEAR = re.compile(r"^.*?\d{4}[a-z]?(?=\D|$)")
_NAMED = ("measure", "name", "score")
"""Fields of results that contain the name of a measure or score."""


@dataclass(frozen=True)
class Citations:
    """BibTeX entries; `print` or `str` gives the text of a BibTeX file.

    Attributes
    ----------
    entries : tuple of str
        The entry for the library, then one entry per source.
    unchecked : tuple of str
        Sources without a verified entry, as "name: reference". They appear as comments in the BibTeX file.
    """

    entries: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text of a BibTeX file."""
        comments = [f"% No verified BibTeX entry for {line}" for line in self.unchecked]
        return "\n\n".join([*self.entries, *(["\n".join(comments)] if comments else [])])


def cite(*used: str | Result | Mapping[str, Any]) -> Citations:
    """Return BibTeX entries for the library and for the sources of measures and scores.

    Parameters
    ----------
    *used : str, result or mapping
        Names of measures, stability scores or descriptors; or results, whose measures and scores are cited. The output
        of a result's `to_dict()` works as well. Without arguments, only the library is cited.

    Returns
    -------
    Citations
        The BibTeX entries; printing them gives the text of a BibTeX file.

    Raises
    ------
    ValueError
        If a name is unknown; the message lists similar names.
    TypeError
        If an argument is neither a name nor a result.

    Examples
    --------
    >>> import shesha
    >>> print(shesha.cite("cka").entries[1].splitlines()[0])
    @inproceedings{kornblith2019similarity,
    >>> shesha.cite("cka", "unbiased CKA", "feature_split").unchecked
    ()
    """
    known = _references()
    labels: dict[str, list[str]] = {}
    for source in used:
        kinds.instance(source, (str, Result, Mapping), "used", "names of measures or scores, or results")
        for name, reference in _sources(source):
            for label in reference.split("; "):
                labels.setdefault(_label(label), [name, label])
    entries = {known[label]: None for label in labels if label in known}
    unchecked = [f"{name}: {text}" for label, (name, text) in labels.items() if label not in known]
    return Citations((_library(), *entries), tuple(unchecked))


def _sources(item: str | Result | Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and reference of each measure or score that an argument names or contains."""
    if isinstance(item, str):
        entry = _find(item)
        if entry is None:
            # This raises an error that lists similar names.
            every = [SimpleNamespace(names=_measure_names(known)) for known in (*measures.choose("all"), *_scores())]
            wording.find_by_name(item, every, "name", "`shesha measures` and `shesha scores`")
        else:
            yield entry.name, entry.reference
        return
    for name in dict.fromkeys(_names_in(item.to_dict() if isinstance(item, Result) else item)):
        if (entry := _find(name)) is not None:
            yield entry.name, entry.reference


def _names_in(plain: Any) -> Iterator[str]:
    """Yield the names of all measures and scores that occur in the plain values of a result."""
    if isinstance(plain, Mapping):
        for key, value in plain.items():
            if key in _NAMED and isinstance(value, str):
                yield value
            elif key == "measures" and isinstance(value, Sequence):
                yield from (name for name in value if isinstance(name, str))
            else:
                # In an audit, scores are stored under their names.
                yield from [key] if value is not None and isinstance(key, str) and _find(key) is not None else []
                yield from _names_in(value)
    elif isinstance(plain, Sequence) and not isinstance(plain, str):
        for entry in plain:
            yield from _names_in(entry)


def _scores() -> list[Any]:
    return [*stability.list_variants().values(), *descriptors.descriptors().values()]


def _find(name: str) -> Any:
    """Return the measure or score with this name, or None."""
    plain_name = _plain_name(name)
    every = [*measures.choose("all"), *_scores()]
    return next((entry for entry in every if plain_name in map(_plain_name, _measure_names(entry))), None)


def _measure_names(entry: Any) -> tuple[str, ...]:
    return (entry.name, entry.function.__name__) if isinstance(entry, measures.Measure) else entry.names


def _plain_name(name: str) -> str:
    """Return a name in lower case, without options, spaces or punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.partition("(")[0].casefold())


def _label(reference: str) -> str:
    """Return the authors and the year of a reference, without anything that follows."""
    match = _YEAR.match(reference)
    return match.group() if match else reference


@cache
def _references() -> dict[str, str]:
    """Return BibTeX entries, keyed by the references that measures and scores state."""
    entries = re.findall(r"^@.*?^}", _BIB.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    entries_by_label = {}
    for entry in entries:
        label = _LABEL.search(entry)
        assert label is not None, entry
        entries_by_label[label.group(1)] = re.sub(r"\n  keywords = .*", "", entry)
    return entries_by_label


def _library() -> str:
    return "\n".join(
        [
            "@software{shesha,",
            "  author = {{The shesha developers}},",
            "  title = {shesha: The Geometry of Representations},",
            f"  version = {{{__version__}}},",
            "}",
        ]
    )
