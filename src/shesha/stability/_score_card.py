"""Text cards that describe stability scores."""

from __future__ import annotations

from collections.abc import Callable

from shesha.report import options_in_words
from shesha.stability._registry import Variant, registered_variants
from shesha.views.one_view_score import find_score, score_card

_DATA = {"rows": "X", "labels": "X, y", "replicates": "X_a, X_b"}


def card(score: str | Variant | Callable[..., float]) -> str:
    """Return the card that describes a stability score, as text.

    Parameters
    ----------
    score : str, Variant or function
        The score, one of its names, or its title. Case and punctuation are ignored.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> card("variance").split(".")[0]
    'variance_ratio: Variance between classes'
    """
    chosen = find_score(getattr(score, "variant", score), Variant, registered_variants(), "score")
    texts = {
        "needs": _needs(chosen),
        "distances": "accepted instead of features (shesha.Rdm)" if chosen.takes_distances else "",
        "options": options_in_words(chosen.options),
        "estimate": _estimate(chosen),
        "chance": _chance(chosen),
        "also called": chosen.alias,
    }
    return score_card(chosen, "shesha.stability", texts, _DATA[chosen.needs])


def _needs(variant: Variant) -> str:
    rows = "rows" if variant.min_columns == 1 else f"rows of at least {variant.min_columns} columns"
    if variant.needs == "replicates":
        return f"two replicates of the same {rows}"
    return f"{rows} and class labels with at least {variant.min_classes} classes" if variant.needs_labels else rows


def _estimate(variant: Variant) -> str:
    if variant.needs == "replicates":
        return "no interval"
    if not variant.estimand:
        return "no interval, because the estimand is not identifiable"
    options = options_in_words(variant.estimator_options)
    return "with an interval over rows" + (f"; options: {options}" if options else "")


def _chance(variant: Variant) -> str:
    if not variant.has_chance:
        return "no null"
    return "by shuffled labels" if variant.needs_labels else "by random matching of the rows of the two parts"
