"""Cells and neurons: perturbation screens and recordings, beside chance of the same sizes and orders."""
