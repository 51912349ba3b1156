"""Transferability scores: how well features suit labels, without training a model."""

from shesha.transfer.anisotropy import anisotropy
from shesha.transfer.centroid_distances import centroid_softmax, margin_score
from shesha.transfer.class_scatter import fisher_discriminant, h_score
from shesha.transfer.gaussian_overlap import bhattacharyya, gbc
from shesha.transfer.leep_and_nce import leep, nce
from shesha.transfer.logme import logme, logme_regression
from shesha.transfer.silhouette import silhouette

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
