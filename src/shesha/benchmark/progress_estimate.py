"""Progress of a run: models and comparisons."""

from __future__ import annotations

from shesha import runs


class Meter(runs.Meter):
    """Counts models and comparisons."""

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.n_models = self.n_cells = self.models_done = self.cells_done = 0

    def describe(self) -> str:
        """Return the progress in words: models and comparisons."""
        some = f"{self.cells_done}/{self.n_cells}{'+' if self.more_to_plan else ''} comparisons"
        return f"{self.models_done}/{self.n_models} models, {some}"
