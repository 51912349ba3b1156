"""Odd and even trials, slow drift and regions of the brain: writes docs/studies/odd_even_and_slow_drift.md.

    SHESHA_DATA=FOLDER python scripts/make_neural_page.py [KEPT.json]

FOLDER/steinmetz2019 holds 18 sessions of Steinmetz et al. (2019). About ten minutes on one core; what is measured is
kept in the file, if one is named, and read from it.
"""

import csv
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import neural_page
import numpy as np

import shesha
from shesha._atomic import write_text
from shesha.neuro import Session, noise_ceiling, session_table, tertiles, trial_split, wuc

FOLDER = Path(os.environ.get("SHESHA_DATA", "data")) / "steinmetz2019"
SPLITS = {
    "odd and even": {"how": "odd-even"},
    "random": {"how": "random"},
    "8 blocks": {"how": "blocks"},
    "early and late": {"how": "blocks", "n_blocks": 2},
}
FEW = 20
"""Neurons that every area is scored with where numbers are made equal."""


EACH = 4
"""Trials of each condition in either half, where numbers are made equal."""


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


def pieces() -> dict[str, Callable[[dict[str, Session]], object]]:
    """Everything that takes long, by name."""
    split = {"scores": ("trial_split",), "n_permutations": 99}
    four = ("trial_split", "centroid_drift", "wuc", "behaviour_coupling")
    tables: dict[str, dict] = {
        "main": {"scores": four, "n_permutations": 99},
        "500 orders": {"scores": ("centroid_drift",), "n_permutations": 500},
        "shifted": {"scores": ("centroid_drift",), "n_permutations": 99, "drift_null": "shift"},
        "shuffled": {**split, "null": "permute"},
        "equal": {**split, "n_neurons": FEW, "n_draws": 10, "n_permutations": 39},
        "equal trials": {**split, "trials_per_half": EACH},
        "equal trials and neurons": {
            **split,
            "trials_per_half": EACH,
            "n_neurons": FEW,
            "n_draws": 5,
            "n_permutations": 39,
            "n_splits": 8,
        },
        "equal trials, early and late": {**split, "trials_per_half": EACH, "how": "blocks", "n_blocks": 2},
        **{name: {**split, **options} for name, options in SPLITS.items()},
    }

    def table(options: dict) -> Callable[[dict[str, Session]], object]:
        return lambda recorded: session_table(recorded, by="region", seed=0, **options).to_dict()

    found: dict[str, Callable[[dict[str, Session]], object]] = {name: table(one) for name, one in tables.items()}
    found["nine"] = lambda recorded: table(split)({name: nine(one) for name, one in recorded.items()})
    return found | {
        "tertiles": thirds,
        "ceilings": ceilings,
        "false positives": lambda recorded: false_positives(),
        "unequal numbers": unequal_numbers,
    }


def nine(session: Session) -> Session:
    """Three contrasts on either side: none, weak (0.25 and 0.5), full."""
    return replace(session, conditions=np.ceil(np.asarray(session.conditions) * 1.9))


def lines_of(recorded: dict[str, Session]) -> list[tuple[Session, np.ndarray]]:
    """Areas of sessions in the order of the tables, with their responses."""
    found = session_table(recorded, by="region", scores=("centroid_drift",), n_permutations=0)
    return [
        (recorded[line.session], np.asarray(recorded[line.session].X)[:, recorded[line.session].areas == line.area])
        for line in found.lines
    ]


def thirds(recorded: dict[str, Session]) -> list[list[float]]:
    """Cosines between thirds of each session."""
    found = [tertiles(X, n_permutations=0) for _, X in lines_of(recorded)]
    return [[one.early_middle.observed, one.middle_late.observed] for one in found]


def ceilings(recorded: dict[str, Session]) -> list[list[float]]:
    """Noise ceiling of the distances in four blocks of a session, and the reliability of conditions turned round."""
    found = []
    for session, X in lines_of(recorded):
        blocks, shown = np.arange(len(X)) * 4 // len(X), np.asarray(session.conditions)
        one, turned = (noise_ceiling(X, labels, blocks) for labels in (shown, np.roll(shown, len(X) // 2, axis=0)))
        found.append([one.lower, one.upper, one.reliability, turned.reliability])
    return found


def slow_wave(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Neurons that know no condition but follow a slow wave, and conditions that repeat six times in a row."""
    drift, phase = 0.6 * rng.standard_normal((2, 8)), np.linspace(0, 6, 96)[:, None]
    X = rng.poisson(np.exp(1 + drift[0] * np.sin(phase) + drift[1] * np.cos(phase)))
    return X, np.repeat(rng.permutation(np.tile(np.arange(4), 4)), 6)


def false_positives(n_runs: int = 100) -> dict[str, dict[str, float]]:
    """Share of runs that call it a geometry at 5 %, by split and null."""
    found: dict[str, dict[str, float]] = {}
    for name, options in SPLITS.items():
        for null in ("permute", "shift"):
            rng, hits = np.random.default_rng(0), 0
            for seed in range(n_runs):
                X, shown = slow_wave(rng)
                one = trial_split(X, shown, **options, n_splits=6, null=null, n_permutations=19, seed=seed)
                hits += one.significant
            found.setdefault(name, {})[null] = hits / n_runs
    return found


def scored(X: np.ndarray, shown: np.ndarray) -> list[shesha.results.TrialScore]:
    """Split with all trials, with equally many of each condition, and the whitened unbiased cosine."""
    options = {"n_permutations": 0}
    return [
        trial_split(X, shown, **options),
        trial_split(X, shown, trials_per_half=EACH, **options),
        wuc(X, shown, **options),
    ]


def unequal_numbers(recorded: dict[str, Session], n_runs: int = 100) -> dict[str, list[float]]:
    """Mean score of neurons that know nothing, where conditions have equal numbers of trials and where they do not."""
    contrasts = np.asarray(recorded["Forssmann 5"].conditions)
    shown = np.unique(contrasts, axis=0, return_inverse=True)[1].ravel()
    found = {}
    for name, labels in (("equal numbers", np.arange(len(shown)) % 16), ("those of a session", shown)):
        rng, scores = np.random.default_rng(0), []
        for _ in range(n_runs):
            X = rng.poisson(2, size=(len(shown), 28))
            order = rng.permutation(len(shown))
            scores.append([one.observed for one in scored(X, labels[order])])
        found[name] = np.nanmean(scores, axis=0).tolist()
    return found


def measured(kept: Path | None) -> dict:
    """Every piece; those that a file keeps are read from it."""
    found = json.loads(kept.read_text()) if kept and kept.exists() else {}
    recorded = sessions()
    for name, piece in pieces().items():
        if name not in found:
            found[name] = piece(recorded)
            if kept:
                write_text(kept, json.dumps(found))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", shesha.NotEstimableWarning)
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    neural_page.write(measured(kept))
