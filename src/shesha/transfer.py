"""Transferability scores, in a separate package: `shesha_studies.transferability`."""

from shesha.support.optional import names_of_package

__getattr__, __dir__ = names_of_package(
    "shesha_studies.transferability", "study", "transferability scores are in a separate package"
)
