"""Models of language: canaries, perturbations, further training, transfer, steering."""
