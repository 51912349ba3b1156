"""Hyperparameters are those of the suites, and bad ones are refused."""

from __future__ import annotations

import pytest

from shesha_bench.language import hyperparameters
from shesha_bench.language.catalogue import CATALOGUE, DATA, NETWORKS
from shesha_bench.language.hyperparameters import Hyper
from shesha_bench.model_descriptions import Model, Setting


@pytest.mark.parametrize("dataset", DATA)
@pytest.mark.parametrize(("suite", "architecture"), [(s, a) for a, one in NETWORKS.items() for s in one.suites])
def test_every_suite_is_valid(dataset: str, suite: str, architecture: str) -> None:
    values = hyperparameters(dataset, architecture, suite)
    assert Hyper.check(values) == CATALOGUE.build(Model("language", dataset, architecture, Setting(), 0, {}))


def test_the_published_numbers() -> None:
    bert = Hyper.check(hyperparameters("MNLI", "BERT", "paper"))
    assert (bert.epochs, bert.batch_size, bert.learning_rate, bert.warmup) == (3, 64, 5e-5, 0.1)
    assert (bert.schedule, bert.weight_decay, bert.evaluate_every, bert.max_length) == ("linear", 0, 1000, 128)
    assert hyperparameters("SST2", "ALBERT", "paper")["epochs"] == 10
    smollm = hyperparameters("SST2", "SmolLM2", "paper")
    assert (smollm["steps"], smollm["batch_size"]) == (500, 16)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epochs", 0, "a whole number of at least 1"),
        ("batch_size", None, "a whole number of at least 1"),
        ("warmup", 1.5, "a number from 0 to 1"),
        ("learning_rate", -1.0, "a positive number"),
        ("weight_decay", -1.0, "a number of at least 0"),
        ("schedule", "flat", "one of linear, cosine"),
        ("max_length", 3, "a whole number of at least 8"),
        ("train_file", "../other.csv", "the name of a csv file"),
        ("reduced", 1, "True or False"),
    ],
)
def test_bad_values_are_refused(name: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=rf"hyper\['{name}'\] must be {expected}, got"):
        Hyper.check({name: value})  # type: ignore[dict-item]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"hyper must have names among epochs, .*got epoch"):
        Hyper.check({"epoch": 3})
    with pytest.raises(ValueError, match="dataset must be one of SST2, MNLI, got 'IMDB'"):
        hyperparameters("IMDB", "BERT", "paper")
    with pytest.raises(ValueError, match=r"architecture must be one of BERT, .*, got 'GPT'"):
        hyperparameters("SST2", "GPT", "paper")
    with pytest.raises(ValueError, match="architecture must be one of MiniLM, SmallBERT in the suite 'small'"):
        hyperparameters("SST2", "BERT", "small")
    with pytest.raises(ValueError, match="suite must be one of paper, small, got 'huge'"):
        hyperparameters("SST2", "BERT", "huge")
