"""The distribution's name on the package index, and its version."""

DISTRIBUTION = "shesha-representations"
"""The names `shesha` (software for adaptive optics) and `shesha-geometry` (by the authors of the papers) are taken."""
__version__ = "0.1.0"
