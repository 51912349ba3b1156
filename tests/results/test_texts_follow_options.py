"""Every public function and command follows its options in its text, its page, its JSON and its sentence."""

import contextlib
import inspect
import json
import re
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import pdist
from typer.testing import CliRunner

import shesha
from shesha import bio, coherence, drift, neuro, steering
from shesha.cli._app import app
from shesha.report import as_html

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 6))
Y = X + rng.standard_normal((60, 6))
Z = rng.standard_normal((60, 6))
CLASSES = np.repeat(["A", "B"], 30)
LABELS = np.repeat(["control", "one", "two"], 20)
LAYERS = {"a": X, "b": Y, "c": Z}
MEMBERS = {str(k): X + 0.1 * rng.standard_normal(X.shape) for k in range(5)}
SHOWN = rng.permutation(np.tile(np.arange(4), 20))
TRIALS = rng.standard_normal((4, 6))[SHOWN] + rng.standard_normal((80, 6))
SESSIONS = {
    name: neuro.Session(TRIALS + shift, SHOWN, ["VISp"] * 3 + ["CA1"] * 3) for name, shift in (("s1", 0), ("s2", 0.1))
}


def _cells():
    anndata = pytest.importorskip("anndata")
    return anndata.AnnData(X, obs={"group": LABELS}, obsm={"X_pca": X, "other": Y})


def _three_means(matrix):
    return kmeans2(matrix, 3, minit="++", seed=0)[1]


CALLS = {
    "audit": partial(shesha.audit, X),
    "calibrate": partial(shesha.calibrate, X, Y),
    "compare_all, named pairs": partial(shesha.compare_all, {"p": (X, Y), "q": (X, Z)}, calibrate=True),
    "compare": partial(shesha.compare, X, Y, calibrate=True),
    "compare_all": partial(shesha.compare_all, LAYERS, calibrate=True),
    "compare_layers": partial(shesha.compare_layers, LAYERS, {"a": Y}, calibrate=True),
    "compare_several_within": partial(shesha.compare_several_within, X, {"Y": Y, "Z": Z}, CLASSES),
    "compare_within": partial(shesha.compare_within, X, Y, CLASSES),
    "consensus": partial(shesha.consensus, MEMBERS),
    "diff": partial(shesha.diff, X, Y),
    "estimate": partial(shesha.estimate, X),
    "estimate, sampled pairs": partial(shesha.estimate, X),
    "explore": partial(shesha.explore, X, Y),
    "match_units": partial(shesha.match_units, X, Y),
    "noise_ceiling": partial(shesha.noise_ceiling, [X, Y, X + 1]),
    "rank_models": partial(shesha.rank_models, [X, Y], {"c": Z, "d": X + Z}),
    "bio.cluster_stability": lambda **o: bio.cluster_stability(_cells(), "group", cluster=_three_means, **o),
    "bio.e_distances": lambda **o: bio.e_distances(_cells(), "group", control="control", **o),
    "coherence.coherence": partial(coherence.coherence, X[:20], Y[20:]),
    "coherence.coherence_by_group": partial(coherence.coherence_by_group, X, LABELS, control="control"),
    "coherence.coherence_of_differences": partial(coherence.coherence_of_differences, X),
    "drift.conformal_stream": partial(drift.conformal_stream, X, Z),
    "drift.two_sample": partial(drift.two_sample, X, Z),
    "drift.two_sample_tests": partial(drift.two_sample_tests, X, Z),
    "neuro.behaviour_coupling": partial(neuro.behaviour_coupling, TRIALS, TRIALS[:, 0]),
    "neuro.centroid_drift": partial(neuro.centroid_drift, TRIALS),
    "neuro.crossnobis_test": partial(neuro.crossnobis_test, TRIALS, SHOWN, noise=None),
    "neuro.discriminability": partial(neuro.discriminability, TRIALS, SHOWN),
    "neuro.over_time": partial(neuro.over_time, np.stack([TRIALS, TRIALS[::-1]], axis=2), SHOWN),
    "neuro.searchlight": partial(neuro.searchlight, X[:8], pdist(Y[:8]), [[0, 1, 2], [3, 4, 5]]),
    "neuro.session_drift": partial(neuro.session_drift, {"one": (TRIALS, SHOWN), "two": (TRIALS[::-1], SHOWN)}),
    "neuro.session_table": partial(neuro.session_table, SESSIONS, scores=("trial_split",), min_neurons=3),
    "neuro.tertiles": partial(neuro.tertiles, TRIALS + 3),
    "neuro.time_clusters": partial(neuro.time_clusters, np.stack([TRIALS, TRIALS[::-1]], axis=2), SHOWN),
    "neuro.trial_split": partial(neuro.trial_split, TRIALS, SHOWN),
    "neuro.trials_needed": partial(neuro.trials_needed, TRIALS, SHOWN),
    "steering.partial_correlations": partial(
        steering.partial_correlations, {"drop": X[:, 0], "a": X[:, 1], "b": X[:, 2]}, "drop", covariates=("b",)
    ),
    "steering.predictors": partial(steering.predictors, X, CLASSES),
    "steering.rank_layers": partial(steering.rank_layers, LAYERS, CLASSES, n_splits=1),
    "steering.steerability": partial(steering.steerability, X, CLASSES, n_splits=1, n_directions=3),
}
"""A small call of every public function that takes a level and returns a result."""
ELSEWHERE = {
    "bio.coherence_table": "as coherence_by_group",
    "bio.integration_table": "passes its options to compare_several_within",
    "bio.integration_test": "passes its options to compare_within",
}
VALUES = {
    "alpha": 0.03,
    "confidence": 0.875,
    "correction": "benjamini-hochberg",
    "k": 7,
    "max_rows": 37,
    "measure": "Procrustes similarity",
    "measures": ["Procrustes similarity"],
    "n_bootstrap": 43,
    "n_draws": 39,
    "n_permutations": 38,
    "n_resamples": 41,
    "pairs": 317,
    "seed": 11,
}
"""Another value for each option; permuted trials of a recording have only 79 different shifts."""
SAMPLED = {"max_rows": ("diff",), "pairs": ("audit", "estimate, sampled pairs")}
"""Sizes of samples, which all texts of these functions give."""
VERDICT = {
    "alpha": r"above chance|beyond chance|significant|outlier|differ at",
    "confidence": r"interval of|% interval",
}


def function(name):
    found = shesha
    for part in name.partition(",")[0].split("."):
        found = getattr(found, part)
    return found


UNFIT = {
    ("estimate, sampled pairs", "n_bootstrap"),
    ("neuro.session_table", "n_draws"),
    ("compare_all", "correction"),
    ("compare_all, named pairs", "confidence"),
}
OPTIONS = {
    # Neighbours of another method of coherence; the seed of a single group is that of its table.
    name: [
        option
        for option in VALUES
        if option in inspect.signature(function(name)).parameters
        and (option not in SAMPLED or name in SAMPLED[option])
        and not (name.startswith("coherence.") and option in ("k", "seed"))
        and (name, option) not in UNFIT
    ]
    for name in CALLS
}


def words(result):
    """Return everything that a user may read, without figures and facts about versions."""
    page = as_html(result.page())
    page = re.sub(r"<style.*?</style>|<svg.*?</svg>|<script.*?</script>|data:[^\"']*", "", page, flags=re.S)
    texts = {"text": str(result), "page": re.sub(r"<[^>]*>", " ", page)}
    with contextlib.suppress(ValueError):  # Tables of rows and of distances have no sentence for a paper.
        texts["sentence"] = result.sentence()
    return {where: " ".join(text.split()) for where, text in texts.items()}


def leaves(value):
    """Return all single values in a result's JSON."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for one in inner for leaf in leaves(one)]
    return [value]


def names_level(text, value):
    """Return whether a text gives a level as a number or in percent."""
    return any(level in text for level in (f"{value:g}", f"{100 * value:g} %", f"{100 * value:g}%"))


def test_every_public_function_with_a_level_is_tried():
    found = set()
    for room in ("", "bio", "coherence", "drift", "neuro", "steering"):
        namespace = function(room) if room else shesha
        for name in namespace.__all__:
            member = getattr(namespace, name)
            if inspect.isfunction(member) and {"alpha", "confidence"} & set(inspect.signature(member).parameters):
                found.add(f"{room}.{name}".strip("."))
    assert found - set(CALLS) == set(ELSEWHERE) - {"bio.integration_table", "bio.integration_test"} | NUMBERS


NUMBERS = {"bio.perturbation_interval", "neuro.association", "neuro.permutation_null", "neuro.wuc"}
"""Functions that return one number with an interval, or the result of another function in the table."""


@pytest.mark.parametrize("name", CALLS)
def test_words_and_numbers_follow_the_options(name):
    options = OPTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CALLS[name](**{option: VALUES[option] for option in options})
    numbers, texts = leaves(json.loads(result.to_json())), words(result)
    for option in options:
        value = VALUES[option]
        if option in ("measure", "measures"):
            assert any("Procrustes similarity" in str(number) for number in numbers)
            assert all("Procrustes" in text for text in texts.values()), f"{option}: {texts}"
        elif option == "correction":
            assert "Benjamini" in texts["page"]
        else:
            assert any(number == value for number in numbers if type(number) is not bool), f"no {option} in JSON"
        if option in VERDICT:
            other = {"alpha": r"chance at 0\.05|<= 0\.05|at 0\.05|\(5 ?%\)", "confidence": r"95 ?%"}[option]
            for where, text in texts.items():
                stated = where == "page" or re.search(VERDICT[option], text) is not None
                assert not stated or names_level(text, value), f"{where} does not give {option} {value}: {text}"
                assert not re.search(other, text), f"{where} gives another {option}: {text}"
        if option in SAMPLED:
            missing = [where for where, text in texts.items() if f"{value} " not in text]
            assert not missing, f"{missing} do not say that {value} were sampled"
        if option.startswith("n_"):
            given = re.compile(rf"(?<![\d.]){value}(?!\d)")
            assert any(given.search(text) for text in texts.values()), f"no text gives {option}: {texts}"


def test_held_out_values_and_commands_follow_their_options(tmp_path):
    held_out = shesha.compare(X, Y, "LinReg", folds=3, seed=11)
    assert "3 folds" in " ".join(str(held_out).split()) and json.loads(held_out.to_json())["folds"] == 3
    for name, rows in {"one": X, "two": Y, "three": Z}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    files = [str(tmp_path / f"{name}.npy") for name in ("one", "two", "three")]
    common = ["--confidence", "0.875", "--seed", "11", "--json", str(tmp_path / "found.json")]
    for command in (
        ["audit", files[0], "--permutations", "38", "--bootstrap", "43"],
        ["compare", *files[:2], "--calibrate", "--permutations", "38", "--measures", "cka"],
        ["consensus", *files],
        ["rank", *files[:2], "--data", files[2], "--permutations", "38"],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(app, [*command, *common])
        assert done.exit_code == 0, done.output
        numbers = leaves(json.loads((tmp_path / "found.json").read_text(encoding="utf-8")))
        for value in (0.875, 11, *([38] if "--permutations" in command else [])):
            assert value in numbers, f"{command[0]} does not store {value}"


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
