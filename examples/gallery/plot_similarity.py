"""
Similarity of all pairs
=======================

Three families of representations come in no order. Clustering puts similar ones next to one another, and pairs above
chance are framed (permutation p-values, corrected for their number).
"""

from itertools import combinations

import numpy as np

import shesha

rng = np.random.default_rng(0)
families = rng.standard_normal((3, 120, 16))
models = {
    f"{kind}{i}": X + rng.standard_normal(X.shape) for i in range(3) for kind, X in zip("abc", families, strict=True)
}
pairs = shesha.compare_all(models, ["unbiased CKA"])
p_values = {
    (first, second): shesha.calibrate(models[first], models[second], "unbiased CKA", n_permutations=99).p_value
    for first, second in combinations(models, 2)
}
shesha.plot.similarity(pairs, "unbiased CKA", cluster=True, p_values=p_values)
