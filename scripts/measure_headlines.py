"""Measure how often the headlines of results are true, wrong or undecided: the tables of docs/headlines.md.

    python scripts/measure_headlines.py [--runs 100] [--only compare] [--out docs/headlines.md]

Each line draws data with a known truth, calls one function with its defaults, and reads the first sentences of the
printed result as a user would. If no rule of the function recognises a sentence, no table is written, so a new wording
cannot pass as undecided.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import shesha
from shesha import coherence, drift, neuro, steering
from shesha.support.atomic_files import write_text
from shesha.support.progress import track

Rows = NDArray[np.float64]
Rng = np.random.Generator
LEVEL = 0.05
"""Declared level of all tests."""
TRUE, UNDECIDED, WARNED, WRONG = "true", "undecided", "wrong, with a warning", "wrong"
OUTCOMES = (TRUE, UNDECIDED, WARNED, WRONG)


@dataclass(frozen=True)
class Check:
    """A function, data with a known truth, and rules that judge the headline by this truth."""

    question: str
    """The function, as users call it."""
    truth: str
    """The data and what is true of them."""
    call: Callable[[Rng], Any]
    """Function that draws the data and returns the result."""
    rules: tuple[tuple[str, str], ...]
    """Regular expressions with the outcome of a headline that matches, in order; the first match decides."""

    def run(self, seed: int) -> str:
        """Return the outcome for one data set."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.call(np.random.default_rng([seed, len(self.truth)]))
        text = answer(result)
        for pattern, outcome in self.rules:
            if re.search(pattern, text):
                return WARNED if outcome == WRONG and (caught or _doubts(str(result))) else outcome
        return f"unknown: {text}"


def answer(result: Any) -> str:
    """Return the first paragraph of the printed result, or the headline if the result has one, in one line."""
    text = getattr(result, "headline", "") or str(result).partition("\n\n")[0]
    return " ".join(text.split())


def _doubts(text: str) -> bool:
    """Return whether the printed result warns that rows or units may depend on one another."""
    return re.search(r"depend on one another|dependent|not independent|does not hold|confounded", text) is not None


# Data with a known truth -----------------------------------------------------------------------------------------

N, D = 60, 20


def gaussian(rng: Rng, n: int = N, d: int = D) -> Rows:
    """Draw independent rows."""
    return rng.standard_normal((n, d))


def structured(rng: Rng, n: int = N, d: int = D, rank: int = 5) -> Rows:
    """Draw rows in which a few directions contain most of the variance, as in layers of a network."""
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 0.3 * rng.standard_normal((n, d))


def clustered(rng: Rng, n: int = N, d: int = D, size: int = 5) -> Rows:
    """Draw rows of which each `size` share an offset, such as the cells of a donor."""
    return np.repeat(rng.standard_normal((n // size, d)), size, axis=0) + 0.5 * rng.standard_normal((n, d))


def autoregressive(rng: Rng, n: int = 150, d: int = D, memory: float = 0.9) -> Rows:
    """Draw a time series."""
    X = rng.standard_normal((n, d))
    for i in range(1, n):
        X[i] += memory * X[i - 1]
    return X


def with_share(rng: Rng, X: Rows, share: float) -> Rows:
    """Return rotated rows of which a share of the variance comes from X."""
    noise = rng.standard_normal(X.shape) * X.std()
    return np.sqrt(share) * X @ rotation(rng, X.shape[1]) + np.sqrt(1 - share) * noise


def rotation(rng: Rng, d: int) -> Rows:
    """Draw a random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


PAIRS: dict[str, tuple[Callable[[Rng], tuple[Rows, Rows]], bool]] = {
    "unrelated": (lambda rng: (gaussian(rng), gaussian(rng)), False),
    "unrelated, 12 rows": (lambda rng: (gaussian(rng, 12), gaussian(rng, 12)), False),
    "unrelated, few strong directions": (lambda rng: (structured(rng), structured(rng)), False),
    "unrelated, heavy tails (t, 2 degrees)": (
        lambda rng: (rng.standard_t(2, (N, D)), rng.standard_t(2, (N, D))),
        False,
    ),
    "unrelated, offset of 30 sd": (lambda rng: (gaussian(rng) + 30, gaussian(rng) + 30), False),
    "unrelated, clusters of 5 rows, undeclared": (lambda rng: (clustered(rng), clustered(rng)), False),
    "unrelated time series, undeclared": (lambda rng: (autoregressive(rng), autoregressive(rng)), False),
    "a tenth of the variance shared": (lambda rng: _shared(rng, 0.1), True),
    "half of the variance shared": (lambda rng: _shared(rng, 0.5), True),
    "rotated": (lambda rng: _shared(rng, 1.0), True),
}
"""Pairs of representations, and whether they are related."""


def _shared(rng: Rng, share: float) -> tuple[Rows, Rows]:
    X = structured(rng)
    return X, with_share(rng, X, share)


# Rules -----------------------------------------------------------------------------------------------------------


def presence(present: bool, yes: str, no: str) -> tuple[tuple[str, str], ...]:
    """Return rules for a test: `no` matches a test that found nothing, `yes` one that found something.

    A test that finds nothing is true if there is nothing, and otherwise undecided: it does not claim absence.
    """
    return ((no, UNDECIDED if present else TRUE), (yes, TRUE if present else WRONG))


def pair_checks() -> Iterator[Check]:
    """Yield the checks of functions that compare two representations."""
    for truth, (draw, related) in PAIRS.items():
        yield Check(
            "compare(X, Y, calibrate=True), three recommended measures",
            truth,
            lambda rng, draw=draw: shesha.compare(*draw(rng), "recommended", calibrate=True),
            presence(related, r"(All|Both|\d+ of) .*(is|are) above chance", r"None of .* above chance"),
        )
        yield Check(
            "calibrate(X, Y, 'RSA')",
            truth,
            lambda rng, draw=draw: shesha.calibrate(*draw(rng), "RSA"),
            presence(related, "above chance", "not above chance"),
        )
        yield Check(
            "match_units(X, Y)",
            truth,
            lambda rng, draw=draw: shesha.match_units(*draw(rng)),
            presence(
                related,
                r"\d+ of \d+ units? (has|have) a match",
                r"(\b0|None) of \d+ units? (has|have) a match|cannot be decided",
            ),
        )
        if not related:
            declared = {"clusters": {"groups": np.repeat(np.arange(N // 5), 5)}, "time series": {"shift": True}}
            options = next((value for key, value in declared.items() if key in truth and "undeclared" in truth), None)
            if options is not None:
                yield Check(
                    "compare(X, Y, calibrate=True), three recommended measures",
                    truth.replace("undeclared", "declared"),
                    lambda rng, draw=draw, options=options: shesha.compare(
                        *draw(rng), "recommended", calibrate=True, **options
                    ),
                    presence(False, r"(All|Both|\d+ of) .*(is|are) above chance", r"None of .* above chance"),
                )


def grid_checks() -> Iterator[Check]:
    """Yield the checks of grids of layers and of many pairs."""

    def layers(rng: Rng, related: bool) -> Any:
        first = {f"a{i}": structured(rng) for i in range(8)}
        second = {f"b{i}": structured(rng) for i in range(8)}
        if related:
            second["b3"] = with_share(rng, first["a5"], 1.0)
        return shesha.calibrate_layers(first, second, "CKA")

    def pairs(rng: Rng, related: bool) -> Any:
        many = {f"model {i}": structured(rng) for i in range(7)}
        if related:
            many["model 6"] = with_share(rng, many["model 2"], 1.0)
        return shesha.compare_all(many, "CKA", calibrate=True)

    none = r"\b(0|None) of \d+ pairs? (is|are) above chance"
    for truth, related in (("no pair related", False), ("one pair related", True)):
        yield Check(
            "calibrate_layers, 8 x 8",
            truth,
            partial(layers, related=related),
            ((none, WRONG), (r"a5 and b3: CKA .*above chance.* \d+ of \d+ pairs", TRUE), (r"closest layers are", WRONG))
            if related
            else ((none, TRUE), (r"\d+ of \d+ pairs? (is|are) above chance", WRONG)),
        )
        yield Check(
            "compare_all(calibrate=True), 21 pairs",
            truth,
            partial(pairs, related=related),
            ((none, WRONG), (r"[1-9]\d* of 21 pairs (is|are) above chance", TRUE))
            if related
            else ((none, TRUE), (r"\d+ of \d+ pairs? (is|are) above chance", WRONG)),
        )


def consensus_checks() -> Iterator[Check]:
    """Yield the checks of the consensus of several representations."""
    shared = r"[Nn]othing is shared|share no|not above chance|no shared"
    outlier = r"(is an outlier|are outliers)"

    def members(rng: Rng, noise: Callable[[tuple[int, int]], Rows], k: int = 6, odd: bool = False) -> Any:
        X = structured(rng, 40, 12)
        many = {f"m{i}": X @ rotation(rng, 12) + noise(X.shape) for i in range(k)}
        if odd:
            many["m2"] = structured(rng, 40, 12)
        return shesha.consensus(many)

    yield Check(
        "consensus",
        "six unrelated",
        lambda rng: shesha.consensus({f"m{i}": gaussian(rng, 40, 12) for i in range(6)}),
        ((shared, TRUE), (outlier, WRONG), ("No representation is an outlier", WRONG)),
    )
    yield Check(
        "consensus",
        "six of one shape, Gaussian noise",
        lambda rng: members(rng, lambda shape: 0.5 * rng.standard_normal(shape)),
        ((outlier.replace("(is", "(?<!No representation )(is"), WRONG), ("No representation is an outlier", TRUE)),
    )
    yield Check(
        "consensus",
        "ten of one shape, heavy tails (t, 2 degrees)",
        lambda rng: members(rng, lambda shape: 0.5 * rng.standard_t(2, shape), 10),
        (("No representation is an outlier", TRUE), (outlier, WRONG)),
    )
    yield Check(
        "consensus",
        "six, one of another shape",
        lambda rng: members(rng, lambda shape: 0.3 * rng.standard_normal(shape), odd=True),
        ((r"^m2 is an outlier", TRUE), ("No representation is an outlier", UNDECIDED), (outlier, WRONG)),
    )


def within_checks() -> Iterator[Check]:
    """Yield the checks of comparisons within classes."""
    classes = np.repeat(["A", "B", "C"], 40)

    def compared(rng: Rng, share: float) -> Any:
        X = structured(rng, 120) + 5 * np.repeat(rng.standard_normal((3, D)), 40, axis=0)
        rest = rng.standard_normal(X.shape) + 5 * np.repeat(rng.standard_normal((3, D)), 40, axis=0)
        inner = X - np.repeat([X[classes == c].mean(axis=0) for c in "ABC"], 40, axis=0)
        Y = (
            np.sqrt(share) * inner / inner.std()
            + np.sqrt(1 - share) * rng.standard_normal(X.shape)
            + rest
            - (rest - np.repeat([rest[classes == c].mean(axis=0) for c in "ABC"], 40, axis=0))
        )
        return shesha.compare_within(X, Y, classes)

    kept, partly, lost = r"kept the geometry within (all|both|A)", r"partly kept|weakened", r"\blost\b|not above chance"
    above = r"above chance"
    yield Check(
        "compare_within",
        "nothing shared within three classes",
        partial(compared, share=0.0),
        ((r"not above chance", TRUE), (kept, WRONG), (partly, WRONG), (lost, TRUE), (above, WRONG)),
    )
    yield Check(
        "compare_within",
        "a tenth of the variance shared within classes",
        partial(compared, share=0.1),
        ((kept, WRONG), (partly, TRUE), (r"\blost the", WRONG), (r"not above chance", UNDECIDED), (above, TRUE)),
    )
    yield Check(
        "compare_within",
        "geometry unchanged within classes",
        partial(compared, share=1.0),
        ((r"\blost the", WRONG), (kept, TRUE), (partly, UNDECIDED), (above, UNDECIDED)),
    )


def diff_checks() -> Iterator[Check]:
    """Yield the checks of model changes."""
    unchanged = r"Nothing changed|No change exceeds noise"
    undecided = r"[Cc]annot (be )?decide|cannot be told|undecided"
    changed = r"changed beyond noise|replaced"

    def noisy(rng: Rng, X: Rows, share: float) -> Rows:
        return X + share * X.std(axis=0) * rng.standard_normal(X.shape)

    def two(rng: Rng, change: Callable[[Rng, Rows], Rows], offset: float = 0.0, n: int = 120, **options: Any) -> Any:
        X = structured(rng, n) + offset
        return shesha.diff(X, change(rng, X), seed=0, **options)

    def re_encoded(rng: Rng, share: float, change: float) -> Any:
        X = structured(rng, 120)
        again = [noisy(rng, X, share) for _ in range(3)]
        return shesha.diff(X, noisy(rng, noisy(rng, X, change), share), again=again, seed=0)

    null = ((undecided, UNDECIDED), (unchanged, TRUE), (changed, WRONG))
    effect = ((undecided, UNDECIDED), (changed, TRUE), (unchanged, WRONG))
    rotated = ((r"Nothing changed|same geometry|No change exceeds", TRUE), (changed, WRONG))
    yield Check(
        "diff", "re-encoded with equal noise, three re-encodings", partial(re_encoded, share=0.1, change=0), null
    )
    yield Check("diff", "change of five times the noise", partial(re_encoded, share=0.05, change=0.25), effect)
    yield Check("diff", "rotated", partial(two, change=lambda rng, X: X @ rotation(rng, D)), rotated)
    yield Check("diff", "scaled by 3", partial(two, change=lambda rng, X: 3 * X), rotated)
    yield Check("diff", "replaced", partial(two, change=lambda rng, X: structured(rng, len(X))), effect)
    yield Check(
        "diff",
        "30 % of the signal changed",
        partial(two, change=lambda rng, X: noisy(rng, X, 0.3)),
        effect,
    )
    yield Check(
        "diff",
        "30 % of the signal changed, offset of 30 sd",
        partial(two, change=lambda rng, X: noisy(rng, X, 0.3), offset=30.0),
        effect,
    )

    def index(rng: Rng, n: int, rotate: bool) -> Any:
        X = structured(rng, n, 16)
        Y = X @ rotation(rng, 16) if rotate else structured(rng, n, 16)
        found = shesha.diff(X, Y, index=True, seed=0)
        return found.index if found.index is not None else found

    keep = r"Index: keep"
    few = r"too few|cannot|not tested|not judged"
    for n in (20, 40, 400):
        yield Check(
            "diff(index=True)",
            f"unrelated, {n} rows",
            partial(_refusal, partial(index, n=n, rotate=False)),
            ((few, UNDECIDED), (keep, WRONG), (r"map new queries", WRONG), (r"re-embed", TRUE)),
        )
        yield Check(
            "diff(index=True)",
            f"rotated, {n} rows",
            partial(_refusal, partial(index, n=n, rotate=True)),
            (
                (keep, WRONG),
                (r"map new queries", TRUE),
                (few, UNDECIDED),
                (r"re-embed", UNDECIDED if n < 60 else WRONG),
            ),
        )

    labels = np.repeat(np.arange(4), 30)

    def classes(rng: Rng, moved: bool, donors: bool) -> Any:
        centres = 2 * rng.standard_normal((4, D))
        X = centres[labels] + rng.standard_normal((120, D))
        Y = X + 0.02 * rng.standard_normal(X.shape)
        options: dict[str, Any] = {}
        if moved:
            Y[labels == 3] += 3 * rng.standard_normal(D)
        if donors:
            donor = np.arange(120) // 10
            Y = Y + rng.standard_normal((12, D))[donor]
            options["groups"] = donor
        found = shesha.diff(X, Y, labels, seed=0, **options)
        pairs = [pair for pair in found.classes if pair.p_adjusted <= LEVEL]
        return " ; ".join(pair.in_words for pair in pairs) or "no class moved"

    yield Check(
        "diff(labels=), classes that moved",
        "no class moved",
        partial(classes, moved=False, donors=False),
        (("no class moved", TRUE), (".", WRONG)),
    )
    yield Check(
        "diff(labels=, groups=donor), classes that moved",
        "donors moved, no class moved",
        partial(classes, moved=False, donors=True),
        (("no class moved", TRUE), (".", WRONG)),
    )
    yield Check(
        "diff(labels=), classes that moved",
        "class 3 of 4 moved",
        partial(classes, moved=True, donors=False),
        (
            ("no class moved", UNDECIDED),
            (r"(^|; )(?![^;]*\b3\b)[^;]+", WRONG),
            (".", TRUE),
        ),
    )


def _refusal(call: Callable[[Rng], Any], rng: Rng) -> Any:
    """Return the result, or the text of a refusal, which decides nothing."""
    try:
        return call(rng)
    except ValueError as error:
        return f"cannot: {error}"


def stability_checks() -> Iterator[Check]:
    """Yield the checks of audits."""
    options = {"n_bootstrap": 50}
    not_above, above = r"Not above chance", r"Stable above chance|[Aa]bove chance|Stable across random directions"
    cases: dict[str, tuple[Callable[[Rng], Rows], bool]] = {
        "independent features": (gaussian, False),
        "independent features, heavy tails": (lambda rng: rng.standard_t(2, (N, D)), False),
        "independent features, 12 rows": (lambda rng: gaussian(rng, 12), False),
        "independent features, offset of 30 sd": (lambda rng: gaussian(rng) + 30, False),
        "few strong directions": (structured, True),
        "a third of the variance shared": (lambda rng: 0.3 * structured(rng) + gaussian(rng), True),
    }
    for truth, (draw, stable) in cases.items():
        yield Check(
            "audit(X)",
            truth,
            lambda rng, draw=draw: str(shesha.audit(draw(rng), **options)).partition("\n\n")[0],
            presence(stable, above, not_above),
        )

    def labelled(rng: Rng, shift: float, donors: bool) -> Any:
        y = np.repeat([0, 1], N // 2)
        X = gaussian(rng) + shift * y[:, None] * rng.standard_normal(D)
        if donors:
            X += 1.5 * np.repeat(rng.standard_normal((6, D)), N // 6, axis=0)
        text = str(shesha.audit(X, y, **options))
        found = re.search(r"Labels: .*?(?=\n\s*\n|Most stable|\Z)", text, re.S)
        return found.group() if found else text

    rules = (r"(closest|closer than other rows)", r"not closer than other rows")
    yield Check(
        "audit(X, labels)", "labels unrelated", partial(labelled, shift=0.0, donors=False), presence(False, *rules)
    )
    yield Check(
        "audit(X, labels)", "classes differ", partial(labelled, shift=1.0, donors=False), presence(True, *rules)
    )
    yield Check(
        "audit(X, labels)",
        "labels unrelated, three donors per class, undeclared",
        partial(labelled, shift=0.0, donors=True),
        presence(False, *rules),
    )


def ranking_checks() -> Iterator[Check]:
    """Yield the checks of rankings of models."""

    def ranked(rng: Rng, kind: str) -> Any:
        truth = structured(rng, 40, 12)
        subjects = [truth + rng.standard_normal(truth.shape) for _ in range(6)]
        models = {
            "equal": {"a": structured(rng, 40, 12), "b": structured(rng, 40, 12)},
            "one true": {"true": truth, "b": structured(rng, 40, 12)},
            "alone": {"true": truth, "b": truth + 2 * rng.standard_normal(truth.shape)},
        }[kind]
        return shesha.rank_models(subjects, models, seed=0)

    better, equal = r"significantly better than", r"not significantly closer"
    yield Check(
        "rank_models",
        "both models unrelated to the data",
        partial(ranked, kind="equal"),
        presence(False, better, equal),
    )
    yield Check(
        "rank_models",
        "one model true",
        partial(ranked, kind="one true"),
        ((r"^true explains the data best.*" + better, TRUE), (equal, UNDECIDED), (better, WRONG)),
    )
    yield Check(
        "rank_models, noise ceiling",
        "one model true",
        lambda rng: str(ranked(rng, "one true")).partition("The noise ceiling")[2],
        (
            (r"true[^;.]* (do|does) not differ", TRUE),
            (r"true[^;.]* reach", TRUE),
            (r"every model|no model", WRONG),
            (".", WRONG),
        ),
    )


def recording_checks() -> Iterator[Check]:
    """Yield the checks of recordings."""

    def session(rng: Rng, tuning: float, drifting: float = 0.0, base: Rows | None = None) -> tuple[Rows, Any]:
        shown = rng.permutation(np.tile(np.arange(6), 12))
        means = rng.standard_normal((6, 30)) if base is None else base
        slow = np.cumsum(rng.standard_normal((72, 30)), axis=0) / 8
        return tuning * means[shown] + rng.standard_normal((72, 30)) + drifting * slow, shown

    yield Check(
        "neuro.trial_split",
        "no condition differs",
        lambda rng: neuro.trial_split(*session(rng, 0.0)),
        presence(False, "above chance", "not above chance"),
    )
    yield Check(
        "neuro.trial_split",
        "no condition differs, slow drift",
        lambda rng: neuro.trial_split(*session(rng, 0.0, 1.0)),
        presence(False, "above chance", "not above chance"),
    )
    yield Check(
        "neuro.trial_split",
        "conditions differ",
        lambda rng: neuro.trial_split(*session(rng, 1.0)),
        presence(True, "above chance", "not above chance"),
    )

    def pairs(rng: Rng, tuned: bool) -> Any:
        base = np.zeros((6, 30))
        if tuned:
            base[3] = 2.0
        return neuro.crossnobis_test(*session(rng, 1.0, base=base))

    none = r"^(0|None) of \d+ pairs of conditions differ"
    yield Check(
        "neuro.crossnobis_test",
        "no condition differs",
        partial(pairs, tuned=False),
        ((none, TRUE), (r"of \d+ pairs of conditions differ", WRONG)),
    )
    yield Check(
        "neuro.crossnobis_test",
        "one of six conditions differs",
        partial(pairs, tuned=True),
        ((none, WRONG), (r"of \d+ pairs of conditions differ", TRUE), ("cannot be decided", UNDECIDED)),
    )

    def sessions(rng: Rng, change: bool) -> Any:
        first = rng.standard_normal((6, 30))
        second = rng.standard_normal((6, 30)) if change else first
        return neuro.session_drift({"one": session(rng, 1.0, base=first), "two": session(rng, 1.0, base=second)})

    yield Check(
        "neuro.session_drift",
        "no drift between sessions",
        partial(sessions, change=False),
        ((r"[Nn]o (significant )?change|not beyond|[Nn]o drift|[Nn]o pair", TRUE), (r"Largest change|changed", WRONG)),
    )
    yield Check(
        "neuro.session_drift",
        "other tuning in the second session",
        partial(sessions, change=True),
        (
            (r"[Nn]o (significant )?change|not beyond|[Nn]o drift|[Nn]o pair", UNDECIDED),
            (r"Largest change|changed", TRUE),
        ),
    )


def steering_checks() -> Iterator[Check]:
    """Yield the checks of steering."""

    def steered(rng: Rng, shift: float) -> Any:
        y = np.arange(N) % 2
        return steering.steerability(gaussian(rng, N, 8) + shift * y[:, None], y, n_draws=39, seed=0)

    def layers(rng: Rng, shift: float) -> Any:
        y = np.arange(N) % 2
        many = {f"layer {i}": gaussian(rng, N, 8) for i in range(4)}
        many["layer 2"] = many["layer 2"] + shift * y[:, None]
        return steering.rank_layers(many, y, n_draws=39, seed=0)

    rules = ("above", r"not above")
    yield Check("steering.steerability", "classes alike", partial(steered, shift=0.0), presence(False, *rules))
    yield Check("steering.steerability", "classes differ", partial(steered, shift=1.5), presence(True, *rules))
    yield Check(
        "steering.rank_layers", "classes alike in four layers", partial(layers, shift=0.0), presence(False, *rules)
    )
    yield Check(
        "steering.rank_layers",
        "classes differ in one layer",
        partial(layers, shift=1.5),
        ((r"^Best layer: layer 2 .*(?<!not )above", TRUE), ("not above", UNDECIDED), ("above", WRONG)),
    )


def cell_checks() -> Iterator[Check]:
    """Yield the checks of shifts of perturbed cells."""

    def groups(rng: Rng, shift: float, donors: int = 0, declared: bool = False) -> Any:
        labels = np.repeat(["control", "one", "two"], [90, 30, 30])
        X = rng.standard_normal((150, 10))
        X[labels == "one"] += shift * np.eye(10)[0]
        donor = np.concatenate([np.arange(size) % max(donors, 1) for size in (90, 30, 30)])
        options: dict[str, Any] = {}
        if donors:
            for name in ("one", "two"):
                for k in range(donors):
                    X[(labels == name) & (donor == k)] += 1.5 * rng.standard_normal(10)
            if declared:
                options = {"groups": donor}
        return coherence.coherence_by_group(X, labels, control="control", n_draws=199, seed=0, **options)

    none = r"^(0|None) of \d+ |[Nn]o chance level|cannot be decided|[Tt]oo few"
    yield Check(
        "coherence_by_group", "no group shifts", partial(groups, shift=0.0), ((none, TRUE), (r"^\d+ of \d+", WRONG))
    )
    yield Check(
        "coherence_by_group",
        "one group shifts",
        partial(groups, shift=1.0),
        ((none, UNDECIDED), (r"above chance.*: one\b(?!.*two)", TRUE), (r"^\d+ of", WRONG)),
    )
    for donors in (3, 4, 8):
        yield Check(
            "coherence_by_group(groups=donor)",
            f"each of {donors} donors shifts in its own direction",
            partial(groups, shift=0.0, donors=donors, declared=True),
            ((none, TRUE), (r"^\d+ of \d+", WRONG)),
        )


def drift_checks() -> Iterator[Check]:
    """Yield the checks of monitors and of two samples."""

    def monitor(rng: Rng, change: float) -> Any:
        X = structured(rng)
        again = [X + 0.01 * rng.standard_normal(X.shape) for _ in range(19)]
        return drift.DriftMonitor(X, nulls=again, false_alarm=LEVEL, seed=0).check(
            X + (0.01 + change) * rng.standard_normal(X.shape)
        )

    yield Check(
        "DriftMonitor.check",
        "re-encoded without a change",
        partial(monitor, change=0.0),
        (("^ok", TRUE), ("^(alert|notice|warn|moved|drift)", WRONG)),
    )
    yield Check("DriftMonitor.check", "small change", partial(monitor, change=0.03), (("^ok", UNDECIDED), (".", TRUE)))

    def stream(rng: Rng, draw: Callable[[Rng, int], Rows], shift: float) -> Any:
        watched = drift.DriftMonitor(draw(rng, 200), false_alarm=LEVEL, seed=0)
        verdict = None
        for _ in range(5):
            verdict = watched.update(draw(rng, 40) + shift)
        return verdict

    independent = lambda rng, n: gaussian(rng, n, 8)  # noqa: E731
    frames = lambda rng, n: autoregressive(rng, n, 8)  # noqa: E731
    rules = (("^ok", TRUE), (".", WRONG))
    yield Check(
        "DriftMonitor.update", "independent rows, no change", partial(stream, draw=independent, shift=0.0), rules
    )
    yield Check("DriftMonitor.update", "frames of a film, no change", partial(stream, draw=frames, shift=0.0), rules)
    yield Check(
        "DriftMonitor.update",
        "inputs shifted by 1 sd",
        partial(stream, draw=independent, shift=1.0),
        (("^ok", UNDECIDED), (".", TRUE)),
    )
    differ = (r"the samples differ", r"do not differ|no difference|not differ")
    yield Check(
        "two_sample",
        "one distribution",
        lambda rng: drift.two_sample(gaussian(rng), gaussian(rng)),
        presence(False, *differ),
    )
    yield Check(
        "two_sample",
        "means differ by 1 sd",
        lambda rng: drift.two_sample(gaussian(rng), gaussian(rng) + 1),
        presence(True, *differ),
    )


SUBJECTS: Mapping[str, Callable[[], Iterable[Check]]] = {
    "Two representations": pair_checks,
    "Layers and many pairs": grid_checks,
    "Consensus": consensus_checks,
    "Within classes": within_checks,
    "Model changes": diff_checks,
    "Stability": stability_checks,
    "Rankings of models": ranking_checks,
    "Recordings": recording_checks,
    "Steering": steering_checks,
    "Perturbed cells": cell_checks,
    "Monitoring": drift_checks,
}


# Running and writing ---------------------------------------------------------------------------------------------


def measure(subject: str, place: int, seeds: range) -> Counter[str]:
    """Return how often each outcome occurred; checks are rebuilt here, because lambdas cannot be sent to a process."""
    check = list(SUBJECTS[subject]())[place]
    return Counter(check.run(seed) for seed in seeds)


def limit(wrong: int, runs: int) -> float:
    """Return the lower end of the exact 95 % interval of a rate."""
    return float(beta.ppf(0.025, wrong, runs - wrong + 1)) if wrong else 0.0


HEAD = """# How often are the headlines right?

Each result starts with a sentence that answers the question. This page reports how often this sentence is true, for
data with a known truth. Use it to judge how far you can trust a headline. Each line has {runs} data sets, {n} rows of
{d} features unless stated otherwise, and the default options of the function.

- *True*: the sentence states what is true. "Not above chance" is true of unrelated data.
- *Undecided*: the sentence makes no claim, such as "not above chance" for related data, or the function refuses.
- *Wrong, with a warning*: the sentence is false, and the result or a warning says that rows may depend on one another.
- *Wrong*: the sentence is false without such a warning. The declared level is 5 %. Rates that exceed it significantly
  (lower end of the exact 95 % interval above 5 %) are marked with *.

`python scripts/measure_headlines.py --runs {runs}` makes the table.
"""


def main() -> None:
    """Run the checks, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", default="", help="part of the name of a subject or function")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text, unknown = [HEAD.format(runs=options.runs, n=N, d=D)], dict[str, str]()
    with ProcessPoolExecutor(options.workers) as pool:
        for subject, checks in SUBJECTS.items():
            chosen = [
                (place, check)
                for place, check in enumerate(checks())
                if options.only.lower() in f"{subject} {check.question} {check.truth}".lower()
            ]
            if not chosen:
                continue
            text += [f"## {subject}\n", "| function | truth | true | undecided | wrong, warned | wrong |"]
            text += ["| --- | --- | --- | --- | --- | --- |"]
            futures = [pool.submit(measure, subject, place, range(options.runs)) for place, _ in chosen]
            for (_, check), future in track(list(zip(chosen, futures, strict=True)), len(chosen), subject):
                counts = future.result()
                if strange := [outcome for outcome in counts if outcome not in OUTCOMES]:
                    unknown[f"{check.question}, {check.truth}"] = strange[0]
                mark = "*" if limit(counts[WRONG], options.runs) > LEVEL else ""
                cells = [f"{100 * counts[outcome] / options.runs:.0f} %" for outcome in OUTCOMES]
                line = f"| {check.question} | {check.truth} | {' | '.join(cells)}{mark} |"
                text.append(line)
                print(line, flush=True)
            text.append("")
    if unknown:
        raise SystemExit("\n".join(f"{name}: {outcome}" for name, outcome in unknown.items()))
    if options.out is not None:
        write_text(options.out, "\n".join(text))


if __name__ == "__main__":
    main()
