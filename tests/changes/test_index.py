"""May new queries meet old vectors? Answers that are known: the same, a rotation, a shear, another model."""

import numpy as np
import pytest

import shesha
from shesha.changes import stored_vectors
from shesha.changes.index_recall import nearest_vectors
from shesha.kernels.neighbours import nearest_by_product, shared_entries


@pytest.fixture
def old(rng):
    return rng.standard_normal((400, 8)) @ rng.standard_normal((8, 24)) + 0.1 * rng.standard_normal((400, 24))


def found(old, new, **options):
    return shesha.diff(old, new, index=True, max_rows=50, **options).index


def test_an_unchanged_model_keeps_its_index(old, rng):
    again = old + 1e-4 * rng.standard_normal(old.shape)
    one = found(old, old + 1e-4 * rng.standard_normal(old.shape), again=[again])
    assert one.advice == "keep"
    assert one["as it is"].value > 0.99
    assert "keep it" in one.headline


def test_a_rotated_space_is_mapped(old, rng):
    turn = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    one = found(old, 3 * old @ turn)
    assert one.advice == "map"
    assert one["as it is"].value < 0.2
    assert one["orthogonal map"].value > 0.99


def test_maps_bridge_spaces_of_another_width(old, rng):
    one = found(old, old @ np.linalg.qr(rng.standard_normal((30, 30)))[0][:24])
    assert np.isnan(one["as it is"].value)
    assert "24 features" in one["as it is"].reason
    assert one.advice == "map"


def test_an_unrelated_model_needs_new_vectors(old, rng):
    one = found(old, rng.standard_normal((400, 24)))
    assert one.advice == "re-embed"
    # Ten of the 199 other rows of a half are found by chance.
    assert one[one.best_map].value < 0.1
    assert one.headline.startswith("Index: re-embed")


def test_chance_is_k_of_the_other_rows(rng):
    X, Y = rng.standard_normal((2, 300, 16))
    truth = nearest_by_product(X, 10).lists
    near = nearest_vectors(Y, rng.standard_normal((300, 16)), 10)
    assert abs(shared_entries(truth, near).mean() - 10 / 299) < 0.01


def test_recall_against_a_loop(rng):
    X = rng.standard_normal((40, 5))
    Q = rng.standard_normal((40, 5))
    truth = nearest_by_product(X, 3).lists
    each = []
    for i in range(40):
        others = [j for j in range(40) if j != i]
        near = sorted(others, key=lambda j: -float(Q[i] @ X[j]))[:3]
        each.append(len(set(near) & set(truth[i].tolist())) / 3)
    np.testing.assert_allclose(shared_entries(truth, nearest_vectors(Q, X, 3)).mean(axis=1), each)


def test_maps_have_not_seen_what_they_are_tried_on(rng):
    """With more features than rows a map that saw queries or documents would find most of them."""
    X, Y = rng.standard_normal((2, 100, 200))
    one = shesha.diff(X, Y, index=True).index
    assert one["linear map"].value < 0.3
    assert one["orthogonal map"].value < 0.3


def test_the_answer_on_the_index_comes_first(old, rng):
    text = str(shesha.diff(old, rng.standard_normal((400, 24)), index=True, max_rows=50))
    assert text.startswith("Index: re-embed")
    assert "recall@10" in text
    assert len(text.split("\n")) <= 30


@pytest.mark.parametrize(("options", "hinted"), [({}, False), ({"index": True}, True)])
def test_other_lengths_ask_for_the_metric_of_the_index(old, options, hinted):
    other = old / np.linalg.norm(old, axis=1, keepdims=True)
    said = " ".join(str(shesha.diff(old, other, **options)).split())
    assert ("pass index_metric='ip' or 'l2' (--index-metric)" in said) == hinted
    said = str(shesha.diff(old, other, index=True, index_metric="ip"))
    assert "If your index" not in said


def test_a_map_that_gains_nothing_on_the_same_rows_is_not_advised():
    """Recall falls with the number of searched rows, so a map tested within halves may seem to help."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 64)) + 0.5 * rng.standard_normal((300, 64))
    found = shesha.diff(rows, rows + 0.3 * rng.standard_normal(rows.shape), index=True, seed=0).index
    direct, halves, best = found["as it is"], found["as it is, in halves"], found[found.best_map]
    assert direct.value < 0.95 < halves.value, "the case that misleads"
    assert best.value == pytest.approx(halves.value, abs=0.01)
    assert found.advice == "undecided"
    assert f"{direct.value:.1%} as they are (among half of the rows {best.value:.1%} after" in found.headline


def test_an_index_is_cut_to_the_dimensions_that_were_kept(old, rng):
    cut = old[:, :8] / np.linalg.norm(old[:, :8], axis=1, keepdims=True)
    result = shesha.diff(old, cut, index=True, max_rows=50, again=[old + 1e-4 * rng.standard_normal(old.shape)])
    assert result.index.advice == "keep"
    assert any("first 8 of 24 dimensions" in text for text in result.inputs)
    other = shesha.diff(old, old[:, 8:16], index=True, max_rows=50)
    assert np.isnan(other.index["as it is"].value)
    assert not any("first 8" in text for text in other.inputs)


@pytest.mark.parametrize(
    ("step", "match", "advice"),
    [(0, None, "undecided"), (1e-4, None, "keep"), (0, {"v": "v"}, "keep"), (0, {"v": "v3"}, "re-embed")],
)
def test_an_index_beside_new_vectors_that_were_not_tested_is_not_kept(old, rng, step, match, advice):
    new = {"v": old + step * rng.standard_normal(old.shape), "v3": rng.standard_normal(old.shape)}
    one = found({"v": old}, new, match=match, again=[{"v": old + step * rng.standard_normal(old.shape)}])
    assert one.advice == advice
    assert ("v holds the old vectors, and v3 was not tested" in one.headline) == (advice == "undecided")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("moved", "40 of 400 checked rows of after contain the vectors of other rows of before"),
        ("before", "101 of 400 checked vectors of before are near copies of one vector"),
        ("after", "101 of 400 checked vectors of after are near copies of one vector"),
    ],
)
@pytest.mark.filterwarnings("ignore:40 of 400", "ignore:row offset")
def test_an_index_of_faulty_rows_is_not_decided(old, rng, fault, said):
    sides = {"before": old, "after": old + 1e-3 * rng.standard_normal(old.shape)}
    if fault == "moved":
        sides["after"][:40] = sides["after"][np.roll(np.arange(40), 1)]
    else:
        sides[fault][100:200] = old[0] + 1e-3 * rng.standard_normal((100, 24))
    one = found(*sides.values())
    assert (one.advice, said in one.headline) == ("undecided", True)


def test_ties_between_copies_are_no_loss_unless_only_the_old_model_has_them(rng):
    rows = rng.standard_normal((300, 16))
    rows[180:] = rows[rng.integers(0, 12, 120)]
    again = rows + 1e-6 * rng.standard_normal(rows.shape)
    for old, new in ((rows, again), (again, rows)):
        assert found(old, new)["as it is"].value == 1.0
        assert shesha.diff(old, new, index=True).index.advice == "keep"
    assert stored_vectors(rows, {"again": again})["again"].value == 1.0
    # An old model that cannot distinguish texts has many equal vectors.
    collapsed = rows[np.arange(300) % 6]
    assert found(collapsed, rng.standard_normal((300, 16)))["as it is"].value < 0.1


def test_a_hit_as_near_as_the_last_neighbour_counts(rng):
    """Distances of bits are whole numbers, so that several vectors are as near as the last true neighbour."""
    old = np.where(rng.standard_normal((200, 6)) @ rng.standard_normal((6, 32)) > 0, 1.0, -1.0)
    new = np.where(rng.random(old.shape) < 0.002, -old, old)
    value = found(old, new)["as it is"].value
    hits = []
    for row, query in enumerate(new):
        near = np.argsort(np.where(np.arange(200) == row, np.inf, -old @ query), kind="stable")[:10]
        truth = np.sort(np.where(np.arange(200) == row, -np.inf, new @ query))[-10]
        hits.append(np.mean(new[near] @ query >= truth))
    assert value == pytest.approx(np.mean(hits), abs=0.01)
    assert value > 0.95


@pytest.mark.parametrize("is_new", [False, True])
def test_dimensions_of_zeros_are_left_out(old, rng, is_new):
    padded = np.hstack([old, np.zeros((400, 8))])
    result = shesha.diff(*((old, padded) if is_new else (padded, old)), index=True, max_rows=50)
    assert (result.index.advice, result.index["as it is"].value) == ("keep", 1.0)
    assert any(f"last 8 dimensions of the {'new' if is_new else 'old'} vectors are 0" in text for text in result.inputs)
    other = np.hstack([old, rng.standard_normal((400, 8))])
    assert np.isnan(found(old, other)["as it is"].value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("n", "d"), [(200, 96), (200, 32), (300, 32)])
@pytest.mark.parametrize("change", ["order of features", "rotation"])
def test_an_exact_map_keeps_an_index_of_few_rows(n, d, change):
    """Unmapped queries find no more than chance, which falls with the number of rows; a map finds all."""
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((8, d))[rng.integers(8, size=n)] + 0.7 * rng.standard_normal((n, d))
    Y = X[:, rng.permutation(d)] if change == "order of features" else X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    found = shesha.diff({"a": X}, {"a": Y}, index=True, max_rows=None).index
    assert found.advice == "map"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("noise", "turned"), [(0.1, 32), (0.25, 32), (0.1, 10), (0.05, 3)])
def test_the_expected_recall_after_a_map_is_that_in_all_rows(noise, turned):
    """The oracle fits the map to other rows and searches all rows."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((8, 32))
    X, other = (centres[rng.integers(8, size=400)] + 0.7 * rng.standard_normal((400, 32)) for _ in range(2))
    turn = np.eye(32)
    turn[:turned, :turned] = np.linalg.qr(rng.standard_normal((turned, turned)))[0]
    Y, new = (rows @ turn + noise * rng.standard_normal((400, 32)) for rows in (X, other))
    found = shesha.diff({"a": X}, {"a": Y}, index=True, max_rows=None, max_loss=0.27).index
    x, y, a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Y, other, new))
    u, _, right = np.linalg.svd(b.T @ a)
    true, near = (np.argsort(-q @ v.T + 9 * np.eye(400), axis=1)[:, :10] for q, v in ((y, y), (y @ u @ right, x)))
    recall = np.mean([len(set(one) & set(two)) / 10 for one, two in zip(true, near, strict=True)])
    assert found.advice == "map"
    assert 1 - found.loss == pytest.approx(recall, abs=0.03)
