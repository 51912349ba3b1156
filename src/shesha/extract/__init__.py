"""Extract activations of torch modules, and of transformers and timm models, to memory or to a file."""

from shesha.extract._extraction_result import Activations
from shesha.extract.activations import activations
from shesha.extract.encode import encode
from shesha.extract.layer_listing import layers
from shesha.extract.layer_stream import stream_layers

__all__ = ["Activations", "activations", "encode", "layers", "stream_layers"]
