"""Small networks that studies train in seconds, as stand-ins for published models whose weights are not available.

There are three kinds: `networks_by_architecture` (five architectures for one task, after every epoch),
`networks_by_objective` (five tasks) and `perceptrons` (any width, in NumPy). All use the same two sets of images
(`images`). Networks in torch share one training loop (`training_loop`).
"""
