"""The vision domain: image classifiers trained with wrong labels, dots or noise of several degrees."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.images import ImageData, ImageNetwork, Parts

if TYPE_CHECKING:
    # Training needs torch, which takes long to import.
    from shesha_bench.vision.training import extract, fingerprint, fit

__getattr__, __dir__ = lazy_names(__name__)
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "ImageData", "ImageNetwork", "Parts", "extract", "fingerprint", "fit", "hyperparameters"]
