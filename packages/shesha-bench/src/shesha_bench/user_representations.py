"""Apply the tests to your own representations: check them, compare them and compute the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.comparison import engine
from shesha.inputs import validation as check
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice
from shesha.support import argument_types as kinds
from shesha.support.plurals import count
from shesha.support.progress import track
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed
from shesha.views import Rdm, check_named_arrays
from shesha_bench.output_differences import probabilities as checked_probabilities
from shesha_bench.pairs_and_scores import Pair, ScoreRow, Values
from shesha_bench.tests._base import BenchmarkTest, Cast, Output
from shesha_bench.zero_rows import compare_directed

if TYPE_CHECKING:
    import pandas as pd

Choices = Choice | Iterable[Choice]
Models = Mapping[str, ArrayLike] | Sequence[ArrayLike]
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class _Found:
    """For each measure, its values, the first reason for a missing value, and how many rows were left out."""

    values: dict[str, dict[Pair, float]]
    reasons: dict[str, str] = field(default_factory=dict)
    rows_left_out: dict[str, list[int]] = field(default_factory=dict)

    def note(self, measure: str) -> str:
        """Return a note on rows that a measure left out, or '' if there are none."""
        rows = self.rows_left_out.get(measure)
        return (
            f"rows without a direction were left out of {count(len(rows), 'comparison')}, at most {max(rows)} each"
            if rows
            else ""
        )


def score_by_prediction(
    test: BenchmarkTest,
    representations: Models,
    probabilities: Models,
    labels: ArrayLike | None,
    measures: Choices,
    seed: Seed,
) -> pd.DataFrame:
    """Score measures on models whose outputs differ; parameters as in `tests.accuracy_correlation`."""
    models = _name_models(representations, "representations", "model", 2)
    _require_same_rows(models, "representations")
    outputs = {name: Output(rows, labels) for name, rows in _outputs(probabilities, models).items()}
    known = {
        kind: {(a, b): difference(outputs[a], outputs[b]) for a, b in combinations(models, 2)}
        for kind, difference in test.differences.items()
    }
    cast = Cast({"models": tuple((name,) for name in models)})
    return _score(test, cast, models, measures, seed, known)


def score_by_groups(
    test: BenchmarkTest, groups: Mapping[str, Sequence[ArrayLike]], measures: Choices, seed: Seed
) -> pd.DataFrame:
    """Score measures on groups of models; parameters as in `tests.label_randomization`."""
    if not isinstance(groups, Mapping) or len(groups) < 2:
        what = f"{len(groups)}" if isinstance(groups, Mapping) else type(groups).__name__
        raise ValueError(f"groups must be a mapping of at least two names to models, got {what}")
    members = {
        group: _name_models(models, f"groups[{group!r}]", f"{group}, model", 1) for group, models in groups.items()
    }
    everything = {name: model for models in members.values() for name, model in models.items()}
    if len(everything) < sum(map(len, members.values())):
        raise ValueError("groups must contain each model once, got a name twice")
    _require_same_rows(everything, "groups")
    cast = Cast({group: tuple((name,) for name in models) for group, models in members.items()})
    return _score(test, cast, everything, measures, seed)


def score_by_layers(
    test: BenchmarkTest, models: Sequence[Sequence[ArrayLike]], measures: Choices, seed: Seed
) -> pd.DataFrame:
    """Score measures on the order of layers; parameters as in `tests.layer_monotonicity`."""
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise ValueError(f"models must be a sequence of at least one model's layers, got {_kind(models)}")
    everything: dict[str, ArrayLike] = {}
    names = []
    for place, layers in enumerate(models):
        arrays = _name_models(layers, f"models[{place}]", f"model {place}, layer", 2)
        _require_same_rows(arrays, f"models[{place}]")
        everything |= arrays
        names.append(tuple(arrays))
    return _score(test, Cast({"models": tuple(names)}), everything, measures, seed)


def _score(
    test: BenchmarkTest,
    cast: Cast,
    arrays: Mapping[str, ArrayLike],
    measures: Choices,
    seed: Seed,
    known: Mapping[str, Values] | None = None,
) -> pd.DataFrame:
    """Compare the pairs that the test needs, and score the measures by the rules of the test."""
    chosen, number = choose(measures), draw_seed(seed)
    pairs = {measure.name: test.pairs(cast, measure.symmetric) for measure in chosen}
    result = _compare(arrays, pairs, chosen, number)
    return _frame([test.score(entry, result.values[entry.name], cast, known or {}, number) for entry in chosen], result)


def _name_models(models: Models, argument: str, label: str, minimum: int) -> dict[str, ArrayLike]:
    """Return the arrays by name; in a sequence, the names are numbered."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        if not kinds.is_sequence(models):
            raise ValueError(f"{argument} must be a sequence or mapping of arrays, got {_kind(models)}")
        named = {f"{label} {place}": model for place, model in enumerate(models)}
    if len(named) < minimum:
        raise ValueError(f"{argument} must contain at least {minimum}, got {len(named)}")
    return named


def _kind(value: Any) -> str:
    return f"{len(value)}" if isinstance(value, Sequence) and not isinstance(value, str) else type(value).__name__


def _require_same_rows(models: Mapping[str, ArrayLike], argument: str) -> None:
    for name, model in models.items():
        if not isinstance(model, Rdm) and np.ndim(check.dense(model, name)) == 0:
            raise ValueError(f"{argument} must contain arrays of rows, got {model!r} as {name}")
    counts = {name: m.n_rows if isinstance(m, Rdm) else len(check.dense(m, name)) for name, m in models.items()}
    if len(set(counts.values())) > 1:
        listed = check.join_items(f"{name} ({n})" for name, n in counts.items())
        raise ValueError(f"{argument} must have equal numbers of rows, got {listed}")


def _outputs(probabilities: Models, models: Mapping[str, ArrayLike]) -> dict[str, Rows]:
    """Return each model's output probabilities after checking them."""
    outputs = _name_models(probabilities, "probabilities", "model", 2)
    if set(outputs) != set(models):
        raise ValueError(
            f"probabilities must be of the same models as representations ({check.join_items(models)}), "
            f"got {check.join_items(outputs)}"
        )
    checked = {name: checked_probabilities(outputs[name], f"probabilities of {name}") for name in models}
    _require_same_rows({"representations": next(iter(models.values())), **checked}, "probabilities")
    return checked


def _compare(
    models: Mapping[str, ArrayLike], pairs: Mapping[str, list[Pair]], chosen: Sequence[Measure], seed: int
) -> _Found:
    sources = check_named_arrays(models, "models", "{}")
    drawn = [measure.with_seed(seed) for measure in chosen]
    groups = engine.group_by_view(drawn, pairs)
    skipped = engine.too_large(groups, sources)
    scores = (result for group in groups for result in compare_directed(group, sources, skipped))
    comparisons = _Found({measure.name: {} for measure in chosen})
    for result in track(scores, sum(map(len, pairs.values())), "comparing"):
        score = result.pair.score
        comparisons.values[score.measure][result.pair.first, result.pair.second] = score.value
        if score.reason:
            comparisons.reasons.setdefault(score.measure, score.reason)
        elif result.rows_left_out:
            comparisons.rows_left_out.setdefault(score.measure, []).append(result.rows_left_out)
    return comparisons


def _frame(scored: Iterable[Sequence[ScoreRow]], comparisons: _Found) -> pd.DataFrame:
    """Return the scores as a table, with notes on values that are missing or based on fewer rows."""
    import pandas as pd

    rows = []
    for row in (row for rows in scored for row in rows):
        why = comparisons.reasons.get(row.measure, "") if row.dropped or math.isnan(row.value) else ""
        rows.append(asdict(row) | {"reason": "; ".join(filter(None, (row.reason, why, comparisons.note(row.measure))))})
    return pd.DataFrame(rows)
