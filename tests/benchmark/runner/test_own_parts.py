"""A data set and a network of one's own are one file, with one line in a suite: the runner trains them."""

import importlib
import re
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

from shesha.cli._app import app
from shesha_bench import results, status, suite, task
from shesha_bench.jobs import Archive
from shesha_bench.run_suite import run
from shesha_bench.store import Store, StoreError
from shesha_bench.suites import catalogue


@pytest.fixture
def parts(patch):
    return importlib.import_module("toy_parts")


geometric = pytest.mark.skipif(find_spec("torch_geometric") is None, reason="torch-geometric is not installed")
transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")


@geometric
def test_a_graph_and_a_network(parts, here):
    store = here / "a.sqlite"
    found = run("toy_parts:graphs", store=store, measures=["CKA", "RSA"], tests="label_randomization")
    assert (
        list(zip(found["dataset"], found["architecture"], strict=True))
        == [("toy_parts:RING", "toy_parts:PERCEPTRON")] * 4
    )
    assert found["value"].between(0, 1).all() and (found["n"] == 6).all() and (found["reason"] == "").all()
    far = status(store, suite("toy_parts:graphs")).set_index("test")
    assert far.loc["label_randomization", ["models", "trained", "compared"]].tolist() == [4, 4, 12]
    with Store(store, create=False) as opened:
        keys = opened.keys()
        archive = Archive(opened.models_folder)
    assert set(keys) == {
        ("graph", "toy_parts:RING", "toy_parts:PERCEPTRON", kind, degree, seed)
        for kind, degree in (("standard", 0), ("labels", 1))
        for seed in (0, 1)
    }
    assert archive.layer(f"{next(iter(keys.values()))}//last").shape == (30, 6)


@geometric
def test_a_graph_goes_with_a_network_of_the_benchmark(parts, here):
    found = run("toy_parts:mixed", store="a.sqlite", measures="CKA", tests="augmentation")
    assert found["value"].notna().all() and set(found["architecture"]) == {"GCN"}
    assert catalogue("graph").hyperparameters("toy_parts:RING", "GCN")["hidden"] == 6


def test_images_and_a_network(parts, here):
    found = run("toy_parts:images", store="a.sqlite", measures="CKA")
    assert set(found["test"]) == {
        *("accuracy", "jsd", "disagreement", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")
    }
    with Store("a.sqlite", create=False) as opened:
        key = next(key for place, key in opened.keys().items() if place[3] == "standard")
        archive = Archive(opened.models_folder)
    assert archive.layer(f"{key}//0").shape == (12, 4, 2, 2)
    assert archive.layer(f"{key}//1").shape == (12, 4, 1, 1)


@transformers
def test_texts_and_a_network(parts, here):
    found = run("toy_parts:texts", store="a.sqlite", measures="CKA", tests=["label_randomization", "augmentation"])
    assert set(found["test"]) == {"label_randomization", "augmentation"} and set(found["pooling"]) == {"cls", "mean"}
    assert found.groupby("test")["n"].unique().to_dict() == {"label_randomization": [15], "augmentation": [6]}


def said(*words):
    ended = CliRunner().invoke(app, ["bench", *words], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_a_suite_of_ones_own_is_read_where_it_is_named(parts, here):
    said("run", "toy_parts:images", "--measure", "CKA", "--test", "shortcut", "--store", "a.sqlite")
    own = ("--store", "a.sqlite", "--suite", "toy_parts:images")
    assert "toy_parts:COLOURS" in said("status", *own)
    assert "| RSM | CKA |" in said("table", *own)
    assert re.search(r"^vision +CKA +- +- +- +1 +0$", said("rank", *own), re.MULTILINE)
    assert "toy_parts:CONVOLUTION" in said("export", "-", *own)
    assert "## Shortcut affinity" in said("report", "-", *own)


def test_a_store_does_not_say_what_is_imported(parts, here):
    run("toy_parts:images", store="a.sqlite", measures="CKA", tests="shortcut")
    with pytest.raises(StoreError, match=r"of suite 'toy_parts:images'; pass your suite with --suite module:name"):
        results("a.sqlite")
    assert len(results("a.sqlite", suite("toy_parts:images"))) == 2


def test_what_is_declared_closer_goes_first():
    vision = catalogue("vision")
    assert vision.hyperparameters("CIFAR100", "RNet18")["extent"] == 4
    assert vision.hyperparameters("CIFAR100", "VGG11")["extent"] == 2
    assert vision.hyperparameters("IN100", "VGG11")["extent"] == 7
    found = task("vision", "CIFAR10", "VGG", "small", hyper={"epochs": 1}, n_models=3)
    assert found.hyper["epochs"] == 1 and found.n_models == 3 and found.n_per_group == 4
