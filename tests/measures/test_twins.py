"""Every measure is what its definition gives, written out as loops over rows, pairs and columns."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import shesha.measures as measures
from shesha.support.warnings import NotEstimable


def loaded(path):
    """Definitions live beside this file, by family; the folder is no package."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TWINS = {}
for found in sorted(Path(__file__).parent.glob("twins_*.py")):
    TWINS |= loaded(found).TWINS
VARIANTS = [(name, options) for name, (_, variants) in TWINS.items() for options in variants]


def mixed(rng, n, p, q, common=1.0):
    X = rng.standard_normal((n, p)) + common * rng.standard_normal((n, 1)) + 0.4
    return X, X @ rng.standard_normal((p, q)) + rng.standard_normal((n, q)) - 0.2


def repeated(rng):
    """Rows that occur several times, and not the same ones in both."""
    X, Y = mixed(rng, 24, 5, 5)
    X[12:20], Y[15:23] = X[:8], Y[:8]
    return X, Y


DATA = {
    "equal widths": lambda rng: mixed(rng, 24, 5, 5),
    "wider": lambda rng: mixed(rng, 22, 4, 6),
    "narrower": lambda rng: mixed(rng, 22, 6, 4),
    "fewer rows than columns": lambda rng: mixed(rng, 6, 7, 7, common=0.0),
    "repeated rows": repeated,
    "small": lambda rng: tuple(side * 1e-5 for side in mixed(rng, 24, 5, 5)),
}
CASES = [
    (name, options, kind)
    for name, options in VARIANTS
    for kind in DATA
    # With a fixed bandwidth the kernel of small data is 1 - 1e-10 everywhere: few digits are left to compare.
    if not (kind == "small" and isinstance(options.get("bandwidth"), float))
]
UNDEFINED = {"fewer rows than columns": {"CCA", "SVCCA", "PWCCA", "linear predictivity"}}
"""Canonical correlations are all 1 there, which says nothing; six rows are too few for five folds."""


PRECISION = {"RTD": 1e-6}
"""ripser computes in single precision."""


@pytest.mark.parametrize(("name", "options", "kind"), CASES, ids=str)
def test_value_is_the_definition(name, options, kind):
    if name == "RTD":
        pytest.importorskip("ripser", reason="the oracle for RTD")
    X, Y = DATA[kind](np.random.default_rng(len(kind)))
    measure = measures.get(name).with_options(**options)
    if name in UNDEFINED.get(kind, ()) and not {2, "published", 0.8}.intersection(options.values()):
        with pytest.raises(NotEstimable, match=r"canonical correlations are all 1|folds need at least \d+ rows, got 6"):
            measure.score(X, Y)
        return
    if measure.equal_widths and X.shape[1] != Y.shape[1]:
        with pytest.raises(NotEstimable, match="needs equal widths"):
            measure.score(X, Y)
        return
    expected = TWINS[name][0](X, Y, **options)
    if np.isnan(expected):
        with pytest.raises(NotEstimable, match="different features are unrelated"):
            measure.score(X, Y)
        return
    assert measure.score(X, Y) == pytest.approx(expected, rel=PRECISION.get(name, 1e-9), abs=1e-10)


@pytest.mark.parametrize("name", ["MMD", "sliced Wasserstein", "MagDiff", "ConcDiff", "UnifDiff", "IMD"])
@pytest.mark.parametrize("n_rows", [(24, 17), (12, 24), (5, 6), (30, 7)])
def test_value_is_the_definition_for_different_numbers_of_rows(rng, name, n_rows):
    X, Y = rng.standard_normal((n_rows[0], 4)), rng.standard_normal((n_rows[1], 4)) * 1.5 + 0.3
    options = {"IMD": {"k": 3}, "sliced Wasserstein": {"seed": 1}}.get(name, {})
    value = measures.get(name).with_options(**options).score(X, Y)
    assert value == pytest.approx(TWINS[name][0](X, Y, **options), rel=1e-9, abs=1e-12)


def test_every_measure_of_the_library_has_a_twin():
    own = {name for name in measures.names() if measures.get(name).function.__module__.startswith("shesha.")}
    assert set(TWINS) == own


def test_twins_try_every_option():
    for name, (_, variants) in TWINS.items():
        assert set(measures.get(name).parameters) == {option for variant in variants for option in variant}, name
