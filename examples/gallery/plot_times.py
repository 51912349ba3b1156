"""
Geometry at one time against another
====================================

Thirty neurons respond to six stimuli. Their code appears at the third time and changes at the sixth. Values above
chance are framed.
"""

import numpy as np

from shesha.neuro import over_time

rng = np.random.default_rng(0)
shown = rng.permuted(np.tile(np.arange(6), 30))
early, late = rng.standard_normal((2, 6, 30))
code = [np.zeros((6, 30))] * 2 + [early] * 3 + [late] * 3
trials = np.stack([code[t][shown] + rng.standard_normal((len(shown), 30)) for t in range(8)], axis=2)
over_time(trials, shown).plot()
