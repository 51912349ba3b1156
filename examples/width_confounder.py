"""Width: raw scores of independent representations rise with the number of features; calibrated ones stay at zero.

    python examples/width_confounder.py [--out width.png] [--draws 20]

The shape of Figure 3 of the calibration study: n rows, d features, X and Y independent.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shesha

N = 256
RATIOS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
MEASURES = {
    "CKA": "CKA",
    "CKA, Gaussian kernel": "CKA(kernel=rbf)",
    "distance correlation": "DistCorr",
    "SVCCA, 10 components": "SVCCA(components=10)",
    "RSA": "RSA",
    "mutual kNN": "mutual kNN",
}


def scores(measure: str, ratio: float, n_draws: int) -> tuple[list[float], list[float]]:
    """Raw and calibrated scores of independent pairs."""
    found = []
    for draw in range(n_draws):
        rng = np.random.default_rng([draw, round(1000 * ratio)])
        X, Y = rng.standard_normal((2, N, max(12, round(ratio * N))))
        found.append(shesha.calibrate(X, Y, measure, n_permutations=99, seed=draw))
    return [one.observed for one in found], [one.score for one in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("width.png"))
    parser.add_argument("--draws", type=int, default=20)
    asked = parser.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.3), sharey=True, layout="constrained")
    print(f"{'measure':<22}" + "".join(f"  d/n={ratio:<7.3g}" for ratio in RATIOS))
    for label, measure in MEASURES.items():
        raw, calibrated = zip(*(scores(measure, ratio, asked.draws) for ratio in RATIOS), strict=True)
        for ax, values in zip(axes, (raw, calibrated), strict=True):
            ax.plot(RATIOS, [np.mean(v) for v in values], marker="o", markersize=4, label=label)
        print(
            f"{label:<22}"
            + "".join(f"  {np.mean(r):.3f}>{np.mean(c):.3f}" for r, c in zip(raw, calibrated, strict=True))
        )
    for ax, title in zip(axes, ("raw", "calibrated"), strict=True):
        ax.set(title=title, xlabel="features per row, d / n", xscale="log", ylim=(-0.05, 1.02))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("score of independent data")
    axes[1].legend(frameon=False, fontsize="small", loc="upper right")
    figure.savefig(asked.out, dpi=150)
    print(f"wrote {asked.out}")


if __name__ == "__main__":
    main()
