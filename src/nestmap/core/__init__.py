"""What knows nothing of the method: arrays, threads, progress, kernels and their twins, input, points."""
