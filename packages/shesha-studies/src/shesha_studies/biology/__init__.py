"""Studies of cells and neurons: perturbation screens and recordings, with null groups of the same sizes."""
