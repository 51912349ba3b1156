"""Audits of files, kept in a store: the findings about arrays in memory, each computed once."""

import json
import shutil
import weakref
from dataclasses import replace

import numpy as np
import pytest

from shesha import MeasureWarning, Rdm, compare_all
from shesha.auditing import stored_audits
from shesha.auditing.audit import _Steps
from shesha.comparison import input_manifest
from shesha.runs import ResultStore
from shesha.views import RankedRdm


@pytest.fixture
def arrays(layers):
    """One row has no direction under the cosine; one representation is stored in single precision."""
    found = {name: X.copy() for name, X in layers.items()}
    found["middle"] = np.float32(found["middle"])
    return {name: found[name] for name in sorted(found)}


@pytest.fixture
def folder(tmp_path, arrays):
    place = tmp_path / "steps"
    place.mkdir()
    for name, array in arrays.items():
        np.save(place / f"{name}.npy", array)
    return place


@pytest.fixture
def store(tmp_path):
    return tmp_path / "a.sqlite"


@pytest.fixture
def calls(monkeypatch):
    """The shapes of what is audited, and one line per drift that is computed."""
    found = []
    found_in, inner = stored_audits.audit_subject, RankedRdm.inner

    def counted(subject, *others):
        found.append(subject.shape)
        return found_in(subject, *others)

    def compared(self, other):
        found.append("drift")
        return inner(self, other)

    monkeypatch.setattr(stored_audits, "audit_subject", counted)
    monkeypatch.setattr(RankedRdm, "inner", compared)
    return found


def plain(found):
    """NaN equals NaN as text; what was read differs between files and arrays."""
    return json.dumps({name: value for name, value in found.to_dict().items() if name != "inputs"})


def test_files_give_the_findings_of_arrays(folder, arrays, classes, store, quick_audit):
    expected = quick_audit(arrays, classes, seed=5)
    assert expected.drift is not None
    for given in (folder, str(folder), [folder / f"{name}.npy" for name in arrays]):
        assert quick_audit(given, classes, seed=5) == expected
    for _ in range(2):
        found = quick_audit(folder, classes, seed=5, store=store)
        assert found == expected
        assert (str(found), found.ranking) == (str(expected), expected.ranking)
    # Contents are known by their numbers, wherever these are.
    assert quick_audit(arrays, classes, seed=5, store=store) == expected
    by_name = {"early": folder / "early.npy", "late": arrays["late"], "middle": str(folder / "middle.npy")}
    assert quick_audit(by_name, classes, seed=5) == expected


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_rows_without_direction_are_left_out_of_the_drift(folder, arrays, quick_audit, metric):
    arrays["early"][3] = 2.5
    np.save(folder / "early.npy", arrays["early"])
    assert quick_audit(folder, metric=metric) == quick_audit(arrays, metric=metric)


def test_what_cannot_be_scored_keeps_its_place(folder, arrays, classes, store, quick_audit):
    holes, few = np.full((60, 3), np.nan), np.ones((60, 1))
    equal = np.ones((60, 5))
    for name, array in {"p": holes, "q": few, "r": equal}.items():
        np.save(folder / f"{name}.npy", array)
    expected = quick_audit({**arrays, "p": holes, "q": few, "r": equal}, classes)
    assert plain(quick_audit(folder, classes, store=store)) == plain(expected)
    assert plain(quick_audit(folder, classes, store=store)) == plain(expected)
    assert expected["p"].reason.startswith("NaN or infinity in 60 rows of 60")
    assert expected["p"].reason.endswith(
        'missing="drop" leaves out columns without any number, and the other such rows'
    )
    for name in "pq":
        (folder / f"{name}.npy").unlink()
    expected = quick_audit({**arrays, "r": equal})
    assert expected.drift is not None
    assert expected.drift.reasons[-1]
    assert plain(quick_audit(folder, store=store)) == plain(expected)


def test_distances_are_audited_with_labels(arrays, classes, store, quick_audit):
    square = {name: Rdm(np.abs(X[:, None] - X[None]).sum(axis=2)) for name, X in arrays.items()}
    expected = quick_audit(square, classes)
    assert plain(quick_audit(square, classes, store=store)) == plain(expected)
    assert expected.drift is not None


def test_what_is_kept_is_not_audited_again_and_only_what_is_new_is(folder, layers, store, quick_audit, calls):
    first = quick_audit(folder, store=store)
    assert calls == [(60, 12)] * 3 + ["drift"] * 3
    calls.clear()
    assert quick_audit(folder, store=store) == first
    assert calls == []
    np.save(folder / "zero.npy", layers["early"][:, :9])
    second = quick_audit(folder, store=store)
    # From the first and from the previous.
    assert calls == [(60, 9), "drift", "drift"]
    # Beside one of fewer features, these are ranked with as few.
    assert [replace(one, same_width=None) for one in second.representations[:3]] == list(first.representations)
    assert [one.same_width.n_features for one in second.representations] == [9] * 4
    calls.clear()
    (folder / "zero.npy").rename(folder / "zoo.npy")
    shutil.copy(folder / "zoo.npy", folder / "zoop.npy")
    third = quick_audit(folder, store=store)
    assert calls == ["drift"]
    assert [one.name for one in third.representations] == ["early", "late", "middle", "zoo", "zoop"]
    assert third["zoop"].scores == third["zoo"].scores == second["zero"].scores
    assert third.drift.from_previous[-1] == 0


def test_a_changed_file_is_audited_anew_alone(folder, arrays, store, quick_audit, calls):
    quick_audit(folder, store=store)
    calls.clear()
    np.save(folder / "late.npy", arrays["late"] + 1)
    quick_audit(folder, store=store)
    assert calls.count((60, 12)) == 1


OTHERS = {
    "metric": {"metric": "euclidean"},
    "confidence": {"confidence": 0.9},
    "resamples": {"n_bootstrap": 11},
    "matchings": {"n_permutations": 20},
    "pairs": {"pairs": 200},
    "seed": {"seed": 1},
    "labels": {"y": np.arange(60) % 4},
    "labels of another kind": {"y": (np.arange(60) % 3).astype(str)},
    "no labels": {"y": None},
    "blocks": {"blocks": np.arange(60) // 20},
    "other blocks": {"blocks": np.arange(60) // 30},
    "shift": {"shift": True},
}


def test_other_options_labels_and_code_are_audited_anew(folder, classes, store, quick_audit, calls, monkeypatch):
    only = [folder / "early.npy"]
    quick_audit(only, classes, store=store)
    for number, (name, other) in enumerate(OTHERS.items()):
        quick_audit(only, **{"y": classes, "store": store, **other})
        assert len(calls) == number + 2, name
    for other in OTHERS.values():
        quick_audit(only, **{"y": classes, "store": store, **other})
    assert len(calls) == len(OTHERS) + 1
    monkeypatch.setattr(stored_audits.runs, "version_of_code", lambda *functions: "another")
    quick_audit(only, classes, store=store)
    assert len(calls) == len(OTHERS) + 2


def test_without_a_seed_each_audit_draws_its_own(folder, store, quick_audit, calls):
    found = [quick_audit([folder / "early.npy"], store=store, seed=None) for _ in range(2)]
    assert len(calls) == 2
    assert found[0]["early"].scores["feature_split"].value != found[1]["early"].scores["feature_split"].value
    # The drawn seed is recorded, so that the audit can be repeated.
    again = quick_audit([folder / "early.npy"], seed=found[0].options["seed"])
    assert again["early"].scores == found[0]["early"].scores
    draws = [quick_audit(folder, seed=np.random.default_rng(3)) for _ in range(2)]
    assert draws[0] == draws[1]


def test_a_file_that_cannot_be_read_is_left_out_with_its_reason(folder, arrays, store, quick_audit):
    (folder / "half.npy").write_bytes((folder / "early.npy").read_bytes()[:300])
    with pytest.warns(MeasureWarning, match=r"left out: .*half\.npy must be a complete \.npy file"):
        found = quick_audit(folder, store=store)
    assert found == quick_audit(arrays)
    for name in arrays:
        (folder / f"{name}.npy").unlink()
    with (
        pytest.warns(MeasureWarning, match="left out"),
        pytest.raises(ValueError, match=r"must contain at least one readable array, got none; .*half\.npy"),
    ):
        quick_audit(folder, store=store)


def test_a_file_that_changes_meanwhile_has_a_reason_and_only_for_now(folder, arrays, store, quick_audit, monkeypatch):
    array = input_manifest.InFile.array

    def gone(self):
        if self.name == "middle":
            raise FileNotFoundError("no such file: middle.npy")
        return array(self)

    with monkeypatch.context() as patching:
        patching.setattr(input_manifest.InFile, "array", gone)
        found = quick_audit(folder, store=store)
    assert found["middle"].reason == "FileNotFoundError: no such file: middle.npy"
    assert (found["middle"].n_rows, found["middle"].n_features) == (60, 12)
    assert (found.drift, found.drift_reason) == (None, "a representation could not be scored")
    assert quick_audit(folder, store=store) == quick_audit(arrays)


def test_a_file_that_changes_before_the_drift_costs_the_drift(folder, store, quick_audit, monkeypatch):
    monkeypatch.setattr(_Steps, "_view", lambda *_: (_ for _ in ()).throw(ValueError("late has changed")))
    found = quick_audit(folder, store=store)
    assert (found.drift, found.drift_reason) == (None, "late has changed")
    assert len(found.ranking) == 3


def test_what_does_not_fit_is_not_kept(folder, arrays, store, quick_audit, monkeypatch):
    with monkeypatch.context() as patching:
        patching.setenv("SHESHA_MEMORY", "8k")
        expected = quick_audit(arrays)
        assert "must fit the memory budget" in expected["late"].reason
        assert quick_audit(folder, store=store) == expected
        with ResultStore(store, create=False) as opened:
            assert list(opened.items(stored_audits.AUDITS)) == []
        patching.setenv("SHESHA_MEMORY", "100k")
        # Of all pairs of rows some are drawn where all do not fit.
        sampled = quick_audit(arrays)
        assert quick_audit(folder, store=store) == sampled
    assert quick_audit(folder, store=store) == quick_audit(arrays) != sampled


@pytest.mark.slow
def test_few_files_are_in_memory_together(tmp_path, rng, quick_audit, monkeypatch):
    for number in range(60):
        np.savez(tmp_path / f"step{number:02}.npz", X=rng.standard_normal((20, 6)))
    alive, most, load = [], [0], input_manifest.InFile.rows

    def watched(self):
        source = load(self)
        alive.append(weakref.ref(source))
        most[0] = max(most[0], sum(one() is not None for one in alive))
        return source

    monkeypatch.setattr(input_manifest.InFile, "rows", watched)
    ranked = []
    view = _Steps._view

    def counted(self, subject):
        found = view(self, subject)
        ranked.append(len(self._ranked))
        return found

    monkeypatch.setattr(_Steps, "_view", counted)
    found = quick_audit(tmp_path, n_bootstrap=0)
    assert len(found.ranking) == len(found.drift.names) == 60
    assert most[0] <= 3
    assert max(ranked) == 3
    # Once to be audited, once to be ranked.
    assert len(alive) == 120


def test_one_store_holds_comparisons_and_audits(folder, arrays, store, quick_audit, calls):
    compared = compare_all(folder, "CKA", store=store)
    found = quick_audit(folder, store=store)
    assert found == quick_audit(arrays)
    calls.clear()
    again = compare_all(folder, "CKA", store=store)
    assert again.matrix("CKA").equals(compared.matrix("CKA"))
    assert quick_audit(folder, store=store) == found
    assert calls == []


def test_all_code_behind_the_numbers_counts():
    names = {one.function.__module__ for one in stored_audits.audit_parts()}
    assert {
        "shesha.stability.scores.feature_split",
        "shesha.stability.scores.label_alignment",
        "shesha.descriptors.spectrum_and_dimension",
    } <= names
    assert stored_audits._modules(in_workers=True) == tuple(
        dict.fromkeys(one.function.__module__ for one in stored_audits.audit_parts())
    )


BAD = {
    "an empty folder": (
        lambda p: p / "empty",
        {},
        ValueError,
        "empty must contain files that end in one of .*, got none",
    ),
    "no such file": (lambda p: p / "none.npy", {}, FileNotFoundError, "path must be an existing file, got .*none"),
    "a file twice": (lambda p: [p / "early.npy"] * 2, {}, ValueError, "FILE must not be repeated, got .*early.npy"),
    "a folder as one": (lambda p: {"a": p}, {}, IsADirectoryError, "a must be an array or a file, got the directory"),
    "both": (lambda p: p, {"workers": 2, "scheduler": "tcp://127.0.0.1:1"}, ValueError, "workers must not be given"),
    "no tcp": (
        lambda p: p,
        {"scheduler": "tls://127.0.0.1:1"},
        ValueError,
        "scheduler must be an address such as tcp://",
    ),
    "labels of other rows": (lambda p: p, {"y": np.arange(50) % 2}, ValueError, "y must have shape|y must have one"),
    "row names": (lambda p: p, {"y": np.arange(60)}, ValueError, "y must contain classes, got 60 different labels"),
    "blocks of other rows": (lambda p: p, {"blocks": np.arange(50) % 2}, ValueError, "blocks must"),
    "a store in no folder": (lambda p: p, {"store": "/nowhere/a.sqlite"}, FileNotFoundError, "the folder of the store"),
    "a store that is a file": (lambda p: p, {"store": __file__}, ValueError, "store must be a file written by"),
    "nothing": (lambda p: {}, {"workers": 2}, ValueError, "representations must contain at least one matrix, got none"),
    "names that print alike": (
        lambda p: {1: p / "early.npy", "1": p / "late.npy"},
        {},
        ValueError,
        "representations must have distinct names, got '1' more than once",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(folder, quick_audit, case):
    given, options, error, message = BAD[case]
    if "empty" in case:
        (folder / "empty").mkdir()
    with pytest.raises(error, match=message):
        quick_audit(given(folder), **options)
