"""What was found as sections, and sections as text: results say what, this says how it looks."""

from shesha.report.sections import Section
from shesha.report.text import as_text

__all__ = ["Section", "as_text"]
