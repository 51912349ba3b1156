"""The papers' experiments and our own, one module each, found by `shesha study`.

There is one folder per subject: `chance` (nulls and calibration), `stability` (the stability scores),
`stability_correlations` (stability against similarity and transfer), `benchmark` (ReSi, which measure), `language` and
`biology`. `networks` trains all networks. `published` contains the published numbers and the claims to be judged.

The file of a study contains its grid, its cells, its facts and its page, and its name contains that of the study.
Longer parts have separate files: `_X_rows` (computes the row of a setting), `_X_statistics` (computes correlations
from rows), `_X_checks` (published numbers and ours), `_X_facts` (for the rules of claims) and `_X_page`.
"""
