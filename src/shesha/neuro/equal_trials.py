"""Equal numbers of trials for each condition in each half or run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.condition_distances import Cube, count_trials, equal_sums
from shesha.neuro._trials import Trials
from shesha.neuro.trial_halves import Halves
from shesha.support.seeds import spawn
from shesha.support.types import Index, Labels, Mask, Matrix, Seed

Numbers = int | Literal["equal", "all"]
FEWEST_IN_HALF = 2
"""Smallest number of trials per condition in each half; conditions with fewer trials are left out."""
_UNEQUAL = 2.5
"""If the largest number of trials is at least this multiple of the smallest, a note is added."""


def check_numbers(value: Any, name: str) -> Numbers:
    """Return the value if it is a number of trials, 'equal' or 'all'; otherwise raise an error."""
    if isinstance(value, str) and value in ("equal", "all"):
        return value  # type: ignore[return-value]
    if value is None or isinstance(value, str):
        raise ValueError(f"{name} must be a number, 'equal' or 'all', got {value!r}")
    return check.count(value, name)


@dataclass(frozen=True, eq=False)
class EqualTrials:
    """Random choices of trials, with equal numbers per condition in each part of a recording."""

    numbers: int | Literal["equal"]
    """Number of trials of each condition in each part; 'equal' means as many as the rarest condition has."""
    parts: Index
    """The part (half or run) to which each trial belongs, of shape (n_draws, n_trials)."""
    keys: Matrix
    """Random keys; the trials with the smallest keys are selected."""
    fewest: int
    """Smallest number of trials in each part; conditions with fewer trials in some part are left out."""

    @classmethod
    def build(cls, numbers: Numbers, halves: Halves, n_draws: int, seed: Seed) -> EqualTrials | None:
        """Draw trials from each split, repeatedly if there are few splits; return None if all trials are used."""
        check_numbers(numbers, "trials_per_half")
        return cls.draw(numbers, (~halves.masks).astype(np.intp), n_draws, seed, FEWEST_IN_HALF)

    @classmethod
    def draw(cls, numbers: Numbers, parts: Index, n_draws: int, seed: Seed, fewest: int) -> EqualTrials | None:
        """Draw trials for each line of `parts`, repeatedly if there are few; return None if all trials are used."""
        if numbers == "all":
            return None
        repeated = np.repeat(parts, -(-n_draws // len(parts)), axis=0)
        keys = spawn(seed, 3).random(repeated.shape)
        return cls(numbers, repeated, keys, fewest if numbers == "equal" else numbers)

    def sums(self, rows: Matrix, codes: Labels, n_conditions: int) -> Cube:
        """Sum the selected rows by draw, part and condition."""
        sizes = self._sizes(count_trials(codes, n_conditions, self.parts))
        return equal_sums(rows, codes, n_conditions, self.parts, self.keys, sizes)

    def _included(self, counts: Index) -> Mask:
        """Which conditions have enough trials in every part, of shape (n_draws, n_conditions)."""
        return np.asarray((counts >= self.fewest).all(axis=1))

    def _sizes(self, counts: Index) -> Index:
        """Number of trials per condition and part in each draw; 0 if no condition has enough."""
        if self.numbers != "equal":
            return np.full(len(counts), self.numbers)
        smallest = np.where(self._included(counts), counts.min(axis=1), counts.max(initial=0) + 1).min(axis=1)
        return np.where(self._included(counts).any(axis=1), smallest, 0)

    def describe(self, trials: Trials, part: str) -> Use:
        """Describe how many trials are used, and which trials and conditions are not."""
        counts = count_trials(trials.codes, trials.n_conditions, self.parts)
        included, sizes = self._included(counts), self._sizes(counts)
        used = counts.shape[1] * included.sum(axis=1) * sizes
        n_unused = round(float((trials.codes >= 0).sum() - used.mean()))
        low, high = int(sizes.min()), int(sizes.max())
        numbers = f"{low}" if low == high else f"{low} to {high}"
        text = f"{numbers} trials per condition"
        share = included.mean(axis=0)
        dropped = tuple(name for name, fraction in zip(trials.names, share, strict=True) if fraction == 0)
        partly = [name for name, fraction in zip(trials.names, share, strict=True) if 0 < fraction < 1]
        few = f"conditions with fewer than {self.fewest} trials in a {part}"
        notes = [f"{few} are left out: {check.join_items(dropped)}"]
        notes = notes if dropped else []
        if partly:
            notes.append(f"{few} are left out of some draws: {check.join_items(partly)}")
        if n_unused:
            notes.append(
                f"{n_unused} of {trials.n_trials} trials are unused, because numbers of trials are equalised. To use "
                f"more, leave out rare conditions (min_trials=), or pass trials_per_{part}='all'"
            )
        return Use(text, n_unused, dropped, tuple(notes))


@dataclass(frozen=True)
class Use:
    """How many trials and conditions a score uses."""

    text: str
    n_unused: int = 0
    """Number of unused trials among the scored conditions, averaged over draws."""
    dropped: tuple[str, ...] = ()
    """Conditions that every draw leaves out because they have too few trials in some part."""
    notes: tuple[str, ...] = ()


def unused_trials(equal: EqualTrials | None, trials: Trials, part: str) -> Use:
    """Describe how many trials are used; if all are, add a note if their numbers are very unequal."""
    if equal is not None:
        return equal.describe(trials, part)
    counts = np.bincount(trials.codes[trials.codes >= 0])
    if not len(counts) or counts.max() < _UNEQUAL * counts.min():
        return Use("all trials")
    note = (
        f"conditions have {counts.min()} to {counts.max()} trials. Unequal numbers alone make distances reproducible, "
        f"even without a neural code. Use trials_per_{part}='equal'"
    )
    return Use("all trials", notes=(note,))
