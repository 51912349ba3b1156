"""Which raw similarities survive calibration? Two networks, a sentence encoder, brain areas.

    SHESHA_DATA=FOLDER python examples/what_survives.py

FOLDER contains svcca_activations, minilm_sst2, sst2 and steinmetz2019. Missing data sets are skipped with a message.
"""

import csv
import itertools
import os
import re
import warnings
from pathlib import Path

import numpy as np

import shesha

FOLDER = Path(os.environ.get("SHESHA_DATA", "data"))
MEASURES = ("CKA", "unbiased CKA", "RSA", "DistCorr", "SVCCA", "mutual kNN(metric=cosine)")
N_SHUFFLES = 2000
N_WORDS = 1000
N_SHIFTS = 446


def load(*parts: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file, or nothing if it does not exist."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        print(f"skipped: {path} is not there (SHESHA_DATA names the folder)\n")
        return {}
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def table(
    title: str, pairs: dict[str, tuple[np.ndarray, np.ndarray]], measures: tuple[str, ...], **options: object
) -> None:
    """Print the raw value, chance level, calibrated score and p of every pair and measure."""
    print(title)
    print(f"  {'pair':<34}{'measure':<28}{'raw':>8}{'chance':>8}{'calibrated':>12}{'p':>8}")
    for measure in measures:
        found = shesha.compare_all(pairs, measure, calibrate=True, **options)
        for line in found.to_frame(full=True).itertuples():
            star = " *" if line.significant else ""
            numbers = f"{line.value:>8.3f}{line.chance:>8.3f}{line.calibrated:>12.3f}{line.corrected_p_value:>8.3f}"
            print(f"  {line.pair:<34}{measure:<28}{numbers}{star}")
    print()


def both(title: str, pairs: dict[str, tuple[np.ndarray, np.ndarray]], measures: tuple[str, ...]) -> None:
    """Print a table with free permutations and one with circular shifts, which keep the dependence between rows."""
    with warnings.catch_warnings():
        # The two tables show the effect of the dependent rows that the warning reports.
        warnings.simplefilter("ignore", shesha.CalibrationWarning)
        table(f"{title}, permuted freely", pairs, measures)
    table(f"{title}, circular shifts", pairs, measures, shift=True, n_permutations=N_SHIFTS)


def networks() -> None:
    arrays = load("svcca_activations", "svcca_activations.npz")
    if arrays:
        a, b = arrays["svhn_model0"], arrays["svhn_model1"]
        # Images are in the order of their data set, in which consecutive images are similar.
        both("Two networks on the same 1,000 images", {"same images": (a, b)}, MEASURES)
        rng = np.random.default_rng(0)
        hits = sum(
            shesha.calibrate(a, b[rng.permutation(len(b))], "CKA", n_permutations=19, seed=rng).significant
            for _ in range(N_SHUFFLES)
        )
        print(f"  with the images of one shuffled: {hits / N_SHUFFLES:.1%} of {N_SHUFFLES} above chance at 5 % (CKA)")
        print()


def sentences() -> None:
    arrays = load("minilm_sst2", "minilm_l6_sst2_validation.npz")
    path = FOLDER / "sst2" / "validation.csv"
    if not arrays or not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        texts = [re.findall(r"[a-z']+", line["sentence"].lower()) for line in csv.DictReader(file)]
    counts: dict[str, int] = {}
    for word in itertools.chain.from_iterable(texts):
        counts[word] = counts.get(word, 0) + 1
    frequent = {word: j for j, word in enumerate(sorted(counts, key=lambda w: (-counts[w], w))[:N_WORDS])}
    words = np.zeros((len(texts), len(frequent)))
    for i, text in enumerate(texts):
        for word in text:
            if word in frequent:
                words[i, frequent[word]] += 1
    kept = words.any(axis=1)
    labels = np.eye(2)[arrays["label"]]
    pairs = {}
    for layer in (0, 3, 6):
        X = arrays["embeddings"][:, layer].astype(np.float64)[kept]
        pairs[f"layer {layer} and sentiment"] = (X, labels[kept])
        pairs[f"layer {layer} and bag of words"] = (X, words[kept])
    table(
        f"MiniLM on {kept.sum()} sentences",
        pairs,
        ("CKA", "unbiased CKA", "RSA(metric=euclidean)", "mutual kNN(metric=cosine)"),
    )


def areas() -> None:
    arrays = load("steinmetz2019", "session10.npz")
    if not arrays:
        return
    counts, area = arrays["counts"].astype(np.float64), arrays["brain_area"]
    named = [name for name in np.unique(area) if name != "root" and (area == name).sum() >= 80][:4]
    rates = {name: counts[:, area == name].reshape(len(counts), -1) for name in named}
    pairs = {f"{a} and {b}": (rates[a], rates[b]) for a, b in itertools.combinations(named, 2)}
    title = f"Areas of a mouse brain, {len(counts)} trials"
    measures = ("CKA", "unbiased CKA", "RSA")
    both(title, pairs, measures)


if __name__ == "__main__":
    networks()
    sentences()
    areas()
