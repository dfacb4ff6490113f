"""Section 3.2: the preliminary embedding, one map for rows and centroids."""
