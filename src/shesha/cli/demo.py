"""`shesha demo`: an audit of the network that ships with the library."""

from __future__ import annotations

from typing import Annotated

import typer

_INTRODUCTION = """\
Three hidden layers of a small network that reads handwritten digits (UCI, 900 held-out images),
{stage}. The same from Python:

    import shesha, shesha.data
    layers, labels = shesha.data.digits_network()
    print(shesha.audit({{name: X for name, X in layers.items() if {condition}}}, labels))

On your own embeddings: shesha audit FILE --labels FILE
"""


def demo_command(
    untrained: Annotated[bool, typer.Option("--untrained", help="Also audit the layers at initialisation.")] = False,
) -> None:
    """Audit the embedded digits network, to see what a report looks like."""
    from shesha.auditing import audit
    from shesha.cli._outputs import Outputs
    from shesha.cli.audit import show
    from shesha.data import digits_network

    layers, labels = digits_network()
    chosen = {name: X for name, X in layers.items() if untrained or name.startswith("trained")}
    stage = "before and after training" if untrained else "after training"
    typer.echo(_INTRODUCTION.format(stage=stage, condition="True" if untrained else "name.startswith('trained')"))
    show(audit(chosen, labels), Outputs())
