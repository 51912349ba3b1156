"""BibTeX entries for this library and for the sources of its measures and scores."""

from shesha.citations.cite import Citations, cite

__all__ = ["Citations", "cite"]
