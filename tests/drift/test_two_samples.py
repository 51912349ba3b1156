"""Two-sample tests: statistics against their definitions, rates under no change, changes found."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom

from shesha.drift import two_sample, two_sample_tests
from shesha.drift.two_sample_tests import _DIRECTIONS, TESTS
from shesha.measures import mmd
from shesha.measures.distributions import _wasserstein

each_test = pytest.mark.parametrize("test", TESTS)


def test_energy_is_its_definition(rng):
    X, Y = rng.standard_normal((15, 3)), rng.standard_normal((11, 3)) + 0.4
    expected = 2 * cdist(X, Y).mean() - cdist(X, X).mean() - cdist(Y, Y).mean()
    assert two_sample(X, Y, test="energy").value == pytest.approx(expected)


def test_mmd_is_the_measure(rng):
    X, Y = rng.standard_normal((15, 3)), rng.standard_normal((11, 3)) + 0.4
    assert two_sample(X, Y, test="mmd").value == pytest.approx(mmd(X, Y))


def test_sliced_wasserstein_is_the_mean_over_directions(rng):
    X, Y = rng.standard_normal((15, 3)), rng.standard_normal((11, 3)) + 0.4
    directions = np.random.default_rng(7).standard_normal((_DIRECTIONS, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    expected = np.mean([_wasserstein(np.sort(X @ one), np.sort(Y @ one)) for one in directions])
    assert two_sample(X, Y, test="sliced wasserstein", seed=7).value == pytest.approx(expected)


def test_the_classifier_is_a_ridge_on_four_folds_scored_on_the_fifth(rng):
    X, Y = rng.standard_normal((15, 3)), rng.standard_normal((11, 3)) + 0.8
    found = two_sample(X, Y, test="c2st", seed=7).value
    rows, new = np.concatenate([X, Y]), np.repeat([0.0, 1.0], [15, 11])
    folds = np.random.default_rng(7).permutation(26) % 5
    rows -= rows.mean(axis=0)
    rows /= np.sqrt((rows**2).sum() / 26)
    said = np.empty(26)
    for fold in range(5):
        out, kept = folds == fold, folds != fold
        kernel = rows[kept] @ rows[kept].T + np.eye(kept.sum()) * (rows**2).sum() / 26
        smooth = np.linalg.solve(kernel, rows[kept] @ rows[out].T).T
        said[out] = (smooth - smooth.mean(axis=1, keepdims=True)) @ new[kept]
    area = np.mean([[(a > b) + 0.5 * (a == b) for b in said[:15]] for a in said[15:]])
    assert found == pytest.approx(area)


@each_test
def test_equal_samples_differ_as_often_as_stated(test):
    n, level, found = 100, 0.2, 0
    for seed in range(n):
        rng = np.random.default_rng([9, seed])
        X, Y = rng.standard_normal((14, 2)), rng.standard_normal((9, 2))
        found += two_sample(X, Y, test=test, n_permutations=19, alpha=level, seed=seed).significant
    assert binom.ppf(0.0005, n, level) <= found <= binom.ppf(0.9995, n, level)


@each_test
def test_a_shift_is_found(test, rng):
    X, Y = rng.standard_normal((60, 4)), rng.standard_normal((40, 4)) + 1
    found = two_sample(X, Y, test=test)
    assert found.p_value == 0.005
    assert found.value > found.threshold > found.chance
    assert len(found.null) == 199
    assert "differ" in str(found)


@pytest.mark.parametrize("test", ["energy", "mmd", "c2st"])
def test_moving_and_turning_both_samples_changes_nothing(test, rng):
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 3)) + 0.5
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    there, here = (two_sample(a, b, test=test) for a, b in ((X, Y), (5 * X @ turn + 2, 5 * Y @ turn + 2)))
    assert here.p_value == there.p_value


@each_test
def test_equal_rows_differ_by_nothing(test):
    found = two_sample(np.ones((6, 2)), np.ones((5, 2)), test=test)
    assert not found.significant
    if test in ("mmd", "c2st"):
        assert found.reason == "all rows are equal"
        assert str(found).startswith(f"{test}: not estimable (all rows are equal)")


def test_too_few_permutations_for_several_tests_decide_nothing():
    X, Y = np.random.default_rng(0).standard_normal((2, 40, 4)) + np.array([0.0, 5.0])[:, None, None]
    few = two_sample_tests(X, Y, n_permutations=19, seed=0)
    assert "cannot be decided with 19 permutations" in few.headline
    assert two_sample_tests(X, Y, n_permutations=99, seed=0).headline.startswith("The two samples differ")


def test_random_rows_are_compared_if_the_distances_of_all_rows_exceed_the_memory(rng, monkeypatch, tmp_path):
    np.save(tmp_path / "x.npy", rng.standard_normal((400, 3)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    other = rng.standard_normal((500, 3)) + 1
    monkeypatch.setenv("SHESHA_MEMORY", "4M")
    monkeypatch.setattr(import_module("shesha.drift.two_sample_tests"), "_MOST_ROWS", 60)
    found = two_sample_tests(mapped, other, tests=["energy"], n_permutations=99)
    assert (found.n_reference, found.n_window) == (60, 60)
    assert [each.name for each in found.significant] == ["energy"]
    assert set(found.inputs) == {
        "60 random rows of 400 in the reference",
        "60 random rows of 500 in the window",
    }
    p_values = [
        two_sample(mapped, rng.standard_normal((500, 3)), n_permutations=19, seed=seed).p_value for seed in range(40)
    ]
    # The null distribution of a rate of 5 %: 8 or more of 40 have a probability of 0.001.
    assert sum(p <= 0.05 for p in p_values) < 8


@pytest.mark.parametrize("pattern", ["report-{}.pdf_p{}", "{} | {}", "doc{}#{}"])
def test_shuffled_parts_of_documents_are_no_independent_rows(pattern):
    """The order of the rows tells nothing, and all blocks of twelve rows of sorted names are whole documents."""
    rng = np.random.default_rng(0)
    sides = []
    for start, n in ((0, 25), (500, 20)):
        document = rng.permutation(np.repeat(np.arange(n), 12))
        rows = 2 * rng.standard_normal((n, 6))[document] + rng.standard_normal((12 * n, 6))
        names = [pattern.format(start + one, row) for row, one in enumerate(document)]
        sides.append(pd.DataFrame(rows, index=names))
    found = two_sample_tests(*sides, n_permutations=199)
    assert found.significant and "cannot be decided" in found.headline, found.headline
    alone = [side.set_axis([f"row {row}" for row in rng.permutation(len(side))]) for side in sides]
    alone[1].index += " b"
    assert "cannot be decided" not in two_sample_tests(*alone, n_permutations=199).headline


DONORS = [np.repeat(["D0", "D1", "D2", "D3"], 20), np.repeat(["D4", "D5", "D6", "D7"], 20)]
PARTS = np.array([f"d{i:02}" for i in range(32)])
UNITS = {
    "other donors": ("donor_id", DONORS, 1.0, 0.0, "rows of the reference with one donor_id resemble one another"),
    "the same donors": ("donor_id", [DONORS[0]] * 2, 1.0, 0.0, ""),
    "the same donors, shifted": ("donor_id", [DONORS[0]] * 2, 1.0, 2.0, ""),
    "donors without an effect": ("donor_id", DONORS, 0.0, 2.0, ""),
    "one donor each": ("donor_id", [["D0"] * 80, ["D1"] * 80], 1.0, 0.0, "D0 in all rows of the reference and D1 in"),
    "one donor": ("donor_id", [["D0"] * 80] * 2, 1.0, 2.0, ""),
    "documents": ("doc_id", [np.repeat(D, 5) for D in (PARTS[:16], PARTS[16:])], 1.0, 0.0, "with one doc_id resemble"),
    "sources": ("source", DONORS, 1.0, 0.0, "the samples differ in their shares of source"),
    "clusters": ("leiden", DONORS, 1.0, 0.0, ""),
    "classes": ("cell_type", [DONORS[0], DONORS[0][50:].repeat(3)[:80]], 2.0, 0.0, "most in D3: 25% and 62%"),
}


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("as_anndata", [False, True])
@pytest.mark.parametrize("name", UNITS)
def test_rows_of_one_donor_are_not_independent(name, as_anndata):
    column, values, effect, shift, expected = UNITS[name]
    rng = np.random.default_rng(3)
    means = dict(zip([*np.unique(DONORS), *PARTS], rng.standard_normal((40, 6)) * effect, strict=True))
    sides = []
    for i, of_side in enumerate(values):
        rows = rng.standard_normal((80, 6)) + np.array([means[one] for one in of_side]) + i * shift
        mixed = rng.permutation(80)
        obs = pd.DataFrame({column: np.array(of_side)[mixed]}, index=[f"s{i} {j}" for j in range(80)])
        if as_anndata:
            sides.append(pytest.importorskip("anndata").AnnData(rows[mixed], obs=obs))
        else:
            sides.append(pd.DataFrame(rows[mixed], columns=[f"dim_{j}" for j in range(6)], index=obs.index).join(obs))
    found = two_sample_tests(*sides, tests=["energy"], n_permutations=39)
    said = f"{found.headline} {' '.join(found.inputs)}"
    if expected:
        assert expected in said
    assert ("cannot be decided" in said) == (name in ("other donors", "documents"))
    assert found.headline.startswith("The two samples differ") == (
        name not in ("other donors", "documents", "the same donors")
    )
    assert ("in their shares" in said) == (name in ("classes", "sources"))
