"""What the feature split measures: ground truth, spectra, invariance, the ten tests, axes, width."""
