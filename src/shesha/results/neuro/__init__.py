"""Scores of neural recordings."""
