"""Scores for every area in every session, and their means over groups of areas."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from shesha.inputs import MissingRows, coordinate_values, is_labelled, table_values, validation as check
from shesha.kernels.condition_distances import centre_and_scale
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.mean_intervals import mean_interval
from shesha.neuro.score_correlations import check_outcome, coupling_score, jackknife_correlation
from shesha.neuro.session_drift import drift_score
from shesha.neuro.split_half_reliability import split_score, wuc_score
from shesha.neuro.trial_order_null import NULLS, Null, Orders, null_evidence
from shesha.neuro.trials import (
    HOWS,
    Conditions,
    EqualTrials,
    Halves,
    How,
    Numbers,
    Trials,
    check_numbers,
    name_sessions,
    state_shared_trials,
)
from shesha.report import Columns, Part, Table, numeral, texts
from shesha.results import Correlation, TrialScore, sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.number import NAN, Number, format_value
from shesha.support import types as kinds
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, draw_seed, spawn
from shesha.support.types import Array, Index, Seed, Vector
from shesha.support.warnings import NotEstimableWarning
from shesha.support.wording import count
from shesha_studies.partial_rank_correlations import partial_rank_correlations

__all__ = ["Session", "SessionTable", "allen_areas", "association", "brain_division", "brain_region", "session_table"]

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Area:
    """One area in the Allen atlas."""

    area: str
    """Acronym of the area."""
    region: str
    """Functional group to which appendix 13.6 of the paper assigns the area."""
    division: str
    """Division of the brain to which the atlas assigns the area."""


OTHER = "Other"


@lru_cache(maxsize=1)
def allen_areas() -> dict[str, Area]:
    """Areas by acronym, each with its region in the paper and its division in the atlas.

    The two differ. For example, the paper assigns the zona incerta (ZI) to the midbrain, and the atlas assigns it to
    the hypothalamus. The paper's region Striatum includes the lateral septum as LS, but not its parts (LSr, LSc).

    Examples
    --------
    >>> allen_areas()["ZI"]
    Area(area='ZI', region='Midbrain', division='Hypothalamus')
    """
    text = files("shesha_studies").joinpath("allen_areas.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line["area"]: Area(**line) for line in csv.DictReader(lines)}


def brain_region(area: str) -> str:
    """Return an area's region in the paper's appendix 13.6; 'Other' for areas that it does not list.

    Examples
    --------
    >>> brain_region("CA1"), brain_region("root")
    ('Hippocampus', 'Other')
    """
    return allen_areas()[area].region if kinds.text(area, "area") in allen_areas() else OTHER


def brain_division(area: str) -> str:
    """Return an area's division in the Allen atlas; 'Other' for an unknown acronym.

    Examples
    --------
    >>> brain_division("LSr"), brain_division("root")
    ('Striatum', 'Other')
    """
    return allen_areas()[area].division if kinds.text(area, "area") in allen_areas() else OTHER


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
class SessionTable(Listed[Group], Result):
    """Scores of areas in sessions (`lines`) and of groups of areas (`groups`), highest first."""

    ITEMS = "groups"
    KEY = "group"

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
    alpha: float = ALPHA

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
                        (f"{name}_p", score.deciding_p_value),
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
            f"{name.replace('_', ' ').capitalize()} is highest in {best.name} ({format_value(mean)}, chance "
            f"{numeral(mean.chance)}); {n_beyond} of {n} combinations of area and session are beyond chance "
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
        chance = [mean.chance for mean in means]
        names = [f"{group.name} ({group.n})" for group in self.groups]
        series = {
            name.replace("_", " "): Series.of(means),
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
        columns: Columns = {"areas": [group.n for group in self.groups]}
        for name in self.scores:
            means, title = [group.means[name] for group in self.groups], name.replace("_", " ")
            columns[title] = map(format_value, means)
            prefix = f"{title}, " * (len(self.scores) > 1)
            columns[f"{prefix}chance"] = [mean.chance for mean in means]
            columns[f"{prefix}beyond"] = [f"{mean.n_beyond}/{mean.n_rows}" for mean in means]
        table = Table.of([group.name for group in self.groups], columns, "Scores", self.by)
        is_single = any(mean.low != mean.low for group in self.groups for mean in group.means.values())
        single = f"There is no interval for groups with a single {self.interval}." if is_single else ""
        return (*([table] if self.groups else []), *texts([head, single]))

    def _claim(self) -> str:
        name = self.scores[0] if self.scores else ""
        means = {group.name: group.means[name] for group in self.groups if name in group.means}
        n_sessions, n_animals = (len({getattr(line, unit) for line in self.lines}) for unit in ("session", "animal"))
        return say.listing(
            f"Mean {name.replace('_', ' ')} by {self.by} over {count(n_sessions, 'session')} of "
            f"{count(n_animals, 'animal')}",
            [
                f"{say.clause(mean, group, self.confidence)}, {mean.n_beyond} of {mean.n_rows} areas beyond chance"
                for group, mean in means.items()
            ]
            or ["nothing could be scored"],
            f"intervals over {self.interval}s",
            f"areas tested at {self.alpha:g}, uncorrected",
            others=f"{self.by}s",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Trials that were not used, and sessions and areas that were left out."""
        return (*self._describe_unused_trials(), *self._exclusions())

    def _describe_unused_trials(self) -> Iterator[str]:
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


@dataclass(frozen=True, eq=False)
class Session:
    """A recording to pass to `session_table`.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording.
    conditions : array of shape (n_trials,) or (n_trials, n_columns), or names of coordinates of a DataArray
        The condition of each trial.
    areas : array of shape (n_neurons,), or the name of a coordinate of a DataArray
        The brain area of each neuron.
    outcome : array of shape (n_trials,), optional
        One number per trial, which the score 'behaviour_coupling' needs.
    animal : str
        Name of the animal. Default: the name of the session.
    """

    X: Any
    conditions: Conditions
    areas: ArrayLike | str
    outcome: ArrayLike | None = None
    animal: str = ""


@dataclass(frozen=True, eq=False)
class Checked:
    """A session that has been checked, with one area per neuron."""

    name: str
    animal: str
    trials: Trials
    areas: Array
    outcome: Vector | None = None

    @classmethod
    def build(cls, name: str, given: Any, missing: MissingRows = "refuse") -> Checked:
        """Check a session, and return it with codes and names."""
        if not isinstance(given, Session):
            raise TypeError(
                f"sessions must be shesha_studies.session_table.Session, got a {type(given).__name__} for {name}"
            )
        trials = Trials.build(given.X, given.conditions, f"X of session {name}", missing=missing)
        areas = given.areas
        if isinstance(areas, str):
            if not is_labelled(given.X):
                raise TypeError(f"areas of session {name} must have one entry per neuron, got the name {areas!r}")
            areas = coordinate_values(given.X, areas, f"X of session {name}")[1]
        areas = np.asarray(table_values(areas, "areas"))
        n_neurons = trials.n_neurons if trials.neurons is None else len(areas)
        codes, names = check.labels(areas, n_neurons, f"areas of {name}", min_classes=1)
        of_neurons = names.astype(str)[codes if trials.neurons is None else codes[trials.neurons]]
        outcome = None
        if given.outcome is not None:
            outcome = trials.take(check_outcome(given.outcome, trials, f"outcome of {name}"))
        return cls(name, str(given.animal) or name, trials, of_neurons, outcome)


@dataclass(frozen=True)
class AreaOptions:
    """Options for scoring areas."""

    scores: tuple[str, ...]
    how: How
    metric: Metric
    normalize: bool
    n_splits: int
    n_blocks: int
    trials_per_half: Numbers
    n_neurons: int | None
    n_draws: int
    n_permutations: int
    null: Null
    drift_null: Null
    alpha: float
    seed: int

    def orders(self, n_trials: int, null: Null) -> Orders:
        """Permutations of the trials, which are the same for all areas of a session."""
        return Orders.draw(n_trials, self.n_permutations, null, alpha=self.alpha, seed=self.seed)

    def halves(self, n_trials: int) -> Halves:
        """Halves of the trials, which are the same for all areas of a session."""
        return Halves.build(n_trials, self.how, self.n_splits, self.n_blocks, spawn(self.seed, 1))

    def neurons(self, n: int) -> list[Index]:
        """Return which neurons to score: all of them, or several random draws of `n_neurons`."""
        if self.n_neurons is None or self.n_neurons == n:
            return [np.arange(n)]
        rng = spawn(self.seed, 2)
        return [np.sort(rng.choice(n, self.n_neurons, replace=False)) for _ in range(self.n_draws)]


Scorer = Callable[[Trials, Vector | None, AreaOptions], TrialScore]


def _split(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    orders, halves = options.orders(trials.n_trials, options.null), options.halves(trials.n_trials)
    equal = EqualTrials.build(options.trials_per_half, halves, options.n_splits, options.seed)
    return split_score(trials, halves, orders, options.metric, options.normalize, {}, equal)


def _wuc(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    orders, halves = options.orders(trials.n_trials, options.null), options.halves(trials.n_trials)
    return wuc_score(trials, halves, orders, options.normalize, None, {})


def _drift(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    rows = centre_and_scale(trials.rates, unit=options.normalize, centred=False)
    return drift_score(rows, trials, options.orders(trials.n_trials, options.drift_null))


def _coupling_score(trials: Trials, outcome: Vector | None, options: AreaOptions) -> TrialScore:
    if outcome is None:
        orders = options.orders(trials.n_trials, options.null)
        return orders.summarise("coupling", np.full(1, np.nan), trials, reason="the session has no trial outcomes")
    known = ~np.isnan(outcome)
    trials = trials.keep(known, "without an outcome")
    return coupling_score(trials, outcome[known], options.orders(trials.n_trials, options.null))


ALL: Mapping[str, Scorer] = {
    "trial_split": _split,
    "centroid_drift": _drift,
    "wuc": _wuc,
    "behaviour_coupling": _coupling_score,
}


def score_area(trials: Trials, outcome: Vector | None, options: AreaOptions) -> dict[str, AreaScore]:
    """Compute the requested scores of an area, averaged over draws of neurons if `n_neurons` is set."""
    drawn = [trials.take_neurons(neurons) for neurons in options.neurons(trials.n_neurons)]
    with warnings.catch_warnings():
        # The reasons are stored with the scores, so the warnings would only repeat them.
        warnings.simplefilter("ignore", NotEstimableWarning)
        return {
            name: _mean_of_draws([ALL[name](draw, outcome, options) for draw in drawn], options)
            for name in options.scores
        }


def _mean_of_draws(scores: list[TrialScore], options: AreaOptions) -> AreaScore:
    """Average the score and its permuted values over draws of neurons, which share their permutations."""
    known = [score for score in scores if score.value == score.value]
    if not known:
        return AreaScore(value=float("nan"), reason=scores[0].reason)
    first = known[0]
    if len(scores) == 1 or not first.null:
        return replace(_plain(first), value=float(np.mean([score.value for score in known])))
    values = np.array([[score.value, *score.null] for score in known]).mean(axis=0)
    evidence = null_evidence(float(values[0]), values[1:], first.closer, options.alpha, None)
    return replace(_plain(first), value=float(values[0]), **evidence)


def _plain(score: TrialScore) -> AreaScore:
    fields = {name: getattr(score, name) for name in ("name", "value", "closer", "reason", "n_unused", "dropped")}
    return AreaScore(**fields, **score.evidence())


_REPORTED = (
    *("how", "n_neurons", "trials_per_half", "null", "drift_null", "seed"),
    *("n_draws", "n_permutations", "metric", "normalize"),
)
INTERVALS = ("session", "animal")
GROUPINGS: Mapping[str, Callable[[str], str]] = {"area": str, "region": brain_region, "division": brain_division}


@keep_statements
def session_table(
    sessions: Mapping[str, Session] | Sequence[Session],
    by: Literal["area", "region", "division"] | Mapping[str, str] = "area",
    *,
    scores: Sequence[str] = ("trial_split", "centroid_drift", "behaviour_coupling"),
    how: How = "odd-even",
    metric: Metric = "cosine",
    normalize: bool = True,
    n_splits: int = 20,
    n_blocks: int = 8,
    trials_per_half: Numbers = "equal",
    n_neurons: int | None = None,
    n_draws: int = 10,
    min_neurons: int = 10,
    min_trials: int = 60,
    skip: Sequence[str] = ("root",),
    n_permutations: int = N_PERMUTATIONS,
    null: Null = "shift",
    drift_null: Null = "permute",
    interval: Literal["session", "animal"] = "session",
    confidence: float = CONFIDENCE,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> SessionTable:
    """Score every area of every session against its chance level, and average over groups of areas.

    The areas of one session share its trials, and the sessions of one animal share its brain. Intervals for the means
    therefore treat whole sessions or animals as the independent units. Scores also depend on the number of neurons; set
    `n_neurons` to make areas comparable.

    Parameters
    ----------
    sessions : mapping from names to Session, or sequence of Session
        Recordings, each with its own conditions.
    by : {'area', 'region', 'division'}, or mapping from areas to groups
        Groups over which scores are averaged: single areas, the regions in appendix 13.6 of the paper, the divisions in
        the Allen atlas, or your own groups. An area that is missing from a mapping forms a group by itself.
    scores : sequence of str
        One or more of 'trial_split', 'centroid_drift', 'wuc' and 'behaviour_coupling'. Groups are sorted by the first
        one.
    how, metric, normalize, n_splits, n_blocks, trials_per_half
        See `trial_split`.
    n_neurons : int, optional
        Number of neurons to draw from each area; areas with fewer neurons are left out. None: all neurons are used.
    n_draws : int
        Number of random draws of `n_neurons` neurons over which scores are averaged.
    min_neurons, min_trials : int
        Smallest numbers of neurons in an area and of trials in a session. Smaller areas and sessions are excluded and
        listed.
    skip : sequence of str
        Labels to skip because they do not denote brain areas.
    n_permutations : int
        Number of permutations of the trials for each null distribution.
    null, drift_null : {'shift', 'permute'}
        Circular shifts or permutations. `null` applies to conditions and outcomes, `drift_null` to the trials for
        'centroid_drift'.
    interval : {'session', 'animal'}
        Units that the intervals treat as independent.
    confidence : float
        Confidence level of the intervals.
    alpha : float
        Significance level for counting areas as beyond chance.
    seed : int, Generator or None
    missing
        See `crossnobis`; incomplete trials are left out of their session.

    Returns
    -------
    SessionTable
        Table with `lines` (one per area and session), `groups` and `excluded`.

    Raises
    ------
    ValueError
        If there are no sessions, all areas are left out, or an option is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def recorded(animal):
    ...     shown = rng.integers(5, size=100)
    ...     tuned = rng.gamma(1, 2, size=(5, 20))[shown]
    ...     X = rng.poisson(np.hstack([tuned, np.full((100, 15), 2)]))
    ...     return Session(X, shown, ["VISp"] * 20 + ["CA1"] * 15, animal=animal)
    >>> days = {f"day {k}": recorded("mouse") for k in range(3)}
    >>> found = session_table(days, scores=["trial_split"], n_permutations=39)
    >>> print(found)
    Trial split is highest in VISp (0.724 [0.484, 0.965], chance 0.051); 3 of 6
    combinations of area and session are beyond chance at 0.05 (uncorrected).
    Read: conditions 0, 1, 2, 3, 4.
    <BLANKLINE>
            areas             trial split  chance  beyond
      VISp      3    0.724 [0.484, 0.965]   0.051     3/3
      CA1       3  -0.208 [-0.479, 0.062]  -0.031     0/3
      6 combinations of area and session (3 sessions, 1 animal) by area; brackets
        are 95% intervals of the mean over sessions.
    <BLANKLINE>
    ! trial split: every condition has the same number of trials in each half, which
      leaves 30 to 50 % of the trials unused
    """
    if not isinstance(scores, Sequence) or isinstance(scores, str) or not scores:
        raise TypeError(f"scores must be a sequence of names, got {scores!r}")
    options = AreaOptions(
        scores=tuple(check.choice(name, tuple(ALL), "scores") for name in scores),
        how=check.choice(how, HOWS, "how"),
        metric=check.choice(metric, METRICS, "metric"),
        normalize=check.boolean(normalize, "normalize"),
        n_splits=n_splits,
        n_blocks=n_blocks,
        trials_per_half=check_numbers(trials_per_half, "trials_per_half"),
        n_neurons=check.optional_count(n_neurons, "n_neurons", minimum=2),
        n_draws=check.count(n_draws, "n_draws"),
        n_permutations=check.count(n_permutations, "n_permutations", minimum=0),
        null=check.choice(null, NULLS[:2], "null"),
        drift_null=check.choice(drift_null, NULLS[:2], "drift_null"),
        alpha=check.fraction(alpha, "alpha", closed=False),
        seed=draw_seed(seed),
    )
    min_neurons, min_trials = check.count(min_neurons, "min_neurons"), check.count(min_trials, "min_trials")
    named = name_sessions(sessions, "Session")
    if not named:
        raise ValueError("sessions must contain at least one session, got none")
    grouped = _grouping(by)
    check.choice(interval, INTERVALS, "interval")
    check.fraction(confidence, "confidence", closed=False)
    checked = [Checked.build(name, session, missing) for name, session in named]
    state_shared_trials({session.name: session.trials.rates for session in checked})
    excluded: list[tuple[str, str, str]] = []
    work = list(_areas(checked, max(min_neurons, n_neurons or 0), min_trials, set(kinds.names(skip, "skip")), excluded))
    if not work:
        raise ValueError(
            f"sessions must have an area that is large enough, got none; the first one was left out ({excluded[0][2]})"
        )
    lines = tuple(
        _line(session, area, grouped(area), options) for session, area in track(work, len(work), "areas of sessions")
    )
    return SessionTable(
        lines=lines,
        groups=_groups(lines, interval, confidence, alpha),
        excluded=tuple(excluded),
        by=by if isinstance(by, str) else "group",
        interval=interval,
        confidence=confidence,
        scores=options.scores,
        options={name: getattr(options, name) for name in _REPORTED},
        alpha=alpha,
    )


def _grouping(grouping: Any) -> Callable[[str], str]:
    if isinstance(grouping, Mapping):
        return lambda area: str(grouping.get(area, area))
    return GROUPINGS[check.choice(grouping, tuple(GROUPINGS), "by")]


def _areas(
    sessions: Sequence[Checked], fewest: int, min_trials: int, skip: set[str], excluded: list[tuple[str, str, str]]
) -> Iterator[tuple[Checked, str]]:
    """Yield the areas that are large enough, and record why the other areas are excluded."""
    for session in sessions:
        if session.trials.n_trials < min_trials:
            excluded.append((session.name, "", f"fewer than {min_trials} trials"))
            continue
        for area, n_neurons in zip(*np.unique(session.areas, return_counts=True), strict=True):
            if str(area) in skip:
                excluded.append((session.name, str(area), "no area"))
            elif n_neurons < fewest:
                excluded.append((session.name, str(area), f"fewer than {fewest} neurons"))
            else:
                yield session, str(area)


def _line(session: Checked, area: str, group: str, options: AreaOptions) -> AreaLine:
    trials = session.trials.take_neurons(session.areas == area)
    return AreaLine(
        session=session.name,
        animal=session.animal,
        area=area,
        group=group,
        n_trials=trials.n_trials,
        n_conditions=trials.n_conditions,
        n_neurons=trials.n_neurons,
        n_silent=int(trials.silent.sum()),
        rate=float(trials.rates.mean()),
        scores=score_area(trials, session.outcome, options),
    )


def _groups(lines: Sequence[AreaLine], interval: str, confidence: float, alpha: float) -> tuple[Group, ...]:
    groups = []
    for name in dict.fromkeys(line.group for line in lines):
        members = [line for line in lines if line.group == name]
        means = {score: _mean(members, score, interval, confidence, alpha) for score in members[0].scores}
        n_sessions, n_animals = (len({getattr(line, kind) for line in members}) for kind in INTERVALS)
        neurons = float(np.median([line.n_neurons for line in members]))
        groups.append(Group(name, len(members), n_sessions, n_animals, neurons, means))

    def place(group: Group) -> tuple[bool, float]:
        mean = next(iter(group.means.values())).value
        return bool(np.isnan(mean)), -mean

    return tuple(sorted(groups, key=place))


def _mean(lines: Sequence[AreaLine], score: str, interval: str, confidence: float, alpha: float) -> GroupMean:
    known = [line for line in lines if line.scores[score].value == line.scores[score].value]
    if not known:
        nan = float("nan")
        return GroupMean(value=nan, low=nan, high=nan, chance=nan, n_rows=0, n_beyond=0)
    values = np.array([line.scores[score].value for line in known])
    low, high = mean_interval(values, [getattr(line, interval) for line in known], confidence)
    chance = float(np.mean([line.scores[score].chance for line in known]))
    n_beyond = sum(reaches_level(line.scores[score].deciding_p_value, alpha) for line in known)
    return GroupMean(
        value=float(values.mean()), low=low, high=high, chance=chance, n_rows=len(known), n_beyond=n_beyond
    )


CLUSTERS = ("session", "animal")


def association(
    table: SessionTable,
    first: str,
    second: str,
    *,
    covariates: Sequence[str] = (),
    clusters: Literal["session", "animal"] = "session",
    confidence: float = CONFIDENCE,
) -> Correlation:
    """Rank correlation of two columns over areas and sessions, with an interval over whole sessions.

    The areas of one session share trials and behaviour, so they are not independent. The interval and the p-value
    therefore come from a jackknife over sessions (or animals). Both columns may increase with the numbers of neurons or
    spikes, which alone makes them correlated; control for these numbers with `covariates`.

    Parameters
    ----------
    table : SessionTable
        Result of `session_table`.
    first, second : str
        Columns of `table.to_frame()`.
    covariates : sequence of str
        Columns whose ranks are regressed out of the ranks of `first` and `second`.
    clusters : {'session', 'animal'}
        Units that are treated as independent; an interval needs at least three of them.
    confidence : float
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Correlation
        `unit` and `n_units` are the clusters; `p_value` comes from Student's t with as many units, and `naive_p` treats
        lines as independent.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(4, size=80)
    >>> areas = np.repeat(["A", "B", "C"], 12)
    >>> days = [Session(rng.poisson(2, (80, 36)), shown, areas, rng.random(80)) for _ in range(5)]
    >>> table = session_table(days, scores=["trial_split", "behaviour_coupling"], n_permutations=0)
    >>> found = association(table, "trial_split", "behaviour_coupling")
    >>> found.n_rows, found.n_units, found.low < 0 < found.high
    (15, 5, True)
    """
    check.choice(clusters, CLUSTERS, "clusters")
    check.fraction(confidence, "confidence", closed=False)
    frame = kinds.instance(table, SessionTable, "table", "a SessionTable, as `session_table` returns").to_frame()
    numeric = tuple(str(name) for name in frame.columns if frame[name].dtype.kind in "fi")
    columns = [
        check.choice(name, numeric, "columns") for name in (first, second, *kinds.sequence(covariates, "covariates"))
    ]
    known = frame.dropna(subset=columns)
    values = known[columns].to_numpy(dtype=np.float64)
    if len(values) < 4:
        raise ValueError(f"table must have at least 4 lines with {first} and {second}, got {len(values)}")

    def score(rows: Array) -> float:
        return float(partial_rank_correlations(values[rows], 0, range(2, values.shape[1]))[1])

    named = known[clusters].astype(str).tolist()
    (low, high), p_value = jackknife_correlation(score, named, confidence)
    value = score(np.ones(len(values), dtype=bool))
    free = len(values) - 2 - len(covariates)
    with np.errstate(divide="ignore"):
        naive = float(2 * student.sf(abs(value) * np.sqrt(free / (1 - value**2)), free))
    return Correlation(
        name=f"{first} and {second}",
        first=first,
        second=second,
        covariates=tuple(covariates),
        value=value,
        low=low,
        high=high,
        p_value=p_value,
        naive_p=naive,
        n_rows=len(values),
        n_units=len(set(named)),
        unit=clusters,
        closer="either",
        confidence=confidence,
    )
