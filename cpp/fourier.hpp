// The potential of charges on a grid, by fast Fourier transforms: the same bits on every machine. What is computed is
// said by the twins in src/nestmap/core/native/fourier.py.
#pragma once
#include <cstdint>

#include "parallel.hpp"

namespace nestmap {

// One axis: `length` of its transform, a product of 2, 3 and 5, and exp(-2 pi i k / length) for all k.
template <class T>
struct Roots {
    int64_t length;
    const T *re, *im;
};

// Charges (rows x cols) times the transfer function, (roots.cols / 2 + 1) x roots.rows, which holds the factor of
// the transforms' lengths as well; what wraps around is cut off.
void convolve(const float* charges, int64_t rows, int64_t cols, const Roots<float>& of_rows,
              const Roots<float>& of_cols, const float* transfer, float* potential, int n_threads, const Poll& poll);

// The transform of real values that are even along both axes: (rows / 2 + 1) x (cols / 2 + 1) of them, and as many of
// the result, which is transposed.
void even_transform(const double* values, const Roots<double>& of_rows, const Roots<double>& of_cols, double* out,
                    int n_threads, const Poll& poll);

}  // namespace nestmap
