"""Tables of facts, as `facts.csv` stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha_studies.framework.facts import Fact, Facts

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("value", "low", "high", "words")


def facts_table(facts: Facts) -> pd.DataFrame:
    """Return a table with one line per fact."""
    import pandas as pd

    lines = [(name, fact.value, fact.low, fact.high, fact.words) for name, fact in facts.items()]
    return pd.DataFrame(lines, columns=["fact", *_COLUMNS])


def read_facts(table: pd.DataFrame) -> dict[str, Fact]:
    """Return the facts in a table, by name."""
    *numbers, words = _COLUMNS
    text = table[words].fillna("") if words in table else [""] * len(table)
    return {
        str(name): Fact(float(value), float(low), float(high), words=str(words))
        for name, value, low, high, words in zip(table.fact, *(table[column] for column in numbers), text, strict=True)
    }
