#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.hpp"
#include "differences.hpp"

namespace nestmap {

namespace {

constexpr auto RELAXED = std::memory_order_relaxed;

// The same number for a pair either way round.
inline uint32_t lot(int64_t a, int64_t b, uint32_t round) {
    uint64_t x = ((uint64_t)std::min(a, b) << 32 | (uint64_t)std::max(a, b)) + 0x9e3779b97f4a7c15u * (round + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

// The lowest n bits that are set.
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

// At most 16 parts, the bits of parts_; not so small that a part is not worth a loop over all rows.
int bits_of_part(int64_t n) {
    int bits = 15;
    while (n > 16ll << bits) ++bits;
    return bits;
}

}  // namespace

void Listing::clear(uint32_t round, int64_t first) {
    round_ = round;
    first_ = first;
    for (State& state : state_) {
        state.limit.store(std::numeric_limits<uint32_t>::max(), RELAXED);
        state.n = 0;
    }
}

void Listing::add(int64_t row, int32_t id) {
    const auto key = [&](int32_t other) { return std::pair(lot(row, other, round_), other); };
    State& state = state_[row - first_];
    const auto own = key(id);
    if (own.first > state.limit.load(RELAXED)) return;
    const Hold held(state.held);
    const auto lower = [&](int32_t a, int32_t b) { return key(a) < key(b); };
    int32_t *ids = ids_.data() + (row - first_) * most_, *end = ids + state.n;
    if (state.n < most_) {
        *end++ = id;
        if (++state.n < most_) return;
        std::make_heap(ids, end, lower);  // the highest lot comes first
    } else if (own < key(*ids)) {
        std::pop_heap(ids, end, lower);
        end[-1] = id;
        std::push_heap(ids, end, lower);
    }
    state.limit.store(key(*ids).first, RELAXED);
}

void Listing::prefetch(int64_t row) const {
    for (int j = 0; j < most_; j += 16) __builtin_prefetch(of(row) + j, 1);
    __builtin_prefetch(&state_[row - first_], 1);
}

SharedLists::SharedLists(int64_t n, Lists lists) : lists_(lists), state_(n) {
    for (int64_t i = 0; i < n; ++i) {
        const List list(lists, i);
        state_[i].limit.store(list.limit(), RELAXED);
        for (int j = 0; j < list.k && list.ids[j] >= 0; ++j) {
            checked(list.ids[j], n, "ids");
            state_[i].fresh |= 1ull << j;
        }
    }
}

void SharedLists::prefetch(int64_t row) const {
    for (int j = 0; j < lists_.k; j += 16) {  // a cache line
        __builtin_prefetch(lists_.ids + row * lists_.k + j, 1);
        __builtin_prefetch(lists_.estimates + row * lists_.k + j, 1);
    }
    __builtin_prefetch(&state_[row], 1);
}

void SharedLists::add(int64_t row, const Candidate* candidates, int n) {
    State& state = state_[row];
    const Hold held(state.held);
    const List list(lists_, row);
    const uint64_t all = ~0ull >> (64 - list.k);
    for (const Candidate *c = candidates; c < candidates + n; ++c) {
        const int j = list.add(c->distance, c->id);
        if (j == list.k) continue;
        const uint64_t below = (1ull << j) - 1, old = state.fresh;
        state.fresh = ((old & below) | 1ull << j | (old & ~below) << 1) & all;
    }
    state.limit.store(list.limit(), RELAXED);
}

// All that know one row meet.
template <Norm N>
class Meeting {
public:
    explicit Meeting(Graph& graph)
        : graph_(graph), rows_(graph.cells_.short_rows), most_(4 * graph.most_), limits_(padded(most_)),
          tails_(limits_.size()), sums_(SOME * limits_.size()), columns_(limits_.size()), numbers_(most_),
          candidates_((size_t)most_ * most_) {
        now_.ids.resize(most_);
        next_.ids.resize(most_);
    }
    int64_t n_pairs = 0;

    // The meetings of some rows, one after the other; whoever comes to the next one is fetched from memory meanwhile.
    void hold(int64_t first, int64_t last) {
        const auto next = [&](int64_t i) {
            while (i < last && !graph_.meets_[i]) ++i;
            return i;
        };
        int64_t i = next(first);
        if (i < last) invite(i);
        while (i < last) {
            std::swap(now_, next_);
            i = next(i + 1);
            if (i < last) invite(i);
            meet();
        }
    }

private:
    struct Guests {
        std::vector<int32_t> ids;
        int n = 0, n_fresh = 0;  // the fresh ones come first
    };
    Graph& graph_;
    const ShortRows rows_;
    const int most_;
    Guests now_, next_;
    Floats limits_, tails_, sums_;
    std::vector<const float*> columns_;
    std::vector<int32_t> numbers_;       // of candidates, for each guest
    std::vector<Candidate> candidates_;  // most_ x most_

    static int padded(int n) { return (n + PANEL - 1) / PANEL * PANEL; }

    void invite(int64_t i) {
        next_.n = 0;
        take(i, graph_.chosen_[i], graph_.listing_fresh_);
        next_.n_fresh = next_.n;
        take(i, graph_.others_[i], graph_.listing_known_);
    }
    void take(int64_t i, uint64_t listed, const Listing& listing) {
        for (const int32_t* ids = graph_.ids_.data() + i * graph_.lists_.k; listed; listed &= listed - 1)
            take(ids[__builtin_ctzll(listed)]);
        const int32_t* ids = listing.of(i);
        for (int j = 0; j < listing.number(i); ++j) take(ids[j]);
    }
    void take(int32_t id) {
        if (contains(next_.ids.data(), next_.n, id)) return;
        next_.ids[next_.n++] = id;
        graph_.shared_.prefetch(id);
        const char* row = reinterpret_cast<const char*>(rows_.row(id));
        for (int k = 0; k < rows_.dims * 4; k += 64) __builtin_prefetch(row + k);
    }

    void meet() {
        prepare();
        for (int a = 0; a < now_.n_fresh; a += SOME) {
            const int some = std::min(SOME, now_.n_fresh - a);
            for (int b = (a + 1) / OTHERS * OTHERS; b < now_.n; b += OTHERS) add_columns(a, some, b);
            for (int p = 0; p < some; ++p) compare(a + p, sums_.data() + p * limits_.size());
        }
        for (int j = 0; j < now_.n; ++j)
            if (numbers_[j]) graph_.shared_.add(now_.ids[j], candidates_.data() + (size_t)j * most_, numbers_[j]);
        n_pairs += (int64_t)now_.n_fresh * now_.n;
    }

    void prepare() {
        for (int j = 0; j < padded(now_.n); ++j) {
            const int32_t id = now_.ids[std::min(j, now_.n - 1)];
            columns_[j] = rows_.row(id);
            limits_[j] = j < now_.n ? graph_.shared_.limit(id) : -1.0f;  // nobody is there
            tails_[j] = graph_.tails_[id];
        }
        std::fill(numbers_.begin(), numbers_.begin() + now_.n, 0);
    }

    // `some` guests from the a-th against those from the b-th.
    void add_columns(int a, int some, int b) {
        const float* x[SOME];
        for (int p = 0; p < SOME; ++p) x[p] = columns_[a + std::min(p, some - 1)];
        sum_differences<N>(x, columns_.data() + b, rows_.dims, sums_.data() + b, (int64_t)limits_.size());
    }

    // The i-th guest and those after it: who may belong on whose list?
    void compare(int i, float* sums) {
        const vfloat own = splat(limits_[i]), tail = splat(tails_[i]);
        for (int b = (i + 1) / LANES * LANES; b < now_.n; b += LANES) {
            const vfloat distance = load(sums + b) + tail_estimate<N>(tail, load(tails_.data() + b));
            const uint32_t there = b > i ? ~0u : ~0u << (i + 1 - b);  // those before it have met it
            const uint32_t to_own = mask_le(distance, own) & there;
            const uint32_t to_other = mask_le(distance, load(limits_.data() + b)) & there;
            if ((to_own | to_other) == 0) continue;
            store(sums + b, distance);
            for (uint32_t bits = to_own; bits; bits &= bits - 1) {
                const int j = b + __builtin_ctz(bits);
                if (j < now_.n) put(i, sums[j], j);
            }
            for (uint32_t bits = to_other; bits; bits &= bits - 1) {
                const int j = b + __builtin_ctz(bits);
                put(j, sums[j], i);
            }
        }
    }
    void put(int i, float distance, int j) {
        candidates_[(size_t)i * most_ + numbers_[i]++] = {distance, now_.ids[j]};
    }
};

Graph::Graph(const Cells& cells, Lists lists, int most)
    : cells_(cells), lists_(lists), most_(most), n_(cells.short_rows.n), part_bits_(bits_of_part(n_)),
      shared_(n_, lists), listing_fresh_(begin(1), most), listing_known_(begin(1), most), ids_(n_ * lists.k), chosen_(n_),
      others_(n_), parts_(n_), meets_(n_), tails_(n_) {
    for (int64_t i = 0; i < n_; ++i) tails_[i] = cells.short_rows.tail(i, cells.short_rows.dims);
}

// The nearest of the fresh entries; a fresh one that is not chosen stays fresh.
void Graph::draw(int64_t i) {
    uint64_t listed = 0;
    uint32_t parts = 0;
    for (int j = 0; j < lists_.k && ids_[i * lists_.k + j] >= 0; ++j) {
        const int64_t id = checked(ids_[i * lists_.k + j], n_, "ids");  // the lists are the caller's
        listed |= 1ull << j;
        parts |= 1u << (id >> part_bits_);
    }
    uint64_t& fresh = shared_.fresh(i);
    chosen_[i] = lowest_bits(fresh & listed, most_);
    others_[i] = lowest_bits(listed & ~fresh, most_);
    fresh &= ~chosen_[i];
    parts_[i] = (uint16_t)parts;
}

// Put a row down with those of these entries that are rows of a part.
void Graph::list(int64_t i, int64_t part, uint64_t entries, Listing& listing) const {
    const int32_t* ids = ids_.data() + i * lists_.k;
    uint64_t inside = 0;
    for (; entries; entries &= entries - 1) {
        const int j = __builtin_ctzll(entries);
        if (ids[j] >> part_bits_ != part) continue;
        inside |= 1ull << j;
        listing.prefetch(ids[j]);
    }
    const bool is_known = &listing == &listing_known_;
    for (; inside; inside &= inside - 1) {
        const int32_t id = ids[__builtin_ctzll(inside)];
        if (!is_known || meets_[id]) listing.add(id, (int32_t)i);
    }
}

// Who lists the rows of a part, and which of them meet.
void Graph::find_listing(int64_t part, int n_threads, const Poll& poll) {
    const auto for_listing = [&](auto&& body) {
        for_blocks(0, n_, n_threads, poll, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; ++i)
                if (parts_[i] >> part & 1) body(i);
        });
    };
    listing_fresh_.clear(round_, begin(part));
    listing_known_.clear(round_, begin(part));
    for_listing([&](int64_t i) { list(i, part, chosen_[i], listing_fresh_); });
    for (int64_t i = begin(part); i < begin(part + 1); ++i) meets_[i] = chosen_[i] || listing_fresh_.number(i) > 0;
    for_listing([&](int64_t i) { list(i, part, others_[i], listing_known_); });
}

template <Norm N>
int64_t Graph::meet(int64_t part, int n_threads, const Poll& poll) {
    std::vector<Meeting<N>> meetings(n_threads, Meeting<N>(*this));
    for_blocks(begin(part), begin(part + 1), n_threads, poll,
               [&](int64_t first, int64_t last, int id) { meetings[id].hold(first, last); });
    int64_t n_pairs = 0;
    for (const auto& meeting : meetings) n_pairs += meeting.n_pairs;
    return n_pairs;
}

// Who lists whom is found part by part: for all rows at once it takes more memory than the lists themselves.
int64_t Graph::improve(int n_threads, const Poll& poll) {
    std::copy(lists_.ids, lists_.ids + n_ * lists_.k, ids_.begin());
    for_blocks(0, n_, n_threads, [&](double) { poll(0); }, [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; ++i) draw(i);
    });
    int64_t n_pairs = 0;
    for (int64_t part = 0; begin(part) < n_; ++part) {
        const auto share = [&](double met) { return (begin(part) + met * (begin(part + 1) - begin(part))) / n_; };
        find_listing(part, n_threads, [&](double) { poll(share(0)); });
        const Poll some = [&](double met) { poll(share(met)); };
        n_pairs += cells_.norm == Norm::L2 ? meet<Norm::L2>(part, n_threads, some)
                                           : meet<Norm::L1>(part, n_threads, some);
    }
    ++round_;
    return n_pairs;
}

int64_t Graph::n_fresh() {
    int64_t n = 0;
    for (int64_t i = 0; i < n_; ++i) n += __builtin_popcountll(shared_.fresh(i));
    return n;
}

}  // namespace nestmap
