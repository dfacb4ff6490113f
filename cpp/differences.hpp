// Distances of short rows by differences, several at once in registers.
#pragma once
#include "isa.hpp"
#include "rows.hpp"

namespace nestmap {

constexpr int SOME = 3, OTHERS = 4;  // rows against rows at once: what fits into registers

// Of every eighth column from `first` on, in the lanes of a vector.
template <Norm N, int M>
inline void add_differences(const float* const (&x)[M], const float* const* y, int first, int dims,
                            vfloat (&sum)[M][OTHERS]) {
    for (int k = first; k < dims; k += 8) {
        vfloat row[M];
        for (int p = 0; p < M; ++p) row[p] = load(x[p] + k);
#pragma GCC unroll 4
        for (int q = 0; q < OTHERS; ++q) {
            const vfloat other = load(y[q] + k);
#pragma GCC unroll 3
            for (int p = 0; p < M; ++p) {
                const vfloat d = row[p] - other;
                sum[p][q] += N == Norm::L2 ? d * d : absolute(d);
            }
        }
    }
}

// Sums over the columns (a multiple of 8): x[p] against y[q] goes to out[p * stride + q]. Without cancellation, and in
// the same order for each pair and on every instruction set: eight running sums, of vectors of four one half after the
// other. For files that are compiled with -ffp-contract=off.
template <Norm N, int M>
inline void sum_differences(const float* const (&x)[M], const float* const* y, int dims, float* out, int64_t stride) {
    for (int half = 0; half < 8 / LANES; ++half) {
        vfloat sum[M][OTHERS];
        for (int p = 0; p < M; ++p)
            for (int q = 0; q < OTHERS; ++q) sum[p][q] = vfloat{};
        add_differences<N>(x, y, half * LANES, dims, sum);
#pragma GCC unroll 3
        for (int p = 0; p < M; ++p) {
            float of_half[OTHERS];
            sum_four(sum[p], of_half);
            for (int q = 0; q < OTHERS; ++q)
                out[p * stride + q] = half ? out[p * stride + q] + of_half[q] : of_half[q];
        }
    }
}

}  // namespace nestmap
