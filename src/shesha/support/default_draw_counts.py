"""Default numbers of random draws that many functions share."""

N_PERMUTATIONS = 200
"""Number of permutations for a null distribution; it allows p-values down to 1/201."""
N_BOOTSTRAP = 200
"""Number of bootstrap resamples for an interval."""
