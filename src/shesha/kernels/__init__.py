"""Trusted arrays in, arrays out: the numerical core. Inputs are checked before they come here."""
