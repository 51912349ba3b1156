"""Draw the six small pictures of the front page.

    SHESHA_DATA=FOLDER python examples/cards.py docs [--fine-tuned FOLDER]

SHESHA_DATA contains minilm_sst2, sst2 and papalexi2021; a card whose data are missing is skipped. `--fine-tuned` is the
folder of models that examples/fine_tuned.py wrote.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from fine_tuned import MODEL, SEEDS
from matplotlib.axes import Axes

import shesha
from shesha import bio, neuro
from shesha.drift import DriftMonitor
from shesha.extract import encode

SIZE = (4.0, 2.9)


def stable(ax: Axes) -> None:
    """Draw the stability of the layers of MiniLM."""
    with np.load(Path(os.environ["SHESHA_DATA"]) / "minilm_sst2" / "minilm_l6_sst2_validation.npz") as file:
        layers = file["embeddings"]
    shesha.audit({str(layer): layers[:, layer] for layer in range(layers.shape[1])}).plot(ax)
    ax.set_xlabel("layer of MiniLM")


def encoded(model: str | Path) -> dict[str, np.ndarray]:
    """Return the layers of a model for the validation sentences of SST-2."""
    texts = pd.read_csv(Path(os.environ["SHESHA_DATA"]) / "sst2" / "validation.csv")["sentence"].tolist()
    return encode(model, texts, pool="mean")


def short_names(layers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the layers of a transformer by their numbers, without the output of a sentence encoder."""
    return {name.rpartition(".")[2].replace("embeddings", "in"): X for name, X in layers.items() if name != "embedding"}


def changed(ax: Axes, folder: Path) -> None:
    """Draw which layers of MiniLM a fine-tune changed."""
    first, *others = (short_names(encoded(folder / f"full-{seed}")) for seed in SEEDS)
    shesha.diff(short_names(encoded(MODEL)), first, also=others).plot(ax)
    ax.set_xlabel("layer")


def alike(ax: Axes, folder: Path) -> None:
    """Draw all layers of two fine-tuned models against each other."""
    models = [short_names(encoded(folder / f"full-{seed}")) for seed in SEEDS[:2]]
    shesha.compare_layers(*models, calibrate=True, n_permutations=199).plot(ax, title="", annotate=False)
    ax.set(xlabel="layer of one model", ylabel="layer of the other")


def moved(ax: Axes) -> None:
    """Draw which knockouts move cells coherently."""
    from single_cells import screen

    bio.coherence_table(screen(), "target", groups="guide", n_draws=199).plot(ax)


def when(ax: Axes) -> None:
    """Draw when the distances between conditions are reliable in simulated recordings."""
    rng = np.random.default_rng(0)
    shown, times = np.repeat(np.arange(12), 16), np.linspace(-0.2, 0.6, 41)
    pattern = rng.standard_normal((12, 30))[shown][:, :, None] * np.exp(-(((times - 0.25) / 0.12) ** 2))
    trials = 0.7 * pattern + rng.standard_normal((192, 30, 41))
    neuro.time_clusters(trials, shown, times=times, null="permute", n_permutations=199).plot(ax)
    ax.set(xlabel="seconds after the stimulus", ylabel="reliability")


def drifted(ax: Axes) -> None:
    """Draw the checks of a monitor whose model loses precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8)) @ rng.standard_normal((8, 48))
    monitor = DriftMonitor(X, nulls=[X + 0.1 * rng.standard_normal(X.shape) for _ in range(99)])
    for number in range(20):
        monitor.check(X + (0.1 + 0.02 * max(0, number - 11)) * rng.standard_normal(X.shape))
    monitor.plot(ax=ax)
    ax.set_ylabel("drift")


def main() -> None:
    """Draw each card whose data are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fine-tuned", type=Path)
    given = parser.parse_args()
    data = Path(os.environ.get("SHESHA_DATA", ""))
    cards: dict[str, Callable[[Axes], None]] = {"when": when, "drifted": drifted}
    if (data / "minilm_sst2").is_dir():
        cards["stable"] = stable
    if (data / "papalexi2021").is_dir():
        cards["moved"] = moved
    if given.fine_tuned is not None:
        cards["alike"] = lambda ax: alike(ax, given.fine_tuned)
        cards["changed"] = lambda ax: changed(ax, given.fine_tuned)
    for name, draw in cards.items():
        figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
        draw(ax)
        figure.savefig(given.out / f"card_{name}.png", dpi=140)
        print(f"wrote card_{name}.png")


if __name__ == "__main__":
    main()
