// The most promising rows of each row, and the distance that says which they are.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cells.hpp"

namespace nestmap {

// Of each row the k most promising ones so far (positions in cell order; -1: none), ascending by the estimated
// distance.
struct Lists {
    int k;
    int32_t* ids;   // n x k
    float* estimates;  // n x k
};

// What the tails of two rows add to the distance of their short rows. For L2 their difference is the least that it
// can be, and that is too little for all rows alike: what is left out of two near rows makes an angle of about 60
// degrees (images), so their product is added, and near rows are told apart better.
template <Norm N, class V>
inline V tail_estimate(V a, V b) {
    const V d = a - b;
    return N == Norm::L2 ? d * d + a * b : (d > 0 ? d : -d);
}

// By so much does an estimate exceed the lower bound, at least, if the tails do not exceed these.
template <Norm N>
inline float above_bound(float a, float b) {
    return N == Norm::L2 ? a * b * (1 - 0x1p-20f) : 0;
}

// The estimated distance of two rows, by differences: no cancellation. Squared for L2; any larger value as soon as it
// is known to be above `limit`.
template <Norm N>
inline float estimate(const ShortRows& r, int64_t a, int64_t b, float limit) {
    const float *x = r.row(a), *y = r.row(b);
    float total = tail_estimate<N>(r.tail(a, r.dims), r.tail(b, r.dims));
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
    float* estimates;
    List(const Lists& l, int64_t i) : k(l.k), ids(l.ids + i * l.k), estimates(l.estimates + i * l.k) {}
    float limit() const { return estimates[k - 1]; }
    bool has(int32_t id) const { return contains(ids, k, id); }
    template <Norm N>
    void meet(const ShortRows& r, int64_t own, int32_t id) {
        add(estimate<N>(r, own, id, limit()), id);
    }
    void add(float away, int32_t id) {
        if (!(away < limit()) || has(id)) return;
        int j = k - 1;
        for (; j > 0 && estimates[j - 1] > away; --j) {
            estimates[j] = estimates[j - 1];
            ids[j] = ids[j - 1];
        }
        estimates[j] = away;
        ids[j] = id;
    }
};

}  // namespace nestmap
