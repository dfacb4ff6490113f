"""dask: fits on a cluster, and rows of dask arrays and frames placed chunk by chunk; dask is imported where it is used."""
