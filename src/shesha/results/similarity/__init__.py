"""Results on the similarity of representations: comparisons, calibrated scores, layers and ceilings."""
