"""What earlier runs wrote stays in use: models keep their keys, stores their scores.

`earlier/toy.sql.gz` is the store of a run of the toy suite by an earlier version, as SQL; `earlier/toy_scores.csv` is
what that version read from it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from shesha_bench import stored_results
from shesha_bench.domains import MissingDataError, domain
from shesha_bench.run_suite import run, status
from shesha_bench.store import Store
from shesha_bench.suites import required_models, suite, trials

EARLIER = Path(__file__).parent / "earlier"
MEASURES = ["CKA", "LinReg", "MagDiff"]
KEYS = {
    "small": {
        ("Cora", "GCN"): "50 334bbf5cd2d7",
        ("Cora", "SAGE"): "50 553861bad299",
        ("Cora", "GAT"): "50 e284f0df29f7",
        ("Cora", "PGNN"): "40 d5e160cacc71",
        ("SST2", "MiniLM"): "32 8be1fda1e310",
        ("SST2", "SmallBERT"): "32 a83fdb05aceb",
        ("MNLI", "MiniLM"): "32 8f19fe7713f9",
        ("MNLI", "SmallBERT"): "32 8d9717c8e461",
        ("FashionMNIST", "ResNet"): "40 b9df3ba882c6",
        ("FashionMNIST", "VGG"): "40 f2e4d05dc065",
        ("FashionMNIST", "ViT"): "40 dd72ad97a433",
        ("CIFAR10", "ResNet"): "40 2254207a3099",
        ("CIFAR10", "VGG"): "40 5a28e8a71acf",
        ("CIFAR10", "ViT"): "40 8abd993d115d",
    },
    "paper": {
        ("Cora", "GCN"): "50 334bbf5cd2d7",
        ("Cora", "SAGE"): "50 553861bad299",
        ("Cora", "GAT"): "50 e284f0df29f7",
        ("Cora", "PGNN"): "40 d5e160cacc71",
        ("Flickr", "GCN"): "50 9a0452c60722",
        ("Flickr", "SAGE"): "50 b0bc9b81b384",
        ("Flickr", "GAT"): "50 ab7ed7c90e9e",
        ("OGBN-Arxiv", "GCN"): "50 ecf8cf452a63",
        ("OGBN-Arxiv", "SAGE"): "50 b0be01ae22f7",
        ("OGBN-Arxiv", "GAT"): "50 158a32cd9c9c",
        ("SST2", "BERT"): "40 d13e7013c7be",
        ("SST2", "ALBERT"): "40 ba4473237829",
        ("SST2", "SmolLM2"): "30 b344fb27cf25",
        ("MNLI", "BERT"): "45 9c789b628ea8",
        ("MNLI", "ALBERT"): "40 2aeb8acbfcbd",
        ("MNLI", "SmolLM2"): "30 4d06088e9ec5",
        ("IN100", "RNet18"): "50 9a40a522858a",
        ("IN100", "RNet34"): "50 3e6c2d569756",
        ("IN100", "RNet101"): "50 4be49c063faf",
        ("IN100", "VGG11"): "50 7ee6f5c9c9bf",
        ("IN100", "VGG19"): "50 77e0b4d79692",
        ("IN100", "ViT B32"): "50 12d2612ac184",
        ("IN100", "ViT L32"): "50 bf6c848d6aef",
        ("CIFAR100", "RNet18"): "50 d11e45ef6c8d",
        ("CIFAR100", "RNet34"): "50 08907cea2c8e",
        ("CIFAR100", "RNet101"): "50 ed4ecec8d996",
        ("CIFAR100", "VGG11"): "50 2030fb3a0b89",
        ("CIFAR100", "VGG19"): "50 10398a732332",
        ("CIFAR100", "ViT B32"): "50 50ab980c8eb7",
        ("CIFAR100", "ViT L32"): "50 84f2d3a06a76",
    },
}
"""By suite and network on data: number of models, and the hash of their keys where the data's is 'data'."""
REAL = {
    ("Cora", "GCN"): ("afa03bd97792b1bb5fe0", "4609f54c3f2f13e34862"),
    ("Cora", "SAGE"): ("afa03bd97792b1bb5fe0", "3158b025715b1a639dae"),
    ("Cora", "GAT"): ("afa03bd97792b1bb5fe0", "3e5d78c6659dd08e9c68"),
    ("Cora", "PGNN"): ("afa03bd97792b1bb5fe0", "b273f737204a5a32c167"),
    ("SST2", "MiniLM"): ("d7967e984102d51e9d8d", "52a52cf4b77600482d71"),
    ("SST2", "SmallBERT"): ("d7967e984102d51e9d8d", "67c58a1afe6852d87fc6"),
    ("MNLI", "MiniLM"): ("84e675d5489c806bd9d3", "29c54bf8ea3d931ec566"),
    ("MNLI", "SmallBERT"): ("84e675d5489c806bd9d3", "c768c174459f2f2157d0"),
    ("FashionMNIST", "ResNet"): ("2171944ace1aa4e40c8f", "c1d3ceb476099e84ae9e"),
    ("FashionMNIST", "VGG"): ("2171944ace1aa4e40c8f", "1a0398e500a4c19c6997"),
    ("FashionMNIST", "ViT"): ("b9ffc831fb1d0f4cf8d8", "5d4c7690aada8d787509"),
    ("CIFAR10", "ResNet"): ("b84c83f9415ac0739747", "0c957f2142ed110555da"),
    ("CIFAR10", "VGG"): ("b84c83f9415ac0739747", "88c385dce7883e39aaab"),
    ("CIFAR10", "ViT"): ("b84c83f9415ac0739747", "bf45806cccabb45b480d"),
}
"""Hash of the data, and key of the first of the models whose layers are compared."""


@pytest.mark.parametrize("name", KEYS)
def test_models_keep_their_keys(name: str) -> None:
    found = {}
    for task in suite(name).tasks:
        keys = [model.key("data") for model in required_models(trials([task]))]
        digest = hashlib.sha256(" ".join(keys).encode()).hexdigest()[:12]
        found[task.dataset, task.architecture] = f"{len(keys)} {digest}"
    assert found == KEYS[name]


@pytest.mark.parametrize("place", REAL, ids=" ".join)
def test_data_keep_their_hashes(place: tuple[str, str]) -> None:
    if "SHESHA_DATA" not in os.environ:
        pytest.skip("SHESHA_DATA names no folder")
    task = next(one for one in suite("small").tasks if (one.dataset, one.architecture) == place)
    try:
        fingerprint = domain(task.domain).fingerprint(task.dataset, task.hyper)
    except (ImportError, MissingDataError) as error:
        pytest.skip(str(error))
    assert (fingerprint, task.model(task.layers, 0).key(fingerprint)) == REAL[place]


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    path = tmp_path / "toy.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(gzip.decompress((EARLIER / "toy.sql.gz").read_bytes()).decode())
    connection.close()
    return path


@pytest.fixture
def scores() -> pd.DataFrame:
    return pd.read_csv(EARLIER / "toy_scores.csv", keep_default_na=False, na_values={"p_value": [""]})


def same(found: pd.DataFrame, expected: pd.DataFrame, tolerance: float) -> None:
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=tolerance, atol=tolerance)


def test_an_earlier_store_has_the_scores_that_it_had(earlier: Path, scores: pd.DataFrame, toy) -> None:
    same(stored_results.results(earlier, toy), scores, 1e-12)


def test_an_earlier_store_is_complete(earlier: Path, toy) -> None:
    far = status(earlier, toy)
    assert len(far) == 6
    assert (far["compared"] == far["comparisons"]).all()


def test_a_new_run_has_the_keys_and_scores_of_the_earlier(here: Path, earlier: Path, scores: pd.DataFrame, toy) -> None:
    same(run(toy, store="new.sqlite", measures=MEASURES), scores, 1e-9)
    with Store(earlier, create=False) as old, Store("new.sqlite", create=False) as new:
        assert new.keys() == old.keys()
        assert {cell[:3] for cell in new.stored_comparisons()} == {cell[:3] for cell in old.stored_comparisons()}
