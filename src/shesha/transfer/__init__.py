"""Transferability scores: how well features suit labels, without training."""

from shesha.transfer.centroids import centroid_softmax, margin_score
from shesha.transfer.gaussian_overlap import bhattacharyya, gbc
from shesha.transfer.logme import logme, logme_regression
from shesha.transfer.scatter import fisher_discriminant, h_score
from shesha.transfer.silhouette import silhouette
from shesha.transfer.source import leep, nce
from shesha.transfer.variance import anisotropy

__all__ = [
    "anisotropy",
    "bhattacharyya",
    "centroid_softmax",
    "fisher_discriminant",
    "gbc",
    "h_score",
    "leep",
    "logme",
    "logme_regression",
    "margin_score",
    "nce",
    "silhouette",
]
