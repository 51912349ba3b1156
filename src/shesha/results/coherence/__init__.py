"""Coherence of groups of rows."""
