"""Cells and neurons: perturbation screens and recordings, with chance of the same sizes and orders."""
