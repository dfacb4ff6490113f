// Probes: each row is compared with the rows of the cells nearest to it.
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

// Probes of the rows of a few consecutive cells. These cells are near each other, so many rows probe the same cells:
// probes are sorted by cell, and each cell is read from memory once.
template <Norm N>
class Prober {
public:
    Prober(const Cells& cells, const int32_t* near, int64_t m, Lists lists)
        : cells_(cells), ranks_(cells, near, m), lists_(lists) {}

    static constexpr int64_t CELLS_PER_TASK = 256;
    static constexpr int64_t MAX_PROBES_PER_TASK = 2'000'000;
    int64_t n_pairs = 0;

    void run(int64_t first, int64_t last, int64_t from, int64_t to, const Stop& stop) {
        probes_.clear();
        for (int64_t c = first; c < last && !stop; ++c) {
            if (from == 0) {
                rows_.resize(cells_.cell_size(c));
                std::iota(rows_.begin(), rows_.end(), (int32_t)cells_.starts[c]);
                compare(c);
            }
            ranks_.begin(c);
            for (int64_t i = 0; i < cells_.cell_size(c); ++i) {
                const auto& order = ranks_.order(i, to);
                const auto row = (int32_t)(cells_.starts[c] + i);
                for (size_t r = std::max<int64_t>(from, 1); r < order.size(); ++r)
                    probes_.push_back({(int32_t)ranks_.cell(order[r].second), row, order[r].first});
            }
        }
        sort_probes();
        for (size_t v = 0; v < sorted_.size() && !stop;) {
            size_t end = v;
            while (end < sorted_.size() && sorted_[end].cell == sorted_[v].cell) ++end;
            select(v, end);
            compare(sorted_[v].cell);
            v = end;
        }
    }

private:
    struct Probe {
        int32_t cell, row;
        float away;  // lower bound of the distance of the row to the cell's centre (squared for L2)
    };
    const Cells& cells_;
    Ranks<N> ranks_;
    Lists lists_;
    std::vector<Probe> probes_, sorted_;
    std::vector<int32_t> counts_;
    std::vector<int32_t> rows_;
    std::vector<const float*> columns_;
    Floats tails_, sums_;

    void sort_probes() {
        check_positions("probes of neighbouring cells", (int64_t)probes_.size());
        counts_.assign(cells_.n_cells + 1, 0);
        for (const Probe& v : probes_) ++counts_[v.cell + 1];
        std::partial_sum(counts_.begin(), counts_.end(), counts_.begin());
        sorted_.resize(probes_.size());
        for (const Probe& v : probes_) sorted_[counts_[v.cell]++] = v;
    }

    // Skip rows all of whose list is nearer than anything in the cell can be.
    void select(size_t first, size_t last) {
        const int64_t e = sorted_[first].cell;
        const float far = (float)((cells_.radius(e) + cells_.cell_slack(e)) * (1 + 0x1p-20));
        const float least = least_tail(e);
        rows_.clear();
        for (size_t v = first; v < last; ++v) {
            const float away = N == Norm::L2 ? std::sqrt(sorted_[v].away) : sorted_[v].away;
            const float reach = std::max(0.0f, away * (1 - 0x1p-20f) - far);
            const int32_t row = sorted_[v].row;
            const float above = above_bound<N>(cells_.short_rows.tail(row, cells_.short_rows.dims), least);
            if ((N == Norm::L2 ? reach * reach : reach) <= List(lists_, row).limit() - above) rows_.push_back(row);
        }
    }

    float least_tail(int64_t cell) const {
        float least = std::numeric_limits<float>::infinity();
        for (int64_t i = cells_.starts[cell]; i < cells_.starts[cell + 1]; ++i)
            least = std::min(least, cells_.short_rows.tail(i, cells_.short_rows.dims));
        return cells_.cell_size(cell) ? least : 0;
    }

    // Distances of the selected rows to all rows of a cell, several at once. Most of them enter a list, so bounds
    // would cost more than they save.
    void compare(int64_t cell) {
        const int64_t n = cells_.cell_size(cell), first = cells_.starts[cell], n_rows = (int64_t)rows_.size();
        if (n == 0) return;
        const int64_t width = (n + PANEL - 1) / PANEL * PANEL;
        const ShortRows& short_rows = cells_.short_rows;
        columns_.resize(width);
        for (int64_t j = 0; j < width; ++j) columns_[j] = short_rows.row(first + std::min(j, n - 1));
        tails_.resize(width);
        for (int64_t j = 0; j < n; ++j) tails_[j] = short_rows.tail(first + j, short_rows.dims);
        sums_.resize(SOME * width);
        for (int64_t i = 0; i < n_rows; i += SOME) {
            const float* x[SOME];
            for (int p = 0; p < SOME; ++p) x[p] = short_rows.row(rows_[std::min(i + p, n_rows - 1)]);
            for (int64_t j = 0; j < n; j += OTHERS)
                sum_differences<N>(x, columns_.data() + j, short_rows.dims, sums_.data() + j, width);
            for (int64_t p = 0; p < std::min<int64_t>(SOME, n_rows - i); ++p)
                insert(rows_[i + p], first, n, sums_.data() + p * width);
        }
        n_pairs += n_rows * n;
    }

    // Insert the rows first, …, first + n - 1 into the list of a row, where they are near enough.
    void insert(int32_t row, int64_t first, int64_t n, float* sums) {
        const List list(lists_, row);
        const vfloat tail = splat(cells_.short_rows.tail(row, cells_.short_rows.dims));
        const int64_t own = row - first;  // its index among them, if it is one of them
        for (int64_t j = 0; j < n; j += LANES) {
            const vfloat away = load(sums + j) + tail_estimate<N>(tail, load(tails_.data() + j));
            uint32_t near = mask_le(away, splat(list.limit()));
            if (n - j < LANES) near &= (1u << (n - j)) - 1;
            if (own - j >= 0 && own - j < LANES) near &= ~(1u << (own - j));
            if (near == 0) continue;
            store(sums + j, away);
            for (; near; near &= near - 1) {
                const int64_t at = j + __builtin_ctz(near);
                list.add(sums[at], (int32_t)(first + at));
            }
        }
    }
};

template <Norm N>
int64_t probe_norm(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
                   int n_threads, const Poll& poll) {
    const int64_t cell_size = cells.short_rows.n / std::max<int64_t>(1, cells.n_cells) + 1;
    const int64_t per_cell = cell_size * std::max<int64_t>(1, to - from);
    const int64_t most_cells = Prober<N>::MAX_PROBES_PER_TASK / per_cell;
    const int64_t together = std::clamp<int64_t>(most_cells, 1, Prober<N>::CELLS_PER_TASK);
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
