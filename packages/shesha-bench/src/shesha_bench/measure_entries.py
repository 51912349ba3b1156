"""The measures that the benchmark ranks: the library's, calibrated variants, and your own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shesha import measures
from shesha.calibration.permutation_scores import null_scores
from shesha.measures import Measure, choose
from shesha.measures._lookup import PlainMeasure, import_measure
from shesha.runs import FOLLOWED, version_of_code
from shesha_bench.calibrated_measure import N_PERMUTATIONS, CalibratedMeasure, calibrated
from shesha_bench.import_by_name import import_by_name, is_place
from shesha_bench.store import Entry
from shesha_bench.zero_rows import RULE, required_metric

CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""Measures whose calibrated variants are included in 'all'."""


def entries(
    chosen: Iterable[str | Measure | Callable[..., float]] = ("all",),
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Measure]:
    """Look up measures by name, family, group, 'calibrated CKA' or 'module:name'; 'all' means everything.

    `options` maps names of measures to options, which apply to measures that are chosen without options of their own.

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
        # This also finds modules in the current folder.
        import_by_name(choice, "measure")
        return [import_measure(choice)]
    return choose(choice)


def make_entry(measure: Measure) -> Entry:
    """Return the description of a measure for the store."""
    return Entry(measure.name, entry_version(measure), measure.closer, measure.symmetric)


def entry_version(measure: Measure) -> str:
    """Return a measure's version: a hash of its code, and the rule for leaving out rows if it applies."""
    code = _code_version(measure)
    return code if required_metric(measure) is None else f"{code}+directed.{RULE}"


def _code_version(measure: Measure) -> str:
    """Return a hash of the code of a measure; for a calibrated one, it includes the null and its size."""
    if isinstance(measure, PlainMeasure):
        return version_of_code(measure.function)
    if isinstance(measure, CalibratedMeasure):
        return f"{calibrated_version(measure)}+{N_PERMUTATIONS}"
    return measures.code_version(measure)


def calibrated_version(measure: Measure) -> str:
    """Return a hash of the code of a measure and of its null distribution."""
    return version_of_code(measure.function, measure.view, null_scores, follow=(*FOLLOWED, "calibration"))
