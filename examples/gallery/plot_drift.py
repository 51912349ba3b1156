"""
Drift over checks, with the threshold
=====================================

A monitor has learned the noise of re-encoding. From the seventh check on, the model loses precision.
"""

import numpy as np

from shesha.drift import DriftMonitor

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 8)) @ rng.standard_normal((8, 48))
monitor = DriftMonitor(X, nulls=[X + 0.02 * rng.standard_normal(X.shape) for _ in range(99)])
for number in range(12):
    monitor.check(X + (0.02 + 0.02 * max(0, number - 5)) * rng.standard_normal(X.shape))
monitor.plot()
