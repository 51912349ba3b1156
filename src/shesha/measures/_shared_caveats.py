"""Caveats that appear on the cards of several measures."""

FEW_UNITS = (
    "A small number of recorded units lowers the score: two populations with the same latent signals score 0.38 with "
    "10 units of each and 0.99 with 1,000 (300 rows; arXiv 2502.19648). Compare equal numbers of units."
)
SUPERPOSITION = (
    "Superposition (more features than units) lowers the score: two random projections of the same 200 sparse features "
    "onto 50 units score {score} (arXiv 2604.00208). If you are interested in the features themselves, compare "
    "recovered features with shesha.match_units."
)
SYMMETRIC_INPUTS = (
    "If inputs have symmetries, such as rotated images, equally good codes of a network can have different distances "
    "(arXiv 2605.21324). A low value or a drift then does not imply a change of function."
)
TEXT_LENGTH = (
    "Cosine similarity of mean-pooled tokens depends on the length of texts (arXiv 2605.07345): pass numbers of tokens "
    "as covariates."
)
