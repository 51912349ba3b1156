"""What was found as sections, sections as text, and tables: results say what, this says how it looks."""

from shesha.report._columns import columns
from shesha.report._markdown import markdown_line, markdown_table
from shesha.report.sections import Section
from shesha.report.text import as_text

__all__ = ["Section", "as_text", "columns", "markdown_line", "markdown_table"]
