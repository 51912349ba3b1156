"""How far a run is, before and after the models of a test are trained."""

import shutil

import pandas as pd
import pytest

from shesha_bench import Store, run_suite, status
from shesha_bench.measure_entries import entries, make_entry
from shesha_bench.run_plan import required_models, trials
from shesha_bench.run_status import general
from shesha_bench.run_suite import run
from shesha_bench.runner import Run

MEASURES = ["CKA", "LinReg"]
ALL_LAYERS = 3 * (6 + 12)
"""Three models of four layers: six pairs, twelve of the asymmetric measure."""


def layers(store, toy):
    return status(store, toy).set_index("test").loc["layer_monotonicity"]


@pytest.fixture
def planned(here, toy):
    """A store that knows what is to be done, and nothing else."""
    keys = run_suite._keys(required_models(trials(toy.tasks)))
    with Store("a.sqlite") as opened:
        opened.describe(suite="toy")
        opened.plan({key: model for model, key in keys.items()})
        opened.add_entries(map(make_entry, entries(MEASURES)))
    return keys


def test_comparisons_of_layers_are_unknown_until_a_model_tells_its_layers(planned, toy):
    assert layers("a.sqlite", toy)["comparisons"] is pd.NA
    assert status("a.sqlite", toy).set_index("test").loc["accuracy", "comparisons"] == 15 + 30
    assert layers("a.sqlite", toy)[["models", "trained", "compared", "without value"]].tolist() == [3, 0, 0, 0]


def test_they_are_known_from_the_first_model_on(planned, toy):
    with Store("a.sqlite") as opened:
        working = Run(
            opened, trials(toy.tasks, ["layer_monotonicity"]), entries(MEASURES), planned, run_suite._executor(1, None)
        )
        working._plan_training()
        job = working._training[0]
        working.keep_result(job, job.call(*job.arguments))
        far = layers(opened, toy)
    assert far[["trained", "comparisons", "compared"]].tolist() == [1, ALL_LAYERS, 0]
    shutil.rmtree("a.sqlite.models")
    assert layers("a.sqlite", toy)["comparisons"] is pd.NA


def test_they_are_known_without_the_models_once_some_are_made(here, toy):
    run(toy, store="a.sqlite", measures=MEASURES, tests=["layer_monotonicity"])
    shutil.rmtree("a.sqlite.models")
    with Store("a.sqlite") as opened:
        opened.add_entries(map(make_entry, entries([*MEASURES, "RSA"])))
    assert layers("a.sqlite", toy)[["comparisons", "compared"]].tolist() == [ALL_LAYERS + 18, ALL_LAYERS]


def test_models_that_all_fail_leave_nothing_to_compare(here, toy, faults):
    faults({f"standard {seed}": "raises" for seed in range(3)})
    run(toy, store="a.sqlite", measures=MEASURES, tests=["layer_monotonicity"])
    assert layers("a.sqlite", toy)[["models failed", "comparisons"]].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("0123456789abcdef0123//last: all rows are equal", "all rows are equal"),
        ("zero rows have no cosine distance: rows 3, 17 and 6 more", "zero rows have no cosine distance: rows"),
        ("needs equal widths, got 16 and 32 features", "needs equal widths, got 16 and 32 features"),
        ("more than half of the rows are zero in either: 21 of 40", "more than half of the rows are zero in either"),
    ],
)
def test_reasons_are_told_without_models_and_rows(reason, expected):
    assert general(reason) == expected
