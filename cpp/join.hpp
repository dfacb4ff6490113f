// The first-neighbour join: for every row, its nearest other row, exact.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cells.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace nestmap {

// The best neighbour so far of every row (by position). Threads share it: a bound that one thread
// has improved saves work in the others, and the result, a minimum by (distance, id), does not
// depend on the order of the offers. Of equal distances the row that comes before the other (see Rows) is taken.
class Best {
public:
    Best(const Cells& cells, const Rows& rows);  // `rows`: those that are found
    // Start from what an earlier call had found: distances, and ids (-1: nothing yet).
    void set(int64_t position, double distance, int64_t id);
    void offer(int64_t position, double distance, int64_t id);
    // Never below the best distance, in float, with room for the rounding of bounds near zero.
    float limit(int64_t position) const { return limits_[position].load(std::memory_order_relaxed); }
    // How far from the row a better one can be in short rows: the root of the limit, and what
    // rounding may add.
    float reach(int64_t position) const { return reaches_[position].load(std::memory_order_relaxed); }

    std::vector<double> distances;
    std::vector<int64_t> ids;

private:
    const Cells& cells_;
    const Rows& rows_;
    std::unique_ptr<std::atomic<float>[]> limits_, reaches_;
    std::unique_ptr<std::atomic_flag[]> locks_;
};

struct JoinCounts {
    int64_t pairs = 0;     // pairs whose bound was computed by a tile
    int64_t refined = 0;   // pairs that passed and were bounded in all columns of the short rows
    int64_t verified = 0;  // pairs whose distance was computed by definition
};

// Pairs of cells that an earlier call has joined: bit a * n_cells + b.
class PairSet {
public:
    PairSet(const PairSet&) = delete;
    explicit PairSet(int64_t n_cells) : n_(n_cells), words_((n_cells * n_cells + 63) / 64) {}
    int64_t n_cells() const { return n_; }
    bool insert(int64_t a, int64_t b) {  // true if the pair is new
        if (a > b) std::swap(a, b);
        const int64_t bit = a * n_ + b;
        return !(words_[bit / 64].fetch_or(1ull << (bit % 64)) & (1ull << (bit % 64)));
    }

private:
    int64_t n_;
    std::vector<std::atomic<uint64_t>> words_;
};

// Join the cells with themselves. Each cell is joined with its `n_visit` nearest cells (all: n_visit >=
// n_cells), each pair of cells once over all calls with the same `done`. With all cells met, `best`
// is the brute-force result, ties to the lower id.
JoinCounts self_join(const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done, Best& best,
                     int n_threads, const Poll& poll);

// The nearest row of `cells` for every query, exact. `best` may start from an upper bound, with an id or without (-1).
// Queries from the same Rows do not find themselves.
JoinCounts query(const Cells& queries, const Rows& query_rows, const Cells& cells, const Rows& rows, Best& best,
                 int n_threads, const Poll& poll);

}  // namespace nestmap
