"""Use the number of tokens of each input text as a covariate, if it was recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from shesha.support.types import Vector

NAME = "number of tokens"


def text_lengths(representations: Any) -> dict[str, Vector]:
    """Return the number of tokens of each row as a covariate; empty if it is unknown or constant.

    Length alone can separate texts, because the mean-pooled rows of longer texts lie closer to a common direction.
    `Activations` and the files that an extraction writes record the numbers of tokens.

    Examples
    --------
    >>> text_lengths({"layer": np.zeros((3, 2))})
    {}
    """
    counts = getattr(representations, "n_tokens", None)
    if counts is None and (paths := _paths(representations)):
        from shesha.io.token_counts import shared_token_counts

        counts = shared_token_counts(paths)
    return {} if counts is None or len(set(counts)) < 2 else {NAME: np.array(counts, dtype=np.float64)}


def _paths(representations: Any) -> list[Any]:
    """Return the paths in an input that is a path, several paths, a mapping of paths, or `Files`."""
    paths = getattr(representations, "paths", representations)
    if isinstance(paths, Mapping):
        paths = list(paths.values())
    inputs = paths if isinstance(paths, list | tuple) else [paths]
    return [path for path in inputs if isinstance(path, str | os.PathLike)]
