"""What changing a model, or a preprocessing, changed."""
