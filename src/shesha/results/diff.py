"""Layers before and after a change: by how much and how each changed, whether an index can be kept, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from shesha.report import Columns, Drawing, Explained, Item, Page, Part, Section, Table, Text, numeral
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes
from shesha.results.generic_page import run_details
from shesha.results.number import NAN, Number, frame_of_numbers, table_of_numbers
from shesha.results.row_map import RowMap
from shesha.support.seeds import CONFIDENCE
from shesha.support.wording import agree, count, join_items, join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


Kind = Literal[
    "none",
    "rescaling",
    "row rescaling",
    "offset",
    "sign flips",
    "feature scaling",
    "normalisation",
    "new features",
    "fewer features",
    "rotation",
    "collapse",
    "new structure",
    "new dimensions",
    "mixing of features",
    "small moves",
    "some rows",
    "untested",
]
_SAID: dict[str, str] = {
    "none": "no kind of change was found beyond noise",
    "rescaling": "all vectors were rescaled by a factor of {scale:.3g} and kept their directions",
    "row rescaling": "rows changed their lengths and kept their directions",
    "offset": "one offset was added to all vectors",
    "sign flips": "some features changed their signs, as those of principal components that are computed again do",
    "feature scaling": "features were rescaled, each by a factor of its own",
    "normalisation": (
        "rows were divided by their lengths, and features rescaled, on one side only, as by a normalisation layer "
        "(RMSNorm, LayerNorm) before or after which the vectors were read"
    ),
    "new features": "the old features were kept and further features were added",
    "fewer features": "features were left out and the others were kept",
    "rotation": (
        "the space was rotated: an orthogonal map, fitted to other rows, recovers {neighbours:.0%} of the nearest "
        "neighbours, but old and new features differ"
    ),
    "collapse": "the representation collapsed into fewer directions",
    "new structure": "there is new structure that no linear map of the old vectors explains",
    "new dimensions": "old vectors can be computed from the new ones, which have new dimensions",
    "mixing of features": "features were mixed by a linear map, which explains nearly all of the change",
    "small moves": "vectors moved slightly and kept the old features",
    "some rows": "only {n_moved:,} of {n_rows:,} vectors differ by more than noise, and all others stayed the same",
    "untested": (
        "vectors differ by more than noise although their geometry does not, as after a rotation; {n_rows:,} rows are "
        "too few to test a map between {n_features:,} features"
    ),
}
_SPECTRUM = {"collapse", "new structure", "new dimensions", "mixing of features", "small moves"}
"""Kinds whose description includes the number of directions and the new variance."""


@dataclass(frozen=True)
class StructureChange(Result):
    """How the vectors of one layer changed."""

    layer: str
    kind: Kind
    kept: float
    """Share of the variance after the change that the old vectors explain, apart from a scale factor and without any
    rotation; NaN if the numbers of features differ."""
    linear: float
    """Share of the variance after the change that the best linear map from the old vectors explains on held-out rows.
    """
    new: float
    """Share of the variance after the change that no linear map explains. It does not include what a map misses merely
    because it is fitted to few rows."""
    scale: float
    """Spread of the rows after the change, divided by their spread before it."""
    rank_before: float
    """Participation ratio (an effective number of directions) before the change."""
    rank_after: float
    anisotropy_before: float
    """Share of the variance along the first principal direction before the change."""
    anisotropy_after: float
    explained: float = float("nan")
    """Share of the variance of held-out rows that the named kind of change explains; NaN if it is not a map."""
    neighbours: float = float("nan")
    """Share of the nearest neighbours of held-out rows that an orthogonal map recovers; NaN unless it was a rotation.
    """
    n_rows: int = 0
    n_features: int = 0
    n_moved: int = 0
    """Number of rows that differ by more than noise."""

    @property
    def in_words(self) -> str:
        """The kind of change, described with its numbers."""
        said = _SAID[self.kind].format(
            scale=self.scale,
            neighbours=self.neighbours,
            n_rows=self.n_rows,
            n_features=self.n_features,
            n_moved=self.n_moved,
        )
        if self.kind not in _SPECTRUM:
            known = self.explained == self.explained and self.kind != "none"
            return f"{said} (explains {_percent(self.explained)} of the variance of held-out rows)" if known else said
        rank = f"effective number of directions {self.rank_before:.0f} before and {self.rank_after:.0f} after"
        share = (
            f"variance along the first direction {self.anisotropy_before:.0%} before and {self.anisotropy_after:.0%} "
            "after"
        )
        new = f"; {self.new:.0%} of the variance is new" if self.new == self.new else ""
        return f"{said}{new}; {rank}; {share}"


def _percent(share: float) -> str:
    """Format a share so that only a share of 1 reads as 100 %."""
    return "all" if share >= 1 - 1e-6 else f"{min(share, 0.9999):.2%}" if share > 0.995 else f"{share:.0%}"


@dataclass(frozen=True, kw_only=True)
class ClassChange(Result):
    """The distance between two classes, or between rows of one class, before and after the change."""

    first: str
    second: str
    before: float
    """Mean cosine distance between rows of the two classes before the change."""
    after: float
    p_value: float = float("nan")
    """Share of permutations of the labels, or of signs of groups, for which the change is at least as large."""
    corrected_p_value: float = float("nan")
    """p-value corrected for the number of pairs of classes (step-down maximum, Westfall and Young 1993)."""
    limit: float = float("nan")
    """Change that noise alone may cause, by the same rule as the noise limit of layers."""
    significant: bool = False
    """Whether the corrected p-value is at most 1 minus the confidence level, and the change exceeds the noise."""

    @property
    def change(self) -> float:
        """How much the distance changed; positive if the classes moved apart."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """A description of the movement, or why none was found."""
        if self.significant:
            return self.in_words
        return "within noise" if abs(self.change) <= self.limit else "not above chance"

    @property
    def in_words(self) -> str:
        """A description of the movement."""
        first, second = (f"class {name}" if name.isdigit() else name for name in (self.first, self.second))
        if self.first == self.second:
            return f"{first} {'spread out' if self.change > 0 else 'contracted'}"
        return f"{first} and {second} moved {'apart' if self.change > 0 else 'closer'}"


@dataclass(frozen=True)
class SeparationChange(Result):
    """Held-out accuracy of a linear classifier before and after the change."""

    layer: str
    before: float
    """Balanced accuracy (mean over classes) before the change."""
    after: float
    low: float
    """Lower end of the interval of the difference between the accuracies. It covers other rows (or groups of rows), and
    classifiers fitted to them."""
    high: float
    chance: float
    confidence: float = CONFIDENCE

    @property
    def in_words(self) -> str:
        """Whether labels are classified better or worse after the change."""
        difference = self.after - self.before
        is_clear = self.low > 0 or self.high < 0
        verdict = ("better" if difference > 0 else "worse") if is_clear else "no significant change"
        return (
            f"held-out accuracy {self.before:.1%} before and {self.after:.1%} after ({verdict}; difference "
            f"{difference:+.1%}, {100 * self.confidence:g}% interval [{self.low:+.1%}, {self.high:+.1%}], chance "
            f"{self.chance:.0%})"
        )


IndexAdvice = Literal["keep", "map", "re-embed", "undecided"]
IndexMetric = Literal["cosine", "ip", "l2"]
METRICS = {"cosine": "cosine similarity", "ip": "inner product", "l2": "Euclidean distance"}
_WHOLE = ("as it is", "re-encodings")
"""Options that were tested among all rows."""


@dataclass(frozen=True)
class IndexChange(Listed[Number], Result):
    """How well new queries find their neighbours among old vectors, compared with new vectors."""

    ITEMS = "recalls"
    KEY = "way"

    layer: str
    k: int
    n_rows: int
    advice: IndexAdvice
    loss: float
    """Recall lost by following the advice, compared with re-encodings by the unchanged model."""
    tolerance: float
    """Largest loss of recall that is acceptable."""
    best_map: str
    """The map that loses the least recall."""
    recalls: tuple[Number, ...]
    metric: IndexMetric = "cosine"
    chance: float = NAN
    """Recall among unrelated vectors: k divided by the number of other rows."""
    confidence: float = CONFIDENCE
    undecided: str = ""
    """Why no advice can be given; empty if there is advice."""

    @property
    def headline(self) -> str:
        """The advice on the index, with the recall to expect."""
        direct, best, base = self["as it is"], self[self.best_map], self["re-encodings"]
        found = f"{best.value:.1%} after the best map ({self.best_map})"
        if direct.value == direct.value:
            halves = self["as it is, in halves"]
            found = f"{direct.value:.1%} as they are (among half of the rows {found}, and {halves.value:.1%} without)"
        does = {
            "keep": f"keep it. New queries find {direct.value:.1%}",
            "map": f"map new queries into the old space. They find {found}",
            "re-embed": f"re-embed: more than {self.tolerance:.0%} would be lost. New queries find {found}",
            "undecided": f"cannot be decided: {self.undecided}. New queries find {found}",
        }[self.advice]
        floor = f". Re-encodings of the old model find {base.value:.1%}" if base.value == base.value else ""
        chance = f" (chance {self.chance:.1%})" if self.chance == self.chance else ""
        return (
            f"Index: {does} of their {self.k} true neighbours by {METRICS[self.metric]} in {self.layer}{chance}{floor}."
        )

    @property
    def in_numbers(self) -> str:
        """The recall of every option, in a single line."""
        known = [score for score in self.recalls if score.value == score.value]
        whole, halves = ([score for score in known if (score.name in _WHOLE) == is_whole] for is_whole in (True, False))
        lists = [
            ", ".join(f"{score.name.removesuffix(', in halves')} {score.value:.3f}" for score in scores)
            for scores in (whole, halves)
        ]
        tested = f"among half of the rows, as maps are tested: {lists[1]}" if halves else ""
        listed = "; ".join(filter(None, [lists[0], tested]))
        return f"recall@{self.k}: {listed}. A loss of {self.tolerance:g} is accepted."

    def _numbers(self) -> tuple[Part, ...]:
        """Return the recall of each way to search."""
        return table_of_numbers(self.recalls, f"Recall of the {self.k} nearest, new queries among old vectors")

    def _claim(self) -> str:
        clauses = [say.clause(recall, confidence=self.confidence) for recall in self.recalls if recall.has_value]
        return say.listing(self.headline, clauses, f"recall among {self.n_rows:,} rows")


Verdict = Literal["unchanged", "within noise", "cannot decide", "changed", "replaced", "not estimable"]

ENOUGH = 19
"""Number of pairs of encodings by the unchanged model from which their largest difference serves as the noise limit. If
there are fewer pairs, the limit is twice that difference."""


@dataclass(frozen=True, kw_only=True)
class MeasureChange(Number):
    """How much one layer changed according to one measure."""

    noise: float
    """Largest difference between encodings by an unchanged model; NaN without such encodings."""
    label: str = ""
    """What the change is called, such as '1 - CKA' for the measure CKA."""

    @property
    def title(self) -> str:
        """What the change is called."""
        return self.label or self.name.partition("(")[0]


@dataclass(frozen=True, kw_only=True)
class LayerChange(Result):
    """One layer before and after the change of the model."""

    name: str
    other: str
    """Name that the layer has after the change."""
    verdict: Verdict
    value: float
    """Change according to the first measure (RDM drift): 0 for the same geometry, about 1 for an unrelated one."""
    low: float
    """Lower end of the interval of the change."""
    high: float
    noise: float
    """Largest difference between encodings by an unchanged model."""
    limit: float
    """Noise limit. The change exceeds the noise if the lower end of its interval is above this limit."""
    scores: tuple[MeasureChange, ...] = ()
    replaced_above: float = 0.5
    """A layer is replaced if the lower end of its interval is above this value: half the drift of unrelated rows."""
    vectors_differ: bool = False
    """Whether the vectors themselves differ by more than noise, as after a rotation, which keeps the geometry."""
    reason: str = ""
    """Why a value or an interval is missing; empty if none is."""
    floors: dict[str, float] = field(default_factory=dict)
    """Largest difference by kind of noise: re-encodings, further runs of the same change, or simulated noise."""

    def __getitem__(self, measure: str) -> MeasureChange:
        """Return the change according to a measure, whose name can be given without options."""
        for score in self.scores:
            if measure in (score.name, score.name.partition("(")[0]):
                return score
        raise KeyError(f"measure must be one of {', '.join(score.name for score in self.scores)}, got {measure!r}")

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the layer changed by more than the noise."""
        return self.verdict in ("changed", "replaced")


@dataclass(frozen=True)
class MovedRow(Result):
    """A row, and the share of its nearest neighbours that it lost."""

    row: int
    """Number of the row in the input."""
    name: str
    """Text or name of the row, or else its number."""
    neighbours_lost: float
    """Share of the row's nearest neighbours that changed."""
    movement: float
    """1 minus the correlation of the row's distances to all other rows before and after the change."""
    noise: float
    """Largest share of neighbours that the row lost in an encoding by the unchanged model; NaN without such encodings.
    """
    label: str = ""


@dataclass(frozen=True)
class Diff(Listed[LayerChange], Result):
    """Layers before and after a change, with the rows that moved most."""

    ITEMS = "layers"

    before: str
    after: str
    layers: dict[str, LayerChange]
    """The layers, in their order in the model."""
    moved: tuple[MovedRow, ...]
    """The rows that moved most in `moved_layer`."""
    moved_layer: str
    n_rows: int
    n_scored: int
    """Number of rows from which changes and intervals were computed; these are a random sample if there are many rows.
    """
    noise_source: str
    """How the noise floor was obtained."""
    n_noise: int
    """Number of pairs of encodings by the unchanged model."""
    k: int
    """Number of nearest neighbours that are examined for each row."""
    notes: tuple[str, ...] = ()
    seed: int | None = None
    index: IndexChange | None = None
    """Whether an index of old vectors can be kept; None if this was not requested."""
    structure: StructureChange | None = None
    """Kind of change that occurred in `moved_layer`."""
    classes: tuple[ClassChange, ...] = ()
    """Changes of the distances between classes in `moved_layer`, sorted by increasing p-value."""
    separation: SeparationChange | None = None
    """Held-out accuracy with which rows are classified before and after the change."""
    lost_by_class: dict[str, float] = field(default_factory=dict)
    """Mean share of nearest neighbours that the rows of each class lost in `moved_layer`, in decreasing order."""
    row_map: RowMap | None = None
    """Map of the rows of `moved_layer` before and after the change; None if it was not requested."""
    confidence: float = CONFIDENCE
    """Confidence level of the intervals; movements of classes are tested at 1 minus this level."""
    n_layers: int = 0
    """Number of layers of the side that has more; those without a counterpart were not compared."""
    unmatched: tuple[str, ...] = ()
    """Names of the layers without a counterpart, of both sides."""
    interrupted: bool = False
    """Whether Ctrl-C left out the last layers and the details."""

    @property
    def changed(self) -> list[str]:
        """The layers that changed by more than the noise, in the order of the model."""
        return [name for name, layer in self.layers.items() if layer.is_beyond_noise]

    @property
    def rows(self) -> pd.DataFrame:
        """Return the rows that moved most as a table."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.moved])

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per layer and measure."""
        lines = [(layer, score) for layer in self for score in layer.scores]
        lead: dict[str, Sequence[Any]] = {
            "layer": [layer.name for layer, _ in lines],
            "after": [layer.other for layer, _ in lines],
            "verdict": [layer.verdict for layer, _ in lines],
            "name": [score.name for _, score in lines],
            "noise": [score.noise for _, score in lines],
        }
        return frame_of_numbers([score for _, score in lines], full=full, lead=lead)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw how much each layer changed against its depth, with the noise floor."""
        from shesha.charts import depth_profile

        layers = list(self)
        return depth_profile(
            [layer.name for layer in layers],
            [layer.value for layer in layers],
            ([layer.low for layer in layers], [layer.high for layer in layers]),
            [layer.limit for layer in layers],
            [layer.verdict for layer in layers],
            label=layers[0].scores[0].title if layers and layers[0].scores else "change",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The answer: which layers changed, where the change begins, and whether it exceeds the noise."""
        return headline(self)

    def _claim(self) -> str:
        scored = "" if self.n_scored == self.n_rows else f"{self.n_scored:,} random rows of "
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in Counter(layer.verdict for layer in self).items())
        return say.listing(
            self.headline,
            (),
            f"{self.before} and {self.after} on {scored}{self.n_rows:,} inputs, {verdicts}",
            f"{say.format_share(self.confidence)} intervals",
            _RDM_DRIFT if first_title(self) == "RDM drift" else "",
        )

    def _page(self) -> Page:
        return diff_page(self)


_MORE_THAN_ROUNDING = 1e-3


def headline(result: Diff) -> str:
    """Return the answer: which layers changed, where the change begins, and whether it exceeds the noise."""
    layers, compared = list(result), _compared(result)
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
    # Nobody measured simulated noise, so its name stays in the answer.
    noise = "simulated noise" if "simulated" in result.noise_source else "noise"
    answer = _count_changes(layers, changed, noise) if changed else _no_change(len(layers), undecided, noise)
    if changed and undecided:
        answer = f"{answer}; {_count_undecided(len(undecided))}"
    if len(layers) > 1:
        beyond = f" beyond {noise}" if any(layer.value > largest.value for layer in known) else ""
        beyond = beyond if changed else " among them" if beyond else ""
        answer = f"{answer}. The largest change{beyond} is in {largest.name}"
    limit = f"; a change must exceed {format_change(largest.limit)}" if largest.limit != largest.noise else ""
    reached = f"{_format_noise(largest)} ({result.noise_source}){limit}"
    scale = " (about 1 for unrelated geometries)" if changed and largest.value < _SMALL and _is_drift(largest) else ""
    lengths = ""
    if not changed and result.structure is not None and result.structure.kind == "row rescaling":
        lengths = f" Rows changed their lengths, which cosine distances do not show.{_other_index(result)}"
    return f"{compared}{answer}: {_format_drift(largest)}{scale}. {reached}.{lengths}"


def _compared(result: Diff) -> str:
    """Return how many layers were compared, and which were not, if some have no counterpart."""
    if result.n_layers <= len(result.layers):
        return ""
    are = agree(len(result.unmatched), "has", "have")
    others = f"; {join_items(result.unmatched)} {are} no counterpart" if result.unmatched else ""
    return f"{len(result.layers)} of {result.n_layers} layers compared{others}. "


_SMALL = 0.05
"""RDM drift of a change whose size is not obvious without its scale."""


def _is_drift(change: LayerChange) -> bool:
    return bool(change.scores) and change.scores[0].title == "RDM drift"


def _other_index(result: Diff) -> str:
    """Return that an index by another metric may be affected, if only the cosine was tested."""
    if result.index is None or result.index.metric != "cosine":
        return ""
    return " If your index uses inner products or Euclidean distances, pass index_metric='ip' or 'l2' (--index-metric)."


def _lengths_changed(layer: LayerChange) -> bool:
    """Return whether a measure that depends on the lengths of vectors differs, while cosine distances do not."""
    return layer.vectors_differ and any(score.value > _MORE_THAN_ROUNDING for score in layer.scores[1:])


def _no_change(n: int, undecided: Sequence[LayerChange], noise: str) -> str:
    """Return the answer if no layer changed by more than noise."""
    if not undecided:
        return f"No change exceeds {noise}"
    if n == 1:
        return f"It cannot be decided whether the geometry changed beyond {noise}"
    return f"No change certainly exceeds {noise}; {_count_undecided(len(undecided))}"


def _count_undecided(n: int) -> str:
    return f"for {count(n, 'layer')}, this cannot be decided"


def _format_noise(layer: LayerChange) -> str:
    """Return the noise floor: that of re-encodings and that of other seeds have different names."""
    if len(layer.floors) < 2:
        return f"Noise alone reaches {format_change(layer.noise)}"
    kinds = [f"{_FLOORS.get(kind, kind)} reaches {format_change(noise)}" for kind, noise in layer.floors.items()]
    return join_names(kinds)[0].upper() + join_names(kinds)[1:]


_FLOORS = {"re-encodings": "re-encoding noise", "further runs": "seed noise"}


def _count_with_verb(n: int) -> str:
    return "the representation has" if n == 1 else f"{_all_layers(n)} have"


def _all_layers(n: int) -> str:
    return "both layers" if n == 2 else f"all {n} layers"


def _count_changes(layers: Sequence[LayerChange], changed: Sequence[LayerChange], noise: str) -> str:
    n, n_changed, n_replaced = len(layers), len(changed), sum(layer.verdict == "replaced" for layer in changed)
    replaced = "was replaced" if n_replaced == 1 else "were replaced"
    some_replaced = f" ({n_replaced} {replaced})" if n_replaced else ""
    what = replaced if n_replaced == n_changed else f"changed beyond {noise}{some_replaced}"
    if n == 1:
        return f"The geometry {what}"
    if n_changed == n:
        return f"{_all_layers(n).capitalize()} {what}"
    # A layer between or after changed layers may itself be within the noise.
    all_later = layers.index(changed[0]) + n_changed == n
    where = f", from {changed[0].name} on" if all_later else f", starting with {changed[0].name}"
    return f"{n_changed} of {n} layers {what}{where if n_changed > 1 else ''}"


def _format_drift(change: LayerChange, of: str = "", name: str | None = None) -> str:
    name = (change.scores[0].title if change.scores else "change") if name is None else name
    interval = f" [{format_change(change.low)}, {format_change(change.high)}]" if change.low == change.low else ""
    return f"{name} {of}{format_change(change.value)}{interval}".lstrip()


def first_title(result: Diff) -> str:
    """Return what the change by the first measure is called."""
    layers = list(result)
    return layers[0].scores[0].title if layers and layers[0].scores else "change"


_RDM_DRIFT = "RDM drift is 1 - Spearman correlation of the cosine distances between all pairs of rows (Raju 2026)"


def format_change(value: float) -> str:
    """Format a number with three decimals, or two digits of a small one."""
    return "0" if value == 0 else numeral(value, 0.01) or "none"


def cell(score: MeasureChange) -> str:
    """Format a change for the table; a share of neighbours is given in percent."""
    is_share = score.title == "neighbours lost" and score.value == score.value
    return f"{score.value:.1%}" if is_share else format_change(score.value)


def _explain_scale(result: Diff) -> str:
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
_INTERRUPTED = "Interrupted: the last layers or the details of the change are missing."
_ROTATION = (
    "Rotating or rescaling all vectors does not change the distances used here, so an unchanged geometry does not "
    "mean that old and new vectors can be mixed in one index."
)


def diff_page(result: Diff) -> Page:
    """Return the report: the answer, every layer with its noise floor, and the rows that moved most."""
    index, compared = result.index, _compared(result)
    # The decision on an index must not seem to hold for vectors that were not compared.
    first = (f"{compared}{index.headline}",) if index else ()
    return Page(
        title=f"{result.before} and {result.after}: what changed",
        question="Which layers changed, where does the change begin, and does it exceed noise?",
        answer=(*first, headline(result).removeprefix(compared if index else "")),
        numbers=(*((Text(index.in_numbers),) if index else ()), _layers(result), Text(_explain_scale(result), "")),
        doubts=tuple(Item(note) for note in (*[_INTERRUPTED] * result.interrupted, *result.notes)),
        sections=(
            *_change_sections(result),
            *_movement_sections(result),
            Section("Change over depth", (Drawing(_PICTURE, result.plot),)),
            _noise_section(result),
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
    layers, lost = list(result), "neighbours lost"
    titles = [score.title for score in layers[0].scores] if layers else []
    columns: Columns = {
        "verdict": [layer.verdict for layer in layers],
        titles[0] if titles else "change": [_format_drift(layer, name="") for layer in layers],
        "limit": [format_change(layer.limit) for layer in layers],
        **({lost: _cells(layers, titles.index(lost))} if lost in titles else {}),
    }
    return Table.of([layer.name for layer in layers], columns, "Layers", "layer", important=_key_layers(layers))


def _cells(layers: Sequence[LayerChange], i: int) -> list[str]:
    return [cell(layer.scores[i]) for layer in layers]


def _noise_section(result: Diff) -> Section:
    """Return the noise of each layer, and the change by further measures."""
    layers = list(result)
    further = enumerate(layers[0].scores[1:], 1) if layers else ()
    columns: Columns = {"noise": [format_change(layer.noise) for layer in layers]}
    columns |= {score.title: _cells(layers, i) for i, score in further}
    table = Table.of([layer.name for layer in layers], columns, "Noise and other measures", "layer")
    return Section("Noise and other measures", (table,), printed=False)


def _key_layers(layers: Sequence[LayerChange]) -> tuple[int, ...]:
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
            parts.append(Text(f"No class moved by more than noise (level {1 - result.confidence:.3g}).", ""))
        parts.append(_classes(result))
    if not parts:
        return ()
    return (Section(f"What changed in {result.moved_layer}", tuple(parts), _CLASSES if result.classes else ""),)


def _classes(result: Diff) -> Table:
    pairs = result.classes
    columns: Columns = {
        "verdict": [pair.verdict for pair in pairs],
        "before": [format_change(pair.before) for pair in pairs],
        "after": [format_change(pair.after) for pair in pairs],
        "change": [f"{pair.change:+.3f}" for pair in pairs],
        "p": [pair.p_value for pair in pairs],
        "corrected p": [pair.corrected_p_value for pair in pairs],
    }
    names = [", ".join(dict.fromkeys((pair.first, pair.second))) for pair in pairs]
    return Table.of(names, columns, "Classes", "classes")


_CLASSES = (
    "Mean cosine distance between the rows of two classes, or within one class. Within noise: re-encodings or other "
    "seeds change it as much. Not above chance: classes with permuted labels (or groups with random signs) change as "
    "much, or it is a change common to all classes."
)


def _index(result: Diff) -> tuple[Section, ...]:
    if result.index is None:
        return ()
    table, *_ = result.index._numbers()
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
    columns: Columns = {
        "label": [row.label for row in result.moved],
        "neighbours lost": [f"{row.neighbours_lost:.0%}" for row in result.moved],
        _noise_column(result): ["" if row.noise != row.noise else f"{row.noise:.0%}" for row in result.moved],
        "moved": [format_change(row.movement) for row in result.moved],
    }
    parts = [Table.of([row.name for row in result.moved], columns, f"In {result.moved_layer}", "row")]
    if result.lost_by_class:
        lost: Columns = {"neighbours lost": [f"{share:.0%}" for share in result.lost_by_class.values()]}
        parts.insert(0, Table.of(result.lost_by_class, lost, "By class", "class"))
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
