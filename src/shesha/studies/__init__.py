"""Studies: experiments with a question, a grid of cells, and a page that compares published numbers.

    @study("width", paper="004, 6.1", version=1, full={...}, quick={...})
    def width(measure, ratio, seed): ...      # one cell: parameters in, one tidy row out

    @width.page
    def page(rows, published): ...            # a table of all rows in, a `Page` out

Rows are stored as soon as they are computed, and a run that was killed can resume. The papers' experiments are in the
package shesha-studies: `shesha study list` names them. `shesha study run mymodule:mystudy` runs a study of your own.
"""

from shesha.studies.checks import Check, Found, judge_number, missing_checks
from shesha.studies.facts import Fact, over_draws
from shesha.studies.index import write_index
from shesha.studies.page import Page, Picture
from shesha.studies.published_comparison import compare_with_published
from shesha.studies.run_results import StudyRun
from shesha.studies.run_studies import run, write_page
from shesha.studies.study_decorator import Grid, Study, Unreachable, study
from shesha.studies.study_lookup import find, studies

__all__ = [
    "Check",
    "Fact",
    "Found",
    "Grid",
    "Page",
    "Picture",
    "Study",
    "StudyRun",
    "Unreachable",
    "compare_with_published",
    "find",
    "judge_number",
    "missing_checks",
    "over_draws",
    "run",
    "studies",
    "study",
    "write_index",
    "write_page",
]
