"""Arrays, threads, progress, kernels, input and point sets; nothing here knows the method."""
