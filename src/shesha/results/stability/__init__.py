"""Stability of one representation: estimates, chance levels, and drift along a sequence."""
