"""
Do two models see the same? Comparing with calibration
======================================================

This tutorial compares networks with a calibrated similarity. Three were trained on the same digits: two from different
seeds, and a control on *shuffled labels*. A useful similarity is lower for the control than for the other two, and zero
for unrelated rows.
"""

# %%
# The networks differ in width, as they often do.
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
# **Raw numbers** are often reported. The last line matches the rows at random, so nothing is shared there.
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
# **Calibrated numbers** add the chance level, an interval and a p-value to every line. Three pairs are three tests, so
# p-values are corrected: ``calibrate_many`` gives both corrections.
print(shesha.compare(first["1"], second["1"], MEASURES, calibrate=True, n_permutations=199))
table = shesha.calibrate_many(pairs, "unbiased CKA", n_permutations=199, seed=0).to_frame()
print(table[["pair", "observed", "null_mean", "score", "p_holm"]].round(3).to_string(index=False))

# %%
# **How to read it.** The network that learned shuffled labels is also far above chance. It saw the same images, and
# even untrained layers keep their geometry. *Above chance* thus means little more than "the same rows". The difference
# between the first two lines is what the two proper networks share *beyond that*. Report this difference, for several
# seeds of each kind.
#
# **All layers against all.** The best of four pairs is compared with the best of four in each draw.
grid = shesha.calibrate_layers(first, second, "unbiased CKA", n_permutations=199, seed=0)
print(grid)
figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
shesha.plot.layer_grid(grid, ax)

# %%
# **The decision.** Before you claim that two models agree:
#
# - Name the pair of layers beforehand, or calibrate the maximum.
# - If widths differ, use an unbiased measure, and report the chance level.
# - *Include a control that saw the same rows and should not agree.* A permutation test cannot replace it.
#
# **What can mislead**
#
# - *Width.* Raw CKA of randomly matched rows rises with the number of directions that vary. Here few do, and it is
#   0.01. With 512 rows of 2,048 independent features it is 0.8. Unbiased CKA stays at 0.
# - *Classes.* Any two networks that separate ten digits are similar. ``shesha.compare_within`` compares within classes.
# - *Images in order.* The same people wrote the digits in turn. If neighbouring images are similar, a warning reports
#   it.
#
# **Next.** :doc:`/decide`, :doc:`/calibration`, :doc:`/which_measure`.
