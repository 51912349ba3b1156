"""
Do two models see the same? Comparing with calibration
======================================================

This tutorial compares networks by a calibrated similarity. Three networks were trained on the same digits: two with
different seeds, and a control with *shuffled labels*. A useful similarity is higher between the first two networks than
between either and the control, and zero for unrelated rows.
"""

# %%
# The networks differ in width, as networks often do.
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import shesha
from shesha.extract import activations

digits = load_digits()
images = torch.tensor(digits.images.reshape(len(digits.images), -1) / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)
seen, kept = slice(0, 897), slice(897, 1297)


def trained(seed: int, width: int, shuffled: bool = False) -> dict:
    """Return two layers of a network for 400 images that it has not seen."""
    torch.manual_seed(seed)
    y = labels[seen][torch.randperm(897)] if shuffled else labels[seen]
    model = torch.nn.Sequential(
        torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU()),
        torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU()),
        torch.nn.Linear(width, 10),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(80):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images[seen]), y).backward()
        optimiser.step()
    return dict(activations(model, images[kept], layers="[0-1]"))


first, second, lost = trained(0, 64), trained(1, 512), trained(2, 512, shuffled=True)

# %%
# **Raw scores** are often reported. In the last line, rows are matched at random, so nothing is shared.
mixed = second["1"][torch.randperm(400, generator=torch.Generator().manual_seed(0)).numpy()]
pairs = {
    "seeds 0 and 1": (first["1"], second["1"]),
    "seed 0 and shuffled labels": (first["1"], lost["1"]),
    "seed 0 and rows at random": (first["1"], mixed),
}
MEASURES = ["CKA", "unbiased CKA", "RSA", "mutual kNN"]
for name, (X, Y) in pairs.items():
    values = shesha.compare(X, Y, MEASURES)
    print(f"{name:<28}" + "  ".join(f"{one} {values[one].value:.2f}" for one in MEASURES))

# %%
# **Calibrated scores.** Calibration adds the chance level, an interval and a p-value to every line. Three pairs are
# three tests, so p-values must be corrected: ``compare_all`` does so for named pairs.
print(shesha.compare(first["1"], second["1"], MEASURES, calibrate=True, n_permutations=199))
table = shesha.compare_all(pairs, "unbiased CKA", calibrate=True, n_permutations=199).to_frame(full=True)
print(table[["pair", "value", "chance", "calibrated", "corrected_p_value"]].round(3).to_string(index=False))

# %%
# **How to read it.** The network that learned shuffled labels is also far above chance. It was trained on the same
# images, and even untrained layers preserve the geometry of the images. *Above chance* therefore means little more than
# "the same rows". The difference between the first two lines is what the networks with correct labels share *beyond
# that*. Report this difference, for several seeds of each kind.
#
# **All pairs of layers.** The best of four pairs is compared with the best of four pairs in each draw.
grid = shesha.compare_layers(first, second, calibrate=True, n_permutations=199)
print(grid)
figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
grid.plot(ax)

# %%
# **The decision.** Before you claim that two models agree:
#
# - Choose the pair of layers in advance, or calibrate the maximum.
# - If widths differ, use an unbiased measure, and report the chance level.
# - *Include a control that was trained on the same rows and should not agree.* A permutation test cannot replace it.
#
# **What can mislead**
#
# - *Width.* Raw CKA of randomly matched rows rises with the number of directions along which rows vary. Here this
#   number is small, and raw CKA is 0.01. With 512 rows x 2,048 independent features it is 0.8. Unbiased CKA stays at 0.
# - *Classes.* Any two networks that separate ten digits are similar. ``shesha.compare_within`` compares them within
#   classes.
# - *The order of the images.* Consecutive digits may be by the same writer. If consecutive images are similar, a
#   warning reports it.
#
# **Next.** :doc:`/decide`, :doc:`/calibration`, :doc:`/which_measure`.
