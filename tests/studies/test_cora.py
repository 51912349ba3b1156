"""Every number of Cora stands beside the published one of the same network, test, quality and measure."""

import numpy as np
import pytest

from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark.resi import _cora


def test_the_shares_are_those_of_single_numbers():
    keys = ["architecture", "test", "quality", "measure"]
    theirs, ours = (
        {tuple(line[key] for key in keys): line["value"] for _, line in one[one.dataset == "Cora"].iterrows()}
        for one in (tables.scores("published"), tables.scores("small"))
    )
    apart = np.array([abs(ours[key] - value) for key, value in theirs.items() if value == value])
    last = _cora().iloc[-1]
    assert last.numbers == len(apart) == 1008
    assert last["within 0.05"] == pytest.approx((apart <= 0.05).mean())
    assert last["within 0.10"] == pytest.approx((apart <= 0.10).mean())
    assert last["median distance"] == pytest.approx(np.median(apart))
