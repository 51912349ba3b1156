"""Encode canary inputs on the command line, from a model and a file of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shesha.cli._outputs import echo
from shesha.cli._text_inputs import parse_texts, read_texts

_NAME = 60
"""Number of characters of each text that become part of its row's name."""
_KEPT = ("pool", "max_tokens", "batch_size", "dtype")
"""Properties of an encoding that are recorded as its circumstances."""


@dataclass(frozen=True)
class Canaries:
    """A model and the texts that it encodes.

    Attributes
    ----------
    model : str
        The value of `--model`, as typed.
    file : Path
        The file with the texts.
    texts : list of str
        The canary texts.
    encoding : dict
        Arguments for `shesha.extract.encode`.
    """

    model: str
    file: Path
    texts: list[str]
    encoding: dict[str, Any]

    @classmethod
    def read(
        cls, model: str | None, texts: str | None, given: Path | None, what: str, **encoding: Any
    ) -> Canaries | None:
        """Return the model and its texts; None if a file of encoded rows was given instead."""
        if model is None:
            if texts is not None:
                raise ValueError("--texts must come with --model, got --texts alone")
            if given is None:
                raise ValueError(f"Missing argument '{what}': pass it, or name a model with --model")
            return None
        if given is not None:
            raise ValueError(f"{what} must be left out with --model, got {given}: pass the texts with --texts")
        file, column = parse_texts(texts, [])
        chosen = {name: value for name, value in encoding.items() if value is not None}
        return cls(model, file, read_texts(file, column), chosen)

    def reencode(self, folder: Path, n: int, *, half: bool, seed: int) -> tuple[Any, Any, dict[str, str]]:
        """Return the reference with row names, its re-encodings, and the circumstances."""
        from shesha.drift.canary_encodings import encode_canaries

        canaries = encode_canaries(self.model, self.texts, folder, n=n, half=half, seed=seed, encoding=self.encoding)
        echo(
            f"{folder} contains {n} re-encodings of {canaries.layer}. Rerun with more --reencodings, or delete "
            "the folder."
        )
        return self._name_rows(canaries.reference), canaries, self._circumstances(canaries.layer, canaries.info)

    def encode_now(self, layer: str | None) -> tuple[Any, dict[str, str]]:
        """Return the rows of a layer (by default that of the whole model) with names, and the circumstances."""
        from shesha.extract import encode
        from shesha.extract.layer_names import output_layer

        options = {**self.encoding, **({"layers": [layer]} if layer else {})}
        layers = encode(self.model, self.texts, **options)
        name = output_layer(list(layers))
        return self._name_rows(layers[name]), self._circumstances(name, layers.info)

    def _name_rows(self, rows: Any) -> Any:
        """Name each row by its number and the beginning of its text, so that verdicts can identify it."""
        import pandas as pd

        names = [f"{i}: {' '.join(text.split())[:_NAME]}" for i, text in enumerate(self.texts)]
        return pd.DataFrame(rows, index=names)

    def _circumstances(self, layer: str, info: Mapping[str, Any]) -> dict[str, str]:
        """Return the circumstances to record, with which later checks compare their own."""
        known = {name: str(info[name]) for name in _KEPT if info.get(name) is not None}
        return {"model": self.model, "layer": layer, **known, "torch": str(info["versions"]["torch"])}
