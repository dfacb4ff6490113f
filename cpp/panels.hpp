// Rows side by side, column by column, and what is computed on them: the register tile, and the lower bounds of
// distances that follow from it. How rows are packed is known to this file only.
#pragma once
#include <cstdint>
#include <limits>

#include "isa.hpp"
#include "rows.hpp"

namespace nestmap {

// Blocks of SIDE rows. Column k of a row lies SIDE floats behind column k - 1; behind `width` columns follows the
// row's size, as lower_bound expects it.
template <int SIDE>
class Blocks {
public:
    static int64_t number(int64_t n_rows) { return (n_rows + SIDE - 1) / SIDE; }
    static const float* sizes(const float* block, int width) { return block + width * SIDE; }

    // Room for n_rows, and no row in what is left of the last block.
    void resize(int64_t n_rows, int width) {
        width_ = width;
        values_.resize(number(n_rows) * stride());
        for (int64_t i = n_rows; i < number(n_rows) * SIDE; ++i) put_none(i);
    }
    // Row i: all columns but the last, the last one, and the size.
    void put(int64_t i, const float* columns, float last, float size) {
        float* lane = lane_of(i);
        for (int k = 0; k + 1 < width_; ++k) lane[k * SIDE] = columns[k];
        lane[(width_ - 1) * SIDE] = last;
        lane[width_ * SIDE] = size;
    }
    // No row: a bound that is NaN is below no limit.
    void put_none(int64_t i) { lane_of(i)[width_ * SIDE] = std::numeric_limits<float>::quiet_NaN(); }

    bool empty() const { return values_.empty(); }
    const float* operator[](int64_t block) const { return values_.data() + block * stride(); }

private:
    int width_ = 0;
    Floats values_;
    int64_t stride() const { return (int64_t)(width_ + 1) * SIDE; }
    float* lane_of(int64_t i) { return values_.data() + i / SIDE * stride() + i % SIDE; }
};
using Panels = Blocks<PANEL>;
using RowGroups = Blocks<TILE_ROWS>;  // as many rows as a tile takes

// 16 bounds, one for each row of a panel.
using Bounds = vfloat[VECTORS];

template <Norm N>
inline void add_term(vfloat& sum, vfloat column, float s) {
    if constexpr (N == Norm::L2)
        sum += column * s;
    else
        sum += absolute(column - s);
}

// acc[m] = sum over k of row[m][k] * panel[k] (L2) or |row[m][k] - panel[k]| (L1), everything in registers.
template <Norm N, int M>
inline void tile(const float* group, const float* panel, int width, Bounds (&acc)[M]) {
    for (int m = 0; m < M; ++m)
        for (int v = 0; v < VECTORS; ++v) acc[m][v] = vfloat{};
    for (int k = 0; k < width; ++k, group += TILE_ROWS, panel += PANEL) {
        vfloat b[VECTORS];
        for (int v = 0; v < VECTORS; ++v) b[v] = load(panel + v * LANES);
#pragma GCC unroll 6
        for (int m = 0; m < M; ++m) {
            const float s = group[m];
            for (int v = 0; v < VECTORS; ++v) add_term<N>(acc[m][v], b[v], s);
        }
    }
}

// From sums to a lower bound of the (squared) distance: |a|^2 + |b|^2 - 2ab, or the sum itself. The margins for
// rounding are already inside the sizes `na` and `nb` (see Cells::with_margin).
template <Norm N>
inline vfloat lower_bound(vfloat acc, float na, vfloat nb) {
    return N == Norm::L2 ? (nb + na) - 2.0f * acc : (nb + na) + acc;
}

// Bounds of the first n rows of a group (at most M) against a panel: take(m, bounds) for each row.
template <Norm N, int M, class Take>
inline void bound_group(const float* group, int n, const float* panel, int width, Take&& take) {
    Bounds acc[M];
    tile<N, M>(group, panel, width, acc);
    const float *sizes = RowGroups::sizes(group, width), *panel_sizes = Panels::sizes(panel, width);
#pragma GCC unroll 6
    for (int m = 0; m < M; ++m) {
        if (m >= n) break;
        for (int v = 0; v < VECTORS; ++v)
            acc[m][v] = lower_bound<N>(acc[m][v], sizes[m], load(panel_sizes + v * LANES));
        take(m, acc[m]);
    }
}

// Bounds of one row, not packed, against a panel.
template <Norm N>
inline void bound_row(const float* row, float size, const float* panel, int width, Bounds& bounds) {
    Bounds acc[4] = {};  // four sums hide the latency of one
    const auto add = [&](Bounds& sum, int k) {
        for (int v = 0; v < VECTORS; ++v) add_term<N>(sum[v], load(panel + k * PANEL + v * LANES), row[k]);
    };
    int k = 0;
    for (; k + 4 <= width; k += 4)
        for (int u = 0; u < 4; ++u) add(acc[u], k + u);
    for (; k < width; ++k) add(acc[0], k);
    for (int v = 0; v < VECTORS; ++v)
        bounds[v] = lower_bound<N>((acc[0][v] + acc[1][v]) + (acc[2][v] + acc[3][v]), size,
                                   load(Panels::sizes(panel, width) + v * LANES));
}

// One bit per row of the panel, set where its bound is at most the limit.
inline uint32_t mask_le(const Bounds& bounds, vfloat limit) {
#if defined(__aarch64__)  // lanes shrink to bytes, each keeps its bit, and eight of them are added
    const auto is_low = [&](int v) { return vmovn_u32((uint32x4_t)(bounds[v] <= limit)); };
    const uint8x8_t first = vmovn_u16(vcombine_u16(is_low(0), is_low(1)));
    const uint8x8_t last = vmovn_u16(vcombine_u16(is_low(2), is_low(3)));
    const uint8x8_t bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddv_u8(vand_u8(first, bit)) | (uint32_t)vaddv_u8(vand_u8(last, bit)) << 8;
#else
    uint32_t bits = 0;
    for (int v = 0; v < VECTORS; ++v) bits |= mask_le(bounds[v], limit) << (v * LANES);
    return bits;
#endif
}

// Bounds as numbers that can be sorted: one that is NaN, of squares that overflow, says nothing, and the lowest
// number takes its place.
inline void store_numbers(float* out, const Bounds& bounds) {
    const vfloat lowest = splat(std::numeric_limits<float>::lowest());
    for (int v = 0; v < VECTORS; ++v) store(out + v * LANES, bounds[v] > lowest ? bounds[v] : lowest);
}

}  // namespace nestmap
