"""Stability of one representation: estimates, chance levels, drift along a sequence."""
