"""One word, one default: seeds, levels and confidences are the same in every public function."""

import importlib
import inspect
import pkgutil

import pytest

import shesha

DEFAULTS = {"seed": 0, "confidence": 0.95, "ci": 0.95, "alpha": 0.05, "measures": "recommended"}
ALARMS = "conformal_stream"
"""A stream is checked again and again, so that its level is that of an alarm, 0.01."""
ROOMS = sorted(found.name for found in pkgutil.iter_modules(shesha.__path__) if found.ispkg)


@pytest.mark.parametrize("room", ROOMS)
def test_parameters_of_one_name_have_one_default(room):
    module = importlib.import_module(f"shesha.{room}")
    for name in dir(module):
        function = getattr(module, name)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        for one in inspect.signature(function).parameters.values():
            if type(one.default) in (int, float, str, tuple) and one.name in DEFAULTS:
                expected = 0.01 if (name, one.name) == (ALARMS, "alpha") else DEFAULTS[one.name]
                assert one.default == expected, f"{room}.{name}({one.name}={one.default})"
