"""Pictures of results: what is drawn, and that every one takes and returns Axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import shesha
from shesha.drift import DriftMonitor


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 40, 8))
    noisy = {f"a{i}": first + 0.2 * rng.normal(size=first.shape) for i in range(2)}
    return {"b": second, **noisy, "c": second + 0.2 * rng.normal(size=second.shape)}


@pytest.fixture(scope="module")
def pairs(models):
    return shesha.compare_all(models, ["CKA", "OrthProc"])


def frames(ax):
    return [patch for patch in ax.patches if not patch.get_fill()]


def test_alike_ones_stand_beside_one_another(pairs):
    plain = shesha.plot.similarity(pairs, "CKA")
    assert [label.get_text() for label in plain.get_xticklabels()] == ["b", "a0", "a1", "c"]
    _, ax = plt.subplots()
    assert shesha.plot.similarity(pairs, "orthproc", cluster=True, ax=ax) is ax
    order = [label.get_text() for label in ax.get_xticklabels()]
    assert abs(order.index("a0") - order.index("a1")) == 1
    assert abs(order.index("b") - order.index("c")) == 1
    assert frames(plain) == []


def test_pairs_above_chance_are_framed_on_both_sides(pairs):
    p_values = {("a0", "a1"): 0.005, ("b", "c"): 0.005, ("a0", "b"): 0.4, ("a1", "b"): np.nan}
    assert len(frames(shesha.plot.similarity(pairs, "CKA", p_values=p_values))) == 4
    with pytest.raises(ValueError, match="p_values must name representations that were compared, got 'd'"):
        shesha.plot.similarity(pairs, "CKA", p_values={("a0", "d"): 0.1})


def test_the_map_says_how_much_it_shows(pairs):
    ax = shesha.plot.representations(pairs, "CKA", groups=["second", "first", "first", "second"])
    assert ax.get_xlabel().endswith("% of the squared distances are shown")
    assert [text.get_text() for text in ax.texts] == ["b", "a0", "a1", "c"]
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"first", "second"}


def test_spectra_are_shares_of_the_variance():
    ax = shesha.plot.spectra({"line": np.outer(np.arange(9.0), [1, 2]), "plane": np.eye(9)[:, :2]})
    first, second = ax.lines
    assert first.get_ydata() == pytest.approx([1.0])
    assert second.get_ydata().sum() == pytest.approx(1.0)


def test_drift_over_checkpoints_and_over_checks(models):
    ax = shesha.plot.drift(shesha.drift_path(models))
    assert len(ax.lines) == 2
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 6))
    monitor = DriftMonitor(X, nulls=[X + 1e-2 * rng.normal(size=X.shape) for _ in range(19)], false_alarm=0.05)
    monitor.check(X)
    monitor.check(X + 0.5 * rng.normal(size=X.shape))
    drift, threshold = shesha.plot.drift(monitor.history()).lines
    assert drift.get_ydata()[1] > threshold.get_ydata()[1] > drift.get_ydata()[0]
    with pytest.raises(ValueError, match=r"measure must be one of .*, got 'no'"):
        shesha.plot.drift(monitor.history(), "no")
    with pytest.raises(ValueError, match="path must hold at least one check, got none"):
        shesha.plot.drift([])


def test_others_are_those_of_their_results(models):
    from shesha.benchmark import published

    X, Y = models["a0"], models["b"]
    assert shesha.plot.null(shesha.calibrate(X, Y, n_permutations=19)).get_xlabel()
    assert shesha.plot.layer_grid(shesha.calibrate_layers([X, Y], [X, Y], n_permutations=19)).get_title()
    assert shesha.plot.stability(shesha.audit({"X": X}, n_bootstrap=0, n_permutations=0)) is not None
    assert len(shesha.plot.ranks(published())) == 3
