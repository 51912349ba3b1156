"""Descriptors: single numbers, other than stability, for the spectrum or shape of one representation."""

from shesha.descriptors.spectrum_and_dimension import (
    Descriptor,
    DimensionCurve,
    anisotropy,
    card,
    corrected_participation_ratio,
    descriptor,
    descriptors,
    dimension_over_scale,
    effective_rank,
    intrinsic_dimension,
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
