"""How long the exact value of a measure takes, for measures that a sample can estimate as well."""

from __future__ import annotations

from shesha.kernels.machine_speed import SLOWEST, MachineSpeed, machine_speed
from shesha.kernels.threads import n_threads
from shesha.measures.registry import Measure
from shesha.measures.sampled_estimates import SampledRows

MINUTE = 60.0
"""Seconds that an exact default may take; a sample answers if it would take longer."""
_SEARCH, _CANDIDATE = 0.5, 0.01
"""Cost of finding neighbours: of an entry and feature, in multiplications (single precision), and per entry, in sorts.
"""
_DISTANCE, _RANK, _MATCH = 1.0, 0.6, 0.01
"""Cost of distances between all pairs: of a pair and feature, in multiplications, and of ranking a pair and of matching
it with another in a permutation, in sorts."""


def exact_seconds(measure: Measure, n_rows: int, widths: tuple[int, int], *, n_draws: int = 0) -> float:
    """Return about how many seconds the exact value takes on this machine; 0 if no sample can replace it.

    With `n_draws`, permutations of the rows are included; for lists of neighbours, they take little time. The speed of
    the machine is measured only if the work could take more than a minute.
    """
    if measure.sample is None:
        return 0.0
    finds_neighbours = isinstance(measure.sample, SampledRows)
    entries = n_rows * (n_rows if finds_neighbours else (n_rows - 1) // 2)
    per_feature, per_entry = (_SEARCH, _CANDIDATE) if finds_neighbours else (_DISTANCE, _RANK)

    def seconds(speed: MachineSpeed) -> float:
        once = sum(entries * (width * per_feature * speed.product + per_entry * speed.sort) for width in widths)
        return once + (0 if finds_neighbours else n_draws * entries * _MATCH * speed.sort)

    slowest = seconds(SLOWEST)
    return slowest if slowest <= MINUTE else seconds(machine_speed()) / n_threads()
