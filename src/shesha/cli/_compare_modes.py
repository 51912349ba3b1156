"""The modes of `shesha compare`, which depend on the number of representations and the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shesha.cli._design_options import DesignLabels
from shesha.cli._file_inputs import RowOptions
from shesha.cli._input_description import describe_inputs
from shesha.cli._outputs import Outputs, echo

if TYPE_CHECKING:
    from shesha.results import Score
    from shesha.results.similarity.pairwise import PairNumber

MOST_ROWS_CALIBRATED = 2_000
"""Largest number of rows for which the default is to calibrate (about 20 s of processor time)."""
_NO_VALUE = 2


@dataclass(frozen=True)
class ArrayComparison:
    """The requested comparison of arrays in memory.

    Attributes
    ----------
    measures : list of str
        Names of the requested measures.
    files : list of Path
        Files that contain the arrays.
    models : list of str or None
        Models that produced the arrays, if these are not from files.
    exchanged : DesignLabels
        The design of the permutations, and the covariates.
    rows : RowOptions
        Which rows are used.
    permutations, confidence, seed
        Settings of chance levels and intervals.
    outputs : Outputs
        The requested output files.
    permutations_by_default : bool
        Whether the user did not choose the number of permutations, so that it may grow with the number of classes.
    """

    measures: list[str]
    files: list[Path]
    models: list[str] | None
    exchanged: DesignLabels
    rows: RowOptions
    permutations: int
    confidence: float
    seed: int
    outputs: Outputs
    permutations_by_default: bool = False

    def pair(self, arrays: dict[str, Any], *, calibrate: bool, **options: Any) -> None:
        """Compare two representations with every measure; `options` are those of `compare`."""
        from shesha.comparison import compare

        (first, X), (second, Y) = arrays.items()
        comparison = compare(
            X,
            Y,
            self.measures,
            names=(first, second),
            calibrate=calibrate,
            confidence=self.confidence,
            n_permutations=self.permutations,
            **self.exchanged.design,
            covariates=self.exchanged.covariates,
            **options,
            **self.rows.choice,
            seed=self.seed,
        )
        self._write(comparison, arrays, self.permutations if calibrate else 0)
        require_value(comparison.scores)

    def compare_all_pairs(self, arrays: Any, *, calibrate: bool, **options: Any) -> None:
        """Compare every pair of several representations, in memory or in files, calibrated on request."""
        from shesha.comparison import compare_all

        pairs = compare_all(
            arrays,
            self.measures,
            calibrate=calibrate,
            confidence=self.confidence if calibrate else None,
            n_permutations=self.permutations,
            **self.exchanged.design,
            **self.rows.choice,
            seed=self.seed,
            **options,
        )
        what: PairNumber = "calibrated" if calibrate else "value"
        self.outputs.write(
            pairs,
            self.files,
            notes=_default_measures_note(self.measures, self.permutations) if calibrate else (),
            picture=partial(pairs.plot, pairs.measures[0], what=what),
            data=describe_inputs(self.files, self.models),
        )
        require_value([pair.score for pair in pairs.scores])

    def compare_within(self, arrays: dict[str, Any], classes: Any, *, standard: bool) -> None:
        """Compare the first representation with all others within each class, by measures for few rows."""
        from shesha.comparison.models_with_reference_within_classes import compare_several_within
        from shesha.comparison.within_classes import MEASURES, compare_within

        (first, X), *others = arrays.items()
        options: dict[str, Any] = {
            "n_permutations": None if self.permutations_by_default else self.permutations,
            "confidence": self.confidence,
            "seed": self.seed,
            **self._design_within_classes(),
            **self.rows.choice,
        }
        notes = () if "blocks" in options else self._notes_on_batches()
        chosen = MEASURES if standard else self.measures
        if len(others) > 1:
            results = compare_several_within(X, dict(others), classes, chosen, name=first, **options)
            results = replace(results, comparisons=tuple(replace(each, notes=notes) for each in results))
            self.outputs.write(results, self.files)
            require_value([score for each in results for part in each for score in part.scores])
            return
        ((second, Y),) = others
        result = replace(compare_within(X, Y, classes, chosen, names=(first, second), **options), notes=notes)
        self.outputs.write(result, self.files, row_map=partial(self._row_map, arrays, classes))
        require_value([score for part in (*result, result.whole) for score in part.scores])

    def _notes_on_batches(self) -> tuple[str, ...]:
        """Return a note if the first file has a column that looks like batches, which no option names."""
        if not self.files:
            return ()
        from shesha.io import open_file, read_labels
        from shesha.support.provenance import ignore_statements
        from shesha.support.sampling_units import is_batch_name, undeclared_batches

        with suppress(Exception), ignore_statements():  # A note must not stop the comparison.
            known = [name for name in open_file(self.files[0]).labels_available if is_batch_name(name)]
            table = {name: read_labels(self.files[0], name) for name in known if name not in self.exchanged.columns}
            return undeclared_batches(table, (None, None, None))
        return ()

    def _design_within_classes(self) -> dict[str, Any]:
        """Return blocks and groups, and refuse options that are meaningless within classes."""
        design = {
            name: value for name, value in self.exchanged.design.items() if value is not None and value is not False
        }
        others = [f"--{name.replace('_', '-')}" for name in design if name not in ("blocks", "groups")]
        others += ["--covariates"] * (self.exchanged.covariates is not None)
        if others:
            raise ValueError(
                f"{others[0]} must be left out with --labels, got both; only --blocks and --groups are allowed"
            )
        return design

    def _write(self, result: Any, arrays: dict[str, Any], permutations: int) -> None:
        self.outputs.write(
            result,
            self.files,
            notes=_default_measures_note(self.measures, permutations),
            picture=partial(self._heat_map, arrays),
            row_map=partial(self._row_map, arrays, None),
            data=describe_inputs(self.files, self.models),
        )

    def _row_map(self, arrays: dict[str, Any], classes: Any, about: Mapping[str, str]) -> Any:
        """Return the page with a map of the rows, coloured by class if there are labels."""
        from shesha.changes import explore

        (first, X), (second, Y) = arrays.items()
        return explore(X, Y, classes, names=(first, second), **self.rows.choice, seed=self.seed).page(about)

    def _heat_map(self, arrays: dict[str, Any]) -> Any:
        from shesha.comparison import compare_all

        pairs = compare_all(arrays, self.measures[:1], **self.rows.choice, seed=self.seed, layer_axis=None)
        return pairs.plot(pairs.measures[0])


def is_quickly_calibrated(arrays: Mapping[str, Any]) -> bool:
    """Return whether chance levels and intervals for these representations take only seconds."""
    from shesha.views import Rdm

    sizes = [rows.n_rows if isinstance(rows, Rdm) else len(rows) for rows in arrays.values()]
    return max(sizes) <= MOST_ROWS_CALIBRATED


def require_value(scores: Sequence[Score]) -> None:
    """Exit with status 2 if no measure has a value."""
    if not any(score.has_value for score in scores):
        echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _default_measures_note(chosen: list[str], permutations: int) -> list[str]:
    """Return notes on further measures and on the smallest possible p-value."""
    from shesha.measures import choose
    from shesha.report import page_width, wrap

    texts = []
    if chosen == ["recommended"]:
        others = len(choose("all")) - len(choose("recommended"))
        texts.append(f"These three measures answer different questions. Use --measures all for the other {others}.")
        if not permutations:
            texts.append("Use --calibrate for chance levels, p-values and intervals.")
    if permutations:
        least = 1 / (permutations + 1)
        texts.append(f"With {permutations:,} permutations of the rows, the smallest possible p-value is {least:.2g}.")
    return [line for text in texts for line in wrap(text, page_width(), hanging="")]
