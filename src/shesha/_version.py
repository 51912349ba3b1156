"""Name of this distribution on the package index, and its version."""

DISTRIBUTION = "shesha-representations"
"""Not `shesha`, which is software for adaptive optics, nor `shesha-geometry`, the papers' own package."""
__version__ = "0.1.0"
