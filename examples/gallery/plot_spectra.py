"""
Spectra
=======

How variance is distributed over directions: flat for noise, decreasing for trained layers.
"""

import numpy as np

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
shown = {name.replace("_", " "): X for name, X in layers.items() if name.endswith(("layer1", "layer3"))}
shesha.descriptors.plot_spectra({**shown, "noise": np.random.default_rng(0).standard_normal((900, 64))})
