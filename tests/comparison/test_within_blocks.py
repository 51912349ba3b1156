"""Blocks of a class are compared apart: a batch effect is neither kept nor lost structure."""

import numpy as np
import pandas as pd
import pytest

from shesha import bio, compare, compare_within
from shesha.comparison.within_classes import batch_silhouette, block_mixing, graph_connectivity, ilisi


def cells(seed=0, n=240, n_types=2, n_batches=2, d=8, shift=4.0):
    rng = np.random.default_rng(seed)
    kind, batch = np.arange(n) % n_types, rng.integers(0, n_batches, n)
    inside = rng.standard_normal((n, d)) + 6 * rng.standard_normal((n_types, d))[kind]
    return inside + shift * rng.standard_normal((n_batches, d))[batch], kind, batch, rng


def corrected_and_scrambled(P, kind, batch, rng):
    """Remove exactly the shift of each batch, or keep it and exchange the cells within type and batch."""
    good, bad = P.copy(), P.copy()
    for k in np.unique(kind):
        for b in np.unique(batch):
            own = np.flatnonzero((kind == k) & (batch == b))
            good[own] += P[kind == k].mean(axis=0) - P[own].mean(axis=0)
            bad[own] = P[rng.permutation(own)]
    return good, bad


@pytest.mark.parametrize(
    ("n_types", "n_batches", "as_labels"),
    [(1, 2, np.asarray), (2, 2, lambda codes: pd.Categorical(codes.astype(str))), (2, 3, np.asarray)],
)
@pytest.mark.filterwarnings("ignore:Y seems to contain the rows of X in another order")
def test_an_embedding_without_the_batch_shift_scores_one(n_types, n_batches, as_labels):
    P, kind, batch, rng = cells(n_types=n_types, n_batches=n_batches)
    good, bad = corrected_and_scrambled(P, kind, batch, rng)
    kept = compare_within(P, good, as_labels(kind), blocks=as_labels(batch), n_permutations=39)
    lost = compare_within(P, bad, as_labels(kind), blocks=as_labels(batch), n_permutations=39)
    assert kept.to_frame()["value"].to_numpy() == pytest.approx(1.0)
    assert len(kept.kept) == n_types
    assert not lost.kept
    assert (lost.to_frame().query("name == 'RSA'")["value"].abs() < 0.15).all()
    if n_batches == 2:
        assert kept.mixing["Y"]["batch silhouette"].value > 0.9 > 0.7 > kept.mixing["X"]["batch silhouette"].value
        assert kept.mixing["Y"]["iLISI"].value > 0.6 > 0.2 > kept.mixing["X"]["iLISI"].value
        assert "Mixing of blocks (0 separate, 1 mixed): batch silhouette" in str(kept)


def test_a_value_is_the_mean_over_the_blocks_weighted_by_their_rows():
    P, kind, batch, rng = cells(n_types=1)
    Y = P + rng.standard_normal(P.shape)
    found = compare_within(P, Y, kind, ["RSA", "CKA"], blocks=batch, n_permutations=39)
    parts = []
    for b in np.unique(batch):
        own = batch == b
        sides = [side[own] - side[own].mean(axis=0) for side in (P, Y)]
        parts.append((own.sum(), compare(*sides, ["RSA", "CKA"])))
    for name in ("RSA", "CKA"):
        expected = sum(n * part[name].value for n, part in parts) / len(P)
        score = found["0"][name]
        assert score.value == pytest.approx(expected)
        assert score.low < score.value < score.high
        assert found.whole[name].value == pytest.approx(expected)
    assert found.n_blocks == {"0": 2}


def test_rows_of_small_blocks_are_left_out_and_counted():
    P, kind, batch, _ = cells(n_types=1)
    batch = batch.astype(object)
    batch[:3], batch[3] = "tiny", None
    found = compare_within(P, P, kind, "CKA", blocks=batch, n_permutations=39)
    assert found.sizes == {"0": len(P) - 4}
    assert "239 of 240 rows used: 1 without a block left out" in found.inputs
    assert "236 of 239 rows compared in 2 pairs of class and block" in found.inputs


def test_unlabelled_rows_are_counted():
    P, kind, _, _ = cells(n_types=2)
    labels = kind.astype(object)
    labels[:7] = np.nan
    assert (
        "233 of 240 rows used: 7 without a label left out"
        in compare_within(P, P, labels, "CKA", n_permutations=39).inputs
    )


def test_classes_of_few_donors_are_listed_with_the_reason():
    P, kind, _, _ = cells(n_types=2, n=120)
    donor = np.arange(120) // 2 % 3
    donor[kind == 1] = np.arange(60) // 2 % 6
    found = compare_within(P, P, kind, "CKA", groups=donor, min_group=5, n_permutations=39)
    assert found.excluded == {"0": "its groups have only 6 permutations, so p cannot reach 0.05"}


@pytest.mark.parametrize("name", ["batch", "Batch_ID", "orig.ident", "replicate", "lane"])
def test_a_column_named_like_batches_is_mentioned_unless_it_is_used(name):
    anndata = pytest.importorskip("anndata")
    P, kind, batch, _ = cells()
    obs = pd.DataFrame({"type": kind.astype(str), name: batch.astype(str)}, index=np.arange(240).astype(str))
    adata = anndata.AnnData(obs=obs, obsm={"a": P, "b": P})
    free = bio.integration_test(adata, "a", "b", "type", "CKA", n_permutations=39)
    assert f"Pass blocks={name!r}" in free.notes[0]
    assert f"the column {name!r} looks like batches" in " ".join(str(free).split())
    assert not bio.integration_test(adata, "a", "b", "type", "CKA", blocks=name, n_permutations=39).notes
    assert bio.integration_table(adata, "a", ["b"], "type", "CKA", n_permutations=39).notes == free.notes


@pytest.mark.parametrize("shift", [0.0, 1.0, 5.0])
def test_the_batch_silhouette_is_that_of_scikit_learn(shift):
    metrics = pytest.importorskip("sklearn.metrics")
    P, kind, batch, _ = cells(n_batches=3, shift=shift)
    kind, batch = kind.astype(str), batch.astype(str)
    expected = np.mean(
        [1 - np.abs(metrics.silhouette_samples(P[kind == k], batch[kind == k])).mean() for k in np.unique(kind)]
    )
    assert batch_silhouette(P, kind, batch) == [pytest.approx(expected)]


@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0])
def test_ilisi_follows_its_definition(shift):
    P, _, batch, _ = cells(shift=shift, n=200)
    values = []
    for row in range(200):
        distances = np.linalg.norm(P - P[row], axis=1)
        near = np.argsort(distances)[1:91]
        near_distances = distances[near] - distances[near].min()

        def entropy(beta, near_distances=near_distances):
            p = np.exp(-beta * near_distances)
            p /= p.sum()
            return -(p * np.log(np.maximum(p, 1e-300))).sum()

        low, high = 0.0, 1e3
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if entropy(middle) > np.log(30) else (low, middle)
        p = np.exp(-low * near_distances)
        p /= p.sum()
        values.append(1 / sum(p[batch[near] == b].sum() ** 2 for b in (0, 1)))
    assert ilisi(P, np.full(200, "a"), batch.astype(str)) == [pytest.approx(np.median(values) - 1, abs=1e-3)]


@pytest.mark.parametrize("shift", [0.0, 2.0, 8.0])
def test_graph_connectivity_is_that_of_scib_metrics(shift):
    scib_metrics = pytest.importorskip("scib_metrics")
    neighbors = pytest.importorskip("sklearn.neighbors")
    P, kind, _, _ = cells(n_batches=3, shift=shift)
    distances, indices = neighbors.NearestNeighbors(n_neighbors=15).fit(P).kneighbors(P)
    known = scib_metrics.nearest_neighbors.NeighborsResults(indices, np.maximum(distances, 1e-9))
    assert graph_connectivity(P, kind.astype(str)) == pytest.approx(scib_metrics.graph_connectivity(known, kind))


def test_graph_connectivity_counts_the_largest_part():
    """Groups far apart, each with fewer neighbours than rows: a class of groups of 20 and 40 is connected to 2 / 3."""
    rows = np.random.default_rng(0).standard_normal((100, 2))
    rows[20:60] += 100
    rows[60:] += [100, -100]
    classes = np.repeat(["a", "b"], [60, 40])
    found = [graph_connectivity(rows[own], classes[own]) for own in (slice(None), slice(60, 100))]
    assert found[0] == pytest.approx((2 / 3 + found[1]) / 2, abs=0.05)


def test_a_single_block_has_no_mixing():
    P, kind, _, _ = cells()
    found = block_mixing(P, kind.astype(str), np.full(240, "one")).values()
    assert not any(number.has_value for number in found)


@pytest.mark.parametrize(("shift", "is_mixed"), [(0.0, True), (5.0, False)])
def test_mixing_is_compared_with_blocks_at_random(shift, is_mixed):
    """Blocks that do not differ are as mixed as blocks at random, which score below 1 with few rows."""
    P, kind, batch, _ = cells(n_batches=3, shift=shift)
    kind, batch = kind.astype(str), batch.astype(str)
    found = block_mixing(P, kind, batch)
    rng = np.random.default_rng(5)
    order = np.arange(len(kind))
    for name in np.unique(kind):
        order[kind == name] = rng.permutation(order[kind == name])
    for name, again in (("batch silhouette", batch_silhouette), ("iLISI", ilisi)):
        number = found[name]
        assert number.chance < 1
        assert (abs(number.value - number.chance) < 6 * number.chance_sd) == is_mixed
        assert again(P, kind, batch[order])[0] == pytest.approx(number.chance, abs=6 * number.chance_sd)


@pytest.mark.parametrize(("step", "is_copy"), [(0, True), (5, False)])
def test_rows_moved_with_their_class_are_no_copy(step, is_copy):
    P, kind, batch, _ = cells()
    result = compare_within(P, 2 * P + step * kind[:, None], kind, blocks=batch, measures="CKA", n_permutations=19)
    assert ("copies" in str(result)) == is_copy


@pytest.mark.parametrize(("kind", "named"), [("shuffled", True), ("within", False)])
@pytest.mark.filterwarnings("ignore:Y seems to contain the rows of X in another order")
def test_embeddings_that_keep_nothing_may_have_another_order(kind, named):
    P, types, _, rng = cells(n=480)
    other = P @ rng.standard_normal((8, 12))
    moved = rng.permutation(480)
    for own in (np.flatnonzero(types == k) for k in np.unique(types)) if kind == "within" else ():
        moved[own] = rng.permutation(own)
    found = compare_within(P, np.tanh(other / 4)[moved], types, n_permutations=39)
    assert any("as if its rows were in another order" in text for text in found.inputs) == named


def test_one_cell_in_two_batches_is_told():
    rng = np.random.default_rng(0)
    types = rng.integers(3, size=200)
    cells = 2 * rng.standard_normal((3, 8))[types] + rng.standard_normal((200, 8))
    types, batches = np.tile(types, 2), np.repeat(["a", "b"], 200)
    X = np.tile(cells, (2, 1)) @ rng.standard_normal((8, 20)) + 0.05 * rng.standard_normal((400, 20))
    Y = np.tile(cells, (2, 1)) + 0.05 * rng.standard_normal((400, 8))
    said = "nearly repeat another row, as if inputs were measured or saved twice, such as in two batches"
    assert said in str(compare_within(X, Y, types, "CKA", blocks=batches).inputs)
    X, Y = X + rng.standard_normal(X.shape), Y + rng.standard_normal(Y.shape)
    assert said not in str(compare_within(X, Y, types, "CKA", blocks=batches).inputs)
