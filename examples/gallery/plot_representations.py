"""
A map of representations
========================

Layers of a network before and after training are near each other if their geometry is similar. The line below gives the
share of the distances that the plane shows.
"""

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
layers = {name.replace("_", " "): X[:300] for name, X in layers.items()}
pairs = shesha.compare_all(layers, ["CKA"])
pairs.plot_map(groups=[name.split()[0] for name in layers])
