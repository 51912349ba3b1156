"""Depth: the best of many layer pairs is high by chance; calibrating the maximum keeps it at zero.

    python examples/depth_confounder.py [--out depth.png] [--draws 20]

The shape of Figure 5 of the calibration study: two models of L layers, all independent.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shesha

N, D = 128, 64
DEPTHS = (1, 2, 4, 8, 16, 32)
ALPHA = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("depth.png"))
    parser.add_argument("--draws", type=int, default=60)
    asked = parser.parse_args()
    lines: dict[str, list[float]] = {"raw maximum": [], "best pair calibrated alone": [], "maximum calibrated": []}
    rates: dict[str, list[float]] = {"best pair alone": [], "maximum": []}
    for depth in DEPTHS:
        raw, alone, whole, p_alone, p_whole = [], [], [], [], []
        for draw in range(asked.draws):
            rng = np.random.default_rng([draw, depth])
            a, b = rng.standard_normal((2, depth, N, D))
            found = shesha.calibrate_layers(list(a), list(b), "CKA", n_permutations=99, alpha=ALPHA, seed=draw)
            i, j = (int(name) for name in found.best)
            single = shesha.calibrate(a[i], b[j], "CKA", n_permutations=99, alpha=ALPHA, seed=draw)
            raw.append(found.observed)
            alone.append(single.score)
            whole.append(found.score)
            p_alone.append(single.p_value <= ALPHA)
            p_whole.append(found.p_value <= ALPHA)
        for line, values in zip(lines.values(), (raw, alone, whole), strict=True):
            line.append(float(np.mean(values)))
        for rate, hits in zip(rates.values(), (p_alone, p_whole), strict=True):
            rate.append(float(np.mean(hits)))
        print(f"L = {depth:<3} " + "  ".join(f"{name} {line[-1]:.4f}" for name, line in lines.items()))
        print("         false positives: " + ", ".join(f"{name} {rate[-1]:.0%}" for name, rate in rates.items()))
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained")
    for name, line in lines.items():
        axes[0].plot(
            DEPTHS, np.array(line) - (lines["raw maximum"][0] if name == "raw maximum" else 0), "o-", label=name
        )
    for name, rate in rates.items():
        axes[1].plot(DEPTHS, rate, "o-", label=name)
    axes[1].axhline(ALPHA, color="#7f7f7f", linestyle="--", linewidth=1)
    axes[0].set(xlabel="layers in each model", ylabel="score (raw: less that of one layer)", xscale="log")
    axes[1].set(xlabel="layers in each model", ylabel="false positives", xscale="log", ylim=(-0.02, 1.02))
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    figure.savefig(asked.out, dpi=150)
    print(f"wrote {asked.out}")


if __name__ == "__main__":
    main()
