"""Find control labels, by name or by how they are written, in the paper's three stages (12.3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shesha.bio._anndata_fields import label_text
from shesha.inputs import validation as check
from shesha.results.base import Result
from shesha.support import argument_types as kinds
from shesha.support import spelling
from shesha.support.warnings import GuessedControlsWarning, warn

_EXACT = frozenset(
    (
        *("control", "controls", "ctrl", "ctl", "negctrl", "negative", "negativecontrol", "neg", "nancontrol"),
        *("nt", "ntc", "nontarget", "nontargeting", "nontargetingcontrol", "safetargeting", "scramble", "scrambled"),
        *("unperturbed", "untreated", "unstimulated", "unstim", "vehicle", "dmso", "pbs", "mock"),
    )
)
"""Usual names of controls, compared without case, spaces and punctuation."""
_TOKENS = re.compile(r"(?<![a-z0-9])(?:sg)?(?:nt|ntc|neg|ctrl|ctl|negctrl)(?:g?\d+)?(?![a-z0-9])")
"""Pattern of control tokens between delimiters, with or without a guide number: NTg1, but not NEGR1."""
_KEYWORDS = (
    *("control", "negctrl", "negative", "non-target", "non_target", "non target", "nontarget", "safe-target"),
    *("safe_target", "scramble", "unperturbed", "untreated", "unstimulated", "vehicle", "dmso", "mock"),
)
_ALL_JOINTS = re.compile(r"[+|&;,:/_]")
_JOINTS = re.compile(r"[+|&;,]")
"""Separators between the targets in the label of a combined perturbation.

A combination counts as a control only if all its targets are controls. Colons, slashes and underscores also occur in
other labels, so they separate targets only if another label contains the same parts.
"""


@dataclass(frozen=True)
class Controls(Result):
    """The labels that count as controls, and how they were found."""

    labels: tuple[str, ...]
    how: str
    """How the labels were found: 'named', 'exact', 'token' or 'keyword'."""
    others: tuple[str, ...] = ()
    """Labels that also resemble controls but count as perturbations."""

    def _text(self) -> str:
        """Return the labels, and how they were found, as text."""
        others = f"; similar labels counted as perturbations: {check.join_items(self.others)}" * bool(self.others)
        return f"controls: {check.join_items(map(repr, self.labels))} ({self.how}){others}"


def find_controls(labels: Iterable[str], control: str | Sequence[str] | None = None) -> Controls:
    """Find the labels of the controls: those that are named, or else labels that resemble controls.

    The search has three stages: whole labels, ignoring case and punctuation ('control', 'Non-Targeting', 'NT'); then
    short tokens between delimiters, with or without a guide number ('sgNT-2' and 'NTg1', but not 'NEGR1'); then
    keywords of at least four letters within a label ('NaN_Control'). Several labels form one set of controls if they
    differ only in their numbers, as the guides of a non-targeting set do.

    Parameters
    ----------
    labels : iterable of str
        Labels of the cells; repeated labels have no effect.
    control : str or sequence of str, optional
        The control labels. Default: labels that resemble controls.

    Returns
    -------
    Controls

    Raises
    ------
    ValueError
        If a named label is missing, if no label resembles a control, or if those that do are not a single set.

    Warns
    -----
    GuessedControlsWarning
        If only part of a label matched, or if further labels resemble controls.

    Examples
    --------
    >>> print(find_controls(["STAT1", "NT", "NEGR1"]))
    controls: 'NT' (exact)
    >>> find_controls(["NTg1", "NTg2", "STAT1g1"], control=["NTg1", "NTg2"]).labels
    ('NTg1', 'NTg2')
    >>> find_controls(["DMSO", "control", "drug"])
    Traceback (most recent call last):
    ValueError: control must be given if several labels resemble controls (DMSO, control), got None
    """
    known = list(dict.fromkeys(str(label) for label in kinds.instance(labels, Iterable, "labels", "labels")))
    if control is not None:
        return _check_named_controls(known, control)
    stages: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("exact", _is_exact),
        ("token", _has_token),
        ("keyword", _has_keyword),
    )
    like = [label for label in known if any(all(map(test, _targets(label))) for _, test in stages)]
    for how, test in stages:
        matches = [label for label in known if all(map(test, _targets(label)))]
        if how != "exact":
            matches = _without_targets(matches, known)
        if not matches:
            continue
        matches = [label for label in known if label in matches or set(_ALL_JOINTS.split(label)) <= set(matches)]
        if len({_stem(part) for label in matches for part in _parts_of_repeats(label, matches)}) > 1:
            raise ValueError(
                f"control must be given if several labels resemble controls ({check.join_items(matches)}), got None"
            )
        controls = Controls(tuple(matches), how, tuple(label for label in like if label not in matches))
        if how != "exact" or controls.others:
            warn(
                f"the control cells were guessed from their labels ({controls}). A wrong guess changes all scores. "
                "Pass control= to name the controls",
                GuessedControlsWarning,
            )
        return controls
    among = check.join_items(known) or "none"
    raise ValueError(f"control must be a label of the control cells, one of {among}, got None")


def combined_perturbations(labels: Iterable[str], controls: Controls) -> dict[str, str]:
    """Return a common name for labels that name the same targets in another order, or with a control word.

    Labels are joined by ``+ | & ; , : /`` or an underscore: 'A+B' equals 'B+A', and 'KLF1_control' and 'control+KLF1'
    equal 'KLF1'. Only labels that coincide with another label are renamed.

    Parameters
    ----------
    labels : iterable of str
    controls : Controls
        The labels of the controls, which are never renamed.

    Examples
    --------
    >>> labels = ["ctrl", "KLF1+ctrl", "ctrl+KLF1", "A_B", "B_A", "C_1"]
    >>> combined_perturbations(labels, Controls(("ctrl",), "exact"))
    {'KLF1+ctrl': 'KLF1', 'ctrl+KLF1': 'KLF1', 'A_B': 'A+B', 'B_A': 'A+B'}
    """
    members: dict[tuple[str, ...], list[str]] = {}
    for label in dict.fromkeys(labels):
        if label not in controls.labels:
            members.setdefault(_perturbed_targets(label, controls), []).append(label)
    return {label: "+".join(targets) for targets, same in members.items() if len(same) > 1 for label in same}


def _perturbed_targets(label: str, controls: Controls) -> tuple[str, ...]:
    """Return the sorted targets of a label without control words; halves that repeat one another count once."""
    half, _, other = label.partition("__")
    text = half if half == other else label
    parts = [part.strip() for part in _ALL_JOINTS.split(text) if part.strip()] or [label]
    targets = [part for part in parts if not (part in controls.labels or _is_exact(part) or _has_token(part))]
    return tuple(sorted(targets or [label]))


def is_control(label: str) -> bool:
    """Return whether a label by itself resembles a control."""
    return _is_exact(label) or _has_token(label)


def _check_named_controls(known: list[str], control: str | Sequence[str]) -> Controls:
    if isinstance(control, str | int | float | np.generic):
        control = [control]
    named = [label_text(label) or str(label) for label in kinds.sequence(control, "control")]
    if not named:
        raise ValueError("control must name at least one label, got an empty sequence")
    for label in named:
        if label not in known:
            close = spelling.close_names(label, known) or [
                label for label in known if is_control(label) or _has_keyword(label)
            ]
            among = check.join_items(known) or "no labels"
            raise ValueError(f"control must be among {among}, got {label!r}{spelling.did_you_mean(close[:3])}")
    return Controls(tuple(dict.fromkeys(named)), "named")


def _without_targets(matches: list[str], known: list[str]) -> list[str]:
    """Return the labels of which no part names a target in another label: not KLF1_ctrl if there is CEBPA_KLF1."""
    known_parts = {label: _ALL_JOINTS.split(label) for label in known}
    counts = Counter(tuple(sorted(parts)) for parts in known_parts.values())
    # KLF1_ctrl is a combination also if ctrl_KLF1 is the only other label that contains KLF1.
    combined = [label for label in known if label not in matches or counts[tuple(sorted(known_parts[label]))] > 1]
    elsewhere = {part for label in combined for part in known_parts[label] if part.strip()}
    targets = {part for part in elsewhere if not (is_control(part) or part.isdigit())}
    return [label for label in matches if targets.isdisjoint(_ALL_JOINTS.split(label))]


def _targets(label: str) -> list[str]:
    return [part for part in _JOINTS.split(label) if part.strip()] or [label]


def _parts_of_repeats(label: str, matches: Sequence[str]) -> list[str]:
    """Return the parts of a control joined with itself, such as ctrl+ctrl; other labels as they are."""
    parts = _ALL_JOINTS.split(label)
    return parts if len(parts) > 1 and set(parts) <= set(matches) else [label]


def _is_exact(label: str) -> bool:
    return re.sub(r"[^a-z0-9]", "", label.casefold()) in _EXACT


def _has_token(label: str) -> bool:
    return _TOKENS.search(label.casefold()) is not None


def _has_keyword(label: str) -> bool:
    return any(word in label.casefold() for word in _KEYWORDS)


def _stem(label: str) -> str:
    """Return a label without case, delimiters and guide numbers."""
    return re.sub(r"[^a-z]", "", re.sub(r"g?\d+", "", label.casefold()))
