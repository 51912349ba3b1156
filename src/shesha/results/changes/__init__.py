"""Results about the changes of a model or of its preprocessing."""
