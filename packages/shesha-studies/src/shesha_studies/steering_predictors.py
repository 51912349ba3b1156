"""Predictors of how well rows can be steered, and their raw and partial correlations with steering over models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.descriptors import anisotropy
from shesha.inputs import MissingRows, validation as check
from shesha.kernels.class_statistics import class_means
from shesha.measures import procrustes_similarity
from shesha.nulls import Exchange, exchange, holm
from shesha.nulls.null_summary import p_of_draws
from shesha.report import Part, Text, texts
from shesha.results import Correlation, sentence_parts as say
from shesha.results.base import Result
from shesha.results.correlation import controls
from shesha.results.number import Number, NumberTable, format_value, frame_of_numbers, table_of_numbers
from shesha.stability import estimate, supervised_alignment
from shesha.steering.labelled_rows import (
    Labelled,
    check_labelled,
    coordinates,
    score_against_null,
    shuffle_count,
    warn_of_dependence,
)
from shesha.steering.vectors import agreement
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE, default_draws, draw_seed, generator, number, spawn, undecided
from shesha.support.types import Index, Labels, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimableWarning
from shesha.support.wording import agree, count
from shesha.views import select_rows
from shesha_studies.partial_rank_correlations import cosines, rank_columns, residual_ranks
from shesha_studies.transferability import fisher_discriminant, silhouette

__all__ = ["Correlations", "SteeringPredictors", "partial_correlations", "predictors"]

if TYPE_CHECKING:
    import pandas as pd

Predictor = Callable[[Matrix, Labels], float]
_SHUFFLING = 73
_DRAWS = 999
_ROWS = 1000
"""Largest number of rows whose distances are ranked; published scores use fewer rows."""

_PAIRS = 1_000_000


def _alignment(X: Matrix, codes: Labels) -> float:
    return supervised_alignment(X, codes, seed=0, max_samples=_ROWS)


def _procrustes(X: Matrix, codes: Labels) -> float:
    return procrustes_similarity(X, np.eye(int(codes.max()) + 1)[codes])


_SUPERVISED: dict[str, tuple[Predictor, float | None]] = {
    "supervised_alignment": (_alignment, 1.0),
    "fisher": (fisher_discriminant, None),
    "silhouette": (silhouette, 1.0),
    "procrustes": (_procrustes, 1.0),
}
"""Functions that score labelled rows, each with the maximum of its score."""
_NO_LABELS = "does not use labels, so shuffling them changes nothing"


@dataclass(frozen=True)
class SteeringPredictors(Result):
    """Geometric scores of some rows, which may predict how well other rows can be steered."""

    scores: tuple[Number, ...]
    n_rows: int
    exchanged: str
    n_draws: int
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def __iter__(self) -> Iterator[Number]:
        """Iterate over the predictors."""
        return iter(self.scores)

    def __getitem__(self, name: str) -> float:
        """Return the value of the predictor with this name."""
        known = {score.name: score.value for score in self.scores}
        if name not in known:
            raise KeyError(f"name must be one of {', '.join(known)}, got {name}")
        return known[name]

    @property
    def headline(self) -> str:
        """Which predictors are beyond chance."""
        tested = [score for score in self.scores if score.has_null]
        names = [score.name for score in tested if score.significant]
        level = f" at {tested[0].alpha:g}" if tested else ""
        named = f": {', '.join(names)}" if names else ""
        return f"{len(names)} of {len(tested)} predictors are beyond chance{level} (uncorrected){named}."

    def values(self) -> dict[str, float]:
        """Return every value by name, for one line in a table of models."""
        return {score.name: score.value for score in self.scores}

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor."""
        return frame_of_numbers(self.scores, full=full)

    def _numbers(self) -> tuple[Part, ...]:
        """Return every predictor with its chance level."""
        drawn = f"{self.n_rows:,} rows. Chance level: {self.exchanged} shuffled {self.n_draws} times."
        return (*table_of_numbers(self.scores, "Predictors", "predictor"), Text(drawn))

    def _claim(self) -> str:
        drawn = f"{self.exchanged} shuffled {self.n_draws:,} times"
        head = f"Predictors of steering over {self.n_rows:,} rows"
        return say.listing(
            head, [say.clause(one, confidence=CONFIDENCE) for one in self.scores], drawn, others="predictors"
        )


@dataclass(frozen=True, kw_only=True)
class Correlations(NumberTable):
    """How predictors correlate with a target over models or layers, with and without control for others."""

    numbers: tuple[Correlation, ...]
    target: str
    covariates: tuple[str, ...]
    n_models: int
    n_units: int
    """Number of units that are resampled and shuffled: models, or groups of models."""
    n_draws: int
    seed: int | None = None

    WHAT: ClassVar[str] = "rank correlations"

    def __getitem__(self, name: str) -> Correlation:
        """Return the correlation of the predictor with this name."""
        return cast(Correlation, super().__getitem__(name))

    @property
    def headline(self) -> str:
        """The predictor with the largest (partial) correlation with the target, and its corrected p-value."""
        known = [one for one in self.numbers if one.has_value]
        if not known:
            return f"No predictor of {self.target} could be tested."
        best = max(known, key=lambda one: abs(one.value))
        p_values, corrected = zip(*((one.p_value, one.corrected_p_value) for one in known), strict=True)
        few = undecided(p_values, corrected, self.n_draws, best.alpha, what="shuffles")
        verdict = few or ("significant" if best.significant else "not significant")
        return (
            f"Strongest predictor of {self.target}{controls(self.covariates)}: {best.name} (rho = {best.value:.2f}, "
            f"corrected p = {best.deciding_p_value:.2g}, {verdict} at {best.alpha:g})."
        )

    @property
    def _raw(self) -> list[Number]:
        return [one.raw for one in self.numbers if one.raw]

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per predictor; columns of the correlation without control begin with 'raw'."""
        frame = frame_of_numbers(self.numbers, "name", full=full)
        for field in ("value", "low", "high", "p_value") if self._raw else ():
            frame[f"raw_{field}"] = [getattr(one, field) for one in self._raw]
        return frame.drop(columns="raw", errors="ignore")

    def _numbers(self) -> tuple[Part, ...]:
        """Return the correlations with their intervals."""
        units = count(self.n_models, "model") + ("" if self.n_units == self.n_models else f" in {self.n_units} groups")
        further = {"without control": [format_value(one) for one in self._raw]} if self._raw else None
        critical = ", ".join(
            f"{numbers[0].threshold:.2f}{name}"
            for numbers, name in ((self.numbers, ""), (self._raw, " without control"))
            if numbers and numbers[0].threshold == numbers[0].threshold
        )
        return (
            *table_of_numbers(self.numbers, "Spearman correlations", "predictor", further),
            *texts(
                [
                    f"Spearman correlations with {self.target} over {units}{controls(self.covariates)}. p from "
                    f"{self.n_draws:,} shuffles, corrected by Holm's method.",
                    f"Two-sided critical value: {critical}.",
                ]
            ),
        )

    def _claim(self) -> str:
        groups = "" if self.n_units == self.n_models else f" in {self.n_units} groups"
        head = f"Spearman correlations with {self.target} over {count(self.n_models, 'model')}{groups}"
        plain = {one.name: f" (without control {say.format_number(one.raw.value)})" for one in self.numbers if one.raw}
        clauses = [f"{say.clause(one)}{plain.get(one.name, '')}" for one in self]
        method = f"{self.n_draws:,} shuffles, Holm's correction"
        return say.listing(f"{head}{controls(self.covariates)}", clauses, method, others="predictors")


@keep_statements
def predictors(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_draws: int = 99,
    missing: MissingRows = "refuse",
    seed: Seed = None,
) -> SteeringPredictors:
    """Compute scores that may predict how well a representation can be steered, each with its null.

    Pass rows other than those to be steered (see `halves`); on the same rows, the prediction would be circular.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Activations of one layer, finite, at least 8 rows.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    groups : array of shape (n_samples,), optional
        Template, speaker or document of each row. Labels are shuffled within groups that contain several classes, and
        among groups of a single class.
    n_draws : int
        Number of shuffles of the labels, 0 or at least 19. With 0, there are no chance levels.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out together with rows of zeros, and counted. Rows
        without a label are left out.
    seed : int, Generator or None
        Seed for the shuffles; None draws a new one.

    Returns
    -------
    SteeringPredictors
        These scores have a chance level and a p-value: `supervised_alignment` (the paper's supervised Shesha, the rank
        correlation of distances with whether labels differ), `fisher`, `silhouette`, `procrustes` (similarity to the
        one-hot labels), `coherence` (of the shifts between the two classes farthest apart) and `unbiased_coherence`.
        `feature_split` and `anisotropy` have none, because they do not use labels. With random labels, Procrustes
        similarity and Fisher's ratio are not 0, and they grow with the number of features per row. With two classes,
        the Procrustes similarity is sqrt(f / (1 + f)), where f is Fisher's ratio, so both rank models in the same
        order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> found = predictors(rng.standard_normal((60, 8)) + 2 * np.eye(8)[y], y, n_draws=19, seed=0)
    >>> round(found["supervised_alignment"], 2), round(found["fisher"], 2)
    (0.5, 0.24)
    """
    sides, along = select_rows({"X": X}, {"y": y, "groups": groups}, missing=missing)
    X, y, groups = sides["X"], along["y"], along["groups"]
    rows = check.matrix(X, min_rows=8)
    known = check_labelled(X, y, groups, len(rows), halved=False)
    warn_of_dependence(rows, known)
    n_shuffles, drawn_seed = shuffle_count(n_draws), draw_seed(seed)
    rng = spawn(drawn_seed, _SHUFFLING)
    shuffles = [known.shuffle(rng) for _ in range(n_shuffles)]
    scores = [_score_predictor(name, rows, known, shuffles) for name in _SUPERVISED]
    scores += _coherence(rows, known, n_shuffles, drawn_seed)
    # The score is feature_split without rows that are zero in all features or in one half of them.
    there = np.asarray(rows.any(axis=1))
    split = estimate(rows[there], n_bootstrap=0, n_permutations=0, pairs=_PAIRS, seed=drawn_seed)
    scores.append(Number(name="feature_split", value=split.value, reason=split.reason or _NO_LABELS))
    scores.append(Number(name="anisotropy", value=anisotropy(rows), reason=_NO_LABELS))
    n_zero = int((~there).sum())
    zero = [f"{count(n_zero, 'zero row')} {agree(n_zero, 'was', 'were')} left out of feature_split"] * (n_zero > 0)
    return SteeringPredictors(
        tuple(scores), len(rows), known.shuffle_description, n_shuffles, (*known.notes, *zero), drawn_seed
    )


def _score_predictor(name: str, X: Matrix, y: Labelled, shuffles: list[Labels]) -> Number:
    function, best = _SUPERVISED[name]
    with warnings.catch_warnings():
        # A shuffle without a score counts as extreme; if the observed score is missing, the result reports it.
        warnings.simplefilter("ignore", NotEstimableWarning)
        value = function(X, y.codes)
        null = np.array([function(X, codes) for codes in track(shuffles, len(shuffles), "shuffles")])
    if np.isnan(value):
        return Number(name=name, value=value, reason="not estimable from these rows")
    return score_against_null(name, value, null, best)


def _coherence(X: Matrix, y: Labelled, n_draws: int, seed: int) -> tuple[Number, Number]:
    """Coherence of the shifts between the two classes whose means are farthest apart."""
    turned = coordinates(X).values
    means = class_means(turned, y.codes)[0]
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    source, target = (int(index) for index in np.unravel_index(int(np.triu(distances).argmax()), distances.shape))
    first, second = agreement(turned, y, source, target, n_draws, seed)
    return first, replace(second, name="unbiased_coherence")


_ROUNDING = 1e-10
_FEW = 20
"""Number of models below which a note says that correlations are often large by chance."""


def partial_correlations(
    table: Mapping[str, ArrayLike],
    target: str,
    *,
    covariates: Sequence[str] = ("fisher", "silhouette"),
    groups: ArrayLike | None = None,
    n_draws: int | None = None,
    seed: Seed = None,
) -> Correlations:
    """Rank correlation of each predictor with a target over models, raw and controlling for others.

    The partial correlation is the correlation between the ranks of predictor and target after the ranks of `covariates`
    have been regressed out of both.

    Parameters
    ----------
    table : mapping of str to arrays, or DataFrame
        The target and the predictors, with one number per model (or layer). Columns that are not numeric are ignored.
    target : str
        Name of the column to predict, such as 'max_drop'.
    covariates : sequence of str
        Names of the predictors to control for. Default: those of the paper.
    groups : array of shape (n_models,), optional
        Family of each model, or the model to which each layer belongs. The layers of one model are not independent, so
        whole groups are resampled and shuffled.
    n_draws : int, optional
        Number of bootstrap resamples for the intervals, and of shuffles for p-values and chance levels; at least 19.
        Default: 999, or as many as one predictor needs to be significant after the correction.
    seed : int, Generator or None
        Seed for the resamples and shuffles; None draws a new one.

    Returns
    -------
    Correlations
        One correlation per predictor that controls for the covariates, with interval, p-value, its correction by Holm's
        method, and critical value (`threshold`); the covariates themselves have none. `raw` of each is the correlation
        without control.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fisher, own = rng.standard_normal((2, 40))
    >>> drop = fisher + own
    >>> table = {"fisher": fisher, "alignment": fisher + own / 3, "drop": drop}
    >>> found = partial_correlations(table, "drop", covariates=["fisher"], n_draws=99, seed=0)
    >>> round(found["alignment"].raw.value, 2), round(found["alignment"].value, 2)
    (0.77, 0.91)
    """
    columns = _columns(table)
    kinds.sequence(covariates, "covariates")
    for name, column in (("target", target), *(("covariates", control) for control in covariates)):
        check.choice(column, tuple(columns), name)
    if target in covariates:
        raise ValueError(f"covariates must not contain the target, got {target!r}")
    values = _numbers(columns, len(covariates))
    n, names = len(values), list(columns)
    design = exchange(n, groups=groups)
    needed = default_draws(max(1, len(names) - 1), ALPHA, _DRAWS)
    n_shuffles = needed if n_draws is None else check.count(n_draws, "n_draws", minimum=19)
    held = [names.index(control) for control in covariates]
    index = names.index(target)
    places = [place for place in range(len(names)) if place != index]
    rng = generator(seed)
    observed = _correlations(values, index, held, places)
    # Neither a covariate nor a predictor whose ranks the covariates determine has a partial correlation.
    tested = np.isfinite(observed[1])
    drawn = np.array([_correlations(values[_rows(design, rng)], index, held, places) for _ in range(n_shuffles)])
    null = _null(values, index, held, places, design, n_shuffles, rng)
    for correlations in (observed[None], drawn, null):
        correlations[:, 1, ~tested] = 0.0
    lows, highs = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    extreme = np.abs(null) >= np.abs(observed) - _ROUNDING
    p_values = p_of_draws(extreme.sum(axis=0), n_shuffles)
    parts = np.array([observed, lows, highs, p_values])
    parts[:, 1, ~tested] = np.nan
    limits = [_critical(null[:, 0]), _critical(null[:, 1][:, tested])]
    corrected = np.full((2, len(places)), np.nan)
    corrected[0], corrected[1, tested] = holm(p_values[0]), holm(p_values[1, tested])
    common: dict[str, Any] = {"second": target, "confidence": CONFIDENCE, "closer": "either", "alpha": ALPHA}
    common |= {"n_rows": n, "n_draws": n_shuffles, "unit": "model" if groups is None else "group of models"}
    common |= {"n_units": int(design.clusters.max()) + 1, "exchanged": design.text}

    def correlation(kind: int, j: int, **fields: Any) -> Correlation:
        value, low, high, p_value = map(float, parts[:, kind, j])
        return Correlation(
            name=names[places[j]],
            first=names[places[j]],
            value=value,
            low=low,
            high=high,
            p_value=p_value,
            corrected_p_value=float(corrected[kind, j]),
            threshold=limits[kind],
            **common,
            **fields,
        )

    given: dict[str, Any] = {"covariates": tuple(covariates)}
    return Correlations(
        numbers=tuple(
            correlation(
                1, j, raw=correlation(0, j), reason="" if tested[j] else _reason(names[places[j]], covariates), **given
            )
            for j in range(len(places))
        ),
        target=target,
        **given,
        n_models=n,
        n_units=int(design.clusters.max()) + 1,
        n_draws=n_shuffles,
        notes=_notes(n, design),
        seed=number(seed),
    )


def _critical(null: Matrix) -> float:
    """Two-sided critical value of correlations with a predictor that is unrelated to the target."""
    return float(np.quantile(np.abs(null), 1 - ALPHA)) if null.size else float("nan")


def _reason(name: str, covariates: Sequence[str]) -> str:
    return "controlled for" if name in covariates else "the covariates explain its ranks completely"


def _columns(table: Any) -> dict[str, Vector]:
    """Return the numeric columns by name."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise TypeError(f"table must be a DataFrame or a mapping of names to numbers, got {type(table).__name__}")
    columns = {str(name): np.atleast_1d(to_host(table[name], f"table[{name!r}]")) for name in table}
    return {name: column.astype(np.float64) for name, column in columns.items() if column.dtype.kind in "fiub"}


def _numbers(columns: dict[str, Vector], n_given: int) -> Matrix:
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"table must have columns of equal length, got lengths {sorted(lengths)}")
    fewest = n_given + 4
    if lengths.pop() < fewest:
        raise ValueError(f"table must have at least {fewest} models, got {len(next(iter(columns.values())))}")
    for name, column in columns.items():
        if column.ndim != 1:
            raise ValueError(f"table must have one number per model in {name!r}, got shape {column.shape}")
        if not np.isfinite(column).all():
            raise ValueError(f"table must not contain NaN, got NaN in {name!r}; leave out this column or these models")
        if (column == column[0]).all():
            raise ValueError(f"table must have columns that vary, got a constant {name!r}")
    return np.column_stack(list(columns.values()))


def _rows(design: Exchange, rng: np.random.Generator) -> Index:
    counts = design.resample(rng)
    return np.repeat(np.arange(len(counts)), counts)


def _correlations(values: Matrix, index: int, held: list[int], places: list[int]) -> Matrix:
    """Raw and partial rank correlations with the target, of shape (2, n_predictors)."""
    ranks = rank_columns(values)
    return np.array([cosines(some, some[:, index])[places] for some in (ranks, residual_ranks(ranks, held))])


def _null(
    values: Matrix,
    index: int,
    held: list[int],
    places: list[int],
    design: Exchange,
    n_draws: int,
    rng: np.random.Generator,
) -> Matrix:
    """Null correlations with permuted targets; for the partial ones, the target's residuals are permuted."""
    ranks = rank_columns(values)
    residuals = residual_ranks(ranks, held)
    null = np.empty((n_draws, 2, len(places)))
    for draw in null:
        order = design.draw(rng)
        # As in Freedman and Lane, the covariates are regressed out again after the residuals have been shuffled.
        shuffled = np.column_stack([ranks[:, held], residuals[order, index]])
        again = residual_ranks(shuffled, list(range(len(held))))[:, -1]
        draw[0], draw[1] = cosines(ranks[:, places], ranks[order, index]), cosines(residuals[:, places], again)
    return null


def _notes(n: int, design: Exchange) -> tuple[str, ...]:
    notes = []
    if n < _FEW:
        notes.append(
            f"with only {n} models, intervals are approximate and large correlations occur by chance; use more models"
        )
    if design.log_count < np.log(1000):
        ways = count(round(np.exp(design.log_count)), "way")
        notes.append(f"there are only {ways} to shuffle {design.text}, so p-values cannot be small")
    return tuple(notes)
