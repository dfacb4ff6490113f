// Visits: rows meet the rows of the cells near them.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "approximate.hpp"
#include "checks.hpp"
#include "differences.hpp"
#include "ranks.hpp"

namespace nestmap {

namespace {

// Rows of a few consecutive cells, which lie near each other, meet the cells that they want: a cell that
// many of them want is read from memory once.
template <Norm N>
class Prober {
public:
    Prober(const Cells& cells, const int32_t* near, int64_t m, Lists lists)
        : cells_(cells), ranks_(cells, near, m), lists_(lists) {}

    static constexpr int64_t TOGETHER = 256, MOST_VISITS = 2'000'000;  // cells and visits of a task
    int64_t n_pairs = 0;

    void run(int64_t first, int64_t last, int64_t from, int64_t to, const Stop& stop) {
        visits_.clear();
        for (int64_t c = first; c < last && !stop; ++c) {
            if (from == 0) meet_own(c);
            ranks_.begin(c);
            for (int64_t i = 0; i < cells_.cell_size(c); ++i) {
                const auto& order = ranks_.order(i, to);
                const auto row = (int32_t)(cells_.starts[c] + i);
                for (size_t r = std::max<int64_t>(from, 1); r < order.size(); ++r)
                    visits_.push_back({(int32_t)ranks_.cell(order[r].second), row, order[r].first});
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
    std::vector<float> above_;  // of each row: by how much estimates exceed bounds, at least
    RowGroups packed_;
    std::vector<const float*> columns_;
    Floats tails_, sums_;
    struct Waiting {  // rows that may belong on a list: some of them together cost less
        int n = 0;
        int32_t ids[OTHERS];
    };
    Waiting waiting_[TILE_ROWS];  // for each row of a tile

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
        const float least = least_tail(e);
        rows_.clear();
        above_.clear();
        for (size_t v = first; v < last; ++v) {
            const float away = N == Norm::L2 ? std::sqrt(sorted_[v].away) : sorted_[v].away;
            const float reach = std::max(0.0f, away * (1 - 0x1p-20f) - far);
            const int32_t row = sorted_[v].row;
            const float above = above_bound<N>(cells_.short_rows.tail(row, cells_.short_rows.dims), least);
            if ((N == Norm::L2 ? reach * reach : reach) > List(lists_, row).limit() - above) continue;
            rows_.push_back(row);
            above_.push_back(above);
        }
    }

    float least_tail(int64_t cell) const {
        float least = std::numeric_limits<float>::infinity();
        for (int64_t i = cells_.starts[cell]; i < cells_.starts[cell + 1]; ++i)
            least = std::min(least, cells_.short_rows.tail(i, cells_.short_rows.dims));
        return cells_.cell_size(cell) ? least : 0;
    }

    // The first cell: lists are empty and would take in almost anything, so no bounds, but all distances.
    void meet_own(int64_t cell) {
        const int64_t n = cells_.cell_size(cell), first = cells_.starts[cell];
        const int64_t width = (n + PANEL - 1) / PANEL * PANEL;
        const ShortRows& short_rows = cells_.short_rows;
        columns_.resize(width);
        for (int64_t j = 0; j < width; ++j) columns_[j] = short_rows.row(first + std::min(j, n - 1));
        tails_.resize(width);
        for (int64_t j = 0; j < n; ++j) tails_[j] = short_rows.tail(first + j, short_rows.dims);
        sums_.resize(SOME * width);
        for (int64_t i = 0; i < n; i += SOME) {
            const float* x[SOME];
            for (int p = 0; p < SOME; ++p) x[p] = columns_[std::min(i + p, n - 1)];
            for (int64_t j = 0; j < n; j += OTHERS)
                sum_differences<N>(x, columns_.data() + j, short_rows.dims, sums_.data() + j, width);
            for (int64_t p = 0; p < std::min<int64_t>(SOME, n - i); ++p) choose(first, n, i + p, sums_.data() + p * width);
        }
        n_pairs += n * n;
    }

    // The nearest of n rows from the first one on go to the list of the i-th of them.
    void choose(int64_t first, int64_t n, int64_t i, float* sums) {
        const List list(lists_, first + i);
        const vfloat tail = splat(tails_[i]);
        for (int64_t j = 0; j < n; j += LANES) {
            const vfloat away = load(sums + j) + tail_estimate<N>(tail, load(tails_.data() + j));
            uint32_t near = mask_le(away, splat(list.limit()));
            if (n - j < LANES) near &= (1u << (n - j)) - 1;
            if (i - j >= 0 && i - j < LANES) near &= ~(1u << (i - j));  // itself
            if (near == 0) continue;
            store(sums + j, away);
            for (; near; near &= near - 1) {
                const int64_t at = j + __builtin_ctz(near);
                list.add(sums[at], (int32_t)(first + at));
            }
        }
    }

    void meet(int64_t e) {
        pack_rows(cells_, rows_, packed_);
        const int64_t n = (int64_t)rows_.size();
        for (int64_t g = 0; g < n; g += TILE_ROWS) {
            const int left = (int)std::min<int64_t>(n - g, TILE_ROWS);
            for (int64_t p = 0; p < cells_.cell_panels(e); ++p) {
                left > TILE_ROWS / 2 ? collect<TILE_ROWS>(g, left, e, p)
                                     : collect<(TILE_ROWS + 1) / 2>(g, left, e, p);
            }
            for (int r = 0; r < left; ++r) settle(r, rows_[g + r]);
            n_pairs += left * cells_.cell_size(e);
        }
    }

    template <int M>
    void collect(int64_t g, int n, int64_t e, int64_t p) {
        const int32_t first = (int32_t)(cells_.starts[e] + p * PANEL);
        bound_group<N, M>(packed_[g / TILE_ROWS], n, cells_.panel(e, p), cells_.width, [&](int r, const Bounds& b) {
            const vfloat limit = splat(List(lists_, rows_[g + r]).limit() - above_[g + r]);
            for (uint32_t bits = mask_le(b, limit); bits; bits &= bits - 1) {
                Waiting& waiting = waiting_[r];
                waiting.ids[waiting.n++] = first + __builtin_ctz(bits);
                if (waiting.n == OTHERS) settle(r, rows_[g + r]);
            }
        });
    }

    void settle(int r, int32_t row) {
        Waiting& waiting = waiting_[r];
        if (waiting.n == 0) return;
        const ShortRows& short_rows = cells_.short_rows;
        const float *x[1] = {short_rows.row(row)}, *y[OTHERS];
        float sums[OTHERS];
        for (int q = 0; q < OTHERS; ++q) y[q] = short_rows.row(waiting.ids[std::min(q, waiting.n - 1)]);
        sum_differences<N>(x, y, short_rows.dims, sums, OTHERS);
        const List list(lists_, row);
        const float tail = short_rows.tail(row, short_rows.dims);
        for (int q = 0; q < waiting.n; ++q) {
            const int32_t id = waiting.ids[q];
            list.add(sums[q] + tail_estimate<N>(tail, short_rows.tail(id, short_rows.dims)), id);
        }
        waiting.n = 0;
    }
};

template <Norm N>
int64_t probe_norm(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
                   int n_threads, const Poll& poll) {
    const int64_t cell_size = cells.short_rows.n / std::max<int64_t>(1, cells.n_cells) + 1;
    const int64_t per_cell = cell_size * std::max<int64_t>(1, to - from);
    const int64_t together = std::clamp<int64_t>(Prober<N>::MOST_VISITS / per_cell, 1, Prober<N>::TOGETHER);
    std::vector<Prober<N>> probers(n_threads, Prober<N>(cells, near, m, lists));
    const int64_t n_tasks = (cells.n_cells + together - 1) / together;
    parallel_for(n_tasks, n_threads, poll, [&](int64_t t, int id, const Stop& stop) {
        probers[id].run(t * together, std::min(cells.n_cells, (t + 1) * together), from, to, stop);
    });
    int64_t total = 0;
    for (const auto& p : probers) total += p.n_pairs;
    return total;
}

}  // namespace

int64_t probe(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
              int n_threads, const Poll& poll) {
    return (cells.norm == Norm::L2 ? probe_norm<Norm::L2> : probe_norm<Norm::L1>)(cells, near, m, from, to, lists,
                                                                                   n_threads, poll);
}

}  // namespace nestmap
