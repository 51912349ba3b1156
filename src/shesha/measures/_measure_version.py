"""Version of a measure's code, for stores of results."""

from __future__ import annotations

from shesha.measures.measure_type import Measure
from shesha.support import argument_types as kinds


def code_version(measure: Measure) -> str:
    """Return a hash of the code of a measure: its function, its view, and the library modules that they use.

    The hash changes if a kernel changes, but not if comments, docstrings, formatting or the texts of cards change.
    Options are part of a measure's name, not of its version.

    Examples
    --------
    >>> from shesha.measures import get
    >>> code_version(get("CKA")) == code_version(get("CKA(kernel=rbf)"))
    True
    >>> len(code_version(get("CKA")))
    12
    """
    kinds.instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    # Imported here because this package takes longer to import than all measures.
    from shesha.runs import version_of_code

    return version_of_code(measure.function, measure.view)
