"""Measures as a user would write them.

STORED_CALLS names a file that gets a line for each call, STORED_SLEEP is the seconds that one takes, and STORED_VICTIM
the sum of the pair that kills its process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from shesha.measures import measure
from shesha.views import Features

DECLARED = {
    "view": Features,
    "closer": "higher",
    "bounds": (-np.inf, np.inf),
    "invariant": (),
    "family": "stored",
    "cost": "n d",
    "formula": "none",
    "reference": "none",
    "self_value": None,
}


def _called(name: str, a: Features, b: Features) -> float:
    total = float(np.abs(a.rows).sum() + np.abs(b.rows).sum())
    if "STORED_CALLS" in os.environ:
        # One write per line: several processes share the file.
        with Path(os.environ["STORED_CALLS"]).open("a") as file:
            file.write(f"{name} {total:.9g}\n")
    if f"{total:.9g}" == os.environ.get("STORED_VICTIM"):
        os._exit(1)
    time.sleep(float(os.environ.get("STORED_SLEEP", "0")))
    return total


@measure("stored both", symmetric=True, **DECLARED)
def stored_both(a: Features, b: Features) -> float:
    """Sum up both sides."""
    return _called("both", a, b)


@measure("stored one way", symmetric=False, **DECLARED)
def stored_one_way(a: Features, b: Features, *, weight: float = 1.0) -> float:
    """Weigh the first side more."""
    return _called("one way", a, b) + weight * float(np.abs(a.rows).sum())
