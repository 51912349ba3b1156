"""P-GNN's messages from the nearest node of each anchor set, averaged over the sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_BLOCK = 32
"""Number of nodes per block, small enough that their messages stay in the processor's cache."""


def messages(weight: Tensor, from_anchors: Tensor, own_part: Tensor, nearest: Tensor) -> Tensor:
    """Return relu(weight * from_anchors[nearest] + own_part), of shape (n_rows, n_sets, n_channels).

    Parameters
    ----------
    weight : Tensor of shape (n_rows, n_sets)
        Weight of each message, which depends on the distance between the nodes.
    from_anchors : Tensor of shape (n_nodes, n_channels)
        Projected features of the nodes that send messages.
    own_part : Tensor of shape (n_rows, n_channels)
        Projected features of the receiving nodes.
    nearest : Tensor of int64 of shape (n_rows, n_sets)
        Index of the sender of each message.
    """
    return functional.relu(torch.addcmul(own_part.unsqueeze(1), weight.unsqueeze(-1), _sent(from_anchors, nearest)))


def mean_message(weight: Tensor, from_anchors: Tensor, own: Tensor, nearest: Tensor) -> Tensor:
    """Return the mean message over the sets, (n_rows, n_channels), without storing all messages at once."""
    mean: Tensor = _MeanMessage.apply(weight, from_anchors, own, nearest)  # type: ignore[no-untyped-call]
    return mean


class _MeanMessage(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, from_anchors: Tensor, own: Tensor, nearest: Tensor) -> Tensor:
        ctx.save_for_backward(weight, from_anchors, own, nearest)
        mean = torch.empty_like(own)
        for rows in _blocks(len(own)):
            torch.mean(messages(weight[rows], from_anchors, own[rows], nearest[rows]), dim=1, out=mean[rows])
        return mean

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        weight, from_anchors, own_part, nearest = ctx.saved_tensors
        to_weight, to_anchors, to_own = (
            torch.empty_like(weight),
            torch.zeros_like(from_anchors),
            torch.empty_like(own_part),
        )
        share = gradient / weight.shape[1]
        for rows in _blocks(len(own_part)):
            sent = _sent(from_anchors, nearest[rows])
            factor = weight[rows].unsqueeze(-1)
            # The sign is 1 where a message passed the ReLU; a boolean mask would take twice as long.
            passed = torch.addcmul(own_part[rows].unsqueeze(1), factor, sent).relu_().sign_()
            flow = passed.mul_(share[rows].unsqueeze(1))
            torch.sum(flow, dim=1, out=to_own[rows])
            torch.sum(sent.mul_(flow), dim=2, out=to_weight[rows])
            to_anchors.index_add_(0, nearest[rows].ravel(), flow.mul_(factor).flatten(end_dim=1))
        return to_weight, to_anchors, to_own, None


def _sent(from_anchors: Tensor, nearest: Tensor) -> Tensor:
    """Return the features of the senders, (n_rows, n_sets, n_channels)."""
    return from_anchors.index_select(0, nearest.ravel()).view(*nearest.shape, -1)


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, start + _BLOCK)
