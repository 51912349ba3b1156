"""Is a low stability score a property of the axes or of the geometry? Two scores tell them apart.

python examples/axes_or_geometry.py
"""

import numpy as np

import shesha


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12)) @ rng.standard_normal((12, 96)) + 0.3 * rng.standard_normal((300, 96))
    principal = X @ np.linalg.svd(X, full_matrices=False).Vh.T  # The same geometry: every distance is unchanged.
    noise = rng.standard_normal(X.shape)
    print(f"{'':<28}feature_split  basis_averaged_split")
    for name, data in {"redundant features": X, "the same in principal axes": principal, "noise": noise}.items():
        axes, geometry = shesha.feature_split(data, seed=0), shesha.basis_averaged_split(data, seed=0)
        print(f"{name:<28}{axes:13.3f}  {geometry:20.3f}")


if __name__ == "__main__":
    main()
