// What the lists are worth: distances by definition, and which of the rows found are surely the nearest.
#include <algorithm>
#include <limits>
#include <vector>

#include "approximate.hpp"
#include "checks.hpp"
#include "ranks.hpp"

namespace nestmap {

namespace {

template <Norm N>
double to_length(double d) {
    return N == Norm::L2 ? std::sqrt(std::max(0.0, d)) : d;
}

// Whether no row outside the first `to` cells of the i-th row of cell c can be within `best`.
template <Norm N>
bool beyond_visited(const Cells& cells, Ranks<N>& ranks, int64_t i, int64_t to, double own, double best) {
    // ranks break ties by the list's order, so cells as far as the last one visited count as unvisited
    const auto& visited = ranks.order(i, to);
    const int64_t n_visited = (int64_t)visited.size(), n_listed = ranks.n_listed();
    if (n_visited >= n_listed) return true;
    const float last = n_visited > 1 ? visited.back().first : 0.0f;
    for (int64_t q = 1; q < n_listed; ++q) {
        if (n_visited > 1 && ranks.away(i, q) < last) continue;
        const int64_t e = ranks.cell(q);
        const double reach = to_length<N>(ranks.away(i, q)) * (1 - 0x1p-20) - cells.radius(e) - cells.cell_slack(e);
        if (!(reach - own > best)) return false;
    }
    return true;
}

template <Norm N>
void prove_norm(const Cells& cells, const int32_t* near, const double* beyond, int64_t m, int64_t to, Lists lists,
                const double* distances, uint8_t* proved, int n_threads, const Poll& poll) {
    std::vector<Ranks<N>> ranks(n_threads, Ranks<N>(cells, near, m));
    parallel_for(cells.n_cells, n_threads, poll, [&](int64_t c, int id) {
        bool begun = false;
        for (int64_t i = 0; i < cells.cell_size(c); ++i) {
            const int64_t position = cells.starts[c] + i;
            const double best = to_length<N>(distances[position]) * (1 + 0x1p-20);
            const double own = cells.slack * to_length<N>(cells.short_rows.sizes[position]);
            // lower bounds of distances to centres are no upper bounds: the cell's radius is one
            const bool hopeful = cells.surely_beyond(position, List(lists, position).limit(), distances[position]) &&
                                 beyond[c] - cells.radius(c) - own > best;
            if (hopeful && !begun) ranks[id].begin(c);
            begun = begun || hopeful;
            proved[position] = hopeful && beyond_visited(cells, ranks[id], i, to, own, best);
        }
    });
}

}  // namespace

void verify_lists(const Cells& cells, const Rows& rows, Lists lists, const int64_t* positions, int64_t n,
                  double* distances, int64_t* ids, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 256;
    const int64_t* row_of = cells.short_rows.ids;
    const int64_t n_rows = cells.short_rows.n;
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        for (int64_t t = task * BLOCK; t < std::min(n, (task + 1) * BLOCK); ++t) {
            const int64_t i = positions ? positions[t] : t;
            const List list(lists, i);
            double best = std::numeric_limits<double>::infinity();
            int64_t best_id = -1;
            for (int j = 0; j < list.k; ++j) {
                if (list.ids[j] < 0 || cells.surely_beyond(i, list.bounds[j], best)) break;
                const int32_t next = j + 1 < list.k ? list.ids[j + 1] : -1;
                if (next >= 0 && next < n_rows) rows.prefetch(row_of[next]);
                const int64_t id = row_of[checked(list.ids[j], n_rows, "ids")];
                const double d = rows.distance(row_of[i], rows, id, best, cells.norm);
                if (d < best || (d == best && (best_id < 0 || rows.before(id, best_id)))) {
                    best = d;
                    best_id = id;
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
