"""Similarities with their null distributions under permutations, for one pair or for several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shesha.report import page_width, wrap
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result, draws_axes, reaches_level
from shesha.results.null_summary import NullSummary
from shesha.support.draw_counts import undecided
from shesha.support.wording import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Calibrated(NullSummary):
    """A similarity with its distribution when rows are matched at random."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that representations are more similar."""
    observed: float
    maximum: float | None
    """Value that means perfect agreement; None if the measure has no such value."""
    alpha: float
    n_permutations: int
    n_rows: int
    exchanged: str = "all rows"
    """Which rows are exchangeable under the null hypothesis."""
    null: tuple[float, ...] = ()
    seed: int | None = None
    interrupted: bool = False
    reason: str = ""
    """Why the score is missing; empty if it is not."""
    options: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts | None = None
    """Possible problems with the conclusion, if they were checked."""
    notes: tuple[str, ...] = ()
    """How the score was estimated, if not from all rows."""
    sampling_error: float = 0.0
    """Monte Carlo standard error of the observed score, if it is estimated from a sample; 0 if it is exact."""

    @property
    def significant(self) -> bool:
        """Whether the score is above chance at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null distribution with the observed value and the threshold."""
        from shesha.charts import null_distribution

        label = f"{self.measure} ({self.closer} is closer)"
        return null_distribution(self.null, self.observed, self.threshold, label=label, ax=ax)

    def _text(self) -> str:
        """Return a text with the score, its chance level and the calibrated score."""
        if self.observed != self.observed:
            return f"{self.measure}: not estimable ({self.reason})"
        verdict = "above" if self.significant else "not above"
        kind = "calibrated" if self.maximum is not None else "excess over the threshold"
        lines = [
            f"{self.measure}: {self.observed:.4g} ({self.closer} is closer), {verdict} chance",
            f"  {kind} {self.score:.4g}, p = {self.p_value:.3g} ({self.n_permutations} permutations, {self.exchanged})",
            f"  chance {self.null_mean:.4g} +- {self.null_sd:.2g}, threshold {self.threshold:.4g} at {self.alpha:g}",
        ]
        lines += [f"  {note}" for note in self.notes]
        if self.n_lost:
            were = agree(self.n_lost, "was", "were")
            lines.append(f"  {count(self.n_lost, 'draw')} without a score {were} counted as at least as close")
        if self.interrupted:
            lines.append("  interrupted: fewer permutations than requested")
        lines += [f"  ! {line}" for line in str(self.doubts).split("\n")] if self.doubts else []
        return "\n".join(lines)


_NAMED = 5
"""Most pairs that the headline names."""


@dataclass(frozen=True)
class CalibratedMany(Result):
    """Several pairs, each with its null distribution, with p-values corrected for the number of tests."""

    ALIGNED = (("pairs", "results", "holm", "benjamini_hochberg"),)

    pairs: tuple[str, ...]
    results: tuple[Calibrated, ...]
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

    def __iter__(self) -> Iterator[Calibrated]:
        """Iterate over the results."""
        return iter(self.results)

    def __getitem__(self, pair: str) -> Calibrated:
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
            tested = f"any of {len(self.pairs)} pairs is above chance at {first.alpha:g} by {first.measure}"
            return f"Whether {tested} {self.undecided}."
        return (
            f"{len(above)} of {len(self.pairs)} pairs {agree(len(above), 'is', 'are')} above chance at {first.alpha:g} "
            f"by {first.measure}, corrected for the number of pairs{named}."
        )

    @property
    def undecided(self) -> str:
        """Why the correction could not reject: too few permutations for the number of pairs; empty if it could."""
        first = self.results[0]
        p_values = [result.p_value for result in self.results]
        return undecided(p_values, self.corrected_p_values, first.n_permutations, first.alpha)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair."""
        import pandas as pd

        fields = ("measure", "closer", "observed", "score", "p_value", "threshold", "null_mean", "null_sd", "n_rows")
        return pd.DataFrame(
            [
                {
                    "pair": name,
                    **{field: getattr(result, field) for field in fields},
                    "p_holm": p_holm,
                    "p_benjamini_hochberg": p_bh,
                    "significant": reaches_level(p, result.alpha),
                    "reason": result.reason,
                }
                for name, result, p_holm, p_bh, p in zip(
                    self.pairs, self.results, self.holm, self.benjamini_hochberg, self.corrected_p_values, strict=True
                )
            ]
        )

    def _text(self) -> str:
        """Return a text with the table."""
        columns = ["pair", "observed", "null_mean", "threshold", "score", "p_value", "p_holm", "p_benjamini_hochberg"]
        head = f"{self.results[0].measure} ({self.results[0].closer} is closer), significance by {self.correction}"
        text = self.to_frame()[[*columns, "significant"]].to_string(index=False, float_format="%.4g")
        why = [f"{name}: {test.reason}" for name, test in zip(self.pairs, self.results, strict=True) if test.reason]
        end = ["Interrupted: the remaining pairs were not calibrated."] if self.interrupted else []
        return "\n".join([*wrap(self.headline, page_width(), hanging=""), "", head, text, *why, *end])
