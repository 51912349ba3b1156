"""Facts of the study of further training: ratios of two drift scores, in the published table and in our data."""

from __future__ import annotations

import numpy as np

from shesha.studies.facts import Fact, Facts, as_facts, over_draws, rank_correlation, smallest
from shesha.studies.facts import steps as steps_of
from shesha.studies.published_checks import Table, split_numbers_and_claims
from shesha_studies.language._post_training_statistics import published_pairs, training_ratios


def make_facts(rows: Table, published: Table) -> Facts:
    """Return ratios of the two drift scores in the published table, and ours, raw and as amounts of noise."""
    pairs, trained = published_pairs(split_numbers_and_claims(published)[0]), training_ratios(rows)
    names = ("times CKA", "noise, times CKA")
    medians = {name: trained.groupby("model")[name].median() for name in names}
    ratios, doses = (over_draws(np.log(medians[name])) for name in names)
    rho = float(pairs.shesha.corr(pairs.cka, method="spearman"))
    facts = {
        "published": Fact(float(pairs.shesha.mean() / pairs.cka.mean())),
        "ratio": Fact(*np.exp([ratios.value, ratios.low, ratios.high])),
        "ratio_of_noise": Fact(*np.exp([doses.value, doses.low, doses.high])),
        "same_order": rank_correlation(rho, len(pairs)),
    }
    texts = {f"{name} in words": ", ".join(f"{v:.2f} ({m})" for m, v in medians[name].items()) for name in names}
    return facts | as_facts({**texts, **_steps(trained), **_pair_facts(pairs), **_own_kind(trained)})


def _steps(trained: Table) -> dict[str, Fact | float | str]:
    """Whether drift grows with the steps of a training."""
    means = trained.groupby(["model", "change", "amount"])[["shesha", "cka", "procrustes"]].mean()
    steps = means.groupby(level=[0, 1]).diff().min(axis=1).groupby(level=0).min()
    return {
        "smallest_step": smallest(_training_steps(trained)),
        "steps in words": ", ".join(f"{value:+.4f} ({name})" for name, value in steps.items()),
        "models": len(steps),
        "models_that_fall": int((steps <= 0).sum()),
    }


def _training_steps(trained: Table) -> list[Fact]:
    """Differences between steps of a training, over seeds and kinds of prompts."""
    unit = ["seed", "prompts"]
    return [
        step
        for _, group in trained.groupby(["model", "change"])
        for name in ("shesha", "cka", "procrustes")
        for step in steps_of(group, "amount", name, unit)
    ]


def _pair_facts(pairs: Table) -> dict[str, float | str]:
    """Compare Procrustes with CKA in the published table, by size, and list pairs that are not base and instruct."""
    small, large = pairs[~pairs.large].relative, pairs[pairs.large].relative
    other = [str(pair) for pair in pairs.index if "Deduped" in str(pair)]
    return {
        **{"small_lowest": small.min(), "small_highest": small.max(), "small_median": small.median()},
        **{"large_lowest": large.min(), "large_highest": large.max(), "large_median": large.median()},
        "lowest_ratio": (pairs.shesha / pairs.cka).min(),
        "overlap": small.max() - large.min(),
        "other_pairs": len(other),
        "other_pairs in words": ", ".join(other),
    }


def _own_kind(trained: Table) -> dict[str, float]:
    """How often the ratio is smallest for reviews among trainings on reviews, compared with one in four by chance."""
    from scipy.stats import binomtest

    tuned = trained[trained.change == "sentiment"]
    # Stages of one training are one case.
    ratios = tuned.groupby(["model", "seed", "prompts"])["times CKA"].median().unstack()
    first, n = int((ratios.idxmin(axis=1) == "reviews").sum()), len(ratios)
    p = float(binomtest(first, n, 1 / ratios.shape[1], "greater").pvalue)
    return {"own_kind_first": first, "trainings": n, "own_kind_p": p}
