"""Names of transformations to which a score can be invariant."""

from __future__ import annotations

from collections.abc import Collection

from shesha.inputs.validation import choice

INVARIANCES = ("scaling", "translation", "orthogonal")


def check_invariances(names: Collection[str]) -> frozenset[str]:
    """Check the names of a score's invariances."""
    return frozenset(choice(name, INVARIANCES, "invariant") for name in names)
