"""Null distributions of the stability scores, with one kind in each file."""
