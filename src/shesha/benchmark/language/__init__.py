"""Language: sentences and pairs of sentences, read by transformers."""

from shesha.benchmark.language.data import fingerprint
from shesha.benchmark.language.extraction import extract
from shesha.benchmark.language.hyper import hyperparameters
from shesha.benchmark.language.training import fit

__all__ = ["extract", "fingerprint", "fit", "hyperparameters"]
