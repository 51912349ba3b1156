"""A score of trials, compared with permuted trials, for a whole session or its thirds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shesha.report import page_width, wrap
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number, frame_of_numbers
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


SIDES = {"higher": "above", "lower": "below", "either": "beyond"}
"""How a significant score relates to chance, by the direction of its effect."""

_TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class TrialScore(Number):
    """A score of trials with its null distribution; `exchanged` describes which trials were permuted."""

    closer: str
    """Direction of the effect: 'higher', 'lower' or 'either'."""
    n_neurons: int
    n_conditions: int = 0
    """Number of conditions that enter the score; 0 for a score without conditions."""
    n_unused: int = 0
    """Number of trials that were not used because conditions must have equally many; the mean over draws."""
    dropped: tuple[str, ...] = ()
    """Conditions that were left out because one half has too few trials."""
    further: dict[str, float] = field(default_factory=dict)
    """Further numbers that were computed from the same trials, by name."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_tested(self) -> bool:
        """Whether some permutation gives another value than the recorded order."""
        return self.has_null and not all(abs(draw - self.value) <= _TIE for draw in self.null)

    @property
    def _p_value_text(self) -> str:
        side = "below" if self.value < self.chance else "above"
        return f"{abs(self.z):.3g} sd {side}" if self.z == self.z else "all draws equal"

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the null distribution with the observed value."""
        from shesha.charts import null_distribution

        threshold = NAN if self.closer == "either" else self.threshold
        return null_distribution(
            self.null,
            self.value,
            threshold,
            label=self.name,
            drawn=f"{self.n_draws} {_score_sentence(self)}",
            ax=ax,
        )

    def _text(self) -> str:
        """Return a text with the score, its chance level, and the data that it is based on."""
        if self.value != self.value:
            return "\n".join(wrap(f"{self.name}: not estimable ({self.reason})", page_width()))
        lines = [f"{self.name}: {self.value:.4f}"]
        if self.has_null:
            verdict = f"{'' if self.significant else 'not '}{SIDES[self.closer]} chance at {self.alpha:g}"
            lines[0] += (
                f", {verdict if self.is_tested else 'cannot be tested, because every permutation gives this value'}"
            )
            lines.append(
                f"  chance {self.chance:.4f} +- {self.chance_sd:.2g} ({self._p_value_text}), p = {self.p_value:.3g} "
                f"({self.n_draws} {_score_sentence(self)})"
            )
        unused = f" ({self.n_unused:,} unused in each draw)" if self.n_unused else ""
        size = f"  {self.n_rows:,} trials{unused} x {self.n_neurons:,} neurons"
        lines.append(size + (f", {self.n_conditions} conditions" if self.n_conditions else ""))
        lines += [f"  {name} {value:.4f}" for name, value in self.further.items()]
        if self.n_lost:
            lines.append(f"  {count(self.n_lost, 'permutation')} without a score; they were counted as extreme")
        lines += [f"  note: {text}" for text in self.notes]
        return "\n".join(part for line in lines for part in wrap(line, page_width(), hanging="    "))


def _score_sentence(score: TrialScore) -> str:
    if score.exchanged in ("all rows", "circular shifts"):
        return {"all rows": "permutations"}.get(score.exchanged, score.exchanged)
    return f"permutations, {score.exchanged}"


@dataclass(frozen=True)
class Tertiles(Result):
    """Cosines between the mean responses in the thirds of a session."""

    early_middle: TrialScore
    middle_late: TrialScore
    difference: TrialScore
    """`early_middle` minus `middle_late`, which is positive if the change occurs late."""

    @property
    def gradual(self) -> bool:
        """Whether the two steps do not differ significantly."""
        return not self.difference.significant

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per step, and one for their difference."""
        return frame_of_numbers((self.early_middle, self.middle_late, self.difference), full=full)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the null distribution of the difference with the observed value."""
        return self.difference.plot(ax)

    def _text(self) -> str:
        """Return a text with the three numbers."""
        return "\n".join(str(part) for part in (self.early_middle, self.middle_late, self.difference))
