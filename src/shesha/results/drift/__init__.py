"""Verdicts of drift monitors on encodings, streams and pairs of samples."""
