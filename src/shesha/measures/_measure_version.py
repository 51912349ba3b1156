"""Version of a measure's code, which stores of results record."""

from __future__ import annotations

from shesha.measures.registry import Measure
from shesha.support import argument_types as kinds


def code_version(measure: Measure) -> str:
    """Return a hash of a measure's code: its function, its view, and the library modules that they use.

    The hash changes if a kernel changes, but not if only comments, docstrings, formatting or card texts change. Options
    are part of a measure's name, not of its version.

    Examples
    --------
    >>> from shesha.measures import get
    >>> code_version(get("CKA")) == code_version(get("CKA(kernel=rbf)"))
    True
    >>> len(code_version(get("CKA")))
    12
    """
    kinds.instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    # Imported here because that package takes longer to import than all measures together.
    from shesha.runs import version_of_code

    return version_of_code(measure.function, measure.view)
