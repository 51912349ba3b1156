"""Report the effect of a model change on its layers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.changes.class_distance_changes import note_of_classes
from shesha.changes.index_recall import IndexTest, index_change
from shesha.changes.layer_details import LayerPair, layer_change, layer_details, narrow
from shesha.changes.layer_sources import Match, NoiseFloor, Reader, Sides, read_sides
from shesha.changes.row_map import (
    METRIC,
    OUTPUT,
    count_neighbours,
    draw_rows,
    label_rows,
    labels_of_rows,
    map_rows,
    moved_rows,
    name_rows,
    pair_of_names,
    per_row,
    require_usable_rows,
)
from shesha.comparison.engine import Evidence
from shesha.doubting import find_near_copies, warn_of_pair_doubts
from shesha.drift.canary_check import Choice, choose_measures
from shesha.inputs import MissingRows, Names, RowChoice, find_row_order, validation as check
from shesha.inputs.class_labels import class_codes
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.measures import Measure, choose
from shesha.nulls.dependence import stretches
from shesha.nulls.design_builder import exchange
from shesha.nulls.design_warnings import find_undeclared_dependence, subtract_class_means
from shesha.results.diff import Diff, IndexChange, IndexMetric, LayerChange
from shesha.results.row_map import RowMap
from shesha.support import types as kinds
from shesha.support.layer_axis import LayerAxis
from shesha.support.progress import collect
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import CONFIDENCE, number
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, join_items, plural
from shesha.views import Representation, Rows, fits_better, similarity_correlation

MEASURES = ("RDM drift", "unbiased CKA")
_NO_LEVEL = 0.9
"""Significance level that `Evidence` requires; it has no effect here, because nothing is tested."""
_LOOKED_AT = 5000
"""Maximum number of rows in the search for moved rows, whose cost grows with the number squared."""
_SHOWN = 3
"""Number of layers in the progress."""
_INDEXED = 5000
"""Maximum number of rows in the test of an index; from more, a random sample is drawn."""


@keep_statements
def diff(
    before: Any,
    after: Any,
    labels: ArrayLike | None = None,
    *,
    again: Iterable[Any] | None = None,
    also: Iterable[Any] = (),
    texts: Sequence[str] | None = None,
    encoding: Mapping[str, Any] | None = None,
    measures: Choice | Iterable[Choice] | None = None,
    names: tuple[str, str] = ("before", "after"),
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    k: int | None = None,
    index: bool = False,
    index_metric: IndexMetric = "cosine",
    max_loss: float = 0.05,
    row_map: bool = False,
    max_rows: int | None = 500,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    ids: str | None = None,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
    layer_axis: LayerAxis = "guess",
    match: Match = None,
) -> Diff:
    """Report which layers a model change (fine-tuning, quantising, an upgrade) altered by more than noise.

    Layers are matched by name, by a name to which a wrapper added a prefix or suffix, by number, or by position; the
    result says how, and how many layers have no counterpart. For each layer, it contains the change (RDM drift,
    unbiased CKA, nearest neighbours lost) with an interval, the noise floor of re-encoding, and a verdict:

    - *unchanged*: the drift is at most 1e-9, which rounding in single precision could cause;
    - *within noise*: the drift is at most the noise limit;
    - *cannot decide*: the drift is above the noise limit, but the lower end of its interval is not; or the limit is so
      high (above 0.5) that even a replaced layer might not exceed it;
    - *changed*: the lower end of the interval is above the noise limit;
    - *replaced*: the lower end is also above 0.5, so the layer is closer to an unrelated geometry than to the old one.

    With at least 19 unchanged encodings, the noise limit is their largest drift; with fewer, it is twice the largest.

    Parameters
    ----------
    before, after : mapping of layers, sequence of layers, array, path of a file, or model
        The representations to compare. Row i of both is the same input, and named rows are matched by name. If `texts`
        is given, a model name, folder or torch module is a model that encodes these texts.
    labels : array of shape (n_rows,), optional
        Class of each row. The result then reports which classes moved apart or together, and how well a classifier
        predicts held-out rows before and after.
    again : iterable of inputs such as `before`, optional
        Further encodings of the same inputs by the unchanged model, with other batch sizes, precision or input order.
        Default for models: one re-encoding with another batch size and order, and one in half precision. Default for
        arrays and files: none.
    also : iterable of inputs such as `after`
        Further runs of the same change, such as trainings with other seeds. A layer counts as changed if it differs
        from `before` by more than the runs differ from each other. Without `again` and `also`, the noise floor comes
        from Gaussian noise of 1 % of each feature's standard deviation, about the noise that half precision adds in a
        sentence encoder. This does not include measurement noise, so pass `again` for recordings and cells.
    texts : sequence of str, optional
        Inputs that the models encode. If `before` and `after` are arrays, the texts serve as row names.
    encoding : mapping, optional
        Options of `shesha.extract.encode` for models: layers, pool, batch_size, device.
    measures : measure or sequence of measures, optional
        Measures of change, of which the first determines the verdict. Default: RDM drift, unbiased CKA and mutual kNN.
        For other first measures, a layer is replaced if its change is more than half that of permuted rows.
    names : pair of str
        Names of the two representations in the report.
    blocks, groups : arrays of shape (n_rows,), optional
        `blocks` restricts the tests of class changes: labels are permuted only within blocks; it needs `labels`.
        `groups` names the donor
        or session of each row, so that intervals leave out whole groups instead of single rows, and movements of
        classes are tested between groups.
    k : int, optional
        Number of neighbours of each row. Default: 10, or a third of the rows if there are fewer than 31. In the test of
        an index: 10, or less if chance would find more than an eighth of the neighbours.
    index : bool
        Whether to report if a search index of old vectors may be kept. It holds the layer named embedding (the output
        of a sentence encoder), or else the last layer. Recall@k is the share of a new query's true neighbours (among
        new vectors) that it finds in the old index. It is computed both for unmapped queries and for queries mapped by
        a fit to other rows.
    index_metric : {'cosine', 'ip', 'l2'}
        Metric of the index, where ip is the inner product and l2 the Euclidean distance.
    max_loss : float
        Acceptable loss of recall, relative to re-encodings by the unchanged model.
    row_map : bool
        Whether to make a two-dimensional map of the examined layer's rows, before and after the change.
        ``result.row_map.save_html("map.html")`` writes it as a page.
    max_rows : int or None
        Maximum number of randomly drawn rows from which changes and intervals are computed. None uses all rows. The
        search for moved rows uses up to 5,000 rows.
    rows : {'same', 'shared'}
        Whether all encodings must have the same rows, or only the rows whose names all of them have are used.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity, and rows of zeros, raise an error, or are left out on all sides and counted.
    ids : str, optional
        Column or array that identifies the rows of files. Default: the index, or one that is named like an identifier.
    confidence : float
        Confidence level of the intervals, in (0, 1). Movements of classes are tested at 1 - `confidence`.
    seed : int, Generator or None
        Seed of the random rows and subsets.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which layers are stacked, as for `shesha.compare_layers`.
    match : mapping, 'name', 'position' or None
        Which layers correspond. A mapping gives names after the change by names before it, such as ``{"layer.*":
        "model.layer.*"}``; the other layers are matched as usual. 'name': only layers of the same name. 'position':
        layers in order. Needed where names are ambiguous.

    Returns
    -------
    Diff
        The result prints its main answer first. ``.changed`` names the layers that changed; ``.layers[name]`` has
        ``.change``, ``.low``, ``.high``, ``.noise`` and ``.verdict``; ``.rows`` is a table of the rows that moved most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before = {"first": rng.standard_normal((60, 8)), "second": rng.standard_normal((60, 8))}
    >>> moved = before["second"] + 0.3 * rng.standard_normal((60, 8))
    >>> after = {"first": 2 * before["first"], "second": moved}
    >>> found = diff(before, after)
    >>> [one.verdict for one in found]
    ['unchanged', 'changed']
    >>> found.changed
    ['second']
    """
    check.fraction(confidence, "confidence", closed=False)
    check.boolean(index, "index")
    check.boolean(row_map, "row_map")
    loss = check.fraction(max_loss, "max_loss")
    first, second = pair_of_names(names)
    row_texts = _check_texts(texts)
    options = {} if encoding is None else kinds.mapping(encoding, "encoding")
    along = {"blocks": blocks, "groups": groups, "labels": labels, "texts": row_texts}
    reader = Reader(row_texts, options, layer_axis, ids)
    sides = read_sides(before, after, again, also, reader, match, along, rows=rows, missing=missing)
    row_texts = sides.along["texts"]
    usable = require_usable_rows(sides)
    known = per_row(sides, **{name: sides.along[name] for name in ("blocks", "groups", "labels")})
    if "blocks" in known and "labels" not in known:
        raise ValueError("blocks must come with labels, whose permutations they restrict, got blocks alone")
    for name, what in (
        ("groups", "rows left out and relabelled by {} groups"),
        ("blocks", "labels permuted in {} blocks"),
    ):
        if name in known:
            state(what.format(f"{len(np.unique(known[name].astype(str))):,}"))
    scored = draw_rows(usable, max_rows, seed)
    notes = note_of_classes(known, scored)
    chosen = _choose(measures, k, len(scored))
    layers, interrupted = _score_layers(sides, scored, chosen, _evidence(scored, known, confidence, seed))
    _warn_if_unrelated(layers.values(), sides.names)
    layer = _most_changed_layer(list(layers.values()))
    # After Ctrl-C, the answer must follow soon.
    looked_at = scored if interrupted else draw_rows(usable, _LOOKED_AT, seed)
    if len(looked_at) < len(usable):
        notes.append(f"The search for rows that moved used {len(looked_at):,} random rows of {len(usable):,}.")
    n_neighbours = count_neighbours(k, len(looked_at))
    before_rows, after_rows, floor = _select(layer, sides, looked_at)
    is_unchanged = layers[layer].verdict == "unchanged"
    if not is_unchanged:
        _refuse_copied_runs(layer, before_rows, after_rows, floor)
    _warn_of_random_encoder(layers[layer], floor)
    # Ranks of angles hardly depend on a few distant rows. The answer says if nothing or only lengths changed.
    stated = [*["few rows"] * (not index or index_metric == "cosine"), "copies", *["row lengths"] * is_unchanged]
    _warn_of_doubts((before_rows, after_rows), (first, second), known, looked_at, stated)
    row_names, row_labels = name_rows(looked_at, sides, row_texts), label_rows(looked_at, known.get("labels"))
    # Unlike a loop, map does not hold a noisy copy of the rows while the next one is drawn.
    unchanged = map(_narrow_pair, floor.pairs(layer, before_rows, after_rows))
    moved, lost_by_class = moved_rows(
        narrow(before_rows), narrow(after_rows), unchanged, looked_at, row_names, row_labels, n_neighbours
    )
    details: dict[str, Any] = {}
    if not interrupted:
        details, more_notes = layer_details(
            _layer_pair(layer, sides, scored, choose(MEASURES)),
            scored,
            known,
            beyond_noise=layers[layer].is_beyond_noise,
            confidence=confidence,
            seed=seed,
        )
        notes.extend(more_notes)
        if index:
            details["index"] = _index(sides, layers, usable, known, index_metric, k, loss, confidence, seed)
        if row_map:
            details["row_map"] = _map(sides, (first, second), layer, row_texts, known, k, seed)
    return Diff(
        before=first,
        after=second,
        layers=layers,
        moved_layer=layer,
        n_rows=sides.n_rows,
        n_scored=len(scored),
        noise_source=floor.source,
        n_noise=floor.count(),
        k=n_neighbours,
        notes=(
            *notes,
            *_notes_of_matching(sides),
            *_notes_of_vectors(layers.values(), layer),
            *_reasons(layers.values()),
        ),
        seed=number(seed),
        confidence=float(confidence),
        n_layers=sides.matching.n_layers,
        unmatched=(*sides.matching.only_before, *sides.matching.only_after),
        interrupted=interrupted,
        moved=moved,
        lost_by_class=lost_by_class,
        **details,
    )


def _refuse_copied_runs(layer: str, before: Representation, after: Representation, floor: NoiseFloor) -> None:
    """Refuse runs of the same change, such as other seeds, that have equal values in the layer that changed most.

    Re-encodings may be equal, if the encoder computes the same values each time, so this is only stated.
    """
    runs = {"before": before, "after": after} | {f"also[{place}]": side[layer] for place, side in enumerate(floor.also)}
    for (first, one), (second, other) in combinations(runs.items(), 2):
        if np.array_equal(one.to_numpy.rows, other.to_numpy.rows):
            raise ValueError(f"{second} must be another run of the change, got the values of {first} in {layer}")
    fit = similarity_correlation(before.to_numpy.rows, after.to_numpy.rows)
    for name, run in list(runs.items())[2:]:
        if fits_better(fit, similarity_correlation(after.to_numpy.rows, run.to_numpy.rows), before.n_rows):
            state_warning(f"{name} is no closer to after than unrelated rows are; check the order of its rows")
    for place, run in enumerate(side[layer] for side in floor.again):
        to_old, to_new = (1 - similarity_correlation(side.to_numpy.rows, run.to_numpy.rows) for side in (before, after))
        if to_new < _NEARER * to_old:
            state_warning(
                f"re-encoding {place} (again=, --again) of {layer} resembles after, not before, as if the new model "
                "had made it, so the noise is that of the change. Encode again with the old model"
            )
    if any(np.array_equal(side[layer].to_numpy.rows, before.to_numpy.rows) for side in floor.again):
        state_warning(
            f"a re-encoding (again=, --again) equals before in {layer}: either the encoder is deterministic, or the "
            "re-encoding is a copy that tells nothing about noise"
        )


_NEARER = 0.1
"""Distance of a re-encoding from the new encodings, relative to the old ones, below which the new model made it."""
_NOISY = 0.05
"""RDM drift of re-encodings above which the encoder is random; precision, batches and quantisation cause less."""


def _warn_of_random_encoder(change: LayerChange, floor: NoiseFloor) -> None:
    """Warn if re-encodings by the unchanged model differ as much as with dropout."""
    noise = change.floors.get("re-encodings", change.noise)
    if floor.again and noise > _NOISY and change.scores and change.scores[0].title == "RDM drift":
        state_warning(
            f"re-encodings of {change.name} by the unchanged model differ by an RDM drift of {noise:.2g}, as with "
            f"dropout or sampled inputs, so changes up to {change.limit:.2g} are not found. Make all encodings in "
            "evaluation mode (model.eval() in PyTorch)"
        )


_UNRELATED = 1.9
"""Change that unrelated rows reach, as a multiple of the change above which a layer is replaced."""


def _warn_if_unrelated(layers: Iterable[LayerChange], names: Sequence[Names]) -> None:
    """Warn if no layer is closer to the old one than unrelated rows are, as with rows in another order."""
    known = [layer for layer in layers if layer.verdict != "not estimable"]
    # With few rows, the interval of a related geometry may include that of unrelated rows as well.
    if known and all(
        layer.verdict == "replaced" and layer.value >= _UNRELATED * layer.replaced_above for layer in known
    ):
        remedy = "both contain the same inputs in the same order, or match rows by identifiers (ids=, --id)"
        if len(names) > 1 and not any(one.counts_rows for one in names):
            remedy = f"{plural(names[0].word)} belong to their rows on both sides"
        state_warning(
            "before and after are no closer than unrelated rows, as if row i were another input in each: check that "
            f"{remedy}"
        )


def _warn_of_doubts(
    sides: tuple[Representation, Representation],
    names: tuple[str, str],
    known: Mapping[str, Any],
    rows: Index,
    stated: Sequence[str],
) -> None:
    """Warn of problems with the rows or features of the most changed layer."""
    signs = "" if "groups" in known else find_undeclared_dependence([side.rows for side in sides])
    if signs and "labels" in known:
        # Rows that are sorted by class, or alternate, need not depend on one another.
        codes = class_codes(known["labels"][rows])[0]
        signs = find_undeclared_dependence(subtract_class_means([side.rows for side in sides], codes))
    if signs:
        warn(f"intervals may be too narrow: {signs}", CalibrationWarning)
    warn_of_pair_doubts(dict(zip(names, sides, strict=True)), but=stated)


def _score_layers(
    sides: Sides, scored: Index, chosen: list[Measure], evidence: Evidence
) -> tuple[dict[str, LayerChange], bool]:
    """Return the change of every layer, from the chosen rows; after Ctrl-C, of those so far, and True."""
    changes = (layer_change(_layer_pair(name, sides, scored, chosen), chosen, evidence) for name in sides.others)
    found, interrupted = collect(changes, len(sides.others), "layers", fewest=1, describe=_describe_layers)
    return {change.name: change for change in found}, interrupted


def _describe_layers(changes: list[LayerChange]) -> str:
    """Return the layers that changed most so far, for the progress."""
    most = sorted(changes, key=lambda change: -np.nan_to_num(change.value))[:_SHOWN]
    return "largest changes so far: " + ", ".join(f"{change.name} {change.value:.3g}" for change in most)


def _narrow_pair(
    kind_and_pair: tuple[str, tuple[Representation, Representation]],
) -> tuple[Representation, Representation]:
    _, (first, second) = kind_and_pair
    return narrow(first), narrow(second)


def _index(
    sides: Sides,
    layers: Mapping[str, LayerChange],
    rows: Index,
    known: dict[str, Any],
    metric: IndexMetric,
    k: int | None,
    loss: float,
    confidence: float,
    seed: Seed,
) -> IndexChange:
    """Test whether an index of one layer's old vectors can be kept."""
    name = OUTPUT if OUTPUT in sides.others else list(sides.others)[-1]
    if len(sides.others) > 1:
        state(f"index tested on {name}")
    chosen = draw_rows(rows, _INDEXED, seed)
    before, after, *again = (side[name].take_rows(chosen).whole for side in (sides.before, sides.after, *sides.again))
    groups = class_codes(known["groups"][chosen])[0] if "groups" in known else None
    found = index_change(name, before, after, again, IndexTest(metric, k, loss, confidence, groups=groups, seed=seed))
    undecided = _describe_order(before.to_numpy.rows, after.to_numpy.rows)
    if not undecided and found.advice != "keep":
        undecided = _describe_copies({"before": before.to_numpy.rows, "after": after.to_numpy.rows})
    if undecided:
        return replace(found, advice="undecided", undecided=undecided)
    others, is_copy = sides.matching.only_after, layers[name].verdict == "unchanged" and not layers[name].vectors_differ
    if found.advice != "keep" or not others or not is_copy or sides.matching.is_chosen:
        return found
    # A table of new vectors often keeps the column of the old ones.
    why = (
        f"{name} holds the old vectors, and {join_items(others)} {agree(len(others), 'was', 'were')} not tested; if "
        f"new queries come from there, pass match= (--match {name}={others[0]}), otherwise leave it out (--key {name})"
    )
    return replace(found, advice="undecided", undecided=why)


def _describe_order(before: Matrix, after: Matrix) -> str:
    """Return text on rows that are in other places; empty if there are none."""
    order = find_row_order(before, after)
    if order.is_other:
        return "after seems to hold the vectors of before in other rows"
    return order.describe("after", "before")


def _describe_copies(sides: Mapping[str, Matrix]) -> str:
    """Return text on near copies of one vector, whose neighbours depend on noise; empty if there are none."""
    for name, rows in sides.items():
        some = np.concatenate(stretches(len(rows)))
        if n_copies := np.count_nonzero(find_near_copies(rows[some])):
            return f"{n_copies:,} of {len(some):,} checked vectors of {name} are near copies of one vector"
    return ""


def _notes_of_vectors(layers: Iterable[LayerChange], moved_layer: str) -> list[str]:
    """Return a note on layers with the same geometry and other vectors, whose kind of change is not described."""
    names = [
        layer.name
        for layer in layers
        if layer.vectors_differ and layer.verdict in ("unchanged", "within noise") and layer.name != moved_layer
    ]
    if not names:
        return []
    return [
        f"Vectors differ although the geometry does not, as after a rotation, in {join_items(names)}. Do not mix old "
        "and new vectors of these layers without a test (index=True)."
    ]


def _notes_of_matching(sides: Sides) -> list[str]:
    """Return a doubt if layers were matched without evidence from their names, or if the models differ in depth."""
    matching = sides.matching
    if "position" in matching.by and len(matching.pairs) > 1 and not matching.is_chosen:
        return [
            "Layers have different names before and after, so they were matched by order; check that this is right."
        ]
    if abs(len(matching.only_before) - len(matching.only_after)) > 1:
        return [
            "One side has more layers, so layers of one name may differ in relative depth; `shesha layers` finds the "
            "closest ones."
        ]
    return []


def _map(
    sides: Sides,
    names: tuple[str, str],
    layer: str,
    texts: Sequence[str] | None,
    known: dict[str, Any],
    k: int | None,
    seed: Seed,
) -> RowMap:
    """Map the rows of a layer to a plane, before and after the change."""
    called = names if len(sides.others) == 1 else tuple(f"{name} ({layer})" for name in names)
    both = dict(zip(called, (sides.before[layer], sides.after[layer]), strict=True))
    rows = np.arange(sides.n_rows)
    labels = labels_of_rows(known["labels"]) if "labels" in known else ()
    return map_rows(both, name_rows(rows, sides, texts), labels, k=k, seed=seed)


def _reasons(layers: Iterable[LayerChange]) -> list[str]:
    """Return each reason for a missing value or interval once, with the first layer it concerns."""
    names: dict[str, str] = {}
    for layer in layers:
        if layer.reason:
            names.setdefault(layer.reason, layer.name)
    return [f"{name}: {reason}." for reason, name in names.items()]


def _check_texts(texts: Any) -> list[str] | None:
    if texts is None:
        return None
    if isinstance(texts, str | os.PathLike):
        raise TypeError(f"texts must be a list of strings, got {texts!r}")
    return [str(text) for text in kinds.iterable(texts, "texts", "texts")]


def _choose(measures: Choice | Iterable[Choice] | None, k: int | None, n_rows: int) -> list[Measure]:
    if measures is not None:
        return choose_measures(measures, n_rows)
    neighbours = choose("mutual kNN")[0].with_options(k=count_neighbours(k, n_rows), metric=METRIC)
    return [*choose(MEASURES), neighbours]


def _evidence(scored: Index, known: dict[str, Any], confidence: float, seed: Seed) -> Evidence:
    """Draw the subsets of rows from which intervals are computed; each leaves out whole groups."""
    labels = {name: known[name][scored] for name in ("blocks", "groups") if known.get(name) is not None}
    design = exchange(len(scored), **labels)
    if "groups" in labels and not design.clusters.any():
        raise ValueError(
            "groups must name at least 2 groups, got 1: intervals leave out whole groups. For intervals over other "
            "rows of this group, do not pass groups="
        )
    return Evidence.draw_subsets(design, _NO_LEVEL, confidence, seed)


def _layer_pair(name: str, sides: Sides, rows: Index, measures: Sequence[Measure]) -> LayerPair:
    before, after, floor = _select(name, sides, rows)
    return LayerPair.build(name, sides.others[name], before, after, floor, measures)


Selected = tuple[Representation, Representation, NoiseFloor]
"""Rows of a layer before and after the change, and of the encodings that differ only by noise."""


def _select(name: str, sides: Sides, rows: Index) -> Selected:
    """Select the examined rows of one layer from every encoding; only these are converted."""

    def select_rows(side: Mapping[str, Rows]) -> Representation:
        return side[name].take_rows(rows).whole if len(rows) < len(side[name]) else side[name].whole

    before, after = select_rows(sides.before), select_rows(sides.after)
    unit = safe_unit(before.rows, after.rows)

    def rescale(one: Representation) -> Representation:
        return one if unit == 1 else Representation(one.rows / unit, one.precision)

    again, also = ([{name: rescale(select_rows(side))} for side in group] for group in (sides.again, sides.also))
    return rescale(before), rescale(after), NoiseFloor(again, also)


def _most_changed_layer(layers: Sequence[LayerChange]) -> str:
    """Return the layer to search for moved rows: the last changed one, or else the most changed."""
    changed = [layer.name for layer in layers if layer.is_beyond_noise]
    return changed[-1] if changed else max(layers, key=lambda layer: np.nan_to_num(layer.value)).name
