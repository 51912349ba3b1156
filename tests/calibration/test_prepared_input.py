"""What is calibrated: layers in every form, and designs that follow from covariates."""

import numpy as np
import pytest

import shesha
from shesha.calibration.permutation_scores import covariate_design, require_inputs_as_rows
from shesha.comparison.layer_grid import check_layers
from shesha.measures import get
from shesha.views import Covariates, Representation


@pytest.fixture
def layers():
    return [np.random.default_rng(k).standard_normal((12, 3)) for k in range(3)]


def test_layers_of_a_sequence_have_numbers_for_names(layers):
    for form in (tuple, list, np.array, iter):
        found = check_layers(form(layers), "layers_a")
        assert list(found) == ["0", "1", "2"]
        assert all(np.array_equal(one.rows, layer) for one, layer in zip(found.values(), layers, strict=True))
    assert list(check_layers({"b": layers[0], "a": layers[1]}, "layers_a")) == ["b", "a"]


def test_covariates_say_which_rows_may_be_permuted_unless_something_else_does():
    n = 60
    covariates = Covariates.build(np.random.default_rng(0).standard_normal(n), n)
    blocks = np.repeat([0, 1], n // 2)
    for design in ({}, {"blocks": None}, {"blocks": blocks}):
        assert covariate_design(design, None, None) is design
        assert covariate_design(design, np.arange(n)[None], covariates) is design
        strata = covariate_design(design, None, covariates)
        assert strata is not design
        assert strata.n_rows == n
    for design in ({"groups": blocks}, {"shift": True}, {"blocks": blocks, "shift": True}):
        assert covariate_design(design, None, covariates) is design


def test_strata_of_covariates_stay_within_blocks():
    n = 60
    quantity, blocks = np.random.default_rng(0).standard_normal(n), np.arange(n) % 2
    strata = covariate_design({"blocks": blocks}, None, Covariates.build(quantity, n))
    order = strata.draw(np.random.default_rng(1))
    assert np.array_equal(blocks[order], blocks)
    # Rows change places with rows that are near in the covariate.
    spread = np.abs(quantity[order] - quantity).mean()
    assert 0 < spread < 0.5 * np.abs(np.subtract.outer(quantity, quantity)).mean()


def test_tokens_and_positions_are_no_inputs():
    rng = np.random.default_rng(0)
    rows, tokens, maps = (Representation.build(rng.standard_normal(s), "X") for s in ((6, 4), (6, 2, 4), (6, 4, 2, 2)))
    cka = get("CKA")
    require_inputs_as_rows(cka, rows, rows)
    with pytest.raises(ValueError, match="X and Y must have one row per input to be calibrated by CKA, got tokens"):
        require_inputs_as_rows(cka, tokens, tokens)
    if cka.view.folding == "rows":
        with pytest.raises(ValueError, match="got tokens or positions"):
            require_inputs_as_rows(cka, maps, maps)
    require_inputs_as_rows(get("RSA"), maps, maps)
    assert shesha.calibrate(rng.standard_normal((30, 3)), rng.standard_normal((30, 3)), n_permutations=19).n_draws == 19
