"""
All layers against all
======================

Every layer of a trained network is compared with every layer of the same network before training. The closest partner
of each layer is framed if it is above chance.
"""

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
models = [
    {name.partition("_")[2]: X[:300] for name, X in layers.items() if name.startswith(kind)}
    for kind in ("trained", "init")
]
found = shesha.compare_layers(*models, calibrate=True, n_permutations=99)
found.plot()
