"""What the ten tests say beside what was published of them: the checks of the study `validation`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shesha.studies.checks import DIFFERS
from shesha.studies.published import Found, claim, draws, unreachable

if TYPE_CHECKING:
    import pandas as pd

UNREACHABLE = {
    "model/": "A number of published vision models (weights of timm) on CIFAR-10 or CIFAR-100, which are not at hand; "
    "the claims that rest on it are asked of small networks trained here.",
    "architecture": "Needs one architecture trained on several data sets, and CIFAR-100; the published models were all "
    "trained on ImageNet, and both CIFAR sets have the same kind of images, so the agreement cannot tell an "
    "architecture from a model's one set of weights.",
}


def found_of(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> dict[str, Found]:
    """Judge every line that can be judged.

    Parameters
    ----------
    models, noise : DataFrame
        Rows of representations, and of noise.
    published : DataFrame
        The published table itself, some of whose lines follow from others.
    """
    parts = (_repeatable(models), _reduced(models), _labels(models, noise), _imbalance(models), _noise(models))
    found = {key: one for part in parts for key, one in part.items()}
    return {**found, **_baseline(models, noise), **dict(_arithmetic(_numbers(published)))}


def _numbers(published: pd.DataFrame) -> dict[str, float]:
    """Numbers by their key; of a number that several places print, the first."""
    found: dict[str, float] = {}
    for key, value in zip(published.key, published.published, strict=True):
        try:
            found.setdefault(str(key), float(str(value)))
        except ValueError:
            continue
    return found


def _repeatable(models: pd.DataFrame) -> dict[str, Found]:
    """Tests 3, 4 and 9."""
    n, differences = len(models), models.seed_difference
    identical = int(models.identical.sum())
    relative = (differences / models.feature_split).median()
    valid = claim(bool((models.valid == 1).all()), f"{n} of {n} representations, all variants", "Some were not valid.")
    return {
        "determinism": claim(identical == 3 * n, f"{identical} of {3 * n}", "Some differ."),
        **dict.fromkeys(("valid", "valid/feature_split", "valid/variance", "valid/zscore"), valid),
        "scales": claim(
            bool(models.moved_by_scale.max() < 1e-9),
            f"moves by {models.moved_by_scale.max():.1g}",
            "It moves with scale.",
        ),
        "seeds/mean": Found(float(differences.mean()), float(differences.std()), _OTHER_MODELS),
        "seeds/largest": Found(float(differences.max()), float(differences.std()), _OTHER_MODELS),
        "seeds/0.01": claim(
            bool((differences < 0.01).mean() >= 0.8),
            f"{(differences < 0.01).sum()} of {n}",
            "Ours have fewer features (from 96): the difference of two seeds shrinks with their number.",
            DIFFERS,
        ),
        "seeds/0.05": claim(
            bool((differences < 0.05).all()), f"{(differences < 0.05).sum()} of {n}", "Some differ more."
        ),
        "seeds/percent": claim(bool(relative < 0.01), f"median {100 * relative:.1f} %", "Fewer features: more."),
        "seeds/fifteen": unreachable(
            "The journal says 15 seeds; the number is that of the long version's test with two (100 and 200), as ours."
        ),
    }


_OTHER_MODELS = "Other models, with fewer features: see the row of the count below 0.01."


def _reduced(models: pd.DataFrame) -> dict[str, Found]:
    """Test 5."""
    cut = models[models.d > models.n_components]
    scores = cut.feature_split_pca
    turned, fresh = cut.feature_split_pca_turned.mean(), cut.feature_split_pca_fresh.mean()
    rises = {name: int((cut[f"{name}_pca"] > cut[f"{name}_400"]).sum()) for name in ("variance", "zscore")}
    fell = int((scores < cut.feature_split_400).sum())
    told = f"{scores.min():.2f} to {scores.max():.2f} in {len(cut)} representations"
    full = f"{cut.feature_split_400.mean():.2f} on all features, {turned:.2f} on 64 components turned at random"
    return {
        "pca/sign": claim(
            bool(scores.mean() < 0),
            told,
            "Negative where the components hold the rows evenly; where few hold nearly all, chance decides the sign.",
            DIFFERS,
        ),
        "pca/cause": claim(
            bool(cut.components_correlate.max() > 0.1),
            f"largest correlation of two components {cut.components_correlate.max():.1g}",
            "Principal component scores have no correlation at all in the rows they were computed from. Halves of them "
            f"agree less than chance; components of other rows score {fresh:.2f}, and the same rows in axes turned at "
            f"random {turned:.2f}: the axes are the cause, and no geometry is lost.",
        ),
        **{
            f"pca/{name}": claim(
                rises[name] == len(cut), f"in {rises[name]} of {len(cut)}", "Not in all of ours.", DIFFERS
            )
            for name in ("variance", "zscore")
        },
        "pca/monotonic": claim(
            fell == len(cut) and set(rises.values()) == {0},
            "two points",
            "The long version compares all features with one reduction, to 64; two points are monotonic whatever they "
            "are, and the three variants move in opposite directions.",
        ),
        "pca/full": claim(
            bool(turned < 0.5 * cut.feature_split_400.mean()),
            full,
            "It is not the number of dimensions but the axes: 64 components turned at random keep most of the score.",
        ),
    }


def _labels(models: pd.DataFrame, noise: pd.DataFrame) -> dict[str, Found]:
    """Test 6."""
    ten = models[models.variance_expected > 0.01]
    found = {f"random/CIFAR-10/{name}": draws(ten[f"{name}_random"], _CLOUD) for name in ("variance", "zscore")}
    hundred = noise[noise.representation.str.contains("100 classes")]
    found |= {f"random/CIFAR-100/{name}": draws(hundred[f"{name}_noise"], _CLOUD) for name in ("variance", "zscore")}
    expected = 99 / 499
    drop = 1 - ten.variance_random.mean() / ten.variance_true.mean()
    found["labels/drop"] = claim(
        bool(drop > 0.8),
        f"{100 * drop:.0f} % (variance, ten classes)",
        "Less of a drop.",
    )
    found["labels/split"] = unreachable("By its definition the split takes no labels: no row can decide it.")
    off = abs(hundred.variance_noise.mean() - expected)
    found["labels/classes"] = claim(
        bool(off < 0.01),
        f"(C - 1) / (n - 1) = {expected:.3f} for 100 classes of 500 rows, {9 / 499:.3f} for ten",
        f"Noise of 100 classes is {off:.3f} from it.",
    )
    return found | _overall(found)


_CLOUD = "Rows of ours lie otherwise: the chance level of zscore depends on how round the cloud is."


def _overall(found: dict[str, Found]) -> dict[str, Found]:
    """Means of both data sets, as the published overall lines are."""
    made = {}
    for name in ("variance", "zscore"):
        both = [found[f"random/{data}/{name}"] for data in ("CIFAR-10", "CIFAR-100")]
        if all(isinstance(one.ours, float) for one in both):
            mean = float(np.mean([one.ours for one in both if isinstance(one.ours, float)]))
            made[f"random/Overall/{name}"] = Found(mean, float(np.mean([one.error for one in both])), _CLOUD)
    return made


def _imbalance(models: pd.DataFrame) -> dict[str, Found]:
    """Test 7."""
    ten = models[models.variance_expected > 0.01]
    balanced, uneven, shuffled = (ten[f"zscore_{name}"].mean() for name in ("true", "imbalanced", "imbalanced_random"))
    change = (ten.zscore_imbalanced - ten.zscore_true).abs()
    moved = (
        f"Published zscore is 0.078 balanced and 0.144 imbalanced on CIFAR-10 ({0.144 - 0.078:+.3f}); ours moves from "
        f"{balanced:.3f} to {uneven:.3f}. Chance alone rises to {shuffled:.3f}: five rows lie near their own mean."
    )
    return {
        "rows/CIFAR-10": Found(145.0),
        "rows/CIFAR-100": Found(595.0),
        "imbalance/valid": claim(bool(np.isfinite(ten.zscore_imbalanced).all()), "all finite", "Some are not."),
        "imbalance/zscore": claim(bool(change.max() < 0.03), f"{balanced:.3f} to {uneven:.3f}", moved),
        "imbalance/change": claim(bool(change.max() < 0.03), f"up to {change.max():.3f}", moved),
    }


def _noise(models: pd.DataFrame) -> dict[str, Found]:
    """Test 8."""
    from scipy.stats import spearmanr

    rho = float(spearmanr(models["size"], models.drift).statistic)
    own = models.drift_own_units
    return {
        "noise/architecture": claim(
            bool(abs(rho) < 0.5),
            f"drift and size of the features: Spearman {rho:.2f}",
            "Noise of one size is large for small features: drift is ordered by the size of the features. In units of "
            f"the features' own spread it is {own.min():.4f} to {own.max():.4f} instead of {models.drift.min():.4f} to "
            f"{models.drift.max():.4f}.",
        ),
        "noise/journal": claim(
            bool(models.drift.max() < 0.05),
            f"up to {models.drift.max():.3f}; published up to 0.073",
            "The long version's own Table 8 has four models above 0.05 (0.0521 to 0.0728).",
        ),
    }


def _baseline(models: pd.DataFrame, noise: pd.DataFrame) -> dict[str, Found]:
    """Test 10, which needs no model."""
    ten = noise[noise.representation.str.contains("10 classes")]
    split, fresh = ten.feature_split_noise, models.feature_split_untrained.dropna()
    found = {f"baseline/{name}": draws(ten[f"{name}_noise"]) for name in ("feature_split", "variance", "zscore")}
    return found | {
        "baseline/ratio": claim(
            bool(abs(split.mean()) > 3 * split.std()),
            f"baseline {split.mean():.4f} +- {split.std():.4f}",
            "The baseline is 0 give or take its error; a ratio to it can be any number, of either sign. What chance "
            "allows is the distance in its errors.",
        ),
        "baseline/learned": claim(
            bool(fresh.max() < 0.3),
            f"networks before training: {fresh.min():.2f} to {fresh.max():.2f}",
            "Networks that have learned nothing score far above 0.3: random weights keep the geometry of the images, "
            "spread over all features. The score is no sign of learning.",
        ),
    }


def _attention(told: dict[str, float]) -> Found:
    """Whether Table 3 has networks with attention or dense connections above the others."""
    start = "model/3/total/"
    totals = {key.removeprefix(start): value for key, value in told.items() if key.startswith(start)}
    named, others = (
        np.mean([value for name, value in totals.items() if name.startswith(_ATTENTION) == one])
        for one in (True, False)
    )
    return claim(
        bool(named > others),
        "from the table's own lines",
        "In Table 3 three of the four ViT are the last three of fifteen and densenet121 is ninth; what is more "
        "stable there is swin and convolutions without attention.",
        DIFFERS,
    )


def _drop_of_all(told: dict[str, float]) -> Found:
    """Whether every reduction of the long version's Table 6 lies in the journal's range."""
    drops = {
        data: [told[f"table 6/drop/{data}/{name}"] for name in ("variance", "zscore")]
        for data in ("CIFAR-10", "CIFAR-100")
    }
    ten, hundred = (" and ".join(f"{value:.1f}" for value in sorted(own)) for own in drops.values())
    return claim(
        min(map(min, drops.values())) >= _JOURNAL[0] and max(map(max, drops.values())) <= _JOURNAL[1],
        f"{ten} % on ten classes, {hundred} % on a hundred",
        "The journal's range leaves out CIFAR-100 of the long version's Table 6. What is left under random labels is "
        "the chance level, (C - 1) / (n - 1) for the variance ratio, so the reduction measures the number of classes.",
    )


_ATTENTION, _JOURNAL = ("vit_", "deit_", "swin_", "densenet"), (91, 93)


def _arithmetic(told: dict[str, float]) -> Iterator[tuple[str, Found]]:
    """Lines that follow from other published lines."""
    from scipy.stats import spearmanr

    table = {
        column: np.array([value for key, value in told.items() if key.startswith(f"model/3/{column}/")])
        for column in ("CIFAR-10", "CIFAR-100", "total")
    }
    for column, values in table.items():
        yield f"table 3/mean/{column}", Found(float(values.mean()), 0.0002)
        yield f"table 3/sd/{column}", Found(float(values.std(ddof=1)), 0.0002, "By n it is a little less.")
    yield "table 3/range", Found(float(np.ptp(table["total"])))
    rho = spearmanr(table["CIFAR-10"], table["CIFAR-100"])
    yield "table 3/rho", Found(float(rho.statistic))
    yield "table 3/p", claim(bool(rho.pvalue < 1e-4), float(rho.pvalue), "It is larger.", DIFFERS)
    yield "attention", _attention(told)
    yield "labels/journal", _drop_of_all(told)
    for name in ("variance", "zscore"):
        for data in ("CIFAR-10", "CIFAR-100", "Overall"):
            true, random = told[f"model/6/{data}/{name}/true"], told[f"random/{data}/{name}"]
            # Columns are rounded to three digits, and what follows from them no better.
            yield f"table 6/difference/{data}/{name}", Found(true - random, 0.0006)
            percent = 100 * (1 - random / true)
            yield (
                f"table 6/drop/{data}/{name}",
                Found(percent, 100 * 0.0008 / true, "More than rounding of the columns."),
            )
    drifts = [value for key, value in told.items() if key.startswith("model/8/") and key.endswith("/drift")]
    ratio = max(drifts) / min(drifts)
    yield "table 8/ratio", claim(abs(ratio - 1800) < 50, f"{ratio:.0f} times", "Otherwise.", DIFFERS)
    for key, value in told.items():
        if key.startswith("table 9/percent/"):
            of = key.removeprefix("table 9/percent/")
            share = 100 * told[f"model/9/{of}/difference"] / told[f"model/9/{of}/score"]
            yield key, Found(share, 0.005, f"From the table's own columns, not {value}.")
    for name in ("feature_split", "variance", "zscore"):
        lowest, base = told[f"model/10/{name}"], told[f"baseline/{name}"]
        yield f"table 10/ratio/{name}", Found(lowest / base, lowest / base * 0.00005 / base)
    yield "table 10/highest", Found(0.792 / told["baseline/feature_split"], 2.0)
