"""Reports built from sections, as text or as pages, independent of the kinds of results."""

from shesha.report._aligned_columns import columns
from shesha.report._array_fingerprint import fingerprint
from shesha.report._documentation_links import heading_anchor
from shesha.report._markdown_tables import markdown_line, markdown_table
from shesha.report._page_wide_tables import Column, Strip, table
from shesha.report._terminal_colours import colour_report, use_colour
from shesha.report._text_card import CHANGES, card, changes_in_words, options_in_words, range_in_words
from shesha.report._wrapping import page_width, wrap
from shesha.report.html import as_html, as_notebook
from shesha.report.model_card import Metric, as_card
from shesha.report.page import Page
from shesha.report.sections import (
    Drawing,
    Either,
    Explained,
    HeatMap,
    Item,
    Lines,
    Part,
    Point,
    PointMap,
    Section,
    Table,
    Text,
    texts,
)
from shesha.report.text import as_text

__all__ = [
    "CHANGES",
    "Column",
    "Drawing",
    "Either",
    "Explained",
    "HeatMap",
    "Item",
    "Lines",
    "Metric",
    "Page",
    "Part",
    "Point",
    "PointMap",
    "Section",
    "Strip",
    "Table",
    "Text",
    "as_card",
    "as_html",
    "as_notebook",
    "as_text",
    "card",
    "changes_in_words",
    "colour_report",
    "columns",
    "fingerprint",
    "heading_anchor",
    "markdown_line",
    "markdown_table",
    "options_in_words",
    "page_width",
    "range_in_words",
    "table",
    "texts",
    "use_colour",
    "wrap",
]
