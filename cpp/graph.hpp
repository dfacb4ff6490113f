// The k-nearest-neighbour graph, improved in rounds by descent.
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

// Held while a row's entries are written: for moments, so waiting is spinning, unless whoever holds it does not run.
class Hold {
public:
    explicit Hold(std::atomic<uint8_t>& held) : held_(held) {
        while (held_.exchange(1, std::memory_order_acquire))
            for (int spins = 0; held_.load(std::memory_order_relaxed); ++spins)
                if (spins > 100) std::this_thread::yield();
    }
    ~Hold() { held_.store(0, std::memory_order_release); }
    Hold(const Hold&) = delete;

private:
    std::atomic<uint8_t>& held_;
};

// For each row of a part up to `most` of the rows that list it. Where there are more, lots decide, which belong to a
// pair and a round: who comes first makes no difference.
class Listing {
public:
    Listing(int64_t n, int most) : most_(most), ids_(n * most), state_(n) {}
    void clear(uint32_t round, int64_t first);  // now for the rows from `first` on
    void add(int64_t row, int32_t id);
    void prefetch(int64_t row) const;
    const int32_t* of(int64_t row) const { return ids_.data() + (row - first_) * most_; }
    int number(int64_t row) const { return state_[row - first_].n; }

private:
    struct State {
        std::atomic<uint32_t> limit;  // a higher lot is surely not taken
        std::atomic<uint8_t> held;
        uint8_t n;
    };
    const int most_;
    uint32_t round_ = 0;
    int64_t first_ = 0;
    std::vector<int32_t> ids_;  // once there are `most` of them, a heap
    std::vector<State> state_;
};

// A row that may belong on another one's list.
struct Candidate {
    float distance;
    int32_t id;
};

// Lists that rows of a graph write to from several threads. A list is the best of all that it has met, by distance and
// then position: again, who comes first makes no difference. Bit j of fresh(i) says that no round has looked at entry j.
class SharedLists {
public:
    SharedLists(int64_t n, Lists lists);
    float limit(int64_t row) const { return state_[row].limit.load(std::memory_order_relaxed); }
    // n different candidates for the list of a row.
    void add(int64_t row, const Candidate* candidates, int n);
    void prefetch(int64_t row) const;
    uint64_t& fresh(int64_t row) { return state_[row].fresh; }

private:
    struct State {  // together, since it is read together
        std::atomic<float> limit;
        std::atomic<uint8_t> held;
        uint64_t fresh;
    };
    const Lists lists_;
    std::vector<State> state_;
};

class Graph {
public:
    static constexpr int MOST_LISTED = 64;  // entries of a list: the bits of a mask

    // Starts from lists with at most MOST_LISTED entries of rows that were met, all of them fresh.
    Graph(const Cells& cells, Lists lists, int most);
    Graph(const Graph&) = delete;

    // One round: of the rows that a row lists, and of those that list it, up to `most` fresh and as many other ones
    // each meet. Every fresh one meets all others: near rows have near neighbours. Returns the number of pairs.
    int64_t improve(int n_threads, const Poll& poll);

    int64_t n_fresh();  // entries that no round has looked at

private:
    const Cells& cells_;
    const Lists lists_;
    const int most_;
    const int64_t n_;
    const int part_bits_;  // a part is 2^part_bits_ rows: they meet before who lists the next ones is looked up
    uint32_t round_ = 0;
    SharedLists shared_;
    Listing listing_fresh_, listing_known_;  // of one part
    std::vector<int32_t> ids_;      // the lists as they were when the round began
    std::vector<uint64_t> chosen_;  // which of their entries are met as fresh ones,
    std::vector<uint64_t> others_;  // and which as known ones
    std::vector<uint16_t> parts_;   // bit p: some of these entries are rows of part p
    std::vector<uint8_t> meets_;    // whether a row holds a meeting: it has a fresh partner
    std::vector<float> tails_;

    void draw(int64_t row);
    int64_t begin(int64_t part) const { return std::min(n_, part << part_bits_); }
    void list(int64_t row, int64_t part, uint64_t entries, Listing& listing) const;
    void find_listing(int64_t part, int n_threads, const Poll& poll);
    template <Norm N>
    int64_t meet(int64_t part, int n_threads, const Poll& poll);
    template <Norm N>
    friend class Meeting;
};

}  // namespace nestmap
