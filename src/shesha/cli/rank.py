"""`shesha rank`: rank models by how well they explain data."""

from __future__ import annotations

from pathlib import Path

from shesha.cli._commands import READING, command
from shesha.cli._run import Run


@command(
    "shesha.ranking:rank_models",
    also=f"{READING} data_key rdm json plot title html full",
    first="data measure key groups plot html",
)
def rank_command(run: Run, files: list[Path], *, data: list[Path], flexible: list[str] | None = None) -> None:
    """Rank models by how well they explain data, with intervals, tests of differences and a noise ceiling.

    Parameters
    ----------
    files : MODEL...
        Files with models; each array is one model.
    data : FILE
        File with data; each array is one subject (may be repeated).
    flexible : NAME=MODEL,MODEL
        Rank a weighted sum of models as well; its weights are fitted to other rows (may be repeated).
    measure
        Similarity of model and data: a name from `shesha measures`.
    resamples
        Number of resamples of the rows; default: 1,000 for distances, else 200.
    plot
        Write a bar chart with the noise ceiling to this file.

    Examples
    --------
    shesha rank models.npz --data subjects.npz --html ranking.html
    shesha rank rdms.npz --data subjects.npz --rdm --measure 'RSA(method=pearson)' --plot bars.png
    shesha rank models.npz --data subjects.npz --flexible network=layer1,layer2 --weights-of 'each subject'
    """
    from shesha.ranking import rank_models

    models = run.read(run.sources, run.key)
    n_rows = None if run.rdm else len(next(iter(models.values()), ()))
    subjects = run.read(data, run.data_key, n_rows=n_rows)
    for name, arrays, paths in (("MODEL", models, files), ("--data", subjects, data)):
        if not arrays:
            raise ValueError(f"{name} must contain a representation, got none in {', '.join(map(str, paths))}")
    run.row_options.state_pairing(models, subjects)
    sums = {name: parts.split(",") for name, _, parts in (each.partition("=") for each in flexible or [])}
    ranking = rank_models(subjects, models, flexible=sums, **run.arguments(rank_models, "data", "flexible"))
    run.outputs.write(ranking, [*files, *data])
