"""
Do two models see the same? Comparing with calibration
======================================================

Three networks were trained on the same digits: two from different seeds, and one on *shuffled labels*, which has
learned nothing that could be shared but what the images force on it. A similarity that cannot tell it from the others
is of no use; one that calls unrelated rows similar is worse.
"""

# %%
# Networks of different widths, as one meets them.
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
    """Return what two layers of a network say of 400 images that it has not seen."""
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
# **Raw numbers first**, as they are often reported. The last line matches the rows at random: nothing is shared
# there.
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
# **The same beside chance**, with an interval and a p-value on every line. Of three pairs each of interest p-values
# are corrected: ``calibrate_many`` gives both corrections.
print(shesha.compare(first["1"], second["1"], MEASURES, calibrate=True, n_permutations=199))
table = shesha.calibrate_many(pairs, "unbiased CKA", n_permutations=199, seed=0).to_frame()
print(table[["pair", "observed", "null_mean", "score", "p_holm"]].round(3).to_string(index=False))

# %%
# **Reading it.** The network that learned shuffled labels is far above chance as well: it saw the same images, and
# untrained layers keep their geometry. *Above chance* means that the same rows went in, and hardly more. What the two
# proper networks share *beyond that* is the difference between the first two lines; it is what to report, for several
# seeds of each kind.
#
# **All layers against all.** The best of four pairs is calibrated as what it is: the best of many.
grid = shesha.calibrate_layers(first, second, "unbiased CKA", n_permutations=199, seed=0)
print(grid)
figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
shesha.plot.layer_grid(grid, ax)

# %%
# **The decision.** To say that two models agree: name the pair of layers beforehand (or calibrate the maximum), use
# an unbiased measure where widths differ, print chance beside it, and *have a control that saw the same rows and
# should not agree*. A permutation test cannot replace that control.
#
# **What would fool you here**
#
# - *Width.* Raw CKA of rows at random rises with the number of directions that vary. Here few do, and it is 0.01; of
#   512 rows of 2,048 independent features it is 0.8. Unbiased CKA stays at 0.
# - *Classes.* Any two networks that keep ten digits apart are similar: ``shesha.compare_within`` looks within
#   classes.
# - *Images in order.* Digits were written by the same people in turn; where neighbours are alike, a warning says so.
#
# **Next.** :doc:`/decide`, :doc:`/calibration`, :doc:`/which_measure`.
