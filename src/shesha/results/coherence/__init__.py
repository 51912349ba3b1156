"""Results on whether groups of rows shift in a common direction."""
