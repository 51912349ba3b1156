"""Studies of calibration: scores by chance, effects of calibration, and errors of p-values and intervals."""
