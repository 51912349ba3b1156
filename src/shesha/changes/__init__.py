"""What did changing a model change: layer by layer, compared with the noise of encoding the same inputs again."""

from shesha.changes.diff import diff
from shesha.changes.row_map import explore

__all__ = ["diff", "explore"]
