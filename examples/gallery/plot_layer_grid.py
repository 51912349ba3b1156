"""
All layers against all
======================

Every layer of a trained network is compared with every layer of the same network before training. The most similar pair
is framed, and calibrated as the best of many.
"""

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
models = [
    {name.partition("_")[2]: X[:300] for name, X in layers.items() if name.startswith(kind)}
    for kind in ("trained", "init")
]
found = shesha.calibrate_layers(*models, "CKA", n_permutations=99)
found.plot()
