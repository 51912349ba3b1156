"""
The layers of your own model, and a page to share
=================================================

This tutorial audits the layers of a network: which layers have a stable geometry, and is it a result of training? It
ends with a page to share. The same code works with your own ``torch.nn.Module``.
"""

# %%
# The model has three hidden layers and learns to classify the digits of scikit-learn in seconds. The audit uses 400 of
# the 900 images that are not used for training.
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
# ``layers`` lists the layers of a model. Select layers by patterns, in which ``"*"`` matches one part of a name.
for name, shape in layers(model, images[:2]).items():
    print(name, shape)
found = {f"trained {name}": rows for name, rows in activations(model, images[kept], layers="[0-2]").items()}
found |= {f"untrained {name}": rows for name, rows in activations(untrained, images[kept], layers="[0-2]").items()}

# %%
# The audit reports stability with intervals and chance levels. The layers differ in width, so it also ranks them by
# scores with equal numbers of features. With labels, it reports how much of the geometry the classes explain. In real
# work, use the default numbers of draws; 39 draws are enough for a first look.
audit = shesha.audit(found, labels[kept].numpy(), n_bootstrap=39, n_permutations=39)
print(audit)

# %%
audit.plot()

# %%
# **How to read it.** The stability of all six layers is far above chance, even without training, because random layers
# preserve the geometry of the images. Stability alone does not show that anything was learned. See *Agreement with the
# labels* for the effect of training. In the trained network, classes explain more of the variance in each successive
# layer. In the untrained network, they explain about as much as in the images.
#
# **The decision.** For clustering or retrieval by digit, use the trained layer with the highest alignment. To preserve
# the geometry of the images, use an early layer. Stability is necessary for both, but not sufficient.
#
# **What can mislead**
#
# - *The order of the images.* Consecutive digits may be by the same writer, so consecutive images can be similar. *What
#   could be wrong* then reports the order first, with the score without this effect.
# - *Width.* A layer with 96 units is more stable than one with 32 because of the number of units alone. The audit
#   therefore ranks all layers by scores with 32 features.
# - *The training images.* A network separates its training images better than other images. Use other images.
# - *One training.* Intervals cover the choice of images, but not the choice of the seed. Train three networks before
#   you choose "layer 2".
#
# **A page to share** is a single file with all numbers, all doubts, and the call that was run.
with tempfile.TemporaryDirectory() as folder:
    page = audit.save_html(Path(folder) / "audit.html", about={"model": "digits, seed 0"})
    print(f"{page.name}: {page.stat().st_size / 1024:.0f} kB")

# %%
# **Next.** :doc:`/reading_an_audit`, :doc:`/decide`, and :doc:`plot_2_two_models` to test whether two of your models
# agree.
