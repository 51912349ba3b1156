"""The documented namespace `shesha.sim`: its names, its numbers, and the debiased CKA that deserves the word."""

import inspect
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shesha
import shesha.measures as measures
import shesha.sim as sim

FOLDER = Path(__file__).resolve().parent / "reference"
WRONG = {"shesha.sim.cka_debiased": {}, "shesha.sim.cka": {"debiased": True}}
"""The public package keeps the diagonal of the centred Gram matrix, and so is hardly debiased."""

with (FOLDER / "expected.json").open() as file:
    EXPECTED = json.load(file)
RECORDED = [record for record in EXPECTED["values"] if record["measure"].startswith("shesha.sim.")]
UNBIASED = {record["case"]: record for record in EXPECTED["values"] if record["measure"] == "cal.cka_unbiased"}
PLAIN = [
    record
    for record in RECORDED
    # The public package returns intervals from the same function; ours are results of their own.
    if "n_bootstrap_ci" not in record["parameters"]
]


@cache
def array(case, name):
    return np.load(FOLDER / case / f"{name}.npy")


def call(record):
    function = getattr(sim, record["measure"].removeprefix("shesha.sim."))
    return function(*(array(record["case"], name) for name in record["inputs"]), **record["parameters"])


def near(record):
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    return pytest.approx(record["value"], abs=tolerance * max(1, abs(record["value"])), rel=0)


def test_the_names_are_those_documented():
    assert sim.__all__ == ["cka", "cka_debiased", "cka_linear", "procrustes_similarity", "rdm_similarity"]
    assert sim.rdm_similarity is shesha.rdm_similarity
    assert sim.cka_linear is measures.cka
    assert sim.cka_debiased is measures.unbiased_cka
    assert sim.cka is measures.shesha_geometry_names.cka
    assert sim.procrustes_similarity is measures.shesha_geometry_names.procrustes_similarity


def test_documented_options_have_their_documented_defaults():
    defaults = {
        "cka": {"debiased": False},
        "procrustes_similarity": {"center": True, "scale": True},
        "rdm_similarity": {"metric": "cosine", "method": "spearman"},
    }
    for name, documented in defaults.items():
        parameters = inspect.signature(getattr(sim, name)).parameters
        assert {option: parameters[option].default for option in documented} == documented


@pytest.mark.parametrize("record", PLAIN, ids=lambda r: f"{r['measure']}-{r['case']}-{r['parameters']}")
def test_recorded_value(record):
    if WRONG.get(record["measure"]) == record["parameters"]:
        assert call(record) == near(UNBIASED[record["case"]])
        assert call(record) != near(record)
    elif record.get("reference_failed"):
        # The public package needs equal widths; here the narrower matrix counts as padded with zeros.
        X, Y = (array(record["case"], name) for name in record["inputs"])
        width = max(X.shape[1], Y.shape[1])
        padded = [np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in (X, Y)]
        assert call(record) == pytest.approx(sim.procrustes_similarity(*padded, **record["parameters"]), rel=1e-9)
        assert 0 <= call(record) <= 1
    else:
        assert call(record) == near(record)


def test_every_documented_function_has_a_recorded_value():
    assert {record["measure"].removeprefix("shesha.sim.") for record in PLAIN} == set(sim.__all__)
    assert any(record["parameters"] == {"center": False, "scale": True} for record in PLAIN)
    assert any(record["parameters"] == {"center": True, "scale": False} for record in PLAIN)


def test_independent_data_have_a_debiased_cka_near_zero():
    found = []
    for draw in range(6):
        rng = np.random.default_rng(draw)
        X, Y = rng.standard_normal((300, 40)), rng.standard_normal((300, 60))
        found.append(sim.cka_debiased(X, Y))
        assert abs(found[-1]) < 0.05
        assert sim.cka(X, Y, debiased=True) == sim.cka(X, Y, True) == found[-1]
        # The biased one is far from zero here, which is why both exist.
        assert sim.cka(X, Y) == sim.cka_linear(X, Y) > 0.1
    assert min(found) < 0 < max(found)


@pytest.mark.parametrize("name", sim.__all__)
def test_equal_geometries_are_entirely_similar(name, rng):
    X = rng.standard_normal((40, 6))
    assert getattr(sim, name)(X, 3 * X[:, ::-1]) == pytest.approx(1)


def test_what_the_data_cannot_give_is_nan_with_a_reason(rng):
    X, flat = rng.standard_normal((20, 4)), np.ones((20, 4))
    for function in (sim.cka, sim.cka_linear, sim.cka_debiased, sim.procrustes_similarity):
        with pytest.warns(shesha.NotEstimableWarning, match="not estimable: all rows are equal"):
            assert np.isnan(function(X, flat))


def test_documented_options_may_be_given_by_position(rng):
    X, Y = rng.standard_normal((2, 20, 4)) + 1
    found = [sim.procrustes_similarity(X, Y, center, scale) for center in (True, False) for scale in (True, False)]
    assert found == [
        measures.procrustes_similarity(X, Y, center=center, scale=scale)
        for center in (True, False)
        for scale in (True, False)
    ]
    assert len(set(found)) == 4
    assert sim.procrustes_similarity(X, Y) == found[0]


def test_the_warning_is_told_where_the_function_was_called(rng):
    X, flat = rng.standard_normal((20, 4)), np.ones((20, 4))
    for function in (sim.cka, sim.procrustes_similarity):
        with pytest.warns(shesha.NotEstimableWarning) as told:
            function(X, flat)
        assert [one.filename for one in told] == [__file__]
