"""Repeated measurements: ceilings are the textbook's, and noise is taken off where that can be done."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr, zscore

import shesha.measures as measures
from shesha import CalibrationWarning, NotEstimableWarning, Rdm, compare, neuro, noise_ceiling, rank_models

N = 20
DRAW = np.random.default_rng(5)
TRUTH = DRAW.standard_normal((N, 6))
REPEATS = TRUTH + 0.8 * DRAW.standard_normal((4, N, 6))
Y = TRUTH @ DRAW.standard_normal((6, 5)) + DRAW.standard_normal((N, 5))
OTHERS = [[j for j in range(4) if j != k] for k in range(4)]


def textbook(pieces, pool, similarity):
    """Nili et al. 2014: each with the mean of the others, and with the mean of all."""
    lower = [similarity(pieces[k], pool([pieces[j] for j in OTHERS[k]])) for k in range(4)]
    upper = [similarity(piece, pool(pieces)) for piece in pieces]
    pairs = [similarity(pieces[i], pieces[j]) for i in range(4) for j in range(i)]
    return np.mean(lower), np.mean(upper), np.mean(pairs)


def holds(measure, expected, repeats=REPEATS):
    found = noise_ceiling(repeats, measure)
    assert (found.lower, found.upper, found.reliability) == pytest.approx(expected, rel=1e-10)
    assert np.mean(found.left_out) == pytest.approx(found.lower)
    assert np.mean(found.included) == pytest.approx(found.upper)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_rsa_by_ranks(metric):
    """Ranks are averaged, and the average is ranked again where it is correlated."""
    rdms = [pdist(one, metric) for one in REPEATS]
    expected = textbook(
        rdms,
        lambda some: np.mean([rankdata(one) for one in some], axis=0),
        lambda a, b: spearmanr(a, b).statistic,
    )
    holds(f"RSA(metric={metric})", expected)
    holds("RSA", expected, [Rdm(squareform(one)) for one in rdms])


def test_rsa_by_distances():
    rdms = [pdist(one) for one in REPEATS]
    expected = textbook(
        rdms, lambda some: np.mean([zscore(one) for one in some], axis=0), lambda a, b: np.corrcoef(a, b)[0, 1]
    )
    holds("RSA(metric=euclidean, method=pearson)", expected)
    lower, upper, pairs = expected
    holds("RDM drift(metric=euclidean, method=pearson)", (1 - lower, 1 - upper, 1 - pairs))


def centred_kernel(X, unbiased):
    K = X @ X.T
    if not unbiased:
        H = np.eye(N) - 1 / N
        return H @ K @ H
    np.fill_diagonal(K, 0)
    sums = K.sum(axis=0)
    K = K - (sums + sums[:, None]) / (N - 2) + sums.sum() / ((N - 1) * (N - 2))
    np.fill_diagonal(K, 0)
    return K


@pytest.mark.parametrize("width", [3, 6, 30])
@pytest.mark.parametrize("name", ["CKA", "unbiased CKA"])
def test_kernels_are_averaged(rng, name, width):
    repeats = rng.standard_normal((N, width)) + rng.standard_normal((4, N, width))
    kernels = [centred_kernel(one, name != "CKA") for one in repeats]
    kernels = [one / np.linalg.norm(one) for one in kernels]
    expected = textbook(
        kernels, lambda some: np.mean(some, axis=0), lambda a, b: (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)
    )
    holds(name, expected, repeats)


@pytest.mark.parametrize("name", ["Procrustes similarity", "HardCorr", "Jaccard", "PermProc", "CCA", "MMD"])
def test_features_are_averaged_for_other_measures(name):
    function = measures.get(name).score
    holds(name, textbook(list(REPEATS), lambda some: np.mean(some, axis=0), function))


def test_distances_are_averaged_for_rsmdiff_and_neighbours():
    rdms = [squareform(pdist(one)) for one in REPEATS]

    def average(some):
        return np.mean(some, axis=0)

    def of(name):
        return lambda a, b: measures.get(name).score(Rdm(a), Rdm(b))

    holds("RSMDiff", textbook(rdms, average, of("RSMDiff")))
    holds("Jaccard(k=3)", textbook(rdms, average, of("Jaccard(k=3)")), [Rdm(one) for one in rdms])


def test_functions_of_ones_own_and_both_orders():
    def linear(A, B):
        return float(measures.linear_regression(A, B))

    expected = noise_ceiling(REPEATS, "LinReg")
    found = noise_ceiling(REPEATS, linear)
    assert (found.lower, found.upper, found.reliability) == pytest.approx(
        (expected.lower, expected.upper, expected.reliability)
    )
    both = [measures.linear_regression(REPEATS[i], REPEATS[j]) for i in range(4) for j in OTHERS[i]]
    assert expected.reliability == pytest.approx(np.mean(both))


def test_subjects_may_have_different_features():
    subjects = [one[:, : 3 + k] for k, one in enumerate(REPEATS)]
    assert noise_ceiling(subjects, "RSA").lower < noise_ceiling(subjects, "RSA").upper
    with pytest.warns(NotEstimableWarning, match="repeats of different widths cannot be averaged"):
        found = noise_ceiling(subjects, "CCA")
    assert np.isnan(found.lower) and not found.has_value
    assert str(found) == f"CCA: no noise ceiling ({found.reason})"


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_repeats_are_matched_by_the_names_of_their_rows():
    tables = [pd.DataFrame(one, [f"image {row}" for row in range(N)]) for one in REPEATS]
    shuffled = [table.sample(frac=1, random_state=k) for k, table in enumerate(tables)]
    expected = noise_ceiling(REPEATS, "RSA")
    found = noise_ceiling(shuffled, "RSA")
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper))
    assert found.inputs == ("rows matched by name, in another order in repeats[1], repeats[2], repeats[3]",)
    mean = pd.DataFrame(REPEATS.mean(axis=0), tables[0].index)
    score = compare(mean, Y, "RSA", repeats=(shuffled, None))["RSA"]
    assert score.over_repeats == pytest.approx(np.mean([measures.get("RSA").score(one, Y) for one in REPEATS]))
    with pytest.raises(ValueError, match=r"rows of repeats\[1\] must have the same names as those of repeats\[0\]"):
        noise_ceiling([tables[0], tables[1].rename(lambda name: name[::-1])])


def test_a_comparison_stands_beside_its_repeats():
    found = compare(REPEATS.mean(axis=0), Y, ["unbiased CKA", "RSA", "PermProc", "LinReg"], repeats=(REPEATS, None))
    for name in ("unbiased CKA", "RSA"):
        score, alone = found[name], noise_ceiling(REPEATS, name)
        assert score.over_repeats == pytest.approx(np.mean([measures.get(name).score(one, Y) for one in REPEATS]))
        assert (score.ceiling_lower, score.ceiling_upper) == pytest.approx((alone.lower, alone.upper))
        assert score.reliability_first == pytest.approx(alone.reliability) and np.isnan(score.reliability_second)
        assert score.disattenuated == pytest.approx(score.over_repeats / np.sqrt(alone.reliability))
    assert found["PermProc"].ceiling_lower > found["PermProc"].ceiling_upper and np.isnan(
        found["PermProc"].disattenuated
    )
    assert "not corrected for noise: the correction needs a measure whose maximum of 1" in found["PermProc"].notes[0]
    assert {"over_repeats", "ceiling_lower", "ceiling_upper", "disattenuated"} <= set(found.to_frame(full=True).columns)
    text = str(found)
    assert "Compared with repeats" in text and f"{found['RSA'].disattenuated:.3f}" in text


def test_both_sides_may_be_noisy(rng):
    other = Y + rng.standard_normal((3, N, 5))
    found = compare(TRUTH, Y, ["unbiased CKA", "LinReg", "PermProc"], repeats=(REPEATS, other))
    first, second = noise_ceiling(REPEATS, "unbiased CKA"), noise_ceiling(other, "unbiased CKA")
    score = found["unbiased CKA"]
    assert score.ceiling_upper == pytest.approx(first.upper * second.upper)
    assert score.over_repeats == pytest.approx(np.mean([measures.unbiased_cka(a, b) for a in REPEATS for b in other]))
    expected = score.over_repeats / np.sqrt(first.reliability * second.reliability)
    assert score.disattenuated == pytest.approx(expected)
    # As the second argument repeats are what a mean of them predicts from.
    means = [measures.linear_regression(other.mean(axis=0), one) for one in other]
    assert found["LinReg"].ceiling_upper == pytest.approx(noise_ceiling(REPEATS, "LinReg").upper * np.mean(means))
    assert not found["PermProc"].has_ceiling and found["PermProc"].over_repeats > 0


def test_correction_gives_what_there_is_without_noise(rng):
    """Unbiased CKA of the truth is 0.67 here; single repeats give half of it."""
    n, gaps, raw = 150, [], []
    for _ in range(6):
        X = rng.standard_normal((n, 6))
        Z = X @ rng.standard_normal((6, 8)) + rng.standard_normal((n, 8))
        repeats = X + rng.standard_normal((4, n, 6))
        found = compare(repeats[0], Z, "unbiased CKA", repeats=(repeats, None))["unbiased CKA"]
        truth = measures.unbiased_cka(X, Z)
        gaps.append(found.disattenuated - truth)
        raw.append(found.over_repeats - truth)
        assert found.ceiling_lower < np.mean([measures.unbiased_cka(one, X) for one in repeats]) < found.ceiling_upper
    assert abs(np.mean(gaps)) < 0.03 < 0.2 < -np.mean(raw)


def test_no_correction_where_repeats_agree_no_more_than_chance():
    noise = np.random.default_rng(3).standard_normal((3, N, 5))
    found = compare(noise[0], Y, "unbiased CKA", repeats=(noise, None))["unbiased CKA"]
    assert found.reliability_first <= 0 and np.isnan(found.disattenuated) and found.has_ceiling
    assert found.notes == ("not corrected for noise: the reliability of the repeats is not positive",)


def test_a_measure_without_a_ceiling_keeps_its_value(monkeypatch):
    constant = [*REPEATS[:2], np.ones((N, 6))]
    found = compare(TRUTH, Y, ["CKA", "MagDiff"], repeats=(constant, None))
    assert found["CKA"].value == measures.cka(TRUTH, Y)
    assert found["CKA"].notes == ("no noise ceiling: all rows are equal",) and found["MagDiff"].has_ceiling
    monkeypatch.setenv("SHESHA_MEMORY", "50kB")
    found = compare(TRUTH, Y, "RSA", repeats=(np.random.default_rng(0).standard_normal((80, N, 6)), None))["RSA"]
    assert re.match("no noise ceiling: needs .* of a memory budget of", found.notes[0])


def ranked(repeats):
    return rank_models(list(repeats), {"a": TRUTH, "b": Y}, n_permutations=19, seed=0)


@pytest.mark.parametrize("ceiling", [noise_ceiling, neuro.noise_ceiling, ranked])
def test_repeats_that_are_no_independent_measurements_are_warned_of(ceiling):
    rng = np.random.default_rng(0)
    repeats = TRUTH + rng.standard_normal((14, N, 6))
    drifting = TRUTH + rng.standard_normal((14, N, 6)).cumsum(axis=0)
    if ceiling is neuro.noise_ceiling:
        repeats, drifting = (np.array([pdist(X) for X in each]) for each in (repeats, drifting))
    ceiling(repeats)
    copies = "(counted from 0), 3 is a copy of 2, 5 is a copy of 1"
    if ceiling is ranked:
        copies = "of 6 subjects, data[3] is a copy of data[2], data[5] is a copy of data[1]"
    with pytest.warns(CalibrationWarning, match=f"too high.*{re.escape(copies)}"):
        found = ceiling(repeats[[0, 1, 2, 2, 3, 1]])
    assert copies in " ".join(found.sentence().split())
    with pytest.warns(CalibrationWarning, match=r"neighbouring (repeats|subjects) are closer than random ones"):
        ceiling(drifting)


def test_rows_that_drift_in_all_repeats_are_warned_of():
    walks = np.random.default_rng(0).standard_normal((3, 60, 4)).cumsum(axis=1)
    with pytest.warns(CalibrationWarning, match="in all repeats, consecutive rows are closer than random rows"):
        noise_ceiling(walks)


BAD = {
    "no pair": (
        REPEATS,
        TypeError,
        "repeats must be a pair, the repeats of the first and of the second .*, got a ndarray",
    ),
    "one": ((REPEATS[:1], None), ValueError, "repeats of X must contain at least 2 repeats, got 1"),
    "rows": ((REPEATS[:, 1:], None), ValueError, r"repeats of X\[0\] must have 20 rows, got 19"),
    "axes": (([REPEATS, REPEATS], None), ValueError, r"repeats of X\[0\] must be 2-D .*, got shape \(4, 20, 6\)"),
    "finite": ((None, [Y, np.full_like(Y, np.nan)]), ValueError, r"repeats of Y\[1\] must be finite"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_are_no_repeats_is_refused(kind):
    given, error, message = BAD[kind]
    with pytest.raises(error, match=message):
        compare(TRUTH, Y, "CKA", repeats=given)
