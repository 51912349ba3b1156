"""Valid arguments for every public function: small inputs, by parameter name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _method_calls import METHODS

N = 48
MODULES = (
    *("shesha", "shesha.measures", "shesha.sim", "shesha.descriptors", "shesha.coherence"),
    *("shesha.bio", "shesha_studies.perturbation_tables", "shesha.neuro", "shesha.steering", "shesha.drift"),
    *("shesha.io", "shesha_bench", "shesha_bench.tests", "shesha_studies.transferability"),
    *("shesha_studies.steering_predictors", "shesha_studies.session_table", "shesha.calibration"),
)
SKIPPED = frozenset(
    # These functions are decorators, start long computations, or take views or no named arguments.
    {
        *("shesha.measures.measure", "shesha.descriptors.descriptor", "shesha.io.reader"),
        *("shesha_bench.run", "shesha_bench.tests.register"),
        *("shesha.drift.encode_canaries", "shesha.cite"),
        *(f"shesha.calibration.{name}" for name in ("null_scores", "shared", "side_by_side")),
    }
)
FEW = {"n_permutations": 19, "n_bootstrap": 9, "n_draws": 19, "n_splits": 2, "n_rotations": 2, "n_directions": 2}
FEW |= {"n_simulations": 2, "n_tables": 2, "n_projections": 5, "n_anchors": 8, "n_per_split": 8}
"""Options that determine the amount of work, with small values."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public function once, with its public name."""
    seen = set()
    for module in map(import_module, MODULES):
        for name in module.__all__:
            function = getattr(module, name)
            path = f"{module.__name__}.{name}"
            known = path in SKIPPED or id(function) in seen or isinstance(function, types.ModuleType | type)
            if not known and callable(function) and inspect.signature(function).parameters:
                seen.add(id(function))
                yield path, function
    for function in METHODS:
        yield f"methods.{function.__name__}", function


class Arguments:
    """Good values, created for each call, so that no call is affected by an earlier one.

    Parameters
    ----------
    folder : Path
        Folder for the files that some functions read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        rng = np.random.default_rng(0)
        self._X = rng.normal(size=(N, 6)) + rng.permutation(np.arange(N) % 4)[:, None]
        self._Y = self._X[:, :5] @ rng.normal(size=(5, 5)) + rng.normal(size=(N, 5))
        np.save(folder / "good.npy", self._X)
        pd.DataFrame({"a": self._X[:, 0], "label": np.arange(N) % 2}).to_csv(folder / "good.csv")
        self._results: dict[str, Any] = {}

    def of(self, path: str, function: Callable[..., Any]) -> dict[str, Any]:
        """Return the arguments of a call, including optional arguments that reduce the work."""
        found = {}
        own = OWN.get(path, {})
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind == parameter.VAR_KEYWORD:
                found |= {word: make(self) for word, make in own.items() if word not in found}
                continue
            if name in own:
                found[name] = own[name](self)
            elif name in FEW and parameter.default is not inspect.Parameter.empty:
                found[name] = FEW[name]
            elif parameter.default is inspect.Parameter.empty:
                found[name] = COMMON[name](self)
        return found

    @property
    def X(self) -> Any:
        """Rows with four classes."""
        return self._X.copy()

    @property
    def Y(self) -> Any:
        """Other features of the same rows."""
        return self._Y.copy()

    @property
    def y(self) -> Any:
        """Two classes."""
        return np.arange(N) // 2 % 2

    def file(self, name: str) -> str:
        """Return the path of a file."""
        return str(self._folder / name)

    def result(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a result of the library, computed once."""
        if name not in self._results:
            self._results[name] = make()
        return self._results[name]


def adata(good: Arguments) -> Any:
    """Cells with controls and two perturbations."""
    import anndata

    kinds = np.array(["control", "control", "p1", "p2"])[np.arange(N) % 4]
    obs = pd.DataFrame({"perturbation": kinds, "donor": np.arange(N) // 24}, index=[f"c{row}" for row in range(N)])
    obs = obs.astype({"donor": str})
    return anndata.AnnData(good.X, obs=obs, obsm={"X_pca": good.X, "X_other": good.Y})


def score_table(good: Arguments) -> Any:
    """Scores of perturbations, as in coherence tables."""
    rng = np.random.default_rng(1)
    values = rng.uniform(0.1, 1, size=(N, 4))
    found = pd.DataFrame(values, columns=["magnitude", "coherence", "unbiased", "spread"])
    found.index = [f"g{row}" + "+h" * (row % 2) for row in range(N)]
    return found.assign(
        n=rng.integers(10, 90, N), dataset=np.arange(N) % 3, Sp=values[:, 0], Mp=values[:, 1], split_half_cosine=1.0
    )


def session(good: Arguments) -> Any:
    """A recording of one session."""
    from shesha_studies.session_table import Session

    X = np.random.default_rng(2).poisson(3.0, size=(N, 6)).astype(float)
    return Session(X, good.y, areas=["VISp"] * 6)


def benchmark_table(good: Arguments) -> Any:
    """Results of a benchmark, in its published form."""
    from shesha_bench import published

    return good.result("published", published).head(400)


def _plotted(name: str) -> Callable[[Arguments], Any]:
    return lambda good: good.result(name, lambda: _RESULTS[name](good))


def _results() -> dict[str, Callable[[Arguments], Any]]:
    import shesha
    from shesha import coherence, neuro

    few = {"n_permutations": 19, "seed": 0}
    return {
        "table": lambda good: coherence.coherence_by_group(good.X, good.y, 0, n_draws=9, min_size=5, seed=0),
        "path": lambda good: shesha.drift_path([good.X, good.X + 0.1, good.X - 0.1]),
        "layers": lambda good: shesha.compare_layers([good.X, good.Y], [good.X, good.Y], "CKA", calibrate=True, **few),
        "null": lambda good: shesha.calibrate(good.X, good.Y, **few),
        "audit": lambda good: shesha.audit(good.X, good.y, n_bootstrap=5, **few),
        "times": lambda good: neuro.over_time(np.stack([good.X] * 3, axis=2), good.y, **few),
    }


class _Later(dict):
    """A mapping that is filled on first access, because this imports the library."""

    def __missing__(self, key: str) -> Any:
        self.update(_results())
        return self[key]


_RESULTS: dict[str, Any] = _Later()


def _saved(good: Arguments) -> str:
    path = good.file("result.json")
    _plotted("null")(good).save(path)
    return path


def _sessions(good: Arguments) -> Any:
    return [(good.X, good.y), (good.X + 0.1, good.y)]


def _models(good: Arguments) -> Any:
    return {name: good.X + np.sin((shift + 1) * good.X) for shift, name in enumerate("abcd")}


def _probabilities(good: Arguments) -> Any:
    return {name: value / value.sum(axis=1, keepdims=True) for name, value in _models_of_ones(good).items()}


def _models_of_ones(good: Arguments) -> Any:
    return {name: np.abs(value) + 0.1 for name, value in _models(good).items()}


def _groups(good: Arguments) -> Any:
    return {"a": [good.X, good.X + 0.1], "b": [good.Y, good.Y * 2]}


def _values(good: Arguments) -> Any:
    return {(a, b): float(ord(a) + ord(b)) for a in "abcd" for b in "abcd"}


Made = Mapping[str, Callable[[Arguments], Any]]
COMMON: Made = {
    **dict.fromkeys(("X", "X_a", "reference", "controls", "X_control", "shifts", "differences"), lambda good: good.X),
    **dict.fromkeys(("Y", "X_b", "window", "X_perturbed"), lambda good: good.X + 0.1 * good.Y[:, :1]),
    **dict.fromkeys(("y", "labels", "outcome", "z", "runs"), lambda good: good.y),
    **dict.fromkeys(("new", "current"), lambda good: good.X),
    "others": lambda good: {"c": good.Y},
    "conditions": lambda good: np.arange(N) // 2 % 4,
    "anchor_ids": lambda good: np.arange(8),
    "layers_a": lambda good: [good.X, good.Y],
    "layers_b": lambda good: [good.Y, good.X],
    "layers": lambda good: {"a": good.X, "b": good.Y},
    "pairs": lambda good: {"a": (good.X, good.Y), "b": (good.Y, good.X)},
    "p_values": lambda good: np.array([0.01, 0.2, 0.9]),
    "representations": lambda good: {"a": good.X, "b": good.Y},
    "f": lambda good: lambda rows: rows,
    "perturb": lambda good: 0.1,
    "repeats": lambda good: np.stack([good.X, good.X + 0.1 * good.X**2, good.X]),
    "path": lambda good: good.file("good.csv"),
    **dict.fromkeys(("chosen", "measure", "measures", "name"), lambda good: "CKA"),
    "control": lambda good: 0,
    **dict.fromkeys(("n", "n_features", "n_trials"), lambda good: 10),
    "adata": adata,
    **dict.fromkeys(("groupby", "perturbation_key", "per"), lambda good: "perturbation"),
    "before": lambda good: "X_pca",
    "after": lambda good: "X_other",
    **dict.fromkeys(("df", "table", "repro_df"), score_table),
    "tables": lambda good: {"a": score_table(good), "b": score_table(good).iloc[::-1]},
    "null_tables": lambda good: [score_table(good), score_table(good)],
    "statistic": lambda good: lambda table: float(np.asarray(table).size),
    "n_components": lambda good: (2, 3),
    "sizes": lambda good: {"a": 8, "b": 9},
    "tracked": lambda good: np.column_stack([np.arange(6), np.arange(6)]),
    "sessions": _sessions,
    "area": lambda good: "VISp",
    "spikes": lambda good: [np.arange(30.0), np.arange(15.0) * 2],
    "onsets": lambda good: np.arange(10.0),
    "rdms_or_trials": lambda good: np.stack([_distances(good)] * 3),
    "target": lambda good: "score",
    "P": lambda good: np.full((N, 4), 0.25),
    "arrays": lambda good: {"a": good.X},
    **dict.fromkeys(("results", "own", "published"), benchmark_table),
    "models": lambda good: [[good.X, good.Y, good.X], [good.Y, good.X, good.Y]],
    "probabilities": _probabilities,
    "groups": _groups,
    "symmetric": lambda good: True,
    "names": lambda good: ["a", "b", "c", "d"],
    "values": _values,
    "test_name": lambda good: "augmentation",
    "differences_of": lambda good: good.X,
    "test": lambda good: "augmentation",
    "frame": lambda good: pd.DataFrame({"a": [1.0, 2.0]}),
    "store": lambda good: good.file("none.sqlite"),
    "folder": lambda good: good.file("none"),
    "domain": lambda good: "graph",
    "dataset": lambda good: "Cora",
    "architecture": lambda good: "GCN",
    "given": lambda good: good.X,
    "measure_name": lambda good: "CKA",
}
_SMALL: Made = {"min_size": lambda good: 4}
_NAMED: Made = {"measure": lambda good: _measure()}
_NAMED_GROUPS: Made = {"groups": lambda good: {"a": ["a", "b"], "b": ["c", "d"]}, **_NAMED}
_NAMED_MODELS: Made = {"models": lambda good: [["a", "b", "c"], ["b", "c", "d"]], **_NAMED}

_THREE: Made = {"representations": lambda good: {"a": good.X, "b": good.Y, "c": good.X**2}}


def _three_clusters(matrix: Any) -> Any:
    return np.digitize(np.asarray(matrix)[:, 0], [-0.5, 0.5])


def _four(good: Arguments) -> Any:
    return (np.arange(N) // 2 % 4).astype(str)


def _two(good: Arguments) -> Any:
    return (2, 3)


OWN: dict[str, Made] = {
    "shesha.load": {"path": _saved},
    "shesha.label_conditioned_split": {"y": lambda good: np.arange(N) // 2 % 3},
    "shesha.compare_within": {"min_rows": lambda good: 6},
    "shesha.consensus": _THREE | {"groups": lambda good: np.arange(N) // 2},
    "shesha.mean_shape": _THREE,
    "shesha.rank_models": {
        **{"data": lambda good: good.X, "groups": lambda good: np.arange(N) // 2},
        **{"models": lambda good: {"a": good.X, "b": good.Y}, "n_resamples": lambda good: 20},
    },
    "methods.moments_load": {"path": lambda good: _saved_moments(good)},
    "methods.monitor": {"current": lambda good: good.X + 0.01 * good.X**2},
    "methods.rdm": {"D": lambda good: _distances(good)},
    "shesha.descriptors.card": {"descriptor": lambda good: "effective_rank"},
    "shesha.measures.card": {"measure": lambda good: _measure()},
    "shesha.measures.code_version": {"measure": lambda good: _measure()},
    "shesha.bio.find_controls": {"labels": lambda good: ["control", "a", "b"]},
    **dict.fromkeys(
        ("shesha.bio.coherence_table", "shesha.bio.coherence", "shesha.bio.coherence_test", "shesha.bio.e_distances"),
        _SMALL,
    ),
    "shesha.bio.integration_test": {"per": lambda good: "donor"},
    "shesha.bio.integration_table": {"per": lambda good: "donor", "after": lambda good: ["X_other"]},
    "shesha_studies.perturbation_tables.component_ablation": {
        "control": lambda good: "0",
        "labels": _four,
        "n_components": _two,
        **_SMALL,
    },
    "shesha_studies.perturbation_tables.seed_ablation": {
        "control": lambda good: "0",
        "labels": _four,
        "seeds": _two,
        **_SMALL,
    },
    "shesha.coherence.coherence_by_group": {"min_size": lambda good: 5},
    "shesha_studies.session_table.association": {
        "table": lambda good: good.result("sessions", lambda: _session_table(good)),
        **{"first": lambda good: "trial_split", "second": lambda good: "centroid_drift"},
    },
    "shesha_studies.session_table.session_table": {
        "sessions": lambda good: [session(good), session(good), session(good)],
        **{"min_trials": lambda good: 8, "min_neurons": lambda good: 4},
    },
    "shesha.bio.cluster_stability": {
        **{"groupby": lambda good: "perturbation", "cluster": lambda good: _three_clusters, "n_draws": lambda good: 19},
        "n_subsamples": lambda good: 2,
    },
    "shesha.neuro.searchlight": {
        **{
            "X": lambda good: good.X[:8],
            "model": lambda good: _distances(good),
            "neighbours": lambda good: [[0, 1, 2], [2, 3, 4, 5]],
        },
    },
    "shesha.neuro.neighbours_in_radius": {"coordinates": lambda good: good.X, "radius": lambda good: 2.0},
    "shesha.neuro.trials_needed": {"n_splits": lambda good: 2},
    "shesha.neuro.time_clusters": {"X": lambda good: np.stack([good.X] * 3, axis=2), "n_splits": lambda good: 2},
    "shesha.neuro.over_time": {"X": lambda good: np.stack([good.X] * 3, axis=2)},
    "shesha.neuro.crossnobis": {"runs": lambda good: np.arange(N) // 12},
    "shesha.neuro.discriminability": {"runs": lambda good: np.arange(N) // 12},
    "shesha.neuro.from_rsatoolbox": {"given": lambda good: _dataset(good)},
    "shesha_studies.steering_predictors.partial_correlations": {
        "table": lambda good: {"score": good.X[:, 0], "fisher": good.X[:, 1], "silhouette": good.Y[:, 2]},
    },
    "shesha.compare": {"Y": lambda good: good.Y, "measures": lambda good: "standard"},
    "shesha.compare_all": {"measures": lambda good: "standard"},
    "shesha.compare_layers": {"layers_b": lambda good: [good.Y, good.X]},
    "shesha.diff": {"before": lambda good: {"a": good.X}, "after": lambda good: {"a": good.X + 0.1 * good.X**2}},
    "shesha.io.open_matrix": {"path": lambda good: good.file("good.npy")},
    "shesha.io.open_file": {"path": lambda good: good.file("good.npy")},
    "shesha.io.save": {"path": lambda good: good.file("new.npz"), "overwrite": lambda good: True},
    "shesha.io.from_anndata": {"obsm": lambda good: "X_pca"},
    "shesha_bench.suite": {"name": lambda good: "small"},
    "shesha_bench.table": {"test": lambda good: None},
    "shesha_bench.tests.score_groups": _NAMED_GROUPS,
    "shesha_bench.tests.pairs_groups": _NAMED_GROUPS,
    "shesha_bench.tests.score_layers": _NAMED_MODELS,
    "shesha_bench.tests.pairs_layers": _NAMED_MODELS,
    "shesha_bench.tests.score_prediction": {"differences": lambda good: {"a": _values(good)}, **_NAMED},
    "shesha_bench.tests.output_correlation": {"representations": _models},
    "shesha_bench.tests.accuracy_correlation": {"representations": _models},
}
"""Arguments by the path of a function."""


def _saved_moments(good: Arguments) -> Any:
    import shesha

    path = good.file("moments.npz")
    shesha.Moments.of(good.X, good.Y).save(path)
    return path


def _distances(good: Arguments) -> Any:
    import shesha

    return shesha.compute_rdm(good.X[:8] + np.random.default_rng(3).normal(size=(8, 6)))


def _measure() -> Any:
    import shesha

    return shesha.measures.get("CKA")


def _dataset(good: Arguments) -> Any:
    from shesha import neuro

    return neuro.to_rsatoolbox(good.X, good.y, good.y)


def _session_table(good: Arguments) -> Any:
    from shesha_studies.session_table import session_table

    return session_table(
        [session(good)] * 4, min_trials=8, min_neurons=4, n_permutations=19, n_draws=2, n_splits=2, skip=()
    )
