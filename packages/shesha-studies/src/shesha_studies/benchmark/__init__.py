"""Studies of the benchmark's tables, with raw and calibrated measures."""
