"""Trials whose numbers are hidden, sparse, or of another kind are refused or read, never misread."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from shesha import neuro
from shesha.coherence import coherence_by_group

RNG = np.random.default_rng(0)
SHOWN = RNG.permutation(np.tile(np.arange(6), 10))
X = RNG.poisson(RNG.gamma(2, 2, size=(6, 12))[SHOWN]).astype(float)
MASKED = np.ma.masked_array(X, mask=RNG.random(X.shape) < 0.05)
HIDDEN = "must not be masked, got .* masked entries; fill them or leave out their rows"


@pytest.mark.parametrize(
    "call",
    [
        lambda: neuro.trial_split(MASKED, SHOWN),
        lambda: neuro.trial_split(X, np.ma.masked_equal(SHOWN, 3)),
        lambda: neuro.crossnobis(MASKED, SHOWN, np.repeat([0, 1], 30)),
        lambda: neuro.noise_ceiling(MASKED[:5, :6]),
        lambda: neuro.behaviour_coupling(X, np.ma.masked_less(X[:, 0], 2)),
        lambda: neuro.session_drift([(X, SHOWN), (MASKED, SHOWN)]),
        lambda: neuro.centroid_drift(MASKED),
        lambda: neuro.spike_counts([np.ma.masked_less([0.1, 0.2], 0.15)], [0.0]),
        lambda: coherence_by_group(MASKED, np.repeat(["c", "g"], 30), "c", n_draws=0),
    ],
)
def test_masked_entries_are_refused(call):
    with pytest.raises(ValueError, match=HIDDEN):
        call()


def test_sparse_trials_are_those_of_the_dense_array():
    dense, sparse = (neuro.trial_split(one, SHOWN, n_permutations=0) for one in (X, csr_array(X)))
    assert sparse.value == dense.value


def test_distances_of_a_toolbox_are_no_trials():
    class RDMs:
        dissimilarities = None

        def get_matrices(self):
            raise AssertionError

    with pytest.raises(TypeError, match="X must be an array of responses \\(trials x neurons\\), got a RDMs"):
        neuro.trial_split(RDMs(), SHOWN)
