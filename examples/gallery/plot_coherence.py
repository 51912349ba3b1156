"""
Magnitude and coherence, with null groups
=========================================

Of forty groups of cells, a quarter have an effect. Without any effect, small groups are far from the controls and look
coherent. The grey points are null groups, which consist of control cells and have the same sizes.
"""

import numpy as np

import shesha

rng = np.random.default_rng(0)
sizes = rng.integers(10, 200, size=40)
labels = np.repeat([f"g{i}" for i in range(40)], sizes)
moved = np.repeat(np.where(np.arange(40) % 4 == 0, 0.5, 0.0), sizes)
direction = rng.standard_normal((40, 30)) / np.sqrt(30)
X = rng.standard_normal((len(labels), 30)) + moved[:, None] * np.repeat(direction, sizes, axis=0) * np.sqrt(30)
controls = rng.standard_normal((1000, 30))
table = shesha.coherence.coherence_by_group(
    np.vstack([X, controls]), np.concatenate([labels, ["control"] * len(controls)]), "control", n_draws=199
)
table.plot()
