"""The language domain: sentences and pairs of sentences, classified by transformers."""

from shesha.support.lazy import lazy_names
from shesha_bench.language.catalogue import CATALOGUE, TextData, TextNetwork, Texts

# Training needs torch, which takes long to import.
__getattr__, __dir__ = lazy_names(__name__, {"training": ("extract", "fingerprint", "fit")})
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "TextData", "TextNetwork", "Texts", "hyperparameters"]
