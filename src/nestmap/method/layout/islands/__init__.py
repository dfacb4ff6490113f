"""The islands: t-SNE's forces on the hierarchy, coarse to fine.

Up to 20,000 rows, or the lowest level with at most 20,000 nodes, start at the preliminary embedding
and are laid out as t-SNE would; they decide the large picture. Each level below starts around its
parents, nearly right, so that a few steps do.
"""
