"""The grid of all layers of two models: the numbers of pair by pair, whatever the layers are called."""

from itertools import product

import numpy as np
import pytest

import shesha.measures as measures
from shesha import Rdm, compare, compare_layers

CHOSEN = ["CKA", "LinReg", "ProcDist", "RSA", "mutual kNN(k=4)", "sliced Wasserstein", "IMD"]


@pytest.fixture(scope="module")
def other(layers):
    """Layers of another model, some called like those of the first."""
    rng = np.random.default_rng(8)
    return {
        "early": layers["middle"] + rng.standard_normal((40, 11)),
        "late": layers["noise"][:, ::-1] + 1,
        "narrow": rng.standard_normal((40, 3)),
    }


@pytest.mark.parametrize("name", CHOSEN)
def test_the_grid_is_that_of_the_function_pair_by_pair(layers, other, direct, name):
    found = compare_layers(layers, other, name, seed=6)
    grid = found.matrix()
    assert (list(grid.index), list(grid.columns)) == (list(layers), list(other))
    for (row, X), (column, Y) in product(layers.items(), other.items()):
        value, reason = direct(name, X, Y, seed=6)
        assert grid.loc[row, column] == value or (reason and np.isnan(grid.loc[row, column]))
    assert (found.name, found.closer, found.seed) == (name, measures.get(name).closer, 6)


def test_the_default_is_unbiased_cka(layers, other):
    assert compare_layers(layers, other).matrix().equals(compare_layers(layers, other, measures.unbiased_cka).matrix())


def test_layers_of_a_sequence_are_called_by_number(layers, other):
    named = compare_layers(layers, other, "LinReg")
    numbered = compare_layers(list(layers.values()), tuple(other.values()), "LinReg")
    assert (numbered.rows, numbered.columns) == (("0", "1", "2", "3"), ("0", "1", "2"))
    assert np.array_equal(named.matrix(), numbered.matrix())
    mixed = compare_layers(list(layers.values()), other, "LinReg")
    assert (mixed.rows, mixed.columns) == (numbered.rows, named.columns)


def test_a_model_with_itself(layers):
    grid = compare_layers(layers, layers).matrix()
    assert np.diagonal(grid) == pytest.approx(1)
    assert grid.to_numpy() == pytest.approx(grid.to_numpy().T)


def test_single_layers_and_distances(layers):
    given = Rdm(np.abs(layers["early"][:, None] - layers["early"][None]).sum(axis=2))
    found = compare_layers([given], {"late": layers["noise"]}, "RSA")
    assert found.matrix().loc["0", "late"] == measures.rsa(given, layers["noise"])


@pytest.mark.parametrize(("name", "extreme"), [("CKA", np.nanmax), ("ProcDist", np.nanmin), ("IMD", np.nanmin)])
def test_the_best_pair_is_the_closest(layers, other, name, extreme):
    found = compare_layers({**layers, "flat": np.ones((40, 4))}, other, name)
    assert found.closest.value == extreme(found.matrix())
    assert found.closest.value == found.matrix().loc[found.closest.first, found.closest.second]
    if name == "CKA":
        assert (found.closest.first, found.closest.second) == ("noise", "late")


def test_each_layer_has_its_closest_partner(layers, other):
    found = compare_layers(layers, other, "CKA")
    nearest = found.matrix().idxmax(axis=1)
    assert [(pair.first, pair.second) for pair in found.partners] == list(nearest.items())
    frame = found.to_frame()
    marked = frame[frame["partner"]]
    assert list(zip(marked["first"], marked["second"], strict=True)) == list(nearest.items())
    cells = [(found.rows.index(row), found.columns.index(column)) for row, column in nearest.items()]
    assert found.cells_to_frame == tuple(cells)


def test_partners_have_intervals_on_request(layers, other):
    found = compare_layers(layers, other, "CKA", confidence=0.9)
    for pair in found.partners:
        one = compare(layers[pair.first], other[pair.second], "CKA", calibrate=True, confidence=0.9)["CKA"]
        assert (pair.low, pair.high) == pytest.approx((one.low, one.high), rel=1e-12)
        assert f"[{one.low:.3f}, {one.high:.3f}]" in str(found)
    assert sum(pair.has_interval for pair in found.scores) == len(layers)
    tested = compare_layers(layers, other, "CKA", calibrate=True, confidence=0.9, n_permutations=19)
    assert [pair.low for pair in tested.partners] == pytest.approx([pair.low for pair in found.partners])


def test_messages_use_the_names_of_the_models(layers):
    names = ("one.npz", "two.npz")
    bad = {**layers, "early": layers["early"] * np.nan}
    with pytest.raises(ValueError, match=r"two.npz\['early'\] must be finite"):
        compare_layers(layers, bad, names=names)
    with pytest.raises(ValueError, match=r"equal numbers of rows, got one.npz\[early\] \(40\)"):
        compare_layers(layers, {"late": layers["noise"][:20]}, names=names)
    assert "of one.npz and" in str(compare_layers(layers, layers, names=names))
    with pytest.raises(ValueError, match="names must be two different names"):
        compare_layers(layers, layers, names=("same", "same"))
    with pytest.raises(ValueError, match="calibrate must be True with aggregate and maximum, got False"):
        compare_layers(layers, layers, calibrate=False, aggregate="mean", maximum=1.0)


DEFAULTS = {
    "small grid": ({}, True),
    "no chance level wanted": ({"calibrate": False}, False),
    "other measure": ({"measure": "CKA"}, False),
    "option that needs it": ({"measure": "CKA", "aggregate": "mean"}, True),
    "declared rows": ({"measure": "CKA", "groups": np.arange(40) // 2}, True),
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_the_default_measure_is_compared_with_chance_if_this_takes_little_work(layers, other, case, monkeypatch):
    options, is_tested = DEFAULTS[case]
    assert compare_layers(layers, other, n_permutations=19, **options).has_null is is_tested
    assert not compare_layers({**layers, "flat": np.ones((40, 4))}, other).has_null
    monkeypatch.setattr("shesha.comparison.layer_grid.MOST_ROWS_TESTED", 40)
    assert not compare_layers(layers, other).has_null


def test_a_grid_without_a_value_says_why(layers):
    found = compare_layers({"flat": np.ones((40, 4))}, layers)
    with pytest.raises(ValueError, match=r"there must be a value for at least one pair of layers, got none: .*all"):
        _ = found.closest
    assert "closest" not in str(found)
    assert "all rows are equal" in str(found)


def test_reasons_and_refusals_call_the_layers_by_their_names(layers):
    flat = {"flat": np.ones((40, 4))}
    assert compare_layers(flat, layers).reason == "flat: all rows are equal"
    assert compare_layers(layers, flat).reason == "flat: all rows are equal"
    # A name may begin like the ones used inside.
    assert compare_layers({"b b": np.ones((40, 4))}, {"a b": layers["noise"]}).reason == "b b: all rows are equal"
    with pytest.raises(ValueError, match=r"numbers of rows, got layers_a\[early\] \(40\), layers_b\[late\] \(20\)"):
        compare_layers({"early": layers["early"]}, {"late": layers["noise"][:20]})


def test_same_bits_for_one_thread_and_two(layers, other, with_threads):
    one, two = (with_threads(n, lambda: compare_layers(layers, other, "RSA").matrix()) for n in (1, 2))
    assert one.equals(two)


UNUSABLE = [
    (lambda X: ([], [X]), {}, ValueError, "layers_a must contain at least one layer, got none"),
    (lambda X: ({"a": X}, {"b": X * np.nan}), {}, ValueError, r"b.* must be finite, got NaN or infinity in rows"),
    (
        lambda X: ([X], [X]),
        {"measure": "neighbours"},
        ValueError,
        "measure must be a single measure, got 'neighbours', which names several",
    ),
    (lambda X: ([X], [X]), {"measure": ["CKA"]}, TypeError, "a measure must be given by name or as a marked function"),
]


@pytest.mark.parametrize(("make", "options", "error", "message"), UNUSABLE)
def test_what_cannot_be_compared_is_refused(layers, make, options, error, message):
    with pytest.raises(error, match=message):
        compare_layers(*make(layers["early"]), **options)


@pytest.mark.parametrize("swapped", [False, True])
def test_copied_layers_are_told(swapped):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((60, 8))
    copied = {f"layer{k}": shared for k in range(3)} | {"other": rng.standard_normal((60, 8))}
    others = [shared[:, :k] + 0.3 * rng.standard_normal((60, k)) for k in (3, 5, 8)]
    found = compare_layers(*((others, copied) if swapped else (copied, others)))
    said = "layer0, layer1, layer2 of layers_" + ("b" if swapped else "a")
    assert f"warning: {said} have the same values with all layers of the other model, like copies" in str(found.inputs)
    assert "like copies" not in str(compare_layers(others, [shared, others[0]]).inputs)


@pytest.mark.parametrize(("n", "said"), [(300, "As 300 is 3 x 100"), (250, "")])
def test_repeated_rows_are_to_be_averaged_first(rng, n, said):
    with pytest.raises(ValueError, match="must have equal numbers of rows") as error:
        compare_layers({"a": rng.standard_normal((100, 5))}, {"b": rng.standard_normal((n, 6))})
    assert ("by X.reshape(100, 3, -1).mean(axis=1) if repeats" in str(error.value)) == bool(said)
    assert said in str(error.value)
