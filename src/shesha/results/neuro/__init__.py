"""Results of scoring neural recordings."""
