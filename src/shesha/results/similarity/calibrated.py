"""Similarities of several pairs with their null distributions under permutations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shesha.report import page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.number import frame_of_numbers
from shesha.results.similarity.score import Score
from shesha.support.draw_counts import undecided
from shesha.support.wording import agree

if TYPE_CHECKING:
    import pandas as pd


_NAMED = 5
"""Most pairs that the headline names."""


@dataclass(frozen=True)
class CalibratedMany(Result):
    """Several pairs, each with its null distribution, with p-values corrected for the number of tests."""

    ALIGNED = (("pairs", "results", "holm", "benjamini_hochberg"),)

    pairs: tuple[str, ...]
    results: tuple[Score, ...]
    holm: tuple[float, ...]
    benjamini_hochberg: tuple[float, ...]
    correction: str
    """Name of the correction for several tests that decides about significance."""
    seed: int | None = None
    interrupted: bool = False
    """Whether Ctrl-C ended the run. If so, pairs are missing, and the last pair may have fewer permutations than were
    requested."""

    @property
    def corrected_p_values(self) -> tuple[float, ...]:
        """The corrected p-values, which decide about significance."""
        return self.holm if self.correction == "holm" else self.benjamini_hochberg

    def __iter__(self) -> Iterator[Score]:
        """Iterate over the results."""
        return iter(self.results)

    def __getitem__(self, pair: str) -> Score:
        """Return the result for the pair with this name."""
        name = str(pair)
        if name not in self.pairs:
            raise KeyError(f"pair must be one of {', '.join(self.pairs)}, got {name}")
        return self.results[self.pairs.index(name)]

    @property
    def headline(self) -> str:
        """How many pairs are above chance, and which pairs these are."""
        first = self.results[0]
        lines = zip(self.pairs, self.results, self.corrected_p_values, strict=True)
        above = [name for name, result, p in lines if reaches_level(p, result.alpha)]
        named = f": {', '.join(above[:_NAMED])}{', ...' if len(above) > _NAMED else ''}" if above else ""
        if self.undecided:
            tested = f"any of {len(self.pairs)} pairs is above chance at {first.alpha:g} by {first.name}"
            return f"Whether {tested} {self.undecided}."
        return (
            f"{len(above)} of {len(self.pairs)} pairs {agree(len(above), 'is', 'are')} above chance at {first.alpha:g} "
            f"by {first.name}, corrected for the number of pairs{named}."
        )

    @property
    def undecided(self) -> str:
        """Why the correction could not reject: too few permutations for the number of pairs; empty if it could."""
        first = self.results[0]
        p_values = [result.p_value for result in self.results]
        return undecided(p_values, self.corrected_p_values, first.n_draws, first.alpha)

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair."""
        corrected = zip(self.results, self.corrected_p_values, strict=True)
        rows = [replace(result, corrected_p_value=p) for result, p in corrected]
        lead: dict[str, Sequence[Any]] = {"pair": self.pairs}
        if full:
            lead |= {"p_holm": self.holm, "p_benjamini_hochberg": self.benjamini_hochberg}
        return frame_of_numbers(rows, full=full, lead=lead)

    def _text(self) -> str:
        """Return a text with the table."""
        head = f"{self.results[0].name} ({self.results[0].closer} is closer), significance by {self.correction}"
        text = self.to_frame().drop(columns="name").to_string(index=False, float_format="%.4g")
        why = [f"{name}: {test.reason}" for name, test in zip(self.pairs, self.results, strict=True) if test.reason]
        end = ["Interrupted: the remaining pairs were not calibrated."] if self.interrupted else []
        return "\n".join([*wrap(self.headline, page_width(), hanging=""), "", head, text, *why, *end])
