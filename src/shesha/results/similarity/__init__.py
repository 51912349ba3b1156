"""Similarity of two or more representations: comparisons, calibrated scores, layers, ceilings."""
