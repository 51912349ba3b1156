"""A stability score with its declared and tested properties."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.stability.class_labels import Classes
from shesha.views import Rdm, Rows, representation_from, rows_or_distances
from shesha.views.one_view_score import ViewScore

Needs = Literal["rows", "labels", "replicates"]
LEADING: Mapping[Needs, int] = {"rows": 1, "labels": 2, "replicates": 2}
"""Number of data arguments that each kind of function takes."""
DATA_NAMES: Mapping[Needs, tuple[str, ...]] = {"rows": ("X",), "labels": ("X", "y"), "replicates": ("X_a", "X_b")}
"""Names of the data arguments of each kind of function."""


@dataclass(frozen=True)
class Variant(ViewScore):
    """A stability score of a representation, with its declared and tested properties."""

    needs: Needs = "rows"
    estimator: Callable[..., Any] | None = field(default=None, repr=False)
    """Function that computes value, interval and null in one pass; None means one call per resample or shuffle."""
    estimand: bool = True
    """Whether the score has an identifiable estimand; if not, there is no interval and no chance level."""
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    """Options of the estimator and their defaults; None means the options of the function."""
    view_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    min_columns: int = 1
    min_classes: int = 2
    require_classes: Callable[[Classes], None] | None = field(default=None, repr=False)
    """Function that raises an error for labels that have enough classes but are unsuitable for another reason."""
    samples_pairs: bool = False
    """Whether the estimator accepts the option `pairs` and, if it averages draws, also `target_se`."""
    place: int = 100
    """Position in lists of scores, which are sorted in ascending order."""
    alias: str = ""
    """Short name in the documented interface."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the score, starting with the main name."""
        return tuple(filter(None, (self.name, self.alias, self.title)))

    @property
    def has_chance(self) -> bool:
        """Whether there is a null distribution, from shuffled labels or from the estimator."""
        return self.estimand and (self.needs_labels or (self.needs == "rows" and self.estimator is not None))

    @property
    def needs_labels(self) -> bool:
        """Whether class labels are required."""
        return self.needs == "labels"

    @property
    def maximum(self) -> float | None:
        """Value that means perfect stability; None if there is none."""
        return float(self.bounds[1]) if np.isfinite(self.bounds[1]) else None

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the public function, which takes data instead of views."""
        options = list(inspect.signature(self.function).parameters.values())[LEADING[self.needs] :]
        data = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in DATA_NAMES[self.needs]]
        typed = [parameter.replace(annotation="ArrayLike") for parameter in data]
        return inspect.Signature([*typed, *options], return_annotation="float")

    @cached_property
    def _options_of_view(self) -> frozenset[str]:
        """Names of the options that the view's constructor accepts."""
        return frozenset(inspect.signature(self.view.build).parameters) - {"seed"}

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function and their defaults."""
        parameters = list(inspect.signature(self.function).parameters.values())
        return {parameter.name: parameter.default for parameter in parameters[LEADING[self.needs] :]}

    @cached_property
    def estimator_options(self) -> dict[str, Any]:
        """The options that `estimate` and `chance` accept, and their defaults."""
        if self.settings is not None:
            return dict(self.settings)
        return {name: value for name, value in self.options.items() if name not in ("seed", "max_samples")}

    @property
    def averages_draws(self) -> bool:
        """Whether drawing more often makes the value more precise, which `target_se` requires."""
        return "n_draws" in self.estimator_options and self.samples_pairs

    @property
    def takes_distances(self) -> bool:
        """Whether distances between rows can be passed instead of features."""
        return self.view.takes_distances(**self.view_options)

    def __call__(self, *data: Any, **options: Any) -> float:
        """Compute the score of data that have not been checked."""
        # Imported here because the direct call takes a Variant.
        from shesha.stability.direct_call import call_directly

        return call_directly(self, data, options)

    def look(self, source: Rows | Rdm, options: Mapping[str, Any]) -> Any:
        """Return the view to which the function is applied."""
        chosen = {name: value for name, value in options.items() if name in self._options_of_view}
        return representation_from(source).view(self.view, **chosen, **self.view_options)

    def check_data(self, X: Any, name: str = "X") -> Rows | Rdm:
        """Check the representation; values are checked when they are read."""
        source = rows_or_distances(X, name, min_columns=self.min_columns)
        if isinstance(source, Rdm) and not self.takes_distances:
            raise TypeError(f"{name} must be features for {self.name}, got distances between rows")
        return source

    def check_labels(self, y: Any, n_rows: int) -> Classes:
        """Check the class labels, and return them as codes and names."""
        if y is None:
            raise ValueError(f"y must be given for the supervised variant {self.name!r}, got None")
        codes, names = check.labels(y, n_rows, min_classes=self.min_classes)
        classes = Classes(codes, names)
        if self.require_classes is not None:
            self.require_classes(classes)
        return classes

    def score(self, source: Rows | Rdm, classes: Classes | None, options: Mapping[str, Any]) -> float:
        """Compute the score of checked data; raise NotEstimable if there is no value."""
        labels = () if classes is None else (classes,)
        return self.number(self.look(source, options), *labels, **options)
