"""Results of audits: headline, tables, page and plot."""
