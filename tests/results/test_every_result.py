"""Every class of results, of all rooms: equality, files, JSON, tables, printing and notebooks, by one mechanism."""

import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from math import nan

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.results.base import Result, values_equal
from shesha.results.json_loading import kind_name, kinds

ARRAYS = {"SteeringVector"}
"""Whose `==` is that of arrays."""


def test_all_rooms_are_there(kind):
    assert kinds()[kind_name(kind)] is kind
    names = set(kinds())
    assert {"Audit", "Comparison", "LayerComparison", "DriftVerdict", "CoherenceTable", "TrialScore"} <= names
    assert {"bio.Controls", "steering.SteeringVector"} <= names
    assert len(names) > 55


def test_a_saved_result_comes_back_to_the_last_bit(kind, tmp_path, sample):
    made = sample(kind)
    path = made.save(tmp_path / "found.json")
    back = shesha.load(path)
    assert type(back) is kind
    for one in fields(kind):
        mine, theirs = getattr(made, one.name), getattr(back, one.name)
        # repr tells -0.0 from 0.0, a list from a tuple, 1 from 1.0 and shows every digit.
        assert repr(mine) == repr(theirs), one.name
        assert values_equal(mine, theirs), one.name
    text = path.read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
    assert back.save(tmp_path / "again.json").read_text(encoding="utf-8") == text


def test_equality_takes_nan_for_itself_and_notices_every_field(kind, sample):
    one, other = sample(kind), sample(kind)
    if kind.__name__ in ARRAYS:
        np.testing.assert_array_equal(one == other, True)
        return
    assert one == other
    assert hash(one) == hash(other)
    assert one == pickle.loads(pickle.dumps(one))
    assert one != "something else"
    for field in fields(kind):
        if field.compare:
            changed = replace(one, **{field.name: object()})
            assert changed != one, field.name


def test_json_is_standard_and_holds_the_plain_values(kind, sample):
    made = sample(kind)
    plain = json.loads(made.to_json(), parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
    assert plain.pop("shesha") == shesha.__version__
    copy = made.to_dict()
    assert plain.keys() == copy.keys()
    assert {*made.aliases} <= copy.keys()
    assert {one.name for one in fields(kind)} - {"inputs"} <= copy.keys() or kind.to_dict is not Result.to_dict
    for value in copy.values():
        if isinstance(value, dict):
            value.clear()
    assert json.loads(made.to_json(indent=1)) == {"shesha": shesha.__version__, **plain}


def test_every_result_is_a_table_and_prints(kind, sample):
    made = sample(kind)
    assert isinstance(made.to_frame(), pd.DataFrame)
    assert str(made)
    for one in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(made, one.name, None)


def test_what_calls_return_fits_a_terminal_and_comes_back(real_kind, real_result, tmp_path):
    found = real_result(real_kind)
    if not isinstance(found, shesha.results.Number | shesha.results.NoiseCeiling):  # which are one long line
        assert max(map(len, str(found).splitlines())) <= 80
    back = shesha.load(found.save(tmp_path / "found.json"))
    assert back == found
    assert str(back) == str(found)


WITHOUT_PICTURE = {"NoiseCeiling", "StreamVerdict"}
"""Kinds of which no picture is drawn."""


def test_a_result_is_drawn_on_given_axes_under_a_given_title(real_kind, real_result):
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    if real_kind in WITHOUT_PICTURE:
        with pytest.raises(ValueError, match="result must have values to be drawn"):
            real_result(real_kind).plot(ax=ax)
        return
    assert real_result(real_kind).plot(ax=ax, title="a $title") is ax
    assert ax.get_title() == r"a \$title" and ax.has_data()


_EVIDENCE = ("value", "low", "high", "chance", "chance_sd", "threshold", "calibrated", "p_value", "corrected_p_value")


def without_values(found):
    """Return a result in which no number has a value, as for data that no score can be computed from."""
    if isinstance(found, dict):
        return {name: without_values(one) for name, one in found.items()}
    if type(found) in (list, tuple):
        return type(found)(map(without_values, found))
    if not is_dataclass(found):
        return found
    changed = {one.name: without_values(getattr(found, one.name)) for one in fields(found) if one.init}
    if isinstance(found, shesha.results.Number):
        changed |= {name: nan for name in _EVIDENCE if name in changed} | {"reason": "all rows are equal"}
    return replace(found, **changed)


def test_what_has_no_values_still_prints_and_has_a_page_and_a_sentence(real_kind, real_result, tmp_path):
    found = without_values(real_result(real_kind))
    assert str(found)
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert found.save_html(tmp_path / "page.html").stat().st_size
    if not isinstance(found, shesha.results.RowMap):  # which is a part of a result
        assert found.sentence()


def test_alarms_and_what_could_not_be_judged_need_attention(sample):
    states = {"ok": False, "watch": False, "alert": True, "not estimable": True}
    for verdict in (shesha.results.DriftVerdict, shesha.results.StreamVerdict):
        assert {state: sample(verdict, state=state).needs_attention for state in states} == states


def test_nan_is_itself_but_no_other_number():
    nan = float("nan")
    assert values_equal((nan, {"a": [nan]}), (nan, {"a": [nan]}))
    assert not values_equal((nan,), (0.0,))
    assert not values_equal((1,), [1])
    assert not values_equal((1, 2), (1,))
    assert not values_equal({"a": 1}, {"b": 1})
    assert values_equal(np.array([1.0, nan]), np.array([1.0, nan]))
    assert not values_equal(np.array([1.0]), (1.0,))
    assert not values_equal(np.array([1.0]), np.array([1]))
    assert values_equal(np.array(["a"]), np.array(["a"]))


def written(sample, tmp_path, **changes):
    path = sample(shesha.results.Estimate).save(tmp_path / "one.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["result"] |= changes.pop("result", {})
    content["result"]["fields"] |= changes.pop("fields", {})
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2, "shesha": "9.1"}, r"of format 1, .* got format 2 in .*, saved by shesha 9.1: load it with"),
        ({"result": {"$result": "Evil"}}, r"kind must be one that shesha .* knows \(.*Estimate.*\), got 'Evil'"),
        ({"result": {"$result": "os.system"}}, r"kind must be one that .* got 'os.system'"),
        ({"result": {"$result": ["a"]}}, r"kind must be one that .* got \['a'\]"),
        ({"result": {"$python": "1"}}, r"result must be marked as in files of `save`, got .*together"),
        ({"fields": {"colour": 1}}, r"result must have the fields of Estimate, got colour as well"),
        ({"fields": {"value": "high"}}, r"result.value must be float, got 'high'"),
        ({"fields": {"notes": "high"}}, r"result.notes must be tuple\[str, ...\], got 'high'"),
        ({"fields": {"value": {"$float": "1e3"}}}, r"result.value must be marked as in files of `save`, got '\$float'"),
        ({"fields": {"options": {"$eval": "1"}}}, r"result.options must be marked as in files of `save`, got '\$eval'"),
        ({"fields": {"options": {"a": {"$array": ["|O", [1], ""]}}}}, r"must be an array of numbers .* got dtype"),
        (
            {"fields": {"options": {"$array": "AAAA"}}},
            r"result.options must be marked .* 3 parts are needed, not 'AAAA'",
        ),
        ({"fields": {"options": {"$dict": [[1]]}}}, r"result.options must be marked .* 2 parts are needed, not \[1\]"),
    ],
)
def test_files_that_are_not_ours_are_refused(tmp_path, changes, message, sample):
    path = written(sample, tmp_path, **changes)
    with pytest.raises(ValueError, match=message):
        shesha.load(path)


def test_a_field_that_lacks_is_told_unless_it_has_a_default(tmp_path, sample):
    path = sample(shesha.results.DriftPath).save(tmp_path / "one.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["result"]["fields"]["reasons"]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert shesha.load(path).reasons == ()
    del content["result"]["fields"]["metric"]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="result must have the fields of DriftPath, got none named metric"):
        shesha.load(path)


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"format": 1, "result": NaN}', "[" * 2_000, "[" * 100_000])
def test_what_is_no_saved_result_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"path must (contain a result that `save` wrote|be valid JSON), got"):
        shesha.load(path)


def test_a_plain_value_is_no_result(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"format": 1, "result": 5}', encoding="utf-8")
    with pytest.raises(ValueError, match="path must contain a saved result, got int"):
        shesha.load(path)


def test_what_cannot_be_written_is_said_and_leaves_the_old_file(tmp_path, sample):
    path = sample(shesha.results.Estimate).save(tmp_path / "one.json")
    before = path.read_bytes()
    with pytest.raises(
        TypeError, match=r"result.options must be numbers, texts, arrays or results to be saved, got obj"
    ):
        sample(shesha.results.Estimate, options={"a": object()}).save(path)
    with pytest.raises(
        TypeError, match=r"result.options must be an array of numbers or texts to be saved, got dtype obj"
    ):
        sample(shesha.results.Estimate, options={"a": np.array([None])}).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["one.json"]


def test_results_of_others_have_no_name_here():
    class Own(Result):
        pass

    with pytest.raises(TypeError, match=r"result must be of a class of this library, got .*Own"):
        kind_name(Own)


def test_a_fresh_process_names_every_kind_where_one_is_unknown(tmp_path):
    place = tmp_path / "widget.json"
    place.write_text('{"shesha": "0", "format": 1, "result": {"$result": "Widget", "fields": {}}}')
    code = f"import shesha; shesha.load({str(place)!r})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ValueError: kind must be one that shesha" in ended.stderr
    assert "Audit, " in ended.stderr and "TwoSample" in ended.stderr
    assert ", WithinClasses" in ended.stderr and "SeveralWithinClasses" in ended.stderr
