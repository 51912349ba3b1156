"""Scores for every area in every session, and their means over groups of areas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.distances import METRICS, Metric
from shesha.neuro._brain_area_scores import ALL, AreaOptions, score_area
from shesha.neuro.clustered_intervals import mean_interval
from shesha.neuro.equal_trials import Numbers, check_numbers
from shesha.neuro.mouse_brain_areas import brain_division, brain_region
from shesha.neuro.session import Checked, Session
from shesha.neuro.trial_halves import HOWS, How
from shesha.neuro.trial_order_null import NULLS, Null
from shesha.results import AreaLine, Group, GroupMean, SessionTable
from shesha.results.base import reaches_level
from shesha.support import argument_types as kinds
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed

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
    confidence: float = 0.95,
    alpha: float = 0.05,
    seed: Seed = 0,
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
    >>> from shesha.neuro import Session
    >>> rng = np.random.default_rng(0)
    >>> def recorded(animal):
    ...     shown = rng.integers(5, size=100)
    ...     tuned = rng.gamma(1, 2, size=(5, 20))[shown]
    ...     X = rng.poisson(np.hstack([tuned, np.full((100, 15), 2)]))
    ...     return Session(X, shown, ["VISp"] * 20 + ["CA1"] * 15, animal=animal)
    >>> days = {f"day {k}": recorded("mouse") for k in range(3)}
    >>> found = session_table(days, scores=["trial_split"], n_permutations=39)
    >>> print(found)
    Trial split is highest in VISp (0.724 [0.48, 0.96], chance 0.051); 3 of 6
    combinations of area and session are beyond chance at 0.05 (uncorrected).
    <BLANKLINE>
    6 combinations of area and session (3 sessions, 1 animal) by area; brackets are
      95% intervals of the mean over sessions
          areas  trial split           chance  beyond
    VISp      3  0.724 [0.48, 0.96]     0.051     3/3
    CA1       3  -0.208 [-0.48, 0.06]  -0.031     0/3
    trial split: every condition has the same number of trials in each half, which
      leaves 30 to 50 % of the trials unused
    """
    options = _options(locals())
    listed = sessions if isinstance(sessions, Mapping) else kinds.sequence(sessions, "sessions", "Session")
    named = listed if isinstance(listed, Mapping) else {str(index): session for index, session in enumerate(listed)}
    if not named:
        raise ValueError("sessions must contain at least one session, got none")
    grouped = _grouping(by)
    check.choice(interval, INTERVALS, "interval")
    check.fraction(confidence, "confidence", closed=False)
    checked = [Checked.build(str(name), session) for name, session in named.items()]
    excluded: list[tuple[str, str, str]] = []
    work = list(_areas(checked, max(min_neurons, n_neurons or 0), min_trials, set(kinds.names(skip, "skip")), excluded))
    if not work:
        raise ValueError(
            f"sessions must have an area that is large enough, got none; the first one was left out ({excluded[0][2]})"
        )
    lines = tuple(
        _line(session, area, grouped(area), options) for session, area in track(work, len(work), "areas of sessions")
    )
    settings = {
        "how": how,
        "n_neurons": n_neurons,
        "trials_per_half": trials_per_half,
        "null": null,
        "drift_null": drift_null,
        "seed": options.seed,
    }
    return SessionTable(
        lines=lines,
        groups=_groups(lines, interval, confidence, alpha),
        excluded=tuple(excluded),
        by=by if isinstance(by, str) else "group",
        interval=interval,
        confidence=confidence,
        scores=options.scores,
        options={
            **settings,
            "n_draws": n_draws,
            "n_permutations": n_permutations,
            "metric": metric,
            "normalize": normalize,
        },
        alpha=alpha,
    )


def _options(options: Mapping[str, Any]) -> AreaOptions:
    """Check the options for scoring areas, and collect them in one object."""
    if not isinstance(options["scores"], Sequence) or isinstance(options["scores"], str) or not options["scores"]:
        raise TypeError(f"scores must be a sequence of names, got {options['scores']!r}")
    scores = tuple(check.choice(name, tuple(ALL), "scores") for name in options["scores"])
    check.choice(options["how"], HOWS, "how")
    check.choice(options["metric"], METRICS, "metric")
    for name in ("null", "drift_null"):
        check.choice(options[name], NULLS[:2], name)
    for name in ("n_draws", "min_neurons", "min_trials"):
        check.count(options[name], name)
    check.count(options["n_permutations"], "n_permutations", minimum=0)
    check.optional_count(options["n_neurons"], "n_neurons", minimum=2)
    check_numbers(options["trials_per_half"], "trials_per_half")
    same = (
        "how",
        "metric",
        "n_splits",
        "n_blocks",
        "trials_per_half",
        "n_neurons",
        "n_draws",
        "n_permutations",
        "null",
        "drift_null",
    )
    return AreaOptions(
        scores=scores,
        normalize=check.boolean(options["normalize"], "normalize"),
        alpha=check.fraction(options["alpha"], "alpha", closed=False),
        seed=draw_seed(options["seed"]),
        **{name: options[name] for name in same},
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
        for area, count in zip(*np.unique(session.areas, return_counts=True), strict=True):
            if str(area) in skip:
                excluded.append((session.name, str(area), "no area"))
            elif count < fewest:
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
        mean = next(iter(group.means.values())).mean
        return bool(np.isnan(mean)), -mean

    return tuple(sorted(groups, key=place))


def _mean(lines: Sequence[AreaLine], score: str, interval: str, confidence: float, alpha: float) -> GroupMean:
    known = [line for line in lines if line.scores[score].value == line.scores[score].value]
    if not known:
        nan = float("nan")
        return GroupMean(nan, nan, nan, nan, 0, 0)
    values = np.array([line.scores[score].value for line in known])
    low, high = mean_interval(values, [getattr(line, interval) for line in known], confidence)
    chance = float(np.mean([line.scores[score].null_mean for line in known]))
    n_beyond = sum(reaches_level(line.scores[score].p_value, alpha) for line in known)
    return GroupMean(float(values.mean()), low, high, chance, len(known), n_beyond)
