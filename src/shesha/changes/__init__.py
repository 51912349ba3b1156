"""What did changing a model change: layer by layer, beside the noise of encoding the same inputs again."""

from shesha.changes.diff import diff

__all__ = ["diff"]
