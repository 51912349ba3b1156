"""E-distances between perturbations and controls, or between all pairs, with p-values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shesha.bio.cell_design import cell_design, naming_missing_cells
from shesha.coherence.chunked_matrix import RowPieces
from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.nulls.null_summary import benjamini_hochberg
from shesha.results.coherence import EDistance, EDistances
from shesha.support import provenance
from shesha.support.draw_counts import default_draws
from shesha.support.seeds import draw_seed, number
from shesha.support.types import Index, Matrix, Seed
from shesha.support.wording import count

if TYPE_CHECKING:
    from anndata import AnnData

_DRAWS = 999


@provenance.keep_statements
def e_distances(
    adata: AnnData,
    groupby: str,
    *,
    control: str | Sequence[str] | None = None,
    pairs: Literal["control", "all"] = "control",
    obsm: str | None = "X_pca",
    layer: str | None = None,
    n_draws: int | None = None,
    min_size: int = 10,
    alpha: float = 0.05,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> EDistances:
    """E-distance of each perturbation from the controls, or of all pairs, with p-values from permutations of cells.

    The E-distance with squared Euclidean distances is twice the squared distance between the means (Peidli et al.
    2024). pertpy returns the same value for ``cell_wise_metric="sqeuclidean"``; its default is not squared. Cells of
    a donor or guide are not independent: if there are donors or guides, use `coherence_table` with `groups` for the
    test.

    Parameters
    ----------
    adata : AnnData
    groupby : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out and counted.
    control : str or sequence of str, optional
        Labels of the control cells. Default: labels that resemble controls (see `find_controls`).
    pairs : {'control', 'all'}
        Whether to compare each perturbation with the controls, or all pairs of perturbations and controls.
    obsm, layer
        Matrix in which distances are measured, as for `coherence_table`.
    n_draws : int, optional
        Number of permutations of each pair. Default: 999, or as many as one pair needs to be significant after the
        correction for the number of pairs.
    min_size : int
        Minimum number of cells of a group. Smaller groups are listed but not compared.
    alpha : float
        Level of the corrected p-values, in (0, 1).
    seed : int, Generator or None
    missing : {'refuse', 'drop'}
        Whether cells with NaN or infinity raise an error, or are left out and counted.

    Returns
    -------
    EDistances
        `to_frame()` has one line per pair, and `to_matrix()` is a table of groups by groups.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> gene = np.repeat(["NT", "STAT1", "ATF2"], [300, 40, 40])
    >>> pca = rng.standard_normal((380, 20)) + (gene == "STAT1")[:, None]
    >>> obs = pd.DataFrame({"gene": gene}, index=np.arange(380).astype(str))
    >>> found = e_distances(anndata.AnnData(obs=obs, obsm={"X_pca": pca}), "gene", n_draws=199)
    >>> [(pair.second, round(pair.value, 1), pair.p_value) for pair in sorted(found, key=lambda pair: pair.p_value)]
    [('STAT1', 39.5, 0.005), ('ATF2', -0.1, 0.565)]
    """
    check.choice(pairs, ("control", "all"), "pairs")
    alpha = check.fraction(alpha, "alpha", closed=False)
    min_size = check.count(min_size, "min_size", minimum=2)
    design = cell_design(adata, groupby, control=control, obsm=obsm, layer=layer, missing=missing)
    provenance.state(f"{design.source}, {count(len(design.rows), 'cell')}; {design.controls}")
    if design.n_without:
        provenance.state(f"{count(design.n_without, 'cell')} with a missing label left out")
    controls = " and ".join(design.controls.labels)
    names = np.where(np.isin(design.labels, design.controls.labels), controls, design.labels)
    members = {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
    excluded = {
        name: f"{count(len(rows), 'cell')}, fewer than {min_size}"
        for name, rows in members.items()
        if len(rows) < min_size
    }
    kept = [name for name in members if name not in excluded]
    others = [name for name in kept if name != controls]
    compared = [(controls, name) for name in others] if pairs == "control" else list(combinations(kept, 2))
    if controls in excluded or not compared:
        reasons = "; ".join(f"{name}: {why}" for name, why in excluded.items())
        raise ValueError(
            f"groupby must have controls and at least one group of {min_size} cells, got {reasons or 'none'}"
        )
    draws = default_draws(len(compared), alpha, _DRAWS) if n_draws is None else check.count(n_draws, "n_draws")
    rows, null_seed = RowPieces(design.matrix), draw_seed(seed)
    with naming_missing_cells(design.source):
        found = [
            _compare(rows, members[a], members[b], draws, (null_seed, place)) for place, (a, b) in enumerate(compared)
        ]
    adjusted = benjamini_hochberg([p for *_, p in found])
    return EDistances(
        pairs=tuple(
            EDistance(
                name=f"{a} - {b}",
                first=a,
                second=b,
                n_first=len(members[a]),
                n_second=len(members[b]),
                e_distance=value,
                value=unbiased,
                p_value=p,
                alpha=alpha,
                n_draws=draws,
                corrected_p_value=float(corrected),
            )
            for (a, b), (value, unbiased, p), corrected in zip(compared, found, adjusted, strict=True)
        ),
        excluded=excluded,
        n_draws=draws,
        alpha=alpha,
        seed=number(seed),
    )


def _compare(rows: RowPieces, first: Index, second: Index, n_draws: int, seed: tuple[int, ...]) -> tuple[float, ...]:
    """Return the E-distance of two groups, the unbiased one, and the p-value."""
    both = np.sort(np.concatenate([first, second]))
    taken: Any = rows.take(both)
    X = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken)
    X = X - X.mean(axis=0)
    squared = np.einsum("ij,ij->i", X, X)
    inside = np.isin(both, first)
    value, observed = _e_distance(X, squared, inside)
    rng = np.random.default_rng(seed)
    null = np.array([_e_distance(X, squared, rng.permutation(inside))[1] for _ in range(n_draws)])
    tie = 1e-12 * max(abs(observed), float(np.abs(null).max()))
    return value, observed, float((1 + (null >= observed - tie).sum()) / (n_draws + 1))


def _e_distance(X: Matrix, squared: Matrix, inside: Any) -> tuple[float, float]:
    """Return twice the squared distance of the means, and this number without what noise contributes."""
    means, noise = [], 0.0
    for part in (inside, ~inside):
        n = int(part.sum())
        mean = X[part].mean(axis=0)
        means.append(mean)
        noise += (float(squared[part].sum()) - n * float(mean @ mean)) / (n - 1) / n
    value = 2 * float(((means[0] - means[1]) ** 2).sum())
    return value, value - 2 * noise
