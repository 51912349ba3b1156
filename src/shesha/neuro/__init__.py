"""Neural recordings: trials of neurons under conditions, each score beside what other orders of the trials give."""

from shesha.neuro.behaviour import behaviour_coupling
from shesha.neuro.distances import crossnobis, discriminability
from shesha.neuro.drift import centroid_drift, permutation_null, tertiles
from shesha.neuro.halves import trial_halves
from shesha.neuro.split import trial_split
from shesha.neuro.whitened import wuc

__all__ = [
    "behaviour_coupling",
    "centroid_drift",
    "crossnobis",
    "discriminability",
    "permutation_null",
    "tertiles",
    "trial_halves",
    "trial_split",
    "wuc",
]
