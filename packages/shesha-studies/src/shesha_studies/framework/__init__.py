"""The parts of a study: grid, run, page, claims, and comparison with published numbers."""
