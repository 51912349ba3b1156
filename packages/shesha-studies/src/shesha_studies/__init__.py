"""The papers' experiments and our own, one module each, found by `shesha study`.

Folders by subject: `chance` (nulls and calibration), `score` (the stability scores), `distinct` (stability against
similarity), `trust` (which measure), `language`, `biology`. `networks` trains all networks. `published` holds the
published numbers, and the claims that are judged.
"""
