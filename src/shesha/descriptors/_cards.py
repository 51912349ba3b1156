"""Cards of descriptors as text."""

from __future__ import annotations

from collections.abc import Callable

from shesha.descriptors._registry import Descriptor, descriptors
from shesha.report import card as as_card
from shesha.report import changes_in_words, options_in_words, range_in_words
from shesha.support import spelling as spelling


def card(descriptor: str | Descriptor | Callable[..., float]) -> str:
    """Return the card of a descriptor as text.

    Parameters
    ----------
    descriptor : str, Descriptor or function
        By any name: case and punctuation do not matter, and the title does as well.

    Raises
    ------
    ValueError
        For an unknown name; close ones are offered.

    Examples
    --------
    >>> card("anisotropy").split(".")[0]
    'anisotropy: Anisotropy'
    """
    found = getattr(descriptor, "descriptor", descriptor)
    if not isinstance(found, Descriptor):
        found = spelling.find_by_name(found, descriptors().values(), "descriptor", "`shesha scores`")
    return as_card(f"{found.name}: {found.title}. {found.means}", _facts(found))


def _facts(one: Descriptor) -> list[tuple[str, str]]:
    module = one.function.__module__
    place = "shesha.descriptors" if module.startswith("shesha.descriptors.") else module
    return [
        ("beware", one.means_not),
        ("values", range_in_words(one.bounds)),
        ("unchanged by", changes_in_words(one.invariant)),
        ("needs", "rows"),
        ("options", options_in_words(one.options)),
        ("audit", "included in every audit" if one.audited else ""),
        ("reference", one.reference),
        ("call it", f"{place}.{one.function.__name__}(X)"),
    ]
