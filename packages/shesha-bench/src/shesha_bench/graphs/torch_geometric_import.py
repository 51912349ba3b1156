"""Import torch-geometric without its warnings."""

from __future__ import annotations

import warnings
from types import ModuleType

from shesha.support.optional import require


def geometric(part: str) -> ModuleType:
    """Import a part of torch-geometric, which uses deprecated parts of torch while it is imported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return require(f"torch_geometric.{part}", "graphs")
