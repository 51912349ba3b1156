"""Experiments as code: a question, a grid of cells, a page that puts our numbers beside the published ones.

    @study("width", paper="004, 6.1", version=1, full={...}, quick={...})
    def width(measure, ratio, seed): ...      # one cell: parameters in, one tidy row out

    @width.page
    def page(rows, published): ...            # a table of all rows in, a `Page` out

Rows are kept the moment they are there: a run that is killed goes on where it was. `shesha study list` names those that
ship, one file each; `shesha study run mymodule:mystudy` runs one of your own.
"""

from shesha.studies._beside import beside
from shesha.studies._checks import Check, checks_of, judged, missing
from shesha.studies._index import write_index
from shesha.studies._page import Page, Picture
from shesha.studies._registry import find, studies
from shesha.studies._study import Grid, Study, Unreachable, study
from shesha.studies.running import run, write_page
from shesha.studies.writing import StudyRun

__all__ = [
    "Check",
    "Grid",
    "Page",
    "Picture",
    "Study",
    "StudyRun",
    "Unreachable",
    "beside",
    "checks_of",
    "find",
    "judged",
    "missing",
    "run",
    "studies",
    "study",
    "write_index",
    "write_page",
]
