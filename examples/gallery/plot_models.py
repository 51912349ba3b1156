"""
Which model explains the data best?
===================================

Three candidate models are ranked by how well they explain the responses of six simulated subjects to 60 images of
digits. The grey band is the noise ceiling: no model can be expected to score higher. Lines join models that differ.
"""

import numpy as np

import shesha
import shesha.data

rng = np.random.default_rng(0)
layers, labels = shesha.data.digits_network()
shown = rng.choice(len(labels), 60, replace=False)
truth = layers["trained_layer2"][shown]
subjects = [truth @ rng.standard_normal((truth.shape[1], 40)) + 12 * rng.standard_normal((60, 40)) for _ in range(6)]
models = {name.replace("_", " "): layers[name][shown] for name in ("trained_layer2", "trained_layer3", "init_layer2")}
result = shesha.rank_models(subjects, models, "RSA", n_resamples=300, n_permutations=199)
print(result.headline)
result.plot()
