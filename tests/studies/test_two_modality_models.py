"""Trends over the stand-ins for models of two modalities."""

import pandas as pd
import pytest

from shesha_studies.chance._two_modality_models import trends


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
