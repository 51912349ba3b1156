"""The best of many layers: calibrated as a maximum, compared on the same rows, ranked by what was asked for."""

import numpy as np
import pytest

from shesha import CalibrationWarning, GuessedLayersWarning, RowNamesWarning
from shesha.steering import rank_layers, steerability

OPTIONS = {"n_splits": 2, "n_draws": 19, "seed": 0}


def network(n_layers=4, n=60, noise_only=False, seed=0):
    """Layers that separate two classes the better the deeper they are."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    strength = [0.0 if noise_only else float(depth) for depth in range(n_layers)]
    return {f"layer {k}": rng.standard_normal((n, 8)) + s * np.eye(8)[y] for k, s in enumerate(strength)}, y


def test_the_best_layer_wins_and_is_above_the_best_of_chance():
    layers, y = network()
    found = rank_layers(layers, y, by="accuracy", **OPTIONS)
    assert found.winner == "layer 3"
    assert found.significant
    assert found["layer 3"].corrected_p_value == found.best.p_value == 1 / 20
    assert found["layer 0"].corrected_p_value > 0.2
    assert [one.rank for one in found.layers_best_first] == [1, 2, 3, 4]
    assert "layer 0" not in found.tied_names
    assert found["layer 3"].behind == 0


def test_one_layer_gives_what_steerability_gives():
    layers, y = network()
    options = {**OPTIONS, "alphas": [-0.3, 0, 0.3], "units": "norm"}
    ranked = rank_layers({"only": layers["layer 2"]}, y, **options)
    alone = steerability(layers["layer 2"], y, **options)
    assert ranked["only"].value == alone.max_drop.value
    assert ranked["only"].chance == pytest.approx(alone.max_drop.chance)
    assert ranked["only"].p_value == ranked["only"].corrected_p_value == alone.max_drop.p_value
    assert ranked["only"].accuracy == alone.accuracy.value
    assert ranked["only"].strength == pytest.approx(alone.strength)


def test_the_null_is_that_of_the_maximum():
    layers, y = network(noise_only=True, n_layers=8)
    found = rank_layers(layers, y, by="accuracy", **{**OPTIONS, "n_draws": 39})
    assert found.best.chance > max(one.chance for one in found.layers) + 0.02
    assert len(found.null) == 39
    for one in found.layers:
        assert one.corrected_p_value >= one.p_value


@pytest.mark.parametrize("runs", [10])
def test_the_best_of_many_layers_of_noise_keeps_its_level_where_single_p_values_do_not(runs):
    best, smallest = [], []
    for seed in range(runs):
        layers, y = network(n_layers=5, n=24, noise_only=True, seed=seed)
        found = rank_layers(layers, y, by="accuracy", n_splits=1, n_draws=19, seed=seed)
        best.append(found.best.p_value)
        smallest.append(min(one.p_value for one in found.layers))
    assert np.mean(np.array(best) <= 0.1) < 0.1 + 4 * np.sqrt(0.09 / runs)
    assert np.mean(np.array(smallest) <= 0.1) > np.mean(np.array(best) <= 0.1)
    assert np.mean(smallest) < 0.3


def test_layers_of_another_scale_are_steered_alike():
    layers, y = network()
    X = layers["layer 2"]
    found = rank_layers({"small": X / 1000, "large": 1000 * X}, y, C=1e9, **OPTIONS)
    assert found["small"].strength == pytest.approx(found["large"].strength, rel=0.1)
    raw = rank_layers({"small": X / 1000, "large": 1000 * X}, y, alphas=[-0.1, 0, 0.1], units="raw", **OPTIONS)
    # In the units of the features the layer of small numbers seems to be steered best.
    assert raw.winner == "small"
    assert raw["large"].value == 0


def test_equal_layers_are_tied():
    layers, y = network()
    found = rank_layers({"one": layers["layer 2"], "two": layers["layer 2"].copy()}, y, **OPTIONS)
    assert found["one"].value == found["two"].value
    assert found.tied_names == ("one", "two")


def test_groups_are_kept_whole_in_every_layer():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 4)
    y = groups % 2
    layers = [rng.standard_normal((24, 30))[groups] + 0.1 * rng.standard_normal((96, 30)) for _ in range(2)]
    with pytest.warns(CalibrationWarning, match="consecutive rows are closer"):
        assert rank_layers(layers, y, by="accuracy", **OPTIONS).significant
    whole = rank_layers(layers, y, by="accuracy", groups=groups, **OPTIONS)
    assert not whole.significant
    assert whole.exchanged == "labels of whole groups"


def test_layers_come_as_a_mapping_a_list_or_one_array():
    layers, y = network()
    one = rank_layers(list(layers.values()), y, **OPTIONS)
    assert [layer.name for layer in one.layers] == ["0", "1", "2", "3"]
    array = np.stack(list(layers.values()), axis=1)
    other = rank_layers(array, y, layer_axis=1, **OPTIONS)
    assert [a.value for a in one.layers] == [b.value for b in other.layers]
    with pytest.warns(GuessedLayersWarning, match="read as 4 layers of 60 rows"):
        rank_layers(array, y, **OPTIONS)


def test_rows_with_names_are_matched_by_them():
    pandas = pytest.importorskip("pandas")
    layers, y = network()
    names = [f"row {k}" for k in range(60)]
    frames = {name: pandas.DataFrame(X, index=names) for name, X in layers.items()}
    back = {**frames, "layer 3": frames["layer 3"].iloc[::-1]}
    labels = pandas.Series(y, index=names).iloc[::-1]
    expected = rank_layers(layers, y, **OPTIONS)
    with (
        pytest.warns(RowNamesWarning, match="rows of layer 3 are in a different order"),
        pytest.warns(RowNamesWarning, match="rows of y are in a different order"),
    ):
        found = rank_layers(back, labels, **OPTIONS).to_dict()
    assert found.pop("inputs")
    assert found == expected.to_dict()


@pytest.mark.parametrize("form", ["array", "list", "two layers"])
def test_layers_with_equal_rows_are_left_out(rng, form):
    y = np.repeat([0, 1], 30)
    first = np.tile(rng.standard_normal(8), (60, 1))
    layers = {"layer.0": first, "layer.1": rng.standard_normal((60, 8)) + np.eye(8)[y]}
    if form == "two layers":
        layers["layer.2"] = first + 1
    found = rank_layers(layers if form != "list" else list(layers.values()), y, n_draws=19, seed=0)
    assert len(found.layers) == 1
    assert any(text.endswith("whose rows are all equal, left out") for text in found.inputs)
    with pytest.raises(ValueError, match="must have rows that differ, got 60 equal rows"):
        rank_layers({"layer.0": first, "layer.1": first}, y, n_draws=19)
