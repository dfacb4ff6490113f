#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.hpp"
#include "differences.hpp"

namespace nestmap {

namespace {

constexpr auto RELAXED = std::memory_order_relaxed;

// Priority of a pair in the sampling of reverse neighbours: a hash, symmetric in a and b.
inline uint32_t priority(int64_t a, int64_t b, uint32_t round) {
    uint64_t x = ((uint64_t)std::min(a, b) << 32 | (uint64_t)std::max(a, b)) + 0x9e3779b97f4a7c15u * (round + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

// The n lowest of the bits that are set.
inline uint64_t lowest_bits(uint64_t bits, int n) {
    uint64_t rest = bits;
    for (; n > 0 && rest; --n) rest &= rest - 1;
    return bits & ~rest;
}

template <class Body>
void for_blocks(int64_t first, int64_t last, int n_threads, const Poll& poll, Body&& body) {
    constexpr int64_t BLOCK = 256;
    parallel_for((last - first + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int id) {
        body(first + task * BLOCK, std::min(last, first + (task + 1) * BLOCK), id);
    });
}

// At most 16 parts, the bits of parts_, of at least 32,768 rows: each part costs a loop over all rows.
int bits_of_part(int64_t n) {
    int bits = 15;
    while (n > 16ll << bits) ++bits;
    return bits;
}

}  // namespace

void ReverseLists::clear(uint32_t round, int64_t first) {
    round_ = round;
    first_ = first;
    for (State& state : state_) {
        state.limit.store(std::numeric_limits<uint32_t>::max(), RELAXED);
        state.n = 0;
    }
}

void ReverseLists::add(int64_t row, int32_t id) {
    const auto key = [&](int32_t other) { return std::pair(priority(row, other, round_), other); };
    State& state = state_[row - first_];
    const auto own = key(id);
    if (own.first > state.limit.load(RELAXED)) return;
    const RowLock lock(state.locked);
    const auto lower = [&](int32_t a, int32_t b) { return key(a) < key(b); };
    int32_t* ids = ids_.data() + (row - first_) * max_candidates_;
    int32_t* end = ids + state.n;
    if (state.n < max_candidates_) {
        *end++ = id;
        if (++state.n < max_candidates_) return;
        std::make_heap(ids, end, lower);  // the highest priority comes first
    } else if (own < key(*ids)) {
        std::pop_heap(ids, end, lower);
        end[-1] = id;
        std::push_heap(ids, end, lower);
    }
    state.limit.store(key(*ids).first, RELAXED);
}

void ReverseLists::prefetch(int64_t row) const {
    for (int j = 0; j < max_candidates_; j += 16) __builtin_prefetch(of(row) + j, 1);
    __builtin_prefetch(&state_[row - first_], 1);
}

ConcurrentLists::ConcurrentLists(int64_t n, Lists lists) : lists_(lists), state_(n) {
    for (int64_t i = 0; i < n; ++i) {
        const List list(lists, i);
        state_[i].limit.store(list.limit(), RELAXED);
        for (int j = 0; j < list.k && list.ids[j] >= 0; ++j) {
            checked(list.ids[j], n, "ids");
            state_[i].new_entries |= 1ull << j;
        }
    }
}

void ConcurrentLists::prefetch(int64_t row) const {
    for (int j = 0; j < lists_.k; j += 16) {  // a cache line
        __builtin_prefetch(lists_.ids + row * lists_.k + j, 1);
        __builtin_prefetch(lists_.estimates + row * lists_.k + j, 1);
    }
    __builtin_prefetch(&state_[row], 1);
}

void ConcurrentLists::add(int64_t row, const Update* updates, int n) {
    State& state = state_[row];
    const RowLock lock(state.locked);
    const List list(lists_, row);
    const uint64_t all = ~0ull >> (64 - list.k);
    for (const Update* update = updates; update < updates + n; ++update) {
        const int j = list.add(update->distance, update->id);
        if (j == list.k) continue;
        const uint64_t below = (1ull << j) - 1;
        const uint64_t before = state.new_entries;
        state.new_entries = ((before & below) | 1ull << j | (before & ~below) << 1) & all;
    }
    state.limit.store(list.limit(), RELAXED);
}

// The local join around one row: its neighbours and reverse neighbours are compared with each other.
template <Norm N>
class LocalJoin {
public:
    explicit LocalJoin(Graph& graph)
        : graph_(graph), rows_(graph.cells_.short_rows), capacity_(4 * graph.max_candidates_),
          limits_(padded(capacity_)), tails_(limits_.size()), sums_(SOME * limits_.size()), columns_(limits_.size()),
          n_updates_(capacity_), updates_((size_t)capacity_ * capacity_) {
        current_.ids.resize(capacity_);
        next_.ids.resize(capacity_);
    }
    int64_t n_pairs = 0;

    // The joins around some rows, one after the other; the rows of the next join are prefetched meanwhile.
    void run(int64_t first, int64_t last) {
        const auto next = [&](int64_t i) {
            while (i < last && !graph_.has_join_[i]) ++i;
            return i;
        };
        int64_t i = next(first);
        if (i < last) collect(i);
        while (i < last) {
            std::swap(current_, next_);
            i = next(i + 1);
            if (i < last) collect(i);
            join();
        }
    }

private:
    struct Candidates {
        std::vector<int32_t> ids;
        int n = 0;
        int n_new = 0;  // the new ones come first
    };
    Graph& graph_;
    const ShortRows rows_;
    const int capacity_;  // new and old, neighbours and reverse neighbours
    Candidates current_, next_;
    Floats limits_, tails_, sums_;
    std::vector<const float*> columns_;
    std::vector<int32_t> n_updates_;  // for the list of each candidate
    std::vector<Update> updates_;     // capacity_ x capacity_

    static int padded(int n) { return (n + PANEL - 1) / PANEL * PANEL; }

    // The candidates of the join around row i.
    void collect(int64_t i) {
        next_.n = 0;
        take(i, graph_.sampled_new_[i], graph_.reverse_new_);
        next_.n_new = next_.n;
        take(i, graph_.sampled_old_[i], graph_.reverse_old_);
    }
    void take(int64_t i, uint64_t listed, const ReverseLists& reverse) {
        for (const int32_t* ids = graph_.ids_.data() + i * graph_.lists_.k; listed; listed &= listed - 1)
            take(ids[__builtin_ctzll(listed)]);
        const int32_t* ids = reverse.of(i);
        for (int j = 0; j < reverse.size(i); ++j) take(ids[j]);
    }
    void take(int32_t id) {
        if (contains(next_.ids.data(), next_.n, id)) return;
        next_.ids[next_.n++] = id;
        graph_.updated_.prefetch(id);
        const char* row = reinterpret_cast<const char*>(rows_.row(id));
        for (int k = 0; k < rows_.dims * 4; k += 64) __builtin_prefetch(row + k);
    }

    void join() {
        prepare();
        for (int a = 0; a < current_.n_new; a += SOME) {
            const int some = std::min(SOME, current_.n_new - a);
            for (int b = (a + 1) / OTHERS * OTHERS; b < current_.n; b += OTHERS) add_columns(a, some, b);
            for (int p = 0; p < some; ++p) compare(a + p, sums_.data() + p * limits_.size());
        }
        for (int j = 0; j < current_.n; ++j)
            if (n_updates_[j])
                graph_.updated_.add(current_.ids[j], updates_.data() + (size_t)j * capacity_, n_updates_[j]);
        n_pairs += (int64_t)current_.n_new * current_.n;
    }

    void prepare() {
        for (int j = 0; j < padded(current_.n); ++j) {
            const int32_t id = current_.ids[std::min(j, current_.n - 1)];
            columns_[j] = rows_.row(id);
            limits_[j] = j < current_.n ? graph_.updated_.limit(id) : -1.0f;  // padding
            tails_[j] = graph_.tails_[id];
        }
        std::fill(n_updates_.begin(), n_updates_.begin() + current_.n, 0);
    }

    // Distances of `some` candidates from the a-th on to those from the b-th on.
    void add_columns(int a, int some, int b) {
        const float* x[SOME];
        for (int p = 0; p < SOME; ++p) x[p] = columns_[a + std::min(p, some - 1)];
        sum_differences<N>(x, columns_.data() + b, rows_.dims, sums_.data() + b, (int64_t)limits_.size());
    }

    // The i-th candidate and those after it: updates of their lists.
    void compare(int i, float* sums) {
        const vfloat own = splat(limits_[i]), tail = splat(tails_[i]);
        for (int b = (i + 1) / LANES * LANES; b < current_.n; b += LANES) {
            const vfloat distance = load(sums + b) + tail_estimate<N>(tail, load(tails_.data() + b));
            const uint32_t there = b > i ? ~0u : ~0u << (i + 1 - b);  // pairs with earlier ones are done
            const uint32_t to_own = mask_le(distance, own) & there;
            const uint32_t to_other = mask_le(distance, load(limits_.data() + b)) & there;
            if ((to_own | to_other) == 0) continue;
            store(sums + b, distance);
            for (uint32_t bits = to_own; bits; bits &= bits - 1) {
                const int j = b + __builtin_ctz(bits);
                if (j < current_.n) update(i, sums[j], j);
            }
            for (uint32_t bits = to_other; bits; bits &= bits - 1) {
                const int j = b + __builtin_ctz(bits);
                update(j, sums[j], i);
            }
        }
    }
    void update(int i, float distance, int j) {
        updates_[(size_t)i * capacity_ + n_updates_[i]++] = {distance, current_.ids[j]};
    }
};

Graph::Graph(const Cells& cells, Lists lists, int max_candidates)
    : cells_(cells), lists_(lists), max_candidates_(max_candidates), n_(cells.short_rows.n),
      part_bits_(bits_of_part(n_)), updated_(n_, lists), reverse_new_(begin(1), max_candidates),
      reverse_old_(begin(1), max_candidates), ids_(n_ * lists.k), sampled_new_(n_), sampled_old_(n_), parts_(n_),
      has_join_(n_), tails_(n_) {
    for (int64_t i = 0; i < n_; ++i) tails_[i] = cells.short_rows.tail(i, cells.short_rows.dims);
}

// Sample the nearest new and the nearest old entries. A new entry that is not sampled stays new.
void Graph::sample(int64_t i) {
    uint64_t listed = 0;
    uint32_t parts = 0;
    for (int j = 0; j < lists_.k && ids_[i * lists_.k + j] >= 0; ++j) {
        const int64_t id = checked(ids_[i * lists_.k + j], n_, "ids");  // the lists are the caller's
        listed |= 1ull << j;
        parts |= 1u << (id >> part_bits_);
    }
    uint64_t& new_entries = updated_.new_entries(i);
    sampled_new_[i] = lowest_bits(new_entries & listed, max_candidates_);
    sampled_old_[i] = lowest_bits(listed & ~new_entries, max_candidates_);
    new_entries &= ~sampled_new_[i];
    parts_[i] = (uint16_t)parts;
}

// Add row i to the reverse list of each neighbour in this part.
void Graph::add_reverse(int64_t i, int64_t part, uint64_t entries, ReverseLists& reverse) const {
    const int32_t* ids = ids_.data() + i * lists_.k;
    uint64_t inside = 0;
    for (; entries; entries &= entries - 1) {
        const int j = __builtin_ctzll(entries);
        if (ids[j] >> part_bits_ != part) continue;
        inside |= 1ull << j;
        reverse.prefetch(ids[j]);
    }
    const bool is_old = &reverse == &reverse_old_;
    for (; inside; inside &= inside - 1) {
        const int32_t id = ids[__builtin_ctzll(inside)];
        if (!is_old || has_join_[id]) reverse.add(id, (int32_t)i);
    }
}

// Reverse neighbours of the rows of a part, and which of these rows have a join.
void Graph::gather_reverse(int64_t part, int n_threads, const Poll& poll) {
    const auto for_rows = [&](auto&& body) {
        for_blocks(0, n_, n_threads, poll, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; ++i)
                if (parts_[i] >> part & 1) body(i);
        });
    };
    reverse_new_.clear(round_, begin(part));
    reverse_old_.clear(round_, begin(part));
    for_rows([&](int64_t i) { add_reverse(i, part, sampled_new_[i], reverse_new_); });
    for (int64_t i = begin(part); i < begin(part + 1); ++i)
        has_join_[i] = sampled_new_[i] || reverse_new_.size(i) > 0;
    for_rows([&](int64_t i) { add_reverse(i, part, sampled_old_[i], reverse_old_); });
}

template <Norm N>
int64_t Graph::join_part(int64_t part, int n_threads, const Poll& poll) {
    std::vector<LocalJoin<N>> joins(n_threads, LocalJoin<N>(*this));
    for_blocks(begin(part), begin(part + 1), n_threads, poll,
               [&](int64_t first, int64_t last, int id) { joins[id].run(first, last); });
    int64_t n_pairs = 0;
    for (const auto& join : joins) n_pairs += join.n_pairs;
    return n_pairs;
}

// Reverse neighbours are gathered part by part: those of all rows would take more memory than the lists.
int64_t Graph::improve(int n_threads, const Poll& poll) {
    std::copy(lists_.ids, lists_.ids + n_ * lists_.k, ids_.begin());
    for_blocks(0, n_, n_threads, [&](double) { poll(0); }, [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; ++i) sample(i);
    });
    int64_t n_pairs = 0;
    for (int64_t part = 0; begin(part) < n_; ++part) {
        const auto share = [&](double joined) {
            return (begin(part) + joined * (begin(part + 1) - begin(part))) / n_;
        };
        gather_reverse(part, n_threads, [&](double) { poll(share(0)); });
        const Poll some = [&](double joined) { poll(share(joined)); };
        n_pairs += cells_.norm == Norm::L2 ? join_part<Norm::L2>(part, n_threads, some)
                                           : join_part<Norm::L1>(part, n_threads, some);
    }
    ++round_;
    return n_pairs;
}

int64_t Graph::n_new() {
    int64_t n = 0;
    for (int64_t i = 0; i < n_; ++i) n += __builtin_popcountll(updated_.new_entries(i));
    return n;
}

}  // namespace nestmap
