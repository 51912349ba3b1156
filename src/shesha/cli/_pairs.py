"""Every pair of several representations beside its null: `shesha compare --calibrate` of more than two arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shesha.report import Column, Page
    from shesha.results import Comparison, Score


@dataclass(frozen=True)
class CalibratedPairs:
    """One comparison per pair."""

    comparisons: tuple[Comparison, ...]
    interrupted: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"pairs": [one.to_dict() for one in self.comparisons], "interrupted": self.interrupted}

    def page(self, about: Mapping[str, str]) -> Page:
        """Return the page: a table per measure, a row per pair."""
        from shesha.report import Page, Section, Table, Text
        from shesha.results.generic_page import what_was_run
        from shesha.results.similarity.pages import measure_explained

        scores = {score.measure: score for one in self.comparisons for score in one.scores}
        tables = {
            name: Table(self._names(), tuple((one,) for one in self._columns(name)), name, "pair") for name in scores
        }
        told = tuple(measure_explained(name, one.family, one.closer) for name, one in scores.items())
        first = next(iter(tables))
        return Page(
            f"{len(self.comparisons)} pairs of representations",
            "Which of these representations have the same geometry, beyond what chance gives?",
            tuple(self._answer(name) for name in tables),
            (tables[first],),
            (Text(_NOTE),),
            (
                *(Section(name, (table,)) for name, table in tables.items() if name != first),
                Section("What the measures look at", told),
            ),
            (*about.items(), *what_was_run(self.comparisons[0])),
        )

    def card(self, *, data: str, model: str, about: Mapping[str, str]) -> str:
        """Return the card: every pair under the name of its first."""
        from shesha.report import as_card
        from shesha.results.base import require_card_metrics
        from shesha.results.similarity.pages import comparison_metrics

        every = [metric for one in self.comparisons for metric in comparison_metrics(one)]
        return as_card(self.page(about), require_card_metrics(every), data)

    def _answer(self, measure: str) -> str:
        from shesha.nulls.corrections import benjamini_hochberg

        corrected = benjamini_hochberg([one[measure].p_value for one in self.comparisons])
        above = int((corrected <= _LEVEL).sum())
        pairs = f"{above} of {len(self.comparisons)} pairs"
        return f"{measure}: {pairs} above chance at {_LEVEL:g}, corrected for their number."

    def _names(self) -> tuple[str, ...]:
        return tuple(f"{one.first}, {one.second}" for one in self.comparisons)

    def _columns(self, measure: str) -> list[Column]:
        from shesha.nulls.corrections import benjamini_hochberg
        from shesha.report import Column

        scores = [one[measure] for one in self.comparisons]
        corrected = benjamini_hochberg([score.p_value for score in scores])
        cells: dict[str, list[str]] = {
            "value": [f"{score.value:.3f}" if score.has_value else "none" for score in scores],
            "interval": [_interval(score) for score in scores],
            "chance": [_number(score.null_mean) for score in scores],
            "calibrated": [_number(score.calibrated) for score in scores],
            "corrected p": [_number(float(p)) for p in corrected],
        }
        return [Column(head, tuple(column)) for head, column in cells.items()]

    def __str__(self) -> str:
        """Print a table per measure: a row per pair, with p-values corrected for the number of pairs."""
        from shesha.report import page_width, wrap

        width = page_width()
        measures = dict.fromkeys(score.measure for one in self.comparisons for score in one.scores)
        lines = [line for measure in measures for line in (*self._table(measure, width), "")]
        for text in (_NOTE, "Interrupted: the other pairs were not compared." if self.interrupted else ""):
            lines += wrap(text, width, hanging="")
        return "\n".join(lines)

    def _table(self, measure: str, width: int) -> list[str]:
        from shesha.report import table, wrap

        scores = [one[measure] for one in self.comparisons]
        groups = [[one] for one in self._columns(measure)]
        reasons = dict.fromkeys(score.reason or score.note for score in scores if score.reason or score.note)
        told = [line for reason in reasons for line in wrap(f"  {reason}", width)]
        return [f"{measure} ({scores[0].closer} is closer)", *table(self._names(), groups, width), *told]


_LEVEL = 0.05
_NOTE = (
    "Chance is the mean value when rows are matched at random; calibrated is 0 up to the threshold that chance rarely "
    "passes and 1 at the best value. Corrected p-values (Benjamini and Hochberg) allow for the number of pairs."
)


def _interval(score: Score) -> str:
    return f"[{score.interval_low:.3f}, {score.interval_high:.3f}]" if score.has_interval else ""


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def calibrated_pairs(arrays: Mapping[str, Any], measures: list[str], **options: Any) -> CalibratedPairs:
    """Compare every pair beside its null; Ctrl-C keeps the pairs that are finished."""
    from shesha.comparison import compare
    from shesha.support.progress import mute_progress, track

    pairs = list(combinations(arrays, 2))
    found: list[Comparison] = []
    with mute_progress():
        for first, second in track(pairs, len(pairs), "pairs"):
            try:
                one = compare(arrays[first], arrays[second], measures, names=(first, second), calibrate=True, **options)
            except KeyboardInterrupt:
                if not found:
                    raise
                return CalibratedPairs(tuple(found), True)
            if one.interrupted:
                return CalibratedPairs(tuple(found) or (one,), True)
            found.append(one)
    return CalibratedPairs(tuple(found), False)
