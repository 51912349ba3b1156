"""Find a network's stack of blocks by its structure."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

_STACKS = (nn.ModuleList, nn.Sequential)


def blocks(model: nn.Module) -> tuple[str, ...]:
    """Return the names of a model's blocks in order; empty if the model is not a stack of blocks.

    Blocks are the elements of an outermost list whose elements all have the same class, such as ``encoder.layer.3``,
    ``h.3`` or ``layer2.1``. If such lists contain different classes, the class with the most parameters is chosen.
    """
    kinds: dict[type[nn.Module], list[str]] = {}
    sizes: dict[type[nn.Module], int] = {}
    for name, block in _candidates(model, ""):
        kind = type(block)
        kinds.setdefault(kind, []).append(name)
        sizes[kind] = sizes.get(kind, 0) + sum(parameter.numel() for parameter in block.parameters())
    return tuple(kinds[max(kinds, key=lambda kind: sizes[kind])]) if kinds else ()


def _candidates(module: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the blocks in the outermost lists whose modules have one class and contain submodules."""
    if isinstance(module, _STACKS) and _has_equal_blocks(module):
        yield from ((f"{prefix}{name}", child) for name, child in module.named_children())
        return
    for name, child in module.named_children():
        yield from _candidates(child, f"{prefix}{name}.")


def _has_equal_blocks(stack: nn.Module) -> bool:
    children = list(stack.children())
    return len({type(child) for child in children}) == 1 and any(True for _ in children[0].children())
