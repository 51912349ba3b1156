"""Which rows are compared: kinds of names, containers and formats, each with the decision."""

from __future__ import annotations

import contextlib
import re
import unicodedata
import uuid
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.comparison.within_classes import compare_within
from shesha.drift import DriftMonitor
from shesha.inputs import Names, are_reordered, orders
from shesha.inputs.table_columns import feature_order
from shesha.io import NamedRows, open_file
from shesha.io.read import check_column_orders
from shesha.support.provenance import collect_statements
from shesha.views import select_rows

RNG = np.random.default_rng(0)
N, D = 30, 6
X = RNG.standard_normal((N, D))
Y = X @ RNG.standard_normal((D, D)) + 0.3 * RNG.standard_normal((N, D))
MIXED = RNG.permutation(N)
IDS = [f"doc {i}" for i in range(N)]
COLUMNS = [f"dim_{i}" for i in range(D)]
pytestmark = pytest.mark.filterwarnings("ignore::shesha.MeasureWarning")


def cka(a, b, **options):
    return shesha.compare(a, b, "CKA", **options)


def as_frame(values, ids):
    return pd.DataFrame(values, index=pd.Index(ids, name="id"), columns=COLUMNS)


def as_xarray(values, ids):
    return pytest.importorskip("xarray").DataArray(values, dims=("row", "feature"), coords={"row": list(ids)})


def as_csv(values, ids, path):
    as_frame(values, ids).to_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def as_parquet(values, ids, path):
    pytest.importorskip("pyarrow")
    as_frame(values, ids).reset_index().to_parquet(path.with_suffix(".parquet"), index=False)
    return path.with_suffix(".parquet")


def as_npz(values, ids, path):
    np.savez(path.with_suffix(".npz"), rows=values, ids=np.asarray(ids))
    return path.with_suffix(".npz")


def as_h5ad(values, ids, path):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(values, obs=pd.DataFrame(index=list(ids))).write_h5ad(path.with_suffix(".h5ad"))
    return path.with_suffix(".h5ad")


CONTAINERS = {"frame": as_frame, "NamedRows": NamedRows, "xarray": as_xarray}
FORMATS = {"csv": as_csv, "parquet": as_parquet, "npz": as_npz, "h5ad": as_h5ad}


@pytest.fixture(params=[*CONTAINERS, *FORMATS])
def pair(request, tmp_path):
    """Return a function that compares two sets of named rows in one kind of container."""

    def compare(first, second, **options):
        if request.param in CONTAINERS:
            make = CONTAINERS[request.param]
            sides = {"a": make(*first), "b": make(*second)}
        else:
            make = FORMATS[request.param]
            sides = [make(*first, tmp_path / "a"), make(*second, tmp_path / "b")]
        return shesha.compare_all(sides, "CKA", **options)

    return compare


def value(found):
    return found.matrix("CKA").to_numpy()[0, 1]


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_another_order_is_matched(pair):
    found = pair((X, IDS), (Y[MIXED], np.array(IDS)[MIXED]))
    assert value(found) == pytest.approx(cka(X, Y)["CKA"].value, abs=1e-12)
    assert any(text.startswith("rows matched by") and "in another order" in text for text in found.inputs)


def test_overlap_is_refused_before_counts_and_shared_on_request(pair):
    first, second = (X[:20], IDS[:20]), (Y[5:], IDS[5:])
    with pytest.raises(ValueError, match=r'got 15 shared \w+ of 25 and 20 .* pass rows="shared"'):
        pair(first, second)
    found = pair(first, second, rows="shared")
    assert value(found) == pytest.approx(cka(X[5:20], Y[5:20])["CKA"].value, abs=1e-12)
    assert any(text.startswith("15 of 20 and 25 rows shared by") for text in found.inputs)
    assert str(found).startswith("Only 15 of 20 and 25 rows shared by")


def test_repeated_names_are_refused_unless_rows_stand_alike(pair, request):
    if "h5ad" in request.node.name:
        pytest.skip("anndata warns of repeated names")
    twice = [*IDS[:-1], IDS[0]]
    assert value(pair((X, twice), (Y, twice))) == pytest.approx(cka(X, Y)["CKA"].value, abs=1e-12)
    if "csv" in request.node.name or "parquet" in request.node.name or "frame" in request.node.name:
        with pytest.raises(ValueError, match=r"must be distinct to match rows .*, got doc 0 in rows"):
            pair((X, twice), (Y[::-1], twice[::-1]))


INTEGERS = 100 + 7 * np.arange(N)
SPELLINGS = {
    "text": INTEGERS.astype(str),
    "floats": INTEGERS.astype(float),
    "leading zeros": np.array([f"{i:06d}" for i in INTEGERS]),
    "bytes": INTEGERS.astype(str).astype("S"),
    "spaces": np.array([f" {i} " for i in INTEGERS]),
    "objects": np.array([int(i) for i in INTEGERS], dtype=object),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_one_identifier_are_equal(spelling):
    other = Names.build(SPELLINGS[spelling][MIXED], "id")
    assert orders({"a": Names.build(INTEGERS, "id"), "b": other})["b"].tolist() == np.argsort(MIXED).tolist()


def test_uuids_match_their_text_and_their_bytes():
    ids = [uuid.UUID(int=7 * i + 2**100) for i in range(5)]
    for spelled in ([str(one).upper() for one in ids], [one.bytes for one in ids]):
        assert Names.build(np.array(spelled, dtype=object)).has_same_order(Names.build(np.array(ids, dtype=object)))


def test_times_in_two_zones_are_the_same_instants():
    times = pd.date_range("2024-07-01", periods=5, freq="h", tz="UTC")
    berlin = times.tz_convert("Europe/Berlin")
    for zoned in (berlin, berlin.strftime("%Y-%m-%dT%H:%M:%S%z"), times.strftime("%Y-%m-%d %H:%M:%SZ")):
        assert Names.build(np.array(zoned, dtype=object)).has_same_order(Names.build(np.array(times, dtype=object)))
    local = Names.build(np.array(berlin.tz_localize(None).strftime("%Y-%m-%d %H:%M")))
    with pytest.raises(ValueError, match="rename the rows, if the times without a time zone are in UTC"):
        orders({"a": Names.build(np.array(times, dtype=object)), "b": local})


def test_zeros_that_distinguish_identifiers_are_kept():
    assert Names.build(["007", "07", "7"]).distinct


@pytest.mark.parametrize("column, decision", [("id", "matched"), ("", "position")])
def test_integers_identify_rows_if_their_column_is_named_like_it(column, decision):
    a, b = Names.build([3, 1, 9], column), Names.build([8, 5, 7], column)
    if decision == "position":
        assert orders({"a": a, "b": b}) == {}
    else:
        with pytest.raises(ValueError, match="got 0 shared ids of 3 and 3"):
            orders({"a": a, "b": b})


def test_names_on_one_side_only_are_stated():
    found = cka(NamedRows(X, IDS), Y)
    assert found.inputs == ("rows paired by position: only X has names",)
    assert cka(X, Y).inputs == ()


def test_labels_follow_shared_rows():
    labels = np.arange(N) % 3
    with collect_statements() as stated:
        sides, along = select_rows(
            {"X": NamedRows(X[:20], IDS[:20]), "Y": NamedRows(Y[5:][::-1], IDS[5:][::-1])},
            {"groups": pd.Series(labels, index=IDS), "blocks": labels[:20], "texts": IDS[:20], "shift": False},
            rows="shared",
        )
    assert list(stated) == ["15 of 20 to 30 rows shared by name"]
    np.testing.assert_array_equal(sides["Y"].values, Y[5:20])
    assert np.asarray(along["groups"]).tolist() == along["blocks"].tolist() == labels[5:20].tolist()
    assert along["texts"] == IDS[5:20] and along["shift"] is False


BAD = {"NaN": np.nan, "infinity": np.inf}
LABELS = np.repeat(["a", "b"], N // 2)
FUNCTIONS = {
    "compare": lambda x, y, **o: shesha.compare(x, y, "RSA", **o),
    "calibrate": lambda x, y, **o: shesha.calibrate(x, y, n_permutations=19, seed=0, **o),
    "compare_all": lambda x, y, **o: shesha.compare_all({"x": x, "y": y}, "CKA", **o),
    "compare_layers": lambda x, y, **o: shesha.compare_layers([x], [y], **o),
    "calibrate_layers": lambda x, y, **o: shesha.calibrate_layers([x], [y], n_permutations=19, seed=0, **o),
    "diff": lambda x, y, **o: shesha.diff(x, y, **o),
    "consensus": lambda x, y, **o: shesha.consensus({"x": x, "y": y, "z": x + 0.1}, **o),
    "rank_models": lambda x, y, **o: shesha.rank_models(x, {"y": y}, n_resamples=20, n_permutations=19, **o),
    "match_units": lambda x, y, **o: shesha.match_units(x, y, **o),
    "estimate": lambda x, y, **o: shesha.estimate(y, n_bootstrap=0, seed=0, **o),
    "chance": lambda x, y, **o: shesha.estimate(y, n_permutations=19, seed=0, **o, n_bootstrap=0),
    "doubts": lambda x, y, **o: shesha.doubts(y, **o),
    "monitor": lambda x, y, **o: DriftMonitor(x, n_resamples=99).check(y, **o),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), [*((name, "NaN") for name in FUNCTIONS), ("compare", "infinity")])
def test_rows_with_missing_values_are_refused_or_dropped_everywhere(name, kind):
    broken = Y.copy()
    broken[[3, 17], 2] = BAD[kind]
    kept = np.setdiff1d(np.arange(N), [3, 17])
    if name == "monitor":
        assert "in 2 of 30 rows: 3, 17" in FUNCTIONS[name](X, broken).reason
    else:
        with pytest.raises(ValueError, match=r"in rows 3, 17 \(2 of 30\); missing=\"drop\" leaves them out"):
            FUNCTIONS[name](X, broken)
    found = FUNCTIONS[name](X, broken, missing="drop")
    assert any(text.startswith(f"28 of 30 rows used: 2 with {kind}") for text in found.inputs)
    if name not in ("monitor", "doubts"):
        expected = FUNCTIONS[name](X[kept], Y[kept])
        numbers = [re.sub(r"\d+\.\d+$", "", line) for line in str(replace(found, inputs=())).splitlines()]
        # The last column of some tables is the time in seconds.
        assert numbers == [re.sub(r"\d+\.\d+$", "", line) for line in str(expected).splitlines()]


@pytest.mark.filterwarnings("ignore")
def test_an_audit_reports_missing_rows_or_drops_them():
    broken = X.copy()
    broken[4] = np.nan
    options = {"n_bootstrap": 0, "n_permutations": 19}
    assert (
        shesha.audit(broken, **options)["X"].reason
        == 'NaN or infinity in 1 row of 30 (4); missing="drop" leaves them out'
    )
    found = shesha.audit(broken, LABELS, missing="drop", **options)
    assert found.inputs[0] == "29 of 30 rows used: 1 with NaN left out"
    broken[7, 1] = np.inf
    assert shesha.audit(broken, missing="drop", **options).inputs[0] == (
        "28 of 30 rows used: 1 with NaN, 1 with infinity left out"
    )
    assert found["X"].scores == shesha.audit(np.delete(X, 4, 0), **options)["X"].scores


MISSING = {
    "None": [None, *LABELS[1:]],
    "NaN": [np.nan, *LABELS[1:]],
    "empty": ["", *LABELS[1:]],
    "text nan": ["nan", *LABELS[1:]],
    "BIDS": ["n/a", *LABELS[1:]],
    "category": pd.Categorical([None, *LABELS[1:]], categories=["a", "b", "nobody"]),
    "number": [np.nan, *np.repeat([1.0, 2.0], N // 2)[1:]],
}
LABELLED = {
    "audit": lambda y: shesha.audit(X, y, n_bootstrap=0, n_permutations=19),
    "estimate": lambda y: shesha.estimate(X, y, variant="variance", n_bootstrap=0, seed=0),
    "chance": lambda y: shesha.estimate(X, y, variant="variance", n_permutations=19, seed=0, n_bootstrap=0),
    "doubts": lambda y: shesha.doubts(X, y),
    "diff": lambda y: shesha.diff(X, Y, y),
    "compare_within": lambda y: compare_within(X, Y, y, "CKA", min_rows=10, n_permutations=19),
    "calibrate blocks": lambda y: shesha.calibrate(X, Y, blocks=y, n_permutations=19, seed=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "None") for name in LABELLED), *(("doubts", kind) for kind in MISSING if kind != "None")],
)
def test_rows_without_a_label_are_left_out_and_counted(name, kind):
    word = "block" if "blocks" in name else "label"
    found = LABELLED[name](pd.Series(MISSING[kind]) if kind != "category" else MISSING[kind])
    assert f"29 of 30 rows used: 1 without a {word} left out" in found.inputs


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rows": "all"}, "rows must be one of 'same', 'shared', got 'all'"),
        ({"missing": "fill"}, "missing must be one of 'refuse', 'drop', got 'fill'"),
        ({"rows": "shared"}, 'rows must be "same" unless all inputs have row names, got "shared" and none for X, Y'),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cka(X, Y, **options)


def test_nothing_left_is_an_error():
    with pytest.raises(
        ValueError, match=r"rows must be complete in all inputs, got none of 30 rows \(30 with NaN in Y\)"
    ):
        cka(X, np.full_like(Y, np.nan), missing="drop")


@pytest.mark.parametrize(
    "rename",
    [
        lambda name: f"{name}-0",
        lambda name: f"donor1_{name}",
        lambda name: f"{name.removesuffix('-1')}-2",
        lambda name: f"possorted_genome:{name.removesuffix('-1')}x",
        lambda name: f"/data/images/{name}",
        lambda name: f"D:\\images\\{name}.jpg",
        str.lower,
    ],
)
def test_errors_show_the_renaming_that_makes_names_match(rename):
    names = [f"{base}ACGT-1" for base in ("A", "C", "G", "T")]
    first = pd.DataFrame(np.eye(4), index=names)
    second = pd.DataFrame(np.eye(4), index=[rename(name) for name in names][::-1])
    with pytest.raises(ValueError, match=r"4 would match if .* were .*; rename the rows"):
        shesha.compare(first, second)


def with_column(column, kind):
    """Return two tables of the same rows in another order, whose column `column` shows this."""
    ids = {"text": np.array([f"lh_{i:05d}" for i in range(N)]), "numbers": 7 * np.arange(N)[::-1]}[kind]
    tables = [pd.DataFrame(values, columns=COLUMNS).assign(kind="a", **{column: ids}) for values in (X, Y)]
    return tables[0], tables[1].iloc[MIXED].reset_index(drop=True)


@pytest.mark.parametrize("column", ["vertex", "vertex_idx", "voxel", "respondent", "image_id", "ROI"])
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_tables_in_memory_are_matched_by_a_column_named_like_an_identifier(column, kind):
    found = cka(*with_column(column, kind))
    assert found["CKA"].value == pytest.approx(cka(X, Y)["CKA"].value, abs=1e-12)
    assert f"rows matched by {column}, in another order in Y" in found.inputs


def test_tables_in_memory_with_another_order_in_a_further_column_are_refused():
    text, numbers = with_column("station", "text"), with_column("station", "numbers")
    with pytest.raises(ValueError, match=r"'station' has the same values in X and Y, .* pass tables with this index"):
        cka(*text)
    with pytest.warns(shesha.RowNamesWarning, match="matched by name"):
        matched = cka(*(table.set_index("station") for table in text))
    assert matched["CKA"].value == pytest.approx(cka(X, Y)["CKA"].value)
    assert cka(*(table.to_numpy()[:, :D].astype(float) for table in text))["CKA"].value < 0.5
    with pytest.warns(shesha.RowNamesWarning, match="'station' has the same values in X and Y, in another order"):
        cka(*numbers)


REORDERED = {
    "repeated texts": (lambda texts: texts, "mostly the same values in X and Y, in another order, of which some are"),
    "other texts": (lambda texts: ["new", "newer", "newest", *texts[3:]], "mostly the same values in X and Y"),
    "most are others": (lambda texts: [*(f"{text}!" for text in texts[:20]), *texts[20:]], ""),
    "few classes": (lambda texts: list("abc") * 10, ""),
}


@pytest.mark.parametrize("kind", REORDERED)
def test_repeated_texts_in_another_order_are_refused(kind):
    change, message = REORDERED[kind]
    texts = [f"review {i % 27}" for i in range(N)]
    first = pd.DataFrame(X, columns=COLUMNS).assign(text=texts)
    second = pd.DataFrame(Y, columns=COLUMNS).assign(text=change(texts)).iloc[MIXED].reset_index(drop=True)
    if message:
        with pytest.raises(ValueError, match=message):
            cka(first, second)
    else:
        assert cka(first, second)["CKA"].value == pytest.approx(cka(X, Y[MIXED])["CKA"].value)


def test_values_of_both_sides_in_other_rows_can_be_shared(tmp_path):
    times = [f"{0.1 * i:.1f} s" for i in range(N + 5)]
    for name, start in (("a", 0), ("b", 5)):
        np.savez(tmp_path / f"{name}.npz", x=X, stamps=np.array(times[start : start + N]))
    with pytest.raises(
        ValueError, match=r"25 of 30 values on both sides .*, or files with ids='stamps' .* and rows=\"shared\";"
    ):
        check_column_orders({tmp_path / name: open_file(tmp_path / name) for name in ("a.npz", "b.npz")})


@pytest.mark.parametrize("column", ["cluster_id", "topic_id", "label_idx"])
def test_numbers_of_classes_do_not_identify_rows(column):
    tables = [pd.DataFrame(X, columns=COLUMNS).assign(**{column: RNG.integers(4, size=N)}) for _ in range(2)]
    assert np.isfinite(cka(*tables)["CKA"].value)


def test_counts_in_another_order_are_found():
    counts = RNG.poisson(2, (60, 5)).astype(float)
    assert are_reordered(counts, counts[RNG.permutation(60)])
    assert not are_reordered(counts, RNG.permuted(counts, axis=0)) and not are_reordered(counts, counts)


@pytest.mark.parametrize(("d", "noise", "step", "found"), [(16, 0.1, 1, True), (16, 0.1, 0, False), (1, 0, 1, False)])
def test_rows_that_are_shifted_and_encoded_again_are_found(d, noise, step, found):
    rows = RNG.standard_normal((61, d))
    again = rows + noise * RNG.standard_normal(rows.shape)
    assert are_reordered(rows[step:], again[: len(again) - step]) == found
    assert not are_reordered(rows, RNG.standard_normal(rows.shape))


def test_columns_without_any_number_are_left_out_with_missing_rows(tmp_path):
    broken = X.copy()
    broken[:, 2], broken[4, 0] = np.nan, np.nan
    with pytest.raises(ValueError, match='missing="drop" leaves out columns without any number'):
        cka(broken, Y)
    found = cka(broken, Y, missing="drop")
    kept = np.arange(N) != 4
    assert found["CKA"].value == pytest.approx(cka(np.delete(X, 2, axis=1)[kept], Y[kept])["CKA"].value)
    assert "X: 1 of 6 columns without any number (NaN) left out" in found.inputs
    np.save(tmp_path / "X.npy", broken)
    for given in (broken, tmp_path / "X.npy"):
        audit = shesha.audit({"X": given}, missing="drop", n_bootstrap=0, n_permutations=0)
        kept_alone = shesha.audit(np.delete(X, 2, axis=1)[kept], n_bootstrap=0, n_permutations=0)
        assert audit["X"].feature_split.value == kept_alone["X"].feature_split.value
        assert "X: 1 of 6 columns without any number (NaN) left out" in audit.inputs


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("column", ["name", "id", "station"])
def test_labels_follow_the_index_of_a_table_with_identifiers(column):
    table = pd.DataFrame(X, columns=COLUMNS).assign(**{column: IDS})
    labels = pd.Series(np.arange(N) % 3)
    ids = pd.Series(labels.to_numpy(), index=pd.Index(IDS, name="id"))
    expected = shesha.variance_ratio(X, labels.to_numpy())
    assert shesha.variance_ratio(table, labels.iloc[MIXED]) == pytest.approx(expected)
    assert shesha.variance_ratio(table, labels) == pytest.approx(expected)
    if column != "station":
        assert shesha.variance_ratio(table, ids.iloc[MIXED]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["audit", "doubts", "diff", "compare_within", "calibrate blocks"])
def test_labels_of_columns_are_told_to_transpose(name):
    with pytest.raises(ValueError, match=r"each of the 30 rows, got 6, which is the number of columns; .*--transpose"):
        LABELLED[name](np.arange(6) % 2)


def test_lists_are_no_labels():
    with pytest.raises(TypeError, match=r"y must be one label per row, got list \['a', 'b'\] in row 1"):
        shesha.audit(X, pd.Series(["a", ["a", "b"]] * (N // 2)))


SENTENCES = [f"the text of chunk {i} is this" for i in range(N)]


@pytest.mark.parametrize("stored", ["memory", "csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "changed", "expected"),
    [
        ("text", 3, "text differs in 3 of 30 rows"),
        ("文", 3, "文 differs in 3 of 30 rows"),
        ("text", 0, ""),
        ("created", 3, ""),
        ("metadata", 3, ""),
        ("sample", 3, "sample differs in 3 of 30 rows"),
        ("leiden", 3, ""),
    ],
)
def test_other_texts_of_matched_rows_are_stated(tmp_path, stored, column, changed, expected):
    made = {
        "text": SENTENCES,
        "文": ["天地玄黄宇宙洪荒" + chr(0x4E00 + i) for i in range(N)],
        "created": [f"2024-01-{i + 1:02} 10:00" for i in range(N)],
        "metadata": [f"{{'page of the document': {i}}}" for i in range(N)],
        "sample": [f"s{i % 2}" for i in range(N)],
        "leiden": [f"c{i % 2}" for i in range(N)],
    }[column]
    other = [f"{value[:-1]}0" if i < changed else value for i, value in enumerate(made)]
    if column in ("sample", "leiden"):
        other = [*made[1 : changed + 1], *made[changed:]]
    sides = []
    for name, texts, order in (("a", made, np.arange(N)), ("b", other, MIXED)):
        frame = pd.DataFrame({"doc_id": IDS, column: texts, "embedding": [str(x.tolist()) for x in X]}).iloc[order]
        path = tmp_path / f"{name}.{stored}"
        getattr(frame, f"to_{stored}")(path, index=False) if stored != "memory" else None
        sides.append(frame if stored == "memory" else path)
    result = shesha.diff(*sides)
    assert [text for text in result.inputs if "differs in" in text][:1] == (
        [next(text for text in result.inputs if expected in text)] if expected else []
    )


CELLS = [f"cell_{i}" for i in range(60)]
TYPES = np.array(["B cell", "T cell", "NK cell"])


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("stored", ["memory", "h5ad", "npz", "shared"])
@pytest.mark.parametrize(
    ("column", "values", "others", "expected"),
    [
        ("sample", ["a", "b"] * 30, ["b", "a"] * 30, "sample differs in 60 of 60"),
        ("sample", ["a"] * 60, ["b"] * 60, "sample differs in 60 of 60"),
        ("batch", ["a"] * 60, ["b"] * 60, ""),
        ("sample", ["a", "b"] * 30, ["A", "B"] * 30, ""),
        ("cell_type", TYPES[np.arange(60) % 3], TYPES[np.arange(60) // 3 % 3], "cell_type differs in 40 of 60"),
        ("cell_type", TYPES[np.arange(60) % 3], TYPES[(np.arange(60) + 1) % 3], ""),
        ("leiden", np.arange(60) % 3, np.arange(60) // 3 % 3, ""),
        ("title", TYPES[np.arange(60) % 3], TYPES[np.arange(60) // 3 % 3], ""),
    ],
)
def test_cells_of_one_name_in_other_samples_are_stated(tmp_path, stored, column, values, others, expected):
    anndata = pytest.importorskip("anndata")
    sides = []
    for name, kept in (("a", values), ("b", others)):
        rows = np.random.default_rng(len(sides)).permutation(60)[: 55 if stored == "shared" else None]
        matrix = np.random.default_rng(5).normal(size=(60, 4))[rows]
        path = tmp_path / f"{name}.{stored}"
        if stored == "npz":
            np.savez(path, X=matrix, cell_id=np.array(CELLS)[rows], **{column: np.array(kept)[rows]})
            sides.append(path)
            continue
        obs = pd.DataFrame({column: np.array(kept)[rows]}, index=np.array(CELLS)[rows])
        data = anndata.AnnData(matrix, obs=obs)
        if stored == "h5ad":
            data.write_h5ad(path)
        sides.append(path if stored == "h5ad" else data)
    chosen = "shared" if stored == "shared" else "same"
    result = shesha.diff(*sides, rows=chosen)
    found = [text for text in result.inputs if "differs in" in text]
    if stored == "shared":
        assert bool(found) == bool(expected)
    else:
        assert len(found) == bool(expected) and all(expected in text for text in found)


PATHS = [f"Fotos/{'café' if i % 3 else 'img'}_{i}" for i in range(N)]
LONG = [1612345678901230001 + 37 * i for i in range(N)]
NOTATIONS = {
    "accents": (PATHS, [unicodedata.normalize("NFD", path) for path in PATHS], ""),
    "case": (PATHS, [p if i % 3 else p.lower() for i, p in enumerate(PATHS)], "30 would match if .* were fotos/img_0;"),
    "slash": (
        PATHS,
        [p if i % 3 else f"{p}/" for i, p in enumerate(PATHS)],
        r"30 would match if Fotos/img_\d+/ were Fotos",
    ),
    "other rows": (
        PATHS,
        [*PATHS[5:], *"abcde"],
        "got 25 shared names of 30 and 30 .only one contains .* or .*To use",
    ),
    "floats": (LONG, np.array(LONG, float), "ids lost digits, because integers above 2.53 were stored as floats"),
    "floats as text": (LONG, [f"{float(i):.0f}" for i in LONG], "ids lost digits"),
    "UniProt": ([f"sp|P{i}|N{i}_HUMAN" for i in range(N)], [f"P{i}" for i in range(N)], "30 would match if .* were P"),
    "repeats": (LONG, [*LONG[1:], LONG[1]], "otherwise average the rows of each"),
}


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("name", NOTATIONS)
def test_names_in_another_notation_are_matched_or_the_notation_is_named(name):
    first, second, message = NOTATIONS[name]
    column = "id" if "lost" in message or name == "repeats" else ""
    known = {side: Names.build(np.array(ids), column) for side, ids in (("a", first), ("b", second))}
    known["b"] = known["b"].take(MIXED)
    if not message:
        assert orders(known)["b"].tolist() == np.argsort(MIXED).tolist()
        return
    with pytest.raises(ValueError, match=message):
        orders(known)


def test_rows_of_a_class_in_another_order_are_not_to_be_sorted():
    tables = [
        pd.DataFrame({"category": np.resize(list("abc"), N)[order], "v": list(X)}) for order in (slice(None), MIXED)
    ]
    with pytest.raises(
        ValueError, match=r"row \d.*in another order: save identifiers of the rows with both; otherwise"
    ):
        cka(*tables)


@pytest.mark.parametrize(
    ("order", "warned"),
    [
        (np.r_[np.arange(0, 300, 4), np.arange(1, 300, 4), np.arange(2, 300, 4), np.arange(0, 75)], True),
        (np.r_[np.arange(280), np.arange(20)], False),
    ],
)
def test_labels_of_both_sides_that_agree_by_chance_are_named(tmp_path, order, warned):
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((300, 6)), rng.integers(6, size=300)
    np.savez(tmp_path / "a.npz", x=rows, labels=labels)
    np.savez(tmp_path / "b.npz", x=rows[order], labels=labels[order])
    with collect_statements() as stated, contextlib.suppress(ValueError):
        check_column_orders({tmp_path / name: open_file(tmp_path / name) for name in ("a.npz", "b.npz")})
    assert any("of 300 values of labels" in text and "as between random rows" in text for text in stated) == warned


GENES = [f"ENSG{k:011d}" for k in range(10)]


@pytest.mark.parametrize(
    ("first", "second", "decision"),
    [
        (GENES, [f"{name}.7" for name in GENES[::-1]], list(range(9, -1, -1))),
        (GENES, [f"GENE{k}" for k in range(10)], "must have the features of a, got 0 shared names"),
        (GENES, [*GENES[1:], "ENSG00000000099"], "got 9 shared names"),
        ([f"h{k}" for k in range(10)], [f"unit{k}" for k in range(10)], None),
    ],
)
def test_genes_are_matched_by_name_without_their_versions(first, second, decision):
    names = [Names.build(np.array(one, object)) for one in (first, second)]
    if isinstance(decision, str):
        with pytest.raises(ValueError, match=decision):
            feature_order(*names, ("a", "b"))
    else:
        found = feature_order(*names, ("a", "b"))
        assert (found if found is None else found.tolist()) == decision


def test_tables_state_how_many_features_they_share():
    tables = [pd.DataFrame(RNG.standard_normal((N, 6)), columns=list(names)) for names in ("abcdef", "cdefgh")]
    assert "X and Y have 4 of 6 and 6 features in common" in shesha.compare(*tables, n_permutations=19).inputs
    assert not any("in common" in text for text in shesha.compare(tables[0], tables[0] + 1, n_permutations=19).inputs)


def test_lanes_that_are_counted_from_another_number_are_named():
    cells = ["AC", "CA", "GT", "TG"]
    first = [f"{cell}-1-{lane}" for lane in (0, 1) for cell in cells]
    second = [f"{cell}-1_{lane}" for lane in (1, 2) for cell in cells]
    with pytest.raises(ValueError, match="if the last numbers 1, 2 were 0, 1, such as AC-1_1 and AC-1-0"):
        orders({"a": Names.build(np.array(first, object)), "b": Names.build(np.array(second, object))})


def test_a_square_matrix_without_a_diagonal_is_refused():
    z = np.arctanh(np.corrcoef(RNG.standard_normal((N, 40))) - np.eye(N))
    for value in (np.nan, np.inf):
        np.fill_diagonal(z, value)
        for missing in ("refuse", "drop"):
            with pytest.raises(ValueError, match="X must be features, got a square matrix without numbers"):
                select_rows({"X": z}, missing=missing)


@pytest.mark.parametrize("kind", ["array", "matrix", "mapping"])
def test_rows_without_a_covariate_are_left_out_and_counted(kind):
    value = np.r_[np.nan, np.arange(N - 1.0)]
    covariates = {"array": value, "matrix": np.c_[value, value], "mapping": {"motion": value}}[kind]
    found = shesha.compare(X, Y, "RSA", covariates=covariates, n_permutations=19)
    assert f"{N - 1} of {N} rows used: 1 without a covariate left out" in found.inputs


@pytest.mark.parametrize(("smooth", "stated"), [(True, True), (False, False)])
def test_columns_that_may_be_times_are_stated(smooth, stated):
    noise = np.random.default_rng(0).standard_normal((20, 400))
    F = noise if not smooth else np.apply_along_axis(np.convolve, 1, noise, np.ones(12), "valid")
    found = shesha.audit({"F": F}, n_bootstrap=10, n_permutations=19)
    assert any("neighbouring columns are nearly equal" in text for text in found.inputs) == stated


def test_all_layers_with_the_same_fault_are_named():
    layers = {f"layer.{i}": np.where(i >= 2, np.nan, 1.0) * X for i in range(4)}
    with pytest.raises(ValueError, match=r"layer\.2 must be finite.* The same fault: layer\.3$"):
        shesha.compare_all(layers, "CKA")


@pytest.mark.parametrize(
    ("names", "warned"),
    [
        (("X_train", "X_test"), True),
        (("emb.train", "emb.val"), True),
        (("base", "train"), False),
        (("model_train", "other_test"), False),
        (("trainer", "tester"), False),
    ],
)
def test_parts_of_one_data_set_are_no_pair(names, warned):
    found = shesha.compare(X, Y, "CKA", names=names)
    assert any("named like parts of one data set" in text for text in found.inputs) == warned
    frame = pd.DataFrame(X, index=[f"text {i}" for i in range(N)])
    found = shesha.compare(frame, frame + 0.1, "CKA", names=names)
    assert not any("named like parts" in text for text in found.inputs)


def test_a_table_of_distances_with_columns_in_another_order_is_put_in_order():
    names = [f"s{i}" for i in range(6)]
    D = np.abs(np.subtract.outer(np.arange(6.0) ** 2, np.arange(6.0) ** 2))
    table = pd.DataFrame(D, names, names)
    assert shesha.Rdm(table.loc[names[::-1]]).condensed.tolist() == shesha.Rdm(D[::-1, ::-1]).condensed.tolist()
