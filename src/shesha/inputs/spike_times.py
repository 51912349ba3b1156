"""Spike times that run backwards, as after a reset of the clock or in sessions that were joined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.wording import agree, count

_LONGEST_RUN = 5
"""Smallest mean number of spikes in increasing order; times in random order have about two."""


def describe_resets(trains: Iterable[NDArray[Any]]) -> str:
    """Return that the times of most neurons run backwards a few times, with an example; empty if they do not.

    Times in no order are not meant, nor those of single neurons, whose spikes may come from several merged clusters.
    """
    n, found, example = 0, 0, ""
    for place, train in enumerate(trains):
        if len(train) < 2:
            continue
        n += 1
        (falls,) = np.nonzero(train[1:] < train[:-1])
        if len(falls) and len(train) >= _LONGEST_RUN * (len(falls) + 1):
            found += 1
            before, after = train[falls[0] : falls[0] + 2]
            example = example or f"neuron {place} from {before:g} to {after:g} at spike {falls[0] + 1:,}"
    if 2 * found <= n:
        return ""
    return (
        f"spike times of {found:,} of {count(n, 'neuron')} {agree(found, 'runs', 'run')} backwards ({example}), as if "
        "the clock was reset or sessions were joined, so spikes of several parts may count in one trial. Add to each "
        "part the time at which it started, to trials as well"
    )
