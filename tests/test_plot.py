"""Pictures of results: what is drawn, and that every one takes and returns Axes."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import shesha
from shesha.charts import heat_map
from shesha.drift import DriftMonitor


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40, 8))
    noisy = {f"a{i}": first + 0.2 * rng.normal(size=first.shape) for i in range(2)}
    return {"b": second, **noisy, "c": second + 0.2 * rng.normal(size=second.shape)}


@pytest.fixture(scope="module")
def pairs(models):
    return shesha.compare_all(models, ["CKA", "OrthProc"])


def frames(ax):
    return [patch for patch in ax.patches if not patch.get_fill()]


def test_alike_ones_stand_beside_one_another(pairs):
    plain = pairs.plot("CKA")
    assert [label.get_text() for label in plain.get_xticklabels()] == ["b", "a0", "a1", "c"]
    _, ax = plt.subplots()
    assert pairs.plot("orthproc", cluster=True, ax=ax) is ax
    order = [label.get_text() for label in ax.get_xticklabels()]
    assert abs(order.index("a0") - order.index("a1")) == 1
    assert abs(order.index("b") - order.index("c")) == 1
    assert frames(plain) == []


def test_the_map_says_how_much_it_shows(pairs):
    ax = pairs.plot_map("CKA", groups=["second", "first", "first", "second"])
    assert ax.get_xlabel().endswith("% of the squared distances")
    assert [text.get_text() for text in ax.texts] == ["b", "a0", "a1", "c"]
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"first", "second"}


def test_spectra_are_shares_of_the_variance():
    ax = shesha.descriptors.plot_spectra({"line": np.outer(np.arange(9.0), [1, 2]), "plane": np.eye(9)[:, :2]})
    first, second = ax.lines
    assert first.get_ydata() == pytest.approx([1.0])
    assert second.get_ydata().sum() == pytest.approx(1.0)


def test_drift_over_checkpoints_and_over_checks(models):
    ax = shesha.drift_path(models).plot()
    assert len(ax.lines) == 2
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 6))
    monitor = DriftMonitor(X, nulls=[X + 1e-2 * rng.normal(size=X.shape) for _ in range(19)], false_alarm=0.05)
    monitor.check(X)
    monitor.check(X + 0.5 * rng.normal(size=X.shape))
    drift, threshold = monitor.plot().lines
    assert drift.get_ydata()[1] > threshold.get_ydata()[1] > drift.get_ydata()[0]
    with pytest.raises(ValueError, match=r"measure must be one of .*, got 'no'"):
        monitor.plot("no")
    with pytest.raises(ValueError, match="must have checked encodings before they can be drawn, got no check"):
        DriftMonitor(X, tolerance=0.1).plot()


def test_a_grid_has_the_style_asked_for_and_frames_the_partners_above_chance():
    rng = np.random.default_rng(0)
    layers = {str(k): rng.standard_normal((30, 5)) for k in range(3)}
    found = shesha.calibrate_layers(layers, layers, n_permutations=99, seed=0)
    ax = found.plot(title="mine", vmin=-1, vmax=2, cmap="cividis", annotate=False, size=(4, 3))
    assert ax.get_title() == "mine"
    assert ax.images[0].get_clim() == (-1, 2)
    assert ax.images[0].get_cmap().name == "cividis_r"
    assert not ax.texts
    assert tuple(ax.figure.get_size_inches()) == (4, 3)
    framed = {(round(one.get_y() + 0.5), round(one.get_x() + 0.5)) for one in ax.patches}
    assert framed == {(0, 0), (1, 1), (2, 2)}
    with pytest.raises(ValueError, match=r"vmin must be below vmax \(0\), got 1"):
        found.plot(vmin=1, vmax=0)
    with pytest.raises(ValueError, match=r"vmin must be below vmax \(1\), got 1"):
        found.plot(vmin=1, vmax=1)
    with pytest.raises(TypeError, match=r"style must be among title, .*, size, got color, vmi"):
        found.plot(vmi=1, color="red")
    assert found.plot(title=None, vmin=0, vmax=None).images[0].get_clim()[0] == 0


def test_the_closest_pair_is_framed_where_none_is_significant():
    rng = np.random.default_rng(0)
    layers = [{str(k): rng.standard_normal((30, 5)) for k in range(3)} for _ in range(2)]
    found = shesha.calibrate_layers(*layers, n_permutations=19, seed=0)
    assert found.framed_cells == ((int(found.closest.first), int(found.closest.second)),)


def test_numbers_are_written_only_where_they_fit():
    table = np.linspace(0, 1, 144).reshape(12, 12)
    names = [str(k) for k in range(12)]
    assert len(heat_map(table, names, names).texts) == 144
    _, axes = plt.subplots(4, 4, figsize=(6, 6))
    assert not heat_map(table, names, names, ax=axes[0, 0]).texts
    assert len(heat_map(table, names, names, annotate=True, ax=axes[0, 1]).texts) == 144


def test_calibrated_pairs_are_framed_by_their_corrected_p_values():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    many = {"a": X, "b": X + 0.1 * rng.standard_normal((40, 5)), "c": rng.standard_normal((40, 5))}
    pairs = shesha.compare_all(many, "CKA", calibrate=True, n_permutations=99, seed=0)
    ax = pairs.plot("CKA")
    framed = {(round(one.get_y() + 0.5), round(one.get_x() + 0.5)) for one in ax.patches}
    assert framed == {(0, 1), (1, 0)}


def test_ordered_layers_have_colours_from_dark_to_light():
    rng = np.random.default_rng(0)
    ax = shesha.descriptors.plot_spectra({str(k): rng.standard_normal((30, 5)) for k in range(4)}, ordered=True)
    light = [sum(to_rgb(line.get_color())) for line in ax.get_lines()]
    assert light == sorted(light)
    assert len(set(light)) == 4


_RNG = np.random.default_rng(0)
SMALL, OTHER = _RNG.standard_normal((2, 40, 6))
LABELS, SHOWN, RUNS = np.repeat(list("ab"), 20), np.tile(np.arange(4), 10), np.repeat([0, 1], 20)
LAYERS = {"one": SMALL, "two": SMALL + OTHER}
FEW = {"n_permutations": 39, "seed": 0}
RESULTS = {
    "Comparison": lambda: shesha.compare(SMALL, OTHER, ["CKA", "RSA", "OrthProc"], calibrate=True, **FEW),
    "raw Comparison": lambda: shesha.compare(SMALL, OTHER, ["CKA", "mutual kNN"], calibrate=False),
    "Estimate": lambda: shesha.estimate(SMALL, **FEW),
    "DriftPath": lambda: shesha.drift_path({f"day {i}": SMALL + i * OTHER for i in range(30)}),
    "Doubts": lambda: shesha.doubts(np.vstack([SMALL, SMALL[:9]]), seed=0),
    "Audit": lambda: shesha.audit(LAYERS, LABELS, **FEW),
    "Diff": lambda: shesha.diff(LAYERS, {"one": SMALL, "two": OTHER}, seed=0),
    "LayerComparison": lambda: shesha.compare_layers(LAYERS, LAYERS, "CKA", calibrate=True, **FEW),
    "named pairs": lambda: shesha.compare_all({"pair": (SMALL, OTHER)}, "CKA", calibrate=True, **FEW),
    "PairwiseComparison": lambda: shesha.compare_all(LAYERS, ["CKA"], calibrate=True, **FEW),
    "WithinClasses": lambda: shesha.compare_within(SMALL, OTHER, LABELS, ["CKA"], **FEW),
    "CrossnobisPairs": lambda: shesha.neuro.crossnobis_test(SMALL, SHOWN, RUNS, **FEW),
    "Number": lambda: shesha.calibrate(SMALL, OTHER, "RSA", **FEW),
}


@cache
def result(name):
    return RESULTS[name]()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_draws_on_given_axes_under_a_given_title(name):
    _, ax = plt.subplots()
    assert result(name).plot(ax=ax, title="a $title") is ax
    assert ax.get_title() == r"a \$title"
    assert ax.has_data()


def test_what_has_no_values_says_so():
    with pytest.raises(ValueError, match="result must have values to be drawn, got Faults"):
        shesha.results.Faults().plot()


def test_scores_on_other_scales_are_named_and_not_drawn():
    ax = result("Comparison").plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["CKA", "RSA"]
    assert ax.get_xlabel() == "value\nnot drawn, other scales: OrthProc"
    assert ax.get_xlim()[1] == pytest.approx(1.02)


def test_a_long_path_names_every_second_step():
    ax = result("DriftPath").plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"day {i}" for i in range(0, 30, 2)]


def test_the_title_is_above_the_legend():
    ax = result("Diff").plot(title="title")
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 > ax.get_legend().get_window_extent().y1 - 1


def test_colours_show_the_full_range_and_orders_of_p_values():
    (image,) = result("PairwiseComparison").plot().images
    assert image.get_clim() == (0.0, 1.0)
    (image,) = result("PairwiseComparison").plot(vmin=0.2, vmax=0.7).images
    assert image.get_clim() == (0.2, 0.7)
    ps = np.array([[0.001, 0.01], [0.1, 1.0]])
    (image,) = heat_map(ps, ["a", "b"], ["a", "b"], closer="lower", logarithmic=True).images
    assert np.diff(np.asarray(image.norm(ps.ravel()))) == pytest.approx([1 / 3] * 3)


def test_many_times_share_ten_names():
    names = [f"{0.01 * i:g}" for i in range(60)]
    ax = heat_map(np.random.default_rng(0).random((60, 60)), names, names)
    assert [label.get_text() for label in ax.get_xticklabels()] == names[::6]
