"""Conversion of errors about zero or constant rows to errors for users, which name rows and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shesha.inputs import validation as check
from shesha.views import UndirectedHalfError, UndirectedRowsError


@contextmanager
def explain_undirected_rows(name: str | None = None) -> Iterator[None]:
    """Convert errors about zero or constant rows to the documented ones; `name` is the user's argument."""
    try:
        yield
    except UndirectedRowsError as error:
        raise ValueError(
            f"{name or error.name} must have no {error.kind} row under the {error.metric} metric, got {error.kind} "
            f"rows {check.join_items(error.rows)}; remove them, or use metric='euclidean'"
        ) from None
    except UndirectedHalfError as error:
        kind = "zero" if error.metric == "cosine" else "constant"
        raise ValueError(
            f"X must have no row that is {kind} within a half of its features under the {error.metric} metric, "
            f"got {kind} halves in rows {check.join_items(error.rows)}; use metric='euclidean', or "
            "shesha.stability.estimate, which leaves out the pairs of such rows"
        ) from None
