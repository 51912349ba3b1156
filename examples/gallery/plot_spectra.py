"""
Spectra
=======

How the variance is shared out among the directions: noise is flat, trained layers fall off.
"""

import numpy as np

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
shown = {name.replace("_", " "): X for name, X in layers.items() if name.endswith(("layer1", "layer3"))}
shesha.plot.spectra({**shown, "noise": np.random.default_rng(0).standard_normal((900, 64))})
