"""Tables and the picture of docs/studies/coherence_and_group_size.md, from papalexi2021 and kang2018.

    SHESHA_DATA=FOLDER python scripts/make_coherence_study.py

The tables stand between markers of the page; a few minutes on two cores.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import anndata
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse

from shesha import bio
from shesha.bio.analysis import (
    beside_fakes,
    component_ablation,
    correlation,
    discordances,
    fake_tables,
    influence,
    null_model,
)
from shesha.coherence import expected_mean_cosine
from shesha.report import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "studies" / "coherence_and_group_size.md"
DATA = Path(os.environ.get("SHESHA_DATA", "data"))
SIZES = (10, 25, 50, 100, 400)
PUBLISHED = {"standard": "0.985 [0.939, 0.997]", "whitened": "0.991 [0.944, 1.000]", "knn": "0.988 [0.939, 1.000]"}
"""Table 63 of the paper."""
PATHWAY = ("IFNGR1", "IFNGR2", "JAK2", "STAT1")
DRAWS = {"standard": 999, "whitened": 999, "knn": 99}
N_TABLES = 400


def papalexi() -> anndata.AnnData:
    """All cells, as the paper takes them."""
    with np.load(DATA / "papalexi2021" / "papalexi2021.npz") as file:
        obs = pd.DataFrame({name: file[name] for name in ("target", "guide", "replicate", "guide_fraction")})
        return anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file["pca50"].astype(float)})


def kang() -> anndata.AnnData:
    with np.load(DATA / "kang2018" / "kang2018.npz") as file:
        parts = tuple(file[f"lognorm_{name}"] for name in ("data", "indices", "indptr"))
        X = sparse.csr_matrix(parts, shape=tuple(file["lognorm_shape"]))
        obs = pd.DataFrame({name: file[name] for name in ("condition", "cell_type")})
        var = pd.DataFrame(index=file["genes"])
        return anndata.AnnData(X, obs=obs.set_index(obs.index.astype(str)), var=var, obsm={"X_pca": file["pca"]})


def sizes(controls: np.ndarray, fakes: list[pd.DataFrame]) -> str:
    """What control cells that pose as a target score, by their number."""
    lines = []
    for n in SIZES:
        found = pd.DataFrame([one.loc[str(n)] for one in fakes])
        low, high = np.quantile(found["coherence"], [0.025, 0.975])
        lines.append(
            [
                f"{n}",
                f"{found['coherence'].mean():.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{expected_mean_cosine(n, controls.shape[1], len(controls) - n):.3f}",
                f"{found['unbiased'].mean():+.4f}",
                f"{found['magnitude'].mean():.2f}",
            ]
        )
    return markdown_table(["cells", "coherence", "95 % of fakes", "isotropic noise", "unbiased", "magnitude"], lines)


def targets(adata: anndata.AnnData, table: pd.DataFrame) -> str:
    guides = bio.coherence_test(adata, "target", groups="guide", n_draws=999)
    lines = [
        [
            name,
            f"{one.n:,.0f}",
            f"{one.coherence:.3f}",
            f"{one.chance:.3f}",
            f"{one.p_adj:.2g}",
            f"{one.unbiased:.3f}",
            f"{one.unbiased_ci_low:.3f} to {one.unbiased_ci_high:.3f}",
            f"{guides.unbiased_ci_low[name]:.3f} to {guides.unbiased_ci_high[name]:.3f}",
            f"{one.magnitude:.2f}",
        ]
        for name, one in table.iterrows()
    ]
    columns = ["target", "cells", "coherence", "chance", "p (BH)", "unbiased", "interval, cells", "interval, guides"]
    return markdown_table([*columns, "magnitude"], lines)


def methods(adata: anndata.AnnData) -> tuple[str, dict[str, pd.DataFrame]]:
    lines, tables = [], {}
    for method, draws in DRAWS.items():
        found = bio.coherence_table(adata, "target", method=method, n_draws=draws)
        tables[method] = found.to_frame()
        row = [method, PUBLISHED[method]]
        for score, link in zip(("coherence", "unbiased"), found.links, strict=True):
            rho = correlation(tables[method], y=score)
            row.append(f"{rho.rho:.3f} [{rho.low:.3f}, {rho.high:.3f}]")
            row.append(f"{link.chance:.2f} [{link.chance_low:.2f}, {link.chance_high:.2f}]")
            row.append(f"{link.p_value:.2g}")
        lines.append(row)
    columns = ["method", "paper", "coherence: ours", "fakes", "p", "unbiased: ours", "fakes", "p"]
    return markdown_table(columns, lines), tables


def questions(table: pd.DataFrame, fakes: list[pd.DataFrame]) -> str:
    """The correlation asked in other ways, each beside fakes."""
    lines = []
    for score in ("coherence", "unbiased"):
        for given in ((), ("n",), ("snr",), ("snr", "n")):
            rho = correlation(table, y=score, given=given)

            def statistic(one: pd.DataFrame, score: str = score, given: tuple[str, ...] = given) -> float:
                return correlation(one, y=score, given=given, n_bootstrap=0).rho

            found = beside_fakes(table, fakes, statistic)
            asked = f"{score}, given {' and '.join(given)}" if given else score
            lines.append(
                [
                    asked,
                    f"none: {rho.reason}" if rho.reason else f"{rho.rho:.3f} [{rho.low:.3f}, {rho.high:.3f}]",
                    f"{found.chance:.2f} [{found.low:.2f}, {found.high:.2f}]",
                    "" if rho.reason else f"{found.p_value:.2g}",
                ]
            )
    return markdown_table(["magnitude with", "real targets", "fakes", "p"], lines)


def settings(adata: anndata.AnnData) -> str:
    X, labels = adata.obsm["X_pca"], adata.obs["target"].to_numpy()
    lines: dict[str, list[str]] = {}
    for score in ("coherence", "unbiased"):
        found = component_ablation(X, labels, "non-targeting", [10, 20, 30, 50], y=score)
        for k, one in found.correlations.items():
            lines.setdefault(k, [k]).append(f"{one['rho']:.3f} [{one['low']:.3f}, {one['high']:.3f}]")
    return markdown_table(["components", "magnitude with coherence", "with unbiased"], list(lines.values()))


def discordant(table: pd.DataFrame) -> str:
    """The targets that moved farther than alike, by both scores."""
    lines = []
    for name, one in {
        "coherence": discordances(table),
        "unbiased": discordances(table, y="unbiased"),
        "unbiased, given n": discordances(table, y="unbiased", given=["n"]),
    }.items():
        ordered = one.sort_values()
        top = ", ".join(f"{gene} ({value:+.2f})" for gene, value in ordered[::-1][:4].items())
        last = ", ".join(f"{gene} ({value:+.2f})" for gene, value in ordered[:4].items())
        lines.append([name, top, last])
    return markdown_table(["score", "moved far, not alike", "alike, not far"], lines)


def stimulated(adata: anndata.AnnData) -> str:
    options = {"control": "control", "per": "cell_type", "n_draws": 999}
    found = bio.coherence_test(adata, "condition", null="pooled", **options)
    genes = bio.coherence_test(adata, "condition", null="pooled", obsm=None, **options)
    controls = (adata.obs["condition"] == "control").groupby(adata.obs["cell_type"]).sum()
    expressed = pd.Series(np.asarray(adata[:, "ISG15"].X.todense()).ravel(), index=adata.obs_names)
    lines = []
    for name, one in found.iterrows():
        kind = name.split(" | ")[1]
        of_type = adata.obs["cell_type"] == kind
        up = [expressed[of_type & (adata.obs["condition"] == c)].mean() for c in ("stimulated", "control")]
        lines.append(
            [
                kind,
                f"{one.n:.0f} / {controls[kind]}",
                f"{one.coherence:.3f}",
                f"{one.chance:.3f}",
                f"{one.p_adj:.2g}",
                f"{one.unbiased:.3f} [{one.unbiased_ci_low:.3f}, {one.unbiased_ci_high:.3f}]",
                f"{genes.unbiased[name]:.3f} (p {genes.p_adj[name]:.2g})",
                f"{up[0] - up[1]:+.2f}",
            ]
        )
    columns = ["cell type", "stimulated / control", "coherence", "chance", "p (BH)", "unbiased", "unbiased, all genes"]
    return markdown_table([*columns, "ISG15"], lines)


def small_groups(adata: anndata.AnnData, table: pd.DataFrame) -> str:
    """What a target would score with 25 of its cells, beside fakes of 25."""
    rng, lines = np.random.default_rng(0), []
    for name in ("STAT1", "IRF1", "ATF2"):
        own = np.flatnonzero(adata.obs["target"] == name)
        drawn = []
        for _ in range(50):
            chosen = rng.choice(own, 25, replace=False)
            part = adata[np.concatenate([np.flatnonzero(adata.obs["target"] == "non-targeting"), chosen])].copy()
            drawn.append(bio.coherence_test(part, "target", n_draws=0).iloc[0])
        some = pd.DataFrame(drawn)
        row = [name, f"{table.n[name]:,.0f}"]
        for score in ("coherence", "unbiased", "magnitude", "unbiased_magnitude"):
            row += [f"{table.loc[name, score]:.3f}", f"{some[score].astype(float).mean():.3f}"]
        lines.append(row)
    columns = ["target", "cells"]
    for score in ("coherence", "unbiased", "magnitude", "magnitude less noise"):
        columns += [score, "of 25 cells"]
    return markdown_table(columns, lines)


def gaussian() -> str:
    """The null model of the paper's Table 67, whose effects and numbers of cells it does not say."""
    lines = [["paper", "0.639 [0.612, 0.664]", "0.999 [0.999, 0.999]", "0.292 [0.253, 0.329]"]]
    for name, options in {
        "effect 0.3, 100 cells": {},
        "effect 1, 100 cells": {"effect": 1.0},
        "effect 0.1, 0.3, 1 or 3, 100 cells": {"effect": [0.1, 0.3, 1.0, 3.0]},
        "no effect, 10 to 400 cells": {"effect": 0.0, "n_cells": SIZES},
    }.items():
        table = null_model(500, **options)
        found = [correlation(table, "magnitude"), correlation(table, "snr"), correlation(table, given=["snr"])]
        lines.append([name, *(f"{one.rho:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in found)])
    return markdown_table(["2,000 perturbations", "magnitude", "SNR", "magnitude, given SNR"], lines)


def picture(controls: np.ndarray, fakes: list[pd.DataFrame], table: pd.DataFrame, real: list[pd.DataFrame]) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    n = np.geomspace(8, 1200, 60).astype(int)
    left.plot(n, [expected_mean_cosine(int(k), 50, len(controls)) for k in n], color="#7f7f7f", label="isotropic noise")
    for score, colour, marker in (("coherence", "#0072b2", "o"), ("unbiased", "#d55e00", "s")):
        values = np.array([[one.loc[str(k), score] for k in SIZES] for one in fakes])
        spread = np.abs(np.quantile(values, [0.025, 0.975], axis=0) - values.mean(axis=0))
        left.errorbar(SIZES, values.mean(axis=0), yerr=spread, color=colour, marker=marker, capsize=3, label=score)
    left.set_xscale("log")
    left.set_xticks([10, 25, 50, 100, 400, 1000], ["10", "25", "50", "100", "400", "1,000"])
    left.set_xticks([], minor=True)
    left.set(xlabel="control cells posing as a target", ylabel="score", title="No effect: coherence falls with n")
    for ax, score, title in (
        (middle, "coherence", "Magnitude and coherence"),
        (right, "unbiased", "Magnitude and the unbiased score"),
    ):
        for one in real[:20]:
            fake = ax.scatter(one["magnitude"], one[score], s=8, color="#bdbdbd", linewidths=0)
        fake.set_label("fake targets of the real sizes, 20 tables")
        ax.scatter(table["magnitude"], table[score], s=28, color="#0072b2", linewidths=0, label="25 targets")
        for name in (*PATHWAY, "SMAD4", "IRF1", "SPI1"):
            ax.annotate(
                name, (table.magnitude[name], table.loc[name, score]), (4, -9), textcoords="offset points", size=7
            )
        ax.set_xscale("log")
        ax.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
        ax.set_xticks([], minor=True)
        ax.set(xlabel="magnitude", ylabel=score, title=title, xlim=(None, 4.5))
    for ax in (left, middle, right):
        ax.axhline(0, color="#7f7f7f", linewidth=0.6)
        ax.legend(frameon=False, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PAGE.with_suffix(".png"), dpi=130)


def main() -> None:
    adata = papalexi()
    controls = adata.obsm["X_pca"][(adata.obs["target"] == "non-targeting").to_numpy()]
    by_size = fake_tables(controls, {str(n): n for n in SIZES}, n_tables=N_TABLES)
    tables: dict[str, str] = {"sizes": sizes(controls, by_size)}
    tables["methods"], found = methods(adata)
    table = found["standard"]
    real = fake_tables(controls, {name: int(n) for name, n in table["n"].items()}, n_tables=N_TABLES, seed=1)
    tables["targets"] = targets(adata, table)
    tables["questions"] = questions(table, real)
    tables["settings"] = settings(adata)
    tables["discordant"] = discordant(table)
    tables["small"] = small_groups(adata, table)
    tables["kang"] = stimulated(kang())
    tables["gaussian"] = gaussian()
    left_out = influence(table)["rho_without"]
    print(f"pathway: places {sorted(table.index.get_loc(name) + 1 for name in PATHWAY)}")
    print(f"above chance at 5 % (BH): {int((table['p_adj'] <= 0.05).sum())} of {len(table)}")
    print(f"leave one out: {left_out.min():.3f} to {left_out.max():.3f}")
    for score in ("coherence", "unbiased"):
        print(f"size with {score}: {correlation(table, 'n', score)}")
        fake = beside_fakes(table, real, lambda t, s=score: -correlation(t, "n", s, n_bootstrap=0).rho)
        print(f"   sign turned round: {fake}")
    picture(controls, by_size, table, real)
    page = (
        PAGE.read_text(encoding="utf-8") if PAGE.exists() else "\n".join(f"<!-- {k} -->\n<!-- end -->" for k in tables)
    )
    for name, text in tables.items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, t=text: m[1] + t + "\n" + m[2], page, flags=re.S
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
