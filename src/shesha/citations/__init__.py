"""What to cite: BibTeX of the sources of measures and scores, and of this library."""

from shesha.citations.cite import Citations, cite

__all__ = ["Citations", "cite"]
