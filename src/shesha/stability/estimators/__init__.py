"""Estimators of the scores, which get value, interval and null from a single pass over the data."""
