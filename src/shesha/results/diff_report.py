"""The report of a diff: its sentences, tables and sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Explained, Item, Page, Part, Section, Table, Text
from shesha.results import sentence_parts as say
from shesha.results.diff import ENOUGH, METRICS, Diff, IndexChange
from shesha.results.generic_page import run_details
from shesha.results.paper_sentences import claim
from shesha.support.wording import count, join_names

if TYPE_CHECKING:
    from shesha.results.diff import LayerChange, MeasureChange


_MORE_THAN_ROUNDING = 1e-3


def headline(result: Diff) -> str:
    """Return the answer: which layers changed, where the change begins, and whether it exceeds the noise."""
    layers = list(result)
    n_left_out = result.n_layers - len(layers)
    compared = f"{len(layers)} of {result.n_layers} layers compared. " if n_left_out > 0 else ""
    known = [layer for layer in layers if layer.verdict != "not estimable"]
    changed = [layer for layer in known if layer.is_beyond_noise]
    if not known:
        return f"{compared}No layer could be evaluated: {layers[0].reason}."
    undecided = [layer for layer in known if layer.verdict == "cannot decide"]
    largest = max(changed or undecided or known, key=lambda layer: layer.value)
    if largest.verdict == "unchanged":
        if rescaled := [layer.name for layer in layers if _lengths_changed(layer)]:
            return (
                f"{compared}Lengths of vectors changed in {join_names(rescaled)}, but not the angles between vectors: "
                f"{_count_with_verb(len(layers))} the same cosine distances to nine digits.{_other_index(result)}"
            )
        if any(layer.vectors_differ for layer in layers):
            return (
                f"{compared}Nothing changed in the geometry: {_count_with_verb(len(layers))} the same distances to "
                "nine digits, but not the same vectors."
            )
        return f"{compared}Nothing changed: {_count_with_verb(len(layers))} the same geometry to nine digits."
    answer = _count_changes(layers, changed) if changed else _no_change(len(layers), undecided)
    if changed and undecided:
        answer = f"{answer}; {_count_undecided(len(undecided))}"
    if len(layers) > 1:
        beyond = " beyond noise" if any(layer.value > largest.value for layer in known) else ""
        beyond = beyond if changed else " among them" if beyond else ""
        answer = f"{answer}. The largest change{beyond} is in {largest.name}"
    limit = f"; a change must exceed {format_number(largest.limit)}" if largest.limit != largest.noise else ""
    noise = f"{_format_noise(largest)} ({result.noise_source}){limit}"
    return f"{compared}{answer}: {_format_drift(largest)}. {noise}."


def _other_index(result: Diff) -> str:
    """Return that an index by another metric may be affected, if only the cosine was tested."""
    if result.index is None or result.index.metric != "cosine":
        return ""
    return " If your index uses inner products or Euclidean distances, pass index_metric='ip' or 'l2' (--index-metric)."


def _lengths_changed(layer: LayerChange) -> bool:
    """Return whether a measure that depends on the lengths of vectors differs, while cosine distances do not."""
    return layer.vectors_differ and any(score.value > _MORE_THAN_ROUNDING for score in layer.scores[1:])


def _no_change(n: int, undecided: Sequence[LayerChange]) -> str:
    """Return the answer if no layer changed by more than noise."""
    if not undecided:
        return "No change exceeds noise"
    if n == 1:
        return "It cannot be decided whether the geometry changed beyond noise"
    return f"No change certainly exceeds noise; {_count_undecided(len(undecided))}"


def _count_undecided(n: int) -> str:
    return f"for {count(n, 'layer')}, this cannot be decided"


def _format_noise(layer: LayerChange) -> str:
    """Return the noise floor: that of re-encodings and that of other seeds have different names."""
    if len(layer.floors) < 2:
        return f"Noise alone reaches {format_number(layer.noise)}"
    kinds = [f"{_FLOORS.get(kind, kind)} reaches {format_number(noise)}" for kind, noise in layer.floors.items()]
    return join_names(kinds)[0].upper() + join_names(kinds)[1:]


_FLOORS = {"re-encodings": "re-encoding noise", "further runs": "seed noise"}


def _count_with_verb(n: int) -> str:
    return "the representation has" if n == 1 else f"{_all_layers(n)} have"


def _all_layers(n: int) -> str:
    return "both layers" if n == 2 else f"all {n} layers"


def _count_changes(layers: Sequence[LayerChange], changed: Sequence[LayerChange]) -> str:
    n, n_changed, n_replaced = len(layers), len(changed), sum(layer.verdict == "replaced" for layer in changed)
    replaced = "was replaced" if n_replaced == 1 else "were replaced"
    some_replaced = f" ({n_replaced} {replaced})" if n_replaced else ""
    what = replaced if n_replaced == n_changed else f"changed beyond noise{some_replaced}"
    if n == 1:
        return f"The geometry {what}"
    if n_changed == n:
        return f"{_all_layers(n).capitalize()} {what}"
    # A layer between or after changed layers may itself be within the noise.
    all_later = layers.index(changed[0]) + n_changed == n
    where = f", from {changed[0].name} on" if all_later else f", starting with {changed[0].name}"
    return f"{n_changed} of {n} layers {what}{where if n_changed > 1 else ''}"


def _format_drift(change: LayerChange, of: str = "") -> str:
    name = change.scores[0].title if change.scores else "change"
    interval = f" [{format_number(change.low)}, {format_number(change.high)}]" if change.low == change.low else ""
    return f"{name} {of}{format_number(change.value)}{interval}"


def diff_claim(result: Diff) -> str:
    """Return the sentence with which a paper can report what changed, by how much, and the noise floor."""
    verdicts = Counter(layer.verdict for layer in result)
    layer_counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    known = [layer for layer in result if layer.value == layer.value]
    largest = max(known, key=lambda layer: layer.value) if known else None
    measured = ""
    if largest is not None:
        level = f"{100 * result.confidence:g} % interval; " if largest.low == largest.low else ""
        measured = (
            f"; the largest change was in {largest.name} ({_format_drift(largest, 'of ')}, {level}noise floor "
            f"{format_number(largest.noise)}, estimated from {result.noise_source})"
        )
    of = f" of {result.n_layers}" if result.n_layers > len(result.layers) else ""
    scored = "" if result.n_scored == result.n_rows else f"{result.n_scored:,} random rows of "
    return (
        f"The geometry of {count(len(result.layers), 'layer')}{of} was compared between {result.before} and "
        f"{result.after} on {scored}{result.n_rows:,} inputs: {layer_counts}{measured}"
        f"{_RDM_DRIFT if measured and first_title(result) == 'RDM drift' else ''}"
    )


def first_title(result: Diff) -> str:
    """Return what the change by the first measure is called."""
    layers = list(result)
    return layers[0].scores[0].title if layers and layers[0].scores else "change"


_RDM_DRIFT = "; RDM drift is 1 - Spearman correlation of the cosine distances between all pairs of rows (Raju 2026)"


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return "none" if value != value else "0" if value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"


def cell(score: MeasureChange) -> str:
    """Format a change for the table; a share of neighbours is given in percent."""
    is_share = score.title == "neighbours lost" and score.value == score.value
    return f"{score.value:.1%}" if is_share else format_number(score.value)


def _scale_note(result: Diff) -> str:
    rows = (
        f"{result.n_rows:,} rows"
        if result.n_scored == result.n_rows
        else f"{result.n_scored:,} of {result.n_rows:,} rows"
    )
    limit = "the limit, which is " + ("the largest noise" if result.n_noise >= ENOUGH else "twice the noise")
    title, level = first_title(result), f"{100 * result.confidence:g}%"
    scale = "0 for the same geometry"
    scale += " and about 1 for an unrelated one" if title == "RDM drift" else ""
    return f"{title} is {scale}. A layer counts as changed if its {level} interval is above {limit} ({rows})."


_VERDICTS = {
    "unchanged": "Distances agree to nine digits, the limit of single precision.",
    "within noise": "The layer changed no more than the noise limit.",
    "cannot decide": (
        "The change is above the noise limit but the lower end of its interval is not, or noise alone may cause a "
        "change as large as that of a replaced layer."
    ),
    "changed": "The lower end of the interval is above the noise limit.",
    "replaced": (
        "The lower end of the interval is above half the change of an unrelated geometry (0.5 for RDM drift)."
    ),
}
_PICTURE = "Change of each layer over depth (dots with intervals). The dashed line is the noise limit."
_ROTATION = (
    "Rotating or rescaling all vectors does not change the distances used here, so an unchanged geometry does not "
    "mean that old and new vectors can be mixed in one index."
)


def diff_page(result: Diff) -> Page:
    """Return the report: the answer, every layer with its noise floor, and the rows that moved most."""
    index = result.index
    return Page(
        title=f"{result.before} and {result.after}: what changed",
        question="Which layers changed, where does the change begin, and does it exceed noise?",
        answer=(*((index.headline,) if index else ()), headline(result)),
        numbers=(*((Text(index.in_numbers),) if index else ()), _layers(result), Text(_scale_note(result), "")),
        doubts=tuple(Item(note) for note in result.notes),
        sections=(
            *_change_sections(result),
            *_movement_sections(result),
            Section("Change over depth", (Drawing(_PICTURE, result.plot, wide=True),)),
            *_index(result),
            Section("What the verdicts mean", tuple(Explained(*verdict) for verdict in _VERDICTS.items()), _ROTATION),
        ),
        ran=(
            ("noise floor", result.noise_source),
            ("rows", f"{result.n_rows:,}, of which {result.n_scored:,} were scored"),
            ("intervals", f"{100 * result.confidence:g} %"),
            ("layers", f"{len(result.layers)} of {max(result.n_layers, len(result.layers))} compared"),
            *run_details(result),
        ),
    )


def _layers(result: Diff) -> Table:
    layers = list(result)
    titles = [score.title for score in layers[0].scores] if layers else []
    columns = [
        # This column comes first, because phones show only the first columns of a table.
        Column("verdict", tuple(layer.verdict for layer in layers), "<"),
        Column(titles[0] if titles else "change", tuple(format_number(layer.value) for layer in layers)),
        Column("interval", tuple(map(_interval, layers))),
        Column("noise", tuple(format_number(layer.noise) for layer in layers)),
        Column("limit", tuple(format_number(layer.limit) for layer in layers)),
    ]
    others = [Column(title, tuple(cell(layer.scores[i]) for layer in layers)) for i, title in enumerate(titles) if i]
    groups = (tuple(columns), *((column,) for column in others))
    return Table(tuple(layer.name for layer in layers), groups, "Layers", "layer", _important(layers))


def _interval(layer: LayerChange) -> str:
    return f"[{format_number(layer.low)}, {format_number(layer.high)}]" if layer.low == layer.low else ""


def _important(layers: Sequence[LayerChange]) -> tuple[int, ...]:
    """Return the layers to show if there is no room for all: the first that changed and the one before, the most
    changed, and both ends."""
    first = next((i for i, layer in enumerate(layers) if layer.is_beyond_noise), 0)
    known = [i for i, layer in enumerate(layers) if layer.value == layer.value]
    largest = max(known, key=lambda i: layers[i].value, default=0)
    return tuple(dict.fromkeys((first, largest, max(0, first - 1), 0, len(layers) - 1)))


def _change_sections(result: Diff) -> tuple[Section, ...]:
    # Noise alone is no kind of change.
    structure = None if result.structure is None or result.structure.kind == "none" else result.structure
    sentences = [change.in_words for change in (structure, result.separation) if change is not None]
    parts: list[Part] = [Text(f"{sentence[:1].upper()}{sentence[1:]}.", "") for sentence in sentences]
    if result.classes:
        if not any(pair.significant for pair in result.classes):
            parts.append(Text(f"No movement of a class was found (level {1 - result.confidence:.3g}).", ""))
        parts.append(_classes(result))
    if not parts:
        return ()
    return (Section(f"What changed in {result.moved_layer}", tuple(parts), _CLASSES if result.classes else ""),)


def _classes(result: Diff) -> Table:
    columns = (
        Column(
            "verdict", tuple(pair.in_words if pair.significant else "no movement found" for pair in result.classes), "<"
        ),
        Column("before", tuple(format_number(pair.before) for pair in result.classes)),
        Column("after", tuple(format_number(pair.after) for pair in result.classes)),
        Column("change", tuple(f"{pair.change:+.3f}" for pair in result.classes)),
        Column("p", tuple(format_number(pair.p_value) for pair in result.classes)),
        Column("corrected p", tuple(format_number(pair.corrected_p_value) for pair in result.classes)),
    )
    names = tuple(
        pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}" for pair in result.classes
    )
    return Table(names, (columns,), "Classes", "classes")


_CLASSES = (
    "Mean cosine distance between the rows of two classes, or within one class. A movement must exceed the noise, and "
    "that of permuted labels (or of groups with random signs), also after division by a factor common to all classes."
)


def _index(result: Diff) -> tuple[Section, ...]:
    if result.index is None:
        return ()
    recalls = result.index.recalls
    columns = (
        Column(f"recall@{result.index.k}", tuple(format_number(recall.value) for recall in recalls)),
        Column("low", tuple(format_number(recall.low) for recall in recalls)),
        Column("high", tuple(format_number(recall.high) for recall in recalls)),
        Column("note", tuple(recall.reason for recall in recalls), "<"),
    )
    table = Table(tuple(recall.name for recall in recalls), (columns,), "New queries among old vectors", "queries")
    about = _INDEX.format(result.index.k, METRICS[result.index.metric], result.index.n_rows, result.index.chance)
    return (Section("May the index be kept?", (table,), about),)


_INDEX = (
    "Recall is the share of a query's {} nearest rows among new vectors (by {}) that the query also finds among old "
    "vectors. Maps are fitted on one half of {:,} rows and tested on the other half. Without a map, unrelated "
    "vectors reach a recall of {:.3f}. In a larger index more vectors are near each other, so the loss is larger."
)


def _movement_sections(result: Diff) -> tuple[Section, ...]:
    if not result.moved:
        return ()
    columns = (
        Column("label", tuple(row.label for row in result.moved), "<"),
        Column("neighbours lost", tuple(f"{row.neighbours_lost:.0%}" for row in result.moved)),
        Column(
            _noise_column(result), tuple("" if row.noise != row.noise else f"{row.noise:.0%}" for row in result.moved)
        ),
        Column("moved", tuple(format_number(row.movement) for row in result.moved)),
    )
    table = Table(tuple(row.name for row in result.moved), (columns,), f"In {result.moved_layer}", "row")
    parts: list[Part] = [table]
    if result.lost_by_class:
        lost = Column("neighbours lost", tuple(f"{share:.0%}" for share in result.lost_by_class.values()))
        parts.insert(0, Table(tuple(result.lost_by_class), ((lost,),), "By class", "class"))
    return (Section("Rows that moved most", tuple(parts), _MOVED.format(result.k)),)


def _noise_column(result: Diff) -> str:
    """Return where neighbours were lost without the change: in re-encodings, between seeds, or in simulated noise."""
    floors = next((layer.floors for layer in result if layer.name == result.moved_layer), {})
    return f"lost in {' and '.join(_COLUMNS.get(kind, kind) for kind in floors)}" if floors else "lost without a change"


_COLUMNS = {"further runs": "other seeds"}
_MOVED = (
    "The column 'neighbours lost' has the share of the {} nearest rows that changed. The column 'moved' has 1 "
    "minus the correlation of the row's distances to all other rows before and after."
)


claim.register(Diff, diff_claim)


@claim.register
def _index_claim(result: IndexChange) -> str:
    base = result["re-encodings"].value
    floor = f"; re-encodings of the old model found {base:.1%}" if base == base else ""
    ways = [score for score in result.recalls if not score.name.startswith("re-enc") and score.value == score.value]
    shares = ", ".join(
        f"{score.value:.1%}{say.interval(score.low, score.high, result.confidence)} "
        f"{_WAYS.get(score.name, f'after an {score.name}')}"
        for score in ways
    )
    return (
        f"New queries of layer {result.layer} found {shares} of their {result.k} true neighbours among the old vectors "
        f"of {result.n_rows:,} rows by {METRICS[result.metric]}{floor}"
    )


_WAYS = {
    "as it is": "as they are",
    "as it is, in halves": "as they are in halves of the rows",
    "linear map": "after a linear map",
}
