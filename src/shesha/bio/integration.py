"""Test whether an integration preserves the geometry of cells within each cell type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shesha.bio.cell_design import labels, require_anndata
from shesha.comparison.within_classes import compare_within
from shesha.io import from_anndata
from shesha.measures.registry import Choice
from shesha.results.within_classes import SeveralWithinClasses, WithinClasses
from shesha.support import provenance, types as kinds
from shesha.support.sampling_units import undeclared_batches

if TYPE_CHECKING:
    from anndata import AnnData


@provenance.keep_statements
def integration_test(
    adata: AnnData,
    before: str,
    after: str,
    per: str,
    measures: Choice | Iterable[Choice] = "recommended",
    *,
    blocks: str | None = None,
    groups: str | None = None,
    **options: Any,
) -> WithinClasses:
    """Compare two embeddings within each cell type, to test which structure an integration preserved.

    The command `shesha compare cells.h5ad --key obsm/X_pca --key obsm/X_harmony --labels cell_type --blocks batch` does
    the same.

    Parameters
    ----------
    adata : AnnData
        Annotated data with both embeddings.
    before, after : str
        Keys of ``adata.obsm``.
    per : str
        Column of ``adata.obs`` with the cell types. Cells without a type are left out.
    measures
        See `shesha.compare`.
    blocks : str, optional
        Column of obs with the batches. Only pairs of cells of one type and one batch are compared, so that batch
        effects neither count as preserved structure nor as lost structure. The result also states how well the batches
        are mixed in each embedding (batch silhouette, iLISI and graph connectivity). Without it, a note names a column
        that looks like batches.
    groups : str, optional
        Column of obs with the donors. The cells of each donor are permuted together.
    **options
        Options of `shesha.compare_within`, such as ``n_permutations`` and ``min_rows``.

    Returns
    -------
    WithinClasses

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"type": np.repeat(["B", "T"], 40)}, index=np.arange(80).astype(str))
    >>> pca = rng.standard_normal((80, 10))
    >>> after = {"X_pca": pca, "X_new": pca + 0.2 * rng.standard_normal((80, 10))}
    >>> found = integration_test(anndata.AnnData(obs=obs, obsm=after), "X_pca", "X_new", "type", "RSA")
    >>> found.to_frame()[["class", "n_rows", "p_value"]].round(3).to_numpy().tolist()
    [['B', 40, 0.005], ['T', 40, 0.005], ['all rows', 80, 0.005]]
    """
    (X, Y), types, design = _read(adata, (before, after), per, blocks, groups)
    result: WithinClasses = compare_within(X, Y, types, measures, names=(before, after), **design, **options)
    return replace(result, notes=undeclared_batches(adata.obs, (per, blocks, groups)))


@provenance.keep_statements
def integration_table(
    adata: AnnData,
    before: str,
    after: Sequence[str],
    per: str,
    measures: Choice | Iterable[Choice] = "recommended",
    *,
    blocks: str | None = None,
    groups: str | None = None,
    **options: Any,
) -> SeveralWithinClasses:
    """Compare several integrations with one embedding, within each cell type.

    On the command line: `shesha compare cells.h5ad --key obsm/X_pca --key obsm/X_harmony --labels cell_type`, with one
    more `--key` for each further integration.

    Parameters
    ----------
    adata : AnnData
        Annotated data with all embeddings.
    before : str
        Key of the reference embedding in ``adata.obsm``.
    after : sequence of str
        Keys of the embeddings in ``adata.obsm`` to compare with the reference.
    per, measures, blocks, groups, **options
        See `integration_test`.

    Returns
    -------
    SeveralWithinClasses

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"type": np.repeat(["B", "T"], 40)}, index=np.arange(80).astype(str))
    >>> pca = rng.standard_normal((80, 10))
    >>> noise = rng.standard_normal((80, 10))
    >>> adata = anndata.AnnData(obs=obs, obsm={"X_pca": pca, "X_new": pca + 0.2 * noise, "X_bad": noise})
    >>> found = integration_table(adata, "X_pca", ["X_new", "X_bad"], "type", "RSA")
    >>> found["X_new"].kept, found["X_bad"].lost
    (('B', 'T'), ('B', 'T'))
    """
    keys = kinds.several(after, str, "after", "keys of obsm")
    (reference, *others), types, design = _read(adata, (before, *keys), per, blocks, groups)
    named = dict(zip(keys, others, strict=True))
    result = compare_within(reference, named, types, measures, names=before, **design, **options)
    notes = undeclared_batches(adata.obs, (per, blocks, groups))
    return replace(result, comparisons=tuple(replace(comparison, notes=notes) for comparison in result))


def _read(
    adata: AnnData, keys: Sequence[str], per: str, blocks: str | None, groups: str | None
) -> tuple[list[Any], Any, dict[str, Any]]:
    """Return the embeddings, the cell types, and the labels that restrict permutations of cells."""
    require_anndata(adata)
    types = labels(adata, per, "per")
    for note in undeclared_batches(adata.obs, (per, blocks, groups)):
        provenance.state_warning(note)
    named = {"blocks": blocks, "groups": groups}
    design = {name: None if key is None else labels(adata, key, name) for name, key in named.items()}
    return [from_anndata(adata, obsm=key).values for key in keys], types, design
