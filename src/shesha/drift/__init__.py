"""Whether a model still sees its inputs as it did."""
