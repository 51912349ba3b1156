"""Descriptors: single numbers, other than stability, for the spectrum or shape of one representation."""

from shesha.descriptors.intrinsic_dimension import DimensionCurve, dimension_over_scale, intrinsic_dimension
from shesha.descriptors.registry import Descriptor, card, descriptor, descriptors
from shesha.descriptors.spectrum import (
    anisotropy,
    corrected_participation_ratio,
    effective_rank,
    participation_ratio,
    plot_spectra,
)

__all__ = [
    "Descriptor",
    "DimensionCurve",
    "anisotropy",
    "card",
    "corrected_participation_ratio",
    "descriptor",
    "descriptors",
    "dimension_over_scale",
    "effective_rank",
    "intrinsic_dimension",
    "participation_ratio",
    "plot_spectra",
]
