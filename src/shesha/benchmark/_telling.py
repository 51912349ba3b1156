"""What a run tells on the way: on standard error, a line at a time."""

from __future__ import annotations

import sys


def tell(message: str) -> None:
    """Print a line for the person who waits."""
    print(f"shesha: {message}", file=sys.stderr, flush=True)
