"""How good is a map? The measures of the paper, and a few more, for maps by any method.

| question | function |
|---|---|
| are neighbours in the map true neighbours? | `trustworthiness`, `pointwise_trustworthiness` |
| do true neighbours stay together? | `continuity` |
| how many of the 10 nearest are the same? | `neighborhood_recall`, `pointwise_recall` |
| are classes found again from neighbours? | `knn_accuracy` |
| … and by clustering the map? | `cluster_nmi` |
| do distances between classes keep their order? | `centroid_triplet_accuracy` |
| … and distances between any rows? | `random_triplet_accuracy` |
| does the map use its space? | `map_fill` |
| all of it in one call | `map_quality` |
"""

from .views.metrics._distortion import Distortion
from .views.metrics._global import centroid_triplet_accuracy, map_fill, random_triplet_accuracy
from .views.metrics._inputs import Estimate
from .views.metrics._labels import ClusterNMI, cluster_nmi, knn_accuracy
from .views.metrics._local import (
    continuity,
    neighborhood_recall,
    pointwise_recall,
    pointwise_trustworthiness,
    trustworthiness,
)
from .views.metrics._summary import MapQuality, map_quality

__all__ = [
    "ClusterNMI",
    "Distortion",
    "Estimate",
    "MapQuality",
    "centroid_triplet_accuracy",
    "cluster_nmi",
    "continuity",
    "knn_accuracy",
    "map_fill",
    "map_quality",
    "neighborhood_recall",
    "pointwise_recall",
    "pointwise_trustworthiness",
    "random_triplet_accuracy",
    "trustworthiness",
]
