"""
A map of the rows, before and after
===================================

Each point is a handwritten digit, in the last layer of a trained network. Lines lead from where the 25 digits that lost
the most neighbours were before training. The map shows two dimensions only; neighbours are counted in all of them.
"""

import shesha
import shesha.data

layers, labels = shesha.data.digits_network()
result = shesha.explore(layers["init_layer3"], layers["trained_layer3"], labels, names=("untrained", "trained"))
print(result.headline)
result.plot()
