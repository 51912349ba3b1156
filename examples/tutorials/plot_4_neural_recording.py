"""
A recording: a code for the conditions, slow drift, or unequal trial numbers?
=============================================================================

This tutorial tests whether a population of neurons codes for conditions. Odd and even trials may agree on the distances
between conditions for two other reasons: slow drift, and unequal numbers of trials.
"""

# %%
# The data are a session of Steinmetz et al. (2019), if ``SHESHA_DATA`` names a folder that contains it. Otherwise they
# are simulated: one area with 60 neurons responds to six conditions, and another area responds to none of them but
# drifts along the session.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from shesha.neuro import centroid_drift, trial_split

FILE = Path(os.environ.get("SHESHA_DATA", "data")) / "steinmetz2019" / "session10.npz"


def measured() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return spike counts of areas with at least 80 neurons, and the contrasts shown."""
    with np.load(FILE) as file:
        counts, area = file["counts"].sum(axis=2).astype(float), file["brain_area"]
        shown = 10 * np.round(4 * file["contrast_left"]) + np.round(4 * file["contrast_right"])
    names = [name for name in np.unique(area) if name != "root" and (area == name).sum() >= 80]
    return {str(name): counts[:, area == name] for name in names[:4]}, shown.astype(int)


def simulated() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return an area with a code, and one with slow drift only; each condition is repeated in consecutive trials."""
    rng = np.random.default_rng(0)
    shown = np.repeat(rng.permuted(np.tile(np.arange(6), 10)), 6)
    wave = np.sin(np.linspace(0, 9, len(shown)))[:, None] * rng.standard_normal((1, 60))
    tuned = rng.poisson(np.exp(0.5 + 0.4 * rng.standard_normal((6, 60))[shown]))
    return {"tuned": tuned.astype(float), "drifting": rng.poisson(np.exp(0.5 + 0.6 * wave)).astype(float)}, shown


areas, shown = measured() if FILE.exists() else simulated()
print("data:", FILE.name if FILE.exists() else "simulated: 'tuned' has a code, 'drifting' has none")
values, times = np.unique(shown, return_counts=True)
print(f"{len(shown)} trials of {len(values)} conditions, {times.min()} to {times.max()} of each; neurons:")
print({name: counts.shape[1] for name, counts in areas.items()})

# %%
# **The usual score** is the split into odd and even trials, with all trials. Here it is compared with two nulls. One
# permutes conditions over trials. The other uses circular shifts of the series of conditions, which preserve slow
# changes and the number of trials of each condition.
print(f"{'area':<12}{'odd/even':>9}{'shuffled: p':>13}{'shifted: chance':>17}{'p':>7}")
for name, counts in areas.items():
    usual = {"trials_per_half": "all", "n_permutations": 199}
    naive, fair = trial_split(counts, shown, null="permute", **usual), trial_split(counts, shown, **usual)
    print(f"{name:<12}{fair.value:>9.2f}{naive.p_value:>13.3f}{fair.chance:>17.2f}{fair.p_value:>7.3f}")

# %%
# **Equal numbers of trials.** The means of rare conditions are noisy, so they are far from all others in both halves.
# This alone makes the distances of the halves correlate. By default, ``trial_split`` avoids this effect: in each half,
# it draws as many trials of each condition as the rarest condition has. ``shesha.neuro.wuc`` avoids it as well, because
# it leaves out products of a trial with itself.
equal = {name: trial_split(counts, shown, n_permutations=199, seed=0) for name, counts in areas.items()}
for name, one in equal.items():
    print(f"{name:<12} equal numbers: {one.value:.2f}, chance {one.chance:.2f}, p = {one.p_value:.3f}")
first = next(iter(equal.values()))
print(f"{first.n_unused} trials unused; conditions left out: {', '.join(first.dropped) or 'none'}")

# %%
# **Does the mean response move along the session?** If it does, odd and even trials share the drift, and comparing the
# first with the second half of the session is a stricter test.
for name, counts in areas.items():
    print(name, centroid_drift(counts, n_permutations=199), sep="\n")

# %%
# **The decision.** Conclude "this area has a code for the conditions" if the score with equal numbers of trials is
# significant under circular shifts *and* the first and second half agree:
halves = {"how": "blocks", "n_blocks": 2, "n_permutations": 199, "seed": 0}
rows = [trial_split(counts, shown, **halves) for counts in areas.values()]
for (name, one), separate in zip(equal.items(), rows, strict=True):
    print(f"{name:<12} {'a code' if max(one.p_value, separate.p_value) <= 0.05 else 'no evidence of a code'}")
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(len(areas))
ax.scatter(places, [one.value for one in rows], color="#0072b2", label="first and second half", zorder=3)
means, spreads = [one.chance for one in rows], [2 * one.chance_sd for one in rows]
ax.errorbar(places, means, spreads, fmt="none", color="#7f7f7f", capsize=4, label="chance, +- 2 sd")
ax.set_xticks(places, list(areas))
ax.set(ylabel="agreement of distances", xlim=(-0.5, len(areas) - 0.5))
ax.axhline(0, color="black", linewidth=0.5)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))

# %%
# **What can mislead**
#
# - *Permuted conditions.* If a condition is repeated in consecutive trials, this null takes slow drift for a code.
# - *Numbers of neurons.* Stability rises with the number of neurons. Compare areas with equal numbers.
# - *One session* has only one course of drift. Compute intervals over sessions, or animals.
#
# **Next.** :doc:`/neural_recordings`, :doc:`/studies/odd-even/page`, :doc:`/studies/neuroscience/page`.
