"""The table of settings finds every verdict that changes, in results of any kind, and no other."""

import numpy as np
import pytest

import shesha
from shesha.results import Number
from shesha.results.number import NumberTable

RNG = np.random.default_rng(0)
WITHOUT_VALUES = {
    *("CrossnobisPairs", "DimensionCurve", "DriftPath", "NoiseCeiling", "RowMap"),
    "StreamVerdict",
}


def table(**p_values):
    numbers = tuple(Number(name=name, value=1 - p, low=0.5 - p, high=1.0, p_value=p) for name, p in p_values.items())
    return NumberTable(numbers=numbers)


def test_verdicts_that_change_are_named():
    found = shesha.settings_table({"log": table(a=0.01, b=0.01, c=0.4), "raw": table(a=0.2, b=0.02, c=0.9)})
    assert found.dependent == ("a",)
    assert found.headline == "1 of 3 verdicts depends on the 2 settings: a."
    assert found.to_matrix().loc["a"].tolist() == ["above chance", "not above chance"]
    assert found.to_matrix("value").loc["b"].tolist() == [0.99, 0.98]
    assert "by chance: a" in found.notes[0]
    assert shesha.settings_table({"log": table(a=0.01), "raw": table(a=0.02)}).headline.startswith("0 of 1 verdict ")


def test_missing_numbers_are_counted():
    found = shesha.settings_table({"log": table(a=0.01, b=0.01), "raw": table(a=0.01)})
    assert found.headline.endswith("1 number is missing under some settings.")
    assert found.to_matrix().isna().to_numpy().tolist() == [[False, False], [False, True]]


def test_single_numbers_are_matched_whatever_their_names_are():
    X, Y = RNG.standard_normal((2, 30, 4))
    results = {
        metric: shesha.calibrate(X, Y, f"RSA(metric={metric})", n_permutations=19) for metric in ("cosine", "euclidean")
    }
    assert len(shesha.settings_table(results).by_name) == 1


def test_results_of_every_kind_can_be_compared_or_are_refused(real_kind, real_result):
    result = real_result(real_kind)
    results = {"one": result, "two": result}
    if real_kind in WITHOUT_VALUES:
        with pytest.raises(TypeError, match=rf"must be a result with named values, .*, got {real_kind}"):
            shesha.settings_table(results)
        return
    found = shesha.settings_table(results)
    assert not found.dependent
    assert len(found.numbers) == 2 * len(found.by_name)


def test_bad_input():
    with pytest.raises(ValueError, match=r"results must have at least 2 settings, got one"):
        shesha.settings_table({"one": table(a=0.1)})
    with pytest.raises(TypeError, match=r"results\['one'\] must be a result with named values, .*, got float"):
        shesha.settings_table({"one": 0.7, "two": 0.8})
    with pytest.raises(ValueError, match=r"results must have numbers of the same names, got a, b, c, d"):
        shesha.settings_table({"one": table(a=0.1, b=0.1), "two": table(c=0.1, d=0.1)})
