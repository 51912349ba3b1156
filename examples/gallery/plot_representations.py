"""
A map of representations
========================

Layers of a network before and after training, near each other where their geometry is alike. The line below says how
much of the distances the plane shows.
"""

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
layers = {name.replace("_", " "): X[:300] for name, X in layers.items()}
pairs = shesha.compare_all(layers, ["CKA"])
shesha.plot.representations(pairs, "CKA", groups=[name.split()[0] for name in layers])
