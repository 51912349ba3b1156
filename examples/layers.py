"""Draw how stability changes over layers: the figure of the README.

    python examples/layers.py [--out docs/stability.png]

The left panel needs the MiniLM embeddings in the folder that SHESHA_DATA names; without them, only the right panel is
drawn.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import shesha
from shesha.data import digits_network


def minilm_layers() -> dict[str, np.ndarray]:
    """Return mean-pooled embeddings of 872 sentences from each of the seven layers, or nothing."""
    path = Path(os.environ.get("SHESHA_DATA", "")) / "minilm_sst2" / "minilm_l6_sst2_validation.npz"
    if not path.exists():
        return {}
    with np.load(path) as file:
        embeddings = file["embeddings"]
    return {str(layer): embeddings[:, layer] for layer in range(embeddings.shape[1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("stability.png"))
    out = parser.parse_args().out
    digits, _ = digits_network()
    names = {name: name.replace("_layer", " ") for name in digits}
    panels = {
        "MiniLM, 872 sentences": minilm_layers(),
        "Digits network, 900 images": {names[name]: X for name, X in digits.items()},
    }
    panels = {title: layers for title, layers in panels.items() if layers}
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.3), squeeze=False, layout="constrained")
    for ax, (title, layers) in zip(axes[0], panels.items(), strict=True):
        shesha.audit(layers).plot(ax)
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("layer")
    figure.savefig(out, dpi=150)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
