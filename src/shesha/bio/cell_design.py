"""Select what an analysis needs from AnnData: matrix, cells, controls (by how they are written), batches and donors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shesha.bio.label_features import choose_cells, features_of_labels
from shesha.doubting import warn_of_row_doubts
from shesha.inputs import MissingRows, load_backed, split_names, validation as check
from shesha.inputs.class_labels import FEATURE_TYPES, NO_LABEL, class_name, describe_feature_types
from shesha.inputs.column_words import CLUSTERS, DAMAGE, DEPTH, is_picture
from shesha.nulls.design_warnings import describe_far_row, describe_repeats
from shesha.results.base import Result
from shesha.support import provenance, types as kinds, wording
from shesha.support.sampling_units import is_batch_name, is_guide_name, is_unit_name, unit_labels
from shesha.support.types import Array, Index, Mask, Matrix, Vector
from shesha.support.warnings import CalibrationWarning, GuessedControlsWarning, MeasureWarning, warn
from shesha.support.wording import count

_EXACT = frozenset(
    (
        *("control", "controls", "ctrl", "ctl", "negctrl", "negative", "negativecontrol", "neg", "nancontrol"),
        *("nt", "ntc", "nontarget", "nontargeting", "nontargetingcontrol", "safetargeting", "scramble", "scrambled"),
        *("unperturbed", "untreated", "unstimulated", "unstim", "vehicle", "dmso", "pbs", "mock"),
        *("negcon", "intergenic", "noguide", "nosgrna", "lacz", "luciferase", "rosa26"),
    )
)
"""Usual names of controls, compared without case, spaces and punctuation."""
_TOKENS = re.compile(r"(?<![a-z0-9])(?:sg)?(?:nt|ntc|neg|ctrl|ctl|negctrl)(?:g?\d+)?(?![a-z0-9])")
"""Pattern of control tokens between delimiters, with or without a guide number: NTg1, but not NEGR1."""
_KEYWORDS = (
    *("control", "negctrl", "negative", "nontarget", "safetarget", "safeharbo", "aavs1", "scramble", "unperturbed"),
    *("untreated", "unstimulated", "vehicle", "dmso", "mock", "intergenic", "noguide", "negcon"),
)
"""Words within labels, compared as whole labels are. AAVS1 is a locus that guides cut without effect, as intergenic
regions are."""
_ALL_JOINTS = re.compile(r"[+|&;,:/_]")
_JOINTS = re.compile(r"[+|&;,]")
"""Separators between the targets in the label of a combined perturbation.

A combination counts as a control only if all its targets are controls. Colons, slashes and underscores also occur in
other labels, so they separate targets only if another label contains the same parts.
"""


@dataclass(frozen=True)
class Controls(Result):
    """The labels that count as controls, and how they were found."""

    labels: tuple[str, ...]
    how: str
    """How the labels were found: 'named', 'exact', 'token' or 'keyword'; or 'not needed'."""
    others: tuple[str, ...] = ()
    """Labels that also resemble controls but count as perturbations."""

    def _text(self) -> str:
        """Return the labels, and how they were found, as text."""
        others = f"; similar labels counted as perturbations: {check.join_items(self.others)}" * bool(self.others)
        return f"controls: {check.join_items(map(repr, self.labels)) or 'none'} ({self.how}){others}"


def find_controls(labels: Iterable[str], control: str | Sequence[str] | None = None) -> Controls:
    """Find the labels of the controls: those that are named, or else labels that resemble controls.

    The search has three stages: whole labels, ignoring case and punctuation ('control', 'Non-Targeting', 'NT'); then
    short tokens between delimiters, with or without a guide number ('sgNT-2' and 'NTg1', but not 'NEGR1'); then
    keywords of at least four letters within a label ('NaN_Control'). Several labels form one set of controls if they
    differ only in their numbers, as the guides of a non-targeting set do.

    Parameters
    ----------
    labels : iterable of str
        Labels of the cells; repeated labels have no effect.
    control : str or sequence of str, optional
        The control labels. Default: labels that resemble controls.

    Returns
    -------
    Controls

    Raises
    ------
    ValueError
        If a named label is missing, if no label resembles a control, or if those that do are not a single set.

    Warns
    -----
    GuessedControlsWarning
        If only part of a label matched, or if further labels resemble controls.

    Examples
    --------
    >>> print(find_controls(["STAT1", "NT", "NEGR1"]))
    controls: 'NT' (exact)
    >>> find_controls(["NTg1", "NTg2", "STAT1g1"], control=["NTg1", "NTg2"]).labels
    ('NTg1', 'NTg2')
    >>> find_controls(["DMSO", "control", "drug"])
    Traceback (most recent call last):
    ValueError: control must be given if several labels resemble controls (DMSO, control), got None
    """
    if not kinds.has_entries(labels):
        raise TypeError(f"labels must be a sequence of labels, got {type(labels).__name__}")
    return _controls_among(wording.in_label_order(map(str, labels)), control)


def _controls_among(known: list[str], control: str | Sequence[str] | None) -> Controls:
    """Find the labels of the controls among different labels, which messages list in this order."""
    if control is not None:
        return _check_named_controls(known, control)
    stages: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("exact", _is_exact),
        ("token", _has_token),
        ("keyword", _has_keyword),
    )
    if demultiplexed := _demultiplexing_outcomes(known):
        raise ValueError(
            f"control must be given if labels are outcomes of demultiplexing ({check.join_items(demultiplexed)}), of "
            f"which 'negative' means no tag, not control; leave these cells out, and name one of "
            f"{check.join_items(label for label in known if label not in demultiplexed) or 'none'}, got None"
        )
    like = [label for label in known if any(all(map(test, _targets(label))) for _, test in stages)]
    for how, test in stages:
        matches = [label for label in known if all(map(test, _targets(label)))]
        if how != "exact":
            matches = _drop_targets(matches, known)
        if not matches:
            continue
        matches = [label for label in known if label in matches or set(_ALL_JOINTS.split(label)) <= set(matches)]
        others = [label for label in like if label not in matches]
        # A further label that is a usual name apart from its number is another set of controls, or belongs to this one.
        sets = [*matches, *(label for label in others if _stem(label).removeprefix("sg") in _EXACT)]
        if len({_stem(part) for label in sets for part in _parts_of_repeats(label, matches)}) > 1:
            raise ValueError(
                f"control must be given if several labels resemble controls ({check.join_items([*matches, *others])}), "
                "got None"
            )
        controls = Controls(tuple(sets), how, tuple(label for label in others if label not in sets))
        if how != "exact" or controls.others:
            warn(
                f"the control cells were guessed from their labels ({controls}). A wrong guess changes all scores. "
                "Pass control= to name the controls",
                GuessedControlsWarning,
            )
        return controls
    among = check.join_items(known) or "none"
    raise ValueError(f"control must be a label of the control cells, one of {among}, got None")


def combination_names(labels: Iterable[str], controls: Controls) -> dict[str, str]:
    """Return a common name for labels that name the same targets in another order, or with a control word.

    Labels are joined by ``+ | & ; , : /`` or an underscore: 'A+B' equals 'B+A', and 'KLF1_control' and 'control+KLF1'
    equal 'KLF1'. Only labels that coincide with another label are renamed.

    Parameters
    ----------
    labels : iterable of str
    controls : Controls
        The labels of the controls, which are never renamed.

    Examples
    --------
    >>> labels = ["ctrl", "KLF1+ctrl", "ctrl+KLF1", "A_B", "B_A", "C_1"]
    >>> combination_names(labels, Controls(("ctrl",), "exact"))
    {'KLF1+ctrl': 'KLF1', 'ctrl+KLF1': 'KLF1', 'A_B': 'A+B', 'B_A': 'A+B'}
    """
    members: dict[tuple[str, ...], list[str]] = {}
    for label in dict.fromkeys(labels):
        if label not in controls.labels:
            members.setdefault(_target_names(label, controls), []).append(label)
    return {label: "+".join(targets) for targets, same in members.items() if len(same) > 1 for label in same}


def _target_names(label: str, controls: Controls) -> tuple[str, ...]:
    """Return the sorted targets of a label without control words; halves that repeat one another count once."""
    half, _, other = label.partition("__")
    text = half if half == other else label
    parts = [part.strip() for part in _ALL_JOINTS.split(text) if part.strip()] or [label]
    targets = [part for part in parts if not (part in controls.labels or _is_exact(part) or _has_token(part))]
    return tuple(sorted(targets or [label]))


def is_control(label: str) -> bool:
    """Return whether a label by itself resembles a control."""
    return _is_exact(label) or _has_token(label)


def _check_named_controls(known: list[str], control: str | Sequence[str]) -> Controls:
    if isinstance(control, str | int | float | np.generic):
        control = [control]
    named = [label_text(label) or str(label) for label in kinds.sequence(control, "control")]
    if not named:
        raise ValueError("control must name at least one label, got an empty sequence")
    named = [label if label in known else class_name(label) for label in named]
    for label in named:
        if label not in known:
            close = wording.close_names(label, known) or [
                label for label in known if is_control(label) or _has_keyword(label)
            ]
            among = check.join_items(known) or "no labels"
            raise ValueError(f"control must be among {among}, got {label!r}{wording.did_you_mean(close[:3])}")
    return Controls(tuple(dict.fromkeys(named)), "named")


def _drop_targets(matches: list[str], known: list[str]) -> list[str]:
    """Return the labels of which no part names a target in another label: not KLF1_ctrl if there is CEBPA_KLF1."""
    known_parts = {label: _ALL_JOINTS.split(label) for label in known}
    counts = Counter(tuple(sorted(parts)) for parts in known_parts.values())
    # KLF1_ctrl is a combination also if ctrl_KLF1 is the only other label that contains KLF1.
    combined = [label for label in known if label not in matches or counts[tuple(sorted(known_parts[label]))] > 1]
    elsewhere = {part for label in combined for part in known_parts[label] if part.strip()}
    targets = {part for part in elsewhere if not (is_control(part) or part.isdigit())}
    return [label for label in matches if targets.isdisjoint(_ALL_JOINTS.split(label))]


def _targets(label: str) -> list[str]:
    return [part for part in _JOINTS.split(label) if part.strip()] or [label]


def _parts_of_repeats(label: str, matches: Sequence[str]) -> list[str]:
    """Return the parts of a control joined with itself, such as ctrl+ctrl; other labels as they are."""
    parts = _ALL_JOINTS.split(label)
    return parts if len(parts) > 1 and set(parts) <= set(matches) else [label]


def _is_exact(label: str) -> bool:
    return _plain(label) in _EXACT


def _plain(label: str) -> str:
    return re.sub(r"[^a-z0-9]", "", label.casefold())


def _has_token(label: str) -> bool:
    return _TOKENS.search(label.casefold()) is not None


def _has_keyword(label: str) -> bool:
    return any(word in _plain(label) for word in _KEYWORDS)


def _stem(label: str) -> str:
    """Return a label without case, delimiters and guide numbers."""
    return re.sub(r"[^a-z]", "", re.sub(r"g?\d+", "", label.casefold()))


_PIECE = 4096
"""Number of cells that are searched for NaN at a time."""
_MOST_CONTROLS, _MOST_LEVELS, _PERMUTATIONS, _UNEVEN = 500, 50, 199, 1e-4
"""Limits of the search for columns that act like batches: controls, values of a column, permutations, p of shares."""
_SAME_TOTAL, _LEAST_TOTAL = 1e-3, 100
"""Relative difference between totals of normalised cells, and the smallest usual total."""
_LARGEST_LOGARITHM, _UNEQUAL, _SKEWED = 30, 0.1, 10
"""Value that no logarithm of counts exceeds, relative difference of totals from which on cells were not normalised, and
smallest ratio of the largest count to the mean."""
_CHECKED_ROWS = 200
"""Number of cells that are checked to distinguish raw counts from normalised values."""
_FEWEST_LOOKED_AT, _MOST_LOOKED_AT = 20, 2000
"""Numbers of cells between which values are checked for outliers, and for features that determine distances."""


def require_anndata(adata: Any) -> None:
    """Refuse objects without AnnData's attributes; anndata itself need not be installed."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "layers", "obs_names", "n_obs")):
        raise TypeError(f"adata must be AnnData, got {type(adata).__name__}")


def column(adata: Any, key: str, name: str) -> Array:
    """Return a column of obs as objects, with None for cells without a label."""
    from pandas import isna

    if kinds.label(key, name) not in adata.obs:
        known = check.join_items(map(str, adata.obs))
        raise ValueError(f"{name} must be a column of adata.obs, one of {known or 'none'}, got {key!r}")
    # The values are copied, because they may belong to adata and are read-only since pandas 3.0.
    values = np.array(adata.obs[key], dtype=object)
    values[np.asarray(isna(values), dtype=bool)] = None
    return values


def labels(adata: Any, key: str, name: str) -> NDArray[Any]:
    """Return a column of obs as text, with None for cells without a label."""
    return np.array([label_text(value) for value in column(adata, key, name)], dtype=object)


def label_text(value: Any) -> str | None:
    """Return a label as text, so that 1.0 equals 1; None for missing labels, also those written as 'nan'."""
    if isinstance(value, float | np.floating) and np.isfinite(value) and value == np.floor(value):
        value = int(value)
    return None if value is None or str(value) in NO_LABEL else str(value)


def data_matrix(adata: Any, layer: str | None) -> Any:
    """Return X or a layer as it is: dense, sparse, on disk or lazy."""
    if layer is None:
        if adata.X is None:
            raise ValueError("layer must name a matrix of adata, which has no X, got None")
        return adata.X
    if kinds.label(layer, "layer") not in adata.layers:
        # Since version 0.13, anndata lists X among the layers with the key None.
        known = check.join_items(name for name in adata.layers if name is not None)
        raise ValueError(f"layer must be among {known or 'none'}, got {layer!r}")
    return adata.layers[layer]


def _load(block: Any) -> Any:
    """Return rows that may be lazy or on disk as an array or a sparse matrix in memory."""
    block = block.compute() if hasattr(block, "compute") else block
    return block.to_memory() if hasattr(block, "to_memory") else block


def dense_rows(matrix: Any, mask: Mask, name: str) -> Matrix:
    """Return some rows of a stored matrix as a dense array, within the memory budget."""
    return check.matrix(_load(matrix[np.flatnonzero(mask)]), name, min_rows=1)


@dataclass(frozen=True)
class CellDesign:
    """The stored matrix of cells by features, with the labels of each cell."""

    matrix: Any
    rows: Index
    """Indices of the cells that have all requested labels and thus are the rows of the matrix."""
    labels: NDArray[Any]
    order: tuple[str, ...]
    """The different labels in the order of an ordered category, or else by their numbers."""
    controls: Controls
    blocks: NDArray[Any] | None
    groups: NDArray[Any] | None
    notes: tuple[str, ...]
    """What was merged or left out, sampling units that are not declared, and why distances may mislead."""
    undeclared: tuple[str, ...]
    """Options that name these sampling units, such as groups='donor'."""
    left_out: dict[str, int]
    """Number of cells that are left out, by the reason."""
    source: str
    """Name of the matrix in messages."""


def cell_design(
    adata: Any,
    groupby: str,
    *,
    control: str | Sequence[str] | None,
    obsm: str | None,
    layer: str | None,
    per: str | None = None,
    blocks: str | Sequence[Any] | None = None,
    groups: str | Sequence[Any] | None = None,
    missing: MissingRows = "refuse",
    needs_controls: bool = True,
    batch_option: str = "blocks",
) -> CellDesign:
    """Read the parts of AnnData for an analysis, leaving out cells that lack one of the labels.

    Parameters
    ----------
    adata : AnnData
        Annotated data, in memory, backed or lazily read.
    groupby : str
        Column of obs with the perturbations.
    control, obsm, layer, per, blocks, groups, missing
        See `coherence_table`.
    needs_controls : bool
        Whether labels of which none resembles a control are refused if `control` is None.
    batch_option : str
        The option that advice on batches names: 'groups' if the analysis has no option `blocks`.
    """
    require_anndata(adata)
    matrix, source = _matrix(adata, obsm, layer)
    if groupby is None:
        raise TypeError("groupby must be a column of obs, got None")
    named = {"groupby": groupby, "per": per, "blocks": blocks, "groups": groups}
    values_by_name = {name: _labels(adata, value, name) for name, value in named.items() if value is not None}
    lacking = not needs_controls and control is None and not _has_controls(values_by_name["groupby"])
    free = () if lacking else _controls_without_units(values_by_name, control)
    wanted = {
        "with a missing label" if name == "groupby" else f"without a value of {name}": np.array(
            [value is not None for value in values]
        )
        for name, values in values_by_name.items()
    }
    if check.choice(missing, ("refuse", "drop"), "missing") == "drop":
        wanted[f"with NaN in {source}"] = _complete_rows(matrix)
    there, left_out = np.ones(adata.n_obs, dtype=bool), {}
    for why, complete in wanted.items():
        left_out[why] = int((there & ~complete).sum())
        there &= complete
    rows = np.flatnonzero(there)
    values_by_name = {name: values[rows] for name, values in values_by_name.items()}
    labels = values_by_name["groupby"]
    if isinstance(groups, str) and (units := _numbered_guides(groups, values_by_name["groups"], labels)) is not None:
        values_by_name["groups"] = units
        provenance.state(f"numbers of {groups!r} occur in several perturbations, so each counts once in each of them")
    order = _label_order(adata.obs, groupby, labels)
    controls = Controls((), "not needed") if lacking else _controls_among(order, control)
    same = combination_names(order, controls)
    labels = np.array([same.get(label, label) for label in labels], dtype=object)
    is_control = np.isin(labels, controls.labels)
    declared = {value for value in (groupby, per, blocks, groups) if isinstance(value, str)}
    undeclared = notes_on_units(
        adata.obs, rows, labels, is_control, declared, units=values_by_name.get("groups"), batch_option=batch_option
    )
    within = values_by_name.get("blocks")
    if "per" in values_by_name:
        within = values_by_name["per"] if within is None else _join_labels(values_by_name["per"], within)
    doubts = (
        *undeclared.values(),
        *doubts_about_cells(groupby, source, matrix, labels, rows),
        *_doubts_about_features(getattr(adata, "var", None), source, matrix, labels, rows),
        *_doubts_about_depth(_with_totals(adata.obs, matrix, source), rows, labels, is_control, within),
    )
    for note in doubts:
        provenance.state_warning(note)
    warn_of_values(matrix, source, rows)
    if blocks is None and is_control.any():
        known = values_by_name.get("groups")
        _warn_of_uneven_columns(adata.obs, rows, labels, is_control, matrix, declared, batch_option, known)
    if "per" in values_by_name:
        labels = np.where(is_control, labels, _join_labels(labels, values_by_name["per"]))
    return CellDesign(
        matrix=matrix if len(rows) == matrix.shape[0] else _SelectedRows(matrix, rows),
        rows=rows,
        labels=labels.astype(str),
        order=tuple(dict.fromkeys(same.get(label, label) for label in order)),
        controls=controls,
        blocks=None if within is None else within.astype(str),
        groups=None if "groups" not in values_by_name else values_by_name["groups"].astype(str),
        notes=(*free, *_notes_on_merged(same), *doubts),
        undeclared=tuple(undeclared),
        left_out={why: n for why, n in left_out.items() if n},
        source=source,
    )


def _label_order(obs: Any, groupby: Any, labels: NDArray[Any]) -> list[str]:
    """Return the different labels in the order of an ordered category, or else by their numbers."""
    kind: Any = obs[groupby].dtype if isinstance(groupby, str) else None
    categories = map(label_text, kind.categories) if getattr(kind, "ordered", False) else ()
    return wording.in_label_order(labels.tolist(), [str(name) for name in categories])


def _numbered_guides(name: str, guides: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return guides joined with their perturbations if guides of each are numbered (sg1, sg2, ...), otherwise None."""
    pairs = {(guide, label) for guide, label in zip(guides, labels, strict=True)}
    numbered = all(_NUMBERED_GUIDE.fullmatch(str(guide)) for guide, _ in pairs)
    if not is_guide_name(name) or not numbered or len(pairs) == len({guide for guide, _ in pairs}):
        return None
    return _join_labels(labels, guides)


_NUMBERED_GUIDE = re.compile(r"(?i)(sg|g|guide|[sg]?g?rna)?[\s_.-]*\d{1,2}")
"""Name of a guide without its target."""


def doubts_about_cells(groupby: str, source: str, matrix: Any, labels: NDArray[Any], rows: Index) -> Iterator[str]:
    """Yield why distances may mislead: groups chosen by technique or response, plots of cells, and repeated cells."""
    yield from doubts_about_repeats(matrix, rows)
    known = list(dict.fromkeys(labels.tolist()))
    if outcomes := _demultiplexing_outcomes(known):
        yield (
            f"{check.join_items(map(repr, outcomes))} are outcomes of demultiplexing (no tag or several), which differ "
            "for technical reasons. Leave these cells out"
        )
    if selected := [label for label in known if label.endswith(" KO") and label[:-2] + "NP" in known]:
        yield (
            f"cells of {check.join_items(map(repr, selected))} were chosen by their response (mixscape), so they "
            "differ from controls by construction, even in noise. Compare all cells of a target with the controls"
        )
    if CLUSTERS.fit(str(groupby)):
        yield (
            f"if the groups of {groupby!r} are clusters of the same data, they differ by construction, even in noise: "
            "p-values then say nothing about kinds of cells"
        )
    key = source.removeprefix("obsm[").strip("'\"]")
    if key != source and is_picture(key, matrix.shape[1]):
        yield (
            f"{source} looks like an embedding for plots, such as a UMAP or t-SNE, in which distances are distorted. "
            "Use obsm='X_pca', or obsm=None for X"
        )


def _doubts_about_features(var: Any, source: str, matrix: Any, labels: NDArray[Any], rows: Index) -> Iterator[str]:
    """Yield that features come from several assays, or that labels of cells were assigned from some of them."""
    if source.startswith("obsm"):
        return
    size = f"{source} ({count(len(rows), 'cell')} x {count(matrix.shape[1], 'feature')})"
    if text := describe_feature_types(size, () if var is None else var.get(FEATURE_TYPES, ())):
        yield text
        return
    cells = choose_cells(labels)
    found = features_of_labels(_load(matrix[rows[cells]]), labels[cells]) if len(cells) else {}
    if found:
        names = range(matrix.shape[1]) if var is None else var.index
        named = (f"{label}: {', '.join(str(names[k]) for k in features)}" for label, features in found.items())
        listed = check.join_items(named, most=3)
        yield (
            f"{size} has features that alone separate nearly all cells of {len(found)} of {len(set(labels[cells]))} "
            f"labels from all others ({listed}), as counts of guides or tags do; if labels were assigned from these "
            "features, cells differ by construction, so leave them out"
        )


def doubts_about_repeats(matrix: Any, rows: Index) -> Iterator[str]:
    """Yield that cells occur twice, or only contain zeros in an embedding; matrices on disk are not read."""
    is_read = isinstance(matrix, np.ndarray) or sparse.issparse(matrix)
    if not is_read or np.prod(np.shape(matrix)) > _MOST_PROJECTED:
        return
    whole: Any = matrix
    # Equal cells have equal projections, up to rounding. The weights are so small that no sum overflows.
    weights = np.random.default_rng(0).standard_normal(whole.shape[1]) / (4 * whole.shape[1])
    found = np.sort(np.asarray(whole @ weights).ravel()[rows])
    scale = float(np.abs(found).max(initial=0.0))
    n_repeats = int(((np.diff(found) <= _SAME * scale) & (np.abs(found[1:]) > _SAME * scale)).sum())
    if text := describe_repeats(n_repeats, len(rows), "cell"):
        yield text
    n_zero = 0 if sparse.issparse(matrix) else int((~np.any(matrix, axis=1)[rows]).sum())
    if n_zero > 1:
        yield (
            f"{n_zero:,} of {count(len(rows), 'cell')} contain only zeros, as cells that were left out of an "
            "embedding do; they look alike. Leave them out"
        )


_SAME, _MOST_PROJECTED = 1e-13, 1 << 28
"""Difference that rounding explains, and most entries looked at."""


def _demultiplexing_outcomes(labels: Iterable[str]) -> list[str]:
    """Return the labels that demultiplexing gives to cells without one tag, if there are cells with two."""
    found = [label for label in labels if _OUTCOME.fullmatch(label)]
    return found if any(label.casefold() != "negative" for label in found) else []


_OUTCOME = re.compile(
    r"negative|(hto|cmo|hash)?[ _.-]?(doublet|multiplet|unassigned|ambiguous)s?|blanks?", re.IGNORECASE
)
"""Labels of droplets with no tag or several tags."""


def _has_controls(labels: NDArray[Any]) -> bool:
    """Return whether one set of labels resembles controls."""
    with catch_warnings():
        simplefilter("ignore")
        try:
            find_controls([label for label in labels if label is not None])
        except ValueError:
            return False
    return True


def _controls_without_units(values_by_name: dict[str, NDArray[Any]], control: Any) -> tuple[str, ...]:
    """Keep controls of which none has a unit (no guide), as one unit; say how many they are."""
    units = values_by_name.get("groups")
    if units is None:
        return ()
    known = np.array([value is not None for value in values_by_name["groupby"]])
    is_control = np.isin(values_by_name["groupby"], find_controls(values_by_name["groupby"][known], control).labels)
    without = is_control & np.array([value is None for value in units])
    if not without.any() or not without[is_control].all():
        return ()
    values_by_name["groups"] = np.where(without, "controls without a unit", units)
    return (f"no control cell has a value of groups, so all {int(without.sum()):,} count as one unit",)


def _notes_on_merged(same: dict[str, str]) -> tuple[str, ...]:
    """Say which labels count as one perturbation."""
    by_name: dict[str, list[str]] = {}
    for label, name in same.items():
        by_name.setdefault(name, []).append(label)
    texts = tuple(f"{check.join_items(map(repr, labels))} count as one, {name!r}" for name, labels in by_name.items())
    if len(texts) <= _MOST_MERGED:
        return texts
    each = sum(map(len, by_name.values()))
    return (f"{each:,} labels with the same parts in any order count as one each, {len(texts):,} in all; {texts[0]}",)


_MOST_MERGED = 3
"""Largest number of perturbations with several labels of which each is described."""


def notes_on_units(
    obs: Any,
    rows: Index,
    labels: NDArray[Any],
    is_control: Mask,
    declared: set[str],
    *,
    units: NDArray[Any] | None = None,
    batch_option: str = "blocks",
) -> dict[str, str]:
    """Return, by option, notes on columns that look like sampling units or batches but are not declared.

    `units` are the declared sampling units of the cells, if any.
    """
    notes = {}
    for name in map(str, obs):
        is_batch = is_batch_name(name)
        if name in declared or not (is_batch or is_unit_name(name)):
            continue
        values = unit_labels(np.asarray(obs[name], dtype=object)[rows])
        if values is None:
            continue
        codes = np.unique([str(value) for value in values], return_inverse=True)[1]
        controls, others = (np.unique(codes[here]) for here in (is_control, ~is_control))
        crossed = len(np.intersect1d(controls, others)) >= 0.5 * len(others)
        option = batch_option if is_batch and crossed else "groups"
        if units is not None and not (is_batch or crossed) and _are_nested(units, codes):
            notes[f"{option}={name!r}"] = (
                f"groups are nested in the column {name!r} of obs, so cells of several groups may resemble one "
                f"another, and p-values are too small. Pass {option}={name!r}"
            )
            continue
        if units is not None and option == "groups":
            continue
        kinds_of_units = [len(set(labels[~is_control & (codes == code)])) for code in others]
        apart = not len(np.intersect1d(controls, others)) and max(kinds_of_units, default=0) > 1
        relation = "contain both controls and perturbed cells" if crossed else "are nested in perturbations"
        if apart:
            notes[f"{option}={name!r}"] = (
                f"no value of {name!r} in obs contains both controls and perturbed cells, so no analysis can separate "
                "its effect from that of the perturbations"
            )
            continue
        notes[f"{option}={name!r}"] = (
            f"the column {name!r} of obs looks like {'batches' if is_batch else 'sampling units'}, whose values "
            f"{relation}, but it is not declared. If its values differ, perturbations seem to differ, and "
            f"p-values are too small. Pass {option}={name!r}"
        )
    return notes


def _are_nested(parts: NDArray[Any], wholes: NDArray[Any]) -> bool:
    """Return whether each part, such as a well, belongs to one whole, such as a donor, of which some have several."""
    n_pairs = len(set(zip(map(str, parts), map(str, wholes), strict=True)))
    return n_pairs == len(set(map(str, parts))) > len(set(map(str, wholes)))


def _warn_of_uneven_columns(
    obs: Any,
    rows: Index,
    labels: NDArray[Any],
    is_control: Mask,
    matrix: Any,
    declared: set[str],
    batch_option: str,
    units: NDArray[Any] | None,
) -> None:
    """Warn of columns on which controls depend and whose values are uneven over perturbations, whatever their names."""
    sample = rows[is_control][: _MOST_CONTROLS * 8 : 8] if is_control.sum() > 8 * _MOST_CONTROLS else rows[is_control]
    sample = sample[:_MOST_CONTROLS]
    found, values = [], None
    for name in map(str, obs):
        known = None if name in declared or is_batch_name(name) or is_unit_name(name) else unit_labels(obs[name])
        if known is None or CLUSTERS.fit(name) or (units is not None and _are_nested(known[rows], units)):
            continue
        levels, codes = np.unique([str(value) for value in known], return_inverse=True)
        counts = np.zeros((len(set(labels)), len(levels)))
        np.add.at(counts, (np.unique(labels, return_inverse=True)[1], codes[rows]), 1)
        # A column that the perturbation determines, such as its target, is no batch.
        if (
            len(levels) > _MOST_LEVELS
            or ((counts > 0).sum(axis=1) < 2).all()
            or _independence_p_value(counts) > _UNEVEN
        ):
            continue
        if values is None:
            values = _dense(matrix[sample])
        if _has_dependence(values, codes[sample]):
            found.append(name)
    if found:
        them = "it" if len(found) == 1 else "them"
        warn(
            f"controls differ between the values of {check.join_items(map(repr, found))} in obs, whose shares differ "
            f"between perturbations, so a part of the shifts may be an effect of {them}. If perturbations do not "
            f"change {them} themselves, pass {batch_option}={found[0]!r}",
            CalibrationWarning,
        )


_EFFECTS = {
    "sequencing depth": (DEPTH, "Normalise the totals of cells before the embedding, or compare cells of equal depth"),
    "damage to cells": (DAMAGE, "Leave out damaged cells, or compare cells of equal quality"),
}
"""What columns of quality show, by which words they are known, and what to do."""
_FEWEST_OF_DEPTH, _NEARLY_ALL = 10, 0.9
"""Smallest number of cells, and share of pairs of a cell and a control in which the same one has the larger value."""


def _look_unnormalised(block: Any) -> bool:
    """Return whether values are no logarithms and have unequal totals, such as counts without ambient RNA."""
    values = np.asarray(block.data if hasattr(block, "toarray") else block)
    if not values.size or not values.min() >= 0 or not _LARGEST_LOGARITHM < values.max() < 2.0**53:
        return False
    totals = np.asarray(block.sum(axis=1), dtype=np.float64).ravel()
    # Counts are skewed, unlike intensities and measurements.
    is_skewed = values.max() > _SKEWED * totals.mean() / block.shape[1]
    return bool(is_skewed and np.ptp(totals) > _UNEQUAL * totals.max())


def _doubts_about_depth(
    obs: Any, rows: Index, labels: NDArray[Any], is_control: Mask, within: NDArray[Any] | None = None
) -> Iterator[str]:
    """Yield labels whose cells nearly all have more counts, or fewer, than the controls of their stratum."""
    for effect, (words, remedy) in _EFFECTS.items():
        names = [str(name) for name in obs if words.fit(str(name)) and obs[name].dtype.kind in "iuf"]
        # Totals tell more than numbers of genes, and one column is enough.
        for name in sorted(names, key=lambda name: any(word in name.lower() for word in ("gene", "feature"))):
            values = np.asarray(obs[name], dtype=np.float64)[rows]
            if ratios := _apart_from_controls(values, labels, is_control, within):
                each = check.join_items((f"{label!r} is {ratio:.2g} times" for label, ratio in ratios.items()), most=3)
                shift = "its shift" if len(ratios) == 1 else "their shifts"
                yield f"{name} of {each} that of the controls, so {shift} may be {effect}. {remedy}"
                break


def _with_totals(obs: Any, matrix: Any, source: str) -> Mapping[str, Any]:
    """Return the columns of obs, with the totals of cells if none contains these and values are no logarithms."""
    columns = {str(name): obs[name] for name in obs}
    is_read = isinstance(matrix, np.ndarray) or sparse.issparse(matrix)
    if source.startswith("obsm") or not is_read or any(map(DEPTH.fit, columns)) or not np.prod(matrix.shape):
        return columns
    if matrix.min() < 0 or not matrix.max() > _LARGEST_LOGARITHM:
        return columns
    return columns | {"total count": np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()}


def _apart_from_controls(
    values: Vector, labels: NDArray[Any], is_control: Mask, within: NDArray[Any] | None
) -> dict[str, float]:
    """Return the median ratio to the controls of labels whose values are nearly all larger than theirs, or smaller."""
    from pandas import DataFrame

    strata = np.zeros(len(values)) if within is None else np.unique(within.astype(str), return_inverse=True)[1]
    lines = DataFrame({"label": labels, "above": np.nan, "ratio": np.nan})
    for stratum in np.unique(strata):
        here = (strata == stratum) & np.isfinite(values)
        controls = np.sort(values[here & is_control])
        if len(controls) >= _FEWEST_OF_DEPTH and (middle := float(np.median(controls))) > 0:
            below, up_to = (np.searchsorted(controls, values[here], side) for side in ("left", "right"))
            lines.loc[here, "above"] = (below + up_to) / (2 * len(controls))
            lines.loc[here, "ratio"] = values[here] / middle
    found = lines[~is_control & lines["above"].notna()].groupby("label", sort=False)
    apart = ((found["above"].mean() - 0.5).abs() > _NEARLY_ALL - 0.5) & (found.size() >= _FEWEST_OF_DEPTH)
    ratios = found["ratio"].median()[apart]
    return {name: float(ratios[name]) for name in wording.in_label_order(map(str, ratios.index))}


def _independence_p_value(counts: Matrix) -> float:
    """Return the p-value of the chi-squared test that rows and columns of counts are independent."""
    from scipy.stats import chi2_contingency

    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(counts).pvalue) if min(counts.shape) > 1 else 1.0


def _has_dependence(values: Matrix, codes: Index) -> bool:
    """Return whether rows with one code are closer than random groups of these sizes, in all of 199 permutations."""
    members = (codes == np.unique(codes)[:, None]).astype(np.float64)
    members = members[members.sum(axis=1) >= 2]
    if len(members) < 2:
        return False
    values = values - values.mean(axis=0)

    def between_groups(lines: Matrix) -> float:
        return float((((lines @ values) ** 2).sum(axis=1) / lines.sum(axis=1)).sum())

    rng = np.random.default_rng(0)
    observed = between_groups(members)
    return all(between_groups(members[:, rng.permutation(len(values))]) < observed for _ in range(_PERMUTATIONS))


def _dense(block: Any) -> Matrix:
    """Return rows that may be sparse or lazy as an array."""
    block = _load(block)
    return np.nan_to_num(np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64))


class _SelectedRows:
    """Some rows of a matrix, selected without copying it."""

    def __init__(self, matrix: Any, rows: Index) -> None:
        self._matrix, self._rows = matrix, rows
        self.shape = (len(rows), int(matrix.shape[1]))

    def __getitem__(self, which: slice) -> Any:
        rows = self._rows[which]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self._matrix[int(rows[0]) : int(rows[-1]) + 1]
        return self._matrix[rows]


def _matrix(adata: Any, obsm: str | None, layer: str | None) -> tuple[Any, str]:
    """Return an embedding, a layer or X as it is, with its name for messages."""
    if layer is not None or obsm is None:
        return data_matrix(adata, layer), "X" if layer is None else f"layers[{layer!r}]"
    key = kinds.text(obsm, "obsm").removeprefix("obsm/")
    if key not in adata.obsm:
        raise ValueError(
            f"obsm must be among {check.join_items(adata.obsm) or 'none'}, or None for X, got {obsm!r}; compute "
            "the embedding first, for example with scanpy.pp.pca"
        )
    values = adata.obsm[key]
    return split_names(load_backed(values) if hasattr(values, "columns") else values)[0], f"obsm[{key!r}]"


@contextmanager
def naming_missing_cells(design: CellDesign) -> Iterator[None]:
    """Name the matrix, the cells and the option in errors about cells with NaN."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("X must be finite"):
            raise
        cells = design.rows[~_complete_rows(design.matrix)]
        raise ValueError(
            f"adata.{design.source} must be finite, got NaN or infinity in {count(len(cells), 'cell')} "
            f"({check.join_items(cells)}). To leave them out, pass missing='drop'"
        ) from error


def _complete_rows(matrix: Any) -> Mask:
    """Return which rows contain only finite numbers; the matrix may be sparse, on disk or lazy."""
    complete = np.ones(matrix.shape[0], dtype=bool)
    for start in range(0, len(complete), _PIECE):
        block = _load(matrix[start : start + _PIECE])
        finite = block.copy() if hasattr(block, "toarray") else np.isfinite(np.asarray(block))
        if hasattr(finite, "toarray"):
            finite.data = ~np.isfinite(finite.data)
            complete[start : start + _PIECE] = np.asarray(finite.sum(axis=1)).ravel() == 0
        else:
            complete[start : start + _PIECE] = finite.all(axis=1)
    return complete


def cells_and_labels(adata: Any, groupby: str, layer: str | None, values: NDArray[Any], control: Any) -> Any:
    """Return X or a layer, and warn of what makes scores of the labelled cells misleading; results cannot say it."""
    matrix, source = _matrix(adata, None, layer)
    rows = np.flatnonzero([label is not None for label in values])
    known = values[rows]
    units = notes_on_units(adata.obs, rows, known, known == control, {groupby})
    depth = _doubts_about_depth(_with_totals(adata.obs, matrix, source), rows, known, known == control)
    features = _doubts_about_features(getattr(adata, "var", None), source, matrix, known, rows)
    for note in (*units.values(), *doubts_about_cells(groupby, source, matrix, known, rows), *features, *depth):
        warn(note, CalibrationWarning)
    if len(rows) < len(values):
        warn(f"{count(len(values) - len(rows), 'cell')} with a missing label left out", MeasureWarning)
    warn_of_values(matrix, source, rows)
    return matrix


def warn_of_values(matrix: Any, name: str, rows: Index) -> None:
    """Warn if values are counts, or if a few cells or features determine distances; some of the cells are looked at."""
    if len(rows) < _FEWEST_LOOKED_AT or (not name.startswith("obsm") and warn_of_counts(matrix, name)):
        return
    sample = rows[:: 1 + len(rows) // _MOST_LOOKED_AT]
    values = _dense(matrix[sample])
    warn_of_row_doubts(values, name, "euclidean", numbers=sample)
    if text := describe_far_row(values, f"cell of {name}", sample):
        warn(text, CalibrationWarning)


def warn_of_counts(matrix: Any, name: str) -> bool:
    """Warn if values are raw counts, because sequencing depth then dominates all shifts."""
    first = _load(matrix[:_CHECKED_ROWS])
    values = np.asarray(first.data if hasattr(first, "toarray") else first)
    if not values.size or values.min() < 0 or not 1 < values.max() < 2.0**53:
        return False
    # Relative to the largest value, no sum overflows.
    largest = float(values.max())
    totals = np.asarray((first / largest).sum(axis=1), dtype=np.float64).ravel()
    text = ""
    if (values == np.floor(values)).all():
        text = (
            f"{name} contains raw counts, so sequencing depth dominates the shifts of cells. Normalise and "
            "log-transform the counts first"
        )
    elif len(totals) > 1 and np.ptp(totals) < _SAME_TOTAL * totals.max() and totals.max() >= _LEAST_TOTAL / largest:
        text = (
            f"{name} contains counts per {totals.mean() * largest:,.0f} without a logarithm, so a few genes with high "
            "counts dominate the shifts of cells. Log-transform them first (scanpy.pp.log1p)"
        )
    elif _look_unnormalised(first):
        text = (
            f"{name} contains positive values up to {largest:,.0f} whose totals differ between cells, like counts that "
            "were corrected but not normalised, so sequencing depth dominates the shifts of cells. Normalise and "
            "log-transform them first"
        )
    if text:
        warn(text, CalibrationWarning)
    return bool(text)


def _labels(adata: Any, value: str | Sequence[Any], name: str) -> NDArray[Any]:
    if isinstance(value, str):
        return labels(adata, value, name)
    from pandas import isna

    values = check.dense(value, name).astype(object)
    if values.shape != (adata.n_obs,):
        raise ValueError(f"{name} must be a column of adata.obs or one label per cell, got shape {values.shape}")
    return np.array([None if isna(kinds.label(value, name)) else label_text(value) for value in values], dtype=object)


def _join_labels(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.array([f"{a} | {b}" for a, b in zip(first, second, strict=True)], dtype=object)
