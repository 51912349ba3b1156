"""Writes docs/studies/odd_even_and_slow_drift.md and its picture from what make_neural_page measured."""

import re
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
from scipy.stats import spearmanr, ttest_rel

from shesha._atomic import write_text
from shesha.neuro import association
from shesha.neuro._clusters import clustered_mean
from shesha.report import markdown_table, wrapped
from shesha.results import SessionTable

matplotlib.use("agg")
ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs/studies/odd_even_and_slow_drift.md", "odd_even_and_slow_drift.png"
STABILITY = {
    "Striatum": (6, 0.438, 0.336, 0.555),
    "Motor": (10, 0.377, 0.253, 0.496),
    "Visual": (29, 0.364, 0.265, 0.463),
    "Thalamus": (21, 0.359, 0.256, 0.458),
    "Midbrain": (15, 0.354, 0.244, 0.461),
    "Other": (90, 0.253, 0.214, 0.292),
    "Frontal": (18, 0.222, 0.103, 0.345),
    "Hippocampus": (39, 0.187, 0.128, 0.247),
}
"""The paper's Table 76: n, mean, interval."""
DRIFT = {
    "Thalamus": (21, 0.946, 0.924, 0.965),
    "Hippocampus": (39, 0.944, 0.928, 0.958),
    "Visual": (29, 0.940, 0.925, 0.954),
    "Midbrain": (15, 0.932, 0.900, 0.961),
    "Other": (90, 0.924, 0.907, 0.939),
    "Frontal": (18, 0.889, 0.843, 0.926),
    "Motor": (11, 0.872, 0.810, 0.924),
    "Striatum": (6, 0.825, 0.759, 0.895),
}
"""The paper's Table 77."""
SPLITS = ("odd and even", "random", "8 blocks", "early and late")
FURTHER = ("equal", "nine", "equal trials", "equal trials and neurons", "equal trials, early and late")
CALLED = {
    "equal": "odd and even, 20 neurons each",
    "nine": "odd and even, 9 conditions",
    "equal trials": "odd and even, 4 trials of each condition in a half",
    "equal trials and neurons": "the same, 20 neurons each",
    "equal trials, early and late": "early and late, 4 trials of each condition in a half",
    "trial_split": "odd and even, all trials",
    "equal_trials": "odd and even, 4 trials of each condition in a half",
    "centroid_drift": "centroid drift",
    "wuc": "whitened unbiased cosine",
}


class Measured:
    """What was measured, as tables."""

    def __init__(self, found: dict) -> None:
        self.found = found
        self.tables = {name: SessionTable.from_dict(one) for name, one in found.items() if "lines" in one}
        self.frames = {name: table.to_frame() for name, table in self.tables.items()}

    def mean(self, name: str, column: str = "trial_split") -> str:
        """Mean over areas and sessions, with an interval over sessions."""
        frame = self.frames[name].dropna(subset=[column])
        return with_interval(frame[column].to_numpy(), frame["session"].tolist())

    def beyond(self, name: str, column: str = "trial_split") -> str:
        known = self.frames[name].dropna(subset=[column])
        return f"{(known[f'{column}_p'] <= 0.05).sum()} of {len(known)}"

    def chance(self, name: str, column: str = "trial_split") -> str:
        return f"{self.frames[name][f'{column}_chance'].mean():.3f}"

    def group(self, name: str, region: str, column: str = "trial_split") -> str:
        one = self.tables[name][region].means[column]
        return interval(one.mean, one.low, one.high)

    def order(self, name: str, column: str = "trial_split") -> float:
        """Rank correlation of the regions' means with those of the paper."""
        paper = STABILITY if column != "centroid_drift" else DRIFT
        means = [self.tables[name][region].means[column].mean for region in paper]
        return float(spearmanr(means, [one[1] for one in paper.values()]).statistic)


def interval(mean: float, low: float, high: float) -> str:
    return f"{mean:.3f} [{low:.2f}, {high:.2f}]"


def with_interval(values: np.ndarray, sessions: list[str]) -> str:
    return interval(float(values.mean()), *clustered_mean(values, sessions, 0.95))


def regions(own: Measured) -> str:
    """Table 76 with ours beside it."""
    head = [
        "region",
        "paper: n, mean",
        "ours: n",
        "odd and even",
        "chance",
        "above",
        "4 trials each",
        "chance",
        "above",
    ]
    head += ["and 20 neurons", "above"]
    rows = []
    for region, (n, *values) in STABILITY.items():
        row = [region, f"{n}, {interval(*values)}", str(own.tables["main"][region].n)]
        for name in ("main", "equal trials"):
            one = own.tables[name][region].means["trial_split"]
            row += [interval(one.mean, one.low, one.high), f"{one.chance:.3f}", f"{one.n_beyond}/{one.n}"]
        few = own.tables["equal trials and neurons"][region].means["trial_split"]
        rows.append([*row, interval(few.mean, few.low, few.high), f"{few.n_beyond}/{few.n}"])
    return table(head, rows)


def drifts(own: Measured) -> str:
    """Table 77 with ours beside it."""
    head = ["region", "paper: n, mean", "ours: n, mean", "chance, any order", "chance, shifted", "below shifts"]
    rows = []
    for region, (n, *values) in DRIFT.items():
        group = own.tables["500 orders"][region]
        free, shifted = (own.tables[name][region].means["centroid_drift"] for name in ("500 orders", "shifted"))
        row = [region, f"{n}, {interval(*values)}", f"{group.n}, {own.group('500 orders', region, 'centroid_drift')}"]
        rows.append([*row, f"{free.chance:.3f}", f"{shifted.chance:.3f}", f"{shifted.n_beyond}/{shifted.n}"])
    return table(head, rows)


def splits(own: Measured) -> str:
    """Every way to split, beside chance."""
    head = ["trials", "mean", "chance", "above chance", "order of regions: rank correlation with the paper's"]
    rows = [
        [CALLED.get(name, name), own.mean(name), own.chance(name), own.beyond(name), f"{own.order(name):+.2f}"]
        for name in (*SPLITS, *FURTHER)
    ]
    white = [one("main", "wuc") for one in (own.mean, own.chance, own.beyond)]
    rows.append([CALLED["wuc"], *white, f"{own.order('main', 'wuc'):+.2f}"])
    return table(head, rows)


def null_model(own: Measured) -> str:
    """Table 78 with ours beside it."""
    frame = own.frames["500 orders"]
    sessions = frame["session"].tolist()
    z = (frame["centroid_drift"] - frame["centroid_drift_chance"]) / frame["centroid_drift_sd"]
    turned = own.frames["shifted"]
    shifted = (turned["centroid_drift"] - turned["centroid_drift_chance"]) / turned["centroid_drift_sd"]

    def told(values: np.ndarray, digits: int) -> str:
        low, high = clustered_mean(values, sessions, 0.95)
        return f"{values.mean():.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"

    rows = [
        ["areas and sessions", "229", str(len(frame)), str(len(turned))],
        ["mean z", "-44.7 [-49.2, -40.4]", told(z.to_numpy(), 1), told(shifted.to_numpy(), 1)],
        ["observed", "0.924 [0.915, 0.934]", *[told(frame["centroid_drift"].to_numpy(), 3)] * 2],
        [
            "chance",
            "0.995 [0.995, 0.996]",
            told(frame["centroid_drift_chance"].to_numpy(), 3),
            told(turned["centroid_drift_chance"].to_numpy(), 3),
        ],
        [
            "below chance at 5 %",
            "nearly all",
            own.beyond("500 orders", "centroid_drift"),
            own.beyond("shifted", "centroid_drift"),
        ],
    ]
    return table(["", "paper", "ours, any order", "ours, circular shifts"], rows)


def behaviour(own: Measured) -> str:
    """Table 75 with ours beside it."""
    paper = {
        "trial_split": "+0.184, p = 0.005",
        "equal_trials": "",
        "centroid_drift": "+0.002, p = 0.976",
        "wuc": "+0.089, p = 0.180",
    }
    equal = own.tables["equal trials"].lines
    lines = tuple(
        replace(line, scores={**line.scores, "equal_trials": other.scores["trial_split"]})
        for line, other in zip(own.tables["main"].lines, equal, strict=True)
    )
    both, rows = replace(own.tables["main"], lines=lines), []
    for name, published in paper.items():
        plain = association(both, name, "behaviour_coupling")
        given = association(both, name, "behaviour_coupling", given=("n_neurons", "n_trials", "rate"))
        row = [CALLED.get(name, name), published, f"{plain.value:+.3f} [{plain.low:+.2f}, {plain.high:+.2f}]"]
        row += [f"{plain.p_value:.2g} ({plain.naive_p:.1g})"]
        rows.append([*row, f"{given.value:+.3f} [{given.low:+.2f}, {given.high:+.2f}]", f"{given.p_value:.2g}"])
    head = ["score", "paper (n = 228)", f"ours (n = {len(lines)})", "p over sessions (as if independent)"]
    return table([*head, "given neurons, trials and rate", "p"], rows)


def thirds(own: Measured) -> str:
    values = np.array(own.found["tertiles"])
    sessions = own.frames["main"]["session"].tolist()
    early, late, step = (with_interval(one, sessions) for one in (*values.T, values[:, 0] - values[:, 1]))
    p = ttest_rel(*values.T).pvalue
    return f"""Paper: early to middle 0.942, middle to late 0.941, difference 0.001 (p = 0.77). Ours: {early}, {late},
difference {step} over sessions (paired t as if areas were independent: p = {p:.2f}). Gradual, as the paper says."""


def simulated(own: Measured) -> tuple[str, str]:
    numbers = own.found["unequal numbers"]
    head = [
        "trials of 16 conditions, untuned neurons",
        "all trials",
        "4 of each in either half",
        "whitened unbiased cosine",
    ]
    first = table(head, [[name, *(f"{value:+.2f}" for value in values)] for name, values in numbers.items()])
    rates = own.found["false positives"]
    rows = [[name, f"{one['permute']:.0%}", f"{one['shift']:.0%}"] for name, one in rates.items()]
    return first, table(["halves", "conditions shuffled", "circular shifts"], rows)


def ceilings(own: Measured) -> str:
    values = np.array(own.found["ceilings"], dtype=float)
    known = np.isfinite(values[:, 0])
    lower, upper = values[known, :2].mean(axis=0)
    return f"""Between four blocks of a session the distances have a mean reliability of {np.nanmean(values[:, 2]):.2f},
and {known.sum()} of {len(known)} areas have a ceiling, from {lower:.2f} to {upper:.2f} on average. With the conditions
turned round by half of the session the reliability is {np.nanmean(values[:, 3]):.2f}: it is that of unequal numbers as
well, and a score divided by such a ceiling says no more about the geometry than before."""


def table(head: list[str], rows: list[list[str]]) -> str:
    return markdown_table(head, rows)


def picture(own: Measured) -> None:
    """Scores of the regions beside chance: all trials, equal trials, drift."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", sharex=True)
    panels = {
        "odd and even trials": ("main", "trial_split", [("main", "chance: shifted conditions")]),
        "4 trials of each condition in a half": (
            "equal trials",
            "trial_split",
            [("equal trials", "chance: shifted conditions")],
        ),
        "first and second half of the session": (
            "500 orders",
            "centroid_drift",
            [("500 orders", "chance: any order"), ("shifted", "chance: circular shifts")],
        ),
    }
    names = list(STABILITY)
    for ax, (title, (name, column, nulls)) in zip(axes, panels.items(), strict=True):
        known = [region for region in names if region in {one.name for one in own.tables[name].groups}]
        places = [names.index(region) for region in known]
        means = [own.tables[name][region].means[column] for region in known]
        values = np.array([one.mean for one in means])
        spread = np.abs(np.array([[one.mean - one.low, one.high - one.mean] for one in means])).T
        ax.errorbar(places, values, yerr=spread, fmt="o", color="#1f4e79", capsize=3, label="ours")
        if (column == "trial_split" and name == "main") or column == "centroid_drift":
            paper = STABILITY if column == "trial_split" else DRIFT
            ax.plot(places, [paper[region][1] for region in known], "x", color="black", label="paper")
        for (null, label), colour in zip(nulls, ("#c55a11", "#009e73"), strict=False):
            chance = [own.tables[null][region].means[column].chance for region in known]
            style = {"marker": "_", "markersize": 14, "markeredgewidth": 2, "linestyle": "", "color": colour}
            ax.plot(places, chance, label=label, **style)
        ax.set_title(title, fontsize="medium")
        ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("rank correlation of distances")
    axes[2].set_ylabel("cosine of mean responses")
    figure.savefig(PAGE.with_name(PICTURE), dpi=110)
    plt.close(figure)


def write(found: dict) -> None:
    """Write the page and its picture."""
    own = Measured(found)
    picture(own)
    numbers, rates = simulated(own)
    n = len(own.frames["main"])
    turned = own.frames["shifted"]
    share = (1 - turned["centroid_drift_chance"].mean()) / (1 - turned["centroid_drift"].mean())
    apart = ((turned["centroid_drift_chance"] - turned["centroid_drift"]) / turned["centroid_drift_sd"]).mean()
    text = f"""# Odd and even trials, slow drift, and regions of the brain

In the recordings of Steinmetz et al. (2019), do odd and even trials agree on the distances between the mean
responses to the stimuli? Is the mean response the same in both halves of a session? Raju 2026 (appendix 13) ranks
regions by both, and calls the first geometric stability, the second (its absence) drift. Here the same is
measured, with what chance gives beside each number: `SHESHA_DATA=FOLDER python scripts/make_neural_page.py` makes
this page.

**The data.** 18 of the 39 sessions, of four mice; {n} areas with 10 neurons at least in sessions with 60 trials
at least, without those that belong to no area (the paper: 26 sessions, 229). Spikes are counted in the 400 ms
after the stimulus (500 there). Conditions are the pairs of contrasts, 16 of them (the paper says nine, without
saying which). Intervals are over sessions (the paper's are over areas, as if those of a session were
independent); chance shifts the conditions along the session unless said otherwise. Areas "above" chance are
counted at 5 %, uncorrected: one in twenty is chance.

![Regions by split of trials and by drift, beside chance](odd_even_and_slow_drift.png)

## What survives

1. **The drift is there, to the paper's digits, but its z of -45 is mostly not drift.** Trials in any order have no
   neighbours, so whatever lasts some trials makes the observed order differ. Cut elsewhere (the session turned round),
   halves have a cosine of {own.chance("shifted", "centroid_drift")}: {share:.0%} of the drop from 1 is there wherever
   one cuts, where a steady drift would leave a third. The cut in the middle is lower than others at 5 % in
   {own.beyond("shifted", "centroid_drift")} areas, by {apart:.1f} standard deviations on average.
2. **The stability of odd and even trials, taken as the paper takes it, cannot be told from unequal numbers.** Its
   mean over all areas is {own.mean("main")}, and chance gives {own.chance("main")}: {own.beyond("main")} areas
   are above it. A contrast that was shown rarely has a noisy mean, far from all others in both halves. With
   nine conditions (no, weak and full contrast on either side) it is {own.mean("nine")} beside
   {own.chance("nine")}; {own.beyond("nine")} are above.
3. **With as many trials of each condition in either half there is a geometry:** {own.mean("equal trials")} where
   chance is {own.chance("equal trials")}, above it in {own.beyond("equal trials")} areas. The first and the
   second half of the session, which share nothing slow, have {own.mean("equal trials, early and late")} (chance
   {own.chance("equal trials, early and late")}; {own.beyond("equal trials, early and late")} above).
4. **The order of regions hangs on what is made equal.** Means of eight regions, ours against the paper's: rank
   correlation {own.order("main"):+.2f} with all trials, {own.order("equal trials"):+.2f} with equally many,
   {own.order("equal trials and neurons"):+.2f} with equally many trials and neurons, and
   {own.order("main", "wuc"):+.2f} for the whitened unbiased cosine (chance reaches 0.74 at 5 %, two-sided). The
   striatum, the paper's first, has the most neurons here (median
   {own.tables["main"]["Striatum"].median_neurons:.0f}) and comes last with 20 each. Intervals of the regions overlap.
5. **The coupling of stability with behaviour** has the paper's sign, and holds over sessions (p = 0.004 to 0.025,
   thirty times and more what it would be if areas of a session were independent); given how many neurons, trials
   and spikes an area has, none of the scores is left with p below 0.05.

## All ways to split the trials

{splits(own)}

## Regions (the paper's Table 76)

{regions(own)}

## Noise ceilings

{ceilings(own)}

## Drift (Tables 77 and 78)

{drifts(own)}

{null_model(own)}

{thirds(own)}

## Behaviour (Table 75)

Rank correlation of a score with the coupling of response and outcome, over areas and sessions:

{behaviour(own)}

## What the splits do where nothing is there

Unequal numbers. Poisson counts of 28 neurons that know no condition, 254 trials; means of 100 runs. With equal
numbers in the session, what one half has more of the other has less of, and the score is below zero:

{numbers}

Slow drift and repeats. Eight neurons that follow a slow wave and no condition, 96 trials in 16 blocks of six of
one condition; how often 100 runs are called stable at 5 %:

{rates}

Whoever compares stabilities of trials should say `trials_per_half=`, name the null, and give all areas as many
neurons.
"""
    write_text(PAGE, "\n\n".join(map(refilled, text.rstrip().split("\n\n"))) + "\n")


def refilled(block: str) -> str:
    """Break the lines of a paragraph, or of each item of a list, anew; tables and titles stay."""
    if block.startswith(("|", "#", "!")):
        return block
    items = re.split(r"\n(?=\d\. )", block)
    return "\n".join("\n".join(wrapped(" ".join(one.split()), 118, hanging="   " * one[0].isdigit())) for one in items)
