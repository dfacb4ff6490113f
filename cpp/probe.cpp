#include "probe.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "checks.hpp"
#include "tile.hpp"

namespace nestmap {

namespace {

template <Norm N>
double to_length(double d) {
    return N == Norm::L2 ? std::sqrt(std::max(0.0, d)) : d;
}

// Distance of two short rows, by differences: no cancellation. Squared for L2; any larger value as soon as it is
// known to be above `limit`.
template <Norm N>
inline float short_distance(const Reduced& r, int64_t a, int64_t b, float limit) {
    const float *x = r.z + a * r.dims, *y = r.z + b * r.dims;
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

inline void prefetch_row(const Reduced& r, int64_t a) {
    const char* row = reinterpret_cast<const char*>(r.z + a * r.dims);
    for (int k = 0; k < r.dims * 4; k += 64) __builtin_prefetch(row + k);
    __builtin_prefetch(&r.tails[a * (r.dims >> 3) + (r.dims >> 3) - 1]);
}

// One row's list, kept ascending by bound.
struct List {
    int k;
    int32_t* ids;
    float* bounds;
    List(const Lists& l, int64_t i) : k(l.k), ids(l.ids + i * l.k), bounds(l.bounds + i * l.k) {}
    float limit() const { return bounds[k - 1]; }
    bool has(int32_t id) const {
        bool found = false;
        for (int j = 0; j < k; ++j) found |= ids[j] == id;
        return found;
    }
    template <Norm N>
    void meet(const Reduced& r, int64_t own, int32_t id) {
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

// Distances from the rows of one cell to the centres of its listed cells, as lower bounds with the
// margin for rounding taken off, and the order in which each row visits them.
template <Norm N>
class Ranks {
public:
    Ranks(const Cells& cells, const int32_t* near, int64_t m) : cells_(cells), near_(near), m_(m) {}

    void begin(int64_t cell) {
        n_ = cells_.cell_size(cell);
        own_ = near_ + cell * m_;
        for (n_listed_ = m_; n_listed_ > 0 && own_[n_listed_ - 1] < 0;) --n_listed_;
        away_.resize(n_ * m_);
        pack_centres();
        for (int64_t q = 0; q < n_listed_; q += TILE_ROWS)
            for (int64_t p = 0; p < cells_.cell_panels(cell); ++p) measure(cell, p, q);
    }
    int64_t n_listed() const { return n_listed_; }
    int64_t cell(int64_t q) const { return own_[q]; }
    // Lower bound of the distance of row i to the centre of listed cell q (squared for L2).
    float away(int64_t i, int64_t q) const { return away_[i * m_ + q]; }

    // The first `to` listed cells for row i by rank: its own first, then by distance.
    const std::vector<std::pair<float, int32_t>>& order(int64_t i, int64_t to) {
        to = std::max<int64_t>(1, std::min(to, n_listed_));
        order_.assign(1, {0.0f, 0});
        const float* d = away_.data() + i * m_;
        for (int32_t q = 1; q < n_listed_; ++q) {
            if ((int64_t)order_.size() == to) {
                if (to < 2 || !(d[q] < order_.back().first)) continue;
                order_.pop_back();
            }
            order_.push_back({d[q], q});
            for (size_t j = order_.size() - 1; j > 1 && order_[j].first < order_[j - 1].first; --j)
                std::swap(order_[j], order_[j - 1]);
        }
        return order_;
    }

private:
    const Cells& cells_;
    const int32_t* near_;
    const int64_t m_;
    int64_t n_ = 0, n_listed_ = 0;
    const int32_t* own_ = nullptr;
    std::vector<float> away_;
    Floats packed_;
    std::vector<std::pair<float, int32_t>> order_;

    void pack_centres() {
        const int64_t stride = (int64_t)(cells_.width + 1) * TILE_ROWS;
        packed_.assign((n_listed_ + TILE_ROWS - 1) / TILE_ROWS * stride, 0.0f);
        for (int64_t q = 0; q < n_listed_; ++q) {
            float* lane = packed_.data() + q / TILE_ROWS * stride + q % TILE_ROWS;
            for (int k = 0; k < cells_.width; ++k) lane[k * TILE_ROWS] = cells_.centre(own_[q])[k];
            const double norm = cells_.centre_norm(own_[q]);
            lane[cells_.width * TILE_ROWS] = cells_.with_margin(N == Norm::L2 ? norm * norm : norm);
        }
    }

    void measure(int64_t cell, int64_t p, int64_t q) {
        const float* group = packed_.data() + q / TILE_ROWS * (cells_.width + 1) * TILE_ROWS;
        const float* panel = cells_.panel(cell, p);
        vfloat acc[TILE_ROWS][VECTORS];
        tile<N, TILE_ROWS>(group, panel, cells_.width, acc);
        const int64_t rows = std::min<int64_t>(PANEL, n_ - p * PANEL);
        for (int64_t r = 0; r < std::min<int64_t>(TILE_ROWS, n_listed_ - q); ++r) {
            float out[PANEL];
            for (int v = 0; v < VECTORS; ++v)
                store(out + v * LANES, lower_bound<N>(acc[r][v], group[cells_.width * TILE_ROWS + r],
                                                      load(panel + cells_.width * PANEL + v * LANES)));
            for (int64_t l = 0; l < rows; ++l) away_[(p * PANEL + l) * m_ + q + r] = std::max(0.0f, out[l]);
        }
    }
};

// Rows of a few consecutive cells, which lie near each other, meet the cells that they want: a cell that
// many of them want is read from memory once.
template <Norm N>
class Prober {
public:
    Prober(const Cells& cells, const int32_t* near, int64_t m, Lists lists)
        : cells_(cells), ranks_(cells, near, m), lists_(lists) {}

    static constexpr int64_t TOGETHER = 256, MOST_VISITS = 2'000'000;  // cells and visits of a task
    static constexpr size_t SETTLE_AT = 48;
    int64_t n_pairs = 0;

    void run(int64_t first, int64_t last, int64_t from, int64_t to, const Stop& stop) {
        visits_.clear();
        for (int64_t c = first; c < last && !stop; ++c) {
            if (from == 0) meet_own(c);
            ranks_.begin(c);
            for (int64_t i = 0; i < cells_.cell_size(c); ++i) {
                const auto& order = ranks_.order(i, to);
                for (size_t r = std::max<int64_t>(from, 1); r < order.size(); ++r)
                    visits_.push_back({(int32_t)ranks_.cell(order[r].second), (int32_t)(cells_.starts[c] + i), order[r].first});
            }
        }
        sort_visits();
        for (size_t v = 0; v < sorted_.size() && !stop;) {
            size_t end = v;
            while (end < sorted_.size() && sorted_[end].cell == sorted_[v].cell) ++end;
            select(v, end);
            meet(sorted_[v].cell);
            v = end;
        }
    }

private:
    struct Visit {
        int32_t cell, row;
        float away;  // lower bound of the distance of the row to the cell's centre (squared for L2)
    };
    const Cells& cells_;
    Ranks<N> ranks_;
    Lists lists_;
    std::vector<Visit> visits_, sorted_;
    std::vector<int32_t> counts_;
    std::vector<int32_t> rows_;
    Floats packed_, bounds_, chosen_;
    std::vector<std::pair<int32_t, int32_t>> pairs_;

    void sort_visits() {
        check_positions("visits of neighbouring cells", (int64_t)visits_.size());
        counts_.assign(cells_.n_cells + 1, 0);
        for (const Visit& v : visits_) ++counts_[v.cell + 1];
        std::partial_sum(counts_.begin(), counts_.end(), counts_.begin());
        sorted_.resize(visits_.size());
        for (const Visit& v : visits_) sorted_[counts_[v.cell]++] = v;
    }

    // Rows whose list is better than anything in the cell stay away.
    void select(size_t first, size_t last) {
        const int64_t e = sorted_[first].cell;
        const float far = (float)((cells_.radius(e) + cells_.cell_slack(e)) * (1 + 0x1p-20));
        rows_.clear();
        for (size_t v = first; v < last; ++v) {
            const float away = N == Norm::L2 ? std::sqrt(sorted_[v].away) : sorted_[v].away;
            const float reach = std::max(0.0f, away * (1 - 0x1p-20f) - far);
            if ((N == Norm::L2 ? reach * reach : reach) <= List(lists_, sorted_[v].row).limit())
                rows_.push_back(sorted_[v].row);
        }
    }

    // The first cell: lists are empty and would take in almost anything, so the best of all its rows are chosen at once.
    void meet_own(int64_t cell) {
        const int64_t n = cells_.cell_size(cell), width = cells_.cell_panels(cell) * PANEL;
        const int64_t wanted = std::min<int64_t>(n - 1, cells_.head == cells_.reduced.dims ? lists_.k : 3 * lists_.k);
        if (wanted < 1) return;
        rows_.resize(n);
        std::iota(rows_.begin(), rows_.end(), (int32_t)cells_.starts[cell]);
        pack();
        bounds_.resize(TILE_ROWS * width);
        for (int64_t g = 0; g < n; g += TILE_ROWS) {
            const int left = (int)std::min<int64_t>(n - g, TILE_ROWS);
            bound_all(packed_.data() + g / TILE_ROWS * (cells_.width + 1) * TILE_ROWS, cell, left, width);
            for (int r = 0; r < left; ++r) {
                float* bound = bounds_.data() + r * width;
                bound[g + r] = std::numeric_limits<float>::infinity();  // itself
                chosen_.assign(bound, bound + n);
                std::nth_element(chosen_.begin(), chosen_.begin() + wanted - 1, chosen_.end());
                List list(lists_, rows_[g + r]);
                const float first = chosen_[wanted - 1];
                for (int64_t j = 0; j < n; ++j)
                    if (bound[j] <= first) list.template meet<N>(cells_.reduced, rows_[g + r], rows_[j]);
                // what is left can still belong on the list: bounds say less than distances
                for (int64_t j = 0; j < n; ++j)
                    if (j != g + r && bound[j] > first && bound[j] <= list.limit())
                        list.template meet<N>(cells_.reduced, rows_[g + r], rows_[j]);
            }
            n_pairs += left * n;
        }
    }

    void bound_all(const float* group, int64_t cell, int n, int64_t width) {
        for (int64_t p = 0; p < cells_.cell_panels(cell); ++p) {
            const float* panel = cells_.panel(cell, p);
            vfloat acc[TILE_ROWS][VECTORS];
            tile<N, TILE_ROWS>(group, panel, cells_.width, acc);
            for (int r = 0; r < n; ++r)
                for (int v = 0; v < VECTORS; ++v)
                    store(bounds_.data() + r * width + p * PANEL + v * LANES,
                          number(lower_bound<N>(acc[r][v], group[cells_.width * TILE_ROWS + r],
                                                load(panel + cells_.width * PANEL + v * LANES))));
        }
    }

    void meet(int64_t e) {
        pack();
        const int64_t n = rows_.size(), stride = (int64_t)(cells_.width + 1) * TILE_ROWS;
        for (int64_t g = 0; g < n; g += TILE_ROWS) {
            const int left = (int)std::min<int64_t>(n - g, TILE_ROWS);
            const float* group = packed_.data() + g / TILE_ROWS * stride;
            for (int64_t p = 0; p < cells_.cell_panels(e); ++p) {
                left > TILE_ROWS / 2 ? collect<TILE_ROWS>(g, left, group, e, p)
                                     : collect<(TILE_ROWS + 1) / 2>(g, left, group, e, p);
                if (pairs_.size() >= SETTLE_AT) settle();  // limits drop while lists are new
            }
            n_pairs += left * cells_.cell_size(e);
            settle();
        }
    }

    void pack() {
        const int64_t groups = ((int64_t)rows_.size() + TILE_ROWS - 1) / TILE_ROWS;
        const int64_t stride = (int64_t)(cells_.width + 1) * TILE_ROWS;
        packed_.assign(groups * stride, 0.0f);
        for (size_t i = 0; i < rows_.size(); ++i) {
            float* lane = packed_.data() + (i / TILE_ROWS) * stride + i % TILE_ROWS;
            const float* z = cells_.reduced.z + (int64_t)rows_[i] * cells_.reduced.dims;
            for (int k = 0; k < cells_.head; ++k) lane[k * TILE_ROWS] = z[k];
            lane[cells_.head * TILE_ROWS] = cells_.reduced.tail(rows_[i], cells_.head);
            lane[cells_.width * TILE_ROWS] = cells_.margin_size(rows_[i]);
        }
    }

    template <int M>
    void collect(int64_t g, int n, const float* group, int64_t e, int64_t p) {
        const float* panel = cells_.panel(e, p);
        vfloat acc[M][VECTORS];
        tile<N, M>(group, panel, cells_.width, acc);
        const float* sizes = group + cells_.width * TILE_ROWS;
        const float* panel_sizes = panel + cells_.width * PANEL;
        const int32_t first = (int32_t)(cells_.starts[e] + p * PANEL);
#pragma GCC unroll 6
        for (int r = 0; r < M; ++r) {
            if (r >= n) break;
            const vfloat limit = splat(List(lists_, rows_[g + r]).limit());
            uint32_t bits = 0;
            for (int v = 0; v < VECTORS; ++v)
                bits |= mask_le(lower_bound<N>(acc[r][v], sizes[r], load(panel_sizes + v * LANES)), limit)
                        << (v * LANES);
            for (; bits; bits &= bits - 1) pairs_.push_back({rows_[g + r], first + __builtin_ctz(bits)});
        }
    }

    void settle() {
        for (const auto& [a, b] : pairs_) List(lists_, a).template meet<N>(cells_.reduced, a, b);
        pairs_.clear();
    }
};

// Centres against centres, a few at a time, in tiles.
template <Norm N>
class Centres {
public:
    explicit Centres(const Cells& cells) : cells_(cells), n_panels_((cells.n_cells + PANEL - 1) / PANEL) {
        panels_.assign(n_panels_ * (cells.width + 1) * PANEL, 0.0f);
        for (int64_t c = 0; c < cells.n_cells; ++c) {
            float* lane = panels_.data() + c / PANEL * (cells.width + 1) * PANEL + c % PANEL;
            for (int k = 0; k < cells.width; ++k) lane[k * PANEL] = cells.centre(c)[k];
            lane[cells.width * PANEL] = size(c);
        }
    }
    // Lower bounds of the distances of up to TILE_ROWS centres to all (squared for L2), row by row.
    void measure(int64_t first, int n, std::vector<float>& out) const {
        Floats packed((cells_.width + 1) * TILE_ROWS, 0.0f);
        for (int r = 0; r < n; ++r) {
            for (int k = 0; k < cells_.width; ++k) packed[k * TILE_ROWS + r] = cells_.centre(first + r)[k];
            packed[cells_.width * TILE_ROWS + r] = size(first + r);
        }
        out.resize(TILE_ROWS * n_panels_ * PANEL);
        for (int64_t p = 0; p < n_panels_; ++p) {
            const float* panel = panels_.data() + p * (cells_.width + 1) * PANEL;
            vfloat acc[TILE_ROWS][VECTORS];
            tile<N, TILE_ROWS>(packed.data(), panel, cells_.width, acc);
            for (int r = 0; r < n; ++r)
                for (int v = 0; v < VECTORS; ++v)
                    store(out.data() + (r * n_panels_ + p) * PANEL + v * LANES,
                          number(lower_bound<N>(acc[r][v], packed[cells_.width * TILE_ROWS + r],
                                                load(panel + cells_.width * PANEL + v * LANES))));
        }
    }
    int64_t stride() const { return n_panels_ * PANEL; }

private:
    const Cells& cells_;
    const int64_t n_panels_;
    Floats panels_;
    float size(int64_t c) const {
        const double norm = cells_.centre_norm(c);
        return cells_.with_margin(N == Norm::L2 ? norm * norm : norm);
    }
};

// The `kept` least of n distances, nearest first: a threshold on a copy, then a sort of the few below it.
void least(const float* distance, int64_t n, int64_t kept, std::vector<float>& copy, std::vector<int32_t>& order) {
    float limit = std::numeric_limits<float>::infinity();
    if (kept < n) {
        copy.assign(distance, distance + n);
        std::nth_element(copy.begin(), copy.begin() + kept - 1, copy.end());
        limit = copy[kept - 1];
    }
    order.clear();
    for (int64_t e = 0; e < n; ++e)
        if (distance[e] <= limit) order.push_back((int32_t)e);
    std::sort(order.begin(), order.end(), [&](int32_t x, int32_t y) {
        return distance[x] < distance[y] || (distance[x] == distance[y] && x < y);
    });
    order.resize(kept);
}

// The least of distance - far, lane by lane so that the compiler needs no leave to reorder.
template <Norm N>
float least_gap(const float* distance, const float* far, int64_t n) {
    constexpr int64_t WIDTH = 16;
    float gap[WIDTH];
    std::fill(gap, gap + WIDTH, std::numeric_limits<float>::infinity());
    for (int64_t e = 0; e < n; e += WIDTH)
        for (int64_t l = 0; l < std::min(WIDTH, n - e); ++l) {
            const float d = std::max(0.0f, distance[e + l]);
            const float g = (N == Norm::L2 ? __builtin_sqrtf(d) : d) * (1 - 0x1p-20f) - far[e + l];
            gap[l] = g < gap[l] ? g : gap[l];
        }
    return *std::min_element(gap, gap + WIDTH);
}

template <Norm N>
void near_cells_norm(const Cells& cells, int64_t m, int32_t* near, double* beyond, int n_threads, const Poll& poll) {
    struct Buffer {
        std::vector<float> distance, copy;
        std::vector<int32_t> order;
    };
    const int64_t n = cells.n_cells, kept = std::min(m, n);
    std::vector<float> far(n);
    for (int64_t e = 0; e < n; ++e) far[e] = (float)((cells.radius(e) + cells.cell_slack(e)) * (1 + 0x1p-20));
    const Centres<N> centres(cells);
    std::vector<Buffer> buffers(n_threads);
    parallel_for((n + TILE_ROWS - 1) / TILE_ROWS, n_threads, poll, [&](int64_t task, int id) {
        auto& [distance, copy, order] = buffers[id];
        const int64_t first = task * TILE_ROWS;
        const int some = (int)std::min<int64_t>(TILE_ROWS, n - first);
        centres.measure(first, some, distance);
        for (int r = 0; r < some; ++r) {
            const int64_t c = first + r;
            float* d = distance.data() + r * centres.stride();
            d[c] = -std::numeric_limits<float>::infinity();  // itself first
            least(d, n, kept, copy, order);
            std::copy(order.begin(), order.end(), near + c * m);
            std::fill(near + c * m + kept, near + (c + 1) * m, -1);
            for (int32_t e : order) d[e] = std::numeric_limits<float>::infinity();
            beyond[c] = least_gap<N>(d, far.data(), n) - cells.slack * cells.centre_norm(c);
        }
    });
}

template <Norm N>
int64_t probe_norm(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
                   int n_threads, const Poll& poll) {
    const int64_t per_cell = (cells.reduced.n / std::max<int64_t>(1, cells.n_cells) + 1) * std::max<int64_t>(1, to - from);
    const int64_t together = std::clamp<int64_t>(Prober<N>::MOST_VISITS / per_cell, 1, Prober<N>::TOGETHER);
    std::vector<Prober<N>> probers(n_threads, Prober<N>(cells, near, m, lists));
    parallel_for((cells.n_cells + together - 1) / together, n_threads, poll, [&](int64_t t, int id, const Stop& stop) {
        probers[id].run(t * together, std::min(cells.n_cells, (t + 1) * together), from, to, stop);
    });
    int64_t total = 0;
    for (const auto& p : probers) total += p.n_pairs;
    return total;
}

template <Norm N>
void repair_row(const Reduced& r, const int32_t* known, int w, int64_t i, std::vector<int32_t>& met, List out) {
    constexpr size_t AHEAD = 6;
    met.clear();
    for (int j = 0; j < w && known[i * w + j] >= 0; ++j) {
        const int32_t* other = known + checked(known[i * w + j], r.n, "known") * w;
        for (int l = 0; l < w && other[l] >= 0; ++l)
            if (other[l] != i && !out.has(other[l])) met.push_back((int32_t)checked(other[l], r.n, "known"));
    }
    std::sort(met.begin(), met.end());  // neighbours share neighbours: each is looked at once
    met.erase(std::unique(met.begin(), met.end()), met.end());
    for (size_t b = 0; b < met.size(); ++b) {
        if (b + AHEAD < met.size()) prefetch_row(r, met[b + AHEAD]);
        out.meet<N>(r, i, met[b]);
    }
}

template <Norm N>
void repair_norm(const Cells& cells, const int32_t* known, int w, Lists lists, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 1024;
    const int64_t n = cells.reduced.n;
    std::vector<std::vector<int32_t>> met(n_threads);
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int id) {
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i)
            repair_row<N>(cells.reduced, known, w, i, met[id], List(lists, i));
    });
}

template <Norm N>
void prove_norm(const Cells& cells, const int32_t* near, const double* beyond, int64_t m, int64_t to, Lists lists,
                const double* distances, uint8_t* proved, int n_threads, const Poll& poll) {
    std::vector<Ranks<N>> ranks(n_threads, Ranks<N>(cells, near, m));
    parallel_for(cells.n_cells, n_threads, poll, [&](int64_t c, int id) {
        Ranks<N>& r = ranks[id];
        bool begun = false;
        for (int64_t i = 0; i < cells.cell_size(c); ++i) {
            const int64_t position = cells.starts[c] + i;
            const double best = to_length<N>(distances[position]) * (1 + 0x1p-20);
            const double size = cells.reduced.sizes[position], own = cells.slack * (N == Norm::L2 ? std::sqrt(size) : size);
            // lower bounds of distances to centres are no upper bounds: the cell's radius is one
            bool ok = cells.surely_beyond(position, List(lists, position).limit(), distances[position]) &&
                      beyond[c] - cells.radius(c) - own > best;
            if (ok) {
                if (!begun) r.begin(c);
                begun = true;
                // ranks break ties by the list's order, so cells as far as the last one visited count as unvisited
                const auto& visited = r.order(i, to);
                const float last = visited.size() > 1 ? visited.back().first : 0.0f;
                for (int64_t q = 1; ok && (int64_t)visited.size() < r.n_listed() && q < r.n_listed(); ++q) {
                    if (visited.size() > 1 && r.away(i, q) < last) continue;
                    const int64_t e = r.cell(q);
                    ok = to_length<N>(r.away(i, q)) * (1 - 0x1p-20) - cells.radius(e) - cells.cell_slack(e) - own > best;
                }
            }
            proved[position] = ok;
        }
    });
}

}  // namespace

void near_cells(const Cells& cells, int64_t m, int32_t* near, double* beyond, int n_threads, const Poll& poll) {
    (cells.norm == Norm::L2 ? near_cells_norm<Norm::L2> : near_cells_norm<Norm::L1>)(cells, m, near, beyond,
                                                                                      n_threads, poll);
}

int64_t probe(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
              int n_threads, const Poll& poll) {
    return (cells.norm == Norm::L2 ? probe_norm<Norm::L2> : probe_norm<Norm::L1>)(cells, near, m, from, to, lists,
                                                                                   n_threads, poll);
}

void repair(const Cells& cells, const int32_t* known, int w, Lists lists, int n_threads, const Poll& poll) {
    (cells.norm == Norm::L2 ? repair_norm<Norm::L2> : repair_norm<Norm::L1>)(cells, known, w, lists, n_threads, poll);
}

void verify_lists(const Cells& cells, const Rows& rows, Lists lists, const int64_t* positions, int64_t n,
                  double* distances, int64_t* ids, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 256;
    const int64_t* row_of = cells.reduced.ids;
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        for (int64_t t = task * BLOCK; t < std::min(n, (task + 1) * BLOCK); ++t) {
            const int64_t i = positions ? positions[t] : t;
            double best = std::numeric_limits<double>::infinity();
            int64_t best_id = -1;
            for (int j = 0; j < lists.k; ++j) {
                const int32_t b = lists.ids[i * lists.k + j];
                if (b < 0 || cells.surely_beyond(i, lists.bounds[i * lists.k + j], best)) break;
                checked(b, cells.reduced.n, "ids");
                const int32_t next = j + 1 < lists.k ? lists.ids[i * lists.k + j + 1] : -1;
                if (next >= 0 && next < cells.reduced.n) rows.prefetch(row_of[next]);
                const double d = rows.distance(row_of[i], rows, row_of[b], best, cells.norm);
                if (d < best || (d == best && (best_id < 0 || rows.before(row_of[b], best_id)))) {
                    best = d;
                    best_id = row_of[b];
                }
            }
            distances[t] = best;
            ids[t] = best_id;
        }
    });
}

void prove(const Cells& cells, const int32_t* near, const double* beyond, int64_t m, int64_t to, Lists lists,
           const double* distances, uint8_t* proved, int n_threads, const Poll& poll) {
    (cells.norm == Norm::L2 ? prove_norm<Norm::L2> : prove_norm<Norm::L1>)(cells, near, beyond, m, to, lists,
                                                                            distances, proved, n_threads, poll);
}

}  // namespace nestmap
