"""Warnings about rows that depend on one another, and about covariates whose effect is left."""

import warnings

import numpy as np
import pytest

from shesha import CalibrationWarning
from shesha.calibration import single_pair
from shesha.calibration.single_pair import _warn_of_covariates, warn_of_dependence
from shesha.views import Covariates, Rdm, Representation


def sides(*rows):
    return [Representation.build(one, name) for one, name in zip(rows, ("X", "Y"), strict=True)]


@pytest.fixture
def walks():
    """Two unrelated random walks: consecutive rows are close."""
    return np.random.default_rng(0).standard_normal((2, 200, 6)).cumsum(axis=1)


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_rows_that_depend_on_their_neighbours_are_warned_of(walks):
    with pytest.warns(CalibrationWarning, match="permuting all rows may give too many false positives: "):
        found = warn_of_dependence(sides(*walks), {}, None)
    assert found.is_dependent


def test_independent_rows_are_not():
    rows = np.random.default_rng(1).standard_normal((2, 200, 6))
    found = quiet(lambda: warn_of_dependence(sides(*rows), {}, None))
    assert not found.is_dependent


def test_given_permutations_and_distances_say_nothing_of_the_order(walks):
    assert quiet(lambda: warn_of_dependence(sides(*walks), {}, np.arange(200)[None])) is None
    between = np.abs(np.subtract.outer(walks[1][:, 0], walks[1][:, 0]))
    assert quiet(lambda: warn_of_dependence(sides(walks[0], Rdm(between)), {}, None)) is None


def test_a_declared_design_leaves_nothing_to_be_found(walks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert warn_of_dependence(sides(*walks), {"shift": True}, None) is None


@pytest.fixture
def met(monkeypatch):
    """Keep what the tests of neighbours and of unrelated data are given, and decide what they answer."""
    kept = {"neighbours": [], "answer": 1.0, "rate": 0.0}

    def p_value(design, *rows):
        kept["neighbours"].append((design.n_rows, rows))
        return kept["answer"]

    def rate(quantity, block, *rows, **options):
        kept["options"] = options
        return kept["rate"]

    monkeypatch.setattr(single_pair, "p_value_within_design", p_value)
    monkeypatch.setattr(single_pair, "false_positive_rate", rate)
    return kept


def in_order(n, columns=1):
    rng = np.random.default_rng(2)
    quantities = {f"q{k}": rng.permutation(n).astype(float) for k in range(columns)}
    return Covariates.build(quantities, n), quantities


def test_all_rows_are_tested_in_the_order_of_the_covariate(met):
    covariates, quantities = in_order(300)
    _warn_of_covariates([quantities["q0"][:, None]] * 2, covariates, {})
    [(n, rows)] = met["neighbours"]
    assert n == 300
    assert all(one[:, 0].tolist() == list(range(300)) for one in rows)


def test_of_many_rows_some_are_tested_from_the_first_to_the_last(met):
    covariates, quantities = in_order(5000)
    _warn_of_covariates([quantities["q0"][:, None]] * 2, covariates, {})
    [(n, rows)] = met["neighbours"]
    tested = rows[0][:, 0]
    assert n == len(tested) == 4096
    assert (tested[0], tested[-1]) == (0, 4999)
    assert set(np.diff(tested)) == {1, 2}


def test_close_neighbours_or_false_positives_are_warned_of(met):
    covariates, quantities = in_order(100)
    rows = [quantities["q0"][:, None]] * 2
    met["rate"] = 0.09
    quiet(lambda: _warn_of_covariates(rows, covariates, {}))
    met["rate"] = 0.1
    with pytest.warns(
        CalibrationWarning,
        match=r"depend on covariates\['q0'\] .* \(about 10 % of unrelated data would be called related",
    ):
        _warn_of_covariates(rows, covariates, {})
    met["rate"], met["answer"] = 0.0, 0.001
    with pytest.warns(
        CalibrationWarning,
        match=r"depend on covariates\['q0'\] .* \(rows with similar values have similar features, p = 0\.001\)",
    ):
        _warn_of_covariates(rows, covariates, {})
    assert met["options"]["n_terms"] > covariates.n_taken


def test_several_covariates_are_tested_by_their_neighbours_alone(met):
    covariates, quantities = in_order(100, columns=2)
    met["rate"] = 0.9
    quiet(lambda: _warn_of_covariates([quantities["q0"][:, None]] * 2, covariates, {}))
    assert len(met["neighbours"]) == 2


def test_the_memory_of_a_shifted_series_is_no_effect_of_its_drift():
    """Before the null was that of shifts, three of four such series were warned of; false positives are 8 %."""
    n_warned, n, time = 0, 150, np.linspace(-1, 1, 150)
    covariates = Covariates.build(time, n)
    for run in range(24):
        rng, rows = np.random.default_rng([20, run]), []
        for _ in range(2):
            noise = rng.standard_normal((n, 8))
            for step in range(1, n):
                noise[step] += 0.4 * noise[step - 1]
            rows.append(noise + 1.5 * np.outer(time, rng.standard_normal(8)))
        known = covariates.fit(*rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _warn_of_covariates([known.residuals(side) for side in rows], known, {"shift": True})
        n_warned += bool(caught)
    assert n_warned <= 9
