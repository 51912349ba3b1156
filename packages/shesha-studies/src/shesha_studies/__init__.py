"""The papers' experiments and our own, one module each, found by `shesha study`.

Folders by subject: `chance` (nulls and calibration), `stability` (the stability scores), `stability_correlations`
(stability against similarity and transfer), `benchmark` (ReSi, which measure), `language` and `biology`. `networks`
trains all networks. `published` holds the published numbers, and the claims that are judged.

The file of a study starts with the study's name: its grid, its cells, its facts and its page. Parts that would make it
too long have files named after the study and their role: `_X_cells` (a setting to a row), `_X_statistics` (rows to
correlations), `_X_checks` (published numbers and ours), `_X_facts` (for the rules of claims) and `_X_page`.
"""
