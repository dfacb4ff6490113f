// The register tile: TILE_ROWS rows against one panel of 16 columns, everything in registers.
#pragma once
#include <algorithm>

#include "isa.hpp"
#include "rows.hpp"

namespace nestmap {

// acc[m] = sum over k of row[m][k] * panel[k] (L2) or |row[m][k] - panel[k]| (L1), 16 columns each.
// `rows` is packed: element k of row m at rows[k * TILE_ROWS + m].
template <Norm N, int M>
inline void tile(const float* rows, const float* panel, int dims, vfloat (&acc)[M][VECTORS]) {
    for (int m = 0; m < M; ++m)
        for (int v = 0; v < VECTORS; ++v) acc[m][v] = vfloat{};
    for (int k = 0; k < dims; ++k, rows += TILE_ROWS, panel += PANEL) {
        vfloat b[VECTORS];
        for (int v = 0; v < VECTORS; ++v) b[v] = load(panel + v * LANES);
#pragma GCC unroll 6
        for (int m = 0; m < M; ++m) {
            const float s = rows[m];
            for (int v = 0; v < VECTORS; ++v) {
                if constexpr (N == Norm::L2) {
                    acc[m][v] += b[v] * s;
                } else {
                    acc[m][v] += absolute(b[v] - s);
                }
            }
        }
    }
}

// From the tile's sums to a lower bound of the (squared) distance: |a|^2 + |b|^2 - 2ab, or the sum
// itself. The margins for rounding are already inside `na` and `nb` (see Cells).
template <Norm N>
inline vfloat lower_bound(vfloat acc, float na, vfloat nb) {
    return N == Norm::L2 ? (nb + na) - 2.0f * acc : (nb + na) + acc;
}

// A bound that is not a number (its squares overflow) says nothing: the lowest number takes its place, for
// selections and sorts know no order with NaN.
inline vfloat number(vfloat bound) {
    const vfloat lowest = splat(std::numeric_limits<float>::lowest());
    return bound > lowest ? bound : lowest;
}

}  // namespace nestmap
