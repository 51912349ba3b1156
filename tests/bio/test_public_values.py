"""The documented functions give the numbers of the public package, and say what they refuse."""

import importlib
import inspect
import json
import pkgutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import shesha
from shesha import bio

RECORDED = json.loads(Path(__file__).with_name("public_values.json").read_text(encoding="utf-8"))
OLDER = {
    name: name.replace("stability", "coherence")
    for start in ("perturbation_stability", "compute_stability")
    for name in (start, f"{start}_whitened", f"{start}_knn")
}
SIGNATURES = {
    "perturbation_coherence": "X_control, X_perturbed, method='standard', metric='cosine', k=50, regularization=1e-06, "
    "seed=None, max_samples=1000, n_bootstrap_ci=None, ci=0.95, return_type='float'",
    "perturbation_coherence_whitened": "X_control, X_perturbed, regularization=1e-06, seed=None, max_samples=1000",
    "perturbation_coherence_knn": "X_control, X_perturbed, k=50, metric='euclidean', seed=None, max_samples=1000",
    "perturbation_effect_size": "X_control, X_perturbed, metric='euclidean', n_bootstrap_ci=None, ci=0.95, seed=None, "
    "return_type='float'",
    "compute_coherence": "adata, perturbation_key, control_label='control', layer=None, method='standard', **kwargs",
    "compute_coherence_whitened": "adata, perturbation_key, control_label='control', layer=None, "
    "regularization=1e-06, seed=None, max_samples=1000",
    "compute_coherence_knn": "adata, perturbation_key, control_label='control', layer=None, k=50, metric='euclidean', "
    "seed=None, max_samples=1000",
    "compute_magnitude": "adata, perturbation_key, control_label='control', metric='euclidean', layer=None",
    "split_half_reproducibility": "adata, perturbation_key='perturbation', control_label='control', n_splits=50, "
    "random_state=320, min_cells=30, layer=None",
    "magnitude_matched_comparison": "repro_df, coherence_col='Sp', repro_col='split_half_cosine', magnitude_col='Mp', "
    "n_bins=4",
    "discordance": "df, coherence_col='Sp', magnitude_col='Mp', method='linear', loess_frac=0.3",
}


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signatures_are_the_documented_ones(name):
    found = inspect.signature(getattr(bio, name)).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found]
    assert ", ".join(map(str, plain)) == SIGNATURES[name]


@pytest.mark.parametrize(("name", "now"), sorted(OLDER.items()))
def test_older_names_are_the_same_functions(name, now):
    assert getattr(bio, name) is getattr(bio, now)


def test_the_namespace_is_there():
    assert shesha.bio is bio
    assert set(bio.__all__) >= {*SIGNATURES, *OLDER}
    assert all(getattr(bio, name) is not None for name in bio.__all__)


@pytest.mark.parametrize("package", [bio, shesha.coherence], ids=lambda one: one.__name__)
def test_no_module_hides_a_function_of_its_name(package):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    assert not [name for name in package.__all__ if inspect.ismodule(getattr(package, name))]


def test_values_of_arrays(inputs):
    assert len(RECORDED["arrays"]) == 60
    for name, shape, options, value in RECORDED["arrays"]:
        assert getattr(bio, name)(*inputs.arrays(*shape), **options) == near(value), (name, shape, options)


def test_intervals(inputs):
    for score, options, expected in RECORDED["intervals"]:
        X, Y = inputs.arrays(5, 30, 20, 6)
        found = bio.perturbation_interval(X, Y, score, n_bootstrap=40, confidence=0.9, seed=7, **options)
        names = ("resampled_mean", "low", "high", "resampled_sd", "n_resamples", "confidence")
        assert [getattr(found, name) for name in names] == near(list(expected.values()))
        function = bio.perturbation_coherence if score == "coherence" else bio.perturbation_effect_size
        assert found.value == function(X, Y, seed=7, **options)
        assert str(found).startswith(f"{score}: {found.value:.4f} [")
        assert found.to_dict()["low"] == found.low


def test_values_of_anndata(inputs):
    adata = inputs.cells(11)
    for name, options, expected in RECORDED["annotated"]:
        found = getattr(bio, name)(adata, "perturbation", **options)
        assert list(found) == list(expected)
        assert list(found.values()) == near(list(expected.values()))


def test_values_of_sparse_anndata(inputs):
    from scipy import sparse

    adata = inputs.cells(11)
    kept = bio.compute_coherence(adata, "perturbation")
    adata.X = sparse.csr_matrix(adata.X)
    assert bio.compute_coherence(adata, "perturbation") == near(kept)


@pytest.mark.filterwarnings("ignore:left out:shesha.NotEstimableWarning")
def test_halves(inputs):
    for options, expected in RECORDED["halves"]:
        found = bio.split_half_reproducibility(inputs.cells(11), **options)
        assert found["split_half_cosine"].to_dict() == near(expected)
        assert (found["n_cells"] >= options.get("min_cells", 30)).all()


def test_halves_of_few_cells_are_named(inputs):
    with pytest.warns(shesha.NotEstimableWarning, match=r"left out, .* few \(12 cells\)"):
        bio.split_half_reproducibility(inputs.cells(11))


def test_matched_comparisons(inputs):
    for options, expected in RECORDED["matched"]:
        found = bio.magnitude_matched_comparison(inputs.table(4), **options).to_dict("list")
        assert list(found) == list(expected)
        assert found.pop("mag_bin") == expected.pop("mag_bin")
        for name, values in expected.items():
            assert found[name] == near(values), name


@pytest.mark.parametrize(("method", "expected"), RECORDED["discordance"], ids=lambda one: str(one)[:6])
def test_discordances(inputs, method, expected):
    found = bio.discordance(inputs.table(4), method=method)
    assert found.tolist() == near(expected)
    assert 3 not in found.index


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
def test_what_did_not_move_has_no_coherence():
    X = np.tile([[1.0, 1], [-1, -1]], (3, 1))
    for options in ({}, {"metric": "euclidean"}, {"method": "knn"}, {"method": "whitened"}):
        assert bio.perturbation_coherence(X, 2 * X, **options) == 0.0
    assert bio.perturbation_effect_size(X, X) == 0.0
    cells = np.array([[1.0, 0], [1, 0], [-1, 0], [0, 0], [0, 0], [2, 0]])
    # Two cells do not move; fewer than five others are too few for the k-NN score.
    assert bio.perturbation_coherence(np.zeros((6, 2)), cells, method="knn") == 0.0
    assert bio.perturbation_coherence(np.zeros((6, 2)), cells) == pytest.approx((3 - 1) / 6)
    five = np.vstack([cells, [[3.0, 0]]])
    assert bio.perturbation_coherence(np.zeros((6, 2)), five, method="knn") == pytest.approx((4 - 1) / 5)


def test_cells_among_their_own_controls_are_told(inputs):
    X, Y = inputs.arrays(0, 20, 10, 4)
    both = np.concatenate([X, Y[:3]])
    scores = (
        bio.perturbation_coherence,
        bio.perturbation_effect_size,
        partial(bio.perturbation_interval, n_bootstrap=3),
        partial(bio.perturbation_interval, score="effect_size", n_bootstrap=3),
    )
    for score in scores:
        with pytest.warns(shesha.CalibrationWarning) as told:
            score(both, Y)
        (one,) = (one for one in told if "rows of X_perturbed are also among the controls" in str(one.message))
        assert str(one.message).startswith("3 ")
        assert one.filename == __file__


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
def test_too_few_cells_have_no_score():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.warns(shesha.NotEstimableWarning, match=r"at least 5 control and 5 perturbed cells .* got 6 and 4"):
        assert np.isnan(bio.perturbation_coherence(X, X[:4]))
    with pytest.warns(shesha.NotEstimableWarning, match="variance of a single cell"):
        assert np.isnan(bio.perturbation_effect_size(X, X[:1], metric="cohen"))
    with pytest.warns(shesha.NotEstimableWarning):
        found = bio.perturbation_interval(X, X[:4])
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.n_resamples == 0


def test_cells_without_a_label_are_left_out(inputs):
    adata = inputs.cells(11)
    kept = bio.compute_coherence(adata, "perturbation")
    adata.obs["perturbation"] = adata.obs["perturbation"].astype("category").cat.add_categories("unused")
    adata.obs.loc[adata.obs["perturbation"] == "few", "perturbation"] = np.nan
    with pytest.warns(shesha.MeasureWarning, match="12 cells with a missing label left out"):
        found = bio.compute_coherence(adata, "perturbation")
    assert found == near({name: value for name, value in kept.items() if name != "few"})
