"""Which brain regions of a mouse have a stable geometry, which drift, and what are the chance levels?

    SHESHA_DATA=FOLDER python examples/neural_sessions.py [PICTURE.png]

FOLDER/steinmetz2019 contains 18 sessions of Steinmetz et al. (2019): spike counts of all neurons in the 400 ms after a
stimulus, its contrasts on both sides, and whether the choice was correct. The script takes a few minutes on one core.
"""

import csv
import os
import sys
from pathlib import Path

import numpy as np

from shesha_studies.session_table import Session, SessionTable, association, session_table

FOLDER = Path(os.environ.get("SHESHA_DATA", "data")) / "steinmetz2019"
SEED = 0


def sessions() -> dict[str, Session]:
    """Load every session: trials x neurons x times, with contrasts and behaviour."""
    with (FOLDER / "sessions.csv").open(newline="", encoding="utf-8") as file:
        mice = {int(line["session"]): line["mouse"] for line in csv.DictReader(file)}
    found = {}
    for number, mouse in mice.items():
        with np.load(FOLDER / f"session{number:02d}.npz") as file:
            contrasts = np.column_stack([file["contrast_left"], file["contrast_right"]])
            correct = file["feedback_type"] > 0
            found[f"{mouse} {number}"] = Session(file["counts"], contrasts, file["brain_area"], correct, animal=mouse)
    return found


def picture(tables: dict[str, SessionTable], path: Path) -> None:
    """Draw the scores of each region, with intervals over sessions and chance levels."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    for ax, (title, table) in zip(axes, tables.items(), strict=False):
        table.plot("trial_split", ax=ax, title=f"Odd and even trials, {title}")
    next(iter(tables.values())).plot("centroid_drift", ax=axes[2], title="First and second half of the session")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the tables and the association of stability with behaviour, and draw the scores."""
    if not FOLDER.exists():
        print(f"skipped: {FOLDER} does not exist; set SHESHA_DATA to the folder that holds it")
        return
    recorded = sessions()
    options = {"by": "region", "n_permutations": 99, "seed": SEED}
    tables = {
        "equal numbers of trials of each condition": session_table(recorded, **options),
        "all trials": session_table(
            recorded, scores=("trial_split", "behaviour_coupling"), trials_per_half="all", **options
        ),
    }
    for title, table in tables.items():
        print(f"{title}\n{'-' * len(title)}\n{table}\n")
        # Does stability predict behaviour? As in the paper, and controlling for size.
        for covariates in ((), ("n_neurons", "n_trials", "rate")):
            print(association(table, "trial_split", "behaviour_coupling", covariates=covariates))
        print()
    if len(sys.argv) > 1:
        picture(tables, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
