"""
Several measures, one picture
=============================

Six measures compare a layer before and after training. The scores are not on one scale: grey lines lead from the chance
level of each measure to its value.
"""

import shesha
import shesha.data

layers, _ = shesha.data.digits_network()
before, after = layers["init_layer3"][:250], layers["trained_layer3"][:250]
measures = ["CKA", "unbiased CKA", "RSA", "DistCorr", "SVCCA", "mutual kNN"]
result = shesha.compare(before, after, measures, calibrate=True, n_permutations=199)
print(result.headline)
result.plot()
