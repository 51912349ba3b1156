"""Which layer of a sentence encoder is best for probing, which for steering, and is that above chance?

    SHESHA_DATA=FOLDER python examples/which_layer_steers.py [--out docs/which_layer_steers.png]

FOLDER contains minilm_sst2, the outputs of the seven layers of MiniLM for 872 positive or negative film reviews. The
layer is chosen on one half of the rows and tested on the other.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from shesha import steering

ALPHAS = (-0.1, -0.05, 0.0, 0.05, 0.1)
"""Strengths in units of the mean norm of the rows; at larger ones, every review counts as positive, or as negative."""


def reviews() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the layers of MiniLM, and the sentiment of each review."""
    path = Path(os.environ.get("SHESHA_DATA", "data")) / "minilm_sst2" / "minilm_l6_sst2_validation.npz"
    with np.load(path) as file:
        embeddings, label = file["embeddings"].astype(np.float64), file["label"]
    layers = {str(layer): embeddings[:, layer] for layer in range(embeddings.shape[1])}
    return layers, np.where(label == 1, "positive", "negative")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("which_layer_steers.png"))
    out = parser.parse_args().out
    layers, y = reviews()
    looked, kept = steering.halves(y, seed=0)
    here = {name: X[looked] for name, X in layers.items()}

    options = {"alphas": ALPHAS, "n_splits": 3, "n_draws": 99, "seed": 0}
    probed = steering.rank_layers(here, y[looked], by="accuracy", **options)
    steered = steering.rank_layers(here, y[looked], by="max_drop", **options)
    print(probed, steered, sep="\n\n")

    shuffled = np.random.default_rng(1).permutation(y[looked])
    nothing = steering.rank_layers(here, shuffled, by="accuracy", **options)
    best = nothing.layers_best_first[0]
    print(f"\nThe same with shuffled labels: layer {best.name} is best, accuracy {best.value:.3f},")
    print(f"p = {best.p_value:.2g} as the only layer, p = {best.corrected_p_value:.2g} as the best of seven")

    chosen = steered.winner
    found = steering.vector(layers[chosen][looked], y[looked], seed=0)
    print(f"\nLayer {chosen}:\n{found}")
    again = steering.steerability(layers[chosen][kept], y[kept], alphas=ALPHAS, units="norm", seed=0)
    print(f"\nThe other half of the reviews:\n{again}")

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    drawn = (
        (axes[0], probed, "Best layer for a probe", "accuracy of a probe", (0.4, 1.0)),
        (axes[1], steered, "Best layer for steering", "largest drop in accuracy", (0.0, 0.5)),
    )
    for ax, ranking, title, label, ends in drawn:
        ties = ", ".join(sorted(set(ranking.tied_names) - {ranking.winner}))
        ranking.plot(ax, title=f"{title}: {ranking.winner} (not worse: {ties})")
        ax.set(xlabel="layer", ylabel=label, ylim=ends)
    again.plot(axes[2], title=f"Layer {chosen} steered, other half of the reviews")
    axes[2].set_ylim(0.4, 1.0)
    figure.savefig(out, dpi=130)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
