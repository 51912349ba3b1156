"""The text of the steering study: the measured numbers beside the published ones. Used by make_steering_study.py."""

from __future__ import annotations

import math
import textwrap

import pandas as pd

PUBLISHED = {
    "Synthetic": {
        "supervised_alignment": (0.894, 0.665),
        "feature_split": (0.767, 0.053),
        "procrustes": (0.797, -0.089),
        "fisher": (0.888, None),
        "silhouette": (0.889, None),
        "anisotropy": (0.710, None),
    },
    "SST-2": {
        "supervised_alignment": (0.962, 0.764),
        "feature_split": (0.103, -0.036),
        "procrustes": (0.976, 0.522),
        "fisher": (0.885, None),
        "silhouette": (0.884, None),
        "anisotropy": (0.396, None),
    },
    "MNLI": {
        "supervised_alignment": (0.956, 0.620),
        "feature_split": (0.354, 0.100),
        "procrustes": (0.886, 0.491),
        "fisher": (0.952, None),
        "silhouette": (0.650, None),
        "anisotropy": (0.343, None),
    },
}
CONTROLS = {
    "Synthetic": (69, 18, 0.600, -0.001, 10.8),
    "SST-2": (35, 19, 0.227, -0.001, 2.7),
    "MNLI": (35, 20, 0.023, -0.001, 1.3),
}
"""Models, number of the table, mean supervised score and the same under shuffled labels, ratio to random directions."""
NAMES = {
    "supervised_alignment": "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
    "accuracy": "accuracy of the probe",
}


def page(tables, found, found_small, ways, small) -> str:
    """Put the page together."""
    parts = [_head(tables), _tables(tables, found), _accuracy(tables, found), _small(found_small)]
    parts += [_controls(tables), _flips(tables, small), _ways(ways), _END]
    return "\n\n".join(_wrapped(part.strip()) for part in parts) + "\n"


def _wrapped(text: str) -> str:
    """Break paragraphs into lines; tables, headings and lists stay as they are."""
    return "\n".join(
        textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) if line[:1].isalpha() else line
        for line in text.split("\n")
    )


def _head(tables: dict[str, pd.DataFrame]) -> str:
    n = len(tables["SST-2"])
    return f"""# Does stability predict steering?

The paper (section 3.1, appendix 8) steers sentence embeddings along the weights of a logistic probe, and reports that
supervised stability of one half of the rows predicts, over 69 and 35 encoders, how far the accuracy on the other half
drops (max drop). Here is the same protocol with the encoders at hand, and what chance says. Made by
`SHESHA_DATA=FOLDER python scripts/make_steering_study.py --cache FOLDER`; the terms are those of
[steering](../steering.md).

**What can be compared, and what cannot.** There is one trained encoder here, not 35: MiniLM-L6. Its layers (mean over
tokens, and first token), the layers of the same network with fresh weights, and five encoders that count words make {n}
"models". Layers of one network are not independent of one another, so intervals and p-values are too good: they treat
the {n} as unrelated. The correlations say how the numbers go together over encoders from useless to good; they do not
repeat the published tables. Three seeds instead of 15. SST-2: 800 of the 872 validation sentences; MNLI: 800 of the
1,000 matched pairs at hand; synthetic: the 512 different sentences of the grammar (see below). Predictors come from one
half of the rows, steering from the other, of which one half trains the probe; strengths are -2 to 2 in steps of 0.5, in
the units of the features."""


def _tables(tables: dict[str, pd.DataFrame], found) -> str:
    parts = ["## Tables 18 to 20", "Spearman correlations with max drop; partial: given Fisher and silhouette."]
    for name, result in found.items():
        n_models, number, *_ = CONTROLS[name]
        lines = [
            f"### {name} (Table {number})",
            "",
            f"| metric | raw, published ({n_models}) | raw, here ({len(tables[name])}) | 95 % interval | p | partial, "
            "published | partial, here | 95 % interval | p |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for metric, (raw, partial) in PUBLISHED[name].items():
            one = result[metric]
            ours = f"{one.raw:.3f} | {one.raw_low:.2f} to {one.raw_high:.2f} | {_p(one.raw_p)}"
            beside = ["-", "-", "-"]
            if partial is not None and not math.isnan(one.partial):
                beside = [f"{one.partial:.3f}", f"{one.partial_low:.2f} to {one.partial_high:.2f}", _p(one.partial_p)]
            published = f"{partial:.3f}" if partial is not None else "-"
            lines.append(f"| {NAMES[metric]} | {raw:.3f} | {ours} | {published} | {' | '.join(beside)} |")
        lines += [
            "",
            f"Chance: unrelated numbers pass {result.chance:.2f} (raw) and {result.partial_chance:.2f} (partial), "
            f"either way, in 5 % of {result.n_draws} shuffles.",
        ]
        parts.append("\n".join(lines))
    parts.append(
        "Of two classes, Procrustes similarity to the one-hot labels is a function of Fisher's ratio (both are of the "
        "share of the variance between classes): it orders encoders alike, and nothing is left of it given Fisher. The "
        "published numbers differ between the two, so the published similarity seems to be another one; the text does "
        "not say which."
    )
    parts.append(_within(tables))
    return "\n\n".join(parts)


def _within(tables: dict[str, pd.DataFrame]) -> str:
    """The seven layers that are most like the published encoders, alone."""
    lines = [
        "### The seven mean-pooled layers of MiniLM alone",
        "",
        "Rank correlations with max drop; of seven unrelated numbers 5 % lie beyond 0.75. Equal max drops have none.",
        "",
        "| set | " + " | ".join(NAMES[metric] for metric in PUBLISHED["SST-2"]) + " | max drop, from and to |",
        "| --- |" + " --- |" * (len(PUBLISHED["SST-2"]) + 1),
    ]
    for name, table in tables.items():
        own = table[table["family"] == "MiniLM, mean"]
        drop = own["max_drop"]
        varies = drop.max() - drop.min() > 1e-9
        cells = [f"{own[metric].corr(drop, 'spearman'):.2f}" if varies else "-" for metric in PUBLISHED[name]]
        lines.append(f"| {name} | {' | '.join(cells)} | {drop.min():.3f} to {drop.max():.3f} |")
    return "\n".join(lines)


def _p(value: float) -> str:
    return f"{value:.3f}"


def _accuracy(tables: dict[str, pd.DataFrame], found) -> str:
    lines = [
        "## What would fool this number: max drop is the accuracy",
        "",
        "At strengths of up to 2 units a probe reads nearly all rows as one class. Max drop is then the accuracy less "
        "the share of that class, whatever the geometry, and whatever predicts the accuracy predicts it:",
        "",
        "| set | max drop, mean | largest it can be | encoders within 5 % of that | correlation with the accuracy |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, table in tables.items():
        full = (table["max_drop"] >= 0.95 * table["largest_drop"]).sum()
        numbers = f"{table['max_drop'].mean():.3f} | {table['largest_drop'].mean():.3f} | {full} of {len(table)}"
        lines.append(f"| {name} | {numbers} | {found[name]['accuracy'].raw:.3f} |")
    lines += [
        "",
        "![Supervised alignment, and the accuracy of the probe, against max drop](steering.png)",
        "",
        "The dashed line is where all rows are read as one class (of the means over encoders: with three classes some "
        "lie beyond it). Published are correlations with max drop without the accuracies, so whether the published "
        "encoders lie on such a line as well cannot be said. Half of the rows of SST-2 flip at "
        f"{tables['SST-2']['strength'].median():.3f} mean lengths of a row (median over encoders), and a strength "
        f"of 2 is {2 / tables['SST-2']['norm'].median():.2f} of them (median length "
        f"{tables['SST-2']['norm'].median():.1f}).",
    ]
    return "\n".join(lines)


def _small(found_small) -> str:
    lines = [
        "## Strengths that leave the probe something to say",
        "",
        "The same with strengths of 0.05 and 0.1 mean lengths of a row, either way: encoders of any scale are moved "
        "alike, and fewer of them are read as one class throughout. Well separated rows then drop less: that the "
        "correlation of the synthetic sentences turns is no sign of poor geometry.",
        "",
        "| metric | " + " | ".join(f"{name}, raw | {name}, partial" for name in found_small) + " |",
        "| --- |" + " --- |" * (2 * len(found_small)),
    ]
    for metric in PUBLISHED["SST-2"]:
        cells = []
        for result in found_small.values():
            one = result[metric]
            partial = "-" if math.isnan(one.partial) else f"{one.partial:.3f} (p = {_p(one.partial_p)})"
            cells += [f"{one.raw:.3f} (p = {_p(one.raw_p)})", partial]
        lines.append(f"| {NAMES[metric]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _controls(tables: dict[str, pd.DataFrame]) -> str:
    lines = [
        "## Negative controls",
        "",
        "Means over encoders, here and as published. The published ratio to random directions falls with the "
        "difficulty of the task. Under shuffled labels max drop is not 0, since a probe of noise also has a direction "
        "along which it turns.",
        "",
        "| set | supervised score, published | here | shuffled, published | here | vector over random directions, "
        "published | here | max drop | under shuffled labels |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, table in tables.items():
        _, _, score, shuffled, ratio = CONTROLS[name]
        ours = table["max_drop"].mean() / table["random_drop"].mean()
        lines.append(
            f"| {name} | {score:.3f} | {table['supervised_alignment'].mean():.3f} | {shuffled:.3f} | "
            f"{table['alignment_chance'].mean():.3f} | {ratio:.1f} | {ours:.1f} | {table['max_drop'].mean():.3f} | "
            f"{table['max_drop_chance'].mean():.3f} |"
        )
    return "\n".join(lines)


def _flips(tables: dict[str, pd.DataFrame], small) -> str:
    lines = [
        "## Flips and anti-steerable rows",
        "",
        "Flip rates at a strength of 2 tell nothing: vectors of shuffled labels flip as many rows of their own probe "
        "(mean over encoders "
        + ", ".join(f"{t['to_target'].mean():.2f} against {t['to_target_chance'].mean():.2f}" for t in tables.values())
        + "). A linear probe also sees every row move alike, so no row can be anti-steerable to it. Read by the ten "
        "nearest rows of either class instead, at 0.05 and 0.1 mean lengths, for the last layer of MiniLM:",
        "",
        "| set | flips to the target | chance | anti-steerable rows | chance | random directions | half of the rows "
        "flip at (mean lengths) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in small.items():
        flips = f"{one['flips to target']:.3f} | {one['flips to target chance']:.3f}"
        anti = f"{one['anti-steerable rows']:.3f} | {one['anti-steerable rows chance']:.3f}"
        lines.append(f"| {name} | {flips} | {anti} | {one['random anti']:.3f} | {one['strength']:.3f} |")
    return "\n".join(lines)


def _ways(ways) -> str:
    lines = [
        "## What is a new sentence?",
        "",
        "The published grammar has 4 x 8 x 8 = 256 sentences of either kind, 512 in all, and a corpus of 1,000 was "
        "drawn: at least 488 are copies, and a random split leaves copies of most sentences on both sides. Even "
        "among the 512 a new row is an adjective that the probe was trained on, in another frame. The last layer of "
        "MiniLM, five splits both ways, 99 shuffles of the labels as the groups allow:",
        "",
        "| what is split | rows | accuracy | chance | max drop | chance | p | random directions |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in ways.items():
        accuracy = f"{one['accuracy']:.3f} ({one['accuracy low']:.2f} to {one['accuracy high']:.2f})"
        drop = f"{one['max drop']:.3f} ({one['max drop low']:.2f} to {one['max drop high']:.2f})"
        beside = f"{one['max drop chance']:.3f} | {one['max drop p']:.2f} | {one['random']:.3f}"
        lines.append(f"| {name} | {one['n']} | {accuracy} | {one['accuracy chance']:.3f} | {drop} | {beside} |")
    first, *_, last = ways.values()
    lines += [
        "",
        f"Kept whole, 16 adjectives are 16 rows, as far as sentiment goes: accuracy falls from {first['accuracy']:.2f} "
        f"to {last['accuracy']:.2f}, and shuffled labels of whole adjectives give a max drop of "
        f"{last['max drop chance']:.2f}. Give the template as `groups`.",
    ]
    return "\n".join(lines)


_END = """
## What survives

- **Max drop at the published strengths is the accuracy of the probe** less a constant, within 5 %, for every encoder of
  the synthetic sentences and of SST-2. So it is the accuracy that the scores predict here.
- **Over the seven pooled layers of MiniLM on SST-2 supervised alignment orders max drop as published** (0.96), and so
  do Fisher, silhouette and Procrustes. Over all 31 encoders it is 0.54 with a wide interval, no more than theirs. On
  the synthetic sentences most encoders reach the largest drop there is, and no order is left.
- **Nothing is said beyond separability**: given Fisher and silhouette, the partial correlation of supervised alignment
  is 0.19, 0.21 and -0.43, none positive beyond chance. At small strengths one of three is, 0.39 on SST-2 (p = 0.039).
  Other encoders than these few may well behave as published.
- **On MNLI there is nothing to steer**: probes of MiniLM hardly pass a third, and shuffled labels drop as far. A ratio
  to random directions above 1 is no evidence: vectors of shuffled labels move their probe more than random directions
  do.
- On the synthetic sentences and on SST-2 vectors do far more than random directions and than vectors of shuffled
  labels.
- **A new frame is no new sentence.** With adjectives kept whole the chance level of max drop rises sixfold, and the
  interval is wide: there are sixteen of them.
- Use strengths in mean lengths of a row, look at `largest_drop`, keep templates whole, and read every number beside its
  chance.
"""
