"""Shared support: array libraries, argument types, seeds, memory, progress, files, lazy names."""
