"""The benchmark of similarity measures, a separate package: `shesha_bench`."""

from shesha.support.optional import names_of_package

__getattr__, __dir__ = names_of_package("shesha_bench", "bench", "the benchmark is a separate package")
