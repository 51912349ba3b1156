"""Single cells of studies: what is drawn and normalised is what is said."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shesha_studies.biology import _single_cell_data
from shesha_studies.biology._crispr_page import published_numbers
from shesha_studies.biology._crispr_rows import Results
from shesha_studies.biology.crispr import crispr
from shesha_studies.external_data import PUBLISHED
from shesha_studies.framework.checks import Found
from shesha_studies.framework.published_checks import against, judge_line, split_numbers_and_claims
from shesha_studies.framework.rules_file import read_rules
from shesha_studies.printed_p_values import printed_p_values

HERE = Path(os.environ.get("SHESHA_DATA", "data")) / "papalexi2021"
needs_data = pytest.mark.skipif(not HERE.exists(), reason=f"papalexi2021 is not at hand (looked for in {HERE})")


@needs_data
def test_components_are_those_of_the_file():
    # Two computations of the same principal components: ours by the covariance of genes, the file's by an exact SVD.
    ours, given = _single_cell_data.components(50), _single_cell_data.papalexi().obsm["X_pca"]
    np.testing.assert_allclose(np.abs(ours), np.abs(given), atol=1e-5)


@needs_data
def test_targets_and_types_of_the_grids_are_those_of_the_files():
    found = set(_single_cell_data.papalexi().obs["target"])
    assert found == {*_single_cell_data.TARGETS, _single_cell_data.CONTROL}
    assert set(_single_cell_data.kang().obs["cell_type"]) == set(_single_cell_data.TYPES)


def test_labels_are_shuffled_within_groups_only():
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(2, size=60), rng.integers(3, size=60)
    found = _single_cell_data.shuffled_within(labels, groups, rng)
    assert (found != labels).any()
    for group in range(3):
        assert sorted(found[groups == group]) == sorted(labels[groups == group])


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [("<1e-18", 1e-19, "agrees"), ("<1e-18", 1e-17, "differs"), ("0.02", 0.05, "agrees"), ("0.02", 0.07, "differs")],
)
def test_p_values_agree_below_a_bound_or_within_a_factor_of_three(published, ours, verdict):
    line = {"where": "P", "what": "p", "published": published}
    assert judge_line(line, Found(ours, why="why", p_value=True)).verdict == verdict


def test_every_published_number_is_judged_even_of_no_rows():
    published, _ = split_numbers_and_claims(pd.read_csv(PUBLISHED / "crispr.csv", comment="#"))
    rows = pd.DataFrame(columns=["part", "data", "setting", "n", "coherence", "magnitude", "magnitude_rho"])
    answers = published_numbers(Results(rows)) | printed_p_values(published)
    checks = against(published, answers, read_rules(crispr)["missing"])
    assert len(checks) == len(published)
    for table in range(59, 75):
        assert any(one.where == f"Geometric Stability, Table {table}" for one in checks), table
    # Tables of single lines: a line of Table 65 has three numbers, each group of Table 73 six.
    assert sum(one.where.endswith("Table 65") for one in checks) == 14
    assert sum(one.where.endswith("Table 73") for one in checks) == 24
