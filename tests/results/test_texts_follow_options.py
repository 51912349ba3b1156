"""The text, the page, the JSON and the sentence of a result follow the levels that the caller chose."""

import inspect
import json
import re
import warnings

import numpy as np
import pytest

import shesha
from shesha.report import as_html

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 6))
Y = X + rng.standard_normal((60, 6))
Z = rng.standard_normal((60, 6))
LAYERS = {"a": X, "b": Y, "c": Z}

CALLS = {
    "audit": lambda **o: shesha.audit(X, seed=0, n_bootstrap=40, n_permutations=19, **o),
    "calibrate": lambda **o: shesha.calibrate(X, Y, seed=0, **o),
    "calibrate_layers": lambda **o: shesha.calibrate_layers(LAYERS, {"a": Y}, seed=0, **o),
    "calibrate_many": lambda **o: shesha.calibrate_many({"p": (X, Y), "q": (X, Z)}, seed=0, **o),
    "chance": lambda **o: shesha.chance(X, seed=0, **o),
    "compare": lambda **o: shesha.compare(X, Y, ["CKA", "RSA"], calibrate=True, **o),
    "compare_all": lambda **o: shesha.compare_all(LAYERS, "CKA", calibrate=True, **o),
    "consensus": lambda **o: shesha.consensus({str(k): X + 0.1 * rng.standard_normal(X.shape) for k in range(5)}, **o),
    "estimate": lambda **o: shesha.estimate(X, seed=0, n_bootstrap=40, **o),
    "match_units": lambda **o: shesha.match_units(X, Y, **o),
}
"""A small call of every public function that takes a level."""
ELSEWHERE = {"compare_several_within", "compare_within", "diff", "rank_models"}
"""Functions whose texts are tested with their own results."""
LEVELS = {"alpha": 0.013, "confidence": 0.875}
CASES = [
    (name, option)
    for name in CALLS
    for option in LEVELS
    if option in inspect.signature(getattr(shesha, name)).parameters
]


def words(result):
    """Return everything that a user may read, without numbers in tables and facts about versions."""
    page = re.sub(
        r"<style.*?</style>|<svg.*?</svg>|<script.*?</script>|data:[^\"']*", "", as_html(result.page()), flags=re.S
    )
    return {"text": str(result), "page": re.sub(r"<[^>]*>", " ", page), "sentence": result.sentence()}


def test_every_public_function_with_a_level_is_tried():
    taking = {
        name
        for name in shesha.__all__
        if inspect.isfunction(getattr(shesha, name))
        and set(LEVELS) & set(inspect.signature(getattr(shesha, name)).parameters)
    }
    assert taking == set(CALLS) | ELSEWHERE


@pytest.mark.parametrize(("name", "option"), CASES)
def test_words_follow_the_level(name, option):
    value = LEVELS[option]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CALLS[name](**{option: value})
    levels = {f"{value:g}", f"{100 * value:g} %", f"{100 * value:g}%"}
    for where, text in words(found).items():
        flat = " ".join(text.split())
        # A sentence may give p-values without a verdict, or numbers without intervals.
        verdict = {"alpha": r"chance at|outliers? at", "confidence": "interval"}[option]
        silent = where == "sentence" and not re.search(verdict, flat)
        assert silent or any(level in flat for level in levels), f"{where} does not give the level {value}: {flat}"
        if option == "alpha":
            assert not re.search(r"chance at 0\.05|at 5 ?%|\(5 ?%\)", flat), f"{where}: {flat}"
        else:
            assert not re.search(r"95 ?%", flat), f"{where}: {flat}"
    assert str(value) in json.dumps(json.loads(found.to_json()))


def test_a_verdict_of_a_comparison_follows_its_level():
    """With p between both levels, the answer changes with the level."""
    for seed in range(50):
        pair = np.random.default_rng(seed).standard_normal((2, 40, 4))
        pair[1] += 0.35 * pair[0]
        usual = shesha.compare(*pair, "CKA", calibrate=True)
        if 0.013 < usual["CKA"].p_value < 0.05:
            break
    strict = shesha.compare(*pair, "CKA", calibrate=True, alpha=0.013)
    assert usual.headline.startswith("CKA is above chance at 0.05.")
    assert strict.headline.startswith("CKA is not above chance at 0.013.")
    assert strict["CKA"].threshold > usual["CKA"].threshold


def test_a_raw_chance_level_is_not_denied():
    page = as_html(shesha.compare(X, Y, ["CKA"]).page())
    assert "chance level" in page
    assert "No chance level was computed" not in page
