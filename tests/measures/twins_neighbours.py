"""Neighbours found by sorting all rows, ties by row number, and what is made of them."""

import numpy as np


def distance(x, y, metric):
    """Smaller is nearer."""
    if metric == "dot":
        return -(x * y).sum()
    if metric == "correlation":
        x, y = x - x.mean(), y - y.mean()
    if metric != "euclidean":
        x, y = x / np.sqrt((x * x).sum()), y / np.sqrt((y * y).sum())
    # Half the squared distance of unit rows is the cosine distance, with all its digits.
    return ((x - y) ** 2).sum() / 2


def nearest(X, k, metric, include_self=False):
    distances = np.array([[distance(x, y, metric) for y in X] for x in X])
    # Equal in exact arithmetic is equal here: rounding must not break a tie.
    distances = np.round(distances / np.abs(distances).max(), 11)
    lists = []
    for i, own in enumerate(distances):
        others = [j for j in range(len(X)) if include_self or j != i]
        lists.append([j for _, j in sorted((own[j], j) for j in others)][:k])
    return lists


def both(X, Y, k, metric):
    return list(zip(nearest(X, k, metric), nearest(Y, k, metric), strict=True))


def jaccard(X, Y, k=10, metric="cosine"):
    return np.mean([len(set(a) & set(b)) / len(set(a) | set(b)) for a, b in both(X, Y, k, metric)])


def mutual_knn(X, Y, k=10, metric="cosine"):
    return np.mean([len(set(a) & set(b)) / k for a, b in both(X, Y, k, metric)])


def rank_similarity(X, Y, k=10, metric="cosine"):
    values = []
    for a, b in both(X, Y, k, metric):
        common, total = set(a) & set(b), 0.0
        for j in common:
            r, s = a.index(j) + 1, b.index(j) + 1
            total += 2 / ((1 + abs(r - s)) * (r + s))
        values.append(total / sum(1 / m for m in range(1, len(common) + 1)) if common else 0.0)
    return np.mean(values)


def second_order_cosine(X, Y, k=10, similarities=False):
    values = []
    for i, (a, b) in enumerate(both(X, Y, k, "cosine")):
        union = sorted(set(a) | set(b))
        u, v = (np.array([distance(side[i], side[j], "cosine") for j in union]) for side in (X, Y))
        if similarities:
            u, v = 1 - u, 1 - v
        values.append(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
    return np.mean(values)


def cycle_knn(X, Y, k=10, metric="dot"):
    in_x, in_y = nearest(X, k, metric), nearest(Y, k, metric)
    return np.mean([any(i in in_x[j] for j in in_y[i]) for i in range(len(X))])


def cknna(X, Y, k=10, center=True, include_self=False, product="frobenius"):
    n = len(X)
    H = np.eye(n) - 1 / n
    kernels, masks = [], []
    for side in (X, Y):
        rows = side - side.mean(axis=0) if center else side
        mask = np.zeros((n, n))
        for i, near in enumerate(nearest(rows, k, "dot", include_self)):
            mask[i, near] = 1
        kernels.append(rows @ rows.T)
        masks.append(mask)
    (K, L), (M, N) = kernels, masks

    def products(A, B):
        if product == "frobenius":
            return ((H @ A @ H) * (H @ B @ H)).sum()
        if product == "trace":
            return np.trace(A @ H @ B @ H)
        A, B = A - np.diag(np.diag(A)), B - np.diag(np.diag(B))
        return np.trace(A @ B) + A.sum() * B.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (A @ B).sum()

    shared = products(M * N * K, M * N * L)
    return shared / np.sqrt(products(M * K, M * K) * products(N * L, N * L))


def heat_trace(X, k):
    adjacency = np.zeros((len(X), len(X)))
    for i, near in enumerate(nearest(X, k, "euclidean")):
        adjacency[i, near] = adjacency[near, i] = 1
    degree = adjacency.sum(axis=0)
    laplacian = np.eye(len(X)) - adjacency / np.sqrt(np.outer(degree, degree))
    eigenvalues = np.linalg.eigvalsh(laplacian)
    return np.array([np.mean(np.exp(-t * eigenvalues)) for t in np.geomspace(0.1, 10, 256)])


def imd(X, Y, k=5):
    times = np.geomspace(0.1, 10, 256)
    gap = np.abs(heat_trace(X, k) - heat_trace(Y, k))
    return 1e6 * max(np.exp(-2 * (t + 1 / t)) * difference for t, difference in zip(times, gap, strict=True))


METRICS = [
    {"k": 3},
    {"k": 1},
    *({"k": 4, "metric": metric} for metric in ("cosine", "correlation", "euclidean", "dot")),
]
TWINS = {
    "Jaccard": (jaccard, METRICS),
    "RankSim": (rank_similarity, METRICS),
    "mutual kNN": (mutual_knn, METRICS),
    "cycle kNN": (cycle_knn, METRICS),
    "2nd-Cos": (second_order_cosine, [{"k": 4}, {"k": 4, "similarities": True}]),
    "CKNNA": (
        cknna,
        [
            {"k": 4, "center": center, "product": product}
            for center in (True, False)
            for product in ("frobenius", "trace", "unbiased")
        ]
        + [
            {"k": 4, "include_self": True},
            {"k": 4, "include_self": True, "product": "unbiased"},
            {"k": 4, "include_self": True, "center": False, "product": "trace"},
        ],
    ),
    "IMD": (imd, [{"k": 3}, {"k": 4}]),
}
