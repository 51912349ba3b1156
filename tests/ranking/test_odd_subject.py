"""A subject whose rows are in another order than those of the other subjects is named."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import shesha
from shesha.nulls.design_warnings import warn_of_dependent_repeats
from shesha.support.provenance import collect_statements


def subjects(seed, n, noise, spread=0.0):
    """Features of subjects with the same distances between 30 conditions, and a generator."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((30, 8))
    sizes = noise * np.exp(spread * rng.standard_normal(n))
    return [truth @ rng.standard_normal((8, 40)) + size * rng.standard_normal((30, 40)) for size in sizes], rng


def named(repeats, **options):
    with collect_statements() as said:
        warn_of_dependent_repeats(repeats, "", "subject", **options)
    return [text for text in said if "another order" in text]


FORMS = {"features": lambda sides: sides, "distances": lambda sides: [pdist(side) for side in sides]}


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "noise", "fewest"), [(4, 1, 7), (6, 2, 6), (20, 1, 7)])
def test_a_permuted_subject_is_found(form, n, noise, fewest):
    found = 0
    for seed in range(8):
        sides, rng = subjects(seed, n, noise)
        sides[1] = sides[1][rng.permutation(30)]
        found += any("subject 1 (counted from 0) do not agree" in text for text in named(FORMS[form](sides)))
    assert found >= fewest


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("noise", "spread"), [(2, 0), (6, 0), (4, 0.3), (2, 0.6)])
def test_noisy_subjects_are_not_called_permuted(form, noise, spread):
    """In 20 data sets of 5 to 20 subjects, of which some may be much noisier than others."""
    found = [named(FORMS[form](subjects(seed, 5 + seed % 16, noise, spread)[0])) for seed in range(20)]
    assert sum(map(bool, found)) <= 1


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
def test_unrelated_subjects_and_few_rows_are_not_named():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert not named(list(rng.standard_normal((8, 30, 40))))
        sides, _ = subjects(seed, 6, 1)
        sides[1] = sides[1][rng.permutation(30)]
        assert not named([side[:10] for side in sides])
        assert not named(sides[:3])


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
def test_of_many_rows_some_are_compared():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((400, 6))
    sides = [truth @ rng.standard_normal((6, 20)) + rng.standard_normal((400, 20)) for _ in range(5)]
    sides[4] = sides[4][rng.permutation(400)]
    for form in FORMS.values():
        assert "subject 4" in named(form(sides))[0]


def test_rankings_and_ceilings_name_the_subject():
    sides, rng = subjects(0, 6, 2)
    sides[3] = sides[3][rng.permutation(30)]
    data = {f"sub-{k:02d}": side for k, side in enumerate(sides, 1)}
    models = {"a": rng.standard_normal((30, 5)), "b": rng.standard_normal((30, 5))}
    expected = "the distances of sub-04 do not agree with those of the other subjects (correlation with their mean"
    found = shesha.rank_models(data, models, n_resamples=20, n_permutations=19)
    assert any(expected in text for text in found.inputs)
    expected = expected.replace("sub-04", "repeat 3 (counted from 0)").replace("subjects", "repeats")
    assert any(expected in text for text in shesha.noise_ceiling(sides, "RSA").inputs)
    squares = [shesha.Rdm(squareform(pdist(side))) for side in sides]
    assert any(expected in text for text in shesha.noise_ceiling(squares, "RSA").inputs)


def test_copies_are_named():
    sides, rng = subjects(0, 6, 2)
    sides[4] = sides[1].copy()
    models = {"a": rng.standard_normal((30, 5)), "b": rng.standard_normal((30, 5))}
    for data, named in (({f"sub-{k:02d}": side for k, side in enumerate(sides, 1)}, "sub-{:02d}"), (sides, "data[{}]")):
        first, copy = (named.format(k + ("sub" in named)) for k in (1, 4))
        with pytest.warns(shesha.CalibrationWarning, match=re.escape(f"of 6 subjects, {copy} is a copy of {first}")):
            shesha.rank_models(data, models, n_resamples=20, n_permutations=19)


@pytest.mark.parametrize(("fault", "named"), [("mean", True), ("mean of other rows", False), ("", False)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_mean_of_subjects_among_them_is_named(fault, named):
    sides, rng = subjects(0, 6, 2)
    data = {f"sub-{k:02d}": side.astype(np.float32) for k, side in enumerate(sides, 1)}
    mean = np.mean(list(data.values()), axis=0)
    if fault:
        data["average"] = mean if fault == "mean" else mean[::-1]
    models = {"a": rng.standard_normal((30, 5)), "b": rng.standard_normal((30, 5))}
    found = shesha.rank_models(data, models, n_resamples=20, n_permutations=19)
    assert any("average is a combination of the others" in text for text in found.inputs) == named
    # Subjects whose mean was subtracted sum to zero, and none of them is the mean.
    centred = {name: side - mean for name, side in list(data.items())[:6]}
    found = shesha.rank_models(centred, models, n_resamples=20, n_permutations=19)
    assert not any("combination" in text for text in found.inputs)
