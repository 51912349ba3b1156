"""Extract the activations of the layers of any torch module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shesha.extract._resumable_files import Activations
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
    *,
    batch_axis: int = 0,
) -> Activations:
    """Run a model over inputs and return the activations of its layers, one row per input.

    The model runs in evaluation mode and without gradients. Training flags, random states and device are restored
    afterwards. Each output is pooled or copied immediately, so that later in-place operations cannot change it.

    Parameters
    ----------
    model : torch.nn.Module
        Any module, with its weights. If a layer returns a tuple or mapping, its first tensor is used; packed sequences
        are padded. Models inside `torch.compile`, data-parallel or PEFT wrappers are taken out, so names of layers lack
        the prefix of the wrapper.
    inputs : array, mapping or data set
        Inputs of the model, in one of four forms. (1) An array or tensor of shape (n, ...). (2) A mapping of argument
        names to such arrays, in which ``attention_mask`` marks the valid tokens, with padding on either side. (3) A
        mapping of argument names to token lists of any length, as from a tokenizer. Rows are sorted by length and
        padded batch by batch, but results are in the original order. (4) A data set, which is any object with a length
        and numbered items. The first element of an item that is a tuple is the input. NumPy floats are cast to the
        precision of the model.
    layers : str or sequence of str
        Names of modules, or patterns: ``*`` matches one part between dots, ``**`` any number of parts. A name that ends
        in ``:input`` selects the module's input instead of its output. A module that runs twice gives ``name`` and
        ``name#2``.
    pool : {'mean', 'cls', 'last', 'later', 'gap'}, callable or None
        How the tokens of an input are pooled to one row, without padding: ``'mean'`` (of all tokens), ``'cls'`` (the
        first token), ``'last'`` (the last token), or ``'later'`` (the mean of all tokens after the first). A
        `PoolingWarning` names layers in which the first token dominates the mean. ``'gap'`` averages feature maps (n,
        channels, height, width) over positions. Outputs of shape (n, d) are unchanged. A callable receives the output
        and, if it takes two arguments, the mask (n, n_tokens). None keeps all tokens, with NaN for padding.
        In each layer, the axis that numbers the inputs is found by running three inputs, and two of them again. It is
        moved to the front. If time steps are folded into it, they are separated. A layer whose rows depend on the other
        inputs of the batch is refused.
    batch_size : int
        Number of inputs per pass. It affects the last digits of the results, so it is recorded.
    device : str or torch.device, optional
        Device of the computation; default: the device of the model.
    out : path, optional
        A .safetensors file, which is written batch by batch in constant memory and appears only when it is complete.
        After an interruption, rerun the same call to resume (at most about one second of work is repeated). A complete
        file is read and not computed again. If the file comes from another model, other inputs or other options, an
        error is raised.
    batch_axis : int
        Axis of `inputs`, if they are one array, that numbers the inputs. Pass 1 for arrays of shape (n_steps, n, ...),
        as modules such as `torch.nn.LSTM` take them unless they have ``batch_first=True``.

    Returns
    -------
    Activations
        A dict of arrays of shape (n, d), in the order in which the layers ran. The precision is single, or double if
        the layer returns double. Arrays in a file are memory-mapped. ``info`` records how the arrays were made.

    Raises
    ------
    ValueError
        If no layer matches (the message suggests similar names), the inputs are empty, a layer mixes its inputs, the
        weights are on the meta device, or `out` contains another extraction.
    FileExistsError
        If `out` contains anything else.
    ImportError
        If the extra ``torch`` is not installed.

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
    from shesha.extract._input_rows import make_rows
    from shesha.extract._resumable_files import output_path
    from shesha.extract.batch_loop import Work, run
    from shesha.extract.pooling import pool_name, pooling
    from shesha.extract.torch_modules import choose_layers, unwrap_model

    size, axis = validate.count(batch_size, "batch_size"), validate.count(batch_axis, "batch_axis", minimum=0)
    pooled = pooling(pool)
    target = None if out is None else output_path(out)
    network, prefix = unwrap_model(model)
    pad = getattr(getattr(network, "config", None), "pad_token_id", None) or 0
    rows = make_rows(inputs, pad=pad, axis=axis)
    names = choose_layers(network, layers, prefix)
    metadata = {"pool": pool_name(pool), **({"batch_axis": axis} if axis else {})}
    return run(
        Work(network, rows, names, pooled, batch_size=size, device=device, metadata=metadata, raw=callable(pool)),
        target,
    )
