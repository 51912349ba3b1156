"""What each setting changes, counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shesha_bench.catalogue import Kind, Model, Setting
from shesha_bench.graphs.networks import Graph
from shesha_bench.graphs.training import (
    EdgeDropping,
    append_shortcuts,
    corrupt_labels,
    extraction_shortcuts,
    shortcut_classes,
)


def model(kind: Kind, degree: float, seed: int = 0) -> Model:
    return Model("graph", "Cora", "GCN", Setting(kind, degree), seed)


@pytest.fixture
def large() -> Graph:
    """1,000 nodes, a fifth in no split."""
    n = 1000
    part = torch.arange(n) % 5
    edge_index = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    y = torch.from_numpy(np.random.default_rng(0).integers(4, size=n))
    return Graph(torch.zeros(n, 2), edge_index, y, part == 0, part == 1, part == 2, 4)


@pytest.mark.parametrize(("degree", "count"), [(0, 0), (0.25, 250), (0.2504, 250), (1, 1000)])
def test_the_share_of_labels_is_wrong(large: Graph, degree: float, count: int) -> None:
    labels = corrupt_labels(large, model("labels", degree))
    assert int((labels != large.y).sum()) == count
    assert labels.min() >= 0 and labels.max() <= 3


def test_wrong_labels_are_uniform_over_the_other_classes(large: Graph) -> None:
    labels = corrupt_labels(large, model("labels", 1))
    for own in range(4):
        counts = np.bincount(labels[large.y == own], minlength=4)
        assert counts[own] == 0
        assert np.delete(counts, own).min() > 0.2 * counts.sum()


def test_wrong_labels_come_from_the_seed(large: Graph) -> None:
    first, again, other = (corrupt_labels(large, model("labels", 0.5, seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first != large.y, other != large.y)


def test_other_settings_keep_the_labels(large: Graph) -> None:
    assert corrupt_labels(large, model("shortcut", 0.5)) is large.y


@pytest.mark.parametrize(("degree", "wrong"), [(0, 200), (0.5, 100), (0.9, 20), (0.999, 0), (1, 0)])
@pytest.mark.parametrize("rows", ["fixed", "training"])
def test_the_share_of_shortcuts_is_true_where_training_sees_them(
    large: Graph, degree: float, wrong: int, rows: str
) -> None:
    shortcuts = shortcut_classes(large, model("shortcut", degree), rows)
    false = shortcuts != large.y
    assert int(false[large.train].sum()) == wrong == int(false[large.val].sum())
    assert false[large.test].all()
    unused = ~(large.train | large.val | large.test)
    assert false[unused].all() if rows == "fixed" else not false[unused].any()


def test_shortcuts_of_training_come_from_the_seed_and_those_of_the_test_nodes_do_not(large: Graph) -> None:
    first, again, other = (shortcut_classes(large, model("shortcut", 0.5, seed), "fixed") for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first[large.train], other[large.train])
    assert torch.equal(first[large.test], other[large.test])


def test_extraction_gives_all_models_the_same_random_shortcuts(large: Graph) -> None:
    first = extraction_shortcuts(large, model("shortcut", 1, 0), "fixed")
    assert torch.equal(first, extraction_shortcuts(large, model("shortcut", 0, 7), "fixed"))
    assert 0.15 < float((first == large.y).float().mean()) < 0.35


def test_extraction_may_use_the_shortcuts_of_training(large: Graph) -> None:
    own = model("shortcut", 0.5, 3)
    assert torch.equal(extraction_shortcuts(large, own, "training"), shortcut_classes(large, own, "training"))


def test_shortcuts_are_appended_as_ones() -> None:
    x = append_shortcuts(torch.full((2, 1), 0.5), torch.tensor([2, 0]), 3)
    assert x.tolist() == [[0.5, 0, 0, 1], [0.5, 1, 0, 0]]


@pytest.mark.parametrize("degree", [0.2, 0.8])
def test_edges_are_dropped_anew_in_each_epoch(large: Graph, degree: float) -> None:
    dropping = EdgeDropping(large.edge_index, model("augmentation", degree))
    drawn = [dropping.draw() for _ in range(20)]
    share = np.mean([edges.shape[1] for edges in drawn]) / 1000
    assert abs(share - (1 - degree)) < 0.02
    assert len({edges.shape[1] for edges in drawn}) > 1
    known = set(zip(*large.edge_index.tolist(), strict=True))
    kept = [set(zip(*edges.tolist(), strict=True)) for edges in drawn]
    assert all(edges <= known for edges in kept) and kept[0] != kept[1]
    again = EdgeDropping(large.edge_index, model("augmentation", degree)).draw()
    assert torch.equal(again, drawn[0])
    other = EdgeDropping(large.edge_index, model("augmentation", degree, seed=1)).draw()
    assert not torch.equal(other, drawn[0])
