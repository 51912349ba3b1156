"""Several calibrated pairs, with p-values that are corrected for the number of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.similarity.calibrated import Calibrated
from shesha.support.draws_for_corrections import undecided
from shesha.support.plurals import agree

if TYPE_CHECKING:
    import pandas as pd

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
