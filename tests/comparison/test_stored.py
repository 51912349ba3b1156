"""Comparisons of files, kept in a store: the numbers of arrays in memory, each computed once."""

from __future__ import annotations

import shutil
import warnings
import weakref

import numpy as np
import pytest

import shesha.measures as measures
from shesha import MeasureWarning, Rdm, compare_all
from shesha.comparison import input_manifest, input_manifest as representation_locations, resumable_pairs
from shesha.runs import ResultStore
from shesha.views import Features

CHOSEN = ["CKA", "LinReg", "mutual kNN(k=4)", "sliced Wasserstein", "MMD", "Jaccard"]


@pytest.fixture
def folder(tmp_path, layers):
    place = tmp_path / "steps"
    place.mkdir()
    for name, array in {**layers, "flat": np.ones((40, 11))}.items():
        np.save(place / f"{name}.npy", array)
    return place


@pytest.fixture
def store(tmp_path):
    return tmp_path / "a.sqlite"


def table(found):
    return found.to_frame(full=True).drop(columns="seconds")


@pytest.fixture
def logged(mark):
    """A measure that tells the shapes of what it compares, and the list of what it told."""
    calls = []

    @mark("logged", symmetric=False, self_value=None)
    def logged(a, b):
        """Note the call."""
        calls.append((float(a.rows[0, 0]), float(b.rows[0, 0])))
        return calls[-1][0] - calls[-1][1]

    return logged, calls


@pytest.mark.parametrize("kept", [False, True])
def test_files_give_the_numbers_of_arrays(folder, layers, store, kept):
    names = sorted([*layers, "flat"])
    arrays = {name: np.load(folder / f"{name}.npy") for name in names}
    expected = compare_all(arrays, CHOSEN)
    found = compare_all(folder, CHOSEN, store=store if kept else None)
    assert table(found).equals(table(expected))
    assert (found.names, found.shapes, found.seed) == (expected.names, expected.shapes, expected.seed)
    assert (found.symmetric, found.self_values) == (expected.symmetric, expected.self_values)
    assert compare_all([folder / f"{name}.npy" for name in names], CHOSEN).matrix("CKA").equals(expected.matrix("CKA"))
    assert table(compare_all(arrays, CHOSEN, store=store)).equals(table(expected))
    by_name = {"X": str(folder / "early.npy"), "Y": arrays["middle"], "Z": folder / "noise.npy"}
    value = compare_all(by_name, "CKA", store=store).matrix("CKA").loc["X", "Y"]
    assert value == measures.cka(arrays["early"], arrays["middle"])


def test_distances_are_kept_apart_from_features(layers, store):
    square = {name: np.abs(X[:, None] - X[None]).sum(axis=2) for name, X in layers.items()}
    as_features = compare_all(square, "RSA", store=store)
    as_distances = compare_all({name: Rdm(D) for name, D in square.items()}, "RSA", store=store, workers=2)
    expected = compare_all({name: Rdm(D) for name, D in square.items()}, "RSA")
    assert as_distances.matrix("RSA").equals(expected.matrix("RSA"))
    assert not as_features.matrix("RSA").equals(expected.matrix("RSA"))


def test_what_is_kept_is_not_compared_again_and_only_what_is_new_is(folder, store, logged):
    measure, calls = logged
    first = compare_all(folder, measure, store=store)
    assert len(calls) == 25
    assert compare_all(folder, measure, store=store).scores == first.scores
    assert len(calls) == 25
    # Between others in the order of names.
    np.save(folder / "late.npy", np.full((40, 3), 7.0) + np.arange(40)[:, None])
    second = compare_all(folder, measure, store=store)
    new = calls[25:]
    assert len(new) == len(set(new)) == 11
    assert all(7.0 in pair for pair in new)
    assert set(first.scores) < set(second.scores)


def test_each_note_on_a_value_is_stored(store):
    arrays = dict(zip("ab", np.random.default_rng(0).standard_normal((2, 40, 20)), strict=True))
    options = {"calibrate": True, "n_permutations": 19, "confidence": 0.95, "seed": 0}
    plain = compare_all(arrays, "sampled CKA", **options)
    for _ in range(2):
        found = compare_all(arrays, "sampled CKA", store=store, **options)
        assert [score.notes for score in found.scores] == [score.notes for score in plain.scores]
    assert max(len(score.notes) for score in plain.scores) == 2


def test_a_renamed_file_has_the_comparisons_of_its_content(folder, store, logged):
    measure, calls = logged
    before = compare_all(folder, [measure, "CKA"], store=store)
    (folder / "flat.npy").rename(folder / "even.npy")
    after = compare_all(folder, [measure, "CKA"], store=store)
    assert len(calls) == 25
    renamed = (
        table(before)
        .replace({"flat": "even"})
        .assign(reason=[reason.replace("flat", "even") for reason in before.to_frame(full=True)["reason"]])
    )
    order = ["name", "first", "second"]
    assert (
        table(after).sort_values(order).reset_index(drop=True).equals(renamed.sort_values(order).reset_index(drop=True))
    )
    assert "even: all rows are equal" in set(after.to_frame(full=True)["reason"])


def test_a_changed_file_is_compared_anew_alone(folder, store, logged):
    measure, calls = logged
    compare_all(folder, measure, store=store)
    X = np.load(folder / "noise.npy")
    np.save(folder / "noise.npy", X + 100)
    compare_all(folder, measure, store=store)
    assert len(calls) == 25 + 9
    assert all(X[0, 0] + 100 in pair for pair in calls[25:])


def test_a_copy_is_compared_once(folder, store, logged):
    measure, calls = logged
    shutil.copy(folder / "early.npy", folder / "twin.npy")
    found = compare_all(folder, [measure, "CKA"], store=store)
    assert len(calls) == 25
    assert len(found.scores) == 36 + 15
    assert found.matrix("CKA").loc["early", "twin"] == 1
    assert found.matrix("CKA").loc["noise", "twin"] == found.matrix("CKA").loc["noise", "early"]


def test_options_seeds_and_versions_are_kept_apart(folder, store, monkeypatch):
    def n_kept():
        with ResultStore(store, create=False) as opened:
            return sum(1 for _ in opened.items(resumable_pairs.CELLS))

    compare_all(folder, "mutual kNN(k=3)", store=store)
    compare_all(folder, "mutual kNN(k=4)", store=store)
    assert n_kept() == 20
    compare_all(folder, "sliced Wasserstein", store=store, seed=1)
    compare_all(folder, "sliced Wasserstein", store=store, seed=1)
    assert n_kept() == 30
    compare_all(folder, "sliced Wasserstein", store=store, seed=2)
    assert n_kept() == 40
    monkeypatch.setattr(resumable_pairs, "code_version", lambda _: "another")
    compare_all(folder, "mutual kNN(k=3)", store=store)
    assert n_kept() == 50


def test_an_unchanged_file_is_not_read_to_be_known_again(folder, store, monkeypatch):
    compare_all(folder, ["CKA"], store=store)
    for module in (input_manifest, representation_locations):
        monkeypatch.setattr(module, "open_file", lambda *_, **__: pytest.fail("reads a file"))
    assert len(compare_all(folder, ["CKA"], store=store).scores) == 10


def test_a_file_that_cannot_be_read_is_left_out_with_its_reason(folder, store):
    (folder / "half.npy").write_bytes((folder / "early.npy").read_bytes()[:300])
    np.save(folder / "holes.npy", np.full((40, 3), np.nan))
    (folder / "notes.md").write_text("About the run.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = compare_all(folder, ["CKA"], store=store)
    told = "\n".join(str(one.message) for one in caught)
    assert {one.category for one in caught} == {MeasureWarning}
    assert f"left out: {folder / 'half.npy'}: {folder / 'half.npy'} must be a complete .npy file" in told
    assert f"left out: {folder / 'holes.npy'}: holes must be finite" in told
    assert f"skipped {folder / 'notes.md'}: unsupported kind of file" in told
    assert found.names == ("early", "flat", "middle", "narrow", "noise")
    with ResultStore(store, create=False) as opened:
        reasons = [text for key, text in opened.items(input_manifest.FILES) if "half.npy" in key]
    assert len(reasons) == 1
    assert "must be a complete .npy file" in reasons[0]
    shutil.copy(folder / "early.npy", folder / "half.npy")
    (folder / "holes.npy").unlink()
    (folder / "notes.md").unlink()
    assert "half" in compare_all(folder, ["CKA"], store=store).names


def test_a_file_that_changes_meanwhile_costs_its_own_comparisons_and_only_for_now(folder, store, monkeypatch):
    load = representation_locations.InFile.load

    def gone(self):
        if self.name == "middle":
            raise FileNotFoundError("no such file: middle.npy")
        return load(self)

    with monkeypatch.context() as patching:
        patching.setattr(representation_locations.InFile, "load", gone)
        found = compare_all(folder, ["CKA"], store=store)
    frame = found.to_frame(full=True)
    lost = frame[(frame["first"] == "middle") | (frame["second"] == "middle")]
    assert set(lost["reason"]) == {"middle: cannot be read: no such file: middle.npy"}
    assert frame["value"].notna().sum() == 3
    again = compare_all(folder, ["CKA"], store=store)
    assert table(again).equals(table(compare_all(folder, ["CKA"])))


def test_a_file_written_anew_between_looking_and_comparing_is_noticed(folder, monkeypatch):
    place = representation_locations.InFile(
        str(folder / "early.npy"), "early", representation_locations.Files((), ("early",)), "1:2"
    )
    with pytest.raises(ValueError, match=r"early\.npy must not change while the command runs, got a file that has"):
        place.load()


def test_views_are_made_once_per_representation_and_block(tmp_path, rng, store, counted):
    made = counted(measures.get("CKA").view)
    steps = {f"step{number:02}": rng.standard_normal((20, 4)) for number in range(20)}
    compare_all(steps, ["CKA", "RV"], store=store)
    # Blocks of 16 x 16, 16 x 4 and 4 x 4.
    assert len(made) == 16 + 20 + 4
    made.clear()
    compare_all({**steps, "step20": rng.standard_normal((20, 4))}, ["CKA", "RV"], store=store)
    assert len(made) == 17 + 5


def test_what_does_not_fit_is_not_kept_as_a_result(folder, store, monkeypatch):
    expected = compare_all(folder, ["CKA", "RSA"])
    kind, options = measures.get("RSA").view_key
    kept, working = kind.memory(40, 5, **dict(options))
    monkeypatch.setenv("SHESHA_MEMORY", str(2 * kept + working - 1))
    with pytest.warns(MeasureWarning, match="left out: RSA: needs "):
        found = compare_all(folder, ["CKA", "RSA"], store=store)
    assert {one.reason[:6] for one in found.scores if one.name == "RSA"} == {"needs "}
    monkeypatch.setenv("SHESHA_MEMORY", "1G")
    assert table(compare_all(folder, ["CKA", "RSA"], store=store)).equals(table(expected))


def test_few_files_are_in_memory_together(tmp_path, rng, store, monkeypatch):
    for number in range(25):
        np.save(tmp_path / f"step{number:02}.npy", np.float32(rng.standard_normal((2000, 200))))
    alive: list[weakref.ref] = []
    most = [0]
    load = representation_locations.InFile.load

    def watched(self):
        source = load(self)
        alive.append(weakref.ref(source))
        most[0] = max(most[0], sum(one() is not None for one in alive))
        return source

    monkeypatch.setattr(representation_locations.InFile, "load", watched)
    monkeypatch.setattr(resumable_pairs, "_recent", representation_locations.RecentRepresentations())
    monkeypatch.setenv("SHESHA_MEMORY", "64M")
    found = compare_all(tmp_path, ["MagDiff"], store=store)
    assert len(found.scores) == 25 * 24 / 2
    assert all(one.has_value for one in found.scores)
    # Half of the budget is for 3.2 million bytes each.
    assert most[0] <= 10
    # Each side of a block is read once per block at most: 5 sides, 15 blocks.
    assert len(alive) <= 25 + 10 * 5


def test_ctrl_c_keeps_what_is_done(folder, store, mark, monkeypatch):
    calls = []

    @mark("stopped", view=Features, symmetric=True)
    def stopped(a, b):
        """Meet Ctrl-C at the seventh call."""
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return float(a.rows[0, 0] * b.rows[0, 0])

    monkeypatch.setattr(resumable_pairs, "BLOCK", 2)
    found = compare_all(folder, ["MagDiff", stopped], store=store)
    assert found.interrupted
    reasons = [one.reason for one in found.scores if one.name == "stopped"]
    assert 0 < reasons.count("interrupted") < 10
    again = compare_all(folder, ["MagDiff", stopped], store=store)
    assert not again.interrupted
    # What was under way is compared again, nothing else.
    assert 10 <= len(calls) - 1 <= 14
    assert all(one.has_value for one in again.scores)


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_arrays_of_files_are_named_as_by_the_command(tmp_path, rng, store):
    X, Y, Z = rng.standard_normal((3, 20, 4))
    several = npz(tmp_path / "a.npz", first=X, second=Y, kind=np.arange(20))
    np.save(tmp_path / "b.npy", Z)
    both = compare_all([several, tmp_path / "b.npy"], "MagDiff")
    assert both.names == ("a:first", "a:second", "b")
    assert any(text.startswith("left out kind in 1 file: is 1-D") for text in both.inputs)
    assert compare_all(several, "MagDiff", store=store).names == ("first", "second")
    for _ in range(2):
        found = compare_all({"one": several, "two": tmp_path / "b.npy"}, "MagDiff", store=store)
        assert any(text.startswith("left out kind in 1 file: is 1-D") for text in found.inputs)
    assert found.names == ("one:first", "one:second", "two")
    assert found.matrix("MagDiff").loc["one:second", "two"] == measures.magnitude_difference(Y, Z)


def test_what_looks_like_distances_is_told(tmp_path, layers, store):
    for name, X in layers.items():
        np.save(tmp_path / f"{name}.npy", np.abs(X[:, None] - X[None]).sum(axis=2))
    for _ in range(2):
        with pytest.warns(MeasureWarning, match="early, middle, narrow, noise look like distances between rows"):
            compare_all(tmp_path, "MagDiff", store=store)


BAD = {
    "an empty folder": (
        lambda p: p / "empty",
        {},
        ValueError,
        r"empty must contain files that end in one of .*, got none",
    ),
    "a file twice": (lambda p: [p / "early.npy"] * 2, {}, ValueError, "FILE must not be repeated, got .*early.npy"),
    "no such file": (lambda p: [p / "none.npy"], {}, FileNotFoundError, "path must be an existing file, got .*none"),
    "other rows": (
        lambda p: [p / "early.npy", p / "short.npy"],
        {},
        ValueError,
        r"must have equal numbers of rows, got .* \(30\)",
    ),
    "both": (
        lambda p: p,
        {"workers": 2, "scheduler": "tcp://127.0.0.1:1"},
        ValueError,
        "workers must not be given with",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_is_refused(folder, case):
    (folder / "empty").mkdir()
    np.save(folder.parent / "short.npy", np.ones((30, 2)))
    make, options, error, message = BAD[case]
    if case == "other rows":
        shutil.copy(folder.parent / "short.npy", folder / "short.npy")
    with pytest.raises(error, match=message):
        compare_all(make(folder), "MagDiff", **options)


def test_arrays_for_other_processes_are_gone_afterwards(layers, tmp_path, store):
    (tmp_path / f"a.sqlite{resumable_pairs._ARRAYS}").mkdir()
    (tmp_path / f"a.sqlite{resumable_pairs._ARRAYS}" / "left.npy").write_bytes(b"by a run that was killed")
    tokens = {name: X.reshape(40, 1, -1) for name, X in layers.items()}
    found = compare_all(tokens, "CKA", store=store, workers=2, layer_axis=None)
    assert found.matrix("CKA").equals(compare_all(tokens, "CKA", layer_axis=None).matrix("CKA"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sqlite", "a.sqlite.lock"]
