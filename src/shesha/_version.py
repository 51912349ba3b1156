"""What this distribution is called where packages are installed from, and its version."""

DISTRIBUTION = "shesha-representations"
"""Not `shesha`, which is software for adaptive optics, nor `shesha-geometry`, the papers' own package."""
__version__ = "0.1.0"
