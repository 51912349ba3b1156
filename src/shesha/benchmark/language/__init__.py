"""The language domain: sentences and pairs of sentences, classified by transformers."""

from shesha.benchmark.language.catalogue import CATALOGUE
from shesha.benchmark.language.data import fingerprint
from shesha.benchmark.language.data_and_network_types import TextData, TextNetwork, Texts
from shesha.benchmark.language.extraction import extract
from shesha.benchmark.language.training import fit
from shesha.benchmark.model_descriptions import Plain

__all__ = ["CATALOGUE", "TextData", "TextNetwork", "Texts", "extract", "fingerprint", "fit", "hyperparameters"]


def hyperparameters(dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
    """Return the hyperparameters that a suite uses for an architecture on a data set.

    Parameters
    ----------
    dataset : str
        "SST2" or "MNLI".
    architecture : str
        "BERT", "ALBERT" or "SmolLM2" in the suite "paper", "MiniLM" or "SmallBERT" in the suite "small".
    suite : str
        "paper" uses the published settings. "small" takes minutes on a CPU instead of days.

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
