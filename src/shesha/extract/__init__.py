"""Extract activations of torch modules, and of transformers and timm models, to memory or to a file."""

from shesha.extract._resumable_files import Activations
from shesha.extract.activations import activations
from shesha.extract.encode import encode, stream_layers
from shesha.extract.torch_modules import layers

__all__ = ["Activations", "activations", "encode", "layers", "stream_layers"]
