"""Monitor a deployed model and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts import curves
from shesha.doubting import warn_of_row_doubts
from shesha.drift import canary_check, history as monitor_files
from shesha.drift.canary_check import (
    CheckResult,
    Choice,
    ReencodingNoise,
    Setting,
    choose_measures,
    differences,
    many,
    restrict_check,
    run_check,
)
from shesha.drift.canary_reference import Reference, restrict_encodings
from shesha.drift.history import History, Kind, MemoryHistory, Writer, write_or_warn
from shesha.drift.stream_evidence import AlarmRule, Stream, StreamEvidence, Updates
from shesha.inputs import MissingRows, NamedRows, Names, RowChoice, labels_in_order, split_names, validation as check
from shesha.inputs.table_columns import column_names, feature_order
from shesha.measures import Measure, get
from shesha.results import CheckSequence, DriftScore, DriftVerdict, StreamVerdict
from shesha.results.base import draws_axes
from shesha.results.drift import State
from shesha.support import types as kinds
from shesha.support.device_arrays import array_shape
from shesha.support.provenance import collect_statements, is_warning, keep_statements, state, state_warning
from shesha.support.seeds import draw_seed, draws_needed
from shesha.support.types import Seed, brief
from shesha.views import select_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NEW = "If the change was intended, make a new reference and new re-encodings."
_SUSPECTS = (
    "Compare model revision, tokenizer, pooling, precision, batch size and library versions with those of the "
    "reference."
)


LEVEL, MOST_FALSE_ALARMS = 0.01, 0.05
"""Default rate of false alarms, and largest one that nobody has to choose."""


def decide_state(
    scores: Sequence[DriftScore], tolerance: float, sequence: CheckSequence | None, lengths: str = ""
) -> State:
    """Return the state; only the primary score, or its evidence over many checks, can raise an alert.

    `lengths` describes how the lengths of rows changed, which most scores do not depend on.
    """
    primary = scores[0]
    if primary.value != primary.value:
        return "not estimable"
    alert = primary.beyond if sequence is None else sequence.alarm_since > 0
    if alert and (primary.value > tolerance or sequence is not None):
        return "alert"
    return "watch" if lengths or any(score.beyond for score in scores) else "ok"


_NOTHING = "Nothing."
_DISTANCES_ONLY = (
    "Nothing, as far as distances tell. A rotation of all vectors, after which an index of the old ones is useless, "
    "shows only if the monitor keeps the rows (keep_rows=True, --keep-rows)."
)
_NEW_INDEX = "Encode stored vectors again, or map new ones: distances did not change, but the vectors did."


def advice(
    state: State, scores: Sequence[DriftScore], alarm_since: int = 0, lengths: str = "", *, level: float = LEVEL
) -> str:
    """Return advice for a state; `alarm_since` is the check that raised an unacknowledged alarm, or 0."""
    if lengths and state == "watch" and not scores[0].beyond:
        return (
            f"Check whether rows are normalised: {lengths}. Cosine distances do not depend on this, but inner products "
            "and Euclidean distances do."
        )
    if state == "ok" and alarm_since:
        return (
            "This check alone shows no change, but the evidence of all checks raised an alarm at check "
            f"{alarm_since}, which is not acknowledged. Inspect the checks since then, then acknowledge the alarm."
        )
    tiers_beyond = {score.tier for score in scores if score.beyond}
    if state == "ok":
        return _NOTHING
    if state == "not estimable":
        return f"Inspect the encodings first, because the model may be broken. {_SUSPECTS}"
    if state == "watch":
        if level > MOST_FALSE_ALARMS:
            return (
                f"This is no evidence of a change: at least {100 * level:.2g} % of checks show it without a change. "
                f"Make the monitor again with at least {draws_needed(1, MOST_FALSE_ALARMS)} re-encodings."
            )
        if "primary" in tiers_beyond:
            return (
                "The change is real, but within the tolerance or below the alarm threshold. Encode once more, and "
                "measure task performance if the change remains."
            )
        if tiers_beyond == {"early"}:
            return (
                "Only Procrustes similarity changed, which often reacts first. Encode once more. If the change "
                "remains, inspect the rows above."
            )
        return "Encode once more. If the change remains, inspect the rows above and measure task performance."
    if scores[0].threshold == 0:
        return (
            "Encode the same inputs again with the unchanged model. If this differs as well, make the monitor again "
            f"with such re-encodings; if not, measure task performance. {_SUSPECTS} {_NEW}"
        )
    if "confirm" in tiers_beyond:
        return (
            "The leading directions changed too (CKA), so task performance may drop. Measure performance now. "
            f"{_SUSPECTS} {_NEW}"
        )
    return f"Distances changed, but the leading directions did not (CKA). Measure task performance. {_SUSPECTS} {_NEW}"


FEWEST_IN_A_ROW = 19
"""Minimum number of re-encodings for accumulating evidence over checks."""


def check_level(
    false_alarm: float | None, run_length: float | None, unchanged: ReencodingNoise | None, n_resamples: int
) -> float:
    """Return the significance level of one check; raise ValueError if it cannot be reached."""
    n_resamples = check.count(n_resamples, "n_resamples", minimum=19)
    if run_length is not None:
        if false_alarm is not None:
            raise ValueError(
                "false_alarm and run_length must not both be given, got both; pass the one that controls the alerts"
            )
        check.require_at_least(run_length, "run_length", 2.0)
        if unchanged is None or len(unchanged) < FEWEST_IN_A_ROW:
            got = "none" if unchanged is None else str(len(unchanged))
            raise ValueError(
                f"run_length must be used with at least {FEWEST_IN_A_ROW} nulls, got {got}; fewer re-encodings do not "
                "determine the noise of many checks"
            )
        return max(LEVEL, 1 / (len(unchanged) + 1))
    there = n_resamples if unchanged is None else len(unchanged)
    lowest = LEVEL if unchanged is None else max(LEVEL, 1 / (there + 1))
    level = lowest if false_alarm is None else check.fraction(false_alarm, "false_alarm", closed=False)
    if there < draws_needed(1, level):
        name = "n_resamples" if unchanged is None else "nulls"
        raise ValueError(
            f"false_alarm must be at least {1 / (there + 1):.3g} with {there} {name}, got {level:g}; pass at least "
            f"{draws_needed(1, level)}"
        )
    return level


def plain_about(about: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the recorded settings as strings."""
    if about is not None and not isinstance(about, Mapping):
        raise TypeError(f"about must map names to texts, got {type(about).__name__}")
    return {str(name): str(value) for name, value in (about or {}).items()}


def importable_name(measure: Measure) -> str:
    """Return the name by which a later process finds the measure; refuse measures that have none."""
    try:
        known = get(measure.name)
    except ValueError:
        known = None
    if known is None or cast(Any, known).function is not measure.function:
        raise ValueError(f"measures must have importable names to be saved, got {measure.name}")
    return measure.name


TOLERANCE = 0.05
"""Default tolerance without re-encodings, or above those of fewer than 19: the published detection threshold."""
MOST_CANARIES = 2_000
"""Number of random rows of a reference that is too large for the memory."""
RESAMPLES = 199
AnyVerdict = TypeVar("AnyVerdict", DriftVerdict, StreamVerdict)
_EVIDENCE, _STREAM = "evidence", "stream"
_MANY = 20.0
"""Ratio of the largest to the smallest drift above which the axis of a chart is logarithmic."""
_PLAIN = ("level", "tolerance", "n_resamples", "seed")


def as_number(value: Any) -> float:
    """Return a number from the history, in which null stands for NaN."""
    if value is None:
        return float("nan")
    if not isinstance(value, int | float):
        raise ValueError(f"history must contain numbers, got {brief(value)}; the monitor is damaged")
    return float(value)


def draw_drift(checks: Sequence[Mapping[str, Any]], measure: str, ax: Axes | None = None) -> Axes:
    """Draw the drift of all checks by one measure, its threshold, and the alerts."""
    scores = [{score["name"]: score for score in one["scores"]}.get(measure, {}) for one in checks]
    drift, threshold = ([as_number(score.get(field)) for score in scores] for field in ("value", "threshold"))
    places = range(1, len(checks) + 1)
    series = {"drift": drift, "threshold": threshold}
    ax = curves(places, series, labels=("check", f"drift by {measure}"), ax=ax)
    alerts = [place for place, one in zip(places, checks, strict=True) if one["state"] == "alert"]
    if alerts:
        ax.plot(alerts, [drift[place - 1] for place in alerts], "D", color="#b00020", label="alert")
        ax.legend(frameon=False, fontsize="small")
    positive = [value for value in (*drift, *threshold) if 0 < value < float("inf")]
    if positive and max(positive) > _MANY * min(positive):
        ax.set_yscale("log")
    return ax


class DriftMonitor:
    """Monitors a model by comparing its encodings with a reference and with the noise of re-encoding.

    `check` tests whether the *model* changed, given the same inputs encoded again. `update` tests whether the *inputs*
    changed, given new inputs.

    Several threads may use one monitor; checks and updates are then stored one after another. Several processes may
    load one saved monitor and check or update it at the same time.

    Parameters
    ----------
    reference : array of shape (n_rows, n_features)
        Canary inputs, encoded by the model before any change: at least 4 finite rows, none of them zero. A table or
        `NamedRows` also provides row names. For `update`, use a sample of typical inputs.
    nulls : array of shape (K, n_rows, n_features) or iterable of matrices, optional
        The same inputs encoded again by the *unchanged* model, under all conditions that may vary between checks: batch
        size, input order, precision, machine. Their drifts are the noise floor. Without nulls, the noise floor is
        unknown; rows are then resampled to test whether the drift exceeds `tolerance` for inputs of this kind.
    labels : array of shape (n_rows,), optional
        Class of each row. If passed, the classes that moved most are reported.
    groups : array of shape (n_rows,), optional
        Document, clip or session of each row, if rows share one. Resampling and `update` then count each group once;
        `update` uses the mean of its rows.
    false_alarm : float, optional
        Share of checks that raise an alert although the model is unchanged; at least 1 / (K + 1). Default: the lowest
        rate that the nulls allow, but at least 0.01.
    run_length : float, optional
        Mean number of checks until a false alarm, as an alternative to `false_alarm`. Evidence then accumulates over
        checks, so that small lasting changes are detected. Requires at least 19 nulls.
    measures : names, measures or functions, optional
        Measures of drift, of which the first raises alerts. Default: RDM drift, unbiased CKA (to confirm alerts),
        Procrustes similarity (which often reacts first) and mutual kNN.
    tolerance : float, optional
        Drift by the first measure up to which no alert is raised. Default: 0 with nulls, 0.05 without. With fewer than
        19 nulls and no `false_alarm`, it is 0.05 above the largest drift of the nulls, because an unchanged model
        exceeds all of these in more than 5 % of checks.
    about : mapping of str to str, optional
        Settings of the reference to record, such as model revision and batch size. Checks report differences from them.
    n_resamples : int
        Number of random halves of the rows, if there are no nulls.
    missing : {'refuse', 'drop'}
        Whether reference rows with NaN or infinity, and rows of zeros, raise an error, or are left out. Rows without a
        label are left out.
    seed : int or None
        Seed of the resamples, and of the random split of the reference for streams.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 8))
    >>> again = (X + 1e-3 * rng.standard_normal(X.shape) for _ in range(99))
    >>> monitor = DriftMonitor(X, nulls=again)
    >>> monitor.check(X + 1e-3 * rng.standard_normal(X.shape)).state
    'ok'
    >>> monitor.check(X + 0.1 * rng.standard_normal(X.shape)).state
    'alert'
    """

    def __init__(
        self,
        reference: ArrayLike,
        *,
        nulls: ArrayLike | Iterable[ArrayLike] | None = None,
        labels: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        false_alarm: float | None = None,
        run_length: float | None = None,
        measures: Iterable[Choice] | Choice | None = None,
        tolerance: float | None = None,
        about: Mapping[str, Any] | None = None,
        n_resamples: int = RESAMPLES,
        missing: MissingRows = "refuse",
        seed: Seed = 0,
    ) -> None:
        n_rows = next(iter(kinds.shape_of(reference) or array_shape(reference)), 4)
        chosen = choose_measures(measures, n_rows)
        encodings = None if nulls is None else many(nulls)
        names = split_names(reference, "reference")[1]
        sides, along = select_rows(
            {"reference": reference},
            labels_in_order([names], {"labels": labels, "groups": groups}) | {"kept": np.arange(n_rows)},
            missing=missing,
            # Only rows without names keep their positions, by which later encodings are restricted to the same rows.
            need=partial(canary_check.bytes_of_drift, chosen[0]) if names is None else None,
            most=MOST_CANARIES,
            seed=seed,
        )
        with collect_statements() as statements:
            ref = Reference.build(sides["reference"], along["labels"], chosen, along["groups"])
            ref = replace(ref, features=column_names(reference))
            if ref.rows is not None:
                warn_of_row_doubts(ref.rows, "reference", but=("offset",))
            if names is None and len(along["kept"]) < n_rows:
                ref = replace(ref, positions=along["kept"], n_inputs=n_rows)
            unchanged = None
            if encodings is not None:
                if len(along["kept"]) < n_rows:
                    encodings = restrict_encodings(encodings, names, n_rows, along["kept"])
                unchanged = ReencodingNoise.build(encodings, ref.representation, chosen, ref.codes, len(ref.classes))
            level = check_level(false_alarm, run_length, unchanged, n_resamples)
            allowed = TOLERANCE if unchanged is None else 0.0
            self.run_length = run_length
            self.about = plain_about(about)
            limit = allowed if tolerance is None else check.require_at_least(tolerance, "tolerance", 0.0)
            if unchanged is not None and limit == 0 and unchanged.are_copies:
                state_warning(
                    f"all {len(unchanged):,} re-encodings equal the reference, so any change beyond rounding raises an "
                    "alert; vary what differs between checks, such as the batch size, or pass tolerance="
                )
            elif unchanged is not None and false_alarm is None and tolerance is None and level > MOST_FALSE_ALARMS:
                # To exceed the largest of a few drifts is no evidence, unless it is exceeded by far.
                limit = TOLERANCE + float(unchanged.drifts[np.isfinite(unchanged.drifts[:, 0]), 0].max())
                state_warning(
                    f"in {100 * level:.2g} % of checks, an unchanged model drifts more than all {len(unchanged)} "
                    f"re-encodings, so only a drift above {limit:.2g} raises an alert; pass at least "
                    f"{draws_needed(1, MOST_FALSE_ALARMS)} re-encodings, or choose a rate with false_alarm"
                )
        doubts = tuple(text for text in statements if is_warning(text))
        self._setting = Setting(
            ref,
            chosen,
            unchanged,
            level=level,
            tolerance=limit,
            n_resamples=n_resamples,
            seed=draw_seed(seed),
            doubts=doubts,
        )
        self._history: History = MemoryHistory()

    @property
    def false_alarm(self) -> float:
        """Share of checks in which a score of an unchanged model exceeds its threshold."""
        return self._setting.level

    @property
    def nulls_are_copies(self) -> bool:
        """Whether all re-encodings equal the reference, so that they tell nothing about the rate of false alarms."""
        unchanged = self._setting.unchanged
        return unchanged is not None and unchanged.are_copies

    @property
    def n_rows(self) -> int:
        """Number of canary inputs."""
        return self._setting.reference.n_rows

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of drift, starting with the primary one."""
        return tuple(self._setting.measures)

    @property
    def dependence(self) -> str:
        """How reference rows depend on their neighbours, with advice; empty if there is no sign of it."""
        return self._setting.reference.dependence

    @property
    def names(self) -> Names | None:
        """Names of the canary inputs, if known."""
        return self._setting.reference.names

    @property
    def features(self) -> Names | None:
        """Names of the features of the reference, if known; those of new inputs are read in the same order."""
        return self._setting.reference.features

    @features.setter
    def features(self, names: Names | None) -> None:
        self._setting = replace(self._setting, reference=replace(self._setting.reference, features=names))

    def reorder_features(self, rows: Any, features: Names | None, name: str) -> Any:
        """Return rows with their features in the order of the reference, if the names of both are known."""
        order = feature_order(self.features, features, ("the reference", name))
        if order is None:
            return rows
        values, names = split_names(rows, name)
        return values[:, order] if names is None else NamedRows(values[:, order], names)

    @property
    def n_nulls(self) -> int:
        """Number of re-encodings."""
        return len(self._setting.unchanged or ())

    @keep_statements
    def check(
        self,
        current: ArrayLike,
        *,
        about: Mapping[str, Any] | None = None,
        rows: RowChoice = "same",
        missing: MissingRows = "refuse",
    ) -> DriftVerdict:
        """Compare a new encoding of the same inputs with the reference, and store the verdict in the history.

        Parameters
        ----------
        current : array of shape (n_rows, n_features)
            The rows of the reference in the same order, or in any order if both have names. Features of tables are
            matched by name. The width may differ if the features have other names, or only numbers.
        about : mapping of str to str, optional
            Settings of this encoding, to compare with those of the reference.
        rows : {'same', 'shared'}
            Whether `current` must have all rows of the reference, or only the rows whose names both have are compared.
        missing : {'refuse', 'drop'}
            Whether rows with NaN or infinity make the check impossible, or are left out together with rows of zeros.

        Returns
        -------
        DriftVerdict
            The verdict. If `current` contains NaN or infinity, its state is 'not estimable', which counts as an alarm.

        Raises
        ------
        ValueError
            If the number of rows or their names show that these are other inputs.
        """
        circumstances = plain_about(about)
        setting = self._setting
        current = self.reorder_features(current, column_names(current), "current")
        current = setting.reference.restrict(current)
        if rows != "same" or missing != "refuse":
            setting, current = restrict_check(setting, current, rows=rows, missing=missing)
        outcome = run_check(current, setting)
        n_rows = setting.reference.n_rows

        def extend(stored: str | None) -> tuple[DriftVerdict, str]:
            earlier, primary = StreamEvidence.from_text(stored), outcome.scores[0]
            evidence = earlier.update(primary.p_value, self._rule, primary.value)
            if self.run_length is not None and earlier.last == primary.value > 0:
                state_warning(
                    "the drift equals that of the last check to the last digit, as if the same encoding were checked "
                    "again, which is no new evidence, so the run length does not hold. Check each encoding only once",
                    questions_input=True,
                )
            return self._verdict(outcome, evidence, circumstances, n_rows), evidence.as_text()

        return self._store("check", _EVIDENCE, extend)

    @keep_statements
    def update(
        self, batch: ArrayLike, *, groups: ArrayLike | None = None, missing: MissingRows = "refuse"
    ) -> StreamVerdict:
        """Add new inputs to the stream, and test whether they are distributed as earlier inputs.

        Parameters
        ----------
        batch : array of shape (n, n_features)
            At least one new input, encoded by the model that encoded the reference. As long as nothing changes, new
            rows must be exchangeable with the reference rows: of the same kind, and independent of each other. If
            consecutive rows depend on each other, the verdict says so, and an alarm is 'not estimable'.
        groups : array of shape (n,), optional
            Group of each new row, if the reference has groups. All rows of a group must be in one batch.
        missing : {'refuse', 'drop'}
            Whether rows with NaN or infinity make the batch unusable, or are left out together with rows of zeros.

        Returns
        -------
        StreamVerdict
            The verdict. If nothing changes, the probability of ever raising an alarm is at most `false_alarm`.

        Raises
        ------
        ValueError
            If the inputs are those of the reference or of earlier batches, or cannot be compared with them.
        """
        updates = self._updates
        groups = labels_in_order([split_names(batch, "batch")[1]], {"groups": groups})["groups"]
        batch = self.reorder_features(batch, column_names(batch), "batch")
        if missing != "refuse":
            sides, along = select_rows({"batch": batch}, {"groups": groups}, missing=missing)
            batch, groups = sides["batch"], along["groups"]
        rows, broken = updates.check_rows(batch, groups)

        def extend(stored: str | None) -> tuple[StreamVerdict, str]:
            stream = updates.begin() if stored is None else Stream.from_text(stored)
            verdict = updates.broken(stream, len(rows), broken) if broken else updates.apply(stream, rows)
            if verdict.state in ("alert", "watch") and (lengths := updates.describe_lengths(rows)):
                state(lengths)
            return verdict, stream.as_text()

        return self._store("update", _STREAM, extend)

    def _store(self, kind: Kind, name: str, extend: Callable[[str | None], tuple[AnyVerdict, str]]) -> AnyVerdict:
        """Return the verdict that follows from the stored state, and store both; the state is None at the start."""
        verdicts: list[AnyVerdict] = []

        def write(history: Writer) -> None:
            new, state = extend(history.state(name))
            verdicts.append(new)
            history.add(kind, new.to_dict(), {name: state})

        problem = write_or_warn(self._history, write)
        if not verdicts:
            verdicts.append(extend(None)[0])
        return replace(verdicts[0], notes=(*verdicts[0].notes, problem)) if problem else verdicts[0]

    def acknowledge(self) -> None:
        """Acknowledge alarms, and restart the evidence from checks and from the stream."""
        with self._history.open_for_writing() as history:
            states = {_EVIDENCE: StreamEvidence.restart(history.state(_EVIDENCE)).as_text()}
            if history.state(_STREAM) is not None:
                states[_STREAM] = self._updates.begin().as_text()
            history.write(states)

    def history(self, kind: Kind = "check", last: int | None = None) -> list[dict[str, Any]]:
        """Return earlier verdicts with their times, as plain values; with `last`, only that many."""
        check.choice(kind, ("check", "update"), "kind")
        return self._history.events(kind, check.optional_count(last, "last"))

    @draws_axes
    def plot(self, measure: str | None = None, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the drift of all checks together with their thresholds.

        Parameters
        ----------
        measure : str, optional
            Which measure of the checks to draw. Default: the first.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        title : str, optional
            Title of the picture.

        Returns
        -------
        matplotlib Axes
        """
        checks = self.history()
        if not checks:
            raise ValueError("the monitor must have checked encodings before they can be drawn, got no check")
        names = tuple(score["name"] for score in checks[0]["scores"])
        name = names[0] if measure is None else check.choice(measure, names, "measure")
        return draw_drift(checks, name, ax)

    def save(self, folder: str | Path, *, keep_rows: bool = False, overwrite: bool = False) -> None:
        """Save the monitor to a directory, which then keeps its history, or to a single file.

        Parameters
        ----------
        folder : path
            Directory, which is created if missing. A name that ends in `.npz` is a single file without a history.
        keep_rows : bool
            Whether to save the rows themselves, which `update` needs. Otherwise, only rotated rows are saved, which
            have the same lengths and distances but hide the encoder's axes.
        overwrite : bool
            Whether to replace an existing monitor. Its history is kept, but evidence starts anew.
        """
        place, setting = kinds.path(folder, "folder"), self._setting
        plain, arrays = setting.reference.to_stored(keep_rows=keep_rows)
        if setting.unchanged is not None:
            arrays |= {f"null_{name}": value for name, value in vars(setting.unchanged).items()}
        plain |= {name: getattr(setting, name) for name in (*_PLAIN, "doubts")}
        plain["measures"] = [importable_name(measure) for measure in setting.measures]
        plain |= {"run_length": self.run_length, "about": self.about}
        self._history = monitor_files.write(place, plain, arrays, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> DriftMonitor:
        """Load a saved monitor, which continues its history.

        Raises
        ------
        FileNotFoundError
            If there is no monitor in `folder`.
        ValueError
            If the monitor is incomplete or damaged, or was saved by an incompatible version.
        """
        plain, arrays, history = monitor_files.read(kinds.path(folder, "folder"))
        measures = [get(name) for name in plain["measures"]]
        ref = Reference.from_stored(plain, arrays, measures)
        nulls = [arrays[f"null_{part}"] for part in ("drifts", "rows", "classes") if f"null_{part}" in arrays]
        monitor = cls.__new__(cls)
        floor = ReencodingNoise(*nulls) if nulls else None
        stored = {name: plain[name] for name in _PLAIN} | {"doubts": tuple(plain.get("doubts") or ())}
        monitor._setting = Setting(ref, measures, floor, **stored)
        monitor.run_length, monitor.about, monitor._history = plain["run_length"], plain["about"], history
        return monitor

    @cached_property
    def _updates(self) -> Updates:
        return Updates(self._setting.reference, self._setting.level, self._setting.seed)

    @property
    def _rule(self) -> AlarmRule:
        return AlarmRule(1 / self._setting.level if self.run_length is None else self.run_length, self.n_nulls or 1)

    def _verdict(
        self, outcome: CheckResult, evidence: StreamEvidence, about: dict[str, str], n_rows: int
    ) -> DriftVerdict:
        setting, primary = self._setting, outcome.scores[0]
        in_a_row = None
        if setting.unchanged is not None:
            in_a_row = evidence.as_sequence(primary.p_value, self._rule)
        by_sequence = self.run_length is not None
        state = decide_state(outcome.scores, setting.tolerance, in_a_row if by_sequence else None, outcome.lengths)
        todo = advice(
            state, outcome.scores, 0 if in_a_row is None else in_a_row.alarm_since, outcome.lengths, level=setting.level
        )
        if outcome.rotated and state == "ok":
            todo = _NEW_INDEX
        elif todo == _NOTHING and setting.reference.rows is None:
            todo = _DISTANCES_ONLY
        return DriftVerdict(
            state,
            outcome.scores,
            n_rows,
            basis="row resamples" if setting.unchanged is None else "re-encodings",
            n_nulls=setting.n_resamples if setting.unchanged is None else len(setting.unchanged),
            level=setting.level,
            realised=float("nan")
            if setting.unchanged is None
            else canary_check.false_alarm_limit(len(setting.unchanged), setting.level),
            tolerance=setting.tolerance,
            rows=outcome.rows,
            classes=outcome.classes,
            sequence=in_a_row,
            by_sequence=by_sequence,
            advice=todo,
            notes=(
                *([outcome.lengths] if outcome.lengths and state != "watch" else []),
                *differences(self.about, about),
            ),
            reason=outcome.reason,
            about=about,
            dependence=setting.reference.dependence if setting.unchanged is None else "",
        )
