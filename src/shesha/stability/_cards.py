"""Cards of stability scores as text."""

from __future__ import annotations

from collections.abc import Callable

from shesha.report import card as as_card
from shesha.report import changes_in_words, options_in_words, range_in_words
from shesha.stability._registry import Variant, registered_variants
from shesha.support import spelling as spelling

_DATA = {"rows": "X", "labels": "X, y", "replicates": "X_a, X_b"}


def card(score: str | Variant | Callable[..., float]) -> str:
    """Return the card of a stability score as text.

    Parameters
    ----------
    score : str, Variant or function
        By any name: case and punctuation do not matter, and the title does as well.

    Raises
    ------
    ValueError
        For an unknown name; close ones are offered.

    Examples
    --------
    >>> card("variance").split(".")[0]
    'variance_ratio: Variance between classes'
    """
    found = getattr(score, "variant", score)
    if not isinstance(found, Variant):
        found = spelling.find_by_name(found, registered_variants().values(), "score", "`shesha scores`")
    return as_card(f"{found.name}: {found.title}. {found.means}", _facts(found))


def _facts(one: Variant) -> list[tuple[str, str]]:
    module = one.function.__module__
    place = "shesha.stability" if module.startswith("shesha.stability.") else module
    return [
        ("beware", one.means_not),
        ("values", range_in_words(one.bounds)),
        ("unchanged by", changes_in_words(one.invariant)),
        ("needs", _needs(one)),
        ("distances", "may be given instead of features (shesha.Rdm)" if one.takes_distances else ""),
        ("options", options_in_words(one.options)),
        ("estimate", _estimate(one)),
        ("chance", _chance(one)),
        ("audit", "included in every audit" if one.audited else ""),
        ("also called", one.alias),
        ("reference", one.reference),
        ("call it", f"{place}.{one.function.__name__}({_DATA[one.needs]})"),
    ]


def _needs(one: Variant) -> str:
    rows = "rows" if one.min_columns == 1 else f"rows of at least {one.min_columns} columns"
    if one.needs == "replicates":
        return f"two replicates of the same {rows}"
    return f"{rows} and class labels, at least {one.min_classes} classes" if one.needs_labels else rows


def _estimate(one: Variant) -> str:
    if one.needs == "replicates":
        return "no interval"
    if not one.estimand:
        return "no interval: its estimand is not identifiable"
    options = options_in_words(one.estimator_options)
    return "with an interval over rows" + (f"; options: {options}" if options else "")


def _chance(one: Variant) -> str:
    if not one.has_chance:
        return "no null"
    return "labels are shuffled" if one.needs_labels else "rows of the two parts are matched at random"
