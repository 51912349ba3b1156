"""What a view says that it needs is about what it takes: the budget refuses neither too early nor too late."""

import tracemalloc
import warnings

import numpy as np
import pytest

from shesha.measures import choose
from shesha.views import Representation

SLACK = 4 << 20
BLOCKS = dict.fromkeys(("2nd-Cos", "mutual kNN", "IMD", "stability difference"), 32 << 20)
"""Blocks and tables of fixed size, whatever the rows are: exact distances come in stretches of four million
numbers, and halves in as many copies as there are threads."""
VIEWS = {measure.view_key: measure for measure in choose("all") if measure.name not in ("sampled CKA", "RTD")}
"""One measure for each view; sampled CKA refuses unrelated columns, and RTD looks at subsets of its own size."""


@pytest.mark.parametrize("key", VIEWS, ids=lambda key: VIEWS[key].name)
@pytest.mark.parametrize(("n", "d"), [(900, 200), (300, 800)])
def test_a_view_takes_about_what_it_says(key, n, d):
    measure, X = VIEWS[key], np.random.default_rng(0).standard_normal((n, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What is imported or tried once is not the view's.
        measure.look(Representation.build(X.copy()))
        side = Representation.build(X)
        tracemalloc.start()
        try:
            view = measure.look(side)
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    kept, working = measure.view.memory(n, d, **dict(measure.view_key[1]))
    assert held <= 1.2 * kept + SLACK
    assert peak <= 1.25 * (kept + working) + BLOCKS.get(measure.name, SLACK)
    assert kept + working <= 8 * peak + SLACK
    assert view is not None
