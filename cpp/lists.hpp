// The most promising rows of each row, and the distance that says which they are.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cells.hpp"

namespace nestmap {

// Of each row the k most promising ones so far (positions in cell order; -1: none), ascending by the distance
// between short rows, which never exceeds the true one.
struct Lists {
    int k;
    int32_t* ids;   // n x k
    float* bounds;  // n x k
};

// Distance of two short rows, by differences: no cancellation. Squared for L2; any larger value as soon as it is
// known to be above `limit`.
template <Norm N>
inline float short_distance(const ShortRows& r, int64_t a, int64_t b, float limit) {
    const float *x = r.row(a), *y = r.row(b);
    const float t = r.tail(a, r.dims) - r.tail(b, r.dims);
    float total = N == Norm::L2 ? t * t : std::fabs(t);
    for (int k = 0; k < r.dims;) {
        vfloat sum = {}, other = {};
        for (const int stop = std::min(r.dims, k + 64); k < stop; k += 2 * LANES) {  // dims is a multiple of 16
            const vfloat d = load(x + k) - load(y + k), e = load(x + k + LANES) - load(y + k + LANES);
            sum += N == Norm::L2 ? d * d : absolute(d);
            other += N == Norm::L2 ? e * e : absolute(e);
        }
        total += sum_lanes(sum + other);
        if (total > limit) break;
    }
    return total;
}

// Whether a number is among n others.
inline bool contains(const int32_t* values, int n, int32_t value) {
    int32_t found = 0;  // no bool: the loop becomes vectors
    for (int j = 0; j < n; ++j) found |= -(int32_t)(values[j] == value);
    return found != 0;
}

// One row's list.
struct List {
    int k;
    int32_t* ids;
    float* bounds;
    List(const Lists& l, int64_t i) : k(l.k), ids(l.ids + i * l.k), bounds(l.bounds + i * l.k) {}
    float limit() const { return bounds[k - 1]; }
    bool has(int32_t id) const { return contains(ids, k, id); }
    template <Norm N>
    void meet(const ShortRows& r, int64_t own, int32_t id) {
        add(short_distance<N>(r, own, id, limit()), id);
    }
    void add(float bound, int32_t id) {
        if (!(bound < limit()) || has(id)) return;
        int j = k - 1;
        for (; j > 0 && bounds[j - 1] > bound; --j) {
            bounds[j] = bounds[j - 1];
            ids[j] = ids[j - 1];
        }
        bounds[j] = bound;
        ids[j] = id;
    }
};

}  // namespace nestmap
