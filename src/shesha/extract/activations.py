"""Activations of the layers of any torch module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shesha.extract._extraction_result import Activations
from shesha.inputs import validation as validate
from shesha.support.optional import require

if TYPE_CHECKING:
    import torch
    from torch import nn

    from shesha.extract.pooling import Pool


def activations(
    model: nn.Module,
    inputs: Any,
    layers: str | Sequence[str] = "encoder.layer.*",
    pool: Pool = "mean",
    batch_size: int = 32,
    device: str | torch.device | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Activations:
    """Run a model over inputs and return the activations of its layers, one row per input.

    The model is used in evaluation mode and without gradients; training flags, random states and device are as before
    afterwards. What a layer returned is pooled or copied at once, so that no later operation in place changes it.

    Parameters
    ----------
    model : torch.nn.Module
        Any module, with its weights. If a layer returns a tuple or mapping, its first tensor is used.
    inputs
        Inputs of the model, in one of four forms. An array or tensor of shape (n, ...). A mapping of such arrays by
        argument, in which ``attention_mask`` marks the valid tokens, with padding on either side. A mapping of token
        lists of any length, as from a tokenizer; they are sorted by length, padded batch by batch and returned in the
        original order. A data set: anything with a length and numbered items; the first part of a tuple is the input.
        NumPy floats are cast to the precision of the model.
    layers : str or sequence of str
        Names of modules, or patterns: ``*`` matches one part between dots, ``**`` any number. A name that ends in
        ``:input`` means the input of the module. A module that runs twice gives ``name`` and ``name#2``.
    pool : {'mean', 'cls', 'last', 'later', 'gap'}, callable or None
        Pooling of tokens into a row, without padding: ``'mean'`` of all, ``'cls'`` (the first), ``'last'``, or
        ``'later'`` (the mean of those after the first). A `PoolingWarning` reports layers whose mean the first token
        dominates. ``'gap'`` averages feature maps (n, channels, height, width) over positions. Outputs of shape (n, d)
        are unchanged. A callable gets the output, and the mask (n, n_tokens) if it takes two arguments. None keeps
        everything, with NaN in place of padding.
    batch_size : int
        Inputs per pass. Results depend on it in their last digits, so it is recorded.
    device : str or torch.device, optional
        Device of the computation; default: that of the model.
    out : path, optional
        A .zarr store or a .safetensors file, which is written batch by batch in constant memory, and appears when it is
        complete. After an interruption, rerun the same call to resume (up to a second's work is repeated). Another
        model, other inputs or other options are refused. A complete file is returned as it is.

    Returns
    -------
    Activations
        A dict of arrays of shape (n, d), in the order in which the layers ran, in single precision (double if the layer
        has it), memory-mapped if there is a file. ``info`` records how they were made.

    Raises
    ------
    ValueError
        If no layer matches (the message has close names), the inputs are empty, the weights are on the meta device, or
        `out` holds something else.
    ImportError
        Without the extra ``torch``, or ``files`` for .zarr.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    >>> found = activations(model, torch.randn(10, 4), layers="*")
    >>> {name: array.shape for name, array in found.items()}
    {'0': (10, 3), '1': (10, 3), '2': (10, 2)}
    """
    require("torch", "torch")
    from shesha.extract._batch_loop import Work, run
    from shesha.extract._input_rows import make_rows
    from shesha.extract._resumable_files import output_path
    from shesha.extract.layer_names import choose_layers
    from shesha.extract.pooling import pool_name, pooling

    size = validate.count(batch_size, "batch_size")
    pooled = pooling(pool)
    target = None if out is None else output_path(out)
    rows = make_rows(inputs, pad=getattr(getattr(model, "config", None), "pad_token_id", None) or 0)
    names = {name: name for name in choose_layers(model, layers)}
    return run(Work(model, rows, names, pooled, size, device, metadata={"pool": pool_name(pool)}), target)
