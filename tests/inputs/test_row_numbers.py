"""Numbers that only count the rows identify none, unless a user or the format says so; other evidence on order."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.inputs import (
    NamedRows,
    Names,
    align_labels,
    are_reordered,
    choose_identity,
    find_row_order,
    orders,
    validation as check,
)
from shesha.support.provenance import collect_statements
from shesha.support.warnings import RowNamesWarning

N = 12
COUNTED = np.arange(N)
MIXED = np.random.default_rng(0).permutation(N)
RNG = np.random.default_rng(1)
X = RNG.standard_normal((N, 5))
DECISIONS = {
    "numbers that count the rows of both": (COUNTED, COUNTED, "", "position"),
    "from 0 and from 1": (COUNTED, COUNTED + 1, "", "position"),
    "one permuted": (COUNTED, MIXED, "", "matched"),
    "both permuted": (MIXED[::-1], MIXED, "", "matched"),
    "other lengths": (COUNTED, COUNTED[:-2], "", "must be as many as those of a, because id only counts the rows"),
    "other lengths, chosen": (COUNTED, COUNTED[:-2], "column", "got 10 shared ids of 10 and 12"),
    "counted from another start": (COUNTED, COUNTED + 3, "", "got 9 shared ids of 12 and 12"),
    "counted on one side": (COUNTED, 100 + 7 * COUNTED, "", "got 0 shared ids of 12 and 12"),
    "chosen": (COUNTED, COUNTED, "column", "id"),
    "file names": (COUNTED, COUNTED, "format", "id"),
}


@pytest.mark.parametrize("kind", DECISIONS)
def test_row_numbers(kind):
    first, second, chosen, decision = DECISIONS[kind]
    sides = {"a": Names.build(first, "id", chosen=chosen), "b": Names.build(second, "id", chosen=chosen)}
    with collect_statements() as statements:
        if decision not in ("position", "matched", "id"):
            with pytest.raises(ValueError, match=decision):
                orders(sides)
            return
        moved = orders(sides)
    expected = {
        "position": "rows paired by position: id only counts the rows",
        "matched": "rows matched by id, in another order in b",
        "id": "rows matched by id",
    }
    assert list(statements) == [expected[decision]]
    assert (list(moved) == ["b"]) == (decision == "matched")


UNNAMED = {
    "both filtered": (np.delete(COUNTED, [0, 1]), np.delete(COUNTED, [5, 11]), "got 8 shared names of 10 and 10"),
    "one filtered": (np.delete(COUNTED, [0, 5]), COUNTED[:10], "position"),
    "slices": (COUNTED[2:], COUNTED[:10], 'got 8 shared names of 10 and 10 .* pass rows="shared"'),
    "without the first and the last row": (COUNTED[1:], COUNTED[:-1], "got 10 shared names of 11 and 11"),
    "fewer rows": (COUNTED, COUNTED[1:], "got 11 shared names of 11 and 12"),
    "parts": (COUNTED[6:], COUNTED[:6], "position"),
}


@pytest.mark.parametrize("kind", UNNAMED)
@pytest.mark.parametrize("labels", [False, True])
def test_row_numbers_of_filtered_tables(kind, labels):
    first, second, decision = UNNAMED[kind]
    sides = {"X": Names.build(first), "y": Names.build(second)}
    decision = decision.replace('rows="shared"', r"y\.reindex") if labels else decision
    with collect_statements() as statements:
        if decision != "position":
            with pytest.raises(ValueError, match=decision):
                orders(sides, labels=labels)
            return
        assert orders(sides, labels=labels) == {}
    assert list(statements) == ["rows paired by position: the row numbers of X and y differ"]


@pytest.mark.parametrize(
    ("numbers", "warned"), [(MIXED, True), (MIXED + 1, True), (COUNTED, False), (MIXED + 2, False), (2 * MIXED, False)]
)
@pytest.mark.parametrize(("form", "labels"), [("request-{}", False), ("img_{}.png", True), ("a/clip{}.mp3", True)])
def test_numbered_names_in_another_order_than_their_numbers(numbers, warned, form, labels):
    names = Names.build([form.format(number) for number in numbers], "custom_id")
    with (
        collect_statements() as statements,
        pytest.warns(RowNamesWarning, match="the other rows have no names") if warned else nullcontext(),
    ):
        assert orders({"a": names, "b": None}, labels=labels) == {}
    text = "rows of a are not in the order of the numbers in their custom_ids, and the other rows have no names"
    assert any(text in statement for statement in statements) == warned


def test_shared_rows_need_identifiers():
    sides = {"a": Names.build(COUNTED, "id"), "b": Names.build(COUNTED[:-1], "id")}
    with pytest.raises(ValueError, match=r'rows="shared" needs identifiers, got id, which only counts .* ids=\'id\''):
        orders(sides, rows="shared")
    chosen = {name: Names.build(names.values, "id", chosen="column") for name, names in sides.items()}
    assert {name: len(rows) for name, rows in orders(chosen, rows="shared").items()} == {"a": N - 1, "b": N - 1}


def test_other_identifiers_come_before_row_numbers():
    urls = np.array([f"u{i}" for i in MIXED])
    columns = {"_rowid": COUNTED, "index": COUNTED + 1, "url": urls}
    assert choose_identity(columns, columns.__getitem__) == "url"
    del columns["url"]
    assert choose_identity(columns, columns.__getitem__) == "_rowid"
    a = pd.DataFrame({"_rowid": COUNTED, "url": urls, "embedding": list(X)})
    b = pd.DataFrame({"_rowid": COUNTED, "url": urls[::-1], "embedding": list(X[::-1])})
    found = shesha.compare(a, b, "CKA")
    assert found["CKA"].value == pytest.approx(1)
    assert any(text.startswith("rows matched by url, in another order") for text in found.inputs)


LARGE = np.random.default_rng(2).standard_normal((60, 8))
ORDER = np.random.default_rng(3).permutation(60)
TURN = np.linalg.qr(np.random.default_rng(4).standard_normal((8, 8)))[0]
LENGTHS = np.linalg.norm(LARGE, axis=1, keepdims=True)
OTHERS = {
    "the same order": (LARGE, LARGE, False),
    "another order": (LARGE, LARGE[ORDER], True),
    "another order, turned": (LARGE, LARGE[ORDER] @ TURN, True),
    "another order, half precision": (LARGE / LENGTHS, (LARGE / LENGTHS)[ORDER].astype("f2"), True),
    "another order, wider": (LARGE, np.hstack([LARGE[ORDER], np.zeros((60, 3))]), True),
    "noise": (LARGE, LARGE + 0.01 * LARGE[ORDER], False),
    "unrelated": (LARGE, np.random.default_rng(5).standard_normal((60, 8)), False),
    "other lengths": (LARGE, 2 * LARGE[ORDER], False),
    "equal rows": (np.ones((60, 8)), np.ones((60, 8)), False),
    "NaN": (LARGE, np.where(np.eye(60, 8) > 0, np.nan, LARGE), False),
    "fewer rows": (LARGE, LARGE[ORDER[:40]], False),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_rows_in_another_order_are_recognised_by_their_vectors(kind):
    first, second, expected = OTHERS[kind]
    assert are_reordered(first, second) == expected


def test_unrelated_data_of_one_distribution_are_not_taken_for_each_other():
    rng = np.random.default_rng(0)
    shapes = [(n, d) for n in (10, 40, 300) for d in (2, 8, 64)] * 20
    assert not any(are_reordered(rng.standard_normal(shape), rng.standard_normal(shape)) for shape in shapes)


ROWS = np.random.default_rng(6).standard_normal((600, 6)).round(3)
COUNTS = np.random.default_rng(7).poisson(2, (2, 600, 3)).astype(float)


def moved_in(rows, n, noise=0.0):
    """Rows of which the first n, of every second, have the vector of the next of them."""
    chosen = np.arange(0, 2 * n, 2)
    again = rows.copy()
    again[chosen] = rows[np.roll(chosen, -1)]
    return again + noise * RNG.standard_normal(rows.shape)


MOVED = {
    "some": (ROWS[:300], moved_in(ROWS[:300], 47), 47, 300),
    "some, encoded again": (ROWS[:300], moved_in(ROWS[:300], 47, 1e-3), 47, 300),
    "of many rows": (ROWS, moved_in(ROWS, 300), 256, 512),
    "codes": ((100 * ROWS[:300]).round(), moved_in((100 * ROWS[:300]).round(), 47), 47, 300),
    "few": (ROWS[:300], moved_in(ROWS[:300], 6), 0, 0),
    "none": (ROWS, ROWS + 0.3 * RNG.standard_normal(ROWS.shape), 0, 0),
    "unrelated": (ROWS[:300], ROWS[300:], 0, 0),
    "equal by chance": (*COUNTS, 0, 0),
    "repeated texts": (ROWS[np.arange(600) // 2], ROWS[np.arange(600) // 2], 0, 0),
}


@pytest.mark.parametrize("kind", MOVED)
def test_rows_with_the_vectors_of_other_rows_are_counted(kind):
    first, second, n_moved, n_checked = MOVED[kind]
    found = find_row_order(first, second)
    assert not found.is_other
    assert len(found.moved) == pytest.approx(n_moved, abs=len(first) > 512 and 20)
    assert found.n_checked == n_checked
    for row, other in found.moved:
        assert np.abs(second[row] - first[other]).max() < 0.01


@pytest.mark.filterwarnings("ignore:rows of Y are in a different order")
@pytest.mark.parametrize("paired", ["by position", "by name", "in the order of names"])
def test_moved_rows_are_told_wherever_rows_are_matched(paired):
    names = [f"doc {place}" for place in range(300)]
    sides = [ROWS[:300], MOVED["some"][1]]
    if paired != "by position":
        sides = [pd.DataFrame(side, index=names) for side in sides]
    if paired == "in the order of names":
        sides[1] = sides[1].iloc[np.random.default_rng(8).permutation(300)]
    row, other = ("row 0", "row 2") if paired == "by position" else ("doc 0", "doc 2")
    text = f"47 of 300 checked rows of Y contain the vectors of other rows of X \\(such as {row} that of {other}\\)"
    with pytest.warns(RowNamesWarning, match=text):
        found = shesha.compare(*sides, ["RSA"])
    assert not any("encoded again" in one.text for one in found.doubts)


def test_diff_warns_of_rows_in_another_order():
    with pytest.warns(RowNamesWarning, match="after seems to contain the rows of before in another order"):
        found = shesha.diff(LARGE, LARGE[ORDER])
    assert "after seems to contain the rows of before in another order, but rows are paired" in " ".join(found.inputs)


IDS = np.array([f"d{i}" for i in range(60)])
WIDER = np.tanh(LARGE @ np.random.default_rng(6).standard_normal((8, 12)))
MISNAMED = {
    "vectors in another order": (IDS, LARGE[ORDER], IDS, "after seems to contain the rows of before under other names"),
    "names in another order": (IDS, LARGE, IDS[ORDER], "fit far better by position"),
    "a shuffled index": (ORDER, WIDER, np.arange(60), "fit far better by position"),
    "both in another order": (IDS, WIDER[ORDER], IDS[ORDER], ""),
    "unrelated": (IDS, np.random.default_rng(5).standard_normal((60, 8)), IDS[ORDER], ""),
}


@pytest.mark.parametrize("kind", MISNAMED)
def test_names_that_contradict_the_vectors_are_doubted(kind):
    names, vectors, others, text = MISNAMED[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = shesha.diff(pd.DataFrame(LARGE, index=names), pd.DataFrame(vectors, index=others), index=True)
    stated = [one for one in found.inputs if "under other names" in one or "better by position" in one]
    assert len(stated) == bool(text) and all(text in one for one in stated)
    assert (found.index.advice == "undecided") == (vectors.shape == LARGE.shape and bool(text))


def test_identifiers_counted_from_0_and_from_1_are_named():
    numbers = {"a": MIXED, "b": MIXED[::-1] + 1}
    sides = {name: Names.build(each, "nsd_id", chosen="column") for name, each in numbers.items()}
    with pytest.raises(ValueError, match="from 0 on one side and from 1 on the other") as error:
        orders(sides)
    assert "shared rows, pass" not in str(error.value)
    with collect_statements() as statements:
        orders(sides, rows="shared")
    assert any("from 0 on one side and from 1" in one for one in statements)


def test_numbers_with_leading_zeros_are_named():
    names = {form: Names.build([form.format(i) for i in range(1, 13)]) for form in ("sub-{}", "sub-{:02}")}
    with pytest.raises(ValueError, match=r"12 would match if sub-0\d were sub-\d; rename the rows"):
        orders(names)


@pytest.mark.parametrize(
    ("first", "second", "shifted"),
    [
        (np.arange(40) + 1, np.arange(40), True),
        (7 * np.arange(40) + 1, 7 * np.arange(40), True),
        (np.arange(40), np.arange(30) + 11, True),
        (np.arange(40), np.arange(40) + 2, False),
        (np.arange(40), RNG.permutation(90)[:40], False),
    ],
    ids=["from 1 and 0", "some images", "some rows", "from 2", "others"],
)
def test_identifiers_that_are_equal_after_adding_1_are_named(first, second, shifted):
    X, Y = RNG.standard_normal((len(first), 4)), RNG.standard_normal((len(second), 4))
    sides = [
        NamedRows(X, Names.build(first, "image_id")),
        NamedRows(Y, Names.build(RNG.permutation(second), "image_id")),
    ]
    with pytest.raises(ValueError, match="must have the same image_ids") as refused:
        shesha.compare(*sides, "CKA")
    assert ("from 0 on one side and from 1 on the other" in str(refused.value)) == shifted
    if len(np.intersect1d(first, second)) > 3:
        told = shesha.compare(*sides, "CKA", rows="shared").inputs
        assert any("from 0 on one side and from 1 on the other" in text for text in told) == shifted


@pytest.mark.parametrize(("moved", "named"), [(False, True), (True, False)])
@pytest.mark.parametrize("score", [shesha.audit, partial(shesha.estimate, variant="supervised_alignment")])
@pytest.mark.filterwarnings("ignore")
def test_labels_that_fit_by_position_only_are_doubted(score, moved, named):
    classes = np.arange(60) % 3
    table = pd.DataFrame(LARGE + 3 * TURN[classes], index=np.arange(60))
    labels = pd.Series(classes[ORDER] if moved else classes, index=ORDER)
    found = score(table, labels, n_bootstrap=0, n_permutations=19)
    assert (
        any("y is matched with the rows by name, but fits far better by position" in text for text in found.inputs)
        == named
    )


def test_labels_of_further_rows_are_left_out():
    classes = np.arange(60) % 3
    table = pd.DataFrame(LARGE + 3 * TURN[classes], index=[f"m{i}" for i in range(60)])
    labels = pd.Series(np.r_[classes, 0, 1], index=[*table.index, "m60", "m61"])
    found = [shesha.audit(table, one, n_bootstrap=0, n_permutations=19) for one in (labels, labels[:60])]
    values = [one["X"].supervised["supervised_alignment"].value for one in found]
    assert values[0] == values[1] > 0.5


def test_labels_of_other_names_are_refused_by_name():
    rows = pd.DataFrame(LARGE, index=[f"cell{i}" for i in range(60)])
    labels = pd.Series(np.arange(60) % 3, index=[f"WT_cell{i}" for i in range(60)])
    with pytest.raises(ValueError, match="must have the same names"):
        shesha.audit(rows, labels)


KEPT = np.delete(np.arange(20), [3, 7, 8])


@pytest.mark.parametrize(
    ("rows", "title", "labelled", "expected"),
    [
        (KEPT, "trial", np.arange(20), KEPT),
        (KEPT, None, np.arange(20), KEPT),
        (np.arange(17), "trial", np.arange(20), np.arange(17)),
        (KEPT, "trial", KEPT[::-1], KEPT),
        (KEPT, "trial", np.arange(17), "must have the same trials as those of X, got 14 shared trials of 17 and 17"),
        (KEPT, "trial", np.arange(10), r"To leave out rows without a label, pass y\.reindex\(X\.index\)"),
        # An index without a name may only count the rows of a table that was filtered.
        (KEPT, None, np.arange(17), np.arange(17)),
        (np.arange(17), None, np.arange(20), "17"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_labels_with_an_index_follow_the_index_of_the_rows(rng, rows, title, labelled, expected, library):
    index = pd.Index(rows, name=title)
    X = pd.DataFrame(rng.standard_normal((len(rows), 3)), index=index, columns=["a", "b", "c"])
    if library == "xarray":
        xarray = pytest.importorskip("xarray")
        dim = title or "dim_0"
        X = xarray.DataArray(X.to_numpy(), dims=(dim, "feature"), coords={dim: rows})
    y = pd.Series(np.arange(20)[labelled], index=pd.Index(labelled, name=title))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            check.labels(align_labels(X, y), len(rows))
    else:
        assert np.asarray(align_labels(X, y)).tolist() == expected.tolist()


@pytest.mark.parametrize("shared", ["1.23457E+18", "same"])
def test_identifiers_that_a_spreadsheet_rounded_are_named(tmp_path, shared):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, 5)), columns=[f"dim_{k}" for k in range(5)])
    numbers = 1234567000000000000 + rng.permutation(40)
    table.insert(0, "tweet_id", numbers)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.iloc[:, 1:] += rng.standard_normal((40, 5))
    table["tweet_id"] = table["tweet_id"].map("{:.5E}".format) if shared != "same" else numbers
    table.to_csv(tmp_path / "b.csv", index=False)
    found = shesha.compare_all([tmp_path / "a.csv", tmp_path / "b.csv"], "CKA")
    is_named = "tweet_id of b.csv cannot identify rows: 40 rows have 1 value, such as 1.23457e+18" in str(found.inputs)
    assert is_named == (shared != "same")
