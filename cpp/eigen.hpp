// Eigenvectors of small symmetric matrices, and orthonormal rows: the same bits on every machine, as LAPACK's are not.
// What is computed is said by the twins in src/nestmap/core/native/eigen.py.
#pragma once
#include <cstdint>

#include "parallel.hpp"

namespace nestmap {

// Of each of `count` symmetric matrices (n x n, largest entry about 1): eigenvalues, ascending, and the matrix is
// replaced by the eigenvectors, in its rows.
void eigenvectors(double* matrices, int64_t count, int64_t n, double* values, int n_threads, const Poll& poll);

// Rows become orthonormal, each without what those before it hold; what is left of dependent ones is replaced.
void orthonormal(double* rows, int64_t n_rows, int64_t n);

}  // namespace nestmap
