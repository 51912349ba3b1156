"""Reports built from sections, as text or as pages, independent of the kinds of results."""

from shesha.report._array_fingerprint import fingerprint as fingerprint
from shesha.report.html import as_html as as_html, as_notebook as as_notebook, heading_anchor as heading_anchor
from shesha.report.model_card import (
    Metric as Metric,
    as_card as as_card,
    as_markdown as as_markdown,
    markdown_line as markdown_line,
    markdown_table as markdown_table,
)
from shesha.report.sections import (
    Columns as Columns,
    Drawing as Drawing,
    Explained as Explained,
    HeatMap as HeatMap,
    Item as Item,
    Lines as Lines,
    Page as Page,
    Part as Part,
    Point as Point,
    PointMap as PointMap,
    Section as Section,
    Table as Table,
    Text as Text,
    texts as texts,
)
from shesha.report.text import (
    MORE as MORE,
    SCREEN as SCREEN,
    as_full_text as as_full_text,
    as_screen as as_screen,
    as_text as as_text,
    colour_report as colour_report,
    use_colour as use_colour,
)
from shesha.report.text_layout import (
    CHANGES as CHANGES,
    Column as Column,
    Strip as Strip,
    card as card,
    columns as columns,
    describe_invariances as describe_invariances,
    numeral as numeral,
    options_in_words as options_in_words,
    page_width as page_width,
    range_in_words as range_in_words,
    table as table,
    wrap as wrap,
)
