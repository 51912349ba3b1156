"""Tables and pages that show comparisons of two representations or of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from shesha.report import (
    Columns,
    Explained,
    HeatMap,
    Item,
    Page,
    Part,
    Point,
    Section,
    Strip,
    Table,
    Text,
    heading_anchor,
    texts,
)
from shesha.results.base import reaches_level
from shesha.results.comparison import RECOMMENDED, pair_sentences, repeats_sections, sections_of_held_out_values
from shesha.results.generic_page import run_details
from shesha.results.number import format_value
from shesha.results.sentence_parts import format_share
from shesha.support.provenance import is_warning
from shesha.support.wording import agree

if TYPE_CHECKING:
    from shesha.results.comparison import Comparison, PairwiseComparison, Score
    from shesha.results.doubts import Doubts


_CALIBRATED_PAIRS_NOTE = (
    "The chance level is the mean value for randomly matched rows. The calibrated value is 0 at or below the "
    "chance threshold (level {alpha:g}), and 1 at the best possible value. For a measure without a best possible "
    "value, it is the excess over the threshold. The corrected p-value accounts for the number of pairs of one "
    "measure, not for the number of measures."
)


def measure_table(result: PairwiseComparison, measure: str) -> Table:
    """Return the table for one measure; if there is no room for all pairs, those farthest from chance are shown."""
    pairs = select_pairs(result, measure)
    columns: Columns = {
        "value": [format_value(pair) or "none" for pair in pairs],
        "chance": [pair.chance for pair in pairs],
        "calibrated": [pair.calibrated for pair in pairs],
        "p": [pair.p_value for pair in pairs],
        "corrected p": [pair.corrected_p_value for pair in pairs],
    }
    # NaN values are sorted to the end.
    order = tuple(sorted(range(len(pairs)), key=lambda i: _distance_from_chance(pairs[i])))
    return Table.of([pair.pair(", ") for pair in pairs], columns, measure, "pair", important=order)


def _distance_from_chance(pair: Score) -> tuple[bool, float, float]:
    return not pair.has_null, pair.deciding_p_value, -pair.calibrated


def significance_sentence(result: PairwiseComparison, measure: str) -> str:
    """Return in words how many pairs are above chance according to a measure."""
    tested = [pair for pair in select_pairs(result, measure) if pair.has_null]
    above = sum(reaches_level(score.corrected_p_value, result.alpha) for score in tested)
    if not tested:
        return "no pair has a chance level"
    if why := result.undecided.get(measure, ""):
        return f"whether any of {len(tested)} pairs is above chance at {result.alpha:g} {why}"
    if len(tested) == 1:
        return f"the pair is{'' if above else ' not'} above chance at {result.alpha:g}"
    verb = agree(above, "is", "are")
    return f"{above} of {len(tested)} pairs {verb} above chance at {result.alpha:g}, corrected for the number of pairs"


def select_pairs(result: PairwiseComparison, measure: str) -> list[Score]:
    """Return the pairs of different representations that were compared by one measure."""
    return [pair for pair in result.scores if pair.name == measure and pair.first != pair.second]


def calibrated_pairs_note(result: PairwiseComparison) -> str:
    """Return sentences that explain the columns, with the levels of the intervals and of the thresholds."""
    brackets = f"Brackets are {format_share(result.confidence)} intervals. " if result.confidence is not None else ""
    design = f" Exchanged: {result.exchanged}." if result.exchanged not in ("", "all rows") else ""
    return brackets + _CALIBRATED_PAIRS_NOTE.format(alpha=result.alpha) + design


_SEES = {
    "canonical correlation": "How strongly linear combinations of the features of both representations correlate.",
    "distances": "Whether the same rows are near each other in both representations, from the distances of all pairs.",
    "distributions": "Whether the distributions of rows are similar, regardless of which row is which.",
    "kernels": "Whether both representations have similar inner products between rows.",
    "matching": "Whether single features have counterparts in the other representation.",
    "neighbours": "Whether rows have the same nearest neighbours in both representations.",
    "ordinal": "Whether the distances between rows have the same order in both representations.",
    "regression": "How well a linear map predicts the features of one representation from the other.",
    "shape": "How far apart the rows remain after the best rotation.",
    "spectra": "Whether the variance lies along the same directions, or has a similar spectrum in any directions.",
    "stability": "Whether both representations have similar stability.",
    "statistics": "Whether a statistic, such as the mean length of a row, is the same in both representations.",
    "topology": "Whether connected components and holes are similar at all scales.",
}
NO_CHANCE = Text(
    "Whether these values exceed chance was not tested. Even unrelated representations rarely score 0: their score "
    "depends on the measure and on the numbers of rows and features. Calibrate (`--calibrate`) before you conclude "
    "that representations are similar."
)
_MANY_TESTS = Text(
    "With many measures, some p-values are small by chance alone. Use the corrected p-value, which accounts for "
    "the number of measures, unless you chose one measure in advance."
)
_RAW = "Raw values, not tested against chance: pass `calibrate=True` (`--calibrate`) for chance levels."
_MOST_CELLS = 30_000
"""Most heat-map cells on one page; browsers become slow if there are more."""


def comparison_page(result: Comparison) -> Page:
    """Return the page for two representations."""
    known = [score for score in result.scores if score.has_value]
    sizes = " and ".join(map(_size, (result.first, result.second), result.shapes))
    led = [score for score in known if score.name in RECOMMENDED] or known[:3]
    first = known if len(known) <= _FEW else led
    missing = tuple(_remarks((score.name, score.reason) for score in result.scores))
    # A measure that is missing among a few must be noticed.
    lacking = [Item(f"Without a value: {item.text}") for item in missing] if len(result.scores) <= _FEW else []
    notes = tuple(_remarks((score.name, note) for score in result.scores for note in score.notes))
    return Page(
        title=f"{result.first} and {result.second}",
        question=f"Are the geometries of {result.first} and {result.second} more similar than by chance?",
        answer=(*pair_sentences(result.first, result.second, known, result.alpha), *result.sampled()),
        numbers=(
            *((_scores(first, "First to read"),) if first else ()),
            *lacking,
            *texts([_explanation(result, known, sizes)]),
        ),
        doubts=_doubt_parts(result, known),
        sections=(
            *repeats_sections(known),
            *sections_of_held_out_values(known, result.folds),
            *((Section("Without a value", missing),) if missing and not lacking else ()),
            *((Section("Notes", notes),) if notes else ()),
            *_measure_sections(known, first),
        ),
        ran=(("data", sizes), *run_details(result)),
    )


_FEW = 8
"""Most measures in the first table; of more, it shows the recommended ones."""


def _remarks(remarks: Iterable[tuple[str, str]]) -> Iterator[Item]:
    """Yield each remark once, with all the measures to which it applies."""
    measures: dict[str, list[str]] = {}
    for measure, remark in remarks:
        measures.setdefault(remark, []).append(measure)
    return (Item(f"{', '.join(dict.fromkeys(names))}: {remark}") for remark, names in measures.items() if remark)


def _explanation(result: Comparison, known: Sequence[Score], sizes: str) -> str:
    """Return sizes, the levels of intervals and thresholds, and which rows were permuted."""
    are_intervals = any(score.has_interval for score in known)
    brackets = f" Brackets are {format_share(result.confidence)} intervals." if are_intervals else ""
    seen = [f"{name} ({sees})" for name, sees in RECOMMENDED.items() if name in {score.name for score in known}]
    first = f" Read these measures first: {', '.join(seen)}." if len(known) > _FEW and seen else ""
    if not any(score.has_null for score in known):
        return f"{sizes}.{brackets}{first}"
    is_design = result.exchanged not in ("", "all rows")
    both = " Value and chance level both include the differences between blocks." * ("blocks" in result.exchanged)
    design = f" Permuted under the null: {result.exchanged}.{both}" if is_design else ""
    return (
        f"{sizes}.{brackets} The calibrated value is 0 at or below the chance threshold (level {result.alpha:g}), and "
        f"1 at the best possible value. Without one, it is the excess over the threshold.{design}{first}"
    )


def _size(name: str, shape: tuple[int, ...]) -> str:
    return f"{name} ({f'distances of {shape[0]:,} rows' if len(shape) == 1 else ' x '.join(f'{n:,}' for n in shape)})"


def _measure_sections(known: Sequence[Score], first: Sequence[Score]) -> tuple[Section, ...]:
    """Explain the measures, below a table of all measures if the first table omits some."""
    if not known:
        return ()
    explained = tuple(measures_explained(known))
    if len(first) == len(known):
        return (Section("What the measures respond to", explained),)
    return (Section("All measures", (_scores(known, "All measures"), *explained)),)


def _scores(scores: Sequence[Score], title: str) -> Table:
    """Show the values with their intervals, directions, chance levels and p-values."""
    # Few measures are named with what they respond to; only a direction other than the usual one is shown.
    is_short = len(scores) <= _FEW
    shows_direction = not is_short or any(score.closer == "lower" for score in scores)
    columns: Columns = {
        "value": map(format_value, scores),
        "chance": [score.chance for score in scores],
        "calibrated": [score.calibrated for score in scores],
        "p": [score.p_value for score in scores],
        "corrected p": [score.corrected_p_value for score in scores],
        "closer is": [score.closer if shows_direction else "" for score in scores],
        "family": ["" if is_short else score.family for score in scores],
    }
    return Table.of([score.name for score in scores], columns, title, "measure", strips={"value": map(_strip, scores)})


def _strip(score: Score) -> Strip | None:
    """Draw a measure only if its values lie between -1 and 1 and higher ones are closer."""
    if not (score.possible_low >= -1 and score.possible_high <= 1 and score.closer == "higher"):
        return None
    return Strip(score.value, score.low, score.high, score.threshold)


def measures_explained(scores: Sequence[Score]) -> list[Part]:
    """Explain each measure that a comparison used."""
    return [measure_explained(score.name, score.family, score.closer) for score in scores]


def measure_explained(name: str, family: str, closer: str) -> Explained:
    """Return a sentence that says what a measure compares, with a link to its documentation."""
    base = name.partition("(")[0]
    sees = _SEES.get(family.lower(), "")
    return Explained(
        name,
        f"{sees} {closer.capitalize()} is closer.".strip(),
        f"measures.md#{heading_anchor(base)}",
        f"shesha measures '{base}'",
    )


def _doubt_parts(result: Comparison, scores: Sequence[Score]) -> tuple[Part, ...]:
    calibrated = any(score.has_null for score in scores)
    parts = points(result.doubts)
    other = "no other" if any(map(is_warning, result.inputs)) else "no"
    nothing = str(result.doubts).replace("no", other, 1).capitalize()
    none = (Text(f"{nothing}."),) if result.doubts is not None and not parts else ()
    interrupted = (Item("Interrupted: the remaining measures were not compared."),) if result.interrupted else ()
    chance = ((_MANY_TESTS,) if len(scores) > 3 else ()) if calibrated else (NO_CHANCE,)
    return (*interrupted, *parts, *none, *chance)


def points(doubts: Doubts | None) -> tuple[Point, ...]:
    """Return the possible problems as parts of a page."""
    return tuple(Point(doubt.name, doubt.evidence, f"{doubt.text}.", f"{doubt.advice}.") for doubt in doubts or ())


def pairwise_page(result: PairwiseComparison) -> Page:
    """Return the page for all pairs of several representations."""
    led = [name for name in result.measures if name in RECOMMENDED] or list(result.measures)
    ordered = [*led, *(name for name in result.measures if name not in led)]
    cells = len(result.names) ** 2
    shown = ordered[: max(2, _MOST_CELLS // max(1, cells))] if result.names else []
    maps = [_map(result, name) for name in shown]
    n_left = len(ordered) - len(shown) if shown else 0
    more = [Text(f"{n_left} more measures are in `to_frame()` and `--json`.")] if n_left else []
    one_each = [next(pair for pair in result.scores if pair.name == name) for name in ordered]
    tables = [measure_table(result, name) for name in ordered] if result.exchanged or not result.names else []
    others = maps if tables else maps[1:]
    condition = ", above chance" if result.exchanged else ""
    notes = tuple(_remarks((pair.name, note) for pair in result.scores for note in pair.notes))
    return Page(
        title=f"{len(result.names)} representations, all pairs" if result.names else f"{_n_pairs(result)} pairs",
        question=f"Which of these representations have similar geometries{condition}?",
        answer=(
            *(() if result.exchanged else (_RAW,)),
            *(f"{name}: {significance_sentence(result, name)}." for name in ordered[:3] if result.exchanged),
            *(_extremes_sentence(result, name) for name in ordered[:3]),
        ),
        numbers=(Text(f"{tables[0].title}:", ""), tables[0]) if tables else tuple(maps[:1]),
        doubts=(
            *((Item("Interrupted: the remaining values were not computed."),) if result.interrupted else ()),
            *_missing_pairs(result),
            Text(calibrated_pairs_note(result)) if result.exchanged else NO_CHANCE,
        ),
        sections=(
            *(Section(f"{table.title}, compared with chance", (table,)) for table in tables[1:]),
            *((Section("Maps" if tables else "Other measures", (*others, *more)),) if others else ()),
            *((Section("Notes", notes),) if notes else ()),
            Section("What the measures respond to", tuple(measures_explained(one_each))),
        ),
        ran=((("data", _shapes(result.names, result.shapes)),) if result.names else ()) + run_details(result),
    )


def _missing_pairs(result: PairwiseComparison) -> Iterator[Item]:
    """Yield for how many pairs a measure has no value, with the reason."""
    for measure in result.measures:
        pairs = select_pairs(result, measure)
        for reason, n in Counter(pair.reason for pair in pairs if pair.reason).items():
            yield Item(f"{measure}: no value for {n} of {len(pairs)} pairs: {reason}")


def _n_pairs(result: PairwiseComparison) -> int:
    return len({(score.first, score.second) for score in result.scores})


def _shapes(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> str:
    if len(set(shapes)) == 1:
        return f"{len(names)} representations of {' x '.join(f'{n:,}' for n in shapes[0])}"
    return "; ".join(
        f"{name}: {' x '.join(f'{n:,}' for n in shape)}" for name, shape in zip(names, shapes, strict=True)
    )


def _map(result: PairwiseComparison, measure: str) -> HeatMap:
    closer = next(pair.closer for pair in result.scores if pair.name == measure)
    values = tuple(map(tuple, result.matrix(measure).to_numpy(dtype=float).tolist()))
    return HeatMap(f"{measure} of each pair", result.names, result.names, values, closer)


_SHOW_COPIES, _ROUNDING = ("CKA", "unbiased CKA", "RSA"), 1e-9
"""Measures that are 1 for copies only, and how far from 1 rounding brings them."""


def _extremes_sentence(result: PairwiseComparison, measure: str) -> str:
    known = [pair for pair in result.scores if pair.name == measure and pair.has_value]
    if not known:
        return f"{measure}: no value for any pair."
    closer = known[0].closer
    ordered = sorted(known, key=lambda pair: pair.value, reverse=closer == "higher")
    near, far = ordered[0], ordered[-1]
    copies = ", like copies" if measure in _SHOW_COPIES and near.value > 1 - _ROUNDING else ""
    start = f"{measure}: the closest pair is {near.pair()} ({near.value:.3g}{copies})"
    return f"{start}." if near is far else f"{start}, and the farthest is {far.pair()} ({far.value:.3g})."
