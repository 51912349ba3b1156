"""Measure how a model change affects each layer, compared with the noise of re-encoding."""

from shesha.changes.diff import diff
from shesha.changes.row_map import explore
from shesha.changes.stored_vectors import StoredVectorsTable, stored_vectors

__all__ = ["StoredVectorsTable", "diff", "explore", "stored_vectors"]
