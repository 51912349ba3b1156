"""Calibration: what chance gives, what calibrating takes away, how often p-values and intervals mislead."""
