"""What the tests of single cells share."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def inputs():
    """Inputs that seeds make: scripts/make_bio_values.py asks the public package about the same."""
    spec = spec_from_file_location("bio_inputs", Path(__file__).with_name("inputs.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
