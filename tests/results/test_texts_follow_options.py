"""Every public function and command follows its options in its text, its page, its JSON and its sentence."""

import contextlib
import inspect
import json
import re
import typing
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import typer
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import pdist
from typer.testing import CliRunner

import shesha
from shesha import bio, coherence, drift, neuro, steering
from shesha.cli._app import COMMANDS, app
from shesha.report import as_html
from shesha.results.base import Result

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
    "compare_within, of several": partial(shesha.compare_within, X, {"Y": Y, "Z": Z}, CLASSES),
    "compare_within": partial(shesha.compare_within, X, Y, CLASSES),
    "consensus": partial(shesha.consensus, MEMBERS),
    "descriptors.dimension_over_scale": partial(shesha.descriptors.dimension_over_scale, X),
    "diff": partial(shesha.diff, X, Y),
    "doubts": partial(shesha.doubts, X.cumsum(axis=0)),
    "drift_path": partial(shesha.drift_path, [X, Y, Z]),
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
    "neuro.noise_ceiling": partial(neuro.noise_ceiling, TRIALS, SHOWN),
    "neuro.over_time": partial(neuro.over_time, np.stack([TRIALS, TRIALS[::-1]], axis=2), SHOWN),
    "neuro.searchlight": partial(neuro.searchlight, X[:8], pdist(Y[:8]), [[0, 1, 2], [3, 4, 5]]),
    "neuro.session_drift": partial(neuro.session_drift, {"one": (TRIALS, SHOWN), "two": (TRIALS[::-1], SHOWN)}),
    "neuro.stochastic_shape": partial(neuro.stochastic_shape, TRIALS[:40], TRIALS[:40, ::-1], SHOWN[:40]),
    "neuro.time_clusters": partial(neuro.time_clusters, np.stack([TRIALS, TRIALS[::-1]], axis=2), SHOWN),
    "neuro.trial_split": partial(neuro.trial_split, TRIALS, SHOWN),
    "neuro.trials_needed": partial(neuro.trials_needed, TRIALS, SHOWN),
    "neuro.wuc": partial(neuro.wuc, TRIALS, SHOWN),
    "steering.rank_layers": partial(steering.rank_layers, LAYERS, CLASSES, n_splits=1),
    "steering.steerability": partial(steering.steerability, X, CLASSES, n_splits=1, n_directions=3),
}
"""A small call of every public function that returns a result."""
ELSEWHERE = {
    "bio.coherence_table": "as coherence_by_group",
    "bio.find_controls": "names of controls",
    "bio.integration_table": "passes its options to compare_within",
    "bio.integration_test": "passes its options to compare_within",
    "bio.perturbation_interval": "one number with an interval",
    "calibrate_layers": "compare_layers with one measure",
    "neuro.permutation_null": "the null of a function of the user",
    "settings_table": "shows other results",
    "steering.vector": "a vector: tests/steering",
}
"""Public functions with a result or a level that are not in the table, with the reason."""
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
FEW = {"n_permutations": 19, "n_draws": 39, "n_bootstrap": 0, "n_resamples": 20}
FEW |= {"n_splits": 1, "n_subsamples": 2, "n_directions": 3}
"""Numbers of draws with which single options are tried."""
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
    ("neuro.noise_ceiling", "n_draws"),
    ("estimate, sampled pairs", "n_bootstrap"),
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


def public_functions():
    """Return the public functions that return a result or have a level, by name."""
    found = {}
    for room in ("", "bio", "coherence", "descriptors", "drift", "neuro", "steering"):
        namespace = function(room) if room else shesha
        for name in namespace.__all__:
            member = getattr(namespace, name)
            if inspect.isfunction(member):
                inner, returns = inspect.unwrap(member), False
                with contextlib.suppress(NameError):  # Types of libraries that are imported for type checking only.
                    kind = eval(inner.__annotations__.get("return", "None"), inner.__globals__)
                    returns = isinstance(kind, type) and issubclass(kind, Result)
                if returns or {"alpha", "confidence"} & set(inspect.signature(member).parameters):
                    found[f"{room}.{name}".strip(".")] = member
    return found


def test_every_public_function_with_a_result_or_a_level_is_tried():
    assert set(public_functions()) - set(CALLS) == set(ELSEWHERE)
    assert {name.partition(",")[0] for name in CALLS} <= set(public_functions())


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


ROWS = {"neuro.searchlight": 8, "drift.conformal_stream": 120, **{name: 80 for name in CALLS if "neuro" in name}}
GIVEN = {
    "aggregate": "mean",
    "alphas": (-1.0, 0.0, 1.0),
    "block_length": 5,
    "calibrate": False,
    "cluster": lambda matrix: (matrix[:, 0] > 0).astype(int),
    "covariates": np.arange(60.0),
    "flexible": {"both": ["c", "d"]},
    "folds": 3,
    "keep": "row scale",
    "labels": CLASSES,
    "layer": "none",
    "max_cells": 50,
    "maximum": 0.9,
    "n_neighbors": 7,
    "n_neurons": 2,
    "noise": "diagonal",
    "names": ("first", "second"),
    "obsm": "other",
    "queries": np.arange(10),
    "row_names": [f"item {k}" for k in range(60)],
    "runs": np.arange(80) // 40,
    "scores": ("centroid_drift",),
    "shrinkage": 0.5,
    "target_se": 0.0005,
    "tests": ("energy",),
    "texts": [f"text {k}" for k in range(60)],
    "times": (10, 20),
    "trials_per_half": "all",
    "trials_per_run": "equal",
    "tracked": [[0, 0], [1, 1], [2, 2], [3, 3]],
    "variant": "basis_averaged_split",
    "y": CLASSES,
    ("compare", "names"): ("first", "second"),
    ("neuro.searchlight", "names"): ("first", "second"),
    ("neuro.time_clusters", "model"): pdist(TRIALS[:4]),
    ("neuro.time_clusters", "pairs"): "all",
    ("bio.e_distances", "pairs"): "all",
}
"""Other values for options, of one function or of all, that no rule derives from the default."""
TOGETHER = {
    ("coherence.coherence", "k"): {"method": "knn"},
    ("coherence.coherence_by_group", "k"): {"method": "knn"},
    ("coherence.coherence", "shrinkage"): {"method": "whitened"},
    ("coherence.coherence_by_group", "shrinkage"): {"method": "whitened"},
    ("diff", "blocks"): {"labels": CLASSES},
    ("diff", "index_metric"): {"index": True},
    ("diff", "max_loss"): {"index": True},
    ("estimate", "y"): {"variant": "variance_ratio"},
    ("estimate, sampled pairs", "y"): {"variant": "label_conditioned_split"},
    ("neuro.session_drift", "first"): {"tracked": [[1, 1], [2, 2], [3, 3], [4, 4]]},
    **{
        (name, option): {"min_rows": 5}
        for name in ("compare_within", "compare_within, of several")
        for option in ("blocks", "groups")
    },
    **{
        (name, "min_group"): {"groups": np.arange(60) // 4, "min_rows": 5}
        for name in ("compare_within", "compare_within, of several")
    },
    ("coherence.coherence", "null"): {"method": "knn"},
    ("neuro.wuc", "n_splits"): {"how": "random"},
    **{(name, "n_blocks"): {"how": "blocks"} for name in ("neuro.over_time", "neuro.trial_split", "neuro.wuc")},
    **{(name, "block_length"): {"null": "stretches"} for name in CALLS if "neuro" in name},
}
"""Options without which others have no effect."""
NO_EFFECT = {
    **dict.fromkeys(("ids", "layer_axis", "match", "missing", "rows"), "for inputs with names, layers or NaN"),
    **dict.fromkeys(("scheduler", "store", "workers"), "how to compute, not what"),
    **dict.fromkeys(
        ("again", "also", "conditions", "conditions_of_Y", "encoding", "layers_b", "permutations", "repeats"), "data"
    ),
    **dict.fromkeys(("truncate", "weights", "Y"), "data"),
    **dict.fromkeys(("error", "exact"), "how exact a number is"),
    **dict.fromkeys(("control", "groupby", "name", "skip"), "names of data"),
}
"""Options that tests of inputs try, with the reason."""


def other_values(name, parameter):
    """Return values that differ from the default of an option."""
    option, default, n = parameter.name, parameter.default, ROWS.get(name, 60)
    designs = {"blocks": np.arange(n) % 2, "groups": np.arange(n) // 4, "within": np.arange(n) % 3}
    if (name, option) in GIVEN or option in GIVEN:
        return [GIVEN.get((name, option), GIVEN.get(option))]
    if option in designs:
        return [designs[option]]
    literals = re.findall(r"'([^']*)'", str(parameter.annotation).replace('"', "'"))
    inner = inspect.unwrap(function(name))
    with contextlib.suppress(NameError):
        literals = list(typing.get_args(eval(str(parameter.annotation), inner.__globals__)))
    literals = [one for one in literals if isinstance(one, str) and one != default]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1, 2 * default + 3, 10 * default + 100]
    return [0.6 * default] if isinstance(default, float) else literals


@pytest.mark.parametrize("name", CALLS)
def test_every_option_changes_the_result_or_is_refused(name):
    """A new option is tried by its default or its literals; otherwise it must be entered in a table above.

    One seed gives one result, so that what changes is due to the option.
    """
    parameters = inspect.signature(function(name)).parameters.values()
    few = {one.name: FEW[one.name] for one in parameters if one.name in FEW}
    few |= {one.name: VALUES["seed"] for one in parameters if one.name == "seed"}

    def call(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = CALLS[name](**few | options)
            except (ValueError, TypeError) as refusal:
                return str(refusal)
        return re.sub(r'"seconds": [^,}]*', "", result.to_json())

    usual = call()
    assert call() == usual
    for one in parameters:
        known = one.default is one.empty or one.kind is one.VAR_KEYWORD or one.name in NO_EFFECT
        if known or (one.name in VALUES and (name, one.name) not in GIVEN):
            continue
        values, together = other_values(name, one), TOGETHER.get((name, one.name), {})
        assert values, f"no other value for {one.name}={one.default!r}: enter one in GIVEN, or the reason in NO_EFFECT"
        before = call(**together) if together else usual
        assert any(call(**together, **{one.name: value}) != before for value in values), f"{one.name} is ignored"


def test_held_out_values_say_their_folds():
    held_out = shesha.compare(X, Y, "LinReg", folds=3, seed=11)
    assert "3 folds" in " ".join(str(held_out).split()) and json.loads(held_out.to_json())["folds"] == 3


COMMAND_VALUES = {"--confidence": 0.875, "--alpha": 0.04, "--seed": 11, "--permutations": 38, "--bootstrap": 43}
COMMAND_LINES = {
    "audit": ["one.npy"],
    "compare": ["one.npy", "two.npy", "--calibrate", "--measures", "cka"],
    "consensus": ["one.npy", "two.npy", "three.npy"],
    "diff": ["one.npy", "two.npy"],
    "drift": ["one.npy", "two.npy"],
    "index": ["one.npy", "--way", "3", "--k", "3"],
    "layers": ["first.npz", "second.npz"],
    "rank": ["one.npy", "two.npy", "--data", "three.npy"],
}
PROGRAM = typer.main.get_command(app)


def test_every_command_with_a_level_is_tried():
    levels = {"--alpha", "--confidence"}
    assert set(COMMAND_LINES) == {
        name for name in COMMANDS if any(levels & set(one.opts) for one in PROGRAM.commands[name].params)
    }


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_commands_follow_their_options(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, rows in {"one": X, "two": Y, "three": Z}.items():
        np.save(f"{file}.npy", rows)
    np.savez("first.npz", a=X, b=Y)
    np.savez("second.npz", a=Y, b=Z)
    known = {option for one in PROGRAM.commands[name].params for option in one.opts}
    values = {option: value for option, value in COMMAND_VALUES.items() if option in known}
    options = [text for option, value in values.items() for text in (option, str(value))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, [name, *COMMAND_LINES[name], *options, "--json", "found.json"])
    assert done.exit_code == 0, done.output
    numbers = leaves(json.loads(Path("found.json").read_text(encoding="utf-8")))
    for option, value in values.items():
        assert value in numbers, f"{name} does not store {option} {value}"
    text = " ".join(done.output.split())
    assert not re.search(r"(at|<=|level) 0\.05\b|\b95 ?%|\(5 ?%", text), text


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
