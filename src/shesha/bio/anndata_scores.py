"""The documented scores, computed for every perturbation in an AnnData object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from shesha.bio._anndata_fields import iterate_perturbations
from shesha.bio.perturbation_scores import Method, Metric, perturbation_coherence, perturbation_effect_size
from shesha.support.types import Seed

if TYPE_CHECKING:
    from anndata import AnnData


def compute_coherence(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    method: Method = "standard",
    **kwargs: Any,
) -> dict[Any, float]:
    """`perturbation_coherence` of every perturbation, as documented: without chance levels or intervals.

    Sparse rows are made dense. `coherence_test` computes chance levels and intervals for groups of any size, and keeps
    sparse data sparse.

    Parameters
    ----------
    adata : AnnData
        Cells by features. Shifts are measured in X or in a layer.
    perturbation_key : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out.
    control_label : str
        The label of the control cells.
    layer : str, optional
        Layer with the data. Default: X.
    method : {'standard', 'whitened', 'knn'}
        See `perturbation_coherence`.
    **kwargs
        Other options of `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence, in the order in which labels first occur among the cells.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> {name: round(value, 2) for name, value in compute_coherence(adata, "gene").items()}
    {'STAT1': 0.73}
    """
    return {
        perturbation: perturbation_coherence(controls, cells, method=method, **kwargs)
        for perturbation, controls, cells in iterate_perturbations(adata, perturbation_key, control_label, layer)
    }


def compute_coherence_whitened(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    regularization: float = 1e-6,
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> dict[Any, float]:
    """`compute_coherence` with the method 'whitened', as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    regularization, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> round(compute_coherence_whitened(adata, "gene")["STAT1"], 2)
    0.72
    """
    return compute_coherence(
        adata,
        perturbation_key,
        control_label,
        layer,
        method="whitened",
        regularization=regularization,
        seed=seed,
        max_samples=max_samples,
    )


def compute_coherence_knn(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    k: int = 50,
    metric: Metric = "euclidean",
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> dict[Any, float]:
    """`compute_coherence` with the method 'knn', as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    k, metric, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> round(compute_coherence_knn(adata, "gene", k=20)["STAT1"], 2)
    0.73
    """
    return compute_coherence(
        adata,
        perturbation_key,
        control_label,
        layer,
        method="knn",
        k=k,
        metric=metric,
        seed=seed,
        max_samples=max_samples,
    )


def compute_magnitude(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    metric: Literal["euclidean", "cohen"] = "euclidean",
    layer: str | None = None,
) -> dict[Any, float]:
    """`perturbation_effect_size` of every perturbation, as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    metric : {'euclidean', 'cohen'}
        See `perturbation_effect_size`.

    Returns
    -------
    dict
        Maps the label of each perturbation to the distance of its mean cell from the mean control.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> obs = pd.DataFrame({"gene": ["control", "control", "STAT1"]}, index=["a", "b", "c"])
    >>> compute_magnitude(anndata.AnnData(np.array([[0, 0], [2, 0], [4, 4.0]]), obs=obs), "gene")
    {'STAT1': 5.0}
    """
    return {
        perturbation: perturbation_effect_size(controls, cells, metric=metric)
        for perturbation, controls, cells in iterate_perturbations(adata, perturbation_key, control_label, layer)
    }
