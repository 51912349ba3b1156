"""Estimators of the scores: value, interval and null from one pass over the data."""
