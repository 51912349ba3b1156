"""Values of `wuc` and signs of `crossnobis` without a code, for few and many neurons with correlated noise."""

from __future__ import annotations

import warnings

import numpy as np

from shesha.neuro import crossnobis, wuc

N_CONDITIONS = 8
WUC = ((447, 50, 15), (447, 200, 12), (447, 400, 10), (447, 1172, 3))
"""Numbers of trials, neurons and simulated recordings."""
CROSSNOBIS = ((200, 20, 12), (200, 100, 12), (200, 180, 12), (200, 400, 8), (1000, 320, 4))


def correlated_noise(rng: np.random.Generator, n_trials: int, n_neurons: int) -> np.ndarray:
    """Return noise whose variances along random directions fall as 1, 1/2, 1/3, ..."""
    basis = np.linalg.qr(rng.standard_normal((n_neurons, n_neurons)))[0]
    return (rng.standard_normal((n_trials, n_neurons)) / np.sqrt(np.arange(1, n_neurons + 1))) @ basis.T


def main() -> None:
    """Print the mean whitened cosine and the share of negative distances."""
    rng = np.random.default_rng(0)
    warnings.simplefilter("ignore")
    for n, p, repeats in WUC:
        options = {"n_permutations": 0, "normalize": False}
        values = [
            wuc(correlated_noise(rng, n, p), rng.integers(N_CONDITIONS, size=n), **options).value
            for _ in range(repeats)
        ]
        print(f"wuc, {n} trials, {p} neurons: {np.mean(values):.3f} (se {np.std(values) / np.sqrt(repeats):.3f})")
    upper = np.triu_indices(N_CONDITIONS, k=1)
    for n, p, repeats in CROSSNOBIS:
        shown = np.arange(n) % N_CONDITIONS
        designs = {
            "four trials per condition and run": np.arange(n) // (4 * N_CONDITIONS),
            "no runs": None,
        }
        if n <= 200:
            designs["one trial per condition and run"] = np.arange(n) // N_CONDITIONS
        for design, runs in designs.items():
            found = [crossnobis(correlated_noise(rng, n, p), shown, runs)[upper] for _ in range(repeats)]
            print(f"crossnobis, {n} trials, {p} neurons, {design}: {np.mean(np.array(found) < 0):.1%} negative")


if __name__ == "__main__":
    main()
