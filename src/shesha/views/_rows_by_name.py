"""Alignment of representations by the names of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from shesha.inputs import orders
from shesha.support.types import Index
from shesha.views._lazy_rows import Rows
from shesha.views.rdm_input import Rdm
from shesha.views.representation import Representation

S = TypeVar("S", Representation, Rows, Rows | Rdm)


def align_rows(sources: Mapping[str, S]) -> dict[str, S]:
    """Put rows in the order of the first representation with names; warn if rows were reordered.

    Raises
    ------
    ValueError
        If the representations contain different names, not only a different order.
    """
    moved = orders({name: source.names for name, source in sources.items()})
    return {name: take_rows(source, moved[name]) if name in moved else source for name, source in sources.items()}


def take_rows(source: S, chosen: Index) -> S:
    """Take some rows, in the given order, from any kind of representation."""
    return source.take(chosen) if isinstance(source, Rows) else source.take_rows(chosen)


def layers_in_one_order(
    a: dict[str, Representation], b: dict[str, Representation]
) -> tuple[dict[str, Representation], dict[str, Representation]]:
    """Return the layers of two models with rows in the order of the first layer that has names."""
    called = {f"layers_a[{name}]": layer for name, layer in a.items()}
    called |= {f"layers_b[{name}]": layer for name, layer in b.items()}
    layers = list(align_rows(called).values())
    return dict(zip(a, layers, strict=False)), dict(zip(b, layers[len(a) :], strict=True))
