"""The searchlight computes what SciPy computes centre by centre, and its maximum holds the error rate."""

from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from shesha import CalibrationWarning
from shesha.neuro import neighbours_in_radius, searchlight
from shesha.neuro.voxel_order import state_other_voxel_order
from shesha.support.provenance import collect_statements

PLACES = np.argwhere(np.ones((4, 4, 3)))
GRAPH = neighbours_in_radius(PLACES, 1.0)


def data(seed, n_conditions=9, n_runs=None):
    rng = np.random.default_rng(seed)
    shape = (n_conditions, len(PLACES)) if n_runs is None else (n_runs, n_conditions, len(PLACES))
    return rng.standard_normal(shape), pdist(rng.standard_normal((n_conditions, 2)))


def members(centre):
    return np.flatnonzero(np.abs(PLACES - PLACES[centre]).sum(axis=1) <= 1)


@pytest.mark.parametrize("metric", ["correlation", "cosine", "euclidean"])
def test_each_centre_is_the_correlation_of_scipy(metric):
    X, model = data(0)
    found = searchlight(X, squareform(model), GRAPH, metric=metric, n_permutations=19)
    expected = [spearmanr(pdist(X[:, members(centre)], metric), model)[0] for centre in range(len(PLACES))]
    np.testing.assert_allclose(found.values, expected)
    assert found.maximum.value == pytest.approx(max(expected))
    assert [each.n_features for each in found] == [len(members(centre)) for centre in range(len(PLACES))]


def test_runs_are_cross_validated():
    X, model = data(1, n_conditions=6, n_runs=3)
    found = searchlight(X, model, GRAPH, metric="euclidean", n_permutations=19)
    for centre in (0, 20):
        local = X[:, :, members(centre)]
        distances = [
            np.mean([(a[i] - a[j]) @ (b[i] - b[j]) for a, b in permutations(local, 2)])
            for i, j in combinations(range(6), 2)
        ]
        assert found.values[centre] == pytest.approx(spearmanr(distances, model)[0])
    assert found.metric == "cross-validated euclidean"


def test_p_values_are_those_of_all_permutations_one_by_one():
    X, model = data(2, n_conditions=5)
    found = searchlight(X, model, GRAPH[:9], metric="euclidean", n_permutations=1999, seed=3)
    square = squareform(model)
    models = [squareform(square[np.ix_(order, order)]) for order in permutations(range(5))]
    scores = np.array([[spearmanr(pdist(X[:, members(centre)]), each)[0] for each in models] for centre in range(9)])
    for centre, each in enumerate(found):
        assert each.p_value == pytest.approx((scores[centre] >= each.value - 1e-9).mean(), abs=0.04)
        assert each.corrected_p_value == pytest.approx((scores.max(axis=0) >= each.value - 1e-9).mean(), abs=0.04)
    assert found.maximum.p_value == min(each.corrected_p_value for each in found)


@pytest.mark.parametrize(
    "neighbours",
    [[members(centre) for centre in range(48)], sparse.coo_matrix(GRAPH.astype(float)), GRAPH.toarray()],
    ids=["lists", "sparse matrix", "table of booleans"],
)
def test_any_graph_will_do(neighbours):
    X, model = data(3)
    assert searchlight(X, model, neighbours, n_permutations=19) == searchlight(X, model, GRAPH, n_permutations=19)


def test_a_place_that_follows_the_model_is_found():
    X, _ = data(4, n_conditions=12)
    size = np.random.default_rng(0).permutation(np.arange(12.0))
    model = np.abs(np.subtract.outer(size, size))
    near = PLACES[:, 0] == 0
    X[:, near] += size[:, None] * np.linspace(1, 2, near.sum())
    found = searchlight(X, model, GRAPH, metric="euclidean", names=[str(place) for place in PLACES])
    assert {each.name for each in found.significant} == {str(place) for place in PLACES[PLACES[:, 0] <= 1]}
    assert found.headline.startswith("24 of 48 centres match the model above chance")
    assert "(12 conditions, euclidean distances, rank correlation; largest correlation" in found.sentence()
    assert f"{found.maximum.name}" in str(found).split("\n\n")[1].splitlines()[1]
    assert found.plot(title="one subject").get_title() == "one subject"


def test_conditions_in_an_order_that_data_and_model_follow_are_warned_of():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, len(PLACES))).cumsum(axis=0)
    place = np.arange(20.0)[:, None]
    with pytest.warns(CalibrationWarning, match="consecutive rows are closer .* in the data and in the model"):
        found = searchlight(X, pdist(place), GRAPH, metric="euclidean", n_permutations=19)
    assert "p-values may be too small" in " ".join(found.sentence().split())
    searchlight(X, pdist(rng.permutation(place)), GRAPH, metric="euclidean", n_permutations=19)
    searchlight(X, pdist(place), GRAPH, metric="euclidean", n_permutations=19, blocks=np.arange(20) // 5)


def test_unrelated_recordings_have_few_false_claims():
    """Measured with 200 recordings: any centre was above chance in 5 to 6 %."""
    hits = sum(bool(searchlight(*data(seed), GRAPH, n_permutations=39, seed=seed).significant) for seed in range(60))
    assert hits <= 8


def test_features_that_are_constant_in_a_run_leave_no_distances():
    X, model = data(4, n_conditions=6, n_runs=2)
    X[1][:, members(0)] = 0.0
    found = searchlight(X, model, [members(0), members(30)], metric="euclidean", n_permutations=19)
    assert [each.has_value for each in found] == [False, True]


def test_centres_without_distances_are_named():
    X, model = data(5)
    X[0, members(0)] = 1.0
    found = searchlight(X, model, [members(0), [3], members(30)], n_permutations=19)
    assert [each.has_value for each in found] == [False, False, True]
    assert "no distance here" in found.numbers[1].reason
    assert "not estimable" not in searchlight(X, model, [[3]], n_permutations=19).headline
    alone = searchlight(X, model, [[0], [1]], n_permutations=19)
    assert alone.headline.startswith("No centre could be tested: a condition has no distance")
    assert any("every neighbourhood has one feature" in statement for statement in alone.inputs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbours": GRAPH[:, :5]}, r"neighbours must have one column for each of the 48 features, got 5"),
        ({"neighbours": [[48, 1]]}, r"features from 0 to 47, got 48; if they count from 1, subtract 1"),
        ({"neighbours": [[48, 0]]}, r"features from 0 to 47, got 48$"),
        ({"neighbours": [[-1, 50]]}, r"features from 0 to 47, got -1, 50$"),
        ({"neighbours": [[0.5]]}, r"features from 0 to 47, got 0\.5$"),
        ({"model": np.ones(3)}, r"model must have distances between the 9 conditions of X, got 3"),
        ({"model": np.ones(36)}, r"model must have unequal distances"),
        ({"X": np.zeros((9, 4, 3, 4))}, r"of volumes, pass X\[:, mask\] and neighbours_in_radius\(mask, radius\)"),
        ({"X": np.zeros((2, 9, 48))}, r"metric must be 'euclidean' and X must have at least 2 runs"),
    ],
)
def test_bad_input(changes, message):
    X, model = data(0)
    with pytest.raises(ValueError, match=message):
        searchlight(**{"X": X, "model": model, "neighbours": GRAPH, **changes})


def test_conditions_are_matched_by_name():
    X, model = data(0)
    names, order = [f"c{k}" for k in range(len(X))], np.random.default_rng(3).permutation(len(X))
    frame = pd.DataFrame(squareform(model), index=names, columns=names)
    expected = searchlight(X, model, GRAPH, n_permutations=19)
    with pytest.warns(UserWarning, match="different order"):
        found = searchlight(pd.DataFrame(X, index=names), frame.iloc[order, order], GRAPH, n_permutations=19)
    np.testing.assert_allclose(found.values, expected.values)


@pytest.mark.parametrize("which", ["X", "model"])
def test_missing_conditions_are_left_out_on_request(which):
    X, model = data(0)
    model = squareform(model)
    expected = searchlight(np.delete(X, 2, axis=0), np.delete(np.delete(model, 2, 0), 2, 1), GRAPH, n_permutations=19)
    X, model = X.copy(), model.copy()
    if which == "X":
        X[2] = np.nan
    else:
        model[2] = model[:, 2] = np.nan
        np.fill_diagonal(model, 0)
    with pytest.raises(ValueError, match="NaN"):
        searchlight(X, model, GRAPH, n_permutations=19)
    found = searchlight(X, model, GRAPH, n_permutations=19, missing="drop")
    np.testing.assert_allclose(found.values, expected.values)
    assert any("1 with NaN" in statement for statement in found.inputs)


def test_features_without_numbers_are_left_out():
    X, model = data(0)
    lists = [GRAPH.indices[GRAPH.indptr[k] : GRAPH.indptr[k + 1]] for k in range(GRAPH.shape[0])]
    expected = searchlight(X, model, [places[places != 1] for places in lists], n_permutations=19)
    before = GRAPH.copy()
    masked = np.where(np.arange(X.shape[1]) == 1, np.nan, X)
    found = searchlight(masked, model, GRAPH, n_permutations=19)
    np.testing.assert_allclose(found.values, expected.values)
    assert "1 of " in found.inputs[0]
    assert (before != GRAPH).nnz == 0  # The user's graph is not changed.


def test_masks_and_graphs_of_other_libraries():
    X, model = data(0)
    masks = [GRAPH.toarray()[k].astype(bool) for k in range(GRAPH.shape[0])]
    expected = searchlight(X, model, GRAPH, n_permutations=19)
    for graph in (masks, sparse.lil_matrix(GRAPH.toarray()), sparse.coo_array(GRAPH.astype(int))):
        np.testing.assert_allclose(searchlight(X, model, graph, n_permutations=19).values, expected.values)
    alone = GRAPH.copy().tolil()
    alone[0, 0] = False
    found = searchlight(X, model, alone, n_permutations=19)
    assert any("1 of " in one and "do not contain their centre" in one for one in found.inputs)
    zeros = sparse.csr_array(GRAPH.astype(float))
    zeros.data[0] = 0
    with pytest.raises(ValueError, match=r"neighbours must have no stored zeros, got 1\. In a graph of distances"):
        searchlight(X, model, zeros, n_permutations=19)
    with pytest.raises(ValueError, match=r"pass neighbours_in_radius\(mask, radius\)"):
        searchlight(X, model, np.ones((4, 3, 4), dtype=bool), n_permutations=19)


def test_a_mask_stands_for_the_places_of_its_voxels():
    mask = np.random.default_rng(0).random((4, 3, 2)) < 0.6
    image = SimpleNamespace(dataobj=mask.astype(np.uint8), affine=np.diag([2.0, 3.0, 4.0, 1.0]))
    expected = neighbours_in_radius(np.argwhere(mask), 1.5).toarray()
    assert (neighbours_in_radius(mask, 1.5).toarray() == expected).all()
    expected = neighbours_in_radius(np.argwhere(mask) * [2.0, 3.0, 4.0], 3.0).toarray()
    assert (neighbours_in_radius(image, 3.0).toarray() == expected).all()


@pytest.mark.parametrize(("first", "last", "stated"), [(1, 48, True), (0, 48, False), (1, 47, False)])
def test_neighbours_that_may_count_from_one_are_stated(first, last, stated):
    X, model = data(0)
    found = searchlight(X, model, [[place] * 2 for place in range(first, last)], metric="euclidean", n_permutations=19)
    assert any("no neighbourhood contains feature 0, but all others" in text for text in found.inputs) == stated


def _volumes(rng, shape, smooth, n=12):
    from scipy.ndimage import gaussian_filter

    volumes = np.stack([gaussian_filter(rng.standard_normal(shape), smooth) for _ in range(n)])
    return volumes / volumes.std() + 0.3 * rng.standard_normal(volumes.shape)


def _ring(n=12):
    size = np.random.default_rng(0).permutation(n).astype(float)
    return np.abs(np.subtract.outer(size, size))


@pytest.mark.parametrize("shape", [(8, 9, 7), (12, 15)])
@pytest.mark.parametrize("masked", [False, True])
def test_voxels_in_the_other_order_of_the_grid_are_named(shape, masked):
    rng = np.random.default_rng(1)
    volumes, mask = _volumes(rng, shape, 1.0), np.ones(shape, dtype=bool)
    if masked:
        mask[:3, :4] = False
    places = np.argwhere(mask)
    orders = {"C": volumes[:, mask], "Fortran": np.stack([volume.T[mask.T] for volume in volumes])}
    fortran = np.argwhere(mask.T)[:, ::-1]
    for name, X in orders.items():
        for first, coordinates in {"C": places, "Fortran": 2.5 * fortran - 7}.items():
            graph = neighbours_in_radius(coordinates, 4.0)
            found = searchlight(X, _ring(), graph, metric="euclidean", n_permutations=19, alpha=0.1)
            said = [text for text in found.inputs if "in another order than the coordinates" in text]
            assert bool(said) == (name != first)
            if said:
                assert f"lists these places in {name} order" in said[0]
                assert str(found).startswith("Check first: features that are next to one another")


@pytest.mark.parametrize("smooth", [0.0, (1.5, 0.0, 0.0), (0.0, 0.0, 1.5), (0.0, 1.5, 1.5)])
def test_values_that_are_not_smooth_along_all_axes_are_in_order(smooth):
    shape = (8, 9, 7)
    for seed in range(5):
        X = _volumes(np.random.default_rng(seed), shape, smooth).reshape(12, -1)
        with collect_statements() as statements:
            state_other_voxel_order(X, np.argwhere(np.ones(shape)))
        assert not statements


def test_places_of_sensors_are_no_grid():
    rng = np.random.default_rng(0)
    with collect_statements() as statements:
        state_other_voxel_order(rng.standard_normal((12, 200)), rng.standard_normal((200, 3)))
    assert not statements
