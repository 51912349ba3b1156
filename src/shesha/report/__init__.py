"""Pages and tables of plain text: nothing here knows a result; results and commands write themselves with these."""

from __future__ import annotations

from shesha.report._columns import columns
from shesha.report._markdown import markdown_line, markdown_table

__all__ = ["columns", "markdown_line", "markdown_table"]
