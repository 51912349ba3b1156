"""`shesha compare`: arrays of files in, a table or matrices out, and a status that scripts can trust."""

import re
from importlib import import_module

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha.cli._outputs import _first_screen
from shesha.measures import registry as registry
from shesha.report import as_text
from shesha.support.provenance import add_statements

FEW = ("--measures", "CKA,LinReg")


@pytest.fixture
def arrays():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((40, 8))
    return {"X": X, "Y": X @ rng.standard_normal((8, 6)), "Z": rng.standard_normal((40, 5))}


@pytest.fixture
def folder(tmp_path, arrays):
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        np.save(tmp_path / f"d{name}.npy", np.abs(array[:, None] - array[None]).sum(axis=2))
    np.savez(tmp_path / "layers.npz", first=arrays["X"], second=arrays["Y"], third=arrays["Z"], kind=np.arange(40) % 3)
    np.save(tmp_path / "short.npy", arrays["Y"][:30])
    np.save(tmp_path / "turned.npy", arrays["X"].T)
    np.save(tmp_path / "flat.npy", np.ones((40, 4)))
    return tmp_path


def printed(result):
    """What a command prints about a result: its first screen and the sentence for a paper."""
    return f"{_first_screen(result)}\n\n{as_text(result.sentence_sections())}\n"


def without_seconds(text):
    return re.sub(r" +\d+\.\d{3}$", "", text, flags=re.MULTILINE)


def test_the_table_is_that_of_the_library(invoke, folder, arrays):
    for options, calibrate in (((), True), (("--no-calibrate",), False)):
        ended = invoke("compare", folder / "X.npy", folder / "Y.npy", *options)
        found = shesha.compare(arrays["X"], arrays["Y"], "recommended", calibrate=calibrate, seed=0)
        assert (ended.status, ended.err) == (0, "")
        assert without_seconds(ended.out.split("These measures")[0]) == without_seconds(f"{found}\n")
        assert ("Use --calibrate for chance levels" in ended.out) is not calibrate


def test_many_rows_and_chosen_measures_are_calibrated_on_request_only(invoke, folder, monkeypatch):
    pair = ("compare", folder / "X.npy", folder / "Y.npy")
    assert "Raw values" in invoke(*pair, "--measures", "CKA").out
    assert "Raw values" in invoke(*pair, "--pairs", "200").out
    distances = ("compare", folder / "dX.npy", folder / "dY.npy", "--rdm")
    assert "above chance" in invoke(*distances).out
    module = import_module("shesha.comparison.compare")
    monkeypatch.setattr(module, "MOST_ROWS_TESTED", 39)
    assert "Raw values" in invoke(*pair).out
    assert "Raw values" in invoke(*distances).out


def test_files_of_the_same_name_are_named_by_their_folders(invoke, tmp_path, arrays, strict_json):
    paths = [tmp_path / run / "final" / "emb.npy" for run in ("run1", "run2")]
    for path, array in zip(paths, arrays.values(), strict=False):
        path.parent.mkdir(parents=True)
        np.save(path, array)
    assert "run1/final/emb (40 x 8) and run2/final/emb (40 x 6)" in " ".join(invoke("compare", *paths).out.split())
    assert shesha.compare_all(paths, "CKA").names == ("run1/final/emb", "run2/final/emb")
    found = strict_json(invoke("diff", *paths, "--json", "-").out)
    assert [found["before"], found["after"]] == ["run1/final/emb.npy", "run2/final/emb.npy"]


def test_what_is_no_representation_is_skipped_aloud(invoke_main, folder, arrays):
    ended = invoke_main("compare", folder / "layers.npz", *FEW)
    found = shesha.compare_all(dict(zip(("first", "second", "third"), arrays.values(), strict=True)), ["CKA", "LinReg"])
    assert (ended.status, ended.err) == (0, "")
    sizes = "first, 40 x 8; second, 40 x 6; third, 40 x 5"
    read = f"layers.npz: {sizes}; left out kind, which is 1-D with shape (40,), so it may contain labels"
    assert ended.out == printed(add_statements(found, [read, "rows paired by position (no ids)"]))


@pytest.mark.parametrize(
    "options",
    [
        ("--measures", "mutual kNN(k=4, metric=euclidean),CKA"),
        ("--measures", "mutual_knn(k=4,metric=euclidean)", "--measures", " cka "),
        ("--measures", "mutual-kNN(metric=euclidean,k=4), CKA,,"),
    ],
)
def test_measures_are_split_at_commas_outside_parentheses(invoke, strict_json, folder, arrays, options):
    ended = invoke("compare", folder / "X.npy", folder / "Y.npy", *options, "--json", "-")
    assert [score["value"] for score in strict_json(ended.out)["scores"]] == [
        measures.mutual_knn(arrays["X"], arrays["Y"], k=4, metric="euclidean"),
        measures.cka(arrays["X"], arrays["Y"]),
    ]


def test_three_arrays_give_a_matrix_per_measure(invoke, folder, arrays):
    ended = invoke("compare", *(folder / f"{name}.npy" for name in arrays), *FEW)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == printed(shesha.compare_all(arrays, ["CKA", "LinReg"]))


def test_json_beside_the_table_and_alone(invoke, strict_json, folder, arrays):
    args = ("compare", folder / "X.npy", folder / "Y.npy", "--measures", "CKA,ProcDist,MMD", "--seed", "4")
    plain = invoke(*args)
    ended = invoke(*args, "--json", folder / "a.json")
    assert ended.status == 0
    assert without_seconds(ended.out) == without_seconds(plain.out)
    beside, alone = strict_json((folder / "a.json").read_text()), strict_json(invoke(*args, "--json", "-").out)
    for content in (beside, alone):
        assert (content["first"], content["second"], content["seed"]) == ("X", "Y", 4)
        assert content["shapes"] == [[40, 8], [40, 6]]
        cka, distance, mmd = content["scores"]
        assert (cka["value"], cka["closer"], cka["possible_high"]) == (
            measures.cka(arrays["X"], arrays["Y"]),
            "higher",
            1.0,
        )
        # Infinity and NaN are not JSON.
        assert (distance["possible_high"], mmd["value"]) == (None, None)
        assert mmd["reason"] == "needs equal widths, got 8 and 6 features"


def test_distances_are_taken_as_such_if_told(invoke, strict_json, folder, arrays):
    ended = invoke("compare", folder / "dX.npy", folder / "dY.npy", "--rdm", "--measures", "RSA,CKA", "--json", "-")
    rsa, cka = strict_json(ended.out)["scores"]
    given = [shesha.Rdm(np.load(folder / f"d{name}.npy")) for name in "XY"]
    assert (ended.status, ended.err) == (0, "")
    assert rsa["value"] == measures.rsa(*given)
    table = invoke("compare", folder / "dX.npy", folder / "dY.npy", "--rdm", "--measures", "RSA").out
    assert "dX (distances of 40 rows) and dY (distances of 40 rows)" in " ".join(table.split())
    assert cka["reason"] == "needs the features, got distances between rows"


@pytest.mark.filterwarnings("default")
def test_what_looks_like_distances_gets_a_hint(invoke_main, folder):
    ended = invoke_main("compare", folder / "dX.npy", folder / "Y.npy", *FEW)
    assert ended.status == 0
    assert (
        ended.err
        == "shesha: dX looks like a matrix of distances, but is used as features. If it contains distances, pass "
        "shesha.Rdm(dX), or --rdm on the command line\n"
    )


@pytest.mark.parametrize(
    "files",
    [
        ("X.npy", "Y.npy"),
        ("X.npy", "Y.npy", "Z.npy"),
    ],
)
def test_a_picture_of_the_first_measure(invoke, folder, files):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    args = ("compare", *(folder / name for name in files), "--measures", "CKA,MagDiff")
    ended = invoke(*args, "--plot", folder / "a.png")
    assert (ended.status, ended.err) == (0, "")
    # The numbers are printed as they are without a picture.
    assert without_seconds(ended.out) == without_seconds(invoke(*args).out)
    pixels = matplotlib.image.imread(folder / "a.png")
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 3
    matplotlib.pyplot.close("all")


def test_no_value_at_all_ends_with_status_2(invoke, folder):
    ended = invoke("compare", folder / "X.npy", folder / "flat.npy", "--measures", "CKA,RV")
    assert (ended.status, ended.err) == (2, "shesha: no measure has a value\n")
    assert "CKA, RV: flat: all rows are equal" in ended.out


def test_what_does_not_fit_is_told_and_left_out(invoke, folder, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "60K")
    with pytest.warns(shesha.MeasureWarning, match="left out: Jaccard: needs"):
        ended = invoke("compare", folder / "X.npy", folder / "Y.npy", "--measures", "CKA,Jaccard")
    assert ended.status == 0
    assert "  - Without a value: Jaccard: needs" in ended.out


BAD = {
    "other rows": (["X.npy", "short.npy"], r"must have equal numbers of rows, got X \(40\), short \(30\)"),
    "transposed": (["X.npy", "turned.npy"], r"got X \(40\), turned \(\d+\). X or turned may be transposed"),
    "one array": (["X.npy"], "FILE must contain at least two representations in total, got X"),
    "one file twice": (["X.npy", "X.npy"], "FILE must not be repeated, got .*X.npy more than once"),
    "an unknown measure": (
        ["X.npy", "Y.npy", "--measures", "jacard"],
        "must be .*, got 'jacard'; did you mean Jaccard",
    ),
    "an open parenthesis": (["X.npy", "Y.npy", "--measures", "Jaccard(k=3"], r"--measures must be a name or name\(opt"),
    "no measure": (["X.npy", "Y.npy", "--measures", " , "], "measures must name at least one measure, got none"),
    "no picture": (["X.npy", "Y.npy", "--plot", "a.gif"], "--plot must end in one of .png, .pdf, .svg, got 'a.gif'"),
    "no process": (["X.npy", "Y.npy", "Z.npy", "--workers", "0"], "--workers must be at least 1, got 0"),
    "a missing key": (
        ["layers.npz", "--key", "fourth"],
        "--key must be among first, second, third in layers.npz, got 'fourth'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_status_2(invoke_main, folder, monkeypatch, case):
    monkeypatch.chdir(folder)
    args, message = BAD[case]
    ended = invoke_main("compare", *args)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(rf"shesha: .*{message}.*\n", ended.err)


def test_a_store_keeps_what_was_compared(invoke, strict_json, folder, monkeypatch):
    args = ("compare", folder / "X.npy", folder / "Y.npy", *FEW, "--store", folder / "a.sqlite", "--json", "-")
    first = strict_json(invoke(*args).out)
    assert strict_json(invoke(*args).out) == first
    more = ("compare", folder / "Z.npy", *args[1:])
    second = strict_json(invoke(*more).out)
    assert [one for one in second["scores"] if "Z" not in (one["first"], one["second"])] == first["scores"]
    assert len(second["scores"]) == 3 + 6
    assert second["names"] == ["Z", "X", "Y"]


def test_what_is_left_out_is_a_line_each(process, folder):
    steps = folder / "steps"
    steps.mkdir()
    for name in "XYZ":
        (folder / f"{name}.npy").rename(steps / f"{name}.npy")
    (steps / "half.npy").write_bytes((steps / "X.npy").read_bytes()[:200])
    (steps / "notes.md").touch()
    ended = process("compare", "steps", "--measures", "MagDiff", "--store", "steps/a.sqlite")
    assert ended.status == 0
    left_out, skipped = ended.err.splitlines()
    assert re.fullmatch(
        r"shesha: left out: steps/half.npy: steps/half.npy must be a complete .npy file, got .*", left_out
    )
    assert skipped == "shesha: skipped steps/notes.md: unsupported kind of file"
    # The store beside the files is none of them.
    assert process("compare", "steps", "--measures", "MagDiff", "--store", "steps/a.sqlite") == ended


BAD_STORED = {
    "an empty directory": (["empty"], "empty must contain files that end in one of .npy, .*, got none"),
    "no store": (["X.npy", "Y.npy", "--store", "X.npy"], "store must be a file written by `shesha compare --store`"),
    "workers and a scheduler": (
        ["X.npy", "Y.npy", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
        "workers must not be given with a scheduler",
    ),
    "nobody at the address": (
        ["X.npy", "Y.npy", "--scheduler", "tcp://127.0.0.1:1"],
        "scheduler must be the address of",
    ),
    "a column for a design": (
        ["X.npy", "Y.npy", "--calibrate", "--groups", "donor", "--store", "a.sqlite"],
        "--groups must be a file with --store, --scheduler or a directory, got 'donor'",
    ),
    "a design without calibration": (
        ["X.npy", "Y.npy", "--shift", "--store", "a.sqlite"],
        "calibrate must be True with shift, got False",
    ),
}


@pytest.mark.parametrize("case", BAD_STORED)
def test_bad_input_to_a_store_is_one_line_and_status_2(invoke_main, folder, monkeypatch, case):
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    args, message = BAD_STORED[case]
    ended = invoke_main("compare", *args)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(rf"shesha: .*{message}.*\n", ended.err)


def test_keys_may_be_of_different_files(invoke_main, tmp_path, rng):
    X = rng.standard_normal((30, 6))
    np.savez(tmp_path / "a.npz", first=X, other=X[:, :5])
    np.savez(tmp_path / "b.npz", second=X, other=X[:, :5])
    files, quick = (tmp_path / "a.npz", tmp_path / "b.npz"), ("--measures", "CKA", "--no-calibrate")
    ended = invoke_main("compare", *files, "--key", "first", "--key", "second", *quick)
    assert "(30 x 6) and " in ended.out and " CKA 1.000" in " ".join(ended.out.split())
    for keys, missing in ((("first",), "first"), (("first", "other", "third"), "third"), (("first", "third"), "first")):
        ended = invoke_main("compare", *files, *(word for key in keys for word in ("--key", key)), *quick)
        assert ended.status == 2 and f"got '{missing}'" in ended.err
    np.save(tmp_path / "c.npy", X)
    for command in ("compare", "diff", "layers"):
        ended = invoke_main(
            command, tmp_path / "a.npz", tmp_path / "c.npy", "--key", "first", *quick * (command == "compare")
        )
        assert ended.status == 0 and "left out other" not in ended.out
        ended = invoke_main(command, tmp_path / "a.npz", tmp_path / "c.npy", "--key", "third")
        assert ended.status == 2 and "got 'third'" in ended.err
