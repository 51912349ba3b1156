"""Parts of the pages of a run: the answer, reasons without numbers of rows, places, and a table of ranks."""

import numpy as np
import pandas as pd
import pytest

from shesha_bench.hyperparameters import NOT_NEGATIVE, PART, POSITIVE, SHARE, SWITCH, choice_of_words, count
from shesha_bench.leaderboard_ranks import _basis, _number
from shesha_bench.measure_ranks import CELL, PUBLISHED, rank_table, ranks_for_display
from shesha_bench.report_page import _answer
from shesha_bench.run_status import general


def ranks(means, sources=None):
    frame = pd.DataFrame({"domain": "graph", "measure": list(means), "mean": list(means.values())})
    return frame if sources is None else frame.assign(source=sources)


def test_without_ranks_there_is_no_answer():
    assert _answer(None) == "No test is complete yet."
    assert _answer(ranks({"CKA": 1.0})).startswith("Only CKA was run, and a single measure has no rank.")


def test_the_best_three_are_named_beside_chance():
    assert _answer(ranks({"A": 2.5, "B": 1.0, "C": 3.0, "D": 3.5})) == (
        "The best mean ranks over the domains are those of B (1.00), A (2.50), C (3.00), among 4 measures. By chance, "
        "each measure would have mean rank 2.5."
    )


def test_few_measures_beside_many_published_ones_have_places():
    means = {"A": 2.0, "B": 1.0, "C": 3.0, "D": 4.0}
    told = _answer(ranks(means, ["own", "published", "published", "published"]))
    assert told == "By mean rank over the domains, A ranks 2 of 4. The other 3 scores are the published ones."
    assert _answer(ranks(means, ["own", "own", "published", "published"])).startswith("The best mean ranks")


def test_means_are_over_domains():
    both = pd.concat([ranks({"A": 1.0, "B": 2.0}), ranks({"A": 4.0, "B": 2.0}).assign(domain="vision")])
    assert "B (2.00), A (2.50), among 2 measures. By chance, each measure would have mean rank 1.5" in _answer(both)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("0123456789abcdef0123/mean/last: all rows are equal", "all rows are equal"),
        ("more than half of the rows are zero: 21 of 40", "more than half of the rows are zero"),
        (
            "constant rows have no correlation distance: rows 3, 5 and 7 more",
            "constant rows have no correlation distance: rows",
        ),
        ("not enough columns 2 for 3", "not enough columns"),
        ("other: words", "other: words"),
    ],
)
def test_reasons_are_counted_without_their_numbers(reason, text):
    assert general(reason) == text


def test_the_basis_of_places_names_tasks_and_tests():
    def scores(*tasks):
        lines = [dict(zip(CELL, ("graph", "Toy", task, "", "accuracy", "spearman"), strict=True)) for task in tasks]
        return pd.concat([pd.DataFrame(lines).assign(measure=name) for name in ("A", "B")], ignore_index=True)

    two = scores("GAT", "GCN")
    assert _basis(two[:2], two) == "2 tasks (GAT on Toy, GCN on Toy); tests: accuracy."
    one = scores("GCN")
    assert _basis(one, one) == (
        "1 task (GCN on Toy); tests: accuracy. With one task, positions account for "
        "other trainings but not for other tasks."
    )
    assert _basis(two[:1], two).endswith(" A single measure has no position. Submit other measures of the same suite.")
    assert [_number(one) for one in (0.126, 1.0, np.nan)] == ["0.13", "1.00", ""]


def test_published_ranks_are_marked_and_a_measure_alone_has_none():
    frame = pd.DataFrame(
        {
            "domain": ["graph", "graph", "vision"],
            "measure": ["A", "B", "A"],
            "mean": [1.0, 2.0, 1.0],
            "median": [1.0, 2.0, 1.0],
            "position": [1, 2, 1],
            "source": ["own", "published", "own"],
        }
    )
    found = ranks_for_display(frame)
    assert found["measure"].tolist() == ["A", f"B{PUBLISHED}", "A"]
    assert found["mean"].tolist() == [1.0, 2.0, "-"]
    assert found["position"].tolist() == [1, 2, "-"]
    assert "source" not in found


def test_scores_that_differ_by_rounding_share_their_rank():
    place = dict(zip(CELL, ("graph", "Toy", "GCN", "cls", "accuracy", "spearman"), strict=True))
    values = {"A": 0.3, "B": 0.1 + 0.2, "C": 0.3 + 1e-8, "D": 0.2}
    frame = pd.DataFrame([place | {"measure": name, "value": value} for name, value in values.items()])
    found = rank_table(frame).set_index("measure")["rank"]
    assert found.to_dict() == {"A": 2.5, "B": 2.5, "C": 1.0, "D": 4.0}


def test_poolings_are_chosen_where_there_are_several():
    place = dict(zip(CELL, ("language", "Toy", "BERT", "cls", "accuracy", "spearman"), strict=True))
    rows = [place | {"measure": name, "value": 0.1, "pooling": pooling} for name in "AB" for pooling in ("cls", "mean")]
    rows += [place | {"measure": name, "value": 0.1, "pooling": "mean", "architecture": "GPT"} for name in "AB"]
    frame = pd.DataFrame(rows)
    chosen = {
        pooling: sorted(set(zip(found["architecture"], found["pooling"], strict=True)))
        for pooling in ("cls", "mean", "all")
        for found in [rank_table(frame, pooling=pooling)]  # type: ignore[arg-type]
    }
    assert chosen == {
        "cls": [("BERT", "cls"), ("GPT", "mean")],
        "mean": [("BERT", "mean"), ("GPT", "mean")],
        "all": [("BERT", "cls"), ("BERT", "mean"), ("GPT", "mean")],
    }


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (POSITIVE, [1, 0.1], [0, -1, 0.0, True, "1", float("inf"), float("nan")]),
        (NOT_NEGATIVE, [0, 0.0, 3], [-0.1, False, float("inf")]),
        (SHARE, [0, 1, 0.5], [-0.1, 1.1, True]),
        (PART, [0, 0.99], [1, -0.1]),
        (SWITCH, [True, False], [0, 1, "yes"]),
        (count(), [1, 5], [0, 1.0, True]),
        (count(2), [2], [1]),
        (choice_of_words("a", "b"), ["a"], ["c", 1]),
    ],
)
def test_hyperparameters_have_closed_ranges(check, good, bad):
    assert all(check.holds(one) for one in good)
    assert not any(check.holds(one) for one in bad)
