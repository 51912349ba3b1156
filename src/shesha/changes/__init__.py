"""Measure how a model change affects each layer, compared with the noise of re-encoding."""

from shesha.changes.diff import diff
from shesha.changes.index_recall import StoredVectorsTable, stored_vectors
from shesha.changes.row_map import explore

__all__ = ["StoredVectorsTable", "diff", "explore", "stored_vectors"]
