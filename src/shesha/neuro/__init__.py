"""Neural recordings: trials of neurons under conditions, each score beside what other orders of the trials give."""

from shesha.neuro.associated import association
from shesha.neuro.behaviour import behaviour_coupling
from shesha.neuro.ceiling import noise_ceiling
from shesha.neuro.distances import crossnobis, discriminability
from shesha.neuro.drift import centroid_drift, permutation_null, tertiles
from shesha.neuro.halves import trial_halves
from shesha.neuro.recorded import Session
from shesha.neuro.regions import allen_areas, division_of, region_of
from shesha.neuro.sessions import session_drift
from shesha.neuro.spikes import spike_counts
from shesha.neuro.split import trial_split
from shesha.neuro.table import session_table
from shesha.neuro.time import over_time
from shesha.neuro.toolbox import from_rsatoolbox, to_rsatoolbox
from shesha.neuro.tracked import shared_neurons, tracked_table
from shesha.neuro.whitened import wuc

__all__ = [
    "Session",
    "allen_areas",
    "association",
    "behaviour_coupling",
    "centroid_drift",
    "crossnobis",
    "discriminability",
    "division_of",
    "from_rsatoolbox",
    "noise_ceiling",
    "over_time",
    "permutation_null",
    "region_of",
    "session_drift",
    "session_table",
    "shared_neurons",
    "spike_counts",
    "tertiles",
    "to_rsatoolbox",
    "tracked_table",
    "trial_halves",
    "trial_split",
    "wuc",
]
