"""Recall and rank-biased overlap of stored vectors follow their definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from shesha.changes import index_recall, stored_vectors

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 24)) * np.geomspace(3, 0.2, 24)
METRICS = {"cosine": "cosine", "l2": "euclidean", "ip": lambda a, b: -(a @ b)}


def neighbours(vectors, k, metric):
    distances = cdist(vectors, vectors, METRICS[metric])
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :k]


def overlap_by_definition(first, second, p=0.9):
    """Webber, Moffat and Zobel 2010, equation 30."""
    k = len(first)
    shared = [len(set(first[:d]) & set(second[:d])) for d in range(1, k + 1)]
    return shared[-1] / k * p**k + (1 - p) / p * sum(x / d * p**d for d, x in enumerate(shared, 1))


@pytest.mark.parametrize("metric", METRICS)
def test_recall_and_overlap_follow_their_definitions(metric):
    found = stored_vectors(X, [24, 8, 2, "int8"], k=5, index_metric=metric)
    truth = neighbours(X, 5, metric)
    for way, width in (("24 dimensions", 24), ("8 dimensions", 8), ("2 dimensions", 2)):
        other = neighbours(X[:, :width], 5, metric)
        recall = [len(set(a) & set(b)) / 5 for a, b in zip(truth, other, strict=True)]
        assert found[way].of_queries == pytest.approx(recall)
        assert found[way].value == pytest.approx(np.mean(recall))
        overlaps = [overlap_by_definition(list(a), list(b)) for a, b in zip(truth, other, strict=True)]
        assert found[way].rank_biased_overlap == pytest.approx(np.mean(overlaps))
    assert found["24 dimensions"].value == found["24 dimensions"].rank_biased_overlap == 1.0
    assert found["int8"].value > 0.9 > found["2 dimensions"].value > found["2 dimensions"].chance == 5 / 59


def test_signs_are_compared_by_hamming_distance():
    found = stored_vectors(X, ["binary", "float16"], k=3)
    signs = X > 0
    distances = cdist(signs, signs, "hamming")
    np.fill_diagonal(distances, np.inf)
    truth = neighbours(X, 3, "cosine")
    possible = [set(np.flatnonzero(row <= np.sort(row)[2])) for row in distances]
    reached = [len(set(a) & near) / 3 for a, near in zip(truth, possible, strict=True)]
    assert (np.array(found["binary"].of_queries) <= np.array(reached) + 1e-12).all()
    assert found["float16"].value > 0.98


def test_unrelated_vectors_are_at_chance_and_the_interval_covers_it():
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        first, second = rng.standard_normal((2, 50, 6))
        one = stored_vectors(first, {"other": second}, k=5)["other"]
        covered += one.low <= one.chance <= one.high
    assert covered >= 34


def test_the_worst_queries_come_first():
    stored = X.copy()
    stored[7] = -stored[7]
    found = stored_vectors(X, {"one row reversed": stored}, k=5)
    worst = found.worst_queries("one row reversed", 3)
    assert worst.iloc[0].tolist() == [7, 0.0]
    assert worst["recall"].is_monotonic_increasing
    assert "Share of the 5 nearest full vectors that are found (cosine): one row reversed" in found.headline


def test_rows_of_own_vectors_are_matched_by_name():
    names, order = [f"r{k}" for k in range(60)], np.random.default_rng(1).permutation(60)
    full, stored = pd.DataFrame(X, index=names), pd.DataFrame(np.round(X), index=names)
    expected = stored_vectors(X, {"rounded": np.round(X)}, k=5)["rounded"]
    with pytest.warns(UserWarning, match="different order"):
        found = stored_vectors(full, {"rounded": stored.iloc[order]}, k=5)
    assert found["rounded"].of_queries == expected.of_queries
    assert stored_vectors(X, {"X": np.round(X)}, k=5)["X"].of_queries == expected.of_queries
    assert found.worst_queries("rounded", 1)["row"].tolist()[0] in names
    sides = {"mixed": np.round(X, 1)[order], "unit": X / np.linalg.norm(X, axis=1, keepdims=True)}
    with pytest.warns(UserWarning, match="mixed seems to contain the rows of X in another order"):
        turned = stored_vectors(X, sides)
    assert any("check first: mixed finds no more neighbours than chance" in text for text in turned.inputs)
    assert any(text.startswith("unit: row lengths are 1 in all rows, and were") for text in turned.inputs)
    twice = stored_vectors(np.repeat(X[:20], 3, axis=0), ["binary"], k=4)
    assert any("warning: 50% of the 4 nearest vectors are copies of the query" in text for text in twice.inputs)
    missing = full.copy()
    missing.iloc[3] = np.nan
    assert stored_vectors(missing, ["int8"], k=5, missing="drop")["int8"].n_rows == 59


@pytest.mark.parametrize("metric", METRICS)
def test_random_queries_search_all_rows_if_all_queries_take_too_long(metric, monkeypatch, tmp_path):
    np.save(tmp_path / "x.npy", X.astype("f4"))
    mapped, groups = np.load(tmp_path / "x.npy", mmap_mode="r"), np.arange(60) // 2
    ways = [8, "int8", "binary", "float16"]
    exact = stored_vectors(mapped, ways, k=5, index_metric=metric, exact=True)
    assert exact.queries == ()
    monkeypatch.setattr(index_recall, "MINUTE", 1e-9)
    monkeypatch.setattr(index_recall, "_FEWEST_QUERIES", 40)
    found = stored_vectors(mapped, ways, k=5, index_metric=metric, groups=groups)
    assert len(found.queries) == 40
    for way in ("8 dimensions", "int8", "float16"):
        expected = np.array(exact[way].of_queries)[list(found.queries)]
        assert found[way].of_queries == pytest.approx(expected)
        assert found[way].low <= exact[way].value <= found[way].high
    assert (
        "Estimated from 40 of 60 rows as queries, which search all rows; `--exact` (`exact=True`) takes about 1 second."
        in found.headline
    )
    assert set(found.worst_queries("8 dimensions", 3)["row"]) <= set(found.queries)
    assert stored_vectors(mapped, [8], k=5, exact=False, seed=1).queries != found.queries


def test_ctrl_c_keeps_the_finished_ways(monkeypatch):
    nearest, calls = index_recall._nearest, []

    def stop(*args):
        calls.append(args)
        # The first call looks for sets of near copies, and the second searches the full vectors.
        if len(calls) == 4:
            raise KeyboardInterrupt
        return nearest(*args)

    monkeypatch.setattr(index_recall, "_nearest", stop)
    found = stored_vectors(X, [8, "int8"], k=5)
    assert found.interrupted
    assert [one.name for one in found] == ["8 dimensions"]


def test_k_is_at_most_the_number_of_other_rows():
    X, Y = np.random.default_rng(0).standard_normal((2, 21, 6))
    assert stored_vectors(X, {"new": Y}, k=20).k == 20
    with pytest.raises(ValueError, match=r"k must be at most the number of other rows \(20\), got 21"):
        stored_vectors(X, {"new": Y}, k=21)


@pytest.mark.parametrize(
    ("vectors", "way", "metric", "named"),
    [("unit", 8, "ip", True), ("unit", 8, "cosine", False), ("unit", "int8", "ip", False), ("X", 8, "ip", False)],
)
def test_cut_vectors_of_unit_length_are_named(vectors, way, metric, named):
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if vectors == "unit" else X
    found = stored_vectors(rows, [way], k=5, index_metric=metric)
    assert any("vectors have one length, but their first dimensions have not" in text for text in found.inputs) == named


@pytest.mark.parametrize(
    ("given", "metric", "named"),
    [("cut", "ip", True), ("cut", "cosine", False), ("cut to unit length", "ip", False), ("rounded", "ip", False)],
)
def test_given_vectors_that_lost_their_unit_length_are_named(given, metric, named):
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    cut = rows[:, :8]
    ways = {"cut": cut, "cut to unit length": cut / np.linalg.norm(cut, axis=1, keepdims=True)}
    found = stored_vectors(rows, {given: (ways | {"rounded": rows.round(2)})[given]}, k=5, index_metric=metric)
    assert any(f"vectors have one length, but those of {given} have not" in text for text in found.inputs) == named


@pytest.mark.parametrize(("metric", "told"), [("ip", True), ("cosine", False)])
def test_stored_vectors_of_one_length_are_named_where_lengths_matter(rng, metric, told):
    X = rng.standard_normal((120, 16)) * rng.lognormal(0, 0.5, (120, 1))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = stored_vectors(X, {"unit": unit}, k=5, index_metric=metric)
    assert any("have one length, but those of the full vectors have not" in text for text in found.inputs) == told


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
@pytest.mark.filterwarnings("ignore:intervals may be too narrow")
def test_sets_of_near_copies_are_stated(rng, metric):
    documents = rng.standard_normal((40, 12)) @ rng.standard_normal((12, 64))
    versions = np.repeat(documents, 12, axis=0) + 0.1 * rng.standard_normal((480, 64))
    found = stored_vectors(rng.permutation(versions), ["binary"], index_metric=metric)
    assert "lie in sets of about 12 that are at least 3 times nearer to each other" in " ".join(str(found).split())
    clusters = documents[rng.integers(6, size=480)] + 2 * rng.standard_normal((480, 64))
    assert "lie in sets" not in str(stored_vectors(clusters, ["binary"], index_metric=metric))


@pytest.mark.parametrize(("shift", "named"), [(0.0, False), (6.0, True)])
def test_features_of_one_sign_are_stated_for_binary_storage(rng, shift, named):
    vectors = rng.standard_normal((200, 32)) + shift
    found = stored_vectors(vectors, ["binary", "int8"], k=5)
    assert ("of 32 features have one sign in all checked vectors" in " ".join(str(found).split())) == named
    assert "have one sign" not in str(stored_vectors(vectors, ["int8"], k=5))
