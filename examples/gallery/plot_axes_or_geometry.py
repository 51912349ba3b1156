"""
Stability of the axes, or of the geometry?
==========================================

Principal components change no distance, but bring the feature split to zero, because no two of them share variation.
The basis-averaged split does not depend on the axes. Noise has neither kind of stability.
"""

import matplotlib.pyplot as plt
import numpy as np

import shesha

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 12)) @ rng.standard_normal((12, 96)) + 0.3 * rng.standard_normal((300, 96))
shown = {
    "redundant features": X,
    "the same in principal axes": X @ np.linalg.svd(X, full_matrices=False).Vh.T,
    "noise": rng.standard_normal(X.shape),
}
figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for place, score, colour in ((-0.12, shesha.feature_split, "#0072b2"), (0.12, shesha.basis_averaged_split, "#d55e00")):
    values = [score(data, seed=0) for data in shown.values()]
    print(score.__name__, np.round(values, 3))
    ax.scatter(values, np.arange(3) + place, color=colour, label=score.__name__.replace("_", " "))
ax.set_yticks(range(3), list(shown))
ax.set(xlabel="stability", xlim=(-0.1, 1), ylim=(2.5, -0.5))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
