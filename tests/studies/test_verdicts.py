"""One verdict per published line."""

import pandas as pd
import pytest

from shesha.studies.chance._sides import trends
from shesha.studies.chance._verdicts import Verdicts


def lines(*keys):
    return pd.DataFrame([[key, "Paper, 1", key, "1.0"] for key in keys], columns=["key", "where", "what", "published"])


def test_no_line_is_forgotten():
    verdicts = Verdicts(lines("a", "b"))
    verdicts.claim("a", False, "0", "a control", "differs")
    with pytest.raises(ValueError, match="every published line must have a verdict, got none for b"):
        verdicts.checks()
    verdicts.claim("b", None, None)
    assert [check.verdict for check in verdicts.checks()] == ["differs", "not run"]


def test_trends_are_correlations_within_sets():
    rows = pd.DataFrame(
        {
            "measure": "m",
            "data": ["x"] * 3 + ["y"] * 3,
            "capability": [0.1, 0.2, 0.9] * 2,
            "width": [3, 2, 1] * 2,
            "raw": [1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
            "score": [0.0] * 6,
        }
    )
    found = trends(rows, ["raw", "score"]).set_index("data")
    assert found.raw.tolist() == pytest.approx([1.0, -1.0])
    assert found.score.isna().all()
    assert trends(rows, ["raw"], "width").raw.tolist() == pytest.approx([-1.0, 1.0])
