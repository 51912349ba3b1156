"""Names that are shortened to fit a column of a table or a label of a picture."""

from __future__ import annotations


def shorten(text: str, most: int) -> str:
    """Return a name without line breaks, cut to a number of characters.

    Examples
    --------
    >>> shorten("a\\nb", 9), shorten("embeddings " * 9, 16)
    ('a b', 'embeddings em...')
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
