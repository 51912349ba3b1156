"""Studies of the feature split: ground truth, spectra, invariance, the ten tests, axes and width."""
