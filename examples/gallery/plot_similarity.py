"""
Similarity of all pairs
=======================

Three families of representations come in no order. Clustering puts similar ones next to one another, and pairs above
chance are framed (permutation p-values, corrected for their number).
"""

import numpy as np

import shesha

rng = np.random.default_rng(0)
families = rng.standard_normal((3, 120, 16))
models = {
    f"{kind}{i}": X + rng.standard_normal(X.shape) for i in range(3) for kind, X in zip("abc", families, strict=True)
}
pairs = shesha.compare_all(models, "unbiased CKA", calibrate=True, n_permutations=999)
pairs.plot(cluster=True)
