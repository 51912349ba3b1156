"""Compare several representations with one reference within each class of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from shesha.comparison.within_classes import MEASURES, compare_within
from shesha.inputs import MissingRows, RowChoice
from shesha.measures.registry import Choice
from shesha.results.similarity.models_with_reference_within_classes import SeveralWithinClasses
from shesha.support import argument_types as kinds
from shesha.support import provenance
from shesha.support.types import Seed
from shesha.views import select_rows


@provenance.keep_statements
def compare_several_within(
    reference: ArrayLike,
    others: Mapping[str, ArrayLike],
    labels: ArrayLike,
    measures: Choice | Iterable[Choice] = MEASURES,
    *,
    name: str = "reference",
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    min_rows: int = 20,
    min_group: int = 5,
    n_permutations: int | None = None,
    alpha: float = 0.05,
    confidence: float = 0.95,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> SeveralWithinClasses:
    """Compare several representations with one reference within each class, to see which preserves most.

    `compare_within` compares each representation with the reference, always with the same rows and permutations.

    Parameters
    ----------
    reference : array of shape (n_samples, n_features)
        Reference with which all others are compared, such as the data before an integration.
    others : mapping of str to array of shape (n_samples, n_features)
        One or more representations, such as the embeddings from several integration methods.
    labels : array of shape (n_samples,)
        The class of each row. Rows without a label (None, NaN) are left out.
    measures
        As for `compare`.
    name : str
        Name of the reference in tables.
    blocks, groups, min_rows, min_group, n_permutations, alpha, confidence, rows, missing, seed
        As for `compare_within`.

    Returns
    -------
    SeveralWithinClasses
        All comparisons, with `to_frame()` and `plot()`; ``["name"]`` selects one. The result prints a sentence for
        each.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> types = np.repeat(["B", "T"], 40)
    >>> X = rng.standard_normal((80, 10)) + 3 * (types == "T")[:, None]
    >>> lost = np.where((types == "T")[:, None], rng.standard_normal((80, 10)) + 3, X)
    >>> found = compare_several_within(X, {"rotated": X[:, ::-1], "lost": lost}, types, "RSA", n_permutations=99)
    >>> found["rotated"].kept, found["lost"].lost
    (('B', 'T'), ('T',))
    """
    if not kinds.mapping(others, "others"):
        raise ValueError("others must contain at least one representation, got none")
    if name in others:
        raise ValueError(f"name must differ from the names of others, got {name!r}")
    design: dict[str, Any] = {"blocks": blocks, "groups": groups, "min_rows": min_rows, "min_group": min_group}
    options: dict[str, Any] = {"n_permutations": n_permutations, "alpha": alpha, "confidence": confidence}
    along: dict[str, Any] = {"labels": labels, "blocks": blocks, "groups": groups}
    sides, along = select_rows(
        {name: reference, **{str(k): v for k, v in others.items()}}, along, rows=rows, missing=missing
    )
    reference, others = sides[name], {other: sides[str(other)] for other in others}
    labels, design = along["labels"], design | {"blocks": along["blocks"], "groups": along["groups"]}
    comparisons = [
        compare_within(reference, array, labels, measures, names=(name, str(other)), **design, **options, seed=seed)
        for other, array in others.items()
    ]
    return SeveralWithinClasses(name, tuple(comparisons))
