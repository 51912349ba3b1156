"""Pictures of results: what is drawn, and that every one takes and returns Axes."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest

import shesha


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
