"""The drift experiments of the stability paper on a real encoder, into docs/canary_study.md, beside its tables.

    SHESHA_DATA=... HF_HUB_OFFLINE=1 python scripts/make_canary_study.py --cache FOLDER [--sentences 240] [--seeds 1]

Section 3.3 and appendix 10 (Raju 2026): parameter noise, quantisation, random LoRA adapters by rank and
scale, and, for want of base and instruct pairs, an encoder before and after a short fine-tuning. One encoder instead of
26 and of 16, all-MiniLM-L6-v2, and SST-2 sentences with the accuracy of a logistic regression in 5 folds. Encodings are
kept in the cache.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import minilm
import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold, cross_val_score

from shesha._atomic import write_text
from shesha.drift import perturb
from shesha.measures import get
from shesha.report import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "canary_study.md"
MEASURES = {
    "RDM": "RDM drift",
    "CKA": "unbiased CKA",
    "Procrustes": "Procrustes similarity(published=True)",
    "squared": "Procrustes similarity",
}
"""The paper's text defines the squared Procrustes distance; its numbers fit the distance itself."""
RANKS, SCALES = (1, 2, 4, 8, 16, 32, 64), (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
STEPS, BATCH = (5, 15), 8
LEVELS = [round(0.01 * step, 2) for step in range(51)]
Row = dict[str, float]
# Published values, accuracy drop in per cent, then drift by RDM, CKA and Procrustes: Tables 47, 44, 51, and 45 and 46
# for the scales that 51 leaves out.
NOISE = {
    0.01: (0.0, 0.001, 0.000, 0.015),
    0.05: (0.0, 0.012, 0.009, 0.076),
    0.10: (0.4, 0.054, 0.039, 0.154),
    0.15: (1.4, 0.115, 0.090, 0.232),
    0.20: (2.8, 0.208, 0.171, 0.315),
    0.30: (9.4, 0.488, 0.411, 0.484),
    0.40: (16.9, 0.705, 0.657, 0.631),
    0.50: (22.5, 0.813, 0.772, 0.716),
}
QUANTISED = {"int8": (0.01, 0.021, 0.014, 0.053), "nf4": (0.21, 0.062, 0.042, 0.097)}
BY_RANK = {
    1: (0.13, 0.003, 0.003, 0.032),
    2: (0.09, 0.005, 0.005, 0.044),
    4: (0.41, 0.015, 0.014, 0.064),
    8: (1.30, 0.042, 0.042, 0.095),
    16: (2.34, 0.074, 0.076, 0.135),
    32: (3.07, 0.102, 0.093, 0.179),
    64: (5.01, 0.185, 0.175, 0.255),
}
BY_SCALE = {
    0.001: (0.08, 0.000, 0.000, 0.015),
    0.005: (np.nan, 0.006, 0.003, 0.023),
    0.01: (1.30, 0.042, 0.042, 0.095),
    0.02: (np.nan, 0.095, 0.050, 0.106),
    0.05: (10.77, 0.374, 0.352, 0.401),
    0.10: (18.05, 0.611, 0.587, 0.589),
}


class Study:
    """One encoder, one set of sentences; every changed encoder is encoded once."""

    def __init__(self, cache: Path, n: int) -> None:
        self.texts, self.labels = minilm.sst2(n)
        self._cache = cache / f"canary_{minilm.hash_of(self.texts)}"
        self._cache.mkdir(parents=True, exist_ok=True)
        self.tokenizer, self.model = minilm.load()
        self.clean = self.encoded("clean", lambda model: nullcontext())
        self.accuracy = accuracy(self.clean, self.labels)

    def encoded(self, name: str, change: Callable[[Any], AbstractContextManager[Any]]) -> np.ndarray:
        """Encode with a change, or read what was encoded earlier."""
        path = self._cache / f"{name}.npy"
        if not path.exists():
            with change(self.model):
                found = minilm.encode(self.tokenizer, self.model, self.texts)
            np.save(path, found)
            print(name, flush=True)
        return np.load(path)

    def row(self, encoded: np.ndarray) -> Row:
        """Return drifts and the drop of accuracy in per cent."""
        before, after = self.clean.astype(float), encoded.astype(float)
        found = {short: get(name).between(before, after) for short, name in MEASURES.items()}
        drifts = {short: value if short == "RDM" else 1 - value for short, value in found.items()}
        return drifts | {"drop": 100 * (self.accuracy - accuracy(encoded, self.labels))}

    def noise(self, level: float, seed: int) -> Row:
        """Return what noise in all parameters does."""
        change = nullcontext() if level == 0 else perturb.gaussian_noise(self.model, level, seed=seed)
        return self.row(self.encoded(f"noise_{level:g}_{seed}", lambda model: change))

    def lora(self, rank: int, scale: float, seed: int) -> Row:
        """Return what random adapters do."""
        change = perturb.lora(self.model, rank, scale, seed=seed)
        return self.row(self.encoded(f"lora_{rank}_{scale:g}_{seed}", lambda model: change))

    def quantised(self) -> dict[str, Row]:
        """Return what fewer bits do."""
        kinds = {"int8": perturb.int8, "nf4": perturb.nf4}
        return {name: self.row(self.encoded(name, change)) for name, change in kinds.items()}

    def tuned(self) -> dict[int, Row]:
        """Return what a short fine-tuning on other sentences of the task does, at some of its steps."""
        if not (self._cache / f"tuned_{STEPS[-1]}.npy").exists():
            self._tune()
        return {step: self.row(np.load(self._cache / f"tuned_{step}.npy")) for step in STEPS}

    def _tune(self) -> None:
        import pandas as pd

        table = pd.read_csv(minilm.data("sst2", "train_sentences.csv")).sample(BATCH * STEPS[-1], random_state=0)
        torch.manual_seed(0)
        model = copy.deepcopy(self.model).train()
        head = torch.nn.Linear(model.config.hidden_size, 2)
        optimiser = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=5e-5)
        for step in range(1, STEPS[-1] + 1):
            part = table.iloc[BATCH * (step - 1) : BATCH * step]
            tokens = self.tokenizer(part.iloc[:, 0].tolist(), padding=True, truncation=True, return_tensors="pt")
            states, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None].float()
            said = head((states * mask).sum(1) / mask.sum(1))
            torch.nn.functional.cross_entropy(said, torch.tensor(part["label"].to_numpy())).backward()
            optimiser.step()
            optimiser.zero_grad()
            if step in STEPS:
                model.eval()
                np.save(self._cache / f"tuned_{step}.npy", minilm.encode(self.tokenizer, model, self.texts))
                model.train()


def accuracy(rows: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean accuracy over 5 folds, the same for all encodings."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(LogisticRegression(max_iter=1000), rows, labels, cv=folds).mean())


def mean(rows: list[Row]) -> Row:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def beside(name: str, row: Row, published: tuple[float, ...]) -> list[str]:
    told = [name]
    for short, theirs in zip(("drop", *MEASURES), (*published, np.nan), strict=True):
        digits = 1 if short == "drop" else 3
        told += [f"{row[short]:.{digits}f}", "" if np.isnan(theirs) else f"{theirs:.{digits}f}"]
    return told[:-1]


def validity(curves: list[list[Row]]) -> dict[str, str]:
    """Rank correlation of drift with the drop of accuracy over levels, for each seed."""
    found = {}
    for short in MEASURES:
        each = [correlation(rows, short) for rows in curves]
        found[short] = f"{np.mean(each):.3f}"
    return found


def correlation(rows: list[Row], short: str) -> float:
    return float(spearmanr([row[short] for row in rows], [row["drop"] for row in rows]).statistic)


def first_above(levels: list[float], curves: list[list[Row]], bound: float = 0.05) -> dict[str, str]:
    """Mean lowest level of noise whose drift passes the published bound."""
    found = {}
    for short in MEASURES:
        each = [next(level for level, row in zip(levels, rows, strict=True) if row[short] > bound) for rows in curves]
        found[short] = f"{np.mean(each):.3f}"
    return found


def separation(rows: list[Row]) -> dict[str, tuple[str, str]]:
    """Area under the curve, and sensitivity at 5 % false positives, for an accuracy drop of more than 1 %."""
    worse = np.array([row["drop"] > 1 for row in rows])
    found = {}
    for short in MEASURES:
        drift = np.array([row[short] for row in rows])
        false, true, _ = roc_curve(worse, drift)
        found[short] = (f"{roc_auc_score(worse, drift):.3f}", f"{true[false <= 0.05].max():.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "shesha_monitoring")
    parser.add_argument("--sentences", type=int, default=240)
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    study = Study(asked.cache, asked.sentences)
    levels = LEVELS
    curves = [[study.noise(level, seed) for level in levels] for seed in range(asked.seeds)]
    quantised = study.quantised()
    by_rank = {rank: [study.lora(rank, 0.01, seed) for seed in range(asked.seeds)] for rank in RANKS}
    by_scale = {scale: [study.lora(8, scale, seed) for seed in range(asked.seeds)] for scale in SCALES}
    tuned = study.tuned()
    write_text(PAGE, page(study, levels, curves, quantised, by_rank, by_scale, tuned))


def page(
    study: Study,
    levels: list[float],
    curves: list[list[Row]],
    quantised: dict[str, Row],
    by_rank: dict[int, list[Row]],
    by_scale: dict[float, list[Row]],
    tuned: dict[int, Row],
) -> str:
    head = ["", "drop, %", "paper", "RDM drift", "paper", "CKA", "paper", "Procrustes", "paper", "squared"]
    at = {level: mean([rows[place] for rows in curves]) for place, level in enumerate(levels)}
    lora = [row for rows in (*by_rank.values(), *by_scale.values()) for row in rows]
    everything = [*(row for rows in curves for row in rows[1:]), *quantised.values(), *lora]
    stable = [row for row in everything if row["drop"] < 1]
    alarms = {short: f"{np.mean([row[short] > 0.05 for row in stable]):.0%}" for short in MEASURES}
    areas, firsts, valid = separation(everything), first_above(levels, curves), validity(curves)
    correlated = {short: f"{correlation(lora, short):.2f}" for short in MEASURES}
    summary = [
        ["correlation with the drop, noise (Table 47)", *valid.values(), "0.927, 0.937, 0.935"],
        ["first noise with drift above 0.05", *firsts.values(), "0.123, 0.136, 0.040"],
        ["correlation with the drop, LoRA (Table 51)", *correlated.values(), "0.67 to 0.68"],
        ["area under the curve, drop above 1 %", *(area for area, _ in areas.values()), "0.990, 0.987, 0.988"],
        ["sensitivity at 5 % false positives", *(there for _, there in areas.values()), "0.90, , 0.85"],
        [f"drift above 0.05 where the drop is below 1 % ({len(stable)})", *alarms.values(), "7.3 %, 7.3 %, 44 %"],
    ]
    rows = {step: [f"{row['drop']:.1f}", *(f"{row[short]:.3f}" for short in MEASURES)] for step, row in tuned.items()}
    ratio = np.mean([row["RDM"] / row["CKA"] for row in tuned.values()])
    return TEXT.format(
        n=len(study.texts),
        levels=len(levels),
        accuracy=f"{study.accuracy:.1%}",
        resolution=f"{100 / len(study.texts):.1f}",
        summary=markdown_table(["", *MEASURES, "paper"], summary, numbers=5),
        noise=markdown_table(head, [beside(f"{level:g}", at[level], NOISE[level]) for level in NOISE], numbers=9),
        bits=markdown_table(head, [beside(name, quantised[name], QUANTISED[name]) for name in QUANTISED], numbers=9),
        ranks=markdown_table(head, [beside(str(r), mean(by_rank[r]), BY_RANK[r]) for r in RANKS], numbers=9),
        scales=markdown_table(head, [beside(f"{s:g}", mean(by_scale[s]), BY_SCALE[s]) for s in SCALES], numbers=9),
        tuned=markdown_table(["steps", "drop, %", *MEASURES], [[s, *row] for s, row in rows.items()], numbers=5),
        ratio=f"{ratio:.2f}",
    )


TEXT = """# The canary study on a real encoder

Made by `python scripts/make_canary_study.py`. The drift experiments of the stability paper (section 3.3, appendix 10)
with all-MiniLM-L6-v2 and {n} SST-2 validation sentences, half of each class; a logistic regression in 5 folds is
right in {accuracy} of them, and one sentence more or less is {resolution} %: drops of about 1 % are noise here, and a
negative drop is a gain by chance. The paper has means over 26 sentence encoders (noise), 16 causal models
(quantisation) and 15 (LoRA), and 800 sentences; agreement in kind is what one encoder can show.

## In short

{summary}

## Noise in all parameters

In units of each tensor's standard deviation; {levels} levels, of which some are shown. Paper: Table 47.

{noise}

## Fewer bits

Simulated, all parameters. Paper: drift of causal models (Table 44), drops of appendix 10.4.

{bits}

## Random LoRA adapters

On the attention projections, alpha twice the rank. By rank at scale 0.01 (paper: Table 51):

{ranks}

By scale at rank 8 (paper: Tables 51 and 46):

{scales}

## After training

Experiment 1 of the paper compares 23 base models with their instruct versions, which cannot be had offline. Instead:
the encoder itself after steps of fine-tuning on other SST-2 sentences (8 a step, learning rate 5e-5); a negative drop
is what it learned. RDM drift is {ratio} times CKA drift on average (paper: 1.96).

{tuned}

## What to make of it

- *The paper's Procrustes is early because it is not squared.* Its text defines 1 - |X - YR|^2 / (|X|^2 + |YR|^2), which
  is the column "squared"; its numbers fit the distance itself, the root of twice that. A root is large
  where everything else is small: under one bound of 0.05 for all it is first, and alarms where nothing is lost.
  Squared, as in the monitor, Procrustes is the last. Beside its own re-encodings either keeps its rate ([how often
  monitors alarm](monitoring_rates.md)), and both order changes alike.
- RDM and CKA drift of this one encoder lie near the paper's means over 26 encoders, at each level of noise.
- All drifts grow with the noise at every step, so their rank correlations with the drop are equal here.
- Random adapters of these scales change this encoder far less than the paper's models, and its accuracy by no more than
  chance: their correlation with the drop says nothing.
- *Drift without a loss of accuracy is no false alarm of the monitor*: the model did change. `tolerance=` says how much
  change is of interest; where accuracy is the interest, measure it when the monitor speaks.
"""


if __name__ == "__main__":
    main()
