"""Trials and their conditions, checked once, in equal numbers and in halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.doubting import UNITS_ADVICE, describe_units
from shesha.inputs import (
    MissingRows,
    Names,
    align_labels,
    coordinate_values,
    is_labelled,
    table_values,
    validation as check,
)
from shesha.inputs.class_labels import class_names, describe_other_kind, lacks_label, state_suspicious_classes
from shesha.inputs.identity import words_of
from shesha.inputs.table_columns import are_channels, column_names, data_channels
from shesha.kernels.condition_distances import Cube, count_trials, equal_sums
from shesha.kernels.repeated_rows import repeats, row_hashes
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.nulls.design_warnings import describe_far_row, describe_repeats
from shesha.support import provenance, types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.seeds import generator, spawn
from shesha.support.types import Array, Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.wording import agree, count, first_and_last
from shesha.views import Rdm

_TIME, _NEURON, _TRIAL = "time", "neuron", "trial"
_AXES = (_TRIAL, _NEURON, _TIME)
AXIS_WORDS = {
    _TIME: "time timepoint bin onset latency frame",
    _NEURON: "neuron unit cell neuroid channel electrode roi cluster voxel sensor",
    _TRIAL: "trial presentation event epoch sweep stimulus stimuli rep repeat repetition",
}
"""Words in the names of the axes of labelled arrays, in the singular; the first entry that fits decides."""
_MANY_CONDITIONS = 12
"""Number of conditions from which on most must have more than one trial, unless some were repeated by design."""
_MOST_LISTED = 8
"""Largest number of conditions that are all listed."""
_DESIGNED = 3
"""Smallest median number of trials of those conditions that repeat, if they were repeated by design."""
_MANY_TRIALS, _BLOCKED, _FEW_STRETCHES = 20, 0.5, 2
"""Number of trials, share of the changes of condition in random order below which conditions are blocked, and number
of stretches of each condition up to which circular shifts hardly differ from the recorded order."""
_NO_TRIAL = "; no trial has all neurons, so neurons recorded in different trials must be analysed one set at a time"
FEWEST_CONDITIONS = 3
_TELLING = 8
"""Number of spike counts other than 0 from which on equal trials are copies rather than a coincidence."""
Conditions = ArrayLike | str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Trials:
    """Responses of neurons in trials, in the order of recording."""

    values: Array
    """Responses of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), as float64."""
    codes: Labels
    """Code for the condition of each trial; -1 for a trial that is left out."""
    names: tuple[str, ...]
    """Names of the conditions."""
    source: Any = None
    """The input array if its axes are named; None for other inputs."""
    notes: tuple[str, ...] = ()
    used: Index | None = None
    """Places of the trials in the input; None if all trials are used."""
    neurons: Index | None = None
    """Places of the neurons in the input; None if all neurons are used."""
    n_total: int = 0
    """Number of trials in the input."""
    given: Any = None
    """The input, whose row names align further labels."""

    @classmethod
    def build(
        cls,
        X: Any,
        conditions: Conditions | None,
        name: str = "X",
        *,
        min_trials: int = 2,
        missing: MissingRows = "refuse",
        runs: Conditions | None = None,
    ) -> Trials:
        """Check responses and conditions; leave out trials without either or a run, and conditions with few trials.

        Trials and neurons that are left out are stated, and conditions are noted.
        """
        trials = cls.from_responses(_trials_first(X, conditions, name), name, missing=missing)
        if conditions is None:
            return trials
        source = X if trials.source is None else trials.source
        try:
            columns = _columns(source, conditions, trials.n_total, name)
        except ValueError as error:
            # Epochs of MNE remember the trials that were dropped.
            if str(error).endswith(f"trials, got {len(getattr(X, 'drop_log', ()))}"):
                raise ValueError(f"{error}; {name} lacks dropped epochs, so pass those of {name}.selection") from error
            n_columns = (*np.shape(X), 0, 0)[1]
            if np.ndim(X) == 3 and trials.source is None:
                axes = [k for k, n in enumerate(np.shape(X)) if k and str(error).endswith(f"trials, got {n}")]
                hint = (
                    f"; if trials are along axis {axes[0]}, pass numpy.moveaxis({name}, {axes[0]}, 0)" if axes else ""
                )
                raise ValueError(
                    f"{error}; the axes of {name} are trials, neurons and times, got {np.shape(X)}{hint}"
                ) from error
            if not str(error).endswith(f"trials, got {n_columns}") or n_columns == trials.n_total:
                raise
            raise ValueError(
                f"{error}, which is the number of columns of {name}; if its rows are neurons, pass {name}.T"
            ) from error
        known = ~np.any([lacks_label(column) for column in columns], axis=0)
        trials = trials.keep(trials.take(known), "without a condition")
        if runs is not None:
            lacking = np.any([lacks_label(part) for part in _columns(source, runs, trials.n_total, name, "runs")], 0)
            trials = trials.keep(trials.take(~lacking), "without a run")
        columns = [trials.take(column) for column in columns]
        codes, names = _combination_codes(columns, trials.n_trials, "conditions", _category_orders(conditions))
        for column in columns:
            levels = class_names(check.labels(column, trials.n_trials, "conditions", min_classes=1)[1])
            if text := describe_other_kind(levels, "condition"):
                provenance.state_warning(text)
            # Signed numbers, such as contrasts, may be -1 as well.
            is_signed = column.dtype.kind in "if" and (np.unique(column)[1:2] < 0).any()
            if not is_signed:
                state_suspicious_classes(column, "conditions")
        counts = np.bincount(codes, minlength=len(names))
        repeated = counts[counts > 1]
        # Numbers that repeat by chance, such as times, do so once; texts were given to conditions.
        is_text = any(column.dtype.kind in "OUS" for column in columns)
        if (
            len(names) >= _MANY_CONDITIONS
            and 2 * np.count_nonzero(counts == 1) > len(names)
            and (len(repeated) < 2 or (not is_text and np.median(repeated) < _DESIGNED))
        ):
            advice = (
                "Pass only trials of conditions that repeat"
                if is_text
                else (
                    "If these are measurements, divide them into classes first, such as with pandas.qcut(values, 8); "
                    "otherwise pass only trials of conditions that repeat"
                )
            )
            raise ValueError(
                f"conditions must repeat, got {len(names)} different values in {trials.n_trials} trials, of which "
                f"{len(repeated)} occur more than once ({check.join_items(names)}). {advice}"
            )
        few = np.flatnonzero(counts < min_trials)
        number = np.cumsum(counts >= min_trials) - 1
        codes = np.where(counts[codes] >= min_trials, number[codes], -1).astype(np.intp)
        kept = tuple(condition for k, condition in enumerate(names) if counts[k] >= min_trials)
        if len(kept) > 1:
            is_long = len(kept) > _MOST_LISTED
            listed = first_and_last(kept, _MOST_LISTED)
            provenance.state(f"{len(kept)} conditions: {listed}" if is_long else f"conditions {listed}")
        _state_conditions_of_parts(codes, kept)
        _state_equal_means(trials.rates, codes, name)
        state_neurons_that_end(trials.rates, codes, name)
        if runs is None:
            _state_slow_drift(trials.rates, codes, name)
        else:
            known = trials.label_codes(X, runs, "runs")
            _state_constant_in_runs(replace(trials, codes=codes), *known, name)
            _state_restarted_runs(replace(trials, codes=codes), *known, name)
        left_out = check.join_items(names[k] for k in few)
        note = (f"conditions with fewer than {min_trials} trials are left out: {left_out}",) if len(few) else ()
        if 2 * len(few) > len(names):
            n_kept = trials.n_trials - int(counts[few].sum())
            provenance.state(
                f"{len(kept)} of {len(names)} conditions, with {n_kept:,} of {count(trials.n_trials, 'trial')}: the "
                f"others have fewer than {min_trials} trials and are left out"
            )
        return replace(trials, codes=codes, names=kept, notes=(*trials.notes, *note))

    @classmethod
    def from_responses(cls, X: Any, name: str = "X", *, min_trials: int = 2, missing: MissingRows = "refuse") -> Trials:
        """Check responses; leave out trials and neurons without any response, and incomplete trials if asked to."""
        check.choice(missing, ("refuse", "drop"), "missing")
        values, source = _responses(X, name)
        known = ~np.isnan(values)
        _require_counted_zeros(values, known, name)
        recorded: Mask = np.asarray(known.any(axis=tuple(range(1, values.ndim))))
        alive: Mask = np.asarray(known.any(axis=(0, 2) if values.ndim == 3 else 0))
        if not recorded.any():
            raise ValueError(f"{name} must contain responses, got only NaN")
        neurons = None if alive.all() else np.flatnonzero(alive)
        if neurons is not None:
            text = f"{int((~alive).sum())} of {count(len(alive), 'feature')} without any number (NaN) left out"
            provenance.state(text if name == "X" else f"{name}: {text}")
            values = values[:, neurons]
        if values.ndim == 3 and source is None:
            axes = (
                f"{count(len(values), 'trial')} x {count(values.shape[1], 'neuron')} x {count(values.shape[2], 'time')}"
            )
            provenance.state(f"{name}: {axes}")
        state_uneven_neurons(values, name, X if neurons is None else None)
        _state_zero_padding(values, name)
        one = np.zeros(len(values), dtype=np.intp)
        trials = cls(
            values, one, ("",), source=source, notes=(), used=None, neurons=neurons, n_total=len(values), given=X
        )
        trials = trials.keep(recorded, "without any number (NaN)", name)
        if missing == "drop":
            complete = np.asarray(~np.isnan(trials.values).any(axis=tuple(range(1, values.ndim))))
            if not complete.any():
                raise ValueError(f"{name} must have a trial without NaN for missing='drop', got none{_NO_TRIAL}")
            trials = trials.keep(complete, "with NaN", name)
        trials._require_complete(name, neurons)
        rows = trials.values.reshape(trials.n_trials, -1)
        check.shape(rows.shape, name, min_trials, 1)
        n_repeats = len(repeats(_telling_hashes(rows)))
        for text in (
            describe_repeats(n_repeats, trials.n_trials, "trial"),
            describe_far_row(rows, "trial", trials.used),
        ):
            if text:
                provenance.state_warning(text if name == "X" else f"{name}: {text}")
        return trials

    def keep(self, mask: Mask, why: str, name: str = "X") -> Trials:
        """Leave out the trials outside the mask, and state how many and why."""
        if mask.all():
            return self
        text = f"{int((~mask).sum())} of {count(self.n_total, 'trial')} {why} left out"
        provenance.state(text if name == "X" else f"{name}: {text}")
        used = np.flatnonzero(mask) if self.used is None else self.used[mask]
        return replace(self, values=self.values[mask], codes=self.codes[mask], used=used)

    def take(self, labels: Any, name: str = "labels") -> Any:
        """Return one entry per trial of the input for the trials that are used."""
        if self.used is None or labels is None:
            return labels
        array = to_host(labels, name)
        if array.shape[:1] != (self.n_total,):
            raise ValueError(f"{name} must have one entry per trial ({self.n_total}), got shape {array.shape}")
        return array[self.used]

    def label_codes(self, X: Any, labels: Conditions, name: str) -> tuple[Labels, tuple[str, ...]]:
        """Return codes of further labels, such as runs, for the trials that are used."""
        columns = _columns(X if self.source is None else self.source, labels, self.n_total, "X", name)
        columns = [self.take(column) for column in columns]
        return _combination_codes(columns, self.n_trials, name, _category_orders(labels))

    def _require_complete(self, name: str, neurons: Index | None) -> None:
        """Refuse responses with NaN in some of the trials that are used, and name the neurons."""
        missing = np.isnan(self.values)
        if not missing.any():
            return
        trials = np.flatnonzero(missing.any(axis=tuple(range(1, missing.ndim))))
        columns = np.flatnonzero(missing.any(axis=(0, 2) if missing.ndim == 3 else 0))
        named = columns if neurons is None else neurons[columns]
        rows = trials if self.used is None else self.used[trials]
        call = name if name.isidentifier() else "X"
        # Times that all neurons of a trial lack are padding.
        padded = missing.ndim == 3 and bool((missing.all(axis=1) == missing.any(axis=1)).all())
        known = f"~np.isnan({call}).any(axis={(0, 1) if padded else 0 if missing.ndim == 2 else (0, 2)})"
        hint = f"times, pass {call}[:, :, {known}]" if padded else f"neurons, pass {call}[:, {known}]"
        drop = "; to leave out these trials, pass missing='drop'" if len(rows) < len(self.values) else _NO_TRIAL
        raise ValueError(
            f"{name} must have a number for every neuron in every trial, got NaN in {count(len(named), 'neuron')} "
            f"(columns {check.join_items(named)}) in {count(len(rows), 'trial')} (rows {check.join_items(rows)}). To "
            f"leave out these {hint}{drop}"
        )

    def state_blocked_conditions(self, *, shifted: bool = False) -> bool:
        """Warn in the result if trials of one condition follow one another, so that drift looks like a difference.

        Circular shifts preserve such stretches, and need warning only if there are hardly more than conditions. Returns
        whether trials of one condition follow one another.
        """
        codes = self.codes[self.codes >= 0]
        shares = np.bincount(codes, minlength=1) / max(1, len(codes))
        n_changes = int((np.diff(codes) != 0).sum())
        expected = (len(codes) - 1) * (1 - float((shares**2).sum()))
        if self.n_conditions < 2 or len(codes) < _MANY_TRIALS or n_changes >= _BLOCKED * expected:
            return False
        effect = "drift looks like a difference between conditions"
        remedy = (
            "are in the order of recording, compare conditions within runs, or use null='shift' where it is offered"
        )
        if shifted:
            effect = "circular shifts cannot tell drift from a code"
            remedy = "were only sorted, pass them in the order of recording, or null='permute'"
        if not shifted or n_changes < _FEW_STRETCHES * self.n_conditions:
            provenance.state_warning(
                f"the trials of each condition follow one another ({n_changes + 1} stretches of {self.n_conditions} "
                f"conditions), so {effect}. If trials {remedy}"
            )
        return True

    def state_dependent_stretches(self, runs: Labels) -> None:
        """Warn in the result if trials of a condition follow one another in a run and are alike, as frames of a block.

        Permuting such trials within runs breaks up the stretches, so that p-values are too small.
        """
        inside = self.codes >= 0
        codes, runs = self.codes[inside], np.unique(runs[inside], return_inverse=True)[1]
        counts = np.zeros((runs.max(initial=-1) + 1, codes.max(initial=-1) + 1))
        np.add.at(counts, (runs, codes), 1)
        totals = counts.sum(axis=1)
        expected = float(((totals - 1) * (1 - ((counts / totals[:, None]) ** 2).sum(axis=1))).sum())
        together = np.diff(runs) == 0
        n_changes = int((np.diff(codes) != 0)[together].sum())
        if len(codes) < _MANY_TRIALS or n_changes >= _BLOCKED * expected:
            return
        rates = self.rates[inside]
        rows = _subtract_means(_subtract_means(rates / safe_unit(rates), runs), codes)
        same = np.flatnonzero(together & (np.diff(codes) == 0))
        total = float((rows**2).sum() / len(rows)) * len(same)
        alike = float((rows[same] * rows[same + 1]).sum()) / total if total > 0 else 0.0
        # By chance, single neurons deviate alike by one over the square root of the number of trials.
        if alike > max(_ALIKE_IN_RUNS, 4 / max(1, len(same)) ** 0.5):
            provenance.state_warning(
                f"p-values are too small, because trials of one condition that follow one another within runs deviate "
                f"alike (correlation {alike:.2f}), like the frames of a block: average the trials of each stretch"
            )

    @property
    def n_trials(self) -> int:
        """Number of trials that have responses and a condition, including those of conditions that are left out."""
        return len(self.values)

    @property
    def n_neurons(self) -> int:
        """Number of neurons."""
        return int(self.values.shape[1])

    @property
    def column_noun(self) -> str:
        """What the columns are called: neurons, unless their names show that they are channels or voxels."""
        return "columns" if are_channels(self.given if self.source is None else self.source) else "neurons"

    @property
    def n_conditions(self) -> int:
        """Number of conditions that have enough trials."""
        return len(self.names)

    @property
    def alternate(self) -> bool:
        """Whether odd and even trials have too few conditions in common to compare distances, as in a fixed cycle."""
        odd, even = (set(self.codes[start::2].tolist()) for start in (0, 1))
        return len((odd & even) - {-1}) < FEWEST_CONDITIONS

    @property
    def rates(self) -> Matrix:
        """Responses averaged over time, of shape (n_trials, n_neurons)."""
        if self.values.ndim == 2:
            return cast(Matrix, self.values)
        # Sums of the largest numbers would overflow.
        unit = safe_unit(self.values)
        rates: Matrix = self.values.mean(axis=2) if unit == 1 else (self.values / unit).mean(axis=2) * unit
        return rates

    @property
    def silent(self) -> Mask:
        """Mask of the neurons that respond in no trial."""
        return np.asarray(~self.values.any(axis=(0, 2) if self.values.ndim == 3 else 0))

    def take_neurons(self, neurons: Index | Mask) -> Trials:
        """Return the same trials for some of the neurons."""
        return replace(self, values=self.values[:, neurons], source=None)


def require_conditions(model: Rdm, conditions: Sequence[Any] | None) -> None:
    """Refuse distances of a model that lack some of the recorded conditions, and name these if names are known."""
    if conditions is None or model.names is None or model.names.kind != "text":
        return
    known = model.names.as_text().values[~model.rows_without_distances]
    names = Names.build(np.array(conditions, dtype=object)).as_text().values
    lacking = names[np.flatnonzero(~np.isin(names.astype(str), known.astype(str)))]
    if 0 < len(lacking) < len(names):
        raise ValueError(
            f"model must have distances of all {len(names)} conditions, got none of {check.join_items(lacking)}; leave "
            f"{agree(len(lacking), 'this condition', 'these conditions')} out of X, or add "
            f"{agree(len(lacking), 'it', 'them')} to the model"
        )


def _require_counted_zeros(values: Array, known: Mask, name: str) -> None:
    """Refuse tables of counts with NaN instead of 0, as pivot tables have for neurons without a spike in a trial."""
    counts = values[known]
    # Neurons or trials that were not recorded lack all numbers or none.
    n_mixed = len(known) - int(known.reshape(len(known), -1).all(axis=1).sum())
    if not counts.size or 2 * n_mixed <= len(known) or counts.min() < 1 or (counts != np.floor(counts)).any():
        return
    if len(np.unique(counts)) < _FEWEST_COUNTS or counts.size > _MOSTLY_COUNTED * known.size:
        return
    raise ValueError(
        f"{name} must have 0 where a neuron had no spike, got NaN in {known.size - counts.size:,} of {known.size:,} "
        f"entries and counts from {counts.min():g}, as a pivot table has; pass {name}.fillna(0) or "
        f"numpy.nan_to_num({name})"
    )


_FEWEST_COUNTS, _MOSTLY_COUNTED = 3, 0.95
"""Smallest number of different counts, and largest share of entries with one, of a table that lacks its zeros."""


def _state_constant_in_runs(trials: Trials, runs: Labels, run_names: Sequence[str], name: str) -> None:
    """Warn of neurons that are constant in a run but not in others, such as voxels outside its mask."""
    member = (trials.codes[:, None] == np.arange(trials.codes.max(initial=0) + 1)).astype(np.float64)
    for run, called in enumerate(run_names):
        own = runs == run
        if own.all() or own.sum() < _FEWEST_CONSTANT:
            continue
        first = trials.rates[own][0]
        differ = trials.rates != first
        # A neuron that responds to one condition only is silent while others are shown.
        share = (differ[~own].T @ member[~own]) / (member[~own].sum(axis=0) + 1)
        log_chance = (member[own].sum(axis=0) * np.log1p(-share)).sum(axis=1)
        unlikely = differ[~own].all(axis=0) | (log_chance < np.log(_RARE / trials.n_neurons))
        columns = np.flatnonzero(~differ[own].any(axis=0) & unlikely)
        if n := len(columns):
            value = "constant" if first[columns].any() else "0"
            places = check.join_items(columns if trials.neurons is None else trials.neurons[columns])
            provenance.state_warning(
                f"{'' if name == 'X' else f'{name}: '}{n} of {trials.n_neurons} {trials.column_noun} (column"
                f"{'s' * (n > 1)} {places}) {agree(n, 'is', 'are')} {value} in all trials of run {called}, as voxels "
                "outside its mask are, and make distances smaller: leave them out of all runs"
            )


_FEWEST_CONSTANT = 3
"""Smallest number of trials of a run in which equal responses are no coincidence."""


def _state_restarted_runs(trials: Trials, runs: Labels, run_names: Sequence[str], name: str) -> None:
    """Warn of runs that follow one another again, as those of several sessions do that each begin with run 1."""
    starts = np.diff(runs, prepend=-1) != 0
    order = runs[starts]
    cycle = order[: len(run_names)]
    n_cycles = len(order) // len(cycle)
    pairs = np.unique(np.column_stack([runs, trials.codes, np.cumsum(starts)]), axis=0)
    # Trials that are sorted by condition go through all runs once for each, and odd and even trials alternate.
    n_repeated = len(pairs) - len(np.unique(pairs[:, :2], axis=0))
    if min(n_cycles, len(cycle)) < 2 or 4 * n_repeated < len(pairs) or 2 * len(order) > len(runs):
        return
    if np.array_equal(order, np.tile(cycle, n_cycles)):
        provenance.state_warning(
            f"{'' if name == 'X' else f'{name}: '}the runs {check.join_items(run_names[run] for run in cycle)} follow "
            f"one another {n_cycles} times. If each session numbers its runs anew, trials of several sessions count as "
            "one run: pass both, as in runs=numpy.column_stack([session, run])"
        )


def _state_conditions_of_parts(codes: Labels, names: Sequence[str]) -> None:
    """Warn if parts of the session have no condition in common, and several conditions in turn each."""
    places = [np.flatnonzero(codes == k) for k in range(len(names))]
    parts: list[list[int]] = []
    starts, reached = [], -1
    for k in sorted(range(len(names)), key=lambda k: int(places[k][0])):
        if places[k][0] > reached:
            parts.append([])
            starts.append(int(places[k][0]))
        parts[-1].append(k)
        reached = max(reached, int(places[k][-1]))
    # Single conditions in stretches of their own are a block design, which has its own warning.
    lengths = np.diff([*starts, len(codes)])
    if len(parts) > 1 and min(map(len, parts)) > 1 and lengths.min() >= _MANY_TRIALS:
        before, after = (check.join_items((names[k] for k in sorted(part)), most=3) for part in parts[:2])
        offset = _common_offset(*([names[k] for k in part] for part in parts[:2]))
        advice = (
            f"The latter codes are the former plus {offset:g}, as if status bits had been set: subtract it if they are "
            "the same conditions"
            if offset
            else "If their codes differ by an offset, as of status bits, subtract it"
        )
        provenance.state_warning(
            f"conditions {before} occur only before trial {starts[1]:,}, and {after} only from it on, so drift looks "
            f"like a difference between them. {advice}"
        )


def _common_offset(first: Sequence[str], second: Sequence[str]) -> float:
    """Return by how much the codes of some conditions differ from those of others, if all by much; 0 otherwise."""
    try:
        codes, others = (np.sort(np.array(side, dtype=np.float64)) for side in (first, second))
    except ValueError:
        return 0.0
    differences, counts = np.unique(others[:, None] - codes, return_counts=True)
    offset = float(differences[counts.argmax()])
    is_far = abs(offset) > 2 * max(np.ptp(codes), np.ptp(others))
    return offset if is_far and counts.max() == min(len(codes), len(others)) else 0.0


def _state_zero_padding(values: Array, name: str) -> None:
    """Warn of trials of several lengths whose last times are 0 in all neurons, as if short trials had been filled."""
    if values.ndim != 3 or min(values.shape) < 2:
        return
    silent = (values == 0).all(axis=1)
    n_times = silent.shape[1]
    padded = np.where(silent.all(axis=1), n_times, silent[:, ::-1].argmin(axis=1))
    first = n_times - padded
    padding = np.arange(n_times) >= first[:, None]
    short = (padded >= _PADDED) & (padded < n_times)
    # If neurons fire rarely, silence ends again.
    is_filled = (silent & ~padding).sum() <= _SILENT * padding[short].sum()
    if is_filled and short.sum() >= max(_PADDED, _SHORT * len(values)) and np.ptp(first[padded < n_times]) > 0:
        start = int(first[short].min())
        provenance.state_warning(
            f"{'' if name == 'X' else f'{name}: '}all neurons are 0 up to the last time in {short.sum():,} of "
            f"{len(values):,} trials, from time {start:,} of {n_times:,} on at the earliest, as in short trials filled "
            f"with zeros, so that the length of a trial looks like a response: pass the times of all trials, "
            f"{name if name.isidentifier() else 'X'}[:, :, :{start}]"
        )


_PADDED, _SILENT, _SHORT = 2, 0.05, 0.05
"""Fewest times that are filled, largest share of silent times that are not, and smallest share of short trials."""


def state_neurons_that_end(rates: Matrix, codes: Labels, name: str) -> None:
    """Warn of neurons that are 0 from some trial on, or up to it, more often than their other trials would explain."""
    if len(rates) < _MANY_TRIALS or not rates.size or rates.min() < 0:
        return
    # A neuron that responds to one condition only is silent while others are shown, so conditions count by themselves.
    member = (codes[:, None] == np.arange(max(1, codes.max() + 1))).astype(np.float64)
    ends = []
    for responds, shown in ((rates > 0, member), (rates[::-1] > 0, member[::-1])):
        # Number of trials up to the last response, and those after it in each condition.
        length = len(rates) - np.argmax(responds[::-1], axis=0)
        shown_before = np.cumsum(shown, axis=0)[length - 1]
        after = shown.sum(axis=0) - shown_before
        share = (responds.T @ shown) / (shown_before + 1)
        log_chance = (after * np.log1p(-share)).sum(axis=1)
        ends.append(responds.any(axis=0) & (log_chance < np.log(_RARE / rates.shape[1])) & (length < len(rates)))
    if n_ended := int((ends[0] | ends[1]).sum()):
        about = "" if name == "X" else f"{name}: "
        provenance.state_warning(
            f"{about}{n_ended} of {count(rates.shape[1], 'neuron')} {agree(n_ended, 'is', 'are')} 0 in all trials "
            "after or before some trial, as units that were lost or not observed, so drift may be theirs: leave them "
            "out, or mark these trials as NaN"
        )


def _subtract_means(rows: Matrix, codes: Labels) -> Matrix:
    sums = np.zeros((codes.max() + 1, rows.shape[1]))
    np.add.at(sums, codes, rows)
    return np.asarray(rows - (sums / np.bincount(codes)[:, None])[codes])


def _state_equal_means(rates: Matrix, codes: Labels, name: str) -> None:
    """Warn in the result if all conditions have the same mean in every neuron, so that trials of each sum to zero."""
    inside = codes >= 0
    rows, codes = rates[inside], np.unique(codes[inside], return_inverse=True)[1]
    if not len(rows) or np.bincount(codes).min() < 2 or codes.max() < 1 or not np.isfinite(rows).all():
        return
    rows = rows / safe_unit(rows)
    rows -= rows.mean(axis=0)
    total, within = (float((values**2).sum()) for values in (rows, _subtract_means(rows, codes)))
    if total > 0 and total - within <= _ROUNDED * total:
        text = (
            f"the means of all {codes.max() + 1} conditions are equal in every neuron, as if each condition had been "
            "centred or standardised by itself, so distances between conditions mean nothing, and halves of a "
            "condition mirror one another. Standardise over all trials, or within runs"
        )
        provenance.state_warning(text if name == "X" else f"{name}: {text}", questions_input=True)


_ROUNDED = 1e-10
"""Share of the variance between conditions that is rounding."""


def _state_slow_drift(rates: Matrix, codes: Labels, name: str) -> None:
    """State that trials that follow one another deviate alike from the means of their conditions."""
    inside = codes >= 0
    rows, codes = rates[inside], np.unique(codes[inside], return_inverse=True)[1]
    if len(rows) < _MANY_TRIALS:
        return
    rows = _subtract_means(rows / safe_unit(rows), codes)
    total = float((rows**2).sum())
    alike = float((rows[1:] * rows[:-1]).sum()) / total if total > 0 else 0.0
    if alike > _ALIKE:
        text = (
            "trials that follow one another deviate alike from the means of their conditions (correlation "
            f"{alike:.2f}), as with offsets of runs, a drift, or frames of one trial as rows, so their distances show "
            "this rather than conditions. Subtract the mean of each run, or average the frames of a trial"
        )
        provenance.state_warning(text if name == "X" else f"{name}: {text}")


_RARE = 1e-6
"""Probability, over all neurons, below which a neuron is not silent by chance up to an end of the session."""
_ALIKE, _ALIKE_IN_RUNS = 0.5, 0.1
"""Correlation of the deviations of neighbouring trials above which they are mostly a drift, and above which those of
one condition in a run may not be permuted singly."""


def state_uneven_neurons(values: Array, name: str, table: Any = None) -> None:
    """State how many neurons are 0 in all trials, and warn in the result if some determine the distances alone."""
    about = "" if name == "X" else f"{name}: "
    with np.errstate(over="ignore"):
        rows = np.nan_to_num(values if values.ndim == 2 else values.mean(axis=2))
    n_silent = int((~values.any(axis=(0, 2) if values.ndim == 3 else 0)).sum())
    total = rows.shape[1]
    noun = "column" if are_channels(table) else "neuron"
    if n_silent:
        text = f"{about}{n_silent} of {count(total, noun)} are 0 in all trials"
        if 4 * n_silent >= total and total >= _TELLING:
            provenance.state_warning(
                f"{text}, as voxels outside a mask are, and make distances smaller. Leave them out"
            )
        else:
            provenance.state(text)
    rows, names = rows / safe_unit(rows), column_names(table)
    variances = rows.var(axis=0)
    largest = int(np.argmax(variances))
    if text := describe_units(rows, "columns", "euclidean", None if names is None else names.values.tolist()):
        provenance.state_warning(
            f"{about}{text}, so they dominate distances that are not noise-normalised. {UNITS_ADVICE}"
        )
    elif total >= _TELLING and variances[largest] > _NEARLY_ALL * variances.sum() > 0:
        share = 100 * variances[largest] / variances.sum()
        provenance.state_warning(
            f"{about}column {largest if names is None else names.values[largest]} has {share:.3g} % of the variance of "
            f"all {count(total, noun)}, as a channel in another unit has, so it dominates distances that are not "
            "noise-normalised. Leave it out, or standardise the columns"
        )


_NEARLY_ALL = 0.95
"""Share of the variance of all neurons that one of them hardly has in the same unit."""


def _telling_hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Return a hash of each trial whose responses cannot be equal to those of another trial by chance."""
    telling = (rows != np.floor(rows)).any(axis=1) | ((rows != 0).sum(axis=1) >= _TELLING)
    return row_hashes(rows[telling])


def state_shared_trials(responses: Mapping[str, Matrix]) -> None:
    """Warn in the result if a session contains trials of an earlier one, as a session that was passed twice."""
    hashes = {name: _telling_hashes(rows) for name, rows in responses.items()}
    for (first, earlier), (name, own) in combinations(hashes.items(), 2):
        n_shared = int(np.isin(own, earlier).sum())
        if responses[first].shape[1] == responses[name].shape[1] and n_shared:
            provenance.state_warning(
                f"{n_shared} of {count(len(responses[name]), 'trial')} of session {name} are also in session {first}, "
                "so their agreement is no evidence. Pass each session once"
            )


def _responses(X: Any, name: str) -> tuple[Array, Any]:
    """Return responses (trials, neurons[, times]), possibly with NaN, and the labelled array; None if unlabelled."""
    source = order_axes(X, name) if is_labelled(X) else None
    if hasattr(X, "get_data") and hasattr(X, "get_channel_types"):
        X = _data_channels(X, name)
    array = check.dense(X if source is None else source, name)
    if array.dtype.kind == "O" and not array.ndim:
        hint = f"; pass {name}.get_data()" if hasattr(X, "get_data") else ""
        if hasattr(X, "measurements") and hasattr(X, "obs_descriptors"):
            known = check.join_items(map(str, X.obs_descriptors))
            hint = f" of rsatoolbox; convert it with from_rsatoolbox({name}, conditions, runs), whose names are {known}"
        raise TypeError(f"{name} must be an array of responses (trials x neurons), got a {type(X).__name__}{hint}")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(f"{name} must be (n_trials, n_neurons) or (n_trials, n_neurons, n_times), got {array.shape}")
    if array.dtype.kind == "O":
        array = numbers_of_objects(array, name)
    flat = check.raw_matrix(array.reshape(len(array), -1), name, min_rows=1)
    values = np.ascontiguousarray(flat, dtype=np.float64).reshape(array.shape)
    if np.isinf(values).any():
        rows = np.flatnonzero(np.isinf(values).any(axis=tuple(range(1, values.ndim))))
        raise ValueError(f"{name} must be finite, got infinity in rows {check.join_items(rows)}")
    return values, source


def _data_channels(epochs: Any, name: str) -> Array:
    """Return the good channels of data of MNE epochs, and state those left out, such as EOG, triggers and bad ones."""
    types = dict(zip(epochs.ch_names, epochs.get_channel_types(), strict=True))
    bad = epochs.info["bads"]
    try:
        used = data_channels(epochs)
    except ValueError as error:
        listing = check.join_items(dict.fromkeys(types.values()))
        raise ValueError(
            f"{name} must have channels of data, got {listing}; to use all, pass {name}.get_data()"
        ) from error
    aside = [f"{channel} ({types[channel]})" for channel in types if channel not in used and channel not in bad]
    aside += [f"{channel} (bad)" for channel in bad]
    if aside:
        provenance.state(f"{name}: {len(aside)} of {count(len(types), 'channel')} left out: {check.join_items(aside)}")
    several = sorted({types[channel] for channel in used})
    if len(several) > 1:
        provenance.state_warning(
            f"{name}: channels of several types ({', '.join(several)}) have different units, so one type dominates "
            "distances. Pass one type at a time, such as epochs.pick('mag'), or standardised channels"
        )
    return np.asarray(epochs.get_data(picks=used))


def _role(dim: object) -> str | None:
    """Return what lies along an axis, by the words of its name; ids of units and trials are not times."""
    words = words_of(str(dim))
    words += [word.removesuffix("s") for word in words]
    known = [role for role, names in AXIS_WORDS.items() if set(words) & set(names.split())]
    if "id" in words and len(known) > 1:
        known.remove(_TIME)
    return known[0] if known else None


def order_axes(X: Any, name: str) -> Any:
    """Reorder the axes by their names; of three axes, one may have an unknown name."""
    roles = [_role(dim) for dim in X.dims]
    known = [role for role in roles if role is not None]
    if len(set(known)) < len(known) and len(roles) == 3:
        listing = ", ".join(f"{dim}{f' ({role})' if role else ''}" for dim, role in zip(X.dims, roles, strict=True))
        raise ValueError(
            f"{name} must have axes (trials, neurons, times), got {listing}; rename them trial, neuron, time"
        )
    missing = [role for role in _AXES if role not in known]
    if len(roles) == 3 and len(missing) == 1:
        roles[roles.index(None)] = missing[0]
    elif len(known) < len(roles) or _TRIAL not in known:
        return X
    return X.transpose(*sorted(X.dims, key=lambda dim: _AXES.index(roles[X.dims.index(dim)] or _TRIAL)))


def _trials_first(X: Any, conditions: Any, name: str) -> Any:
    """Move the axis of the coordinate that contains the conditions to the front, and times to the end."""
    named = [conditions] if isinstance(conditions, str) else conditions
    if not is_labelled(X) or not isinstance(named, list | tuple) or not named:
        return X
    if not all(isinstance(entry, str) and entry in X.coords for entry in named):
        return X
    axes = {coordinate_values(X, entry, name)[0] for entry in named}
    places = {str(dim): _role(dim) for dim in X.dims}
    trials = min(axes)
    if len(axes) > 1 or places[trials] not in (None, _TRIAL):
        return X
    others = [dim for dim in places if dim != trials]
    known = [places[dim] for dim in others]
    if len(others) == 2 and known == [None, None] and str(X.dims[0]) != trials:
        raise ValueError(
            f"{name} must have axes (trials, neurons, times), got {', '.join(map(str, X.dims))}; rename one of "
            f"{' and '.join(others)} to neuron or time"
        )
    if len(others) == 2 and (known[0] == _TIME or known[1] == _NEURON):
        others.reverse()
    return X.transpose(trials, *others)


def numbers_of_objects(array: Array, name: str) -> Array:
    """Return an array of objects as numbers; None and missing values of pandas become NaN."""
    from pandas import isna

    try:
        return np.where(isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must contain numbers only, got {error}") from error


def _columns(X: Any, labels: Conditions, n_trials: int, name: str, role: str = "conditions") -> list[NDArray[Any]]:
    """Return the columns of labels; with several columns, each combination of values is a condition."""
    found = _conditions_from_coordinates(X, labels, name, role)
    has_fields = getattr(getattr(found, "dtype", None), "names", None) is not None
    if not (hasattr(found, "get_columns") or isinstance(found, Mapping) or has_fields):
        found = align_labels(X, found, role, name)
    columns = [np.asarray(column) for column in _as_columns(found, n_trials, role)]
    if not columns:
        raise ValueError(f"{role} must have at least one column, got none")
    vectors = [check.label_vector(column, n_trials) for column in columns]
    for vector in vectors:
        if vector.ndim != 1:
            raise ValueError(f"{role} must be 1-D, one label per trial, got shape {vector.shape}")
        if len(vector) != n_trials:
            raise ValueError(f"{role} must have one entry for each of the {n_trials} trials, got {len(vector)}")
        check.require_scalars(vector, role)
    missing = np.array([lacks_label(vector) for vector in vectors])
    if len(vectors) > 1 and n_trials and missing.any(axis=0).all() and not missing.all(axis=1).any():
        lacking = ", ".join(f"{int(column.sum()):,} of column {place}" for place, column in enumerate(missing))
        raise ValueError(
            f"{role} must have a value in every column of some trial, got none ({lacking} are missing); if a missing "
            "value means none, such as no stimulus on one side, fill it with a value of its own (.fillna(0))"
        )
    return vectors


def _table_of_levels(labels: Any) -> Any:
    """Return an index of pandas with several levels as a table, and other labels as they are."""
    return labels.to_frame() if hasattr(labels, "to_frame") and hasattr(labels, "levels") else labels


def _as_columns(labels: Any, n_trials: int, role: str) -> list[Any]:
    """Split tables, lists of tuples and matrices of labels into columns."""
    labels = _table_of_levels(labels)
    if isinstance(labels, Mapping):
        return list(labels.values())
    if hasattr(labels, "iloc") and hasattr(labels, "columns"):
        return [labels.iloc[:, place] for place in range(labels.shape[1])]
    if hasattr(labels, "get_columns"):
        return [column.to_numpy() for column in labels.get_columns()]
    if isinstance(labels, list | tuple) and labels and all(isinstance(label, tuple) for label in labels):
        labels = _vector_of_objects(labels)
    array = labels if isinstance(labels, np.ndarray) else to_host(table_values(labels, role), role)
    if array.dtype.names:
        return [array[field].ravel() for field in array.dtype.names]
    array = check.label_vector(array, n_trials)
    if array.ndim == 2:
        if len(array) != n_trials:
            hint = "; pass the transpose" if array.shape[1] == n_trials else ""
            # A single row is as many labels as it has columns.
            n_labels = array.size if len(array) == 1 else len(array)
            raise ValueError(f"{role} must have one entry for each of the {n_trials} trials, got {n_labels}{hint}")
        return list(array.T)
    if array.dtype.kind == "O" and array.ndim == 1 and len(array):
        entries = array.tolist()
        widths = {len(entry) if isinstance(entry, tuple) else 0 for entry in entries}
        if len(widths) == 1 and widths != {0}:
            return [_vector_of_objects(column) for column in zip(*entries, strict=True)]
    return [array]


def _vector_of_objects(entries: Sequence[Any]) -> Array:
    vector = np.empty(len(entries), dtype=object)
    vector[:] = entries
    return vector


def _category_orders(labels: Any) -> list[tuple[str, ...] | None]:
    """Return, for each column of pandas, the names of its categories if they are ordered; an empty list for others."""
    labels = _table_of_levels(labels)
    table = hasattr(labels, "iloc") and hasattr(labels, "columns")
    types = list(labels.dtypes) if table else [getattr(labels, "dtype", None)]
    return [
        class_names(kind.categories) if kind is not None and getattr(kind, "ordered", False) else None for kind in types
    ]


def _combination_codes(
    columns: Sequence[NDArray[Any]], n_trials: int, role: str, orders: Sequence[tuple[str, ...] | None]
) -> tuple[Labels, tuple[str, ...]]:
    """Return a code per trial and the names of the combinations of values, in the order of ordered categories."""
    parts = []
    for place, column in enumerate(columns):
        codes, classes = check.labels(column, n_trials, role, min_classes=1)
        names, order = class_names(classes), orders[place] if place < len(orders) else None
        if order is not None:
            sequence = sorted(range(len(names)), key=lambda k: order.index(names[k]))
            codes, names = np.argsort(sequence)[codes], tuple(names[k] for k in sequence)
        parts.append((codes, names))
    if len(parts) == 1:
        return parts[0]
    codes, levels = np.unique(np.stack([code for code, _ in parts]), axis=1, return_inverse=True)[::-1]
    joined = [" ".join(part[1][level] for part, level in zip(parts, line, strict=True)) for line in levels.T]
    return codes.ravel().astype(np.intp), tuple(joined)


def _conditions_from_coordinates(X: Any, conditions: Any, name: str, role: str) -> Any:
    """Look up conditions by name among the coordinates of a labelled array."""
    named = [conditions] if isinstance(conditions, str) else conditions
    if not is_labelled(X):
        if isinstance(conditions, str):
            column = getattr(X, "columns", ())
            hint = f"; pass {name}[{conditions!r}], and only the columns of neurons as {name}"
            raise TypeError(
                f"{role} must be one label per trial if {name} has no named axes, got the name {conditions!r}"
                + hint * (conditions in column)
            )
        return conditions
    names = isinstance(named, list | tuple) and all(isinstance(entry, str) for entry in named)
    if not isinstance(conditions, str) and not (names and set(named) <= set(X.coords)):
        return conditions
    pairs = [coordinate_values(X, coordinate, name) for coordinate in named]
    for coordinate, (axis, _) in zip(named, pairs, strict=True):
        if axis != X.dims[0]:
            raise ValueError(f"{role} must be along the axis {X.dims[0]!r}, got {coordinate!r} along {axis!r}")
    return dict(zip(named, (values for _, values in pairs), strict=True))


def alternate(codes: Labels, n_parts: int) -> Index:
    """Alternate the trials of each condition between parts, so that each part contains every condition."""
    parts = np.zeros(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        parts[members] = np.arange(len(members)) % n_parts
    return parts


def means_of_known(values: Array) -> Array:
    """Mean of the values along the first axis that are not NaN; NaN if there are none."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    return np.asarray(np.where(known, values, 0.0).sum(axis=0) / np.where(counts > 0, counts, np.nan))


def mean_of_known(values: Vector) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def name_sessions(sessions: Any, what: str) -> list[tuple[str, Any]]:
    """Return sessions with their names; those of a sequence are named by their numbers."""
    named = sessions.items() if isinstance(sessions, Mapping) else enumerate(kinds.sequence(sessions, "sessions", what))
    return [(str(name), session) for name, session in named]


How = Literal["odd-even", "random", "blocks"]
HOWS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, eq=False)
class Halves:
    """Divisions of the trials into two halves, as units of trials and the units in the first half."""

    how: How
    unit: Index
    """Code for the unit to which each trial belongs."""
    first: Mask
    """Whether each unit is in the first half, of shape (n_splits, n_units)."""
    text: str

    @property
    def masks(self) -> Mask:
        """Whether each trial is in the first half, of shape (n_splits, n_trials)."""
        masks: Mask = self.first[:, self.unit]
        return masks

    @classmethod
    def build(cls, n_trials: int, how: How, n_splits: int, n_blocks: int, seed: Seed) -> Halves:
        """Check the options, and divide the trials."""
        check.choice(how, HOWS, "how")
        n_splits = check.count(n_splits, "n_splits")
        n_blocks = check.count(n_blocks, "n_blocks", minimum=2)
        n_trials = check.count(n_trials, "n_trials")
        if n_trials < 4:
            raise ValueError(f"n_trials must be at least 4, got {n_trials}")
        if how == "odd-even":
            return cls(how, np.arange(n_trials) % 2, np.array([[True, False]]), "odd and even trials")
        if how == "random":
            first = _random_halves(n_trials, n_splits, generator(seed))
            return cls(how, np.arange(n_trials), first, f"random halves, {n_splits} times")
        if n_blocks > n_trials:
            raise ValueError(f"n_blocks must be at most the number of trials ({n_trials}), got {n_blocks}")
        first = _halves_of_blocks(n_blocks, n_splits, generator(seed))
        text = "first and second half of the session" if n_blocks == 2 else f"halves of {n_blocks} blocks"
        return cls(how, np.arange(n_trials) * n_blocks // n_trials, first, text)


def _random_halves(n_trials: int, n_splits: int, rng: np.random.Generator) -> Mask:
    first = np.zeros((n_splits, n_trials), dtype=bool)
    for line in first:
        line[rng.permutation(n_trials)[: (n_trials + 1) // 2]] = True
    return first


def _halves_of_blocks(n_blocks: int, n_splits: int, rng: np.random.Generator) -> Mask:
    """Choose half of the blocks, in all ways or at random; block 0 is fixed if their number is even."""
    size = n_blocks // 2
    # With an even number of blocks, every split would occur twice unless the first block were fixed.
    fixed = n_blocks % 2 == 0
    n_ways = comb(n_blocks - fixed, size - fixed)
    rest = np.arange(int(fixed), n_blocks)
    if n_ways <= n_splits:
        chosen = [list(subset) for subset in combinations(rest.tolist(), size - fixed)]
    else:
        chosen = [rng.permutation(rest)[: size - fixed].tolist() for _ in range(n_splits)]
    first = np.zeros((len(chosen), n_blocks), dtype=bool)
    for line, blocks in zip(first, chosen, strict=True):
        line[[0, *blocks] if fixed else blocks] = True
    return first


Numbers = int | Literal["equal", "all"]
FEWEST_IN_HALF = 2
"""Smallest number of trials per condition in each half; conditions with fewer trials are left out."""
_UNEQUAL = 2.5
"""If the largest number of trials is at least this multiple of the smallest, a note is added."""


def check_numbers(value: Any, name: str) -> Numbers:
    """Return the value if it is a number of trials, 'equal' or 'all'; otherwise raise an error."""
    if isinstance(value, str) and value in ("equal", "all"):
        return value  # type: ignore[return-value]
    if value is None or isinstance(value, str):
        raise ValueError(f"{name} must be a number, 'equal' or 'all', got {value!r}")
    return check.count(value, name)


@dataclass(frozen=True, eq=False)
class EqualTrials:
    """Random choices of trials, with equal numbers per condition in each part of a recording."""

    numbers: int | Literal["equal"]
    """Number of trials of each condition in each part; 'equal' means as many as the rarest condition has."""
    parts: Index
    """The part (half or run) to which each trial belongs, of shape (n_draws, n_trials)."""
    keys: Matrix
    """Random keys; the trials with the smallest keys are selected."""
    fewest: int
    """Smallest number of trials in each part; conditions with fewer trials in some part are left out."""

    @classmethod
    def build(cls, numbers: Numbers, halves: Halves, n_draws: int, seed: Seed) -> EqualTrials | None:
        """Draw trials from each split, repeatedly if there are few splits; return None if all trials are used."""
        numbers, n_draws = check_numbers(numbers, "trials_per_half"), check.count(n_draws, "n_splits")
        return cls.draw(numbers, (~halves.masks).astype(np.intp), n_draws, seed, FEWEST_IN_HALF)

    @classmethod
    def draw(cls, numbers: Numbers, parts: Index, n_draws: int, seed: Seed, fewest: int) -> EqualTrials | None:
        """Draw trials for each line of `parts`, repeatedly if there are few; return None if all trials are used."""
        if numbers == "all":
            return None
        repeated = np.repeat(parts, -(-n_draws // len(parts)), axis=0)
        keys = spawn(seed, 3).random(repeated.shape)
        return cls(numbers, repeated, keys, fewest if numbers == "equal" else numbers)

    def sums(self, rows: Matrix, codes: Labels, n_conditions: int) -> Cube:
        """Sum the selected rows by draw, part and condition."""
        sizes = self._sizes(count_trials(codes, n_conditions, self.parts))
        return equal_sums(rows, codes, n_conditions, self.parts, self.keys, sizes)

    def _is_included(self, counts: Index) -> Mask:
        """Which conditions have enough trials in every part, of shape (n_draws, n_conditions)."""
        return np.asarray((counts >= self.fewest).all(axis=1))

    def _sizes(self, counts: Index) -> Index:
        """Number of trials per condition and part in each draw; 0 if no condition has enough."""
        if self.numbers != "equal":
            return np.full(len(counts), self.numbers)
        smallest = np.where(self._is_included(counts), counts.min(axis=1), counts.max(initial=0) + 1).min(axis=1)
        return np.where(self._is_included(counts).any(axis=1), smallest, 0)

    def describe(self, trials: Trials, part: str) -> Use:
        """Describe how many trials are used, and which trials and conditions are not."""
        counts = count_trials(trials.codes, trials.n_conditions, self.parts)
        included, sizes = self._is_included(counts), self._sizes(counts)
        used = counts.shape[1] * included.sum(axis=1) * sizes
        n_unused = round(float((trials.codes >= 0).sum() - used.mean()))
        low, high = int(sizes.min()), int(sizes.max())
        numbers = f"{low}" if low == high else f"{low} to {high}"
        text = f"{numbers} trials per condition"
        share = included.mean(axis=0)
        dropped = tuple(name for name, fraction in zip(trials.names, share, strict=True) if fraction == 0)
        if 3 * len(dropped) > len(share):
            text += f", {len(share) - len(dropped)} of {len(share)} conditions"
        partly = [name for name, fraction in zip(trials.names, share, strict=True) if 0 < fraction < 1]
        few = f"conditions with fewer than {self.fewest} trials in a {part}"
        notes = [f"{few} are left out: {check.join_items(dropped)}"]
        notes = notes if dropped else []
        if partly:
            notes.append(f"{few} are left out of some draws: {check.join_items(partly)}")
        if n_unused:
            notes.append(
                f"{n_unused} of {trials.n_trials} trials are unused, because numbers of trials are equalised. To use "
                f"more, leave out rare conditions (min_trials=), or pass trials_per_{part}='all'"
            )
        return Use(text, n_unused, dropped, tuple(notes))


@dataclass(frozen=True)
class Use:
    """How many trials and conditions a score uses."""

    text: str
    n_unused: int = 0
    """Number of unused trials among the scored conditions, averaged over draws."""
    dropped: tuple[str, ...] = ()
    """Conditions that every draw leaves out because they have too few trials in some part."""
    notes: tuple[str, ...] = ()


def describe_use(equal: EqualTrials | None, trials: Trials, part: str) -> Use:
    """Describe how many trials are used; if all are, add a note if their numbers are very unequal."""
    if equal is not None:
        return equal.describe(trials, part)
    counts = np.bincount(trials.codes[trials.codes >= 0])
    if not len(counts) or counts.max() < _UNEQUAL * counts.min():
        return Use("all trials")
    note = (
        f"conditions have {counts.min()} to {counts.max()} trials. Unequal numbers alone make distances reproducible, "
        f"even without a neural code. Use trials_per_{part}='equal'"
    )
    return Use("all trials", notes=(note,))


def describe_many_neurons(n_neurons: int, dof: int, effect: str) -> str:
    """Return a note if neurons are many for a noise covariance; empty for others."""
    if 2 * n_neurons < dof:
        return ""
    return (
        f"{count(n_neurons, 'feature')} are many for a noise covariance from {dof:,} degrees of freedom, so {effect}; "
        "or use fewer of them (components)"
    )
