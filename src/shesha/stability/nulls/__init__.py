"""Null distributions of the scores, one kind per file."""
