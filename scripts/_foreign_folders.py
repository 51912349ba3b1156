"""Good folders of other people for `fuzz_stores.py`, and their use: pictures, a study with its rules, and models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def make_images(folder: Path) -> None:
    """Write pictures of two classes in several formats."""
    from PIL import Image

    pixels = np.random.default_rng(3).integers(0, 255, (12, 16, 16, 3)).astype("u1")
    for part in ("train", "val"):
        for number, ending in enumerate(("png", "jpg", "gif", "bmp", "tiff", "webp")):
            place = folder / part / "ab"[number % 2]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[number]).save(place / f"{number}.{ending}")


def use_images(folder: Path) -> None:
    """Read the pictures as extraction and as the benchmark do."""
    import torch

    from shesha.extract._input_rows import ImageRows
    from shesha_bench.vision.images import file_images

    def pixels(images: list[Any]) -> Any:
        return torch.stack([torch.from_numpy(np.asarray(image.resize((4, 4))).copy()) for image in images])

    rows = ImageRows(sorted(folder.rglob("*.*")), pixels, None)
    rows.batch(np.arange(len(rows)), torch.device("cpu"), torch.float32)
    rows.fingerprint()
    for images in file_images(folder, 8):
        images.take(np.arange(len(images.labels)))
        images.fingerprint()


_STUDY = '''
from shesha_studies import Found, Page, study

@study("fuzzed", paper="new", version=1, full={"x": [1, 2]}, quick={"x": [1]}, published="fuzzed.csv")
def fuzzed(x):
    """Does it rise?"""
    return {"y": 2.0 * x}

@fuzzed.facts
def facts(rows, published):
    return {"rise": float(rows.y.max() - rows.y.min()), "top": float(rows.y.max())}

@fuzzed.page
def page(rows, published):
    return Page("", (("Rows", rows),), answers={"top": Found(rows.y.max(), error=0.1)})
'''
_RULES = """
notes = ["The largest value is {top:.2f}."]
own_numbers = ["printed"]

[columns]
y = "value"

[why]
"to*" = "the seed differs: {top:.1f}"

[claim.rises]
fact = "rise"
reason = "any rise counts"
above = 0
found = "it rises by {rise:.1f}"

[[answer]]
text = "The top is {top:.1f}."
"""
_PUBLISHED = """key,where,what,published,decimals
top,"A paper, Table 1",largest value,4.0,1
claim/rises,"A paper, 2",y rises with x,rises,
"""


def make_rules(folder: Path) -> None:
    """Write a study of a user's own, with published numbers and rules."""
    (folder / "rules").mkdir()
    (folder / "fuzzed_study.py").write_text(_STUDY)
    (folder / "fuzzed.csv").write_text(_PUBLISHED)
    (folder / "rules" / "fuzzed.toml").write_text(_RULES)


def use_rules(folder: Path) -> None:
    """Run the study, and make its page."""
    from shesha_studies import find, run

    try:
        run([find(f"{folder / 'fuzzed_study.py'}:fuzzed")], out=folder / "out")
    finally:
        sys.modules.pop("fuzzed_study", None)


_ENTRIES: dict[str, tuple[int, bytes]] = {
    "general.architecture": (8, (5).to_bytes(8, "little") + b"llama"),
    "llama.block_count": (4, (2).to_bytes(4, "little")),
    "llama.embedding_length": (4, (16).to_bytes(4, "little")),
    "llama.attention.layer_norm_rms_epsilon": (6, b"\x00\x00\x80\x3f"),
    "tokenizer.ggml.tokens": (9, b"\x08\0\0\0" + (2).to_bytes(8, "little") + (b"\x01" + bytes(7) + b"a") * 2),
    "tokenizer.ggml.scores": (9, b"\x06\0\0\0" + (2).to_bytes(8, "little") + bytes(8)),
}
"""Entries of the header of a GGUF file: the type and the bytes of each value."""


def gguf_header(entries: dict[str, tuple[int, bytes]] = _ENTRIES) -> bytes:
    """Return the header of a GGUF file without tensors."""
    head = b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + len(entries).to_bytes(8, "little")
    for name, (kind, value) in entries.items():
        head += len(name).to_bytes(8, "little") + name.encode() + kind.to_bytes(4, "little") + value
    return head


def make_models(folder: Path) -> None:
    """Write a small network with its configuration and tokenizer, and the header of a GGUF file."""
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    words = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "a", "b"])}
    BertModel(BertConfig(vocab_size=4, max_position_embeddings=8, **sizes)).save_pretrained(folder / "bert")
    reader = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reader, pad_token="[PAD]", unk_token="[UNK]")
    tokenizer.save_pretrained(folder / "bert")
    (folder / "small.gguf").write_bytes(gguf_header())


def use_models(folder: Path) -> None:
    """Check the header of the GGUF file, load the network and its tokenizer, and encode two texts."""
    import shesha.extract
    from shesha.extract import pretrained

    pretrained._require_plausible_sizes(pretrained.find_source(str(folder / "small.gguf")))
    shesha.extract.encode(str(folder / "bert"), ["a b", "b"])
