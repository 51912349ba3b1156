"""
What did quantising change?
===========================

The weights of a trained network are rounded to 8 and to 3 bits. With 8 bits, no layer changes beyond noise. With 3
bits, every layer does. The dashed line is the noise limit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPClassifier

import shesha
import shesha.data

X, labels = shesha.data.digits()
model = MLPClassifier((48, 48, 32), random_state=0)
for _ in range(10):
    model.partial_fit(X[:1200] / 16, labels[:1200], classes=range(10))


def layers(bits=None):
    """Return the hidden layers for held-out digits, with weights rounded to so many bits."""
    found, rows = {}, X[1200:] / 16
    for depth, (weights, offset) in enumerate(zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True), 1):
        unit = np.abs(weights).max() / 2 ** (bits - 1) if bits else 0.0
        rounded = np.round(weights / unit) * unit if bits else weights
        rows = np.maximum(rows @ rounded + offset, 0)
        found[f"layer {depth}"] = rows
    return found


figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, bits in zip(axes, (8, 3), strict=True):
    result = shesha.diff(layers(), layers(bits), names=("full precision", f"{bits} bits"))
    print(f"{bits} bits: {result.headline}")
    result.plot(ax, title=f"{bits} bits")
