"""What a change changed: verdicts beside noise, rows that moved, and what is refused."""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.changes.class_distance_changes import judge, noise_limit
from shesha.changes.layer_sources import ALONE, _as_mapping


def rotation(d, rng):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


@pytest.fixture
def layers(rng):
    first = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 16)) + 0.5 * rng.standard_normal((120, 16))
    return {"embeddings": first, "block.0": np.tanh(first @ rng.standard_normal((16, 12)) / 4)}


def noisy(layers, rng, share):
    return {name: X + share * X.std() * rng.standard_normal(X.shape) for name, X in layers.items()}


def test_rotation_and_scale_leave_a_geometry_unchanged(layers, rng):
    after = {name: 3 * X @ rotation(X.shape[1], rng) for name, X in layers.items()}
    found = shesha.diff(layers, after)
    assert [one.verdict for one in found] == ["unchanged", "unchanged"]
    assert found.changed == []
    assert found.headline.startswith("Nothing changed")


def test_a_layer_that_did_not_change_has_no_width(layers):
    same = shesha.diff(layers, layers)["block.0"]
    assert all((score.value, score.low, score.high) == (0.0, 0.0, 0.0) for score in (same, *same.scores))


def test_a_change_is_told_from_noise_by_layer(layers, rng):
    again = [noisy(layers, rng, 0.02) for _ in range(3)]
    after = noisy(layers, rng, 0.02)
    after["block.0"] = noisy(layers, rng, 0.4)["block.0"]
    found = shesha.diff(layers, after, again=again)
    assert found.layers["embeddings"].verdict == "within noise"
    assert found.layers["block.0"].verdict == "changed"
    assert found.changed == ["block.0"]
    one = found["block.0"]
    assert all(score.low < score.value < score.high for score in (one, *one.scores))
    assert one.low > 2 * one.noise == one.limit
    assert found.headline.startswith("1 of 2 layers changed beyond noise. The largest change is in block.0: ")


@pytest.mark.parametrize("done", [0, 1])
def test_an_interrupt_keeps_the_layers_so_far(done, layers, monkeypatch):
    steps = importlib.import_module("shesha.changes.diff")
    work, calls = steps.layer_change, []

    def interrupted(*args):
        if len(calls) == done:
            raise KeyboardInterrupt
        calls.append(args)
        return work(*args)

    monkeypatch.setattr(steps, "layer_change", interrupted)
    if not done:
        with pytest.raises(KeyboardInterrupt):
            shesha.diff(layers, layers)
    else:
        found = shesha.diff(layers, layers)
        assert found.interrupted
        assert list(found.layers) == ["embeddings"]


def test_an_unrelated_layer_is_replaced(layers, rng):
    found = shesha.diff(layers, {name: rng.standard_normal(X.shape) for name, X in layers.items()})
    assert {one.verdict for one in found} == {"replaced"}


def test_runs_of_the_same_change_set_the_floor(layers, rng):
    runs = [noisy(layers, rng, 0.3) for _ in range(3)]
    found = shesha.diff(layers, runs[0], also=runs[1:])
    # Each run is as far from the next as two doses of noise are: twice what lies between base and run.
    assert {one.verdict for one in found} == {"within noise"}
    assert found.n_noise == 3
    assert "3 runs" in found.noise_source


def test_rows_that_moved_are_found_by_their_neighbours(layers, rng):
    moved = [5, 17, 60]
    after = {name: X.copy() for name, X in layers.items()}
    for X in after.values():
        X[moved] = X[moved][:, rng.permutation(X.shape[1])] * -1
    labels = np.repeat(["a", "b"], 60)
    found = shesha.diff(layers, after, labels)
    assert set(found.rows["row"].head(3)) == set(moved)
    assert found.rows["name"].iloc[0].startswith("row ")
    assert dict(zip(found.rows["row"], found.rows["label"], strict=True))[60] == "b"


def test_texts_and_names_of_rows_call_the_rows(layers):
    frames = {name: pd.DataFrame(X, index=[f"cell {i}" for i in range(120)]) for name, X in layers.items()}
    after = {name: X.sample(frac=1, random_state=0) for name, X in frames.items()}
    with pytest.warns(shesha.RowNamesWarning, match="so they were matched by name"):
        found = shesha.diff(frames, after)
    assert [one.verdict for one in found] == ["unchanged", "unchanged"]
    moved = {name: X + np.eye(120, X.shape[1]) for name, X in frames.items()}
    assert shesha.diff(frames, moved).rows["name"].str.startswith("cell ").all()


def test_groups_widen_the_interval(layers, rng):
    shift = np.repeat(rng.standard_normal((12, 1)), 10, axis=0)
    after = {name: X + shift * rng.standard_normal(X.shape[1]) for name, X in layers.items()}
    donors = np.repeat(np.arange(12), 10)
    alone, grouped = shesha.diff(layers, after), shesha.diff(layers, after, groups=donors)
    width = {id(found): found["embeddings"].high - found["embeddings"].low for found in (alone, grouped)}
    assert grouped["embeddings"].value == alone["embeddings"].value
    assert width[id(grouped)] > width[id(alone)]


def test_single_arrays_and_files_are_taken(tmp_path, layers):
    X = layers["embeddings"]
    np.save(tmp_path / "before.npy", X)
    np.savez(tmp_path / "before.npz", **layers)
    assert len(shesha.diff(X, 2 * X).layers) == len(shesha.diff([X], [2 * X]).layers) == 1
    found = shesha.diff(tmp_path / "before.npz", layers)
    assert [one.verdict for one in found] == ["unchanged"] * 2
    assert len(shesha.diff(str(tmp_path / "before.npy"), X).layers) == 1


@pytest.mark.parametrize(("side", "layer"), [([[]], "representation"), ([[[1.0, 2.0]]], "0")])
def test_lists_without_enough_rows_are_refused(side, layer):
    with pytest.raises(ValueError, match=rf"before\['{layer}'\] must have at least 4 rows, got 1"):
        shesha.diff(side, side)


def test_many_rows_are_drawn_and_said(layers):
    found = shesha.diff(layers, layers, max_rows=50)
    assert (found.n_scored, found.n_rows) == (50, 120)
    assert "50 of 120 rows" in " ".join(str(found).split())


def test_layers_of_other_things_are_to_be_compared_one_at_a_time():
    rng = np.random.default_rng(0)
    before = {"users": rng.standard_normal((40, 6)), "items": rng.standard_normal((30, 6))}
    with pytest.raises(ValueError, match=r"different numbers of rows \(users 40, items 30\); compare one at a time"):
        shesha.diff(before, {name: X + 0.1 for name, X in before.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: {"a": X, "b": X},
            r"before and after must share names of layers or have the same number of layers, got embedd",
        ),
        (lambda X: {"embeddings": X[:50]}, r"after\['embeddings'\] must have the 120 rows of before.* got 50 rows"),
        (lambda X: {"embeddings": X[:, 0]}, "2-D"),
        (lambda X: {}, "after must contain at least one layer, got none"),
    ],
)
def test_what_cannot_be_compared_is_refused(layers, change, message):
    with pytest.raises(ValueError, match=message):
        shesha.diff({**layers, "c": layers["block.0"]}, change(layers["embeddings"]))


def test_limits_and_verdicts():
    assert noise_limit([0.1, np.nan]) == 0.2
    assert noise_limit([0.1] * 19) == 0.1
    assert np.isnan(noise_limit([]))
    assert judge(0.3, np.nan, 0.2) == "changed"
    assert judge(np.nan, np.nan, 0.2) == "not estimable"


def test_a_layer_whose_rows_are_all_equal_is_no_answer_but_a_reason(layers):
    after = {**layers, "block.0": np.ones_like(layers["block.0"])}
    found = shesha.diff(layers, after, np.repeat(["a", "b"], 60))
    assert found["block.0"].verdict == "not estimable"
    assert found["embeddings"].verdict == "unchanged"
    assert any("block.0: " in note for note in found.notes)
    alone = shesha.diff(layers["block.0"], after["block.0"])
    assert alone.headline.startswith("No layer could be evaluated")


def test_rows_that_moved_are_looked_for_among_some_of_very_many(monkeypatch, layers):
    monkeypatch.setattr(sys.modules["shesha.changes.diff"], "_LOOKED_AT", 60)
    moved = {name: np.vstack([X[:60], -X[60:]]) for name, X in layers.items()}
    found = shesha.diff(layers, moved)
    assert "used 60 random rows of 120" in found.notes[0]
    assert found.rows["row"].between(0, 119).all()
    assert found.rows["row"].max() > 60


def test_lists_of_rows_are_one_layer_and_lists_of_arrays_are_several(rng):
    X = rng.standard_normal((6, 3))
    assert list(_as_mapping(X.tolist(), "before", None)) == list(_as_mapping(X, "before", None)) == [ALONE]
    assert list(_as_mapping([X, X], "before", None)) == [0, 1]


@pytest.mark.parametrize("copied", [-1, 0, 1])
def test_copies_of_a_run_are_no_further_runs(copied):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    runs = [X + 0.3 * rng.standard_normal(X.shape) for _ in range(3)]
    runs[abs(copied) + (copied >= 0)] = X if copied < 0 else runs[copied]
    with pytest.raises(ValueError, match=rf"also\[{max(copied, 0)}\] must be another run of the change"):
        shesha.diff(X, runs[0], also=runs[1:])
    found = shesha.diff(X, runs[0], again=[X])
    assert any("copy that tells nothing about noise" in text for text in found.inputs)


@pytest.mark.parametrize(("order", "named"), [(slice(None), False), (slice(None, None, -1), True)])
def test_a_further_run_in_another_order_is_named(rng, order, named):
    X = rng.standard_normal((120, 5)) @ rng.standard_normal((5, 16))
    after, run = (X + 0.3 * rng.standard_normal(X.shape) for _ in range(2))
    turn = np.linalg.qr(rng.standard_normal((16, 16)))[0]
    found = shesha.diff(X, after, also=[run[order] @ turn])
    assert any("also[0] is no closer to after than unrelated rows are" in text for text in found.inputs) == named
