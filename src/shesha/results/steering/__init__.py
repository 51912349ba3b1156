"""Results of steering and probing."""
