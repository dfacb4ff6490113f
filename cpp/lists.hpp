// Neighbour lists, and the estimated distances that they are sorted by.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cells.hpp"

namespace nestmap {

// For each row the k nearest ones so far (positions in cell order; -1: none), ascending by the estimated distance.
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

// Least excess of an estimate over the lower bound, for tails of at most a and b.
template <Norm N>
inline float above_bound(float a, float b) {
    return N == Norm::L2 ? a * b * (1 - 0x1p-20f) : 0;
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
    // Insert by (distance, position). Returns the index of the entry; k if it is there already, or not near enough.
    int add(float away, int32_t id) const { return away > limit() || has(id) ? k : insert(away, id); }

private:
    // Entries after the new one move back, one vector at a time.
    int insert(float away, int32_t id) const {
        const auto comes_after = [&](int j) { return away < estimates[j] || (away == estimates[j] && id < ids[j]); };
        const vfloat own = splat(away);
        const vint own_id = splat(id);
        int end = k;
        for (; end >= LANES; end -= LANES) {
            const int first = end - LANES;
            const vfloat old = load(estimates + first);
            const vint old_id = load(ids + first);
            const vint moves = (own < old) | ((own == old) & (own_id < old_id));
            const int n_moving = count(moves);
            if (n_moving == 0) return end;
            const bool more = first > 0 && comes_after(first - 1);
            const vint moved_before = shift_in(moves, more ? -1 : 0);
            const vfloat before = shift_in(old, more ? estimates[first - 1] : away);
            const vint id_before = shift_in(old_id, more ? ids[first - 1] : id);
            store(estimates + first, moves ? (moved_before ? before : own) : old);
            store(ids + first, moves ? (moved_before ? id_before : own_id) : old_id);
            if (!more) return end - n_moving;
        }
        for (; end > 0 && comes_after(end - 1); --end) {  // the first k % LANES entries
            if (end == k) continue;
            estimates[end] = estimates[end - 1];
            ids[end] = ids[end - 1];
        }
        if (end < k) {
            estimates[end] = away;
            ids[end] = id;
        }
        return end;
    }
};

}  // namespace nestmap
