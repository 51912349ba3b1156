"""A recorded session, with responses, conditions, areas and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import coordinate_values, is_labelled, table_values
from shesha.inputs import validation as check
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.coupling_with_behaviour import check_outcome
from shesha.support.types import Array, Vector


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
    def build(cls, name: str, given: Any) -> Checked:
        """Check a session, and return it with codes and names."""
        if not isinstance(given, Session):
            raise TypeError(f"sessions must be shesha.neuro.Session, got a {type(given).__name__} for {name}")
        trials = Trials.build(given.X, given.conditions, f"X of session {name}")
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
            outcome = trials.take(check_outcome(given.outcome, trials.n_total, f"outcome of {name}"))
        return cls(name, str(given.animal) or name, trials, of_neurons, outcome)
