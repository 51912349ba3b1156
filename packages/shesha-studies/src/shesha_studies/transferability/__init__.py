"""Transferability scores: how well features suit labels, without training a model."""

from shesha_studies.transferability.class_separation import (
    anisotropy,
    bhattacharyya,
    centroid_softmax,
    fisher_discriminant,
    gbc,
    h_score,
    margin_score,
    silhouette,
)
from shesha_studies.transferability.label_prediction import leep, logme, logme_regression, nce

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
