"""Studies: experiments with a question, a grid of cells, and a page that compares published numbers.

    @study("width", paper="004, 6.1", version=1, full={...}, quick={...})
    def width(measure, ratio, seed): ...      # one cell: parameters in, one tidy row out

    @width.page
    def page(rows, published): ...            # a table of all rows in, a `Page` out

Rows are stored as soon as they are computed, and a run that was killed can resume. `shesha study list` names the
studies of this package; `shesha study run mymodule:mystudy` runs a study of your own.

The parts of a study are in `framework`. The papers' experiments and our own have one folder per subject: `chance`
(nulls and calibration), `stability` (the stability scores), `stability_correlations` (stability against similarity and
transfer), `benchmark` (ReSi, which measure), `language` and `biology`. `networks` trains all networks,
`perturbation_tables` has the statistics of the paper on perturbations, and `published` contains the published numbers
and the claims to be judged.

The file of a study contains its grid, its cells, its facts and its page, and its name contains that of the study.
Longer parts have separate files: `_X_rows` (computes the row of a setting), `_X_statistics` (computes correlations
from rows), `_X_facts` (for the rules of claims) and `_X_page`.
"""

from shesha_studies.framework.checks import Check, Found, judge_number, missing_checks
from shesha_studies.framework.facts import Fact, over_draws
from shesha_studies.framework.index import write_index
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.published_comparison import compare_with_published
from shesha_studies.framework.run_results import StudyRun
from shesha_studies.framework.run_studies import run, write_page
from shesha_studies.framework.study_decorator import Grid, Study, Unreachable, study
from shesha_studies.framework.study_lookup import find, studies

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
