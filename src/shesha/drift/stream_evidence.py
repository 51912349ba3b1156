"""A stream of new inputs: ranks of new rows among earlier ones, and the evidence of a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, log10

import numpy as np

from shesha.drift.state_json import (
    count_field,
    count_list,
    damaged_state_error,
    number_field,
    number_list,
    state_fields,
    state_text,
)
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.support.types import Index, Matrix, Vector

LOWEST, HIGHEST, BINS = 1e-3, 1e5, 16384
"""Range and number of the bins for scores. A row at the typical distance from the centre has score 1."""
JUMP = 0.01
"""Share of the capital that is redistributed over the bets at each row."""
BETS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
_FAR = 1e12
"""Largest absolute log10 of the evidence that a saved stream may contain."""
RECENT, RECENT_AXES = 128, 8
"""Number of the last rows that are kept, and of the reference's leading directions in which they are kept."""
_LATER_FIELDS = ("recent", "recent_width", "dependent")
"""Fields that streams of earlier versions lack."""
_FIELDS = ("bins", "counts", "n_seen", "capital", "log10_martingale", "log10_highest", "alarm_since")


@dataclass(frozen=True)
class ReferenceDistribution:
    """The centre and covariance of the reference, from which the rows of a stream are scored."""

    centre: Vector
    whitening: Matrix

    @classmethod
    def build(cls, rows: Matrix) -> ReferenceDistribution:
        """Fit the centre and covariance to rows, with the covariance shrunk towards equal variances."""
        n, d = rows.shape
        fixed = is_constant(rows)
        if fixed.all():
            raise ValueError(
                f"reference must have rows that differ, got {n} equal rows; pass a sample of typical inputs"
            )
        unit = _power_of_two(rows)
        centre = rows.mean(axis=0)
        # Constant columns are set to 0, because their rounding errors would otherwise count as variance.
        centred = np.where(fixed, 0.0, rows / unit - centre / unit)
        covariance = centred.T @ centred / n
        share = _shrinkage(centred, covariance)
        variances, axes = np.linalg.eigh(covariance)
        scale = max(float(variances.mean()), np.finfo(float).tiny)
        shrunk = (1 - share) * np.maximum(variances, 0.0) + share * scale
        # The lower limit prevents directions in which the reference has no variance from dominating the scores.
        shrunk = np.maximum(shrunk, 1e-6 * scale)
        return cls(centre, axes / np.sqrt(shrunk * d) / unit)

    def leading(self, rows: Matrix) -> Matrix:
        """Return the rows in the leading directions of the reference."""
        # Variances are in ascending order.
        leading: Matrix = (rows - self.centre) @ self.whitening[:, -RECENT_AXES:]
        return leading

    def scores(self, rows: Matrix) -> Vector:
        """Return each row's squared distance from the centre, relative to the typical squared distance."""
        white = (rows - self.centre) @ self.whitening
        scores: Vector = np.einsum("ij,ij->i", white, white)
        return scores


def _power_of_two(rows: Matrix) -> float:
    """Return a power of two near the largest absolute value; division by it is exact."""
    return float(np.ldexp(1.0, np.frexp(np.abs(rows).max())[1] - 1))


def _shrinkage(centred: Matrix, covariance: Matrix) -> float:
    """Return the shrinkage intensity of Ledoit and Wolf."""
    n, d = centred.shape
    distance = float((covariance**2).sum() - np.trace(covariance) ** 2 / d)
    lengths = np.einsum("ij,ij->i", centred, centred)
    noise = (float((lengths**2).mean()) - float((covariance**2).sum())) / n
    return 1.0 if distance <= 0 else min(1.0, max(noise / distance, 1e-4))


def score_bins(scores: Vector) -> Index:
    """Return the bin of each score; bins are equally wide on a log scale, whatever the data."""
    steps = np.log(np.clip(scores, LOWEST, HIGHEST) / LOWEST) / log(HIGHEST / LOWEST)
    return np.minimum((steps * BINS).astype(np.intp), BINS - 1)


@dataclass
class Stream:
    """All earlier scores, and a test martingale on the ranks of new scores among them.

    If rows come in random order, the p-value of each score among all earlier scores is uniform and independent of the
    others (Vovk, Gammerman and Shafer 2005). Ties are broken at random. Scores in the same bin are ties, so only the
    count per bin is stored, whatever the number of rows. The martingale is the simple jumper (Algorithm 8.1 of the
    book's second edition), which bets on both small and large p-values.
    """

    counts: Index = field(default_factory=lambda: np.zeros(BINS, dtype=np.intp))
    n_seen: int = 0
    capital: Vector = field(default_factory=lambda: np.full(len(BETS), 1 / len(BETS)))
    """Capital on each bet, as a share of the martingale."""
    log10_martingale: float = 0.0
    log10_highest: float = 0.0
    alarm_since: int = 0
    recent: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    """The last rows, in the leading directions of the reference."""
    dependent: bool = False
    """Whether rows depended on each other when there was an alarm."""

    def remember(self, rows: Matrix) -> None:
        """Keep the last rows, with as many digits as the search for dependence needs."""
        kept = np.concatenate([self.recent, rows]) if self.recent.size else rows
        self.recent = np.clip(kept[-RECENT:], -_FAR, _FAR).round(4)

    def p_values(self, scores: Vector, rng: np.random.Generator) -> Vector:
        """Return the p-value of each new score among all earlier ones, and add the scores to the stream."""
        values = np.empty(len(scores))
        # A batch has few rows, so summing the counts above a bin is cheaper than keeping a tree of counts up to date.
        for i, (place, part) in enumerate(zip(score_bins(scores), rng.random(len(scores)), strict=True)):
            self.counts[place] += 1
            above = int(self.counts[place + 1 :].sum())
            values[i] = (above + part * int(self.counts[place])) / int(self._total + 1)
            self._total += 1
        return values

    def __post_init__(self) -> None:
        """Count the earlier rows."""
        self._total = int(self.counts.sum())

    def bet(self, p_values: Vector, log10_threshold: float) -> None:
        """Update the martingale with each p-value in turn, and record when it first reaches the threshold."""
        for p in p_values:
            self.n_seen += 1
            mixed = (1 - JUMP) * self.capital + JUMP / len(BETS)
            mixed *= 1 + BETS * (p - 0.5)
            total = float(mixed.sum())
            self.capital = mixed / total
            self.log10_martingale += log10(total)
            self.log10_highest = max(self.log10_highest, self.log10_martingale)
            if not self.alarm_since and self.log10_highest >= log10_threshold - 1e-12:
                self.alarm_since = self.n_seen

    def as_text(self) -> str:
        """Return the state as JSON, with numbers exact to the last bit."""
        filled = np.flatnonzero(self.counts)
        return state_text(
            {
                "bins": filled.tolist(),
                "counts": self.counts[filled].tolist(),
                "n_seen": self.n_seen,
                "capital": self.capital.tolist(),
                "log10_martingale": self.log10_martingale,
                "log10_highest": self.log10_highest,
                "alarm_since": self.alarm_since,
                "recent": self.recent.ravel().tolist(),
                "recent_width": self.recent.shape[1],
                "dependent": int(self.dependent),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Stream:
        """Restore the stream from the output of `as_text`.

        Raises
        ------
        StoreError
            If the text is damaged.
        """
        plain = {"recent": [], "recent_width": 0, "dependent": 0, **state_fields(text, _FIELDS, _LATER_FIELDS)}
        bins, filled = count_list(plain, "bins", BINS - 1), count_list(plain, "counts")
        capital = number_list(plain, "capital", 0.0, 1.0)
        if len(bins) != len(filled) or len(capital) != len(BETS):
            raise damaged_state_error(f"{len(filled)} counts for {len(bins)} bins, and {len(capital)} bets")
        counts = np.zeros(BINS, dtype=np.intp)
        counts[bins] = filled
        n_seen = count_field(plain, "n_seen")
        now, highest = (number_field(plain, name, -_FAR, _FAR) for name in ("log10_martingale", "log10_highest"))
        recent = np.array(number_list(plain, "recent", -_FAR, _FAR))
        width = count_field(plain, "recent_width", RECENT_AXES)
        if len(recent) % max(1, width) or bool(width) != bool(len(recent)):
            raise damaged_state_error(f"{len(recent)} numbers in rows of {width}")
        since = count_field(plain, "alarm_since", n_seen)
        kept = recent.reshape(-1, width) if width else recent.reshape(0, 0)
        return cls(
            counts, n_seen, np.array(capital), now, highest, since, kept, bool(count_field(plain, "dependent", 1))
        )
