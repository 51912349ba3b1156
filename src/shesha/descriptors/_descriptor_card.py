"""Describe descriptors as text cards."""

from __future__ import annotations

from collections.abc import Callable

from shesha.descriptors._registry import Descriptor, descriptors
from shesha.report import options_in_words
from shesha.views.one_view_score import find_score, score_card


def card(descriptor: str | Descriptor | Callable[..., float]) -> str:
    """Return a text card that describes a descriptor.

    Parameters
    ----------
    descriptor : str, Descriptor or function
        The descriptor, its name, or its title. Case and punctuation are ignored.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> card("anisotropy").split(".")[0]
    'anisotropy: Anisotropy'
    """
    known = getattr(descriptor, "descriptor", descriptor)
    chosen = find_score(known, Descriptor, descriptors(), "descriptor")
    return score_card(chosen, "shesha.descriptors", {"options": options_in_words(chosen.options)})
