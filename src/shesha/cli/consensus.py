"""`shesha consensus`: find the shape that several representations share, and outliers from it."""

from __future__ import annotations

from pathlib import Path

from shesha.cli._commands import READING, command
from shesha.cli._run import Run


@command("shesha.comparison:consensus", also=f"{READING} json plot title html full")
def consensus_command(run: Run, files: list[Path]) -> None:
    """Measure how far representations (seeds, checkpoints) are from their shared shape, and find outliers.

    Parameters
    ----------
    files : FILE...
        Files of representations; each array is one representation.
    plot
        Write a picture of the distances to this file.

    Examples
    --------
    shesha consensus seeds.npz --html consensus.html
    shesha consensus seed_*.npy --plot bars.png
    """
    from shesha.comparison import consensus

    arrays = run.read(run.sources, run.key)
    run.outputs.write(consensus(arrays, **run.arguments(consensus)), files)
