"""
A score and its null distribution
=================================

CKA of two unrelated matrices with more features than rows is 0.66. This is its chance level.
"""

import numpy as np

import shesha

X, Y = np.random.default_rng(0).standard_normal((2, 100, 200))
found = shesha.calibrate(X, Y, "CKA", n_permutations=999)
found.plot()
