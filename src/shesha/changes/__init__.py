"""What did changing a model change: layer by layer, compared with the noise of encoding the same inputs again."""

from shesha.changes.diff import diff

__all__ = ["diff"]
