"""Measure false alarm rates and detection delays of monitors, and write docs/monitoring_rates.md.

    SHESHA_DATA=... HF_HUB_OFFLINE=1 python scripts/make_monitoring_tables.py --cache FOLDER [--monitors 2000]

Encodings are kept in the cache, because each pool takes minutes to compute. Everything else takes a few minutes. The
embedding tests of Evidently 0.7.23 (`embedding_drift_methods.py`) are implemented below, because Evidently cannot be
imported without its dependencies. Its classifier needs scikit-learn.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import minilm
import numpy as np
import torch
from scipy.stats import binomtest
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from shesha.drift import DriftMonitor, canary_check, two_sample
from shesha.drift.canary_check import choose_measures, drifts
from shesha.drift.stream_evidence import AlarmRule, StreamEvidence
from shesha.report import markdown_table
from shesha.support.files import write_text
from shesha.views import Representation

PAGE = Path(__file__).resolve().parents[1] / "docs" / "monitoring_rates.md"
LEVELS, K, REFERENCES, N, FEWER = (0.01, 0.05), 99, 5, 120, 80
SHIFTS = (0.0003, 0.001, 0.003, 0.01, 0.03)
PER_SHIFT = 4
PRECISIONS = "SST-2, batch sizes, orders and precisions"
Detector = Callable[[np.ndarray, np.ndarray], bool]


def cosine(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return (before * after).sum(axis=1) / lengths


def evidently_distance(reference: np.ndarray, current: np.ndarray, quantile: float = 0.95) -> bool:
    """`distance(bootstrap=True)`, in which both bootstrap samples are drawn from the reference."""
    n, m = len(reference), len(current)
    first, second = int(n * n / (n + m)), int(m * n / (n + m))
    null = []
    for i in range(100):
        rng = np.random.RandomState(i)
        a, b = rng.choice(n, first), rng.choice(n, second)
        null.append(np.linalg.norm(reference[a].mean(0) - reference[b].mean(0)))
    return bool(np.linalg.norm(reference.mean(0) - current.mean(0)) > np.percentile(null, 100 * quantile))


def evidently_model(reference: np.ndarray, current: np.ndarray, threshold: float = 0.55) -> bool:
    """`model()`, which compares the area under the ROC curve of a classifier with a fixed threshold."""
    data, target = np.concatenate([reference, current]), np.repeat([1, 0], [len(reference), len(current)])
    train, test, known, asked = train_test_split(data, target, test_size=0.5, random_state=42, shuffle=True)
    said = SGDClassifier(loss="log_loss", random_state=42).fit(train, known).predict_proba(test)[:, 1]
    return bool(roc_auc_score(asked, said) > threshold)


def evidently_mmd(reference: np.ndarray, current: np.ndarray, quantile: float = 0.05) -> bool:
    """`mmd(bootstrap=True)` with its default quantile, from samples of the reference that share rows."""
    from scipy.spatial.distance import cdist

    def unbiased(kernel: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
        m, n = len(a), len(b)
        x, y, xy = kernel[np.ix_(a, a)], kernel[np.ix_(b, b)], kernel[np.ix_(a, b)]
        own = (x.sum() - np.trace(x)) / (m * (m - 1)) + (y.sum() - np.trace(y)) / (n * (n - 1))
        return float(own - 2 * xy.mean())

    n, m = len(reference), len(current)
    rows = np.concatenate([reference, current])
    kernel = np.exp(-cdist(rows, rows, "sqeuclidean") / np.median(cdist(reference, current)) ** 2)
    value = unbiased(kernel, np.arange(n), np.arange(n, n + m))
    distances = cdist(reference, reference)
    kernel, null = np.exp(-((distances / np.median(distances)) ** 2)), []
    for i in range(100):
        rng = np.random.RandomState(i)
        a, b = rng.choice(n, max(n * n // (n + m), 1)), rng.choice(n, max(n * m // (n + m), 1))
        null.append(unbiased(kernel, a, b))
    return bool(value > np.percentile(null, 100 * quantile))


OTHERS: dict[str, Detector] = {
    "cosine canary, any row below 0.999": lambda a, b: bool(cosine(a, b).min() < 0.999),
    "cosine canary, mean below 0.99": lambda a, b: bool(cosine(a, b).mean() < 0.99),
    "Evidently distance, bootstrap (0.05)": evidently_distance,
    "Evidently model, threshold 0.55": evidently_model,
    "Evidently MMD, bootstrap": evidently_mmd,
}


def images(cache: Path, n_encodings: int = 300) -> np.ndarray:
    """CIFAR-10 images through a fixed network of random convolutions, in other batches, orders and precisions."""
    with np.load(minilm.data("cifar10", "cifar10_subset.npz"), allow_pickle=False) as file:
        key = next(name for name in file.files if file[name].ndim == 4)
        pixels = torch.tensor(file[key][:N].astype(np.float32) / 255)
    pixels = pixels.permute(0, 3, 1, 2) if pixels.shape[-1] == 3 else pixels
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        *(torch.nn.Conv2d(3, 32, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2), torch.nn.ReLU()),
        *(torch.nn.Conv2d(64, 128, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()),
    ).eval()
    models = []
    for precision in minilm.PRECISIONS:
        models.append(copy.deepcopy(network))
        minilm.rounded(models[-1], precision)
    rng, found = np.random.default_rng(0), np.empty((n_encodings, N, 128))
    with torch.inference_mode():
        for one in found:
            model, order, size = models[rng.integers(3)], rng.permutation(N), int(rng.choice([4, 8, 16, 32, 64]))
            for start in range(0, N, size):
                one[order[start : start + size]] = model(pixels[order[start : start + size]]).numpy()
    return found


def jittered(n_encodings: int = 300) -> np.ndarray:
    """The stored last layer of MiniLM with rounding noise: 3 in 10,000 of each feature's spread."""
    with np.load(minilm.data("minilm_sst2", "minilm_l6_sst2_validation.npz"), allow_pickle=False) as file:
        rows = file["embeddings"][:N, -1].astype(float)
    rng = np.random.default_rng(1)
    return rows + 3e-4 * rows.std(axis=0) * rng.standard_normal((n_encodings, *rows.shape))


def pools(cache: Path) -> dict[str, Callable[[], np.ndarray]]:
    texts, _ = minilm.sst2(N)
    one, three = ("float32",), tuple(minilm.PRECISIONS)
    return {
        "SST-2, batch sizes and orders": lambda: minilm.re_encodings(texts, 300, cache, precisions=one),
        PRECISIONS: lambda: minilm.re_encodings(texts[:FEWER], 120, cache, precisions=three),
        "STS-B, batch sizes and orders": lambda: minilm.re_encodings(
            minilm.stsb(40), 120, cache, precisions=one, seed=1
        ),
        "SST-2, rounding noise": jittered,
        "CIFAR-10, random convolutions": lambda: images(cache),
    }


def scored(pool: np.ndarray) -> np.ndarray:
    """Drifts of all encodings from each of some references, (references, encodings, measures)."""
    measures = choose_measures(None, pool.shape[1])
    views = [Representation.build(one.astype(float)) for one in pool]
    return np.array([[drifts(measures, views[r], one)[0] for one in views] for r in range(REFERENCES)])


def false_alarms(
    name: str, pool: np.ndarray, scores: np.ndarray, n_monitors: int, rng: np.random.Generator
) -> list[list]:
    """One check of each of many monitors, with new draws of reference, nulls and check."""
    lines = []
    found = np.zeros((n_monitors, len(LEVELS), scores.shape[2]), dtype=bool)
    for i in range(n_monitors):
        reference = rng.integers(REFERENCES)
        drawn = rng.permutation(np.delete(np.arange(len(pool)), reference))[: K + 1]
        for level, at in enumerate(LEVELS):
            for measure in range(scores.shape[2]):
                limit = canary_check.threshold(scores[reference, drawn[1:], measure], at)
                found[i, level, measure] = scores[reference, drawn[0], measure] > limit
    labels = ("RDM drift (alert)", "unbiased CKA", "Procrustes", "neighbours")
    for measure, label in enumerate(labels):
        lines.append([name, label, *(rate(found[:, level, measure]) for level in range(len(LEVELS)))])
    any_other = found[:, :, 1:].any(axis=2) & ~found[:, :, 0]
    lines.append([name, "only other measures (watch)", *(rate(any_other[:, level]) for level in range(len(LEVELS)))])
    n_others = min(40, n_monitors)
    for label, detector in OTHERS.items():
        pairs = [rng.choice(len(pool), 2, replace=False) for _ in range(n_others)]
        hits = np.array([detector(pool[a].astype(float), pool[b].astype(float)) for a, b in pairs])
        lines.append([name, label, rate(hits), ""])
    return lines


def rate(hits: np.ndarray) -> str:
    interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, "exact")
    return f"{hits.mean():.3f} ({interval.low:.3f}, {interval.high:.3f})"


def run_lengths(scores: np.ndarray, target: float, n_monitors: int, rng: np.random.Generator) -> list:
    """Number of checks until the first alarm, for many monitors of unchanged encodings."""
    lengths, slow, most, rule = [], [], int(20 * target), AlarmRule(target, K)
    for _ in range(n_monitors):
        reference = rng.integers(REFERENCES)
        order = rng.permutation(np.delete(np.arange(scores.shape[1]), reference))
        null, rest = np.sort(scores[reference, order[:K], 0]), scores[reference, order[K:], 0]
        p = (1 + K - np.searchsorted(null, rest, side="left")) / (K + 1)
        evidence, at_cusum = StreamEvidence(), most
        for drawn in rng.choice(p, most).tolist():
            evidence = evidence.update(drawn, rule)
            if at_cusum == most and evidence.cusum >= rule.threshold:
                at_cusum = evidence.number
            if evidence.alarm_since and at_cusum < most:
                break
        lengths.append(evidence.alarm_since or most)
        slow.append(at_cusum)
    error = np.std(lengths) / np.sqrt(len(lengths))
    cusum = f"{np.mean(slow):,.0f}" + ("+" if max(slow) == most else "")
    return [f"{target:g}", f"{np.mean(lengths):,.0f} (+- {1.96 * error:,.0f})", f"{np.median(lengths):,.0f}", cusum]


def shifted(cache: Path) -> dict[float, np.ndarray]:
    """Encodings of models whose weights have noise, each in a random precision, batch size and order."""
    path = cache / f"shifted_{FEWER}_{PER_SHIFT}.npz"
    texts = minilm.sst2(N)[0][:FEWER]
    if not path.exists():
        made, rng = {}, np.random.default_rng(5)
        tokenizer, clean = minilm.load()
        for shift in SHIFTS:
            model = copy.deepcopy(clean)
            torch.manual_seed(3)
            with torch.no_grad():
                for weight in model.parameters():
                    weight.add_(shift * weight.std(correction=0) * torch.randn_like(weight))
            variants = []
            for precision in minilm.PRECISIONS:
                variants.append(copy.deepcopy(model))
                minilm.rounded(variants[-1], precision)
            made[str(shift)] = np.stack(
                [
                    minilm.encode(
                        *(tokenizer, variants[rng.integers(3)], texts, int(rng.choice([4, 8, 16, 32, 64]))),
                        rng.permutation(FEWER),
                    )
                    for _ in range(PER_SHIFT)
                ]
            )
        np.savez(path, **made)
    with np.load(path, allow_pickle=False) as kept:
        return {float(name): kept[name] for name in kept.files}


def delays(
    pool: np.ndarray, scores: np.ndarray, changed: dict[float, np.ndarray], rng: np.random.Generator
) -> list[list]:
    """Share of single checks that alert, and number of checks until an alert, by the size of the change."""
    measures, lines = choose_measures(None, FEWER), []
    references = [Representation.build(pool[r].astype(float)) for r in range(REFERENCES)]
    for shift, encodings in changed.items():
        new = np.array(
            [[drifts(measures, one, Representation.build(e.astype(float)))[0] for e in encodings] for one in references]
        )
        alerts, checks = [], {100: [], 1000: []}
        for _ in range(200):
            reference = rng.integers(REFERENCES)
            order = rng.permutation(np.delete(np.arange(len(pool)), reference))[:K]
            null = scores[reference, order, 0]
            alerts.append(new[reference, rng.integers(PER_SHIFT), 0] > canary_check.threshold(null, 0.01))
            for target, kept in checks.items():
                evidence = StreamEvidence()
                while not evidence.alarm_since and evidence.number < 500:
                    score = float(new[reference, rng.integers(PER_SHIFT), 0])
                    evidence = evidence.update(canary_check.p_value(score, null), AlarmRule(target, K))
                kept.append(evidence.alarm_since or 500)
        others = [
            np.mean([detector(pool[r].astype(float), one.astype(float)) for r in range(2) for one in encodings])
            for detector in OTHERS.values()
        ]
        told = [f"{np.median(kept):.0f}" + ("+" if np.median(kept) >= 500 else "") for kept in checks.values()]
        lines.append(
            [f"{shift:g}", f"{new[..., 0].mean():.2g}", f"{np.mean(alerts):.2f}", *told, *(f"{x:.2f}" for x in others)]
        )
    return lines


def windows(n_runs: int) -> list[list]:
    """Tests of new inputs: rows of one data set are split into reference and window, unchanged or changed."""
    with np.load(minilm.data("minilm_sst2", "minilm_l6_sst2_validation.npz"), allow_pickle=False) as file:
        rows = file["embeddings"][:, -1].astype(float)
    changes: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
        "none": lambda rng, new: new,
        "noise, half the spread": lambda rng, new: new + 0.5 * rows.std(axis=0) * rng.standard_normal(new.shape),
        "shifted by a quarter of the spread": lambda rng, new: (
            new + 0.25 * rows.std(axis=0) * rng.choice([-1, 1], rows.shape[1])
        ),
    }
    lines = []
    for told, change in changes.items():
        hits: dict[str, list[bool]] = {}
        # The false alarm rate needs more runs than the detection rates.
        for run in range(n_runs if told != "none" else 5 * n_runs):
            rng = np.random.default_rng([11, run])
            order = rng.permutation(len(rows))
            reference = rows[order[:500]]
            new = change(rng, rows[order[500:700]])
            for test in ("energy", "mmd", "sliced wasserstein", "c2st"):
                found = two_sample(reference[:200], new, test=test, n_permutations=99, seed=run)
                hits.setdefault(f"two_sample, {test} (0.05)", []).append(found.significant)
            stream = DriftMonitor(reference, false_alarm=0.05, seed=run).update(new)
            hits.setdefault("stream, any alarm (0.05)", []).append(stream.state == "alert")
            for label_, detector in list(OTHERS.items())[2:]:
                hits.setdefault(label_, []).append(detector(reference[:200], new))
        lines += [[told, name, rate(np.array(found))] for name, found in hits.items()]
    return lines


def many_deals(n_runs: int = 600) -> list[list]:
    """False alarm rate for new inputs, with enough runs to distinguish 5 % from 7 %; few directions make this fast."""
    with np.load(minilm.data("minilm_sst2", "minilm_l6_sst2_validation.npz"), allow_pickle=False) as file:
        rows = file["embeddings"][:, -1].astype(float)
    rows = rows @ np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:60].T
    hits = []
    for run in range(n_runs):
        order = np.random.default_rng([11, run]).permutation(len(rows))
        pair = rows[order[:200]], rows[order[500:700]]
        hits.append(two_sample(*pair, test="energy", n_permutations=99, seed=run).significant)
    return [[f"none, {n_runs} divisions, 60 directions", "two_sample, energy (0.05)", rate(np.array(hits))]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "shesha_monitoring")
    parser.add_argument("--monitors", type=int, default=2000)
    parser.add_argument("--only", help="measure only encodings whose name has this; those of earlier runs are kept")
    asked = parser.parse_args()
    kept = asked.cache / "tables.json"
    found = json.loads(kept.read_text()) if kept.exists() else {"pools": {}, "later": [], "new": []}
    for name, load in pools(asked.cache).items():
        if name not in found["pools"] and (asked.only is None or asked.only in name):
            found |= measured(name, load(), asked.cache, asked.monitors, found)
            write_text(kept, json.dumps(found))
            print(name, flush=True)
    if not found["new"]:
        found["new"] = many_deals() + windows(asked.monitors // 50)
        write_text(kept, json.dumps(found))
    rates = [line for one in found["pools"].values() for line in one["rates"]]
    lengths = [line for one in found["pools"].values() for line in one["lengths"]]
    # The last section is written by another script, make_expected_shift_table.py.
    _, heading, section = PAGE.read_text(encoding="utf-8").partition("\n## New inputs of a changing mix")
    write_text(PAGE, page(rates, lengths, found["later"], found["new"], asked.monitors) + heading + section)


def measured(name: str, pool: np.ndarray, cache: Path, n_monitors: int, found: dict) -> dict:
    """Measure one set of encodings of the same inputs, and keep the result with earlier ones."""
    rng, scores = np.random.default_rng(0), scored(pool)
    lengths = [[name, *run_lengths(scores, target, n_monitors // 10, rng)] for target in (20, 100)]
    kept = {"rates": false_alarms(name, pool, scores, n_monitors, rng), "lengths": lengths}
    later = delays(pool, scores, shifted(cache), rng) if name == PRECISIONS else found["later"]
    return {"pools": found["pools"] | {name: kept}, "later": later}


def page(rates: list, lengths: list, later: list, new: list, n_monitors: int) -> str:
    head = [
        "noise in the weights",
        "RDM drift",
        "alerts, one check (0.01)",
        "checks to the alarm, run length 100",
        "checks to the alarm, run length 1,000",
    ]
    return TEXT.format(
        n_monitors=f"{n_monitors:,}",
        n_runs=n_monitors // 10,
        k=K,
        n=N,
        fewer=FEWER,
        rates=markdown_table(["encodings", "alarm", "at 0.01 (or its own rule)", "at 0.05"], rates, numbers=2),
        lengths=markdown_table(["encodings", "stated", "mean", "median", "CUSUM, mean"], lengths, numbers=4),
        later=markdown_table([*head, *OTHERS], later, numbers=4 + len(OTHERS)),
        new=markdown_table(["change of 200 new rows", "alarm", "share of runs"], new, numbers=1),
    )


TEXT = """# How often monitors alarm

This page reports how often [monitors](monitoring.md) raise alarms, with and without a change, compared with other
tools. Use it to choose a false alarm rate and a run length. `python scripts/make_monitoring_tables.py` makes the
tables. Each monitor has {n} canaries ({fewer} for data sets with several precisions) and {k} re-encodings, which define
its noise floor. Numbers in parentheses are 95 % confidence limits. The text encoder is MiniLM (all-MiniLM-L6-v2), in
float32 or with weights stored in bfloat16 or float16. The script reimplements the tests of Evidently 0.7.23.

## Nothing changed: the same inputs encoded again

Rates are shares of {n_monitors} monitors with one check each. The reference, the {k} re-encodings and the check of each
monitor are drawn from the same 300 encodings (120 with several precisions), so the limits are somewhat too narrow. The
rules of other tools are applied to 40 pairs of encodings.

{rates}

No measure significantly exceeds the stated rate, because each has its own threshold, from its values for the
re-encodings. With one threshold for all measures, Procrustes would raise too many alarms. If an encoder is exactly
reproducible, drifts are tied and the rate is lower, down to zero. The fixed bounds on the cosine raise no alarm here,
but they also miss small changes ([below](#something-changed)). The tests of Evidently compare the distributions of the
two sets of encodings. Its MMD test raises an alarm for every pair of image encodings, and for no pair of text
encodings.

## Nothing changed, many checks

The table gives the number of checks to the first alarm for {n_runs} monitors per line (`run_length=`). Checks are drawn
with replacement from the encodings that are not among the {k} re-encodings of the monitor, up to 20 times the stated
run length. Each monitor has its own re-encodings, so run lengths vary between monitors. Their mean is at least the
stated length, but their median can be shorter. If drifts are tied, alarms are rarer. CUSUM, another sequential test,
raises its first alarm later at the same threshold (+: some monitors raised no alarm).

{lengths}

## Something changed

Gaussian noise is added to all weights of MiniLM, in units of each tensor's standard deviation. The encodings and the
re-encodings include all precisions. The table gives the share of single checks that raise an alert, and the median
number of successive checks until a monitor with a run length raises an alarm. For other tools, it gives the share of
pairs of encodings that raise an alarm.

{later}

## New inputs

Embeddings of SST-2 sentences are divided at random into reference and new rows. All tests use the same divisions, so
their rates tend to be high or low together. The first line shows that over 600 divisions, the rate of the energy test
is close to the stated rate.

{new}

The stream test uses one number per row, its distance from the centre, so it needs more rows than a two-sample test. You
may look at the result of the stream test after every row, but you may use a two-sample test only once. If you can
encode the same inputs again, a check of canaries detects far smaller changes than any of these tests.
"""


if __name__ == "__main__":
    main()
