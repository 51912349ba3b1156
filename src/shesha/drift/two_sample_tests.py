"""Several two-sample tests of the same rows, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.drift.two_samples import TESTS, Test, two_sample
from shesha.inputs import validation as check
from shesha.nulls.null_summary import holm, number_against_null, undecided
from shesha.results import sentence_parts as say
from shesha.results.number import Number, NumberTable
from shesha.results.paper_sentences import claim
from shesha.support import argument_types as kinds
from shesha.support.provenance import keep_statements
from shesha.support.types import Seed

DEFAULT: tuple[Test, ...] = ("energy", "mmd", "c2st")


@dataclass(frozen=True, kw_only=True)
class TwoSampleTests(NumberTable):
    """Tests of whether two samples of rows, which need not correspond, come from the same distribution."""

    numbers: tuple[Number, ...]
    """The statistic of each test with its null from random divisions of all rows, and p-values corrected by Holm."""
    n_reference: int
    n_window: int
    dependence: str = ""
    """How rows depend on their neighbours, with advice; p-values are then too small. Empty if there is no sign of
    it."""

    WHAT: ClassVar[str] = "tests"

    @property
    def headline(self) -> str:
        """Whether the samples differ."""
        sizes = f"{self.n_reference:,} and {self.n_window:,} rows, level {self.numbers[0].alpha:g}"
        if not any(each.has_value for each in self):
            return f"Whether the samples differ cannot be tested: {self.numbers[0].reason}."
        if not self.significant:
            p_values, corrected = [each.p_value for each in self], [each.corrected_p_value for each in self]
            few = undecided(p_values, corrected, self.numbers[0].n_draws, self.numbers[0].alpha)
            if few:
                return f"Whether the samples differ {few} ({sizes})."
            return f"No difference between the two samples was found ({sizes})."
        if self.dependence:
            return f"Whether the samples differ cannot be decided, because rows depend on each other ({sizes})."
        names = ", ".join(each.name for each in self.significant)
        return f"The two samples differ ({names}; {sizes})."


@claim.register
def _claim(result: TwoSampleTests) -> str:
    clauses = [
        f"{each.name} {say.format_number(each.value)} (null mean {say.format_number(each.chance)}, corrected p = "
        f"{say.format_p(each.corrected_p_value)}, {say.draws(each.n_draws, each.exchanged)})"
        if each.has_value
        else f"{each.name} could not be estimated"
        for each in result.numbers
    ]
    level = f"at a level of {result.numbers[0].alpha:g}"
    doubt = "; rows depended on each other, so p is too small" if result.dependence else ""
    return (
        f"Two samples of {result.n_reference:,} and {result.n_window:,} rows were compared {level}: "
        f"{say.join_clauses(clauses)}{doubt}"
    )


@keep_statements
def two_sample_tests(
    reference: ArrayLike,
    window: ArrayLike,
    *,
    tests: Iterable[Test] = DEFAULT,
    n_permutations: int = 199,
    alpha: float = 0.05,
    seed: Seed = 0,
) -> TwoSampleTests:
    """Test by several statistics whether two samples of rows come from the same distribution.

    The rows need not correspond: these are other inputs. On the command line: `shesha drift reference.npy window.npy`.

    Parameters
    ----------
    reference, window : arrays of shape (n_rows, n_features)
        See `two_sample`.
    tests : iterable of {'energy', 'mmd', 'sliced wasserstein', 'c2st'}
        The tests, see `two_sample`. Their p-values are corrected for their number (Holm).
    n_permutations, alpha, seed
        See `two_sample`. The corrected p-value is at least the number of tests divided by n_permutations + 1.

    Returns
    -------
    TwoSampleTests

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((60, 5)), rng.standard_normal((40, 5))
    >>> two_sample_tests(X, Y).headline, two_sample_tests(X, 2 * Y).significant[0].name
    ('No difference between the two samples was found (60 and 40 rows, level 0.05).', 'energy')
    """
    names = [check.choice(name, TESTS, "tests") for name in kinds.several(tests, str, "tests", "names")]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"tests must be different names, at least one, got {names}")
    results = [
        two_sample(reference, window, test=cast(Test, name), n_permutations=n_permutations, alpha=alpha, seed=seed)
        for name in names
    ]
    numbers = []
    for each in results:
        one: Number = number_against_null(
            each.name,
            each.value,
            np.asarray(each.null),
            alpha=alpha,
            n_rows=each.n_reference + each.n_window,
            exchanged="all rows",
            seed=each.seed,
            reason=each.reason,
        )
        numbers.append(one)
    corrected = holm([each.p_value for each in numbers])
    dependence = results[0].dependence
    doubt = (f"p-values are too small: {dependence}",) if dependence else ()
    return TwoSampleTests(
        numbers=tuple(replace(each, corrected_p_value=float(p)) for each, p in zip(numbers, corrected, strict=True)),
        n_reference=results[0].n_reference,
        n_window=results[0].n_window,
        dependence=dependence,
        notes=doubt,
    )
