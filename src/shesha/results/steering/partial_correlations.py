"""How predictors correlate with a target over models, with and without control for other predictors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Part, Table, texts
from shesha.results.base import Result
from shesha.results.number import numeral, numeral_of_p

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.05


@dataclass(frozen=True)
class PartialCorrelation(Result):
    """How one predictor correlates with steering over models, with and without control for others."""

    predictor: str
    raw: float
    """Spearman's correlation between the predictor and the target."""
    raw_low: float
    raw_high: float
    raw_p: float
    partial: float
    """Partial rank correlation that controls for the predictors in `given`; NaN for those predictors themselves."""
    partial_low: float
    partial_high: float
    partial_p: float


@dataclass(frozen=True)
class PartialCorrelations(Result):
    """How predictors of steering correlate with it over models or layers."""

    target: str
    covariates: tuple[str, ...]
    lines: tuple[PartialCorrelation, ...]
    chance: float
    """Two-sided 5 % critical value for a predictor that is unrelated to the target."""
    partial_chance: float
    """The corresponding critical value for partial correlations."""
    n_models: int
    n_units: int
    """Number of units that are resampled and shuffled: models, or groups of models."""
    n_draws: int
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def __iter__(self) -> Iterator[PartialCorrelation]:
        """Iterate over the predictors."""
        return iter(self.lines)

    def __getitem__(self, predictor: str) -> PartialCorrelation:
        """Return the result of the predictor with this name."""
        known = {line.predictor: line for line in self.lines}
        if predictor not in known:
            raise KeyError(f"predictor must be one of {', '.join(known)}, got {predictor}")
        return known[predictor]

    @property
    def headline(self) -> str:
        """The predictor with the largest partial correlation with the target, and its p-value."""
        known = [line for line in self.lines if line.partial == line.partial]
        if not known:
            return f"No predictor of {self.target} could be tested."
        best = max(known, key=lambda line: abs(line.partial))
        controls = f", controlling for {' and '.join(self.covariates)}" if self.covariates else ""
        verdict = "significant" if best.partial_p <= _LEVEL else "not significant"
        return (
            f"Strongest predictor of {self.target}{controls}: {best.predictor} (rho = {best.partial:.2f}, p = "
            f"{best.partial_p:.2g}, {verdict} at {_LEVEL:g}, uncorrected)."
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor."""
        import pandas as pd

        return pd.DataFrame([line.to_dict() for line in self.lines])

    def _numbers(self) -> tuple[Part, ...]:
        """Return the raw and partial correlations with their intervals."""
        columns = {}
        for kind in ("raw", "partial"):
            ends = [
                tuple(getattr(line, f"{kind}{part}") for part in ("", "_low", "_high", "_p")) for line in self.lines
            ]
            columns[kind] = [
                f"{numeral(value)} [{numeral(low)}, {numeral(high)}]" if value == value else ""
                for value, low, high, _ in ends
            ]
            columns[f"p {kind}"] = [numeral_of_p(p) for *_, p in ends]
        units = f"{self.n_models} models" + ("" if self.n_units == self.n_models else f" in {self.n_units} groups")
        controls = f"; partial: controlling for {' and '.join(self.covariates)}" if self.covariates else ""
        return (
            Table.of([line.predictor for line in self.lines], columns, "Spearman correlations", "predictor"),
            *texts(
                [
                    f"Spearman correlations with {self.target} over {units}{controls}.",
                    f"Two-sided 5 % critical values: {self.chance:.2f} (raw), {self.partial_chance:.2f} (partial), "
                    f"from {self.n_draws} shuffles.",
                ]
            ),
        )
