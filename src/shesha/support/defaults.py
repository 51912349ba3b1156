"""Default numbers of random draws that many functions share."""

N_PERMUTATIONS = 200
"""Permutations of a null distribution: p-values down to 1/201."""
N_BOOTSTRAP = 200
"""Resamples behind an interval."""
