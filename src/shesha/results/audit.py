"""The result of an audit: data faults, stability, spectrum, agreement with labels, and drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, nan, sqrt
from typing import TYPE_CHECKING, Any

from shesha.charts import Series, intervals
from shesha.inputs.column_words import CLUSTERS
from shesha.report import Metric, Page
from shesha.results.base import Listed, Result, draws_axes
from shesha.results.doubts import Dependence, Doubts
from shesha.results.number import INTERRUPTED, frame_of_numbers
from shesha.results.stability import DriftPath, Estimate
from shesha.support.wording import agree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_NAMED = 5
"""Most rows or columns that one sentence names."""


@dataclass(frozen=True)
class Faults(Result):
    """Faults in the numbers of a representation; rows and columns are counted from 0."""

    not_finite: int = 0
    """Number of entries that are NaN or infinite."""
    not_finite_rows: tuple[int, ...] = ()
    zero_rows: tuple[int, ...] = ()
    duplicate_rows: tuple[int, ...] = ()
    """Numbers of the rows that exactly repeat an earlier row."""
    constant_columns: tuple[int, ...] = ()

    def lines(self) -> list[str]:
        """A sentence for each fault: how often it occurs, and where."""
        faults = [
            (f"NaN or infinite entries: {self.not_finite:,} (row", self.not_finite_rows),
            (f"rows of zeros: {len(self.zero_rows):,} (row", self.zero_rows),
            (f"rows that repeat an earlier row: {len(self.duplicate_rows):,} (row", self.duplicate_rows),
            (f"constant columns: {len(self.constant_columns):,} (column", self.constant_columns),
        ]
        return [f"{text}{agree(len(where), '', 's')} {list_indices(where)})" for text, where in faults if where]


def list_indices(where: tuple[int, ...]) -> str:
    """Name the first few of the given rows or columns."""
    text = ", ".join(map(str, where[:_NAMED]))
    return text if len(where) <= _NAMED else f"{text}, ..."


_NAMED_CLASSES = 4


@dataclass(frozen=True)
class LabelClasses(Result):
    """The classes of the labels, sorted by name, with the number of rows in each."""

    ALIGNED = (("names", "sizes"),)

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    column: str = ""
    """Name of the column that contains the labels; empty if they were passed as an array."""
    clusters: str = ""
    """Name of a column of clusters that determine the labels, as of cell types that were named by cluster; or empty."""

    @property
    def look_like_clusters(self) -> bool:
        """Whether the column is named like the clusters that a program found, perhaps in the same data.

        Examples
        --------
        >>> [LabelClasses(("0", "1"), (9, 9), name).look_like_clusters for name in ("leiden_0.5", "cell_type")]
        [True, False]
        """
        return CLUSTERS.fit(self.column)

    @property
    def highest_alignment(self) -> float:
        """The approximate maximum of the alignment with the labels, if no two distances are equal.

        This maximum is the largest rank correlation that any variable can have with a binary one: sqrt(3 q (1 - q)),
        where q is the share of one of the two values.

        Examples
        --------
        >>> round(LabelClasses(tuple("abcdefghij"), (90,) * 10).highest_alignment, 2)
        0.52
        """
        pairs = comb(sum(self.sizes), 2)
        within = sum(comb(size, 2) for size in self.sizes) / pairs if pairs else 0.0
        return sqrt(3 * within * (1 - within))

    def _text(self) -> str:
        """Return a text with the number of classes and the largest ones.

        Examples
        --------
        >>> print(LabelClasses(("B", "T", "NK"), (20, 60, 5), "cell_type"))
        cell_type, 3 classes of 5 to 60 rows: T (60), B (20), NK (5)
        """
        low, high = min(self.sizes), max(self.sizes)
        rows = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        largest = sorted(zip(self.names, self.sizes, strict=True), key=lambda pair: -pair[1])
        named = ", ".join(f"{name} ({size:,})" for name, size in largest[:_NAMED_CLASSES])
        more = f", and {len(self.names) - _NAMED_CLASSES} more" if len(self.names) > _NAMED_CLASSES else ""
        column = f"{self.column}, " if self.column else ""
        return f"{column}{len(self.names)} classes of {rows} rows: {named}{more}"


_WITHIN_ONE = ("supervised_alignment", "variance_ratio", "zscore_separation", "label_conditioned_split")
"""Scores that need labels and that, like the split scores, are at most 1."""


def draw(audit: Audit, ax: Axes | None) -> Axes:
    """Draw the split scores of each representation with their intervals and chance thresholds.

    If there is only one representation, each score gets its own position, and scores that need labels are included.
    """
    findings = audit.representations
    if len(findings) == 1:
        return _plot_representation(audit, findings[0], ax)
    scores = {
        "feature split": Series.of(finding.feature_split for finding in findings),
        "basis averaged": Series.of(finding.basis_averaged_split for finding in findings),
    }
    thresholds = [nan if finding.chance is None else finding.chance.threshold for finding in findings]
    return intervals([finding.name for finding in findings], scores, thresholds, label="stability", ax=ax)


def _plot_representation(audit: Audit, finding: RepresentationAudit, ax: Axes | None) -> Axes:
    shown = {
        "feature split": finding.feature_split,
        "basis averaged": finding.basis_averaged_split,
        **{
            audit.meanings[name].title: finding.supervised[name]
            for name in _WITHIN_ONE
            if name in finding.supervised and name in audit.meanings
        },
    }
    thresholds = [nan if estimate is None else estimate.threshold for estimate in shown.values()]
    scores = {finding.name: Series.of(shown.values())}
    return intervals(list(shown), scores, thresholds, label="score", joined=False, ax=ax)


@dataclass(frozen=True)
class Meaning(Result):
    """Name and interpretation of one number of an audit."""

    title: str
    line: str
    """What the number means and where its limits lie, in one text."""
    asks: str = ""
    """What the number means."""
    caution: str = ""
    """Where the limits of the number lie."""


@dataclass(frozen=True)
class RepresentationAudit(Result):
    """The findings about one representation."""

    name: str
    n_rows: int
    n_features: int
    """Number of features; 0 if only distances between rows are known."""
    faults: Faults
    scores: dict[str, Estimate] = field(default_factory=dict)
    """Stability scores that need no labels, by name."""
    descriptors: dict[str, float] = field(default_factory=dict)
    supervised: dict[str, Estimate] = field(default_factory=dict)
    """Scores that need labels, by name."""
    reason: str = ""
    """Why scores are missing; empty if none is."""
    dependence: Dependence | None = None
    """Signs that rows depend on one another; None if a design was given or if nothing was scored."""
    doubts: Doubts | None = None
    """Possible problems with the scores; None if nothing was scored."""
    same_width: Estimate | None = None
    """The feature split of random subsets of the features, each with as many features as the narrowest representation
    has; None if all representations have equally many."""
    labels_from_features: bool = False
    """Whether hardly any row lies beyond the planes between classes, as in clusters of the same data."""

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C left scores out."""
        return any(score.reason == INTERRUPTED for score in (*self.scores.values(), *self.supervised.values()))

    @property
    def ranking_score(self) -> Estimate | None:
        """The score by which an audit ranks the representation, computed at equal numbers of features."""
        return self.feature_split if self.same_width is None else self.same_width

    @property
    def feature_split(self) -> Estimate | None:
        """Agreement of the geometry between halves of the features."""
        return self.scores.get("feature_split")

    @property
    def basis_averaged_split(self) -> Estimate | None:
        """Agreement of the geometry between halves of the features after random rotations."""
        return self.scores.get("basis_averaged_split")

    @property
    def chance(self) -> Estimate | None:
        """The feature split if it was compared with chance; None if it was not."""
        split = self.feature_split
        return split if split is not None and split.has_null else None

    @property
    def effective_rank(self) -> float:
        """Effective number of directions in which the rows vary."""
        return self.descriptors.get("effective_rank", nan)

    @property
    def participation_ratio(self) -> float:
        """Effective number of directions in which the rows vary; directions with a large variance dominate it."""
        return self.descriptors.get("participation_ratio", nan)

    @property
    def anisotropy(self) -> float:
        """Share of the variance along the first principal direction."""
        return self.descriptors.get("anisotropy", nan)

    @property
    def n_used(self) -> int:
        """Number of scored rows; 0 if nothing was scored."""
        return 0 if self.reason else self.n_rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON, with each score and descriptor under its own name."""
        plain = super().to_dict()
        scores, descriptors = plain.pop("scores"), plain.pop("descriptors")
        named = {name: scores.get(name) for name in (*_LEADING, *scores)}
        described = dict.fromkeys(_DESCRIPTORS, nan) | descriptors
        return {**plain, **named, **described}

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per score, or one row with all columns."""
        import pandas as pd

        return pd.DataFrame([self.row()]) if full else _scores_table([self])

    def row(self) -> dict[str, Any]:
        """Return the findings as one flat record."""
        flat: dict[str, Any] = {
            "representation": self.name,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "n_used": self.n_used,
            "not_finite": self.faults.not_finite,
            "zero_rows": len(self.faults.zero_rows),
            "duplicate_rows": len(self.faults.duplicate_rows),
            "constant_columns": len(self.faults.constant_columns),
        }
        estimates: dict[str, Estimate | None] = dict.fromkeys(_LEADING)
        for name, estimate in {**estimates, **self.scores, **self.supervised}.items():
            for part in ("value", "low", "high"):
                column = name if part == "value" else f"{name}_{part}"
                flat[column] = getattr(estimate, part, nan)
        flat["chance_level"] = getattr(self.chance, "chance", nan)
        flat["chance_threshold"] = getattr(self.chance, "threshold", nan)
        flat["p_value"] = getattr(self.chance, "p_value", nan)
        for name in self.supervised:
            flat[f"{name}_chance"] = self.supervised[name].chance
            flat[f"{name}_p_value"] = self.supervised[name].p_value
        flat |= dict.fromkeys(_DESCRIPTORS, nan) | self.descriptors
        flat["doubts"] = "" if self.doubts is None else ", ".join(self.doubts.names)
        flat["reason"] = self.reason
        return flat


def _scores_table(findings: Sequence[RepresentationAudit]) -> pd.DataFrame:
    """Return one row per representation and score; what could not be scored has one row that says so."""
    import pandas as pd

    lines = [(one.name, score) for one in findings for score in (*one.scores.values(), *one.supervised.values())]
    table = frame_of_numbers([score for _, score in lines], lead={"representation": [name for name, _ in lines]})
    names = [one.name for one in findings if one.reason]
    unscored = pd.DataFrame({"representation": names, "verdict": "not scored"})
    return pd.concat([table, unscored], ignore_index=True) if names else table


_LEADING = ("feature_split", "basis_averaged_split")
"""The first columns of the table, which are present even if nothing could be scored."""
_DESCRIPTORS = ("effective_rank", "participation_ratio", "corrected_participation_ratio", "anisotropy")
"""Further columns that are present even if nothing could be scored."""


@dataclass(frozen=True)
class Audit(Listed[RepresentationAudit], Result):
    """The findings about one or several representations of the same inputs."""

    ITEMS = "representations"

    representations: tuple[RepresentationAudit, ...]
    drift: DriftPath | None = None
    drift_reason: str = ""
    """Why no drift was computed although there are several representations; empty if it was."""
    options: dict[str, Any] = field(default_factory=dict)
    meanings: dict[str, Meaning] = field(default_factory=dict)
    """Title, meaning and limits of each number, in the order in which the report shows them."""
    labels: LabelClasses | None = None
    """The classes of the labels; None without labels."""
    interrupted: bool = False
    """Whether Ctrl-C ended the audit before every representation was scored."""

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names of the representations with a score, from the most to the least stable by their feature split.

        Stability rises with the number of features alone. If representations differ in their number of features, the
        ranking therefore uses scores at equal numbers of features (`equal_width_scores`).
        """
        known = ((audit.name, audit.ranking_score) for audit in self.representations)
        scores = {name: -score.value for name, score in known if score is not None and score.has_value}
        return tuple(sorted(scores, key=scores.__getitem__))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON."""
        plain = super().to_dict()
        del plain["meanings"]
        return plain

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per score, or one per representation with drift and scores at equal numbers of features."""
        import pandas as pd

        if not full:
            return _scores_table(self.representations)
        table = pd.DataFrame([audit.row() for audit in self.representations])
        if any(audit.same_width is not None for audit in self.representations):
            for part in ("value", "low", "high"):
                column = "same_width" if part == "value" else f"same_width_{part}"
                table[column] = [getattr(audit.same_width, part, nan) for audit in self.representations]
        if self.drift is not None:
            table["drift_from_first"] = self.drift.from_first
            table["drift_from_previous"] = self.drift.from_previous
        return table

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw both split scores of every representation, with intervals and chance thresholds."""
        return draw(self, ax)

    def _claim(self) -> str:
        from shesha.results.audit_report import audit_claim

        return audit_claim(self)

    def _page(self) -> Page:
        from shesha.results.audit_report import audit_page

        return audit_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        scores = {one.name: one.feature_split for one in self.representations}
        return [score.as_metric(name, "feature-split stability") for name, score in scores.items() if score is not None]
