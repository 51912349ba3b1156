"""Texts, pages and sentences follow the options of a diff; verdicts are not stronger than their numbers."""

import numpy as np
import pytest

import shesha


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((240, 6)) @ rng.standard_normal((6, 16)) + 0.3 * rng.standard_normal((240, 16))


@pytest.mark.parametrize("n", [12, 20, 24, 30, 40])
def test_few_rows_do_not_keep_an_index(rows, n):
    with pytest.raises(ValueError, match=r"^(k|index) must be"):
        shesha.diff(rows[:n], np.random.default_rng(0).standard_normal((n, 16)), index=True, k=10)


def test_recall_is_that_of_brute_force_in_all_rows(rows):
    new = rows * np.exp(np.random.default_rng(2).normal(0, 0.5, len(rows)))[:, None]

    def nearest(queries, vectors, metric):
        scores = queries @ vectors.T
        if metric == "l2":
            scores = -((queries[:, None] - vectors[None]) ** 2).sum(-1)
        if metric == "cosine":
            scores = scores / np.linalg.norm(vectors, axis=1)
        np.fill_diagonal(scores, -np.inf)
        return np.argsort(-scores, axis=1)[:, :10]

    for metric in ("cosine", "ip", "l2"):
        pairs = zip(nearest(new, rows, metric), nearest(new, new, metric), strict=True)
        expected = np.mean([len(set(found) & set(true)) / 10 for found, true in pairs])
        index = shesha.diff(rows, new, index=True, index_metric=metric).index
        assert index["as it is"].value == pytest.approx(expected)
        assert index.chance == pytest.approx(10 / 239)


def test_a_change_under_a_large_offset_is_not_noise(rows):
    offset = 30 * rows.std() * np.random.default_rng(3).standard_normal(16)
    changed = rows + 0.3 * rows.std(axis=0) * np.random.default_rng(4).standard_normal(rows.shape)
    assert shesha.diff(rows + offset, changed + offset)["representation"].verdict in ("changed", "replaced")


def test_noise_alone_is_no_kind_of_change(rows):
    rng = np.random.default_rng(5)
    noisy = [rows + 0.1 * rows.std(axis=0) * rng.standard_normal(rows.shape) for _ in range(3)]
    found = shesha.diff(rows, noisy[0], again=noisy[1:])
    assert found["representation"].verdict == "within noise"
    assert found.structure.kind == "none" and "rotated" not in str(found)


def test_unmoved_classes_do_not_move():
    wrong = 0
    for run in range(15):
        rng = np.random.default_rng(run)
        codes = np.arange(80) % 4
        X = rng.standard_normal((4, 8))[codes] + rng.standard_normal((80, 8))
        Y = X + 2.0 * (codes == 3)[:, None] * rng.standard_normal(8)
        found = shesha.diff(X, Y, np.array(list("abcd"))[codes], measures="RDM drift", seed=run)
        wrong += any(pair.significant and "d" not in (pair.first, pair.second) for pair in found.classes)
    assert wrong <= 2


@pytest.mark.parametrize(("crossed", "distance"), [(False, 0), (True, 0), (True, 2)])
def test_shifts_of_donors_are_no_movements_of_classes(crossed, distance):
    moved = 0
    for run in range(10):
        rng = np.random.default_rng(run)
        donor = np.arange(120) % 12
        codes = (np.arange(120) // 30 if distance else np.arange(120) // 12 % 2) if crossed else donor % 2
        X = rng.standard_normal((120, d := 20 if distance else 8))
        Y = X + (1.0 if distance else 0.7) * rng.standard_normal((12, d))[donor]
        centres = distance * rng.standard_normal((4, d))[codes]
        labels = np.array(list("abcd"))[codes]
        found = shesha.diff(X + centres, Y + centres, labels, groups=donor, measures="RDM drift", seed=run)
        moved += any(pair.significant for pair in found.classes)
        moved += found.separation is not None and not found.separation.low <= 0 <= found.separation.high
    assert moved <= 3


def test_few_groups_decide_nothing_about_classes():
    rng = np.random.default_rng(0)
    X, donor = rng.standard_normal((60, 8)), np.arange(60) % 4
    for labels in (donor % 2, np.arange(60) // 30):
        found = shesha.diff(X, X + 0.5 * rng.standard_normal(X.shape), labels, groups=donor, measures="RDM drift")
        assert not found.classes
        assert any("Whether classes moved cannot be decided" in note for note in found.notes)
