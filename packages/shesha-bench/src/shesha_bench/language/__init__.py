"""The language domain: sentences and pairs of sentences, classified by transformers."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names
from shesha_bench.language.catalogue import CATALOGUE, TextData, TextNetwork, Texts

if TYPE_CHECKING:
    # Training needs torch, which takes long to import.
    from shesha_bench.language.training import extract, fingerprint, fit

__getattr__, __dir__ = lazy_names(__name__)
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "TextData", "TextNetwork", "Texts", "extract", "fingerprint", "fit", "hyperparameters"]
