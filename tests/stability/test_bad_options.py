"""Options of the wrong kind or value are refused with the name of the option; unknown names list the known ones."""

import inspect
import re
from functools import partial

import numpy as np
import pytest

import shesha

N = 60
X = np.random.default_rng(0).standard_normal((N, 6))
Y = np.arange(N) % 2
THREE = np.arange(N) % 3

pytestmark = pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")

CALLS = {
    **{
        name: partial(getattr(shesha, name), X)
        for name in ("feature_split", "basis_averaged_split", "sample_split", "anchor_stability", "estimate")
    },
    **{
        name: partial(getattr(shesha, name), X, Y)
        for name in ("supervised_alignment", "class_separation_ratio", "lda_stability", "lda_subspace_stability")
    },
    "label_conditioned_split": partial(shesha.label_conditioned_split, X, THREE),
    "encoder_stability": partial(shesha.encoder_stability, np.tanh, X, 0.1),
}


def cases(*options):
    """Pair every call with those of the options that it takes; an estimate may have no bootstrap at all."""
    taken = {name: inspect.signature(call).parameters for name, call in CALLS.items()}
    return [
        (name, option)
        for option in options
        for name in CALLS
        if option in taken[name] and (name, option) != ("estimate", "n_bootstrap")
    ]


COUNTS = ("n_splits", "n_rotations", "n_draws", "n_bootstrap", "n_anchors", "n_per_split", "n")
SHARES = ("subsample_frac", "subsample_fraction", "confidence", "alpha")
OPEN_SHARES = ("confidence", "alpha")


@pytest.mark.parametrize(("name", "option"), cases(*COUNTS))
def test_counts_must_be_whole_numbers_of_at_least_one(name, option):
    for value in (2.5, 2.0, True, "3", None):
        with pytest.raises(TypeError, match=re.escape(f"{option} must be an integer, got {value!r}")):
            CALLS[name](**{option: value})
    for value in (0, -3):
        with pytest.raises(ValueError, match=f"{option} must be at least 1, got {value}"):
            CALLS[name](**{option: value})


@pytest.mark.parametrize(("name", "option"), cases(*SHARES))
def test_shares_must_be_numbers_between_zero_and_one(name, option):
    bracket = ")" if option in OPEN_SHARES else "]"
    for value in (0, 0.0, 1.5, -0.1, float("nan"), *([1] if option in OPEN_SHARES else [])):
        with pytest.raises(ValueError, match=re.escape(f"{option} must be in (0, 1{bracket}, got {value}")):
            CALLS[name](**{option: value})
    for value in ("a", None, True):
        with pytest.raises(TypeError, match=re.escape(f"{option} must be a number, got {value!r}")):
            CALLS[name](**{option: value})


@pytest.mark.parametrize(("name", "option"), cases("seed"))
def test_seeds_must_be_whole_numbers_from_zero_generators_or_none(name, option):
    for value, kind in ((1.0, "float"), ("1", "str"), (True, "bool"), (np.random, "module")):
        with pytest.raises(TypeError, match=f"seed must be an int, a numpy Generator or None, got {kind}"):
            CALLS[name](seed=value)
    with pytest.raises(ValueError, match="seed must be zero or positive, got -1"):
        CALLS[name](seed=-1)


@pytest.mark.parametrize("function", [shesha.shesha, shesha.estimate])
def test_an_option_that_a_variant_does_not_take_lists_those_it_does(function):
    with pytest.raises(TypeError, match=r"options of 'feature_split' must be among .*metric.*, got colour, n_trees"):
        function(X, colour="red", n_trees=3)
    with pytest.raises(TypeError, match=r"options of 'variance_ratio' must be among .*, got metric"):
        function(X, Y, "variance_ratio", metric="cosine")


@pytest.mark.parametrize("function", [shesha.estimate])
@pytest.mark.parametrize("variant", ["sample_split", "anchor", "anchor_stability"])
def test_a_score_that_estimates_nothing_is_refused_with_a_way_out(function, variant):
    with pytest.raises(
        ValueError, match=r"variant must have an identifiable estimand, got .*; use replicate_stability"
    ):
        function(X, variant=variant)


ROWS = {
    "outside": ([0, 60, -1], "{} must lie in 0..59, got 60, -1"),
    "repeated": ([5, 7, 5], "{} must name each row once, got repeated rows"),
    "fractions": ([0.5, 1.0], r"{} must be a non-empty sequence of row numbers, got \[0\.5, 1\.0\]"),
    "none": ([], r"{} must be a non-empty sequence of row numbers, got \[\]"),
    "a number": (3, "{} must be a non-empty sequence of row numbers, got 3"),
    "a table": ([[1, 2]], r"{} must be a non-empty sequence of row numbers, got \[\[1, 2\]\]"),
    "marks": ([True, False], r"{} must be a non-empty sequence of row numbers, got \[True, False\]"),
}


@pytest.mark.parametrize("kind", ROWS)
def test_anchors_and_probes_must_be_distinct_row_numbers(kind):
    ids, message = ROWS[kind]
    with pytest.raises(ValueError, match=message.format("anchor_ids")):
        shesha.anchor_profile_stability(X, X, ids)
    with pytest.raises(ValueError, match=message.format("probe_ids")):
        shesha.anchor_profile_stability(X, X, [0], ids)


def test_probes_must_be_other_rows_than_anchors_and_enough():
    with pytest.raises(ValueError, match="probe_ids must name other rows than anchor_ids, got 2, 3 in both"):
        shesha.anchor_profile_stability(X, X, [1, 2, 3], [2, 3, 4, 5])
    with pytest.raises(ValueError, match="probe_ids must name at least 3 rows, got 2"):
        shesha.anchor_profile_stability(X, X, [1], [2, 3])
    with pytest.raises(ValueError, match="probe_ids must name at least 3 rows, got 2"):
        shesha.anchor_profile_stability(X, X, np.arange(58))


MANY = np.random.default_rng(0).standard_normal((1000, 6))
TOO_LARGE = {
    "feature_split": lambda: shesha.feature_split(MANY, 2),
    "basis_averaged_split": lambda: shesha.basis_averaged_split(MANY, 2),
    "compute_rdm": lambda: shesha.compute_rdm(MANY),
    "rdm_similarity": lambda: shesha.rdm_similarity(MANY, MANY),
    "replicate_stability": lambda: shesha.replicate_stability(MANY, MANY),
    "drift_path": lambda: shesha.drift_path([MANY, MANY]),
    "sample_split": lambda: shesha.sample_split(MANY, 2, 1.0),
    "supervised_alignment": lambda: shesha.supervised_alignment(MANY, np.arange(1000) % 2, max_samples=None),
    "class_separation_ratio": lambda: shesha.class_separation_ratio(MANY, np.arange(1000) % 2, n_bootstrap=300),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_does_not_fit_the_memory_budget_is_refused_in_advance(name, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    message = r".* of 1,000 rows must fit the memory budget of 1 MiB, got \d+ MiB: .*raise SHESHA_MEMORY"
    with pytest.raises(ValueError, match=message):
        TOO_LARGE[name]()


@pytest.mark.parametrize("method", ["kendall", "tau-a"])
def test_methods_for_replicates_are_named_once(method):
    with pytest.raises(ValueError, match=f"method must be one of 'spearman', 'pearson', got '{method}'"):
        shesha.stability.replicate_stability(X, X, method=method)
    with pytest.raises(ValueError, match=f"method must be one of 'spearman', 'pearson', got '{method}'"):
        shesha.stability.anchor_profile_stability(X, X, [0, 1], method=method)
