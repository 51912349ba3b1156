"""
The layers of your own model, and a page to pass on
===================================================

You trained a network. Which of its layers hold a geometry that one can rely on, did training make it, and what would
fool you? Everything here works the same with your own ``torch.nn.Module``.
"""

# %%
# A model: three hidden layers on the digits of scikit-learn, trained in seconds. Of the other 900 images 400 are
# looked at.
import tempfile
from itertools import pairwise
from pathlib import Path

import torch
from sklearn.datasets import load_digits

import shesha
from shesha.extract import activations, layers

digits = load_digits()
images = torch.tensor(digits.images.reshape(len(digits.images), -1) / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)
seen, kept = slice(0, 897), slice(897, 1297)


def network(seed: int) -> torch.nn.Module:
    """Return an untrained network, the same for the same seed."""
    torch.manual_seed(seed)
    widths = (64, 96, 64, 32)
    blocks = [
        torch.nn.Sequential(torch.nn.Linear(before, after), torch.nn.Tanh()) for before, after in pairwise(widths)
    ]
    return torch.nn.Sequential(*blocks, torch.nn.Linear(32, 10))


model, untrained = network(0), network(0)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(60):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(images[seen]), labels[seen]).backward()
    optimiser.step()
right = (model(images[kept]).argmax(dim=1) == labels[kept]).float().mean()
print(f"accuracy on images it has not seen: {right:.1%}")

# %%
# Which layers are there? Patterns choose among them; ``"*"`` stands for one part of a name.
for name, shape in layers(model, images[:2]).items():
    print(name, shape)
found = {f"trained {name}": rows for name, rows in activations(model, images[kept], layers="[0-2]").items()}
found |= {f"untrained {name}": rows for name, rows in activations(untrained, images[kept], layers="[0-2]").items()}

# %%
# The audit: stability with intervals and chance, at equal numbers of features since the layers are of different
# width, and how far the classes explain the geometry. Real work takes the defaults; 39 draws are a first look.
audit = shesha.audit(found, labels[kept].numpy(), n_bootstrap=39, n_permutations=39)
print(audit)

# %%
audit.plot()

# %%
# **Reading it.** All six layers are stable far above chance, the untrained ones as well: random layers keep the
# geometry of the images. So stability alone does not say that anything was learned. What training changed stands
# under *Agreement with the labels*: classes explain more of the variance from layer to layer of the trained network;
# in the untrained one about as much as they do in the images.
#
# **The decision.** For clustering or retrieval by digit take the trained layer with the highest alignment; if the
# geometry of the images shall be kept, an early one. That a layer is stable is a condition for both, no reason.
#
# **What would fool you here**
#
# - *The order of the images.* The same people wrote the digits in turn, and neighbours are alike: if that is the
#   case, *What could be wrong* says so first, with how much the score changes without it.
# - *Width.* 96 units are more stable than 32 by their number alone; the audit ranks at 32 features each.
# - *The training images.* On images that it has seen a network looks more orderly: use others.
# - *One training.* Brackets are over images. Another seed gives another network: train three before you say "layer
#   2".
#
# **A page to pass on**: one file, with all numbers, what to doubt, and what was run.
with tempfile.TemporaryDirectory() as folder:
    page = audit.save_html(Path(folder) / "audit.html", about={"model": "digits, seed 0"})
    print(f"{page.name}: {page.stat().st_size / 1024:.0f} kB")

# %%
# **Next.** :doc:`/reading_an_audit`, :doc:`/decide`, and whether two of your models agree: :doc:`plot_2_two_models`.
