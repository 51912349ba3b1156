"""Nobody's wrong argument ends in another library's error: the input checks, and a part of `scripts/fuzz_calls.py`."""

import signal
import subprocess
import sys
import warnings
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import shesha
import shesha_bench
from shesha.inputs import validation as check
from shesha.inputs.vector_columns import is_missing
from shesha.kernels.distances import find_undirected_rows
from shesha.kernels.shapes import find_copies
from shesha.support import types as kinds
from shesha_bench import ranks, to_markdown
from shesha_bench.tests import score_groups, score_prediction
from shesha_studies import perturbation_tables, steering_predictors, transferability

SCRIPTS = Path(__file__).parents[1] / "scripts"
X = np.random.default_rng(0).normal(size=(40, 6))
y = np.arange(40) % 2
CLASSES = np.arange(40) % 4
MASKED = np.ma.masked_array(y, mask=np.arange(40) < 3)
LARGEST = np.sign(X) * np.finfo(float).max
ONE_HUGE = np.r_[np.full((1, 6), 1e300), X[1:]]
ONE_LARGEST = np.full((40, 6), np.finfo(float).max)
RECORDS = np.zeros(40, dtype=[("a", "f8"), ("b", "i4")])
LINES = pd.DataFrame(np.abs(X[:, :3]), columns=["magnitude", "coherence", "spread"])
LINES = LINES.assign(n=np.arange(10, 50), dataset=CLASSES)
SCORES = shesha_bench.published().head(40)
RAGGED = [list(range(1 + row % 3)) for row in range(40)]


@pytest.mark.parametrize(
    "call",
    [
        lambda: shesha.feature_split(RAGGED),
        lambda: shesha.compute_rdm(RAGGED),
        lambda: shesha.variance_ratio(X, RAGGED),
        lambda: shesha.compare(X, RAGGED, "CKA"),
        lambda: shesha.calibrate(X, X, groups=RAGGED),
        lambda: shesha.audit(X, RAGGED),
        lambda: shesha.neuro.trial_split(RAGGED, y),
        lambda: shesha.neuro.trial_split(X, RAGGED),
        lambda: transferability.logme_regression(X, RAGGED),
        lambda: shesha.steering.vector(X, RAGGED),
        lambda: shesha.coherence.coherence(RAGGED, X),
        lambda: shesha.bio.coherence(1.0, "a", copy=True),
        lambda: shesha.coherence.coherence_by_group(sparse.csc_array(X * 1j), CLASSES, [0]),
        lambda: shesha.descriptors.effective_rank(RAGGED),
        lambda: shesha.calibration.holm([[0.1], [0.1, 0.2]]),
        lambda: shesha.estimate(X, "supervised_alignment"),
        lambda: shesha.estimate(X, "feature_split", n_bootstrap=0),
        lambda: shesha.compare_all({"a": X, "b": X + 1}, "CKA", alpha=X[0]),
        lambda: shesha.diff({"a": X}, {"a": X}, also=7),
        lambda: shesha.estimate(X, pairs=np.ma.masked_array([1, 2], mask=[True, False]), n_bootstrap=0),
        lambda: shesha.anchor_stability(X, rank_normalize=pd.NA),
        lambda: shesha.compare(X, X, "CKA", calibrate=pd.NA),
        lambda: shesha.diff({"a": X}, {"a": X}, encoding=pd.NA),
        lambda: shesha.measures.gulp(X, X, ridge=pd.NA),
        lambda: shesha.measures.procrustes_similarity(X, X, published=pd.NA),
        lambda: shesha.measures.takes_moments("CKA"),
        lambda: transferability.gbc(X, y, published=pd.NA),
        lambda: perturbation_tables.ablation({"a": pd.DataFrame(X), "b": pd.DataFrame(X)}, size=pd.NA),
        lambda: shesha.neuro.permutation_null(X, lambda rows: 1.0, name=pd.NA),
        lambda: shesha.neuro.wuc(X, y, shrinkage=pd.NA),
        lambda: shesha.descriptors.plot_spectra({"a": X}, ordered=pd.NA),
        lambda: score_prediction(shesha.measures.get("CKA"), {("a", "b"): 1.0}, "ab", {"accuracy": -1e308}),
        lambda: score_prediction(shesha.measures.get("CKA"), "5", "ab", {}),
        lambda: score_groups("shortcut", shesha.measures.get("CKA"), {}, {"a": [X], "b": ["c"]}),
        lambda: score_groups("shortcut", shesha.measures.get("CKA"), {}, {}),
        lambda: shesha.feature_split([*map(sparse.csr_array, X[:5, None]), np.ones(6)]),
        lambda: shesha.compare_layers(sparse.coo_matrix(X), [X]),
        lambda: shesha.steering.rank_layers({"a": X}, [pd.NA, *["-1"] * 39]),
        lambda: to_markdown(pd.DataFrame(X), stars=pd.DataFrame(X)),
        lambda: shesha.noise_ceiling(np.array(1.0)),
        lambda: shesha.noise_ceiling([np.array(1.0), X]),
        lambda: shesha.noise_ceiling(sparse.csc_array(X)),
        lambda: shesha.compare_layers([X], [X], aggregate=np.array([1j, 2])),
        lambda: shesha.measures.cka(X, X, covariates=pd.DataFrame(index=range(40))),
        lambda: shesha.drift.two_sample_tests(np.array(1.5), X),
        lambda: shesha.drift.DriftMonitor(X * 1e-310, false_alarm=0.1).update(X),
        lambda: shesha.Moments().update(np.r_[ONE_LARGEST, -ONE_LARGEST], np.r_[X, X]),
        lambda: shesha.feature_split([{"a": 1}, [2.0], {"a": 3}]),
        lambda: shesha.feature_split([np.array(1.0), [2.0]]),
        lambda: shesha.Moments(names=np.array(3)),
        lambda: shesha.Moments.load(-0.0),
        lambda: shesha.LayerMoments().update({"a": X}, 3),
        lambda: shesha.LayerMoments().update([X], {"a": X}),
        lambda: shesha.estimate(X, n_bootstrap=3, n_draws=2).save(MASKED),
        lambda: shesha.drift.DriftMonitor(X).save(X),
        lambda: shesha.drift.DriftMonitor.load(3),
        lambda: shesha.drift.DriftMonitor(X).save("new", keep_rows=np.arange(2)),
        lambda: shesha.cite(np.array(1)),
        lambda: shesha.compare(0, X),
        lambda: shesha.compare(X, np.array(0.0)),
        lambda: shesha.neuro.spike_counts(np.array(0.1), [0.0]),
        lambda: shesha.neuro.spike_counts([[0.1], {0.2}], [0.0]),
        lambda: shesha.neuro.spike_counts([[0.1], [0.2]], [10**400]),
        lambda: shesha.neuro.behaviour_coupling(X, [10**400, *range(39)]),
        lambda: shesha.neuro.shared_neurons([[sparse.csr_matrix([[0, 1]])], [sparse.csr_matrix([[0, 1]])]]),
        lambda: shesha.neuro.shared_neurons([[0, 1]], first=X),
        lambda: shesha.calibrate_layers((), [X]),
        lambda: steering_predictors.partial_correlations({"a": X[:, 0], "b": np.int32(1)}, "a"),
        lambda: steering_predictors.partial_correlations({"a": X[:, 0], "b": X[:, 1], "c": X[:, :1]}, "a"),
        lambda: shesha.coherence.coherence_by_group(pd.DataFrame(X).assign(t="a"), y, control=0),
        lambda: shesha.measures.Groups([None, 1, 2]),
        lambda: shesha.measures.Groups([np.nan, 1, 2]),
        lambda: shesha.io.save("new.npz", {"a": X}, overwrite=pd.DataFrame({"a": [1]})),
        lambda: shesha.io.open_file("new.npz", flatten=pd.NA),
        lambda: shesha.compare_layers([X], [X], truncate=pd.DataFrame({"a": [1]})),
        lambda: shesha.calibrate(X, X, exact=X[0], n_permutations=19),
        lambda: shesha.diff({"a": X}, {"a": X}, match=X[0]),
        lambda: shesha.measures.rsa(X, X, method=pd.NA),
        lambda: shesha.diff({"a": X}, {"a": np}),
        lambda: shesha.compare(X, np, "CKA"),
        lambda: shesha.drift.two_sample_tests(np, X),
        lambda: shesha.drift.DriftMonitor(np),
        lambda: shesha.drift.DriftMonitor(X, nulls=np),
        lambda: shesha.drift.DriftMonitor(LARGEST),
        lambda: shesha.drift.DriftMonitor(X, false_alarm=1e-320),
        lambda: shesha.drift.conformal_stream(LARGEST, X),
        lambda: shesha.compare(X, X, "CKA", confidence=1 - 2**-53),
        lambda: shesha.doubts(X, covariates=[]),
        lambda: shesha.steering.rank_layers({"a": X}, y, C=1e308),
        lambda: shesha.neuro.searchlight(X[:8], shesha.compute_rdm(X[:8]), neighbours=[True]),
        lambda: shesha.neuro.searchlight(X[:8], shesha.compute_rdm(X[:8]), neighbours=[[[1], [1, 2]]]),
        lambda: shesha.neuro.spike_counts([[0.1], [0.2]], RAGGED),
        lambda: shesha.neuro.spike_counts([np, [0.2]], [0.0]),
        lambda: shesha.neuro.trial_split(X, [sparse.csr_matrix([[1]])] * 40),
        lambda: shesha.neuro.trial_split(X, np.zeros(40, dtype="V4")),
        lambda: shesha.neuro.noise_ceiling(pd.Series([[1.0, 2.0]] * 40).to_numpy(), {}),
        lambda: shesha.neuro.discriminability(X, [None, *CLASSES[1:]], blocks=CLASSES[:-1]),
        lambda: shesha.neuro.check_tracked([[0, 1]], RAGGED[:2]),
        lambda: shesha.bio.find_controls(np.array("a")),
        lambda: perturbation_tables.correlation(pd.DataFrame(X), np.inf, 0),
        lambda: perturbation_tables.single_against_combined(
            pd.DataFrame({"magnitude": X[:, 0], "coherence": X[:, 1]}), separator=""
        ),
        lambda: perturbation_tables.fake_tables(LARGEST, {"a": 5}),
        lambda: shesha.measures.cka([*RAGGED, sparse.coo_matrix(X)], X),
        lambda: shesha.io.from_anndata(anndata.AnnData(X), layer=np.array([1, "a"], dtype=object)),
        lambda: to_markdown(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})),
        lambda: shesha.neuro.trials_needed(X, pd.Series([np.ma.masked, *CLASSES[1:]])),
        lambda: shesha_bench.rank(SCORES.assign(measure=[["CKA"]] * len(SCORES))),
        lambda: shesha_bench.table(SCORES.assign(domain=[np.ma.masked] * len(SCORES))),
        lambda: ranks.stars(SCORES.assign(p_value="low")),
        lambda: ranks.stars(SCORES.assign(significance_stars=1e300)),
        lambda: shesha_bench.rank_with_published(SCORES.assign(value=[1.0, "a"] * 20)),
        lambda: shesha_bench.add_published(pd.concat([SCORES, SCORES], axis=1)),
        lambda: shesha_bench.compare_ranks(SCORES.assign(test=1.0)),
        lambda: shesha_bench.agreement(SCORES, pd.concat([SCORES, SCORES])),
        lambda: perturbation_tables.correlations(LINES.assign(coherence="a")),
        lambda: perturbation_tables.correlations(pd.concat([LINES, LINES], axis=1)),
        lambda: perturbation_tables.mixed_model(LINES.assign(coherence=1j)),
        lambda: perturbation_tables.mixed_model(LINES.assign(n=0)),
        lambda: perturbation_tables.mixed_model(LINES.assign(dataset=[{1}] * 40)),
        lambda: perturbation_tables.discordances(LINES.iloc[:0]),
        lambda: perturbation_tables.pooled_correlations(LINES.iloc[:0]),
        lambda: shesha.neuro.noise_ceiling(X, [pd.NA] * 40),
        lambda: shesha.neuro.spike_counts(y, np.array([np.complex128(1j), None], dtype=object)),
        lambda: perturbation_tables.single_against_combined(LINES.astype(str)),
        lambda: perturbation_tables.ablation({"a": pd.concat([LINES, LINES]), "b": LINES}),
        lambda: perturbation_tables.null_model(effect=1e308),
        lambda: perturbation_tables.null_model(n_cells=[[1], [1, 2]]),
    ],
)
def test_lists_of_several_lengths_are_refused_by_name(call):
    with pytest.raises((ValueError, TypeError), match=r"must .*got"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: shesha.diff({"a": X}, {"a": X}, MASKED),
        lambda: shesha.diff({"a": X}, {"a": X}, blocks=MASKED),
        lambda: shesha.diff({"a": X}, {"a": X}, groups=MASKED),
        lambda: shesha.audit(X, MASKED),
        lambda: shesha.neuro.noise_ceiling(X, y, MASKED),
        lambda: shesha.neuro.shared_neurons(np.ma.masked_array(X[:9, :2].astype(int), mask=X[:9, :2] > 1)),
        lambda: steering_predictors.partial_correlations(
            {"a": MASKED, "b": X[:, 0], "c": X[:, 1]}, "c", covariates=["b"]
        ),
        lambda: shesha.io.save("new.npz", {"a": X}, labels=MASKED),
        lambda: shesha.io.save("new.npz", {"a": np.ma.masked_array(X, mask=X > 2)}),
        lambda: shesha.rdm_drift(X, np.ma.masked_array(RECORDS, mask=[(True, False)] * 40)),
    ],
)
def test_masked_entries_are_refused_wherever_they_stand(call):
    with pytest.raises(ValueError, match=r"must not be masked, got \d+ masked entries"):
        call()


def test_perturbations_of_one_name_count_once_each():
    """Lines are matched by number, not by name."""
    same = LINES.set_axis(["a"] * 40)
    found = [perturbation_tables.pooled_correlations(table, n_bootstrap=9) for table in (LINES, same)]
    assert found[0].equals(found[1])


@pytest.mark.parametrize("strange", [None, np.inf, "Int64"])
def test_lines_without_a_finite_number_are_left_out_whatever_holds_them(strange):
    if isinstance(strange, str):
        whole = LINES.assign(n=np.r_[np.nan, LINES["n"][1:]])
        table = whole.assign(n=pd.array([None, *LINES["n"][1:].astype(int)], dtype=strange))
    else:
        whole, table = LINES[1:], LINES.assign(n=np.r_[strange, LINES["n"][1:]].astype(float))
    found = [perturbation_tables.mixed_model(one, predictors=["magnitude", "n"]) for one in (table, whole)]
    assert found[0] == found[1]


def test_neighbours_may_have_any_byte_order():
    near = np.eye(6) + np.eye(6, k=1)
    graphs = (near, near.astype(">f8"), near.astype(np.float16), near > 0)
    found = [shesha.neuro.searchlight(X[:8], shesha.compute_rdm(X[8:16]), neighbours=one).values for one in graphs]
    assert all(np.array_equal(found[0], one, equal_nan=True) for one in found[1:])


def test_a_covariate_in_one_column_is_a_covariate():
    found = [shesha.calibrate(X, X, "CKA", within=within, n_permutations=19) for within in (X[:, 0], X[:, :1])]
    assert found[0].p_value == found[1].p_value


def test_a_mask_that_hides_nothing_changes_nothing():
    tracked = [[0, 3, -1], [1, -1, 2]]
    assert np.array_equal(
        shesha.neuro.shared_neurons(np.ma.masked_array(tracked)), shesha.neuro.shared_neurons(tracked)
    )


def test_the_largest_numbers_have_a_direction():
    with np.errstate(all="raise"):
        constant = find_undirected_rows(LARGEST, "correlation")
    assert constant.tolist() == np.flatnonzero(np.ptp(np.sign(X), axis=1) == 0).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: shesha.diff({"a": X}, {"a": LARGEST}).layers.values(),
        lambda: [SimpleNamespace(value=shesha.bio.perturbation_coherence(ONE_HUGE, X))],
        lambda: shesha.compare(shesha.Moments.of(6e4 * np.ones_like(X, dtype=np.float16) * np.sign(X), X), "CKA"),
        lambda: shesha.compare(LARGEST, X, "RSA(metric=euclidean)", error=3.0),
        lambda: shesha.compare(LARGEST, X, [f"Jaccard(metric={metric})" for metric in ("euclidean", "dot")], queries=9),
        lambda: [SimpleNamespace(value=shesha.measures.uniformity_difference(X, 0.6e154 * CLASSES[:, None]))],
        lambda: [
            SimpleNamespace(value=shesha.neuro.stochastic_shape(LARGEST, X, CLASSES).value, reason="it is infinite")
        ],
        lambda: [SimpleNamespace(value=shesha.noise_ceiling([LARGEST, X], "CKA").upper)],
        lambda: [shesha.drift.DriftMonitor(X, false_alarm=0.1).check(ONE_HUGE).scores[0]],
        lambda: shesha.compare(X, LARGEST, "CKA", calibrate=True, n_permutations=19),
        lambda: [SimpleNamespace(value=shesha.measures.rsa(LARGEST, X, covariates=X[:, 0]))],
        lambda: [shesha.estimate(LARGEST, covariates=X[:, 0], n_bootstrap=3, n_permutations=199)],
        lambda: shesha.compare(LARGEST, X, ["sliced Wasserstein", "RSMDiff", "MMD"]),
        lambda: [shesha.drift.DriftMonitor(X, false_alarm=0.1).check(LARGEST).scores[0]],
        lambda: shesha.diff({"a": X * 1e-160}, {"a": X}).layers.values(),
        lambda: [SimpleNamespace(value=shesha.measures.cka(X, X, covariates=LARGEST[:, 0]))],
        lambda: [SimpleNamespace(value=float(len(shesha.doubts(X, covariates=LARGEST[:, 0]))))],
        lambda: [SimpleNamespace(value=shesha.bio.perturbation_coherence_whitened(ONE_HUGE, X))],
        lambda: [SimpleNamespace(value=shesha.bio.perturbation_coherence_knn(LARGEST, X))],
        lambda: [SimpleNamespace(value=shesha.measures.mmd(X, -X, bandwidth=1e-320))],
        lambda: [SimpleNamespace(value=transferability.logme_regression(X, 1e300 * y, published=True), reason="large")],
        lambda: [SimpleNamespace(value=transferability.logme_regression(1e300 * X, y, published=True), reason="large")],
        lambda: [SimpleNamespace(value=shesha.anchor_stability(X, n_per_split=1), reason="one probe")],
        lambda: [SimpleNamespace(value=float(len(find_copies({"a": X[:1, :1], "b": X[:1, :1]}))))],
        lambda: [shesha.estimate(LARGEST, CLASSES, "label_conditioned_split", n_bootstrap=3, n_permutations=19)],
        lambda: [
            shesha.estimate(X, CLASSES.astype(np.float16), "class_separation_ratio", n_bootstrap=3, n_permutations=19)
        ],
    ],
)
def test_numbers_near_the_largest_give_values_or_reasons_without_warnings_of_numpy(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        found = call()
    # An error of NumPy within a measure is a reason as well, but none that a user understands.
    assert all(np.isfinite(one.value) or (one.reason and "failed" not in one.reason) for one in found)


def test_cells_without_a_shift_have_no_coherence():
    (table,) = perturbation_tables.fake_tables(np.zeros((40, 3)), {"a": 5}, n_tables=1, seed=0)
    assert np.isnan(table.loc["a", "coherence"])


def test_groups_of_any_type_have_codes():
    """Objects without an order are groups by their text."""
    changed, strange = X + 0.1 * X[::-1], [object() for _ in range(4)]
    groups = np.array([strange[code] for code in CLASSES])
    named, own = (shesha.diff({"a": X}, {"a": changed}, groups=some, seed=0) for some in (CLASSES, groups))
    assert own.layers["a"].value == named.layers["a"].value


def test_a_sparse_row_is_no_missing_vector():
    assert not is_missing(sparse.csr_array(X[:1])) and not is_missing(np.array(3.0)) and is_missing(X[:0])


@pytest.mark.parametrize("keys", [1e-320, np.int64(3), np.empty(0), "b"])
def test_keys_are_names(tmp_path, keys):
    np.savez(tmp_path / "a.npz", a=X)
    with pytest.raises((TypeError, ValueError), match="keys"):
        shesha.io.open_file(tmp_path / "a.npz", keys=keys)


def test_distances_have_a_name_in_text():
    with pytest.raises(TypeError, match="name must be a text, got bytes"):
        shesha.Rdm(np.zeros((4, 4), dtype=np.uint8), name=b"a")


@pytest.mark.parametrize("strange", [[1, 2], {1}, {"a": 1}, np.arange(2)])
def test_labels_that_are_collections_are_refused(strange):
    with pytest.raises((ValueError, TypeError), match=r"^y must"):
        check.labels(pd.Series([strange, *([strange] * 39)]).to_numpy(), 40)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_of_numpy_counts_as_an_array():
    matrix = np.matrix(X)
    assert shesha.feature_split(matrix, seed=0) == shesha.feature_split(X, seed=0)
    assert shesha.measures.cka(matrix, X[:, :3]) == shesha.measures.cka(X, X[:, :3])


@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_whole_numbers_of_numpy_count_as_whole_numbers(width):
    number = np.dtype(width).type(20)
    counted = check.count(number, "n")
    assert counted == 20 and type(counted) is int
    assert shesha.calibrate(X, X, n_permutations=number).p_value == shesha.calibrate(X, X, n_permutations=20).p_value


@pytest.mark.parametrize("width", ["int8", "uint8", "uint32"])
def test_narrow_whole_numbers_count_as_python_numbers(width):
    number = np.dtype(width).type(6)
    random, drawn = partial(shesha.neuro.trial_split, X, CLASSES, how="random"), {"n_permutations": 0}
    assert random(n_splits=number, **drawn).value == random(n_splits=6, **drawn).value
    assert shesha.explore(X, k=number).trustworthiness == shesha.explore(X, k=6).trustworthiness


def test_rows_of_a_table_are_taken_by_position():
    """Slices of a table whose row names are numbers are of names, not of positions."""
    table = pd.DataFrame(X, index=[None, *range(39)])
    groups = np.where(CLASSES == 0, "control", "a")
    found = (shesha.coherence.coherence_by_group(rows, groups, control="control", seed=0) for rows in (table, X))
    assert len({group.groups[0].value for group in found}) == 1


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["a", "b"] * 20),
        pd.date_range("2020", periods=40, tz="UTC"),
        pd.period_range("2020", periods=40),
        pd.interval_range(0, 40),
    ],
)
@pytest.mark.parametrize("order", ["<f8", ">f8"])
def test_columns_of_types_of_pandas_are_left_out_of_numbers(column, order):
    table = pd.DataFrame(X.astype(order)).assign(more=column)
    assert shesha.feature_split(table, seed=0) == shesha.feature_split(X, seed=0)


def test_names_that_can_be_read_once_are_names():
    pair = {("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 3.0}
    once, again = (
        score_prediction(shesha.measures.get("CKA"), pair, names, {"accuracy": pair}, seed=0)
        for names in (iter("abc"), "abc")
    )
    assert once == again


def test_labels_may_be_numbers_of_any_length():
    assert len(check.labels([10**400, "b"] * 20, 40)[1]) == len(check.labels([10**400, 0.5] * 20, 40)[1]) == 2


@pytest.mark.parametrize("number", [2**31, 2**63, 2**70, np.uint64(2**63)])
def test_counts_that_nothing_could_count_are_refused(number):
    with pytest.raises(ValueError, match="n must be at most 2,147,483,647"):
        check.count(number, "n")
    assert check.optional_count(int(number), "n") == 2**31 - 1


@pytest.mark.parametrize("one", [check.fraction, check.positive, check.finite_number])
def test_numbers_too_large_for_a_float_are_refused(one):
    with pytest.raises(ValueError, match="share must be"):
        one(10**400, "share")


@pytest.mark.parametrize("strange", [None, 3, Decimal(1), ["a"], np.float64(1), pd.NA])
def test_every_kind_refuses_the_others(strange):
    for one in (kinds.text, kinds.path, kinds.function, kinds.frame, kinds.mapping):
        with pytest.raises(TypeError, match=r"option must be .*, got"):
            one(strange, "option")


def test_descriptors_name_the_rows_that_are_not_finite():
    with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in rows 3"):
        shesha.descriptors.effective_rank(np.where(np.arange(40)[:, None] == 3, np.nan, X))


@pytest.mark.parametrize("level", [0.0, 1.0, 2.0])
def test_the_confidence_of_differences_is_a_share(level):
    with pytest.raises(ValueError, match="confidence must be in"):
        shesha.coherence.coherence_of_differences(X, confidence=level)


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="needs a timer of the processor")
def test_hostile_calls_end_in_a_result_or_an_error_of_the_library():
    """A part of `scripts/fuzz_calls.py`, over other functions than the checks above."""
    pytest.importorskip("anndata")
    pytest.importorskip("matplotlib")
    found = subprocess.run(
        [sys.executable, SCRIPTS / "fuzz_calls.py", "--calls", "300", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="needs a timer of the processor")
def test_damaged_stores_end_in_a_result_or_an_error_of_the_library():
    """A part of `scripts/fuzz_stores.py`."""
    pytest.importorskip("prometheus_client")
    found = subprocess.run(
        [sys.executable, SCRIPTS / "fuzz_stores.py", "--cases", "25"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout + found.stderr
