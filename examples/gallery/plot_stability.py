"""
Stability over layers
=====================

Do random halves of the features give the same geometry in each layer? Bars are intervals, and the dashed line is the
chance threshold.
"""

import shesha
import shesha.data

layers, labels = shesha.data.digits_network()
trained = {name.removeprefix("trained_"): X[:300] for name, X in layers.items() if name.startswith("trained")}
audit = shesha.audit(trained, n_bootstrap=99, n_permutations=99)
audit.plot()
