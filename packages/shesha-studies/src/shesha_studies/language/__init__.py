"""Studies of language models: early warning, perturbations, further training, transfer, steering."""
