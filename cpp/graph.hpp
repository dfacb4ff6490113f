// NN-descent: rounds of local joins that improve a k-nearest-neighbour graph.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "cells.hpp"
#include "lists.hpp"
#include "parallel.hpp"

namespace nestmap {

// A spin lock on one row's state, held for a few instructions. It yields where the holder seems not to run.
class RowLock {
public:
    explicit RowLock(std::atomic<uint8_t>& held) : held_(held) {
        while (held_.exchange(1, std::memory_order_acquire))
            for (int spins = 0; held_.load(std::memory_order_relaxed); ++spins)
                if (spins > 100) std::this_thread::yield();
    }
    ~RowLock() { held_.store(0, std::memory_order_release); }
    RowLock(const RowLock&) = delete;

private:
    std::atomic<uint8_t>& held_;
};

// Reverse neighbours: for each row of a part up to `max_candidates` rows that have it on their lists. Of more, a
// sample: those of the lowest priorities, which are hashes of a pair and a round, so that the order of insertion is
// irrelevant.
class ReverseLists {
public:
    ReverseLists(int64_t n, int max_candidates)
        : max_candidates_(max_candidates), ids_(n * max_candidates), state_(n) {}
    void clear(uint32_t round, int64_t first);  // for the part that begins with row `first`
    void add(int64_t row, int32_t id);
    void prefetch(int64_t row) const;
    const int32_t* of(int64_t row) const { return ids_.data() + (row - first_) * max_candidates_; }
    int size(int64_t row) const { return state_[row - first_].n; }

private:
    struct State {
        std::atomic<uint32_t> limit;  // a higher priority is surely not sampled
        std::atomic<uint8_t> locked;
        uint8_t n;
    };
    const int max_candidates_;
    uint32_t round_ = 0;
    int64_t first_ = 0;
    std::vector<int32_t> ids_;  // a heap by priority once a row has max_candidates
    std::vector<State> state_;
};

// A row that may enter another row's list.
struct Update {
    float distance;
    int32_t id;
};

// Neighbour lists that several threads update. A list keeps the best of all updates by (distance, position), so their
// order is irrelevant. Bit j of new_entries(i): entry j is a new neighbour, which has not been in a local join yet.
class ConcurrentLists {
public:
    ConcurrentLists(int64_t n, Lists lists);
    float limit(int64_t row) const { return state_[row].limit.load(std::memory_order_relaxed); }
    // n updates of a row's list, of different rows.
    void add(int64_t row, const Update* updates, int n);
    void prefetch(int64_t row) const;
    uint64_t& new_entries(int64_t row) { return state_[row].new_entries; }

private:
    struct State {  // on one cache line: all of it is read for an update
        std::atomic<float> limit;
        std::atomic<uint8_t> locked;
        uint64_t new_entries;
    };
    const Lists lists_;
    std::vector<State> state_;
};

class Graph {
public:
    static constexpr int MAX_LISTED = 64;  // entries of a list: the bits of a mask

    // Starts from lists of at most MAX_LISTED entries, all of them new neighbours.
    Graph(const Cells& cells, Lists lists, int max_candidates);
    Graph(const Graph&) = delete;

    // One round: a local join around each row, of up to `max_candidates` new and as many old neighbours, and of as many
    // new and old reverse neighbours. New ones are compared with all others. Returns the number of pairs.
    int64_t improve(int n_threads, const Poll& poll);

    int64_t n_new();  // entries that have not been in a local join

private:
    const Cells& cells_;
    const Lists lists_;
    const int max_candidates_;
    const int64_t n_;
    const int part_bits_;  // a part is 2^part_bits_ rows; reverse neighbours are gathered for one part at a time
    uint32_t round_ = 0;
    ConcurrentLists updated_;
    ReverseLists reverse_new_, reverse_old_;  // of one part
    std::vector<int32_t> ids_;           // the lists as they were when the round began
    std::vector<uint64_t> sampled_new_;  // masks of the entries that take part in the join as new neighbours
    std::vector<uint64_t> sampled_old_;  // and as old ones
    std::vector<uint16_t> parts_;        // bit p: some entries are rows of part p
    std::vector<uint8_t> has_join_;      // rows with a new neighbour or a new reverse neighbour
    std::vector<float> tails_;

    void sample(int64_t row);
    int64_t begin(int64_t part) const { return std::min(n_, part << part_bits_); }
    void add_reverse(int64_t row, int64_t part, uint64_t entries, ReverseLists& reverse) const;
    void gather_reverse(int64_t part, int n_threads, const Poll& poll);
    template <Norm N>
    int64_t join_part(int64_t part, int n_threads, const Poll& poll);
    template <Norm N>
    friend class LocalJoin;
};

}  // namespace nestmap
