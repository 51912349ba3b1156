"""Which measure: the benchmark's tables, raw and calibrated."""
