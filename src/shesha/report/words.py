"""The words that reports use, explained below each page; docs/glossary.md defines more of them."""

WORDS = {
    "Feature split": "The rank correlation between the distances in two random halves of the features. It measures "
    "stability, and depends on the geometry and on the axes.",
    "Basis-averaged split": "The feature split after random rotations of the features, so that it depends only on the "
    "geometry.",
    "Chance level": "The mean score of unrelated data: rows matched at random, within the declared design.",
    "Chance threshold": "The score that unrelated data exceed at the rate of the level, which is 0.05 by default.",
    "Calibrated score": "The score rescaled so that the chance threshold is 0 and the maximum is 1. Raw scores compare "
    "with published ones, calibrated scores with each other.",
    "Interval": "The range of scores for other rows of the same kind, at the confidence that the page states.",
    "Exchange design": "Which rows were permuted (exchanged) for the chance level: all rows, rows within blocks, or "
    "whole groups; time series are shifted.",
    "Drift": "1 minus the rank correlation of the distances before and after a change: 0 for the same geometry.",
}
