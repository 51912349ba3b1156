"""Is stability distinct from similarity to the representation before its transformation?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle
from typing import SupportsFloat

import numpy as np
import pandas as pd

from shesha.descriptors import participation_ratio
from shesha.kernels.rounding_and_scaling import z_scores
from shesha.measures import cka, procrustes_similarity, pwcka, unbiased_cka
from shesha.stability import basis_averaged_split, feature_split
from shesha.support.types import Matrix
from shesha.views import Representation
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study
from shesha_studies.stability_correlations import _distinctness_representations as bases
from shesha_studies.stability_correlations._distinctness_facts_and_page import make_facts, make_page
from shesha_studies.stability_correlations._distinctness_statistics import Findings

SMALL = 150
_N_ROWS = {(base.domain, base.name): base.n for base in bases.BASES}
_SLOW = ("3-mers", "charge 100")
_SPLITS, _ROTATIONS, _SHUFFLED_SPLITS = 30, 6, 5


def _cells(size: str) -> list[dict[str, str]]:
    return [
        {"domain": base.domain, "base": base.name, "variant": variant, "size": size}
        for base in bases.BASES
        for variant in bases.variants(base.d)
    ]


@study(
    "distinctness",
    paper="Geometric Stability, 2 and 7.2 to 7.8, Tables 1 and 13 to 17; journal version, Tables 2, 4, 8 and 10",
    version=2,
    full=[*_cells("small"), *_cells("published")],
    quick=[cell for cell in _cells("small") if cell["domain"] == "proteins" and cell["base"] not in _SLOW],
    published="distinctness.csv",
    stand_ins="layers of MiniLM, small networks trained here, nine protein encoders, six recordings and nine "
    "transformations of single-cell counts replace the 79 published representations",
)
def distinctness(domain: str, base: str, variant: str, size: str) -> dict[str, float | int | str]:
    """Is stability distinct from similarity, as the paper concludes from a correlation of -0.01 over encoders?

    There are 36 bases of seven domains, with all transformations of Table 14. Size "small" has 150 rows and one seed;
    size "published" has the rows of the paper and 15 seeds. Similarity is measured to three forms of the base, as
    published: the base, its first 100 principal components, and the standardised base.
    """
    n = SMALL if size == "small" else _N_ROWS[domain, base]
    X = bases.load_rows(domain, base, n)
    cap = min(X.shape) - 1
    shortened = f"PCA {min(int(variant.split()[-1]), cap)}" if variant.startswith("PCA") else variant
    return {
        "kind": bases.transformation_kind(variant),
        "n": len(X),
        "repeat": int(bases.is_repeat(variant, *X.shape)),
        **_averaged(domain, base, shortened, n),
    }


@cache
def _averaged(domain: str, base: str, variant: str, n: int) -> dict[str, float]:
    """Average scores over seeds, each with its own random numbers."""
    seeds = bases.SEEDS[:1] if n == SMALL else bases.SEEDS
    X, references = bases.load_rows(domain, base, n), _references(domain, base, n)
    # For transformations without random numbers, seeds change only the splits.
    draws = seeds if bases.transformation_kind(variant) in bases.RANDOM else seeds[:1]
    Ys = [bases.transform(X, variant, np.random.default_rng([seed, 1])) for seed in draws]
    similar = _means([_similarities(Y, references, domain) for Y in Ys])
    return similar | _means([_scores(Y, seed) for Y, seed in zip(cycle(Ys), seeds, strict=False)])


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def _scores(Y: Matrix, seed: int) -> dict[str, float]:
    shuffled = np.random.default_rng([seed, 2]).permuted(Y, axis=0)
    has_zero_rows = not (Y != 0).any(axis=1).all()
    return {
        "stability": _stability(Y, _SPLITS, seed),
        "averaged": np.nan if has_zero_rows else float(basis_averaged_split(Y, n_rotations=_ROTATIONS, seed=seed)),
        "shuffled": _stability(shuffled, _SHUFFLED_SPLITS, seed),
    }


def _seen(X: Matrix) -> tuple[Representation, float]:
    """Return a matrix with the views that measures share, and its effective dimension."""
    return Representation.build(X), float(participation_ratio(X))


@cache
def _references(domain: str, base: str, n: int) -> list[tuple[Representation, float]]:
    X = bases.load_rows(domain, base, n)
    return [_seen(matrix) for matrix in (X, bases.components(X, 100), z_scores(X))]


def _similarities(Y: Matrix, references: Sequence[tuple[Representation, float]], domain: str) -> dict[str, float]:
    """Return means over the forms of the base, and CKA with the base itself."""
    views, dimensions = _seen(Y)
    scores: dict[str, Callable[..., SupportsFloat]] = {"cka": cka, "unbiased": unbiased_cka}
    if domain == "language":
        scores |= {"pwcka": pwcka, "procrustes": procrustes_similarity}
    return {
        **{name: float(np.mean([score(views, other) for other, _ in references])) for name, score in scores.items()},
        "cka_of_base": float(cka(views, references[0][0])),
        "chance": float(np.mean([chance_cka(dimensions, other, len(Y)) for _, other in references])),
    }


def _stability(X: Matrix, n_splits: int, seed: int) -> float:
    """Feature split; NaN if a row is zero in a half of the features, as in sparse data with few columns."""
    try:
        return float(feature_split(X, n_splits=n_splits, seed=seed))
    except ValueError as error:
        if "direction" not in str(error) and "zero" not in str(error):
            raise
        return float("nan")


def chance_cka(x: float, y: float, n: int) -> float:
    """Exact mean of linear CKA over random orders of the rows of one of two representations.

    For centred Gram matrices K and L, the mean of tr(K P L P') over permutations P is tr K tr L / (n - 1).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 20))
    >>> drawn = np.mean([cka(X, Y[rng.permutation(40)]) for _ in range(200)])
    >>> bool(abs(chance_cka(participation_ratio(X), participation_ratio(Y), 40) - drawn) < 0.005)
    True
    """
    return float(np.sqrt(x * y) / (n - 1))


@distinctness.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Correlate stability and similarity as published, and with controls."""
    return make_page(Findings.build(rows), published)


@distinctness.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    return make_facts(Findings.build(rows))
