"""Which of several models explains data best."""

from shesha.ranking.rank_models import rank_models

__all__ = ["rank_models"]
