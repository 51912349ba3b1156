"""Small networks that studies train in seconds, as stand-ins for published models whose weights are not available.

By what is asked: `architectures` (five of one task, after every epoch), `objectives` (five tasks) and `perceptrons`
(any width, in NumPy). All see the same two sets of images (`images`); those in torch train alike (`training`).
"""
