"""The layer axis of three-dimensional arrays, and how it is guessed or given.

Files and functions that expect several representations (`compare_all`, `compare_layers`) read such an array as one
representation per layer. Functions whose arguments are single representations (measures, `compare`,
`calibrate`) read it as token sequences (inputs, tokens, features). Pass ``layer_axis`` to choose the layer axis.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shesha.support.device_arrays import array_shape, to_host
from shesha.support.provenance import state, state_left_out, state_warning
from shesha.support.warnings import GuessedLayersWarning, warn
from shesha.support.wording import count

LayerAxis = int | Literal["guess"] | None
"""The layer axis of three-dimensional arrays; None if each array is a single representation."""

_MUCH = 3
"""If one axis is at least this many times as long as the other, the shorter one is taken as the layer axis."""
MOST_LAYERS = 300
"""Largest number of layers into which an array is split along a guessed axis."""

MASK = re.compile(r"(?:^|[./_])(?:attention|padding|pad|token)_?mask$", re.IGNORECASE)
_TOKENS = re.compile(
    r"(?:^|[./_])(?:last_hidden_states?|(?:token|word|patch)_embeddings|(?:patch|image)_?tokens|forward_features)$",
    re.IGNORECASE,
)
"""Names of arrays that contain the tokens of one layer."""
_STATES = re.compile(r"(?:^|[./_])(?:all_|encoder_|decoder_)?hidden_states$", re.IGNORECASE)
"""Names of arrays that contain the tokens of all layers."""
_LIST_OF_LAYERS = re.compile(
    r"(?:.*\W)?\w*\[#\]|(?:.*[./_])?(?:layers?|blocks?|h|hidden(?:_states?)?)[./_]?#", re.IGNORECASE
)
"""Names, with # in place of the number, of arrays that are the layers of one model."""


_LOOKED_AT, _FEWEST_LENGTHS = 64, 3
"""Number of inputs that are searched for padding, and number of different lengths that show it."""


@dataclass(frozen=True)
class Split:
    """How a three-dimensional array is read: its layer axis, or None for a single representation."""

    shape: tuple[int, ...]
    axis: int | None
    guessed: bool = False
    against_default: bool = False
    """Whether the shape contradicts the documented order of axes."""
    doubtful: bool = False
    """Whether the shape is ambiguous about the order of axes."""

    @property
    def n_layers(self) -> int:
        """The number of representations."""
        return 1 if self.axis is None else self.shape[self.axis]

    def names(self, name: str) -> list[str]:
        """Return the names of the representations, with the number of the layer if there are several."""
        return [name] if self.axis is None else [f"{name}[{layer}]" for layer in range(self.n_layers)]

    def layer(self, array: Any, number: int) -> Any:
        """Return one layer, or the whole array if it is a single representation."""
        return array if self.axis is None else array[(slice(None),) * self.axis + (number,)]

    def describe(self, option: str = "layer_axis=") -> str:
        """Describe how the array is read, and the alternatives, for the user of a function or a command."""
        if self.axis is None:
            return f"an array of shape {self.shape}, read as one representation"
        text = f"an array of shape {self.shape}, read as {self._count_axis(self.axis)}"
        if not self.guessed:
            return text
        other, none = 1 - self.axis, "None" if option == "layer_axis=" else "none"
        alternative = f"{option}{other} ({self._count_axis(other)})"
        return f"{text}. If this is wrong, pass {alternative} or {option}{none} (one representation)"

    def state(self, name: str) -> None:
        """State how the array is read, as a warning if its shape would allow the other order of axes as well."""
        assert self.axis is not None
        sizes = " x ".join(f"{length:,}" for length in self.shape)
        rows = self.shape[1 if self.axis == 0 else 0]
        layers = count(self.n_layers, "representation")
        tokens = "; for tokens or places, pass layer_axis=None (--layer-axis none)" * (self.guessed and self.axis == 1)
        state(f"{name}: {layers} of {count(rows, 'row')} along axis {self.axis} of {sizes}{tokens}")
        if self.guessed and not any(_much_shorter(*pair) for pair in (self.shape[:2], self.shape[1::-1])):
            other = 1 - self.axis
            state_warning(
                f"{name} is read as {self._count_axis(self.axis)}; if it has {self._count_axis(other)}, pass "
                f"layer_axis={other} (--layer-axis {other})"
            )

    def _count_axis(self, axis: int) -> str:
        layers, rows = self.shape[axis], self.shape[1 if axis == 0 else 0]
        return f"{count(layers, 'layer')} of {count(rows, 'row')}"

    def require_few(self, name: str) -> None:
        """Raise an error if a guess would split an array into hundreds of layers."""
        if self.guessed and self.n_layers > MOST_LAYERS:
            raise ValueError(
                f"{name} must have at most {MOST_LAYERS} layers to be split automatically, got {self.describe()}. If "
                f"it is right, pass layer_axis={self.axis} (--layer-axis {self.axis})"
            )


def normalise_axis(layer_axis: LayerAxis) -> LayerAxis:
    """Check the layer axis, and convert it to a non-negative number."""
    if layer_axis is None or (isinstance(layer_axis, str) and layer_axis == "guess"):
        return layer_axis
    is_integer = isinstance(layer_axis, int | np.integer) and not isinstance(layer_axis, bool)
    if not is_integer or not -3 <= int(layer_axis) <= 2:
        raise ValueError(f"layer_axis must be 0, 1, 2, None or 'guess', got {layer_axis!r}")
    return int(layer_axis) % 3


def split(shape: tuple[int, ...], layer_axis: LayerAxis = "guess", *, default: int = 1) -> Split:
    """Determine how a three-dimensional array is read.

    A guess takes the documented layer axis (`default`), unless the other of the first two axes is at most a third as
    long, because there are usually fewer layers than rows.

    Examples
    --------
    >>> split((872, 7, 384)).axis, split((60, 24, 384)).axis, split((7, 872, 384)).axis
    (1, 1, 0)
    >>> print(split((7, 872, 384)).describe())
    an array of shape (7, 872, 384), read as 7 layers of 872 rows. If this is wrong, pass layer_axis=1
    (872 layers of 7 rows) or layer_axis=None (one representation)
    """
    layer_axis = normalise_axis(layer_axis)
    if layer_axis == "guess":
        against = _much_shorter(shape[1 - default], shape[default])
        axis = 1 - default if against else default
        return Split(shape, axis, True, against, not _much_shorter(shape[default], shape[1 - default]))
    return Split(shape, layer_axis)


def _much_shorter(length: int, other: int) -> bool:
    return 0 < _MUCH * length <= other


def refuse_tokens(shapes: Mapping[Any, tuple[int, ...]], guessed: Iterable[Any], where: str = "") -> None:
    """Refuse to take tokens for layers, if a mask or the names of arrays show what they are.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Shapes of all arrays, masks included.
    guessed : iterable of str
        Names of the arrays of three axes whose layer axis is a guess, and of those of four axes.
    where : str
        Where the arrays are, for the error message.
    """
    masks: dict[tuple[int, ...], Any] = {
        shape: name for name, shape in shapes.items() if len(shape) == 2 and MASK.search(str(name))
    }
    # Nothing must be averaged over an axis of length 1.
    guessed = [name for name in guessed if shapes[name][1] > 1]
    templates = Counter((_template(name), shapes[name]) for name in guessed)
    for name in guessed:
        shape, template = shapes[name], _template(name)
        found = f"{name}{where} must have one row per input, got"
        if len(shape) == 4:
            inputs = next((axis for axis in (0, 1) if shape[axis : axis + 2] in masks or shape[0:3:2] in masks), None)
            # Feature maps of images are as high as they are wide.
            is_image = shape[2] == shape[3] or shape[1] == shape[2]
            if inputs is not None or (_STATES.search(str(name)) and not is_image):
                raise ValueError(
                    f"{found} layers and tokens in {shape}, as "
                    f"{'its name' if inputs is None else next(iter(masks.values()))} shows. Average the tokens of each "
                    "input without padding, and save one matrix (inputs, features) per layer"
                )
            continue
        evidence = masks.get(shape[:2], "its name" if _TOKENS.search(str(name)) else "")
        # A name shows that there are tokens, but not along which of the two axes.
        where_tokens = "along axis 1" if shape[:2] in masks else "along axis 1 (or 0, if axis 1 numbers the inputs)"
        if templates[template, shape] > 1 and _LIST_OF_LAYERS.fullmatch(template):
            n, axes = templates[template, shape], "if each array is a stack of layers"
            got = f"{n} arrays of shape {shape}, whose numbers show that they are the layers, so that axis 1 contains "
            got += "tokens"
        elif evidence:
            axes, got = "if they are layers", f"tokens {where_tokens} of {shape}, as {evidence} shows"
        else:
            continue
        raise ValueError(
            f"{found} {got}. Average the tokens of each input without padding, or pass layer_axis=None to use all "
            f"tokens as features, or layer_axis=1 {axes}"
        )


def refuse_padding(name: str, tokens: Any) -> None:
    """Refuse sequences of tokens that end or begin with padding (zeros or NaN), which would count as tokens.

    Examples
    --------
    >>> import numpy as np
    >>> refuse_padding("X", np.tri(5, 4)[:, :, None] * np.ones(3))
    Traceback (most recent call last):
        ...
    ValueError: X must have one row per input, got tokens of shape (5, 4, 3) with padding at one end. Average the
    tokens of each input without padding
    """
    shape, first = tuple(tokens.shape), np.asarray(to_host(tokens[:_LOOKED_AT]))
    if first.dtype.kind not in "fiub":
        return
    empty = ((first == 0) | np.isnan(first)).all(axis=2)
    lengths, places = empty.sum(axis=1)[:, None], np.arange(shape[1])
    is_padded = (empty == (places >= shape[1] - lengths)).all() or (empty == (places < lengths)).all()
    # Some inputs may have a zero vector in a layer.
    if is_padded and len(np.unique(lengths)) >= _FEWEST_LENGTHS:
        raise ValueError(
            f"{name} must have one row per input, got tokens of shape {shape} with padding at one end. Average the "
            "tokens of each input without padding"
        )


def _template(name: Any) -> str:
    """Return a name with # in place of its last number."""
    return re.sub(r"\d+(?=\D*$)", "#", str(name))


def split_layers(arrays: Mapping[Any, Any], layer_axis: LayerAxis = "guess") -> dict[Any, Any]:
    """Return representations by name, with three-dimensional arrays divided into layers.

    Guessing an axis raises a warning. Other representations are returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> list(split_layers({"hidden": np.zeros((40, 2, 5)), "other": np.zeros((40, 3))}, layer_axis=1))
    ['hidden[0]', 'hidden[1]', 'other']
    """
    normalise_axis(layer_axis)
    layers: dict[Any, Any] = {}
    arrays = without_single_values(arrays)
    shapes = {name: shape for name, array in arrays.items() if (shape := _shape(array)) is not None}
    if layer_axis == "guess":
        refuse_tokens(shapes, [name for name, shape in shapes.items() if len(shape) in (3, 4)])
    for name, array in arrays.items():
        shape = shapes.get(name) if len(shapes.get(name, ())) == 3 else None
        parts = {name: array} if shape is None else _layers(str(name), array, split(shape, layer_axis))
        if twice := [repr(key) for key in parts if key in layers]:
            raise ValueError(f"names must be distinct after layers are numbered, got {', '.join(twice)} twice")
        layers |= parts
    return layers


def layer_sequence(layers: Any, name: str, layer_axis: LayerAxis = "guess") -> Any:
    """Return layers as a sequence; in a single array, layers are along the first axis by default.

    Examples
    --------
    >>> import numpy as np
    >>> [layer.shape for layer in layer_sequence(np.zeros((2, 40, 5)), "layers_a")]
    [(40, 5), (40, 5)]
    """
    normalise_axis(layer_axis)
    shape = None if isinstance(layers, Mapping | list | tuple) else _shape(layers)
    if shape is None or len(shape) != 3:
        return layers
    layout = split(shape, layer_axis, default=0)
    layout.require_few(name)
    if layout.guessed and layout.against_default:
        warn(f"{name} is {layout.describe()}", GuessedLayersWarning)
        layout.state(name)
    return [layout.layer(layers, number) for number in range(layout.n_layers)]


def _layers(name: str, array: Any, layout: Split) -> dict[Any, Any]:
    layout.require_few(name)
    array = np.asarray(array) if isinstance(array, list | tuple) else array
    if layout.guessed:
        refuse_padding(name, array)
        warn(f"{name} is {layout.describe()}", GuessedLayersWarning)
    if layout.axis is not None:
        layout.state(name)
    return {label: layout.layer(array, number) for number, label in enumerate(layout.names(name))}


def without_single_values(arrays: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return arrays without those of one value per row, such as losses and labels, beside matrices; state it."""
    shapes = {name: _shape(array) for name, array in arrays.items()}
    rows = {shape[0] for shape in shapes.values() if shape is not None and len(shape) > 1}
    single = {
        str(name): f"is 1-D with shape {shape}, so it may contain labels"
        for name, shape in shapes.items()
        if shape is not None and len(shape) == 1 and shape[0] in rows and _has_single_values(arrays[name])
    }
    state_left_out("arrays", single)
    return {name: array for name, array in arrays.items() if str(name) not in single} if single else arrays


def _has_single_values(array: Any) -> bool:
    """Return whether an array contains numbers or texts, not lists, as columns of tables may."""
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    return isinstance(array, list | tuple) or hasattr(array, "detach") or (kind != "" and kind in "fiubUST")


def _shape(array: Any) -> tuple[int, ...] | None:
    """Return the shape of an array; None for anything else, such as tables, which are read elsewhere."""
    shape: Any = None
    if isinstance(array, list | tuple):
        # Ragged lists, and tensors that NumPy cannot convert, have no shape; later checks raise a clearer error.
        with suppress(ValueError, TypeError, RuntimeError):
            shape = array_shape(array)
    elif hasattr(array, "__getitem__"):
        # An object with a shape but no entries, such as a Representation object, is a single representation.
        shape = getattr(array, "shape", None)
    return tuple(map(int, shape)) if isinstance(shape, tuple) else None


_SMALLEST_MAP = 4
"""Smallest height of feature maps whose channels may be recognised as the last axis."""
_SMALLEST_IMAGE = 16


def has_channels_last(shape: Sequence[int]) -> bool:
    """Return whether an array seems to hold square maps (n, height, width, channels), as from TensorFlow or JAX.

    Examples
    --------
    >>> has_channels_last((50, 14, 14, 768)), has_channels_last((50, 768, 14, 14)), has_channels_last((50, 3, 3, 5))
    (True, False, False)
    """
    if len(shape) != 4 or shape[1] != shape[2] or shape[1] < _SMALLEST_MAP:
        return False
    # Images have one or three channels, and other maps have more channels than positions along an axis.
    return shape[3] > shape[1] or (shape[3] in (1, 3) and shape[1] >= _SMALLEST_IMAGE)
