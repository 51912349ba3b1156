"""Workers: local processes, Dask, failures."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from shesha.runs import LocalProcesses, search_paths
from shesha.views import Representation
from shesha_bench import Store, run_suite, suites
from shesha_bench.jobs import Archive
from shesha_bench.report_page import report
from shesha_bench.run_suite import describe_missing_rows, run, status
from shesha_bench.stored_results import accuracies, comparisons

from .reading import cells, key_of

DIED = "worker died"


def test_a_measure_that_kills_its_worker_costs_its_chunk_alone(here, toy, monkeypatch, patch):
    toy_measures = importlib.import_module("toy_measures")
    options = {"store": "a.sqlite", "tests": ["shortcut"]}
    # Models are trained here, so that workers need not import torch.
    run(toy, **options, measures=["toy_measures:one_more"])
    archive = Archive(here / "a.sqlite.models")
    (first, second, *_) = next(row for row in cells("a.sqlite"))
    rows = [Representation.build(archive.layer(name)).rows for name in (first, second)]
    monkeypatch.setenv("TOY_VICTIM", toy_measures._print_of(*rows))
    monkeypatch.setattr(suites, "_SECONDS", 10 * suites._PLAIN)
    monkeypatch.setattr(run_suite, "_executor", lambda *_: LocalProcesses(2, search_paths()))
    found = run(toy, **options, measures=["toy_measures:killing", "CKA"])
    own = [row for row in cells("a.sqlite") if row[2] == "killing"]
    lost = [row for row in own if row[3] is None]
    assert len(own) == 63
    assert (first, second) in {row[:2] for row in lost}
    assert 1 <= len(lost) <= 10
    assert all(DIED in row[4] for row in lost)
    assert [row[3] is None for row in cells("a.sqlite") if row[2] == "CKA"] == [False] * 36
    assert found[found["measure"] == "killing"]["dropped"].tolist() == [len(lost)] * 2


STANDARD_1 = "standard 1"


def test_a_measure_that_raises_has_no_values_and_no_scores_but_reasons(here, toy):
    found = run(toy, store="a.sqlite", measures=["toy_measures:raising", "CKA"])
    own = found[found["measure"] == "raising"]
    assert len(own) == len(found) / 2 == 12
    assert own["value"].isna().all()
    assert (own["n"] == 0).all()
    assert (own["reason"] != "").all()
    assert found[found["measure"] == "CKA"]["value"].notna().all()
    reasons = {reason for *_, measure, _, reason in cells() if measure == "raising"}
    assert reasons == {"failed: ArithmeticError: cannot be done"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sometimes_raising", "failed: ArithmeticError: cannot be done for these"),
        ("sometimes_nan", "the measure returned nan without a reason"),
    ],
)
def test_pairs_without_a_value_are_left_out_and_counted(here, toy, name, reason):
    found = run(toy, store="a.sqlite", measures=[f"toy_measures:{name}"], tests=["accuracy", "shortcut"])
    without = [row for row in cells() if row[3] is None]
    assert {row[4] for row in without} == {reason}
    assert all(row[4] == "" for row in cells() if row[3] is not None)
    # Thirty ordered pairs of six models, 63 of the groups: of 93 pairs about a fifth has no value.
    assert 5 < len(without) < 40
    accuracy = found.set_index("test").loc["accuracy"]
    assert accuracy["n"] + accuracy["dropped"] == 30
    standard = {key_of("standard", 0.0, seed) for seed in range(6)}
    assert accuracy["dropped"] == sum(row[0].split("/")[0] in standard for row in without)
    assert math.isfinite(accuracy["value"])
    shortcut = found[found["test"] == "shortcut"]
    assert (shortcut["n"] + shortcut["dropped"] == 63).all()
    assert shortcut["value"].notna().all()
    far = status("a.sqlite", toy).set_index("test")["without value"]
    assert far["accuracy"] == far["output"] == accuracy["dropped"]
    assert far["shortcut"] == len(without) - accuracy["dropped"] == shortcut["dropped"].iloc[0]


def test_a_model_whose_training_raises_is_told_and_the_others_go_on(here, toy, faults):
    faults({"shortcut 0.5 1": "raises"})
    found = run(toy, store="a.sqlite", measures=["CKA"])
    told = accuracies("a.sqlite").set_index(["kind", "degree", "seed"]).loc[("shortcut", 0.5, 1)]
    assert math.isnan(told["accuracy"])
    assert told["reason"] == "RuntimeError: the loss is not finite"
    lost = [row for row in cells() if row[3] is None]
    failed = key_of("shortcut", 0.5, 1)
    assert len(lost) == 8
    assert all(failed in row[0] + row[1] for row in lost)
    assert {row[4] for row in lost} == {"no model: RuntimeError: the loss is not finite"}
    shortcut = found[found["test"] == "shortcut"]
    assert shortcut["dropped"].tolist() == [8, 8]
    assert shortcut["value"].notna().all()
    assert (found[found["test"] != "shortcut"]["dropped"] == 0).all()
    far = status("a.sqlite", toy).set_index("test")
    assert far["models failed"].to_dict() == dict.fromkeys(far.index, 0) | {"shortcut": 1}
    assert "no model: RuntimeError: the loss is not finite" in report("a.sqlite", of=toy)


def test_a_standard_model_that_fails_leaves_the_scores_to_the_others(here, toy, faults):
    faults({STANDARD_1: "raises"})
    found = run(toy, store="a.sqlite", measures=["CKA"]).set_index(["test", "quality"])
    for test in ("accuracy", "jsd", "disagreement"):
        assert found.loc[(test, "spearman"), ["n", "dropped"]].tolist() == [10, 5]
    assert found["value"].notna().all()
    assert "## Layer monotonicity" in report("a.sqlite", of=toy)


def test_what_failed_is_tried_again_only_on_request(here, toy, faults, monkeypatch):
    monkeypatch.setenv("TOY_LOG", str(here / "trained"))
    faults({"shortcut 0.5 1": "raises"})
    options = {"store": "a.sqlite", "measures": ["CKA"], "tests": ["shortcut"]}
    first = run(toy, **options)
    faults({})
    again = run(toy, **options)
    assert again.equals(first)
    assert len((here / "trained").read_text().splitlines()) == 9
    complete = run(toy, **options, retry_failed=True)
    assert (here / "trained").read_text().splitlines()[9:] == ["shortcut 0.5 1"]
    assert complete["dropped"].tolist() == [0, 0]
    assert complete["n"].tolist() == [36, 36]
    assert complete.equals(run(toy, store="b.sqlite", measures=["CKA"], tests=["shortcut"]))


def test_outputs_that_are_not_numbers_make_a_model_failed_and_stop_nothing(here, toy, faults):
    faults({STANDARD_1: "outputs nothing"})
    found = run(toy, store="a.sqlite", measures=["CKA"])
    told = accuracies("a.sqlite").query("kind == 'standard' and seed == 1").iloc[0]
    assert math.isnan(told["accuracy"])
    assert "probabilities" in told["reason"]
    assert set(found["test"]) >= {"accuracy", "jsd", "shortcut", "layer_monotonicity"}


def test_representations_that_are_not_numbers_cost_the_pairs_of_their_model_alone(here, toy, faults):
    faults({STANDARD_1: "represents nothing"})
    run(toy, store="a.sqlite", measures=["CKA", "LinReg"], tests=["accuracy"])
    bad = key_of("standard", 0.0, 1)
    with_it = [row[3] for row in cells() if bad in row[0] + row[1]]
    without_it = [row[3] for row in cells() if bad not in row[0] + row[1]]
    assert with_it == [None] * 15
    assert None not in without_it
    assert len(without_it) == 30


def test_a_damaged_file_of_a_model_is_named_or_made_again(here, toy):
    options = {"store": "a.sqlite", "tests": ["accuracy"]}
    run(toy, **options, measures=["CKA"])
    path = here / "a.sqlite.models" / f"{key_of('standard', 0.0, 1)}.npz"
    path.write_bytes(path.read_bytes()[:300])
    found = run(toy, **options, measures=["CKA", "RSA"])
    rsa = found[found["measure"] == "RSA"].iloc[0]
    assert rsa["n"] + rsa["dropped"] == 15
    reasons = {row[4] for row in cells() if row[3] is None}
    assert all(path.name in reason for reason in reasons)


def test_rows_for_which_a_model_is_off_are_left_out_counted_and_told(here, toy, faults):
    faults({STANDARD_1: "is off for some rows"})
    found = run(toy, store="a.sqlite", measures=["CKA", "Jaccard"], tests=["accuracy"])
    assert set(found["n"]) == {15}
    assert set(found["dropped"]) == {0}
    every = comparisons("a.sqlite")
    with_it = (every["seed_a"] == 1) | (every["seed_b"] == 1)
    expected = np.where(with_it & (every["measure"] == "Jaccard"), 3, 0)
    np.testing.assert_array_equal(every["rows_left_out"], expected)
    told = "- A on D: Jaccard (5, up to 3 rows)"
    with Store("a.sqlite", create=False) as opened:
        assert describe_missing_rows(opened) == told
    page = report("a.sqlite", of=toy)
    assert "## On fewer rows" in page
    assert f"\n{told}\n" in page
    assert page.endswith("\n\nAll 96 comparisons have a value.\n")
    faults({})
    run(toy, store="b.sqlite", measures=["Jaccard"], tests=["accuracy"])
    assert "## On fewer rows" not in report("b.sqlite", of=toy)


def test_a_group_of_one_model_has_no_score_but_a_reason(here, make_task):
    from shesha_bench.suites import Suite

    alone = Suite("alone", (make_task(n_per_group=1),))
    found = run(alone, store="a.sqlite", measures=["CKA"], tests=["shortcut"])
    assert found["value"].isna().all()
    assert set(found["reason"]) == {"group shortcut 0 has 1 model, so there are no pairs within it"}
