"""Steering and probing."""
