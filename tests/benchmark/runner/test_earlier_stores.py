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
        "Cora": "190 63763d55a369",
        "SST2": "64 21557af004be",
        "MNLI": "64 1919c6c92dd9",
        "FashionMNIST": "120 b5ea26f8223f",
        "CIFAR10": "120 eff9b873f27c",
    },
    "paper": {
        "Cora": "190 63763d55a369",
        "Flickr": "150 49f2effca3dd",
        "OGBN-Arxiv": "150 1cec92d1fc07",
        "SST2": "110 fc77f31e6c72",
        "MNLI": "115 4875de3c0a05",
        "IN100": "350 ef34edc93b92",
        "CIFAR100": "350 7ecfadc67c1c",
    },
}
"""By suite and data: number of models, and the hash of their keys where the data's is 'data'."""
REAL = {
    ("Cora", "GCN"): ("afa03bd97792b1bb5fe0", "4609f54c3f2f13e34862"),
    ("SST2", "MiniLM"): ("d7967e984102d51e9d8d", "52a52cf4b77600482d71"),
    ("MNLI", "MiniLM"): ("84e675d5489c806bd9d3", "29c54bf8ea3d931ec566"),
    ("FashionMNIST", "ResNet"): ("2171944ace1aa4e40c8f", "c1d3ceb476099e84ae9e"),
    ("FashionMNIST", "ViT"): ("b9ffc831fb1d0f4cf8d8", "5d4c7690aada8d787509"),
    ("CIFAR10", "ResNet"): ("b84c83f9415ac0739747", "0c957f2142ed110555da"),
}
"""Hash of the data, and key of the first of the models whose layers are compared."""


@pytest.mark.parametrize("name", KEYS)
def test_models_keep_their_keys(name: str) -> None:
    found: dict[str, list[str]] = {}
    for task in suite(name).tasks:
        found.setdefault(task.dataset, []).extend(model.key("data") for model in required_models(trials([task])))
    assert {data: f"{len(keys)} {_digest(keys)}" for data, keys in found.items()} == KEYS[name]


def _digest(keys: list[str]) -> str:
    return hashlib.sha256(" ".join(keys).encode()).hexdigest()[:12]


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
