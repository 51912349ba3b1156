"""Scores of brain areas over sessions, and their correlation with another variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shesha.report import Column, Part, Table, page_width, texts, wrap
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    pass


@dataclass(frozen=True, kw_only=True)
class AreaScore(Number):
    """One score for one area in one session."""

    n_unused: int = 0
    """Number of trials that were not used because conditions must have equally many; the mean over draws."""
    dropped: tuple[str, ...] = ()
    """Conditions that were left out because one half has too few trials."""


@dataclass(frozen=True)
class AreaLine(Result):
    """The scores of one area in one session."""

    session: str
    animal: str
    area: str
    group: str
    n_trials: int
    n_conditions: int
    n_neurons: int
    n_silent: int
    """Number of neurons that never respond."""
    rate: float
    """Mean response of a neuron in a trial."""
    scores: dict[str, AreaScore] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GroupMean(Number):
    """Mean of a score over the areas and sessions of a group."""

    n_rows: int
    """Number of combinations of area and session that have a value."""
    n_beyond: int
    """Number of combinations of area and session that are beyond chance (uncorrected)."""


@dataclass(frozen=True)
class Group(Result):
    """A group of areas, with the means of its scores."""

    name: str
    n: int
    n_sessions: int
    n_animals: int
    median_neurons: float
    means: dict[str, GroupMean] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionTable(Result):
    """Scores of areas in sessions (`lines`) and of groups of areas (`groups`), highest first."""

    lines: tuple[AreaLine, ...]
    groups: tuple[Group, ...]
    excluded: tuple[tuple[str, str, str], ...]
    """Data that were left out: session, area ('' means all areas) and reason."""
    by: str
    interval: str
    """What the intervals resample: 'animal' or 'session'."""
    confidence: float
    scores: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    alpha: float = 0.05

    def __iter__(self) -> Iterator[Group]:
        """Iterate over the groups of areas."""
        return iter(self.groups)

    def __getitem__(self, name: str) -> Group:
        """Return the group with this name."""
        known = {group.name: group for group in self.groups}
        if name not in known:
            raise KeyError(f"group must be one of {', '.join(known) or 'none'}, got {name}")
        return known[name]

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per area and session, with scores, chance levels and p-values."""
        import pandas as pd

        columns = ("session", "animal", "area", "group", "n_trials", "n_conditions", "n_neurons", "n_silent", "rate")
        return pd.DataFrame(
            [
                {name: getattr(line, name) for name in columns}
                | {
                    key: number
                    for name, score in line.scores.items()
                    for key, number in (
                        (name, score.value),
                        (f"{name}_chance", score.chance),
                        (f"{name}_sd", score.chance_sd),
                        (f"{name}_p", score.p_value),
                    )
                }
                for line in self.lines
            ]
        )

    @property
    def headline(self) -> str:
        """The group with the highest value of the first score, and how many areas are beyond chance."""
        name = self.scores[0] if self.scores else ""
        known = [
            group for group in self.groups if name in group.means and group.means[name].value == group.means[name].value
        ]
        if not known:
            return "No area could be scored."
        best = max(known, key=lambda group: group.means[name].value)
        mean = best.means[name]
        n_beyond = sum(group.means[name].n_beyond for group in known)
        n = sum(group.means[name].n_rows for group in known)
        return (
            f"{name.replace('_', ' ').capitalize()} is highest in {best.name} ({_format_interval(mean)}, chance "
            f"{_number(mean.chance)}); {n_beyond} of {n} combinations of area and session are beyond chance "
            f"at {self.alpha:g} (uncorrected)."
        )

    @draws_axes
    def plot(  # type: ignore[override]
        self, score: str = "", ax: Axes | None = None, *, title: str | None = None
    ) -> Axes:
        """Draw each group's mean of a score with its interval, and its mean chance level.

        Parameters
        ----------
        score : str
            Name of the score. Default: the first score.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        title : str, optional
            Title of the picture.

        Returns
        -------
        matplotlib Axes
        """
        from shesha.charts import Series, intervals

        name = score or self.scores[0]
        if name not in self.scores:
            raise ValueError(f"score must be one of {', '.join(self.scores)}, got {name!r}")
        means = [group.means[name] for group in self.groups]
        values = Series([mean.value for mean in means], [mean.low for mean in means], [mean.high for mean in means])
        chance = [mean.chance for mean in means]
        names = [f"{group.name} ({group.n})" for group in self.groups]
        series = {
            name.replace("_", " "): values,
            "chance level": Series(chance, [NAN] * len(chance), [NAN] * len(chance)),
        }
        return intervals(names, series, label=name.replace("_", " "), joined=False, ax=ax)

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per group: each score, its interval, its chance level and the number of areas above."""
        n_sessions = len({line.session for line in self.lines})
        n_animals = len({line.animal for line in self.lines})
        head = (
            f"{count(len(self.lines), 'combination')} of area and session ({count(n_sessions, 'session')}, "
            f"{count(n_animals, 'animal')}) by {self.by}; brackets are {100 * self.confidence:g}% intervals of the "
            f"mean over {self.interval}s."
        )
        areas = Column("areas", tuple(str(group.n) for group in self.groups))
        groups = ((areas,), *(tuple(self._columns(name)) for name in self.scores))
        table = Table(tuple(group.name for group in self.groups), groups, "Scores", self.by)
        is_single = any(mean.low != mean.low for group in self.groups for mean in group.means.values())
        single = f"There is no interval for groups with a single {self.interval}." if is_single else ""
        return (*([table] if self.groups else []), *texts([head, single]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Trials that were not used, and sessions and areas that were left out."""
        return (*self._unused_trials(), *self._exclusions())

    def _columns(self, name: str) -> list[Column]:
        means = [group.means[name] for group in self.groups]
        return [
            Column(name.replace("_", " "), tuple(_format_interval(mean) for mean in means), "<"),
            Column("chance", tuple(_number(mean.chance) for mean in means)),
            Column("beyond", tuple(f"{mean.n_beyond}/{mean.n_rows}" for mean in means)),
        ]

    def _unused_trials(self) -> Iterator[str]:
        """Yield how many trials are not used because conditions must have equally many."""
        for name in self.scores:
            known = [(line, line.scores[name]) for line in self.lines]
            shares = [score.n_unused / line.n_trials for line, score in known]
            if not any(shares):
                continue
            yield (
                f"{name.replace('_', ' ')}: every condition has the same number of trials in each half, which leaves "
                f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the trials unused"
            )
            dropped = dict.fromkeys(f"{key} in {line.session}" for line, score in known for key in score.dropped)
            if dropped:
                yield f"conditions left out for too few trials: {_join_places(list(dropped))}"

    def _exclusions(self) -> Iterator[str]:
        reasons: dict[str, list[str]] = {}
        for session, area, reason in self.excluded:
            reasons.setdefault(reason, []).append(f"{area} in {session}" if area else session)
        for reason, places in reasons.items():
            yield f"left out ({reason}): {_join_places(places)}"


def _join_places(places: list[str]) -> str:
    return ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def _number(value: float) -> str:
    return f"{value:.3f}" if value == value else "-"


def _format_interval(group: GroupMean) -> str:
    if group.low != group.low:
        return _number(group.value)
    return f"{group.value:.3f} [{group.low:.2f}, {group.high:.2f}]"


@dataclass(frozen=True, kw_only=True)
class Association(Number):
    """Rank correlation between two columns of a table of sessions whose lines are clustered."""

    first: str
    second: str
    covariates: tuple[str, ...]
    """Columns that are controlled for."""
    p_value: float
    """p-value from Student's t with as many units as there are clusters; `naive_p` treats lines as independent."""
    naive_p: float
    n_clusters: int
    clusters: str

    def _text(self) -> str:
        """Return a text with the correlation and its interval."""
        controls = f", controlling for {' and '.join(self.covariates)}" if self.covariates else ""
        text = (
            f"{self.first} and {self.second}{controls}: rho = {self.value:+.3f} [{self.low:+.2f}, {self.high:+.2f}], p "
            f"= {self.p_value:.2g} over {self.n_clusters} {self.clusters}s ({self.n_rows} lines; p = "
            f"{self.naive_p:.2g} if they were independent)"
        )
        return "\n".join(wrap(text, page_width()))
