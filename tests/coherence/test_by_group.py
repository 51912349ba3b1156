"""Coherence by group: its numbers, its chance, its intervals, and what it refuses."""

import importlib
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import t as student_t

from shesha.coherence import (
    coherence,
    coherence_by_group,
    coherence_of_differences,
    magnitude,
    mean_cosine,
    pairwise_cosine,
    spread,
)
from shesha.coherence.controls import Pool
from shesha.coherence.group_scores import members, null_group_reference, windows
from shesha.support.warnings import CalibrationWarning


def cells(seed=0, n_controls=120, sizes=(30, 20), d=6, effect=1.5, far=50.0):
    rng = np.random.default_rng(seed)
    n = n_controls + sum(sizes)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2, d) + far
    labels = np.repeat(["control", *(f"g{i}" for i in range(len(sizes)))], [n_controls, *sizes])
    X[labels == "g0", 0] += effect
    return X, labels


def shifts_of(X, labels, name, blocks=None):
    blocks = np.zeros(len(X)) if blocks is None else blocks
    found = []
    for block in np.unique(blocks):
        here = blocks == block
        found.append(X[here & (labels == name)] - X[here & (labels == "control")].mean(axis=0))
    return np.concatenate(found)


@pytest.mark.parametrize("with_blocks", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_scores_are_those_of_the_shifts(with_blocks, form):
    X, labels = cells()
    blocks = np.random.default_rng(1).integers(3, size=len(X)) if with_blocks else None
    table = coherence_by_group(form(X), labels, "control", blocks=blocks, n_draws=0)
    for one in table.groups:
        v = shifts_of(X, labels, one.name, blocks)
        assert one.coherence == pytest.approx(mean_cosine(v), abs=1e-9)
        assert one.value == pytest.approx(pairwise_cosine(v), abs=1e-9)
        assert one.magnitude == pytest.approx(magnitude(v), abs=1e-9)
        assert one.spread == pytest.approx(spread(v), abs=1e-9)
        assert one.n_rows == len(v)
        assert one.reason == "no null groups were requested"


def test_sparse_rows_have_the_same_chance_and_intervals():
    X, labels = cells()
    dense, sparse = (coherence_by_group(form(X), labels, "control", n_draws=20) for form in (np.asarray, csr_array))
    for a, b in zip(dense.groups, sparse.groups, strict=True):
        assert [a.chance, a.coherence_chance, a.low] == pytest.approx([b.chance, b.coherence_chance, b.low])


def test_cosines_are_those_of_each_row():
    X, labels = cells()
    table = coherence_by_group(X, labels, "control", n_draws=0)
    v = shifts_of(X, labels, "g0")
    mean = v.mean(axis=0)
    expected = v @ mean / np.linalg.norm(v, axis=1) / np.linalg.norm(mean)
    assert table.cosines[labels == "g0"] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(table.cosines[labels == "control"]).all()


def test_whitened_shifts_do_not_depend_on_the_units_of_the_features():
    X, labels = cells(far=0.0)
    turned = X @ np.random.default_rng(1).normal(size=(6, 6))
    a, b = (
        coherence_by_group(one, labels, "control", method="whitened", shrinkage=0.0, n_draws=0) for one in (X, turned)
    )
    assert a["g0"].coherence == pytest.approx(b["g0"].coherence, abs=1e-9)
    assert a.shrinkage == 0.0
    assert coherence_by_group(X, labels, "control", method="whitened", n_draws=0).shrinkage > 0


def test_shrinkage_is_that_of_scikit_learn():
    from sklearn.covariance import ledoit_wolf as oracle

    from shesha.kernels.condition_distances import ledoit_wolf

    rows = np.random.default_rng(0).normal(size=(40, 9)) @ np.random.default_rng(1).normal(size=(9, 9))
    centred = rows - rows.mean(axis=0)
    assert ledoit_wolf(centred, centred.T @ centred, 9) == pytest.approx(oracle(rows)[1], abs=1e-12)


def test_matched_shifts_start_from_the_nearest_controls():
    X, labels = cells(far=0.0)
    controls, group_units = X[labels == "control"], X[labels == "g0"]
    v = np.stack(
        [one - controls[np.argsort(np.linalg.norm(controls - one, axis=1))[:7]].mean(axis=0) for one in group_units]
    )
    table = coherence_by_group(X, labels, "control", method="knn", k=7, n_draws=0)
    assert table["g0"].coherence == pytest.approx(mean_cosine(v), abs=1e-9)
    assert table["g0"].value == pytest.approx(pairwise_cosine(v), abs=1e-9)


def test_a_fake_has_no_controls_of_its_own():
    from shesha.coherence.null_groups import MatchedPool

    rows = np.random.default_rng(0).normal(size=(40, 3))
    pool = Pool(rows, np.arange(40))
    chosen = np.array([3, 5, 8, 13, 21, 34])
    others = np.setdiff1d(np.arange(40), chosen)
    expected = np.stack(
        [
            rows[i] - rows[others[np.argsort(np.linalg.norm(rows[others] - rows[i], axis=1))[:4]]].mean(axis=0)
            for i in chosen
        ]
    )
    assert MatchedPool.build(pool, 4, 6).shifts(chosen, chosen) == pytest.approx(expected, abs=1e-9)


def test_stretches_of_a_permutation_score_as_their_rows():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    pool, sizes = Pool(rows - rows.mean(axis=0), np.arange(40)), np.array([[12], [20], [15]])
    found = windows([pool], sizes, np.random.default_rng(5))
    order = np.random.default_rng(5).permutation(40)
    start = 0
    for line, (n,) in zip(found, sizes, strict=True):
        chosen = np.append(order, order)[start % 40 :][:n]
        others = np.setdiff1d(np.arange(40), chosen)
        mean = pool.rows[chosen].mean(axis=0)
        v = pool.rows[chosen] - null_group_reference(mean, pool.rows[others].mean(axis=0), n, n, 40)
        noise = v.var(axis=0, ddof=1).sum() / n + pool.rows.var(axis=0, ddof=1).sum() / 40
        expected = [mean_cosine(v), pairwise_cosine(v), magnitude(v), magnitude(v) / np.sqrt(noise)]
        assert line == pytest.approx(expected, abs=1e-12)
        assert members([pool], [chosen]) == pytest.approx(line, abs=1e-12)
        start += n


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_mean_shift_of_a_fake_varies_as_beside_all_controls(share):
    rng, n_controls, d = np.random.default_rng(0), 40, 30
    n, squares = int(share * n_controls), []
    for _ in range(400):
        rows = rng.normal(size=(n_controls, d))
        mean = rows[:n].mean(axis=0)
        squares.append(((mean - null_group_reference(mean, rows[n:].mean(axis=0), n, n, n_controls)) ** 2).mean())
    assert np.mean(squares) == pytest.approx(1 / n + 1 / n_controls, rel=0.05)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (10, {}),
        (60, {}),
        (60, {"null": "pooled"}),
        (30, {"method": "whitened"}),
        (30, {"method": "knn", "k": 10}),
        (30, {"blocks": np.arange(140) % 3}),
    ],
    ids=["few", "many", "pooled", "whitened", "knn", "blocks"],
)
def test_groups_without_an_effect_are_rarely_significant(n, options):
    blocks = options.get("blocks")
    options = options if blocks is None else {"blocks": np.arange(80 + n) % 3}
    hits = np.zeros(3)
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(80 + n, 8))
        one = coherence_by_group(
            X, np.repeat(["control", "g"], [80, n]), "control", n_draws=39, seed=seed, **options
        ).groups[0]
        hits += np.array([one.p_value, one.p_value, one.magnitude_p]) <= 0.05
    # 60 runs at 5 %: more than 8 happen in one of a thousand.
    assert (hits <= 8).all()


@pytest.mark.filterwarnings("ignore:control rows that follow")
def test_a_batch_looks_like_an_effect_without_blocks_and_not_with_them():
    rng = np.random.default_rng(0)
    batch = np.repeat([0, 1, 1], [100, 100, 30])
    labels = np.repeat(["control", "g"], [200, 30])
    X = rng.normal(size=(230, 10))
    X[batch == 1] += 1.0
    free, held = (coherence_by_group(X, labels, "control", blocks=one, n_draws=99)["g"] for one in (None, batch))
    assert free.p_value == 0.01
    assert held.p_value > 0.05


@pytest.mark.filterwarnings("ignore:control rows that follow")
def test_units_of_controls_play_whole_groups_and_every_choice_is_taken_once():
    rng = np.random.default_rng(0)
    guide = np.repeat(np.arange(8), [30, 30, 30, 30, 30, 30, 25, 25])
    X = rng.normal(size=(len(guide), 10)) + 1.5 * rng.normal(size=(8, 10))[guide]
    labels = np.where(guide < 6, "control", "g")
    table = coherence_by_group(X, labels, "control", groups=guide, n_draws=99)
    assert table.exchanged == "units of controls"
    # Two of the eight guides of controls and group, but for the real ones.
    assert table["g"].n_draws == 27
    assert table["g"].p_value > 0.06, "guides that differ at random are no effect"
    assert coherence_by_group(X, labels, "control", n_draws=99)["g"].p_value == 0.01
    # Two units have one pair, of which no spread can be estimated; three have.
    assert not table["g"].has_interval
    labels = np.where(guide < 5, "control", "g")
    wide, narrow = (coherence_by_group(X, labels, "control", groups=one, n_draws=0)["g"] for one in (guide, None))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_few_rows_of_several_guides_keep_their_level():
    guide = np.repeat(np.arange(13), [60] * 9 + [4, 3, 2, 1])
    hits = 0
    for seed in range(120):
        X = np.random.default_rng(seed).normal(size=(len(guide), 15)) * np.linspace(0.3, 2, 15)
        labels = np.where(guide < 9, "control", "g")
        found = coherence_by_group(X, labels, "control", groups=guide, n_draws=39, seed=seed)["g"]
        hits += found.p_value <= 0.05
    # 120 runs at 5 %: more than 14 happen in one of a thousand; with guides of controls alone it was 18 %.
    assert hits <= 14


def test_intervals_hold_the_mean_score():
    truth = np.mean([scored(seed)[0].value for seed in range(1000, 1150)])
    found = [scored(seed)[0] for seed in range(60)]
    assert sum(one.low <= truth <= one.high for one in found) >= 50


@pytest.mark.parametrize("n_zero", [0, 20])
def test_intervals_of_differences_are_those_of_the_jackknife(n_zero):
    """Differences of no length have no direction, and are left out."""
    v = np.vstack([np.random.default_rng(0).normal(size=(40, 5)) + 0.5, np.zeros((n_zero, 5))])
    found, n = coherence_of_differences(v, n_draws=9), len(v)
    left = np.array([pairwise_cosine(np.delete(v, i, axis=0)) for i in range(n)])
    error = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    assert (found.high - found.low) / 2 == pytest.approx(student_t.ppf(0.975, n - 1) * error, rel=0.03)


@pytest.mark.parametrize("n_units", [4, 40])
def test_intervals_have_one_degree_of_freedom_less_than_units(n_units):
    v, units = np.random.default_rng(0).normal(size=(40, 5)) + 0.5, np.arange(40) % n_units
    wide, narrow = (coherence_of_differences(v, groups=units, n_draws=9, confidence=one) for one in (0.9, 0.5))
    ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
    assert ratio == pytest.approx(student_t.ppf(0.95, n_units - 1) / student_t.ppf(0.75, n_units - 1))


def test_intervals_are_as_wide_as_the_scores_of_other_rows_differ():
    found = [scored(seed)[0] for seed in range(1000, 1150)]
    spread_of_runs = np.std([one.value for one in found])
    half = np.mean([one.high - one.low for one in found]) / 2
    assert half == pytest.approx(student_t.ppf(0.975, 24) * spread_of_runs, rel=0.25)


def scored(seed):
    X, labels = cells(seed, n_controls=60, sizes=(25,), far=0.0)
    return coherence_by_group(X, labels, "control", n_draws=0).groups


def test_magnitude_and_coherence_go_together_without_any_effect():
    X, labels = cells(sizes=(12, 20, 30, 40, 60, 80, 100), n_controls=300, effect=0.0)
    table = coherence_by_group(X, labels, "control", n_draws=99)
    plain, unbiased = table.links
    assert plain.chance > 0.8
    assert abs(unbiased.chance) < 0.6
    assert "95 % of the null correlations" in " ".join(str(table).split())


def test_differences_are_scored_beside_every_choice_of_signs():
    v = np.random.default_rng(0).normal(size=(8, 5)) + 1.0
    found = coherence_of_differences(v)
    assert found.coherence == pytest.approx(mean_cosine(v), abs=1e-12)
    assert found.n_draws == 2**7 - 1
    signs = np.array([[1 if i >> k & 1 else -1 for k in range(8)] for i in range(2**8)])
    scores = [pairwise_cosine(v * one[:, None]) for one in signs]
    assert found.p_value == pytest.approx(np.mean(np.array(scores) >= found.value - 1e-12))


def test_differences_of_a_group_turn_together():
    rng = np.random.default_rng(0)
    template = np.repeat(np.arange(6), 10)
    v = rng.normal(size=(60, 12)) + 2 * rng.normal(size=(6, 12))[template]
    with pytest.warns(CalibrationWarning, match="p-values may be too small: consecutive rows"):
        found = coherence_of_differences(v, n_draws=199)
    assert found.p_value < 0.05
    assert "warning: p-values may be too small: consecutive rows are closer" in found.sentence()
    assert coherence_of_differences(v, groups=template).p_value > 0.05


@pytest.mark.parametrize(
    ("corrected", "low", "verdict"),
    [
        (0.2, 0.1, "not above chance"),
        (0.01, -0.01, "moves together"),
        (0.01, 0.01, "moves together"),
        (0.05, 0.01, "moves together"),
        (float("nan"), 0.01, "not above chance"),
    ],
)
def test_a_verdict_follows_from_corrected_p_and_interval(corrected, low, verdict):
    X, labels = cells()
    one = coherence_by_group(X, labels, "control", n_draws=19)["g1"]
    found = replace(one, p_value=0.3, corrected_p_value=corrected, low=low)
    assert found.verdict == verdict
    assert replace(found, p_value=float("nan")).verdict == "not tested"
    at_limit = replace(found, p_value=1 / 20, corrected_p_value=0.1)
    assert at_limit.verdict == "undecided", "19 null groups allow p = 0.05, which the correction doubles"
    assert replace(found, n_draws=3, corrected_p_value=0.5).verdict == "undecided"


def test_draws_are_the_same_again_and_do_not_depend_on_threads(monkeypatch):
    X, labels = cells()
    first = coherence_by_group(X, labels, "control", n_draws=19).to_dict()
    monkeypatch.setenv("SHESHA_THREADS", "1")
    assert coherence_by_group(X, labels, "control", n_draws=19).to_dict() == first


def test_groups_nearly_as_large_as_the_controls_are_compared_with_shuffled_labels():
    X, labels = cells(n_controls=180, sizes=(28, 24))
    table, pooled = (coherence_by_group(X, labels, "control", n_draws=19, null=null) for null in ("controls", "pooled"))
    assert table["g0"].chance == pooled["g0"].chance
    assert table["g1"].chance != pooled["g1"].chance
    assert any(note.startswith("g0 has more than 15 %") for note in table.notes)


def test_two_kinds_of_controls_keep_the_level_of_a_group_as_large_as_they_are():
    hits = np.zeros(3)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        kind = rng.random(200) < 0.25
        X = rng.normal(size=(200, 10)) + 4 * kind[:, None] * (np.arange(10) < 2)
        labels = np.repeat(["control", "g"], [104, 96])
        one = coherence_by_group(X, labels, "control", n_draws=39, seed=seed)["g"]
        hits += np.array([one.p_value, one.p_value, one.magnitude_p]) <= 0.05
    # 200 runs at 5 %: more than 20 happen in one of a thousand; with fakes of controls alone it was 32.
    assert (hits <= 20).all(), hits


def test_rows_with_more_features_than_are_held_have_the_chance_of_their_span():
    """A rotation into many features changes no score, and neither the draws."""
    X, labels = cells()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2100, 6)))[0].T
    for form in (np.asarray, csr_array):
        narrow, wide = (coherence_by_group(form(one), labels, "control", n_draws=19) for one in (X, X @ turn))
        for a, b in zip(narrow.groups, wide.groups, strict=True):
            assert [b.chance, b.p_value, b.low, b.magnitude_p] == pytest.approx(
                [a.chance, a.p_value, a.low, a.magnitude_p]
            )


def test_every_choice_of_a_small_group_among_it_and_its_controls_is_scored_once():
    X = np.random.default_rng(0).normal(size=(10, 4)) + np.r_[np.zeros(6), np.ones(4)][:, None]
    labels = np.repeat(["control", "g"], [6, 4])
    found = coherence_by_group(X, labels, "control", null="pooled", n_draws=999, min_size=4)["g"]
    groups = map(list, combinations(range(10), 4))
    shifts = [X[chosen] - np.delete(X, chosen, axis=0).mean(axis=0) for chosen in groups]
    published, scores = ([score(one) for one in shifts] for score in (mean_cosine, pairwise_cosine))
    assert found.n_draws == len(scores) - 1
    assert found.value == pytest.approx(scores[-1])
    assert found.p_value == pytest.approx(np.mean(np.array(scores) >= scores[-1] - 1e-12))
    assert found.chance == pytest.approx(np.mean(scores[:-1]))
    assert found.coherence == pytest.approx(published[-1])
    assert found.coherence_chance == pytest.approx(np.mean(published[:-1]))


def test_too_few_controls_for_fakes_are_told():
    X, labels = cells(n_controls=24)
    one = coherence_by_group(X, labels, "control", n_draws=19, method="knn", k=5)["g0"]
    assert "24 controls are too few" in one.reason
    assert not one.has_null
    assert coherence_by_group(X, labels, "control", n_draws=19)["g0"].has_null


def test_small_groups_are_listed_and_lonely_rows_are_told():
    X, labels = cells(sizes=(30, 4))
    table = coherence_by_group(X, labels, "control", n_draws=0)
    assert table.excluded == {"g1": "4 rows, fewer than 10"}
    blocks = np.where((labels == "g0") & (np.arange(len(X)) % 2 == 0), "alone", "shared")
    table = coherence_by_group(X, labels, "control", blocks=blocks, n_draws=0)
    assert table["g0"].n_rows == 15
    assert "15 rows are left out" in table.notes[0]


def test_rows_among_their_own_controls_are_told():
    X, labels = cells()
    with pytest.warns(CalibrationWarning, match="2 rows of X are also among the controls"):
        coherence(X[118:150], X[labels == "control"], n_draws=0)
    with pytest.raises(ValueError, match="controls must have as many features as X"):
        coherence(X, X[:, :3])


def test_groups_that_further_null_groups_could_not_change_get_no_more(rng):
    """With alpha = 0.002, one of three groups needs 1,499 null groups: only a clear one gets them."""
    X = rng.standard_normal((160, 6))
    X[:20, 0] += 3
    labels = np.repeat(["moved", "a", "b", "control"], [20, 20, 20, 100])
    found = coherence_by_group(X, labels, "control", alpha=0.002)
    whole = coherence_by_group(X, labels, "control", alpha=0.002, n_draws=1499)
    assert {group.name: group.n_draws for group in found} == {"moved": 1499, "a": 999, "b": 999}
    assert found.n_draws == 1499
    for group in found:
        assert group.null == whole[group.name].null[: group.n_draws]
        assert group.verdict == whole[group.name].verdict
    assert found["moved"].significant
    early = "p from 999 of 1,499 draws; with all draws, its test is decided otherwise with a probability of at most"
    assert {group.name for group in found if group.notes == (f"{early} 0.001",)} == {"a", "b"}
    assert early in " ".join(str(found).split())


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
def test_fewer_null_groups_are_drawn_first_if_they_take_long(monkeypatch):
    X, labels = cells(n_controls=300, sizes=(30, 20), effect=0)
    monkeypatch.setattr(importlib.import_module("shesha.coherence.coherence_by_group"), "_ENTRY_SECONDS", 1.0)
    found = coherence_by_group(X, labels, "control")
    assert {group.n_draws for group in found.groups} == {199}
    assert "estimated from 199 null groups of each group" in found.notes[-1]
    fixed = coherence_by_group(X, labels, "control", n_draws=199)
    assert found.groups == fixed.groups
    assert not any("null groups of each" in note for note in fixed.notes)
