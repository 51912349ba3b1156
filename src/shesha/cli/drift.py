"""`shesha drift`: test whether two samples of inputs, whose rows do not correspond, differ in distribution."""

from __future__ import annotations

from pathlib import Path

from shesha.cli._commands import command
from shesha.cli._run import Run


@command(
    "shesha.drift.two_sample_tests:two_sample_tests",
    also="key test layer_axis missing transpose json plot title html full",
)
def drift_command(run: Run, reference: Path, window: Path) -> None:
    """Test whether two samples of inputs, whose rows do not correspond, come from the same distribution.

    For the same inputs, encoded before and after a change of the model, use `shesha diff` or `shesha monitor`.

    Parameters
    ----------
    reference : REFERENCE
        File with a matrix of earlier inputs.
    window : WINDOW
        File with a matrix of other, newer inputs.
    key
        Array to use: a name in both files, or the name in each file (pass it twice).
    permutations
        Number of random divisions of the rows.

    Examples
    --------
    shesha drift january.npy february.npy
    shesha drift january.parquet february.parquet --key embedding --test energy
    """
    from shesha.drift.two_sample_tests import DEFAULT, sample_differences, two_sample_tests
    from shesha.inputs.identity import NamedRows
    from shesha.inputs.table_columns import feature_order

    keys = run.key or []
    if reference == window and len(set(keys)) < 2:
        raise ValueError(
            f"WINDOW must be another file than REFERENCE, or --key must name two arrays of it, got {window} twice"
        )
    if len(keys) > 2:
        raise ValueError(f"--key must be passed at most twice, once for each file, got {len(keys)} keys")
    first, names = run.read_named(reference, *keys[:1])
    second, others = run.read_named(window, *keys[-1:])
    order = feature_order(names, others, (reference.name, window.name))
    if order is not None:
        second = NamedRows(second.values[:, order], second.known) if hasattr(second, "known") else second[:, order]
    options = run.arguments(two_sample_tests, "reference", "window") | {"tests": run.test or DEFAULT}
    run.outputs.write(sample_differences(first, second, names, **options), [reference, window])
