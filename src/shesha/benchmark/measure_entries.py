"""Entries of the benchmark: measures, their calibrated variants, and your own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shesha import measures
from shesha.benchmark.calibrated_measure import N_PERMUTATIONS, CalibratedMeasure, calibrated
from shesha.benchmark.import_by_name import import_by_name, is_place
from shesha.benchmark.store import Entry
from shesha.benchmark.zero_rows import RULE, required_metric
from shesha.calibration.permutation_scores import null_scores
from shesha.measures import Measure, choose
from shesha.measures.user_functions import PlainMeasure, import_measure
from shesha.runs import FOLLOWED, version_of_code

CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""The measures whose calibrated variants are included."""


def entries(
    chosen: Iterable[str | Measure | Callable[..., float]] = ("all",),
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Measure]:
    """Look up measures by name, family, group, 'calibrated CKA' or 'module:name'; 'all' includes everything.

    `options` contains options by measure, which apply to measures that are chosen without options.

    Raises
    ------
    ValueError
        If a name is unknown (the message suggests similar names), or two different entries have the same name.
    """
    by_name: dict[str, Measure] = {}
    for choice in chosen:
        for measure in _meant(choice):
            if not measure.options and measure.name in (options or {}):
                measure = measure.with_options(**(options or {})[measure.name])
            if by_name.setdefault(measure.name, measure) != measure:
                raise ValueError(f"measures must have distinct names, got {measure.name!r} twice")
    # A fixed seed gives all comparisons the same random draws, in this run and in later ones.
    return [measure if isinstance(measure, PlainMeasure) else measure.with_seed(0) for measure in by_name.values()]


def _meant(choice: str | Measure | Callable[..., float]) -> list[Measure]:
    if not isinstance(choice, str):
        return choose(choice)
    if choice.casefold().startswith("calibrated "):
        return [calibrated(measure) for measure in choose(choice[len("calibrated ") :])]
    if choice.casefold() == "all":
        return [*choose("all"), *(calibrated(choose(name)[0]) for name in CALIBRATED)]
    if is_place(choice):
        # This also finds modules of the current folder.
        import_by_name(choice, "measure")
        return [import_measure(choice)]
    return choose(choice)


def make_entry(measure: Measure) -> Entry:
    """Describe a measure for the store."""
    return Entry(measure.name, entry_version(measure), measure.closer, measure.symmetric)


def entry_version(measure: Measure) -> str:
    """Return the version of a measure: its code, and the rule for rows that may be left out."""
    code = _code_version(measure)
    return code if required_metric(measure) is None else f"{code}+directed.{RULE}"


def _code_version(measure: Measure) -> str:
    """Return a hash of the code of the value; if it is calibrated, include its null and the number of draws."""
    if isinstance(measure, PlainMeasure):
        return version_of_code(measure.function)
    if isinstance(measure, CalibratedMeasure):
        return f"{calibrated_version(measure)}+{N_PERMUTATIONS}"
    return measures.code_version(measure)


def calibrated_version(measure: Measure) -> str:
    """Return a hash of the code of a measure and its null distribution."""
    return version_of_code(measure.function, measure.view, null_scores, follow=(*FOLLOWED, "calibration"))
