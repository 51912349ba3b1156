"""
A deployed model drifts: detect it before the task suffers, without false alarms
================================================================================

This tutorial monitors a digit classifier whose embeddings feed another model. It detects two kinds of change: the model
is quantised or retrained, and the scanner begins to blur its inputs.
"""

# %%
# The encoder is the monitored model. A downstream classifier was trained once on its embeddings.
import copy

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from shesha.drift import DriftMonitor, perturb

digits = load_digits()
images = torch.tensor(digits.images.reshape(len(digits.images), -1) / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)
seen, rest, canaries = slice(0, 900), slice(900, 1600), slice(1600, 1797)


def retrained(seed: int) -> torch.nn.Module:
    """Train the encoder and its head on the first 900 images."""
    torch.manual_seed(seed)
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 48), torch.nn.ReLU())
    model = torch.nn.Sequential(encoder, torch.nn.Linear(48, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(80):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images[seen]), labels[seen]).backward()
        optimiser.step()
    return encoder


def encode(encoder: torch.nn.Module, rows: torch.Tensor, batch: int = 197) -> np.ndarray:
    """Embed rows in batches, as a service would."""
    with torch.no_grad():
        return torch.cat([encoder(part) for part in rows.split(batch)]).numpy()


encoder = retrained(0)
downstream = LogisticRegression(max_iter=2000).fit(encode(encoder, images[seen]), labels[seen])

# %%
# **The noise of re-encoding.** Encode the canaries again under all conditions that may differ between checks. Here
# these are the batch size and the numerical precision, which is varied by a float16 copy of the encoder.
half = copy.deepcopy(encoder).half().float()
rng = np.random.default_rng(0)
again = [encode((encoder, half)[int(rng.integers(2))], images[canaries], int(rng.integers(1, 197))) for _ in range(99)]
reference = encode(encoder, images[canaries])
monitor = DriftMonitor(reference, nulls=again, labels=digits.target[canaries], tolerance=0.01)

# %%
# **Changes of the model**, from harmless to fatal. For each change, we check the canaries and measure the accuracy of
# the task.
found = []


def look(name: str, model: torch.nn.Module) -> None:
    """Check the canaries, and measure the accuracy of the task."""
    verdict = monitor.check(encode(model, images[canaries]))
    accuracy = downstream.score(encode(model, images[rest]), labels[rest])
    found.append((name, verdict.scores[0].value, verdict.state, accuracy))
    print(f"{name:<24} {verdict.state:<6} drift {found[-1][1]:<9.2g} accuracy {accuracy:.1%}")


look("unchanged", encoder)
look("half precision", half)
with perturb.int8(encoder):
    look("eight bits", encoder)
for size in (0.05, 0.2, 0.5):
    with perturb.gaussian_noise(encoder, size, seed=1):
        look(f"noise of {size}", encoder)
look("trained again", retrained(1))

# %%
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
colours = {"ok": "#0072b2", "watch": "#e69f00", "alert": "#d55e00"}
for state, colour in colours.items():
    of = [one for one in found if one[2] == state]
    ax.scatter([max(one[1], 1e-8) for one in of], [one[3] for one in of], color=colour, label=state)
for number, (name, drift, _, accuracy) in enumerate(found):
    where = (4, (8, -14)[number % 2])
    ax.annotate(name, (max(drift, 1e-8), accuracy), where, textcoords="offset points", fontsize="small")
ax.axvline(0.01, color="#7f7f7f", linestyle=":", label="tolerance")
ax.set(xscale="log", xlabel="drift of the canaries", ylabel="accuracy downstream", xlim=(4e-9, 1), ylim=(0, 1.1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# The monitor stores the results of its checks. The dashed line is the threshold that re-encodings rarely exceed:
monitor.plot()

# %%
# **How to read it.** *watch* means a significant but small change: it exceeds the drift of the re-encodings, but not
# the tolerance. *alert* means that it exceeds both. The retrained model has different axes. With a new head it would be
# as accurate as the first model, but the downstream classifier, which was trained on the first model, fails. The canary
# detects the change in geometry, which the accuracy of the new model with a new head would not show.
#
# **Changes of the inputs** need another method. ``update`` takes new inputs as they arrive. Its false alarm rate is
# valid no matter how often you check.
watching = DriftMonitor(encode(encoder, images[seen]), false_alarm=0.01)
for number, part in enumerate(images[rest].split(100)):
    smeared = part if number < 4 else 0.5 * (part + part.roll(2, dims=1))
    state = watching.update(encode(encoder, smeared)).state
    print(f"batch {number}{' (smeared)' if number >= 4 else '':<11} {state}")

# %%
# **The decision.** To choose ``tolerance``, degrade your model on purpose, as above, and set the tolerance to the drift
# at which the task begins to suffer. The monitor controls the false alarm rate.
#
# **What can mislead**
#
# - *Re-encodings of one kind.* If all re-encodings use the same conditions, any other machine raises an alarm. This is
#   why half precision is included here.
# - *Canaries that are too similar, or too few.* They detect few changes. Look at the classes that moved,
#   ``verdict.classes``.
# - *A rotation* changes no distance, so the canary does not detect it, but stored vectors are no longer compatible.
#
# **Next.** :doc:`/monitoring`, and the same check in CI: :doc:`/how_to/canary_in_ci`.
