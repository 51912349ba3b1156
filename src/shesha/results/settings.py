"""Whether conclusions depend on the settings of an analysis: the verdicts of one result per setting, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.report import Part, Table, numeral
from shesha.results import sentence_parts as say
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number, frame_of_numbers
from shesha.support import types as kinds
from shesha.support.seeds import ALPHA
from shesha.support.wording import agree, agree_with_share, count, join_items

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

UNDECIDED = frozenset({"no value", "not tested", ""})
"""Verdicts that say nothing about a conclusion."""
_KEYS = frozenset({"verdict", "reason", "closer", "tier"})
"""Columns of text that do not name a row."""


@dataclass(frozen=True, kw_only=True)
class SettingNumber(Number):
    """One number under one setting, with the verdict of the result that it comes from."""

    setting: str = ""
    verdict: str = ""


@dataclass(frozen=True, kw_only=True)
class SettingsTable(Result):
    """The values and verdicts of the same numbers under several settings."""

    numbers: tuple[SettingNumber, ...]
    settings: tuple[str, ...]
    notes: tuple[str, ...] = ()

    WHAT: ClassVar[str] = "verdicts"

    def __iter__(self) -> Iterator[SettingNumber]:
        """Iterate over all numbers under all settings."""
        return iter(self.numbers)

    @property
    def by_name(self) -> dict[str, dict[str, SettingNumber]]:
        """The numbers by name and setting; a number that a result lacks is left out."""
        found: dict[str, dict[str, SettingNumber]] = {}
        for each in self.numbers:
            found.setdefault(each.name, {})[each.setting] = each
        return found

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the numbers that have different verdicts under some of the settings."""
        return tuple(name for name, each in self.by_name.items() if len(_verdicts(each)) > 1)

    @property
    def headline(self) -> str:
        """How many verdicts depend on the settings, and which."""
        names, all_names = self.dependent, self.by_name
        which = f": {join_items(names)}" if names else ""
        partial = sum(len(each) < len(self.settings) for each in all_names.values())
        missing = f" {count(partial, 'number')} {agree(partial, 'is', 'are')} missing under some settings."
        return (
            f"{len(names)} of {count(len(all_names), 'verdict')} "
            f"{agree_with_share(len(names), len(all_names), 'depends', 'depend')} on the {len(self.settings)} settings"
            f"{which}.{missing if partial else ''}"
        )

    def to_matrix(self, field: str = "verdict") -> pd.DataFrame:
        """Return a table of numbers by settings.

        Parameters
        ----------
        field : str
            What to show of each number, such as 'verdict', 'value' or 'corrected_p_value'.
        """
        import pandas as pd

        cells = {name: {key: getattr(each, field) for key, each in row.items()} for name, row in self.by_name.items()}
        return pd.DataFrame.from_dict(cells, orient="index").reindex(columns=list(self.settings))

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per number and setting."""
        return frame_of_numbers(self.numbers, "name", "setting", full=full)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw each number under all settings, with its intervals."""
        from shesha.charts import Series, intervals

        names, blank = list(self.by_name), SettingNumber()
        series = {
            setting: Series.of(self.by_name[name].get(setting, blank) for name in names) for setting in self.settings
        }
        return intervals(names, series, label="value", joined=False, ax=ax)

    def _numbers(self) -> tuple[Part, ...]:
        """Return the value and verdict of each number under each setting; those that depend on settings come first."""
        ordered = sorted(self.by_name.items(), key=lambda item: item[0] not in self.dependent)
        columns = {setting: [_cell(row.get(setting)) for _, row in ordered] for setting in self.settings}
        return (Table.of([name for name, _ in ordered], columns, "Value and verdict", "number"),)

    def _claim(self) -> str:
        clauses = [
            f"{name} ({'; '.join(f'{key}: {each.verdict}' for key, each in self.by_name[name].items())})"
            for name in self.dependent
        ]
        return say.listing(self.headline, clauses, join_items(self.settings), others="verdicts")


def settings_table(results: Mapping[str, Result]) -> SettingsTable:
    """Show whose verdict changes with the settings of an analysis, such as preprocessing.

    Run the same analysis under several settings (numbers of genes, with and without a logarithm, dimensions of a PCA,
    resolutions of a clustering), and pass the results by the names of the settings.

    Parameters
    ----------
    results : mapping of str to result
        Results of one function, such as `estimate`, `compare`, `audit` or `coherence_table`, by setting. Their numbers
        are matched by name.

    Returns
    -------
    SettingsTable
        `dependent` has the names of the numbers whose verdict changes, and `to_matrix()` the verdicts. A note names
        those whose intervals overlap under all settings: their verdicts may differ by chance.

    Notes
    -----
    Choose the settings before you see the results, and report all of them. Verdicts that agree under settings that
    hardly differ prove little.

    Examples
    --------
    >>> import numpy as np
    >>> import shesha
    >>> rng = np.random.default_rng(0)
    >>> X = rng.gamma(2, size=(60, 1)) * rng.standard_normal((60, 40))  # rows differ in scale only
    >>> metrics = ("euclidean", "cosine")
    >>> found = settings_table({metric: shesha.estimate(X, metric=metric, seed=0) for metric in metrics})
    >>> print(found.headline)
    1 of 1 verdict depends on the 2 settings: feature_split.
    """
    named = kinds.mapping(results, "results")
    if len(named) < 2:
        raise ValueError(f"results must have at least 2 settings, got {join_items(map(str, named)) or 'none'}")
    rows: list[SettingNumber] = []
    for setting, result in named.items():
        numbers = list(_numbers(result, str(setting))) if isinstance(result, Result) else []
        names = [each.name for each in numbers]
        if not numbers or len(set(names)) < len(names):
            raise TypeError(
                f"results[{setting!r}] must be a result with named values, as estimate, compare, audit or "
                f"coherence_table return, got {type(result).__name__}"
            )
        rows += numbers
    settings = tuple(map(str, named))
    if len(rows) == len(settings):
        # Single numbers belong together, although their names may contain the setting.
        rows = [replace(each, name=rows[0].name) for each in rows]
    if len({each.name for each in rows}) == len(rows):
        raise ValueError(f"results must have numbers of the same names, got {join_items(each.name for each in rows)}")
    table = SettingsTable(numbers=tuple(rows), settings=settings)
    overlapping = [name for name in table.dependent if _overlap(table.by_name[name].values())]
    note = f"intervals overlap under all settings, so verdicts may differ by chance: {join_items(overlapping)}"
    return SettingsTable(numbers=table.numbers, settings=settings, notes=(note,) if overlapping else ())


def _numbers(result: Result, setting: str, within: tuple[str, ...] = ()) -> Iterator[SettingNumber]:
    """Yield the numbers of a result: the rows of its table, or of the results that it consists of."""
    frame = result.to_frame()
    frame = frame.reset_index() if frame.index.name else frame
    if "value" not in frame:
        for key, part in _parts(result):
            yield from _numbers(part, setting, (*within, key))
        return
    before = frame.columns[: list(frame.columns).index("value")]
    texts = [key for key in before if frame[key].dtype.kind not in "fib" and key not in _KEYS]
    keys = texts or [key for key in before if key not in _KEYS]
    varying = [key for key in keys if frame[key].nunique() > 1] or keys[-1:]
    alpha = getattr(result, "alpha", next((each.alpha for each in _iterate(result) if isinstance(each, Number)), ALPHA))
    for row in frame.to_dict("records"):
        known: dict[str, Any] = {
            key: float(row.get(key, NAN)) for key in ("value", "low", "high", "p_value", "corrected_p_value")
        }
        number = Number(alpha=alpha, **known)
        yield SettingNumber(
            name=_join((*within, *(str(row[key]) for key in varying))) or "value",
            setting=setting,
            verdict=str(row.get("verdict", number.verdict)),
            alpha=alpha,
            **known,
        )


def _join(names: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names)))


def _iterate(result: Any) -> Iterable[Any]:
    return result if hasattr(result, "__iter__") else ()


def _parts(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield the results in the fields of a result, with their names."""
    for one in fields(result):
        value = getattr(result, one.name)
        items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, tuple) else ()
        for key, part in items:
            if isinstance(part, Result):
                yield (str(key) if isinstance(value, Mapping) else str(getattr(part, "name", ""))), part


def _verdicts(row: Mapping[str, SettingNumber]) -> set[str]:
    return {each.verdict for each in row.values()} - UNDECIDED


def _overlap(numbers: Iterable[SettingNumber]) -> bool:
    """Return whether all numbers have intervals that share a value."""
    known = list(numbers)
    return all(each.has_interval for each in known) and max(x.low for x in known) <= min(x.high for x in known)


def _cell(number: SettingNumber | None) -> str:
    return "" if number is None else f"{numeral(number.value)} {number.verdict}".strip()
