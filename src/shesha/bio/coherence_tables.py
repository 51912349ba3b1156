"""Coherence of perturbations in AnnData, with chance levels, and E-distances with p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice, product
from math import comb
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from shesha.bio.cell_design import CellDesign, cell_design, naming_missing_cells, require_anndata
from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.coherence_by_group import Method, Null, coherence_by_group
from shesha.inputs import MissingRows, validation as check
from shesha.nulls.null_summary import benjamini_hochberg, draw_stages, note_early_end, number_against_null, open_tests
from shesha.results import CoherenceTable
from shesha.results.coherence import EDistance, EDistances
from shesha.support import provenance, types as kinds
from shesha.support.seeds import ALPHA, CONFIDENCE, default_draws, draw_seed, number
from shesha.support.types import Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import warn_of_statements
from shesha.support.wording import agree, count

if TYPE_CHECKING:
    from anndata import AnnData


@provenance.keep_statements
def coherence_table(
    adata: AnnData,
    groupby: str,
    *,
    control: str | Sequence[str] | None = None,
    obsm: str | None = "X_pca",
    layer: str | None = None,
    method: Method = "standard",
    per: str | None = None,
    blocks: str | Sequence[Any] | None = None,
    groups: str | Sequence[Any] | None = None,
    k: int = 50,
    shrinkage: float | None = None,
    null: Null = "controls",
    n_draws: int | None = None,
    min_size: int = 10,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> CoherenceTable:
    """Test whether the cells of each perturbation move more coherently than equally many control cells.

    Each score is compared with the scores of equally large groups of control cells, because small groups look coherent
    even without any effect: ten cells that did not move have a coherence of about 0.3.

    Parameters
    ----------
    adata : AnnData
        Annotated data, in memory, backed or lazily read. Sparse data stay sparse, and data on disk are read in pieces.
    groupby : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out; a note states how many.
    control : str or sequence of str, optional
        Labels of the control cells, such as all guides of a non-targeting set. Default: labels that resemble controls
        (see `find_controls`), with a warning unless a whole label is a usual name such as 'control' or 'NT'.
    obsm : str or None
        Key of the embedding in which shifts are measured; None for X or `layer`.
    layer : str, optional
        Layer to use instead of the embedding.
    method : {'standard', 'whitened', 'knn'}
        'standard': shifts from the mean of the controls. 'whitened': the same, but with features whitened by the
        covariance of the controls. 'knn': shifts from the mean of the k nearest controls, which suits controls of
        several kinds. The last two require an embedding or dense data.
    per : str, optional
        Column of obs, such as the cell type. Perturbations are tested separately for each of its values, with controls
        of the same value.
    blocks : str or sequence, optional
        Column of obs (or one label per cell), such as the batch. Cells are compared with controls in the same block.
    groups : str or sequence, optional
        Column of obs (or one label per cell) with the sampling unit, such as the guide or donor. Intervals treat each
        unit as one observation, because cells from one donor are not independent replicates.
    k, shrinkage, null, n_draws, min_size, alpha, confidence, seed
        See `shesha.coherence.coherence_by_group`.
    missing : {'refuse', 'drop'}
        Whether cells with NaN or infinity raise an error, or are left out and counted.

    Returns
    -------
    CoherenceTable
        `sentence()` describes the result for a paper, `to_frame()` and `plot()` show it, and ``table["STAT1"]`` selects
        one perturbation. `links` holds the correlation between magnitude and coherence, compared with its null
        distribution.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> gene = np.repeat(["NT", "STAT1", "ATF2", "rare"], [300, 40, 40, 4])
    >>> pca = rng.standard_normal((384, 20)) + (gene == "STAT1")[:, None]
    >>> obs = pd.DataFrame({"gene": gene}, index=np.arange(384).astype(str))
    >>> adata = anndata.AnnData(obs=obs, obsm={"X_pca": pca})
    >>> found = coherence_table(adata, "gene", n_draws=199)
    >>> [(one.name, round(one.coherence, 2), round(one.coherence_chance, 2), one.significant) for one in found.groups]
    [('ATF2', 0.16, 0.16, False), ('STAT1', 0.71, 0.16, True)]
    >>> found.excluded
    {'rare': '4 rows, fewer than 10'}
    """
    # Only the arguments are local variables here.
    return _score_cells(**locals())[0]


@warn_of_statements
def coherence_test(adata: AnnData, groupby: str, **options: Any) -> pd.DataFrame:
    """Return `coherence_table` as a DataFrame: one row per perturbation, most coherent first.

    Parameters
    ----------
    adata, groupby
        See `coherence_table`.
    **options
        The other options of `coherence_table`.

    Returns
    -------
    DataFrame
        One row per perturbation. The first columns are n_rows, value (the unbiased coherence) with its interval low to
        high, its chance, p_value, corrected_p_value (Benjamini and Hochberg) and the verdict ('moves together', 'not
        above chance', 'undecided'). They are followed by coherence, coherence_chance, magnitude, unbiased_magnitude,
        spread and snr. ``coherence_table(...).to_frame(full=True)`` has every field. `attrs` holds the 'headline', the
        'sentence' for a paper, the excluded groups and the settings. To print a table in a terminal, use
        ``print(coherence_table(...))``.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> gene = np.repeat(["NT", "STAT1", "ATF2"], [300, 40, 40])
    >>> pca = rng.standard_normal((380, 20)) + (gene == "STAT1")[:, None]
    >>> obs = pd.DataFrame({"gene": gene}, index=np.arange(380).astype(str))
    >>> adata = anndata.AnnData(obs=obs, obsm={"X_pca": pca})
    >>> found = coherence_test(adata, "gene", n_draws=199)
    >>> found[["n_rows", "value", "p_value", "coherence", "coherence_chance"]].round(3).rename_axis(None)
           n_rows  value  p_value  coherence  coherence_chance
    STAT1      40  0.498    0.005      0.714             0.160
    ATF2       40  0.000    0.555      0.157             0.163
    """
    table = coherence_table(adata, groupby, **options)
    frame = table.to_frame()
    frame.attrs |= {"headline": table.headline, "sentence": table.sentence()}
    return frame


@warn_of_statements
def coherence(
    adata: AnnData,
    groupby: str,
    *,
    control: str | Sequence[str] | None = None,
    obsm: str | None = "X_pca",
    layer: str | None = None,
    method: Method = "standard",
    groups: str | Sequence[Any] | None = None,
    key_added: str = "coherence",
    copy: bool = False,
    seed: Seed = 0,
    per: str | None = None,
    blocks: str | Sequence[Any] | None = None,
    **options: Any,
) -> AnnData | None:
    """Store the coherence of perturbations in an AnnData object, as functions of scanpy do.

    Parameters
    ----------
    adata : AnnData
        Object to which the results are added, unless `copy`. If it is backed by a file, they are added in memory only.
    groupby, control, obsm, layer, method, groups, seed, per, blocks
        See `coherence_table`.
    key_added : str
        Key under which the results are stored.
    copy : bool
        Whether to return a changed copy and leave `adata` unchanged.
    **options
        The other options of `coherence_table`.

    Returns
    -------
    AnnData or None
        The changed copy if `copy`, otherwise None. ``.uns[key_added]`` has the keys 'table' (as from `coherence_test`,
        without `attrs`), 'links', 'excluded', 'notes' and 'params'. ``.obs[key_added + '_cosine']`` is the cosine
        between each cell's shift and the mean shift of its perturbation; NaN for controls and unused cells.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> gene = np.repeat(["NT", "STAT1"], [300, 40])
    >>> pca = rng.standard_normal((340, 20)) + (gene == "STAT1")[:, None]
    >>> obs = pd.DataFrame({"gene": gene}, index=np.arange(340).astype(str))
    >>> adata = anndata.AnnData(obs=obs, obsm={"X_pca": pca})
    >>> coherence(adata, "gene", n_draws=199)
    >>> round(float(adata.uns["coherence"]["table"].loc["STAT1", "coherence"]), 2)
    0.71
    >>> bool(np.isclose(adata.obs["coherence_cosine"].mean(), adata.uns["coherence"]["table"].coherence["STAT1"]))
    True
    """
    require_anndata(adata)
    kinds.text(key_added, "key_added")
    if check.boolean(copy, "copy") and getattr(adata, "isbacked", False):
        raise ValueError("copy must be False for backed AnnData, got True; call adata.to_memory() first")
    changed = adata.copy() if copy else adata
    columns = {"control": control, "obsm": obsm, "layer": layer, "per": per, "blocks": blocks, "groups": groups}
    options |= {"method": method, "seed": seed}
    missing = options.pop("missing", "refuse")
    scores, design = _score_cells(changed, groupby, missing=missing, **columns, **options)
    params = {"groupby": groupby, **columns, **options}
    plain_params = {name: value for name, value in params.items() if isinstance(value, str | int | float)}
    changed.uns[key_added] = {
        **_as_uns(scores),
        "params": plain_params | {"control": np.array(design.controls.labels), "control_found": design.controls.how},
    }
    changed.obs[f"{key_added}_cosine"] = scores.cosines
    return changed if copy else None


def _score_cells(
    adata: AnnData, groupby: str, *, missing: MissingRows = "refuse", **options: Any
) -> tuple[CoherenceTable, CellDesign]:
    """Return the coherence of perturbations, and the cells and controls that were used."""
    columns = {name: options.pop(name) for name in ("control", "obsm", "layer", "per", "blocks", "groups")}
    design = cell_design(adata, groupby, **columns, missing=missing)
    with naming_missing_cells(design):
        scores = coherence_by_group(
            design.matrix,
            design.labels,
            list(design.controls.labels),
            blocks=design.blocks,
            groups=design.groups,
            **options,
        )
    cosines = np.full(adata.n_obs, np.nan)
    cosines[design.rows] = scores.cosines
    notes = [*design.notes, f"shifts are computed in {design.source}; {design.controls}"]
    notes += [f"{count(n, 'cell')} {why} {agree(n, 'is', 'are')} left out" for why, n in design.left_out.items()]
    _state_cells(design, *(note for note in design.notes if " count as one" in note))
    _state_small(scores.excluded, "not scored")
    scores = replace(scores, notes=(*scores.notes, *notes), undeclared=design.undeclared, cosines=cosines)
    return replace(scores, group_noun="perturbation", row_noun="cell"), design


def _state_cells(design: CellDesign, *notes: str) -> None:
    """State which cells and controls are used, and what was left out."""
    size = f"{count(len(design.rows), 'cell')} x {count(design.matrix.shape[1], 'feature')}"
    provenance.state(f"{design.source}, {size}; {design.controls}")
    for note in (*notes, *(f"{count(n, 'cell')} {why} left out" for why, n in design.left_out.items())):
        provenance.state(note)


def _state_small(excluded: Mapping[str, str], what: str) -> None:
    if excluded:
        provenance.state(f"{count(len(excluded), 'perturbation')} {what}: {check.join_items(excluded)}")


def _as_uns(result: CoherenceTable) -> dict[str, Any]:
    """Return the results as values that AnnData can write to a file."""
    table = result.to_frame()
    table.attrs = {}
    excluded = pd.DataFrame({"reason": result.excluded.values()}, index=list(result.excluded), dtype=object)
    links = pd.DataFrame([link.to_dict() for link in result.links], index=[link.second for link in result.links])
    return {"table": table, "links": links, "excluded": excluded, "notes": "\n".join(result.notes)}


_DRAWS = 999
_AT_ONCE = 1 << 22
"""Number of labels of cells that are permuted at a time."""


@provenance.keep_statements
def e_distances(
    adata: AnnData,
    groupby: str,
    *,
    control: str | Sequence[str] | None = None,
    pairs: Literal["control", "all"] = "control",
    obsm: str | None = "X_pca",
    layer: str | None = None,
    groups: str | None = None,
    n_draws: int | None = None,
    min_size: int = 10,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> EDistances:
    """E-distance of each perturbation from the controls, or of all pairs, with p-values from permutations of cells.

    The E-distance with squared Euclidean distances is twice the squared distance between the means (Peidli et al.
    2024). pertpy returns the same value for ``cell_wise_metric="sqeuclidean"``; its default is not squared.

    Parameters
    ----------
    adata : AnnData
    groupby : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out and counted.
    control : str or sequence of str, optional
        Labels of the control cells. Default: labels that resemble controls (see `find_controls`), which all pairs do
        not need.
    pairs : {'control', 'all'}
        Whether to compare each perturbation with the controls, or all pairs of perturbations and controls.
    obsm, layer
        Matrix in which distances are measured, as for `coherence_table`.
    groups : str, optional
        Column of obs with sampling units, such as donors or guides, whose cells are not independent. Whole units are
        then exchanged between the two groups, and the labels of a unit with cells of both are swapped.
    n_draws : int, optional
        Number of permutations of each pair; if units allow fewer different ones, each is used once. Default: 999, or
        as many as one pair needs to be significant after the correction for the number of pairs, unless more could not
        change the decision (see `coherence_by_group`).
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
        `to_frame()` has one line per pair, and `to_matrix()` is a table of groups by groups. The chance level is 0 on
        average for independent cells, and higher if units differ.

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
    cells: dict[str, Any] = {"control": control, "obsm": obsm, "layer": layer, "groups": groups, "missing": missing}
    design = cell_design(adata, groupby, **cells, needs_controls=pairs == "control", batch_option="groups")
    _state_cells(design)
    controls = " and ".join(design.controls.labels)
    names = np.where(np.isin(design.labels, design.controls.labels), controls, design.labels)
    ordered = dict.fromkeys(controls if name in design.controls.labels else name for name in design.order)
    members = {name: np.flatnonzero(names == name) for name in ordered}
    excluded = {
        name: f"{count(len(rows), 'cell')}, fewer than {min_size}"
        for name, rows in members.items()
        if len(rows) < min_size
    }
    _state_small(excluded, "not compared")
    kept = [name for name in members if name not in excluded]
    others = [name for name in kept if name != controls]
    compared = [(controls, name) for name in others] if pairs == "control" else list(combinations(kept, 2))
    if controls in excluded or not compared:
        reasons = "; ".join(f"{name}: {why}" for name, why in excluded.items())
        needed = "controls and at least one group" if design.controls.labels else "at least two groups"
        raise ValueError(f"groupby must have {needed} of {min_size} cells, got {reasons or 'none'}")
    if n_draws is None:
        stages = draw_stages(_DRAWS, default_draws(len(compared), alpha, _DRAWS))
    else:
        stages = [check.count(n_draws, "n_draws")]
    rows, null_seed = RowPieces(design.matrix), draw_seed(seed)
    units = None if design.groups is None else np.unique(design.groups, return_inverse=True)[1]
    fields: dict[str, Any] = {"alpha": alpha, "seed": number(seed)}
    found: dict[int, EDistance] = {}
    places = list(range(len(compared)))
    for stage in stages:
        with naming_missing_cells(design):
            for place in places:
                a, b = compared[place]
                pair = members[a], members[b]
                found[place] = _compare(rows, (a, b), pair, units, stage, (null_seed, place), fields)
        p_values, drawn = ([getattr(found[k], name) for k in range(len(compared))] for name in ("p_value", "n_draws"))
        # Units may have fewer permutations, which are then all used.
        most = [stages[-1] if n in stages else n for n in drawn]
        still = open_tests(p_values, drawn, most, benjamini_hochberg, alpha, len(stages))
        places = [place for place in places if still[place]]
    adjusted = benjamini_hochberg(p_values)
    results = [replace(found[place], corrected_p_value=float(p), null=()) for place, p in enumerate(adjusted)]
    results = [note_early_end(one, stages) for one in results]
    return EDistances(
        pairs=tuple(results),
        excluded=excluded,
        n_draws=stages[-1],
        alpha=alpha,
        seed=number(seed),
        notes=(*design.notes, *dict.fromkeys(note for one in results for note in one.notes)),
    )


def _compare(
    rows: RowPieces,
    names: tuple[str, str],
    members: tuple[Index, Index],
    units: Labels | None,
    n_draws: int,
    seed: tuple[int, ...],
    fields: dict[str, Any],
) -> EDistance:
    """Return the E-distance of two groups, compared with permuted labels of cells or units."""
    both = np.sort(np.concatenate(members))
    taken: Any = rows.take(both)
    X = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken)
    X = X - X.mean(axis=0)
    inside, rng = np.isin(both, members[0]), np.random.default_rng(seed)
    value, observed = (float(values[0]) for values in _e_distances(X, inside[None]))
    if units is None:
        drawn = (rng.permutation(inside) for _ in range(n_draws))
    else:
        codes = np.unique(units[both], return_inverse=True)[1]
        drawn = (inside ^ flipped[codes] for flipped in _exchanges(codes, inside, n_draws, rng))
    step = max(1, _AT_ONCE // len(X))
    parts = [_e_distances(X, np.array(some))[1] for some in iter(lambda: list(islice(drawn, step)), [])]
    null = np.concatenate(parts) if parts else np.empty(0)
    few = "" if len(null) else "no units can be exchanged: each group has one unit"
    return number_against_null(
        " - ".join(names),
        observed,
        null,
        kind=EDistance,
        first=names[0],
        second=names[1],
        n_first=len(members[0]),
        n_second=len(members[1]),
        e_distance=value,
        exchanged="cells" if units is None else "units",
        reason=few,
        **fields,
    )


def _exchanges(units: Labels, inside: Mask, n_draws: int, rng: np.random.Generator) -> Iterator[Mask]:
    """Yield which units change their labels: all different choices, except the observed one, or random ones.

    A unit with cells of both groups may swap their labels; the labels of other units are permuted.
    """
    first, second = (np.bincount(units, side) > 0 for side in (inside, ~inside))
    shared, alone = np.flatnonzero(first & second), np.flatnonzero(first != second)
    n_first = int(first[alone].sum())
    # The value is the same if all units change, which is a choice if as many units are in each group.
    mirrored = len(alone) == 2 * n_first
    flipped = np.zeros(len(first), dtype=bool)
    if 2 ** len(shared) * comb(len(alone), n_first) > (n_draws + 1) * (1 + mirrored):
        for _ in range(n_draws):
            flipped[shared] = rng.random(len(shared)) < 0.5
            flipped[alone] = rng.permutation(first[alone]) != first[alone]
            yield flipped.copy()
        return
    seen = {flipped.tobytes(), (~flipped).tobytes()} if mirrored else {flipped.tobytes()}
    for swaps in product((False, True), repeat=len(shared)):
        for chosen in combinations(alone.tolist(), n_first):
            flipped[shared] = swaps
            flipped[alone] = np.isin(alone, chosen) != first[alone]
            if flipped.tobytes() not in seen:
                seen |= {flipped.tobytes(), (~flipped).tobytes()} if mirrored else {flipped.tobytes()}
                yield flipped.copy()


def _e_distances(X: Matrix, inside: Mask) -> tuple[Vector, Vector]:
    """Return twice the squared distance of the means, and this number without what noise contributes, by draw."""
    total, squared, n = X.sum(axis=0), np.einsum("ij,ij->i", X, X), inside.sum(axis=1)
    sums, squares = inside.astype(np.float64) @ X, inside @ squared
    means, noise = [], np.zeros(len(inside))
    for size, part, square in ((n, sums, squares), (len(X) - n, total - sums, squared.sum() - squares)):
        means.append(part / size[:, None])
        noise += (square - size * (means[-1] ** 2).sum(axis=1)) / (size - 1) / size
    values = 2 * ((means[0] - means[1]) ** 2).sum(axis=1)
    return values, values - 2 * noise
