"""The distribution's name on the package index, and its version."""

DISTRIBUTION = "shesha-representations"
"""Not `shesha` (software for adaptive optics) and not `shesha-geometry` (the package of the papers' authors)."""
__version__ = "0.1.0"
