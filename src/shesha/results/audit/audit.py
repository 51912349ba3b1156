"""The result of an audit: data faults, stability, spectrum, label agreement, drift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from shesha.report import Metric, Page, as_text
from shesha.results.audit.dependence import Dependence
from shesha.results.audit.doubts import Doubts
from shesha.results.audit.faults import Faults
from shesha.results.audit.label_classes import LabelClasses
from shesha.results.base import Result
from shesha.results.paper_sentences import sentence_sections
from shesha.results.plot_docstring import draws_axes
from shesha.results.stability.chance import Chance
from shesha.results.stability.drift_path import DriftPath
from shesha.results.stability.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Meaning(Result):
    """Name and interpretation of one number of an audit."""

    title: str
    line: str
    """Meaning and limits of the number, in one text."""
    asks: str = ""
    """Meaning of the number."""
    caution: str = ""
    """Limits of the number."""


@dataclass(frozen=True)
class RepresentationAudit(Result):
    """The findings about one representation."""

    name: str
    n_samples: int
    n_features: int
    """Number of features; 0 if only distances between rows are known."""
    faults: Faults
    left_out: tuple[int, ...] = ()
    """Rows that were not scored, because they have no direction under the metric."""
    scores: dict[str, Estimate] = field(default_factory=dict)
    """Stability scores by name, which need no labels."""
    chances: dict[str, Chance] = field(default_factory=dict)
    """Chance levels of these scores, if they were computed."""
    descriptors: dict[str, float] = field(default_factory=dict)
    supervised: dict[str, Estimate] = field(default_factory=dict)
    """Scores by name that need labels."""
    reason: str = ""
    """Reason for missing scores."""
    dependence: Dependence | None = None
    """Signs that rows depend on one another; None if a design was given, or nothing was scored."""
    doubts: Doubts | None = None
    """Possible problems with the scores; None if nothing was scored."""
    supervised_chances: dict[str, Chance] = field(default_factory=dict)
    """Chance levels of the scores that need labels, from permuted labels."""
    same_width: Estimate | None = None
    """Feature split of random subsets of the features, with as many features as the narrowest representation has; None
    if all representations have equally many."""

    @property
    def ranking_score(self) -> Estimate | None:
        """The score for ranking the representations of an audit, at equal numbers of features."""
        return self.feature_split if self.same_width is None else self.same_width

    @property
    def feature_split(self) -> Estimate | None:
        """Stability across halves of the features."""
        return self.scores.get("feature_split")

    @property
    def basis_averaged_split(self) -> Estimate | None:
        """Stability after random rotations."""
        return self.scores.get("basis_averaged_split")

    @property
    def chance(self) -> Chance | None:
        """Chance level of the feature split."""
        return self.chances.get("feature_split")

    @property
    def effective_rank(self) -> float:
        """Effective number of directions."""
        return self.descriptors.get("effective_rank", float("nan"))

    @property
    def participation_ratio(self) -> float:
        """Effective number of directions, which counts mostly the largest."""
        return self.descriptors.get("participation_ratio", float("nan"))

    @property
    def anisotropy(self) -> float:
        """Share of the variance along the first principal direction."""
        return self.descriptors.get("anisotropy", float("nan"))

    @property
    def n_used(self) -> int:
        """Number of scored rows; 0 if nothing was scored."""
        return 0 if self.reason else self.n_samples - len(self.left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: each score and descriptor under its own name."""
        plain = super().to_dict()
        scores, chances, descriptors = (plain.pop(name) for name in ("scores", "chances", "descriptors"))
        named = {name: scores.get(name) for name in (*_LEADING, *scores)}
        described = {name: float("nan") for name in _DESCRIPTORS} | descriptors
        return {**plain, **named, "chance": chances.get("feature_split"), **described}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the findings from the plain values of `to_dict`, also after a round trip through JSON."""
        field_names = {entry.name for entry in fields(cls)}
        rest = {name: value for name, value in plain.items() if name not in field_names | {"chance"}}
        scores = {name: value for name, value in rest.items() if isinstance(value, Mapping)}
        # A representation without scores has no further numbers: its remaining fields are names without values.
        numbers = {name: value for name, value in rest.items() if name not in (*scores, *_LEADING)} if scores else {}
        chances = {} if plain.get("chance") is None else {"feature_split": plain["chance"]}
        record = {**plain, "scores": scores, "chances": chances, "descriptors": numbers}
        return super().from_dict(record)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def row(self) -> dict[str, Any]:
        """Return the findings as one flat record."""
        flat: dict[str, Any] = {
            "representation": self.name,
            "n_samples": self.n_samples,
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
                flat[column] = float("nan") if estimate is None else getattr(estimate, part)
        flat["chance_level"] = self.chance.level if self.chance else float("nan")
        flat["chance_threshold"] = self.chance.threshold if self.chance else float("nan")
        flat["p_value"] = self.chance.p_value if self.chance else float("nan")
        for name in self.supervised:
            chance = self.supervised_chances.get(name)
            flat[f"{name}_chance"] = chance.level if chance else float("nan")
            flat[f"{name}_p_value"] = chance.p_value if chance else float("nan")
        flat |= {name: float("nan") for name in _DESCRIPTORS} | self.descriptors
        flat["doubts"] = "" if self.doubts is None else ", ".join(self.doubts.names)
        flat["reason"] = self.reason
        return flat


_LEADING = ("feature_split", "basis_averaged_split")
"""First columns of the table. They are present even if nothing could be scored."""
_DESCRIPTORS = ("effective_rank", "participation_ratio", "corrected_participation_ratio", "anisotropy")
"""Other columns that are present even if nothing could be scored."""


@dataclass(frozen=True)
class Audit(Result):
    """The findings about one or several representations of the same inputs."""

    representations: tuple[RepresentationAudit, ...]
    drift: DriftPath | None = None
    drift_reason: str = ""
    """Reason why no drift was computed although there are several representations."""
    options: dict[str, Any] = field(default_factory=dict)
    meanings: dict[str, Meaning] = field(default_factory=dict)
    """Title, meaning and limits of each number, in the order of the report."""
    labels: LabelClasses | None = None
    """The classes of the labels; None without labels."""
    interrupted: bool = False
    """Whether Ctrl-C ended the audit before all representations were scored."""

    def __iter__(self) -> Iterator[RepresentationAudit]:
        """Iterate over the representations."""
        return iter(self.representations)

    def __getitem__(self, name: str) -> RepresentationAudit:
        """Return the findings about the representation of this name."""
        for audit in self.representations:
            if audit.name == name:
                return audit
        raise KeyError(f"name must be one of {', '.join(audit.name for audit in self.representations)}, got {name!r}")

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names from most to least stable (feature split), without those that have no score.

        Stability rises with the number of features alone. If representations differ in their number of features, the
        ranking therefore uses scores at equal numbers of features (`equal_width_scores`).
        """
        scored = [
            audit
            for audit in self.representations
            if audit.ranking_score and audit.ranking_score.value == audit.ranking_score.value
        ]
        return tuple(audit.name for audit in sorted(scored, key=lambda audit: -_value(audit.ranking_score)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        plain = super().to_dict()
        del plain["meanings"]
        return plain

    def to_frame(self) -> pd.DataFrame:
        """Return one row per representation, including drift and scores at equal numbers of features."""
        import pandas as pd

        table = pd.DataFrame([audit.row() for audit in self.representations])
        if any(audit.same_width is not None for audit in self.representations):
            for part in ("value", "low", "high"):
                column = "same_width" if part == "value" else f"same_width_{part}"
                table[column] = [_part(audit.same_width, part) for audit in self.representations]
        if self.drift is not None:
            table["drift_from_first"] = self.drift.from_first
            table["drift_from_previous"] = self.drift.from_previous
        return table

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both split scores with their intervals and the chance threshold, in the order given."""
        from shesha.results.audit.audit_plot import draw

        return draw(self, ax)

    def _page(self) -> Page:
        from shesha.results.audit.audit_page import audit_page

        return audit_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        from shesha.results.audit.audit_page import audit_metrics

        return audit_metrics(self)

    def full_text(self) -> str:
        """Return all findings as text, with their meaning and limits; `print` shows one screen."""
        from shesha.results.audit.sections import sections

        return as_text([*sections(self), *sentence_sections(self)])

    def __str__(self) -> str:
        """Print one screen: the verdict, the main scores, the largest problem, and how to get the rest."""
        from shesha.results.audit.first_screen import first_screen

        return as_text(first_screen(self))


def _value(estimate: Estimate | None) -> float:
    return _part(estimate, "value")


def _part(estimate: Estimate | None, part: str) -> float:
    return float("nan") if estimate is None else float(getattr(estimate, part))
