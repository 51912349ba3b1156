"""Odd and even trials, slow drift and regions of the brain: writes docs/studies/odd_even_and_slow_drift.md.

    SHESHA_DATA=FOLDER python scripts/make_neural_page.py

FOLDER/steinmetz2019 holds 18 sessions of Steinmetz et al. (2019). About ten minutes on one core.
"""

import csv
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr, ttest_rel

import shesha
from shesha.neuro import Session, allen_areas, association, noise_ceiling, session_table, tertiles
# from shesha.neuro._clusters import clustered_mean, jackknifed

FOLDER = Path(os.environ.get("SHESHA_DATA", "data")) / "steinmetz2019"
ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs/studies/odd_even_and_slow_drift.md", ROOT / "docs/studies/odd_even_and_slow_drift.png"
SPLITS = {
    "odd and even": {"how": "odd-even"},
    "random": {"how": "random"},
    "8 blocks": {"how": "blocks"},
    "early and late": {"how": "blocks", "n_blocks": 2},
}
FEW = 20
"""Neurons that every area is scored with where numbers are made equal."""


def sessions() -> dict[str, Session]:
    """All sessions: responses averaged over the 400 ms after the stimulus, both contrasts, the animal."""
    with (FOLDER / "sessions.csv").open(newline="", encoding="utf-8") as file:
        mice = {int(line["session"]): line["mouse"] for line in csv.DictReader(file)}
    found = {}
    for number, mouse in mice.items():
        with np.load(FOLDER / f"session{number:02d}.npz") as file:
            contrasts = np.column_stack([file["contrast_left"], file["contrast_right"]])
            correct = (file["feedback_type"] > 0).astype(float)
            found[f"{mouse} {number}"] = Session(file["counts"], contrasts, file["brain_area"], correct, mouse)
    return found


def measured(recorded: dict[str, Session]) -> dict:
    """Everything that takes long, as plain values."""
    common = {"by": "region", "seed": 0}
    split = ("trial_split",)
    tables = {
        "main": session_table(
            recorded, **common, scores=("trial_split", "centroid_drift", "wuc", "behaviour_coupling"), n_permutations=99
        ),
        "500 orders": session_table(recorded, **common, scores=("centroid_drift",), n_permutations=500),
        "shifted": session_table(
            recorded, **common, scores=("centroid_drift",), n_permutations=99, drift_null="shift"
        ),
        "shuffled": session_table(recorded, **common, scores=split, n_permutations=99, null="permute"),
        "equal": session_table(
            recorded, **common, scores=(*split, "centroid_drift"), n_neurons=FEW, n_draws=10, n_permutations=39
        ),
    }
    for name, options in SPLITS.items():
        tables[name] = session_table(recorded, **common, scores=split, n_permutations=99, **options)
    found = {name: table.to_dict() for name, table in tables.items()}
    found["tertiles"], found["ceilings"] = thirds(recorded, tables["main"]), ceilings(recorded, tables["main"])
    return found


def neurons_of(session: Session, area: str) -> np.ndarray:
    return np.asarray(session.X)[:, session.areas == area]


def thirds(recorded: dict[str, Session], table: shesha.results.SessionTable) -> list[list[float]]:
    found = [
        tertiles(neurons_of(recorded[line.session], line.area), n_permutations=0) for line in table.lines
    ]
    return [[one.early_middle.observed, one.middle_late.observed] for one in found]


def ceilings(recorded: dict[str, Session], table: shesha.results.SessionTable) -> list[list[float]]:
    """Noise ceiling of the distances in four blocks of a session."""
    found = []
    for line in table.lines:
        session = recorded[line.session]
        blocks = np.arange(line.n_trials) * 4 // line.n_trials
        one = noise_ceiling(neurons_of(session, line.area), session.conditions, blocks)
        found.append([one.lower, one.upper, one.reliability])
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", shesha.NotEstimableWarning)
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if kept and kept.exists():
        found = json.loads(kept.read_text())
    else:
        found = measured(sessions())
        if kept:
            kept.write_text(json.dumps(found))
