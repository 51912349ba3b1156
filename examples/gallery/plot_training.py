"""
Drift during training
=====================

The hidden layer of a classifier, at every tenth batch, compared with the layer before training and with the previous
record. It moves fast at first. Later steps are small, but they add up.
"""

import numpy as np
from sklearn.neural_network import MLPClassifier

import shesha.data
from shesha.drift import TrainingPath

X, labels = shesha.data.digits()
train, held = slice(0, 600), slice(600, 800)
model = MLPClassifier((64,), learning_rate_init=0.003, random_state=0)
model.partial_fit(X[train][:32], labels[train][:32], classes=range(10))
path = TrainingPath()
for step in range(201):
    if step % 10 == 0:
        path.record(step, np.maximum(X[held] @ model.coefs_[0] + model.intercepts_[0], 0))
    batch = np.random.default_rng(step).integers(600, size=32)
    model.partial_fit(X[train][batch], labels[train][batch])
print(path.result().headline)
path.plot()
