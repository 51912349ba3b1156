"""Stability compared with similarity and compared with transfer, over many representations."""
