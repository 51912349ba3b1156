"""Small causal language models, trained on reviews, as stand-ins for published models."""

from __future__ import annotations

import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.support.files import replacing
from shesha.support.types import Labels
from shesha_studies.external_data import table
from shesha_studies.networks.training_loop import seed_torch

if TYPE_CHECKING:
    from shesha_studies.language_models import Model

TINY = ("tiny GPT", "tiny GPT, untrained")
WORDS, LONGEST, WIDTH, DEPTH, HEADS = 1500, 24, 64, 3, 4
EPOCHS, BATCH, RATE, WEIGHT = 3, 32, 3e-3, 10.0
PAD, UNKNOWN, START, VERDICT, BAD, GOOD = "<pad>", "<unk>", "<s>", "<is>", "<bad>", "<good>"
SPECIAL = (PAD, UNKNOWN, START, VERDICT, BAD, GOOD)


@cache
def reader() -> Any:
    """Return a tokenizer of whole words: the 1,500 most frequent of the training sentences; texts begin with <s>."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    counts = table("sst2", "train_sentences.csv")["sentence"].str.lower().str.split().explode().value_counts()
    # Sort equally frequent words alphabetically, because their order in pandas is not fixed.
    words = sorted(counts.index, key=lambda word: (-counts[word], word))[: WORDS - len(SPECIAL)]
    known = {word: place for place, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(WordLevel(known, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single=f"{START} $A", special_tokens=[(START, known[START])])
    wrapped: Any = PreTrainedTokenizerFast
    return wrapped(tokenizer_object=tokenizer, pad_token=PAD, unk_token=UNKNOWN, bos_token=START, padding_side="right")


@cache
def tiny(name: str, seed: int = 0) -> Model:
    """Return a GPT-2 of three blocks, 64 wide; trained (a minute) on 6,920 sentences and their verdicts."""
    from shesha_studies.language_models import Model

    with seed_torch(seed):
        network = _new()
        if name == TINY[0]:
            _train_model(network, seed)
    return Model(network.transformer, reader(), "ln_f", network.transformer.wte.weight.detach().clone())


def _new() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    network: Any = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=WORDS,
            n_positions=64,
            n_embd=WIDTH,
            n_layer=DEPTH,
            n_head=HEADS,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=SPECIAL.index(START),
            eos_token_id=SPECIAL.index(PAD),
            pad_token_id=SPECIAL.index(PAD),
        )
    )
    return network.eval()


def _train_model(network: Any, seed: int) -> None:
    """Train the model, or read the equal weights that an earlier process has stored."""
    import torch
    from safetensors.torch import load_file, save_file

    settings = (
        WORDS,
        LONGEST,
        WIDTH,
        DEPTH,
        HEADS,
        EPOCHS,
        BATCH,
        RATE,
        WEIGHT,
        seed,
        str(network.dtype),
        torch.__version__,
    )
    kept = (
        Path(tempfile.gettempdir()) / f"shesha_tiny_gpt_{sha256(repr(settings).encode()).hexdigest()[:12]}.safetensors"
    )
    if kept.exists():
        network.transformer.load_state_dict(load_file(kept))
        return
    _train(network, seed)
    with replacing(kept) as place:
        save_file(network.transformer.state_dict(), place)


def _train(network: Any, seed: int) -> None:
    """Train the model to continue sentences and to end them with a verdict."""
    import torch

    sentences = table("sst2", "train_sentences.csv")
    verdicts = sentences["label"].map({0: BAD, 1: GOOD})
    texts = (sentences["sentence"] + f" {VERDICT} " + verdicts).tolist()
    rng = np.random.default_rng(seed)
    n_steps = EPOCHS * (len(texts) // BATCH)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE)
    falling = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=n_steps)
    for _ in range(EPOCHS):
        order = rng.permutation(len(texts))
        for start in range(0, len(texts) - BATCH + 1, BATCH):
            tokens = _tokens([texts[i] for i in order[start : start + BATCH]])
            _loss(network, tokens).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            falling.step()
            optimiser.zero_grad()


def _loss(network: Any, tokens: Any) -> Any:
    """Return the mean log-loss of the next words; a verdict, one word of twenty, counts as ten."""
    import torch

    scores, true = network(**tokens).logits[:, :-1], tokens["input_ids"][:, 1:]
    each = torch.nn.functional.cross_entropy(scores.transpose(1, 2), true, reduction="none")
    weights = tokens["attention_mask"][:, 1:].to(each.dtype)
    weights[(true == SPECIAL.index(BAD)) | (true == SPECIAL.index(GOOD))] = WEIGHT
    return (each * weights).sum() / weights.sum()


def _tokens(texts: list[str]) -> Any:
    # Truncate long texts on the left, because the verdict is at the end.
    tokenizer = reader()
    tokenizer.truncation_side = "left"
    return tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")


def right_verdicts(model: Model, texts: list[str], labels: Labels) -> Labels:
    """Return for each text whether the model's own verdict is correct."""
    import torch

    questions = [f"{text} {VERDICT}" for text in texts]
    verdicts = []
    with torch.inference_mode():
        for start in range(0, len(questions), BATCH):
            tokens = _tokens(questions[start : start + BATCH])
            last = tokens["attention_mask"].sum(1) - 1
            states = model.network(**tokens).last_hidden_state[torch.arange(len(last)), last]
            bad, good = (states @ model.head[SPECIAL.index(word)] for word in (BAD, GOOD))
            verdicts.append((good > bad).numpy())
    return np.asarray(np.concatenate(verdicts) == labels.astype(bool), dtype=np.intp)
