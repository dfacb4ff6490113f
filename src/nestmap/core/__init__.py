"""What knows nothing of the method: arrays, threads, progress, kernels and twins, input, points."""
