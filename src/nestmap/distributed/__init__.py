"""dask: fits on a cluster, and new rows placed chunk by chunk. dask is imported where used."""
