// Distances of short rows by differences, several at once in registers.
#pragma once
#include "isa.hpp"
#include "rows.hpp"

namespace nestmap {

constexpr int SOME = 3, OTHERS = 4;  // rows against rows at once: what fits into registers

// Sums over the columns (a multiple of LANES): x[p] against y[q] goes to out[p * stride + q]. Without cancellation, and
// in the same order for each pair: the same bits wherever two rows are compared.
template <Norm N, int M>
inline void sum_differences(const float* const (&x)[M], const float* const* y, int dims, float* out, int64_t stride) {
    vfloat sum[M][OTHERS];
    for (int p = 0; p < M; ++p)
        for (int q = 0; q < OTHERS; ++q) sum[p][q] = vfloat{};
    for (int k = 0; k < dims; k += LANES) {
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
#pragma GCC unroll 3
    for (int p = 0; p < M; ++p) sum_four(sum[p], out + p * stride);
}

}  // namespace nestmap
