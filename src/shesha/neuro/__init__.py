"""Neural recordings: scores for trials of neurons under conditions, with null distributions."""

from shesha.neuro.crossnobis import crossnobis, discriminability
from shesha.neuro.crossnobis_significance import CrossnobisPairs, crossnobis_test
from shesha.neuro.noise_ceiling import noise_ceiling
from shesha.neuro.score_correlations import behaviour_coupling
from shesha.neuro.searchlight import Searchlight, neighbours_in_radius, searchlight
from shesha.neuro.session_drift import centroid_drift, check_tracked, session_drift, shared_neurons
from shesha.neuro.spikes import from_rsatoolbox, spike_counts, to_rsatoolbox
from shesha.neuro.split_half_reliability import trial_split, wuc
from shesha.neuro.stochastic_shape import StochasticShape, stochastic_shape
from shesha.neuro.time_by_time import TimeClusters, over_time, time_clusters
from shesha.neuro.trial_order_null import permutation_null
from shesha.neuro.trials_needed import TrialsNeeded, trials_needed

__all__ = [
    "CrossnobisPairs",
    "Searchlight",
    "StochasticShape",
    "TimeClusters",
    "TrialsNeeded",
    "behaviour_coupling",
    "centroid_drift",
    "check_tracked",
    "crossnobis",
    "crossnobis_test",
    "discriminability",
    "from_rsatoolbox",
    "neighbours_in_radius",
    "noise_ceiling",
    "over_time",
    "permutation_null",
    "searchlight",
    "session_drift",
    "shared_neurons",
    "spike_counts",
    "stochastic_shape",
    "time_clusters",
    "to_rsatoolbox",
    "trial_split",
    "trials_needed",
    "wuc",
]
