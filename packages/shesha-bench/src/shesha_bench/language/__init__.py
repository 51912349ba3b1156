"""The language domain: sentences and pairs of sentences, classified by transformers."""

from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data import fingerprint
from shesha_bench.language.data_and_network_types import TextData, TextNetwork, Texts
from shesha_bench.language.extraction import extract
from shesha_bench.language.training import fit
from shesha_bench.model_descriptions import Plain

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
