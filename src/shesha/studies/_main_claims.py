"""What the papers are read for: their main claims in plain words, and the check of a study that decides each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from shesha.studies.writing import PUBLISHED

if TYPE_CHECKING:
    import pandas as pd


class MainClaim(NamedTuple):
    """A claim in plain words, the study that asks it, and words of the name of its check."""

    paper: str
    claim: str
    study: str
    words: str


@cache
def main_claims() -> tuple[MainClaim, ...]:
    """Return the claims, paper by paper."""
    import pandas as pd

    lines = pd.read_csv(PUBLISHED / "main_claims.csv", comment="#")
    return tuple(MainClaim(*map(str, line)) for line in lines.itertuples(index=False))


def decided(checks: pd.DataFrame) -> Iterator[tuple[MainClaim, pd.Series]]:
    """Yield each claim with the line of its check; those whose study is not in the folder are left out."""
    for one in main_claims():
        own = checks[(checks.study == one.study) & checks.what.str.contains(one.words, regex=False)]
        if len(own):
            yield one, own.iloc[0]
