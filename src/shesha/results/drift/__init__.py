"""Verdicts of the drift monitor."""
