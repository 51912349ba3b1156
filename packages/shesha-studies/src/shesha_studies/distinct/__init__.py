"""Stability beside similarity and beside transfer, over many representations."""
