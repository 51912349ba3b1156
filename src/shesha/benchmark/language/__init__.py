"""The language domain: sentences and pairs of sentences, read by transformers."""

from shesha.benchmark.language.catalogue import CATALOGUE
from shesha.benchmark.language.data import fingerprint
from shesha.benchmark.language.data_and_network_types import TextData, TextNetwork, Texts
from shesha.benchmark.language.extraction import extract
from shesha.benchmark.language.training import fit
from shesha.benchmark.model_descriptions import Plain

__all__ = ["CATALOGUE", "TextData", "TextNetwork", "Texts", "extract", "fingerprint", "fit", "hyperparameters"]


def hyperparameters(dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
    """Return the hyperparameters that a suite uses.

    Parameters
    ----------
    dataset : str
        "SST2" or "MNLI".
    architecture : str
        In the suite "paper" one of "BERT", "ALBERT", "SmolLM2"; in "small" one of "MiniLM", "SmallBERT".
    suite : str
        "paper": as published; "small": minutes instead of days, on a processor.

    Returns
    -------
    dict
        Values for `Model.hyper`.

    Examples
    --------
    >>> hyperparameters("SST2", "ALBERT", "paper")["epochs"]
    10
    """
    return CATALOGUE.hyperparameters(dataset, architecture, suite)
