"""Rank correlations between columns of a table, whose rows may depend on one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from shesha.report import Part, texts
from shesha.results import sentence_parts as say
from shesha.results.number import NAN, Number, NumberTable, format_value, frame_of_numbers, table_of_numbers
from shesha.support.seeds import undecided
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Correlation(Number):
    """Spearman's correlation between two columns of a table, or the partial one that controls for others."""

    first: str = ""
    second: str = ""
    covariates: tuple[str, ...] = ()
    """Columns whose ranks were regressed out of the ranks of both."""
    raw: Correlation | None = None
    """The correlation without control for the covariates, if it was computed as well."""
    unit: str = "row"
    """What is treated as independent, such as a session; resampled and permuted as a whole."""
    n_units: int = 0
    naive_p: float = NAN
    """p-value if the rows were independent."""
    chance_low: float = NAN
    """Lower end of the interval that contains the central 95 % of the null correlations."""
    chance_high: float = NAN

    def _further_lines(self) -> Iterable[str]:
        """Yield what was controlled for, the units, and the null interval."""
        if self.covariates:
            yield _controls(self.covariates).removeprefix(", ")
        if self.n_units:
            naive = "" if self.naive_p != self.naive_p else f" (p = {self.naive_p:.2g} if these were independent)"
            rows = "" if self.n_rows == self.n_units else f", {count(self.n_rows, 'row')}"
            yield f"{count(self.n_units, self.unit)}{rows}{naive}"
        if self.chance_low == self.chance_low:
            yield f"95 % of the null correlations are between {self.chance_low:.2f} and {self.chance_high:.2f}"

    def _claim(self) -> str:
        rows = "" if self.n_rows == self.n_units else f" ({count(self.n_rows, 'row')})"
        subject = f"Spearman's correlation between {self.first} and {self.second}{_controls(self.covariates)}"
        return say.statement(self, subject, f"{count(self.n_units, self.unit)}{rows}")


@dataclass(frozen=True, kw_only=True)
class Correlations(NumberTable):
    """How predictors correlate with a target over models or layers, with and without control for others."""

    numbers: tuple[Correlation, ...]
    target: str
    covariates: tuple[str, ...]
    n_models: int
    n_units: int
    """Number of units that are resampled and shuffled: models, or groups of models."""
    n_draws: int
    seed: int | None = None

    WHAT: ClassVar[str] = "rank correlations"

    def __getitem__(self, name: str) -> Correlation:
        """Return the correlation of the predictor with this name."""
        return cast(Correlation, super().__getitem__(name))

    @property
    def headline(self) -> str:
        """The predictor with the largest (partial) correlation with the target, and its corrected p-value."""
        known = [one for one in self.numbers if one.has_value]
        if not known:
            return f"No predictor of {self.target} could be tested."
        best = max(known, key=lambda one: abs(one.value))
        p_values, corrected = zip(*((one.p_value, one.corrected_p_value) for one in known), strict=True)
        few = undecided(p_values, corrected, self.n_draws, best.alpha, what="shuffles")
        verdict = few or ("significant" if best.significant else "not significant")
        return (
            f"Strongest predictor of {self.target}{_controls(self.covariates)}: {best.name} (rho = {best.value:.2f}, "
            f"corrected p = {best.deciding_p_value:.2g}, {verdict} at {best.alpha:g})."
        )

    @property
    def _raw(self) -> list[Number]:
        return [one.raw for one in self.numbers if one.raw]

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor; columns of the correlation without control begin with 'raw'."""
        frame = frame_of_numbers(self.numbers, "name", full=full)
        for field in ("value", "low", "high", "p_value") if self._raw else ():
            frame[f"raw_{field}"] = [getattr(one, field) for one in self._raw]
        return frame.drop(columns="raw", errors="ignore")

    def _numbers(self) -> tuple[Part, ...]:
        """Return the correlations with their intervals."""
        units = count(self.n_models, "model") + ("" if self.n_units == self.n_models else f" in {self.n_units} groups")
        further = {"without control": [format_value(one) for one in self._raw]} if self._raw else None
        critical = ", ".join(
            f"{numbers[0].threshold:.2f}{name}"
            for numbers, name in ((self.numbers, ""), (self._raw, " without control"))
            if numbers and numbers[0].threshold == numbers[0].threshold
        )
        return (
            *table_of_numbers(self.numbers, "Spearman correlations", "predictor", further),
            *texts(
                [
                    f"Spearman correlations with {self.target} over {units}{_controls(self.covariates)}. p from "
                    f"{self.n_draws:,} shuffles, corrected by Holm's method.",
                    f"Two-sided critical value: {critical}.",
                ]
            ),
        )

    def _claim(self) -> str:
        groups = "" if self.n_units == self.n_models else f" in {self.n_units} groups"
        head = f"Spearman correlations with {self.target} over {count(self.n_models, 'model')}{groups}"
        plain = {one.name: f" (without control {say.format_number(one.raw.value)})" for one in self.numbers if one.raw}
        clauses = [f"{say.clause(one)}{plain.get(one.name, '')}" for one in self]
        method = f"{self.n_draws:,} shuffles, Holm's correction"
        return say.listing(f"{head}{_controls(self.covariates)}", clauses, method, others="predictors")


def _controls(covariates: Sequence[str]) -> str:
    return f", controlling for {' and '.join(covariates)}" if covariates else ""
