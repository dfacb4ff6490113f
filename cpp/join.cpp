#include "join.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nestmap {

namespace {

constexpr int64_t N_LOCKS = 4096;

float round_up(double d) { return (float)(d * (1 + 0x1p-21)) + 1e-36f; }

struct Pair {
    int32_t a, b;  // positions
    float bound;   // lower bound of the distance, less the margin for rounding
    float limit;   // what it was compared with: the larger of the two rows' limits
};

// Rows that have something to find in a cell, and from which of its panels on.
struct Active {
    std::vector<int32_t> rows, first_panel;
};

// One worker's view of a join between two sets of cells (the same set twice in a self join).
template <Norm N>
class Worker {
public:
    Worker(const Cells& a, const Rows& rows_a, Best& best_a, const Cells& b, const Rows& rows_b, Best* best_b)
        : a_(a), b_(b), rows_a_(rows_a), rows_b_(rows_b), best_a_(best_a), best_b_(best_b) {}

    JoinCounts counts;

    void begin(int64_t cell) {
        cell_ = cell;
        all_.rows.resize(a_.cell_size(cell));
        std::iota(all_.rows.begin(), all_.rows.end(), (int32_t)a_.starts[cell]);
        all_.first_panel.assign(all_.rows.size(), 0);
        pack_rows(a_, all_.rows, packed_all_);
    }

    // First bounds: verify each row's most promising partner in cell e.
    void seed(int64_t e) {
        seeds_.assign(all_.rows.size(), {-1, -1, INFINITY, INFINITY});
        each_tile<false>(all_, packed_all_, a_, b_, e, [&] {
            for (const Pair& p : pairs()) {
                Pair& s = seeds_[p.a - all_.rows[0]];
                if (s.a < 0 || p.bound < s.bound) s = p;
            }
        });
        for (const Pair& p : seeds_)
            if (p.a >= 0) verify(p);
    }

    // All rows of the current cell against cell e, one way (also: a cell against itself).
    void join_one_way(int64_t e) {
        if (near(a_, best_a_, cell_, b_, e, active_) == 0) return;
        pack_rows(a_, active_.rows, packed_);
        each_tile<false>(active_, packed_, a_, b_, e, [&] { refine(); });
    }

    // Both ways: rows of the current cell and rows of e may find each other.
    void join_both_ways(int64_t e) {
        const int64_t one_way =
            near(a_, best_a_, cell_, b_, e, active_) + near(b_, *best_b_, e, a_, cell_, active_other_);
        if (one_way == 0) return;
        if (one_way >= a_.cell_size(cell_) * b_.cell_panels(e)) {
            each_tile<true>(all_, packed_all_, a_, b_, e, [&] { refine(); });
            return;
        }
        if (!active_.rows.empty()) {
            pack_rows(a_, active_.rows, packed_);
            each_tile<true>(active_, packed_, a_, b_, e, [&] { refine(); });
        }
        if (!active_other_.rows.empty()) {
            pack_rows(b_, active_other_.rows, packed_);
            each_tile<true>(active_other_, packed_, b_, a_, cell_, [&] {
                for (size_t i = 0; i < n_pairs_; ++i) std::swap(pairs_[i].a, pairs_[i].b);
                refine();
            });
        }
    }

    // Cells that no row within `reach` can need are skipped at once.
    bool ruled_out(int64_t e, double centre_distance, double reach) const {
        const double gap = centre_distance - a_.radius(cell_) - b_.radius(e);
        return gap - a_.cell_slack(cell_) - b_.cell_slack(e) > reach;
    }

private:
    const Cells &a_, &b_;
    const Rows &rows_a_, &rows_b_;
    Best& best_a_;
    Best* best_b_;  // null: one-way query
    int64_t cell_ = 0;
    Active all_, active_, active_other_;
    RowGroups packed_all_, packed_;
    Floats other_limits_;
    std::vector<Pair> pairs_, seeds_;
    std::vector<std::pair<int32_t, int32_t>> found_;
    std::vector<int64_t> starts_;
    size_t n_pairs_ = 0;

    // Rows of `cell` that the triangle inequality does not keep away from cell e of `other`, by the
    // first panel that they need; returns the number of (row, panel) pairs.
    int64_t near(const Cells& own, const Best& best, int64_t cell, const Cells& other, int64_t e, Active& out) {
        const float size = own.with_margin(other.centre_size(e));
        const float slack = (float)(other.cell_slack(e) * (1 + 0x1p-20));
        const float far = (float)(other.radius(e) * (1 + 0x1p-20)) + slack;
        const int64_t n_panels = other.cell_panels(e);
        found_.clear();
        out.rows.clear();
        if (n_panels == 0) return 0;
        starts_.assign(n_panels + 1, 0);
        for (int64_t p = 0; p < own.cell_panels(cell); ++p) {
            Bounds bounds;
            bound_row<N>(other.centre(e), size, own.panel(cell, p), own.width, bounds);
            const int64_t first = own.starts[cell] + p * PANEL;
            float within[PANEL] = {};
            for (int l = 0; l < std::min<int64_t>(PANEL, own.starts[cell + 1] - first); ++l)
                within[l] = best.reach(first + l);
            for (int v = 0; v < VECTORS; ++v) {
                const vfloat bound = bounds[v];
                const vfloat w = load(within + v * LANES) + far;
                for (uint32_t bits = mask_le(bound, N == Norm::L2 ? w * w : w); bits; bits &= bits - 1) {
                    const int lane = __builtin_ctz(bits), l = v * LANES + lane;
                    const float away = N == Norm::L2 ? std::sqrt(std::max(0.0f, bound[lane])) : bound[lane];
                    const float inner = away * (1 - 0x1p-20f) - within[l] - slack;
                    int32_t q = 0;
                    while (q + 1 < n_panels && other.panel_radius(e, q) < inner) ++q;
                    found_.push_back({(int32_t)(first + l), q});
                    ++starts_[q + 1];
                }
            }
        }
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        out.rows.resize(found_.size());
        out.first_panel.resize(found_.size());
        int64_t meetings = 0;
        for (const auto& [row, q] : found_) {
            out.rows[starts_[q]] = row;
            out.first_panel[starts_[q]++] = q;
            meetings += n_panels - q;
        }
        return meetings;
    }

    // Collect the pairs of listed rows x cell e whose bound still matters to the row (or, BothWays, to
    // the column), and hand them to take() some thousands at a time.
    template <bool BothWays, class Take>
    void each_tile(const Active& active, const RowGroups& packed, const Cells& own,
                   const Cells& other, int64_t e, Take&& take) {
        const std::vector<int32_t>& rows = active.rows;
        if (BothWays) {
            other_limits_.assign(other.cell_panels(e) * PANEL, 0.0f);
            for (int64_t i = 0; i < other.cell_size(e); ++i)
                other_limits_[i] = best_of(other).limit(other.starts[e] + i);
        }
        pairs_.resize(FLUSH_AT + TILE_ROWS * PANEL);
        n_pairs_ = 0;
        const int64_t n = rows.size();
        for (int64_t g = 0; g < n; g += TILE_ROWS) {
            const float* group = packed[g / TILE_ROWS];
            const int left = (int)std::min<int64_t>(n - g, TILE_ROWS);
            for (int64_t p = active.first_panel[g]; p < other.cell_panels(e); ++p) {
                if (left == 1)
                    tile_pairs<BothWays, 1>(rows.data() + g, left, group, own, other, e, p);
                else if (left <= SMALL)
                    tile_pairs<BothWays, SMALL>(rows.data() + g, left, group, own, other, e, p);
                else
                    tile_pairs<BothWays, TILE_ROWS>(rows.data() + g, left, group, own, other, e, p);
                counts.pairs += left * PANEL;
                if (n_pairs_ >= FLUSH_AT) {
                    take();
                    n_pairs_ = 0;
                }
            }
        }
        take();
        n_pairs_ = 0;
    }
    static constexpr int SMALL = TILE_ROWS >= 6 ? 3 : 2;
    static constexpr size_t FLUSH_AT = 2048;

    Best& best_of(const Cells& cells) { return best_b_ && &cells == &b_ ? *best_b_ : best_a_; }

    struct Span {
        const Pair *first, *last;
        const Pair* begin() const { return first; }
        const Pair* end() const { return last; }
    };
    Span pairs() const { return {pairs_.data(), pairs_.data() + n_pairs_}; }

    template <bool BothWays, int M>
    void tile_pairs(const int32_t* rows, int n, const float* group, const Cells& own, const Cells& other,
                    int64_t e, int64_t p) {
        const float* panel_limits = BothWays ? other_limits_.data() + p * PANEL : nullptr;
        const int32_t first = (int32_t)(other.starts[e] + p * PANEL);
        const bool same = &own == &other && cell_ == e;
        const Best& best = best_of(own);
        Pair* out = pairs_.data() + n_pairs_;
        bound_group<N, M>(group, n, other.panel(e, p), own.width, [&](int m, const Bounds& lower) {
            const vfloat own_limit = splat(best.limit(rows[m]));
            float bounds[PANEL], limits[PANEL];
            uint32_t bits = 0;  // one loop per row of 16: fewer exits to mispredict
            for (int v = 0; v < VECTORS; ++v) {
                vfloat limit = own_limit;
                if (BothWays) {
                    const vfloat l = load(panel_limits + v * LANES);
                    limit = l > limit ? l : limit;
                }
                store(bounds + v * LANES, lower[v]);
                store(limits + v * LANES, limit);
                bits |= mask_le(lower[v], limit) << (v * LANES);
            }
            for (; bits; bits &= bits - 1) {
                const int lane = __builtin_ctz(bits);
                *out = {rows[m], first + lane, bounds[lane], limits[lane]};
                out += !(same && out->a == out->b);
            }
        });
        n_pairs_ = out - pairs_.data();
    }

    // NaN bounds (of values whose squares overflow) are below no limit: none is among the pairs that are sorted.
    // Tighten the bounds of the collected pairs in more and more columns of the short rows, then verify the most
    // promising first: each success lowers a limit and saves verifications.
    void refine() {
        counts.refined += n_pairs_;
        for (int k = a_.head, step = 16; k < a_.short_rows.dims && n_pairs_; k += step, step *= 2)
            tighten(k, std::min(a_.short_rows.dims, k + step));
        std::sort(pairs_.begin(), pairs_.begin() + n_pairs_,
                  [](const Pair& x, const Pair& y) { return x.bound < y.bound; });
        for (size_t i = 0; i < n_pairs_; ++i) {
            if (i + 2 < n_pairs_) rows_b_.prefetch(b_.short_rows.ids[pairs_[i + 2].b]);
            if (pairs_[i].bound <= limit_of(pairs_[i])) verify(pairs_[i]);
        }
    }

    // Add columns k to stop to all bounds and keep the pairs that still pass. No branch depends on a
    // bound: most fail, but which do cannot be foreseen.
    void tighten(int k, int stop) {
        const int dims = a_.short_rows.dims, n_tails = dims >> 3;
        const float *za = a_.short_rows.z, *zb = b_.short_rows.z;
        const float *ta = a_.short_rows.tails, *tb = b_.short_rows.tails;
        const int from = (k >> 3) - 1, to = (stop >> 3) - 1;
        size_t kept = 0;
        for (size_t i = 0; i < n_pairs_; ++i) {
            if (i + 8 < n_pairs_) {
                const int64_t ahead = pairs_[i + 8].b;
                __builtin_prefetch(zb + ahead * dims + k);
                __builtin_prefetch(zb + ahead * dims + k + 15);
                __builtin_prefetch(tb + ahead * n_tails + to);
            }
            Pair p = pairs_[i];
            const float *xa = za + (int64_t)p.a * dims, *xb = zb + (int64_t)p.b * dims;
            const float *ya = ta + (int64_t)p.a * n_tails, *yb = tb + (int64_t)p.b * n_tails;
            vfloat sum = {};
            for (int c = k; c < stop; c += LANES) {
                const vfloat d = load(xa + c) - load(xb + c);
                if constexpr (N == Norm::L2)
                    sum += d * d;
                else
                    sum += absolute(d);
            }
            p.bound += (sum_lanes(sum) - term(ya[from] - yb[from])) + term(ya[to] - yb[to]);
            pairs_[kept] = p;
            kept += p.bound <= p.limit;
        }
        n_pairs_ = kept;
    }
    static float term(float d) { return N == Norm::L2 ? d * d : std::fabs(d); }

    float limit_of(const Pair& p) const {
        const float own = best_a_.limit(p.a);
        return best_b_ ? std::max(own, best_b_->limit(p.b)) : own;
    }

    void verify(const Pair& p) {
        const int64_t ia = a_.short_rows.ids[p.a], ib = b_.short_rows.ids[p.b];
        if (ia == ib && &rows_a_ == &rows_b_) return;  // rows that ask the set they are from
        const double d = rows_a_.distance(ia, rows_b_, ib, limit_of(p), N);
        ++counts.verified;
        if (d <= best_a_.limit(p.a)) best_a_.offer(p.a, d, ib);
        if (best_b_ && d <= best_b_->limit(p.b)) best_b_->offer(p.b, d, ia);
    }
};

// The n cells of b nearest to a cell of a, nearest first, and the distances to all.
std::vector<int64_t> nearest_cells(const Cells& a, int64_t cell, const Cells& b, int64_t n,
                                   std::vector<double>& distance) {
    distance.resize(b.n_cells);
    for (int64_t e = 0; e < b.n_cells; ++e) {
        const float *x = a.centre(cell), *y = b.centre(e);
        double sum = 0;
        for (int k = 0; k < b.width; ++k) {
            const double d = (double)x[k] - y[k];
            sum += a.norm == Norm::L2 ? d * d : std::fabs(d);
        }
        distance[e] = a.norm == Norm::L2 ? std::sqrt(sum) : sum;
    }
    std::vector<int64_t> order(b.n_cells);
    std::iota(order.begin(), order.end(), 0);
    n = std::min(n, b.n_cells);
    std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](int64_t x, int64_t y) {
        return std::pair(distance[x], x) < std::pair(distance[y], y);
    });
    order.resize(n);
    return order;
}

float cell_reach(const Cells& cells, const Best& best, int64_t cell) {
    float most = 0;
    for (int64_t i = cells.starts[cell]; i < cells.starts[cell + 1]; ++i) most = std::max(most, best.reach(i));
    return most;
}

template <Norm N>
JoinCounts add_up(const std::vector<Worker<N>>& workers) {
    JoinCounts total;
    for (const auto& w : workers) {
        total.pairs += w.counts.pairs;
        total.refined += w.counts.refined;
        total.verified += w.counts.verified;
    }
    return total;
}

// Own cells and near cells, nearest first: limits drop fast.
template <Norm N>
JoinCounts join_near(const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done, Best& best,
                     const std::vector<float>& reach, int n_threads, const Poll& poll) {
    std::vector<Worker<N>> workers(n_threads, Worker<N>(cells, rows, best, cells, rows, &best));
    parallel_for(cells.n_cells, n_threads, poll, [&](int64_t cell, int id, const Stop& stop) {
        Worker<N>& worker = workers[id];
        worker.begin(cell);
        if (done.insert(cell, cell)) {
            if (!std::isfinite(reach[cell])) worker.seed(cell);  // rows that come with limits need no first ones
            worker.join_one_way(cell);
        }
        std::vector<double> distance;
        for (int64_t e : nearest_cells(cells, cell, cells, n_visit, distance))
            if (!stop && done.insert(cell, e) && !worker.ruled_out(e, distance[e], std::max(reach[cell], reach[e])))
                worker.join_both_ways(e);
    });
    return add_up(workers);
}

// All pairs of cells that are left. Limits are about final, so order is free: a few cells together
// are joined with one cell after the other, whose rows are then read from memory once for all of them.
template <Norm N>
JoinCounts join_rest(const Cells& cells, const Rows& rows, PairSet& done, Best& best,
                     const std::vector<float>& reach, int n_threads, const Poll& poll) {
    constexpr int64_t TOGETHER = 4;
    const int64_t n = cells.n_cells;
    std::vector<Worker<N>> workers(n_threads * TOGETHER, Worker<N>(cells, rows, best, cells, rows, &best));
    parallel_for((n + TOGETHER - 1) / TOGETHER, n_threads, poll, [&](int64_t task, int id, const Stop& stop) {
        Worker<N>* own = workers.data() + id * TOGETHER;
        const int64_t first = task * TOGETHER, last = std::min(n, first + TOGETHER);
        std::vector<std::vector<double>> distance(TOGETHER);
        for (int64_t cell = first; cell < last; ++cell) {
            own[cell - first].begin(cell);
            nearest_cells(cells, cell, cells, 0, distance[cell - first]);
        }
        for (int64_t k = 0; k < n && !stop; ++k) {
            const int64_t e = (first + k) % n;  // tasks start apart and are rarely at the same cell
            for (int64_t cell = first; cell < last; ++cell)
                if (!own[cell - first].ruled_out(e, distance[cell - first][e], std::max(reach[cell], reach[e])) &&
                    done.insert(cell, e))
                    own[cell - first].join_both_ways(e);
        }
    });
    return add_up(workers);
}

template <Norm N>
JoinCounts self_join_norm(const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done, Best& best,
                          int n_threads, const Poll& poll) {
    // Reaches only shrink, so those of the start rule out safely.
    std::vector<float> reach(cells.n_cells);
    for (int64_t c = 0; c < cells.n_cells; ++c) reach[c] = cell_reach(cells, best, c);
    const bool started = std::all_of(best.ids.begin(), best.ids.end(), [](int64_t id) { return id >= 0; });
    return n_visit >= cells.n_cells && started
               ? join_rest<N>(cells, rows, done, best, reach, n_threads, poll)
               : join_near<N>(cells, rows, n_visit, done, best, reach, n_threads, poll);
}

template <Norm N>
JoinCounts query_norm(const Cells& queries, const Rows& query_rows, const Cells& cells, const Rows& rows,
                      Best& best, int n_threads, const Poll& poll) {
    std::vector<Worker<N>> workers(n_threads, Worker<N>(queries, query_rows, best, cells, rows, nullptr));
    parallel_for(queries.n_cells, n_threads, poll, [&](int64_t cell, int id, const Stop& stop) {
        if (queries.cell_size(cell) == 0) return;
        Worker<N>& worker = workers[id];
        worker.begin(cell);
        std::vector<double> distance;
        bool seeded = false;
        for (int64_t e : nearest_cells(queries, cell, cells, cells.n_cells, distance)) {
            if (cells.cell_size(e) == 0) continue;
            if (stop) return;
            if (!seeded) worker.seed(e);
            seeded = true;
            if (!worker.ruled_out(e, distance[e], cell_reach(queries, best, cell))) worker.join_one_way(e);
        }
    });
    return add_up(workers);
}

}  // namespace

Best::Best(const Cells& cells, const Rows& rows)
    : distances(cells.short_rows.n, INFINITY), ids(cells.short_rows.n, -1), cells_(cells), rows_(rows),
      limits_(new std::atomic<float>[cells.short_rows.n]), reaches_(new std::atomic<float>[cells.short_rows.n]),
      locks_(new std::atomic_flag[N_LOCKS]) {
    for (int64_t i = 0; i < cells.short_rows.n; ++i) limits_[i] = reaches_[i] = INFINITY;
    for (int64_t i = 0; i < N_LOCKS; ++i) locks_[i].clear();
}

void Best::set(int64_t position, double distance, int64_t id) {
    distances[position] = distance;
    ids[position] = id;
    const bool l2 = cells_.norm == Norm::L2;
    const double size = cells_.short_rows.sizes[position];
    limits_[position] = round_up(distance);
    reaches_[position] =
        round_up((l2 ? std::sqrt(distance) : distance) + cells_.slack * (l2 ? std::sqrt(size) : size));
}

void Best::offer(int64_t position, double distance, int64_t id) {
    auto& lock = locks_[position % N_LOCKS];
    while (lock.test_and_set(std::memory_order_acquire)) {
    }
    if (distance < distances[position] || ids[position] < 0 ||
        (distance == distances[position] && rows_.before(id, ids[position])))
        set(position, distance, id);
    lock.clear(std::memory_order_release);
}

JoinCounts self_join(const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done, Best& best,
                     int n_threads, const Poll& poll) {
    return (cells.norm == Norm::L2 ? self_join_norm<Norm::L2> : self_join_norm<Norm::L1>)(
        cells, rows, n_visit, done, best, n_threads, poll);
}

JoinCounts query(const Cells& queries, const Rows& query_rows, const Cells& cells, const Rows& rows,
                 Best& best, int n_threads, const Poll& poll) {
    return (cells.norm == Norm::L2 ? query_norm<Norm::L2> : query_norm<Norm::L1>)(
        queries, query_rows, cells, rows, best, n_threads, poll);
}

}  // namespace nestmap
