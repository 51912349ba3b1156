"""Statistics of tables of perturbations (sections 12.6 to 12.16 of the paper), and group size effects."""

from shesha_studies.perturbation_tables._ablation_table import Ablation, ablation
from shesha_studies.perturbation_tables._correlations import Correlation, correlation, correlations
from shesha_studies.perturbation_tables._gaussian_null_model import null_model
from shesha_studies.perturbation_tables._influential_perturbations import influence
from shesha_studies.perturbation_tables.ablations import component_ablation, seed_ablation
from shesha_studies.perturbation_tables.discordance_quartiles import discordance_quartiles, discordances
from shesha_studies.perturbation_tables.mixed_model import Effect, MixedModel, mixed_model
from shesha_studies.perturbation_tables.null_group_tables import (
    NullTableComparison,
    compare_with_null_tables,
    fake_tables,
    group_table,
)
from shesha_studies.perturbation_tables.pooled_correlations import pooled_correlations
from shesha_studies.perturbation_tables.single_against_combined import Combined, single_against_combined

__all__ = [
    "Ablation",
    "Combined",
    "Correlation",
    "Effect",
    "MixedModel",
    "NullTableComparison",
    "ablation",
    "compare_with_null_tables",
    "component_ablation",
    "correlation",
    "correlations",
    "discordance_quartiles",
    "discordances",
    "fake_tables",
    "group_table",
    "influence",
    "mixed_model",
    "null_model",
    "pooled_correlations",
    "seed_ablation",
    "single_against_combined",
]
