"""The figures that the paper prints (Sarfraz, Koulakis et al., CVPR 2022), for the columns beside
ours.
"""

from __future__ import annotations

METHODS = ("h-NNE", "t-SNE", "FIt-SNE", "UMAP", "PaCMAP")
OURS = {
    "h-NNE": "nestmap",
    "t-SNE": "t-sne",
    "FIt-SNE": "fit-sne",
    "UMAP": "umap",
    "PaCMAP": "pacmap",
}
MACHINE = "32 cores (AMD Threadripper 2990WX), 128 GB"

# Table 2: trustworthiness, k = 5
TRUSTWORTHINESS = {
    "coil20": (0.994, 0.998, 0.998, 0.996, 0.985),
    "mnist": (0.983, 0.989, 0.991, 0.958, 0.950),
    "fashion_mnist": (0.981, 0.991, 0.992, 0.977, 0.966),
    "cifar10": (0.907, 0.927, 0.932, 0.829, 0.818),
    "bbt": (0.982, 0.99, 0.99, 0.966, 0.958),
    "buffy": (0.976, 0.988, 0.99, 0.954, 0.952),
    "imagenet": (0.928, None, 0.956, 0.895, 0.822),
    "higgs": (0.849, None, 0.979, 0.909, 0.899),
    "mnist8m": (0.967, None, 0.956, None, 0.945),
}

# Table 3: centroid triplet accuracy
TRIPLETS = {
    "coil20": (0.799, 0.778, 0.769, 0.705, 0.758),
    "mnist": (0.671, 0.711, 0.748, 0.804, 0.713),
    "fashion_mnist": (0.925, 0.784, 0.848, 0.848, 0.866),
    "cifar10": (0.911, 0.921, 0.929, 0.927, 0.932),
    "bbt": (0.644, 0.600, 0.711, 0.556, 0.666),
    "buffy": (0.857, 0.571, 0.543, 0.657, 0.704),
    "imagenet": (0.604, None, 0.639, 0.605, 0.646),
    "mnist8m": (0.774, None, 0.744, None, 0.735),
}

# Table 4: seconds
RUN_TIME = {
    "coil20": (1, 8, 7, 18, 2),
    "mnist": (9, 328, 84, 54, 37),
    "fashion_mnist": (7, 337, 80, 58, 38),
    "cifar10": (14, 515, 144, 62, 39),
    "bbt": (58, 3452, 290, 248, 98),
    "buffy": (50, 3660, 307, 258, 102),
    "google_news": (214, None, 3136, 4745, 4444),
    "imagenet": (311, None, 2369, 2950, 1820),
    "higgs": (745, None, 10168, 13984, 18454),
    "mnist8m": (1312, None, 10574, None, 11327),
}

# Supplement, table 1: 1-NN accuracy, trustworthiness, triplets, seconds; 50,000 new rows of
# ImageNet
NEW_POINTS = {
    "UMAP": (0.238, 0.752, 0.595, 107),
    "FIt-SNE": (0.526, 0.933, 0.637, 68),
    "h-NNE": (0.518, 0.937, 0.618, 19),
}

# Supplement, table 2: 1-NN accuracy, trustworthiness, triplets by preliminary embedding
PRELIMINARY = {
    "coil20": {
        "random": (0.988, 0.988, 0.577),
        "random_projection": (0.991, 0.992, 0.666),
        "pca": (0.989, 0.993, 0.799),
        "pca_centroids": (0.990, 0.994, 0.799),
    },
    "mnist": {
        "random": (0.946, 0.970, 0.630),
        "random_projection": (0.960, 0.982, 0.715),
        "pca": (0.962, 0.984, 0.752),
        "pca_centroids": (0.965, 0.983, 0.671),
    },
    "fashion_mnist": {
        "random": (0.782, 0.926, 0.564),
        "random_projection": (0.820, 0.955, 0.688),
        "pca": (0.823, 0.976, 0.896),
        "pca_centroids": (0.826, 0.981, 0.925),
    },
    "bbt": {
        "random": (0.985, 0.946, 0.529),
        "random_projection": (0.990, 0.971, 0.618),
        "pca": (0.992, 0.974, 0.703),
        "pca_centroids": (0.992, 0.982, 0.644),
    },
    "buffy": {
        "random": (0.967, 0.951, 0.621),
        "random_projection": (0.976, 0.968, 0.516),
        "pca": (0.982, 0.975, 0.867),
        "pca_centroids": (0.975, 0.976, 0.857),
    },
    "imagenet": {
        "random": (0.436, 0.857, 0.589),
        "random_projection": (0.560, 0.931, 0.624),
        "pca": (0.567, 0.933, 0.654),
        "pca_centroids": (0.557, 0.928, 0.604),
    },
}

# Supplement, table 3: NMI of k-means, in percent: original space, FIt-SNE, UMAP, PaCMAP, h-NNE
NMI = {
    "bbt": (89.7, 55.3, 54.2, 61.4, 87.6),
    "buffy": (76.1, 53.2, 48.1, 41.5, 74.7),
    "imagenet": (74.3, 71.8, 70.7, 63.9, 70.9),
    "mnist8m": (61.3, 55.5, None, 57.7, 59.6),
}


def printed(table: dict[str, tuple[float | None, ...]], data: str) -> dict[str, float | None]:
    """The paper's row for a data set, by our name of the method; empty if it has none."""
    return dict(zip((OURS[m] for m in METHODS), table[data], strict=True)) if data in table else {}
