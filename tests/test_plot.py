"""Pictures of results: what is drawn, and that every one takes and returns Axes."""

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


def test_doubts_are_drawn_on_given_axes(models):
    _, ax = plt.subplots()
    found = shesha.doubts(np.vstack([models["b"], models["b"][:9]]), seed=0)
    assert found.plot(ax=ax, title="repeats") is ax and ax.has_data()


def test_what_has_no_values_says_so():
    with pytest.raises(ValueError, match="result must have values to be drawn, got Faults"):
        shesha.results.Faults().plot()
