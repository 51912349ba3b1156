"""The vision domain: image classifiers trained with wrong labels, dots or noise of several degrees."""

from shesha.support.lazy import lazy_names
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.images import ImageData, ImageNetwork, Parts

# Training needs torch, which takes long to import.
__getattr__, __dir__ = lazy_names(__name__, {"training": ("extract", "fingerprint", "fit")})
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "ImageData", "ImageNetwork", "Parts", "hyperparameters"]
