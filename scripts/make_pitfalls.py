"""Write docs/pitfalls.md: naive scores for twenty problems, the doubts that are raised, and scores after their advice.

    python scripts/make_pitfalls.py [--seeds 10] [--runs 200] [--out FILE]

`--seeds` is the number of samples of each problem. `--runs` is the number of samples of each clean condition, where any
doubt is a false alarm. If SHESHA_DATA names a folder of real data, the last section reports how their scores change.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _traps
import numpy as np
from _traps import ONCE, D, N, Rng, noise
from scipy.stats import binom

import shesha
from shesha.measures import cka, linear_regression, unbiased_cka
from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pitfalls.md"
Data = dict[str, Any]


@dataclass(frozen=True)
class Trap:
    """Data with one simulated problem: X (and Y), and the arguments of `doubts`."""

    title: str
    causes: tuple[str, ...]
    """Names of the doubts that describe the problem; there may be several."""
    make: Callable[[Rng], Data]
    after: Callable[[Data], float]
    """The score after the advice was followed."""
    remedy: str
    naive: Callable[[Data], float] = field(default=lambda data: split(data["X"]))
    score: str = "feature split"


def split(X: np.ndarray) -> float:
    # Sparse rows can be zero within a half. Pairs with such rows have no distance and are omitted.
    return shesha.estimate(X, seed=0, n_bootstrap=0).value


def low_rank(rng: Rng, n: int = N, d: int = D, rank: int = 6) -> np.ndarray:
    return noise(rng, n, rank) @ noise(rng, rank, d) + 0.5 * noise(rng, n, d)


def clusters(rng: Rng, n: int = N, d: int = D) -> Data:
    y = rng.integers(5, size=n)
    return {"X": 3 * noise(rng, 5, d)[y] + noise(rng, n, d), "y": y}


def depth_only(rng: Rng) -> Data:
    depth = rng.lognormal(7, 1, N)
    counts = rng.poisson(depth[:, None] * rng.dirichlet(np.full(300, 0.5)))
    return {"X": np.log1p(1e4 * counts / np.maximum(1, counts.sum(axis=1, keepdims=True))), "depth": depth}


def batches(rng: Rng) -> Data:
    batch = np.sort(rng.integers(3, size=N))
    return {"X": noise(rng) + 1.5 * noise(rng, 3, D)[batch], "batch": batch}


def series(rng: Rng) -> Data:
    X = noise(rng)
    for row in range(1, N):
        X[row] = 0.9 * X[row - 1] + np.sqrt(0.19) * X[row]
    return {"X": X}


def two_series(rng: Rng) -> Data:
    return {"X": series(rng)["X"], "Y": series(rng)["X"]}


def axes(rng: Rng, *, whitened: bool) -> Data:
    X = low_rank(rng)
    left, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return {"X": left if whitened else left * sizes, "before": X}


def outlier(rng: Rng) -> Data:
    return {side: _traps.far(noise(rng)) for side in "XY"}


def rogue(rng: Rng, *, mean: float) -> Data:
    return {"X": _traps.rogue(rng, low_rank(rng), mean)}


def driven(rng: Rng) -> Data:
    known = rng.standard_normal(N)
    return {"X": noise(rng) + 2 * known[:, None] * noise(rng, 1, D), "covariates": known}


def confounded(rng: Rng) -> Data:
    data = driven(rng)
    return {**data, "y": (data["covariates"] > 0).astype(int)}


def without(X: np.ndarray, quantity: np.ndarray) -> float:
    """Feature split of the residuals after regression on a quantity, numbers or labels."""
    labels = quantity.dtype.kind == "i"
    design = np.eye(int(quantity.max()) + 1)[quantity] if labels else np.vander(quantity / np.abs(quantity).max(), 4)
    return split(X - design @ np.linalg.lstsq(design, X, rcond=None)[0])


def centred(data: Data) -> float:
    return split(data["X"] - data["X"].mean(axis=0))


def standardised(data: Data) -> float:
    X = data["X"]
    X = X[:, X.std(axis=0) > 0]
    return split((X - X.mean(axis=0)) / X.std(axis=0))


def beside_scale(data: Data) -> float:
    """Score corrected for row length; 0 is the value that the scale alone gives."""
    lengths = np.linalg.norm(data["X"], axis=1)
    found = shesha.estimate(data["X"], within=lengths, n_permutations=99, seed=0, n_bootstrap=0)
    return found.value - found.chance


def pair(measure: Callable[..., float]) -> Callable[[Data], float]:
    return lambda data: measure(data["X"], data["Y"])


def rsa(X: np.ndarray, Y: np.ndarray) -> float:
    return float(shesha.measures.rsa(X, Y, metric="cosine"))


ROW_NUMBER = 0.05 * np.arange(N)[:, None]
TRAPS = (
    Trap(
        "noise rows of unequal scale about an offset",
        ("row scale", "offset"),
        lambda rng: {"X": np.exp(0.7 * noise(rng, N, 1)) * noise(rng) + 3 * noise(rng, 1, D)},
        centred,
        "centred columns",
    ),
    Trap("cells that differ only in depth, log1p(CP10k)", ("row scale",), depth_only, beside_scale,
         "minus chance within depth"),
    Trap("three batches, in order", ("order",), batches, lambda d: without(d["X"], d["batch"]), "batch means removed"),
    Trap(
        "the same, with batches as classes",
        ("confounded labels",),
        lambda rng: (lambda d: {**d, "y": d["batch"]})(batches(rng)),
        lambda d: without(d["X"], d["batch"]),
        "batch means removed",
    ),
    Trap(
        "the same, shuffled, with known batches",
        ("covariate",),
        lambda rng: (lambda d, o: {"X": d["X"][o], "batch": d["batch"][o], "covariates": d["batch"][o].astype(str)})(
            batches(rng), rng.permutation(N)
        ),
        lambda d: without(d["X"], d["batch"]),
        "batch means removed",
    ),
    Trap(
        "drift over the order",
        ("order",),
        lambda rng: {"X": _traps.trend(rng, noise(rng))},
        lambda d: without(d["X"], np.arange(N) - N / 2),
        "trend removed",
    ),
    Trap("each feature four times", ("copied features",), lambda rng: {"X": np.tile(noise(rng), 4)},
         lambda d: split(d["X"][:, :D]), "one copy of each"),
    Trap(
        "row number added to the features",
        ("order",),
        lambda rng: {"X": noise(rng) + ROW_NUMBER * noise(rng, 1, D)},
        lambda d: without(d["X"], np.arange(N) - N / 2),
        "trend removed",
    ),
    Trap("principal components of these rows", ("whitened",), lambda rng: axes(rng, whitened=False),
         lambda d: shesha.basis_averaged_split(d["X"], seed=0), "basis-averaged"),
    Trap("whitened rows", ("whitened",), lambda rng: axes(rng, whitened=True), lambda d: split(d["before"]),
         "features before whitening"),
    Trap("a common offset (mean cosine 0.98)", ("offset",), lambda rng: {"X": _traps.offset(rng, noise(rng))},
         centred, "centred columns"),
    Trap("one outlying row in both", ("few rows",), outlier, pair(unbiased_cka), "unbiased CKA", pair(cka), "CKA"),
    Trap("each row twice", ("duplicates",), lambda rng: {"X": low_rank(rng)[ONCE]},
         lambda d: split(d["X"][: N // 2]), "one copy of each"),
    Trap("each row nearly twice, shuffled", ("duplicates",),
         lambda rng: {"X": (low_rank(rng)[ONCE] + 0.01 * noise(rng))[rng.permutation(N)]},
         lambda d: split(d["X"]), "groups= in the test"),
    Trap("two unrelated time series, AR(0.9)", ("order",), two_series,
         lambda d: shesha.calibrate(d["X"], d["Y"], "RSA", shift=True, seed=0).p_value, "shift=True: p",
         lambda d: shesha.calibrate(d["X"], d["Y"], "RSA", seed=0).p_value, "RSA: p"),
    Trap("one coordinate with a large variance", ("few coordinates",), lambda rng: rogue(rng, mean=0), standardised,
         "standardised"),
    Trap("one coordinate with a large mean", ("few coordinates", "offset"), lambda rng: rogue(rng, mean=60),
         standardised, "standardised"),
    Trap("a covariate affects all features", ("covariate",), driven, lambda d: without(d["X"], d["covariates"]),
         "covariate removed"),
    Trap("classes follow a covariate", ("confounded labels",), confounded, lambda d: without(d["X"], d["covariates"]),
         "covariate removed"),
    Trap("more features than rows", ("saturated",), lambda rng: {"X": noise(rng, 40, 64), "Y": noise(rng, 40, 64)},
         lambda d: shesha.calibrate(d["X"], d["Y"], "LinReg", truncate=5, seed=0).calibrated,
         "5 components, calibrated",
         pair(linear_regression), "LinReg"),
)  # fmt: skip

CLEAN: dict[str, Callable[[Rng, int, int], Data]] = {
    "Gaussian": lambda rng, n, d: {"X": noise(rng, n, d)},
    "low rank": lambda rng, n, d: {"X": low_rank(rng, n, d)},
    "five clusters, with labels": clusters,
    "Student t(5)": lambda rng, n, d: {"X": rng.standard_t(5, (n, d))},
    "unequal scales of features": lambda rng, n, d: {"X": low_rank(rng, n, d) * np.exp(0.5 * rng.standard_normal(d))},
    "counts, mean 3, of two types": lambda rng, n, d: {
        "X": rng.poisson(3 * np.exp(0.5 * noise(rng, 2, d))[rng.integers(2, size=n)])
    },
}
SIZES = ((20, 32), (60, 8), (200, 32), (500, 200))


def asked_of(data: Data) -> tuple[str, ...]:
    """Names of the doubts, in their order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "Y" in data:
            found = shesha.compare(data["X"], data["Y"], ["CKA", "LinReg", "RSA"], calibrate=True, n_permutations=39)
            return found.doubts.names
        told = {name: data[name] for name in ("y", "covariates") if name in data}
        return shesha.doubts(data["X"], **told).names


def trap_line(trap: Trap, n_seeds: int) -> tuple[str, bool]:
    naive, after, firsts = [], [], Counter()
    for seed in range(n_seeds):
        data = trap.make(np.random.default_rng([seed, 5]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            naive.append(trap.naive(data))
            after.append(trap.after(data))
        firsts[next(iter(asked_of(data)), "none")] += 1
    right = sum(firsts[cause] for cause in trap.causes)
    told = ", ".join(f"{name} {count}" for name, count in firsts.most_common())
    cells = [trap.title, f"{trap.score} {np.median(naive):.2f}", told, f"{np.median(after):.2f} ({trap.remedy})"]
    return markdown_line(cells), right > n_seeds / 2


def clean_line(title: str, make: Callable[[Rng, int, int], Data], n_runs: int) -> str:
    cells = [title]
    for n, d in SIZES:
        named = [asked_of(make(np.random.default_rng([seed, n, 7]), n, d)) for seed in range(n_runs)]
        raised = sum(1 for names in named if names)
        which = Counter(name for names in named for name in names)
        told = f" ({', '.join(f'{name} {count}' for name, count in which.most_common())})" if which else ""
        outside = " **beyond 5 %**" if binom.sf(raised - 1, n_runs, 0.05) < 0.01 else ""
        cells.append(f"{100 * raised / n_runs:.1f} %{told}{outside}")
    return markdown_line(cells)


def real_lines(folder: Path) -> list[str]:
    """Doubts about real data, and the headline scores after their advice."""
    rng = np.random.default_rng(0)

    def line(name: str, X: np.ndarray, after: Callable[[np.ndarray], float], remedy: str, **told: Any) -> str:
        found = shesha.doubts(X, **told)
        named = ", ".join(f"{one.name} {one.effect:.2f}" for one in found) or "none"
        return markdown_line([name, f"{split(X):.2f}", named, f"{after(X):.2f} ({remedy})"])

    lines = []
    with np.load(folder / "minilm_sst2" / "minilm_l6_sst2_validation.npz", allow_pickle=False) as file:
        layers = file["embeddings"].astype(np.float64)
    lines += [
        line(f"MiniLM, layer {at}, SST-2", layers[:, at], lambda X: standardised({"X": X}), "standardised columns")
        for at in (0, 3, 6)
    ]
    with np.load(folder / "steinmetz2019" / "session01.npz", allow_pickle=False) as file:
        spikes = file["counts"].sum(axis=2).astype(np.float64)
    active = spikes[:, spikes.sum(axis=0) > 0]
    position = np.arange(len(active)) - len(active) / 2
    lines.append(line("Steinmetz, session 1, trials", active, lambda X: without(X, position), "cubic trend removed"))
    for name, file_name in (("papalexi2021", "papalexi2021.npz"), ("mouse_brain_10k", "mouse_brain_10k.npz")):
        with np.load(folder / name / file_name, allow_pickle=False) as file:
            counts = csr(file)
        rows = np.sort(rng.choice(counts.shape[0], 2000, replace=False))
        dense = counts[rows].toarray().astype(np.float64)
        filled = dense.sum(axis=1) > 0
        dense = dense[filled]
        X = np.log1p(1e4 * dense / dense.sum(axis=1, keepdims=True))
        depth = np.log(dense.sum(axis=1))
        lines.append(
            line(
                f"{name}, log1p(CP10k) of 2,000 cells",
                X,
                lambda X, depth=depth: beside(X, depth),
                "minus chance within depth",
                covariates={"depth": depth},
            )
        )
    with np.load(folder / "fashion_mnist" / "fashion_mnist_subset.npz", allow_pickle=False) as file:
        images, y = file["x_test"][:1000].reshape(1000, -1).astype(np.float64), file["y_test"][:1000].astype(int)
    ink = images.sum(axis=1)
    lines.append(
        line(
            "Fashion-MNIST, pixels",
            images,
            lambda X: without(X, (ink - ink.mean()) / ink.std()),
            "ink removed",
            y=y,
            covariates={"ink": ink},
        )
    )
    return lines


def csr(file: Any) -> Any:
    from scipy.sparse import csr_array

    parts = (file["counts_data"], file["counts_indices"].astype(np.int64), file["counts_indptr"])
    return csr_array(parts, shape=tuple(file["counts_shape"]))


def beside(X: np.ndarray, depth: np.ndarray) -> float:
    found = shesha.estimate(X, within=depth, n_permutations=39, seed=0, n_bootstrap=0)
    return found.value - found.chance


def text_by_hand() -> str:
    """Return the part of the page that people write, and the one that `make_pitfall_scores.py` makes."""
    return PAGE.read_text(encoding="utf-8").split("## Twenty simulated problems\n")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    traps = []
    for trap in TRAPS:
        traps.append(trap_line(trap, asked.seeds))
        print(traps[-1][0], flush=True)
    right = sum(found for _, found in traps)
    clean = []
    for title, make in CLEAN.items():
        clean.append(clean_line(title, make, asked.runs))
        print(clean[-1], flush=True)
    root = os.environ.get("SHESHA_DATA")
    real = real_lines(Path(root)) if root else []
    print(*real, sep="\n")
    parts = [
        text_by_hand(),
        f"## Twenty simulated problems\n\nThe table shows medians over {asked.seeds} samples of {N} rows x {D} "
        "features, unless the line says otherwise. ",
        f"For {right} of the {len(TRAPS)} problems,\nthe simulated problem is the first doubt in most samples.\n\n",
        markdown_table(
            ["simulated problem", "naive score", "first doubt (number of samples)", "score after the advice"], []
        ),
        "\n",
        "\n".join(line for line, _ in traps),
        f"\n\n## Clean data\n\nThe data in this table have no simulated problem. The table shows the percentage of "
        f"{asked.runs} samples that raise any doubt,\nand the number of samples that raise each doubt. Counts with 8 "
        "features have a common offset (mean cosine about 0.8), so\nthe doubt *offset* is correct.\n\n",
        markdown_table(["rows", *(f"{n} x {d}" for n, d in SIZES)], []),
        "\n",
        "\n".join(clean),
        "\n",
    ]
    if real:
        parts += [
            "\n## Real data\n\nThe table shows the feature split, the doubts with their effects, and the feature split "
            "after a remedy (in parentheses).\n\n"
        ]
        parts += [
            markdown_table(["data", "feature split", "doubts", "after the remedy"], []),
            "\n",
            "\n".join(real),
            "\n",
        ]
    write_text(asked.out, "".join(parts))


if __name__ == "__main__":
    main()
