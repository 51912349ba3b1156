"""Count results without labels, sample sizes, arithmetic and repeats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from shesha.studies.checks import OWN_NUMBERS

if TYPE_CHECKING:
    import pandas as pd

RESULT, TRANSCRIPTION, ARITHMETIC, REPEAT = "result", "transcription", "arithmetic", "repeat"
KINDS = (RESULT, ARITHMETIC, TRANSCRIPTION, REPEAT)
MEANINGS = {
    RESULT: "a number or claim that an experiment, or its absence, decides",
    ARITHMETIC: "a number that follows from other numbers of the paper",
    TRANSCRIPTION: "a label, a parameter, a sample size, or a definition that cannot come out otherwise",
    REPEAT: "the same number of the paper beside the same of ours, printed in another place",
}
_TRANSCRIBED = re.compile(
    r"""
    ^counts:                                        # models, observations, sentences
    | :\s(?:n|N|type|family|size|weights|layers|rows)$
    | \bobservations\b
    | (?:^|:\s)(?:sessions|seeds)$
    | ,\srows$
    | ^(?:areas\sand\ssessions|areas\sof\sthe\sbrain|pairs\sof\scontrasts|models)$
    | :\s(?:perturbations(?:\ssimulated)?|cells\sanalysed|control\scells)$
    | (?:fewest|most|median)\scells
    | guides\spooled
    | \bstars\b
    | bit\sfor\sbit                                 # the same code on the same rows, compared with itself
    | valid\soutputs|NaN\sor\sinfinite
    """,
    re.VERBOSE,
)


def kinds(checks: pd.DataFrame) -> pd.Series[str]:
    """Set how each check counts.

    Parameters
    ----------
    checks : DataFrame
        Columns `study`, `what`, `published`, `ours`, `basis`.

    Returns
    -------
    Series of {"result", "arithmetic", "transcription", "repeat"}

    Examples
    --------
    >>> import pandas as pd
    >>> lines = [("Striatum: n", "6", "6"), ("rho", "0.5", "0.4"), ("text: rho", "0.5", "0.4")]
    >>> table = pd.DataFrame(lines, columns=["what", "published", "ours"])
    >>> kinds(table.assign(study="a", basis="")).tolist()
    ['transcription', 'result', 'repeat']
    """
    import pandas as pd

    numeric = pd.to_numeric(checks.published, errors="coerce").notna()
    reached = checks.ours.astype(str) != ""
    repeated = checks.duplicated(["study", "published", "ours"]) & reached
    found = np.select(
        [checks.what.astype(str).str.contains(_TRANSCRIBED), numeric & (checks.basis == OWN_NUMBERS), repeated],
        [TRANSCRIPTION, ARITHMETIC, REPEAT],
        RESULT,
    )
    return pd.Series(found, index=checks.index)
