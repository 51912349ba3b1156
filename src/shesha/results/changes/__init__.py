"""Results on changes of a model or a preprocessing."""
