"""Ranking of models by how well they explain data."""

from shesha.ranking.rank_models import rank_models

__all__ = ["rank_models"]
