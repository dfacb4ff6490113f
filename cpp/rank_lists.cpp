// What lists are worth: distances by definition.
#include <algorithm>
#include <limits>
#include <vector>

#include "approximate.hpp"
#include "checks.hpp"

namespace nestmap {

void rank_lists(const Cells& cells, const Rows& rows, Lists lists, const int64_t* positions, int64_t n, int wanted,
                double* distances, int64_t* ids, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 256;
    const int64_t* row_of = cells.short_rows.ids;
    const int64_t n_rows = cells.short_rows.n;
    // The lower bound that belongs to entry j of a list, with room for the rounding of its estimate.
    const auto bound = [&](int64_t i, int j) {
        const ShortRows& r = cells.short_rows;
        const List list(lists, i);
        const double product = (double)r.tail(i, r.dims) * r.tail(checked(list.ids[j], n_rows, "ids"), r.dims);
        return list.estimates[j] * (1 - 0x1p-18) - (cells.norm == Norm::L2 ? product : 0);
    };
    const auto rank = [&](int64_t i, double* row, double* best, int64_t* best_ids) {
        rows.read(row_of[i], row);
        std::fill(best, best + wanted, std::numeric_limits<double>::infinity());
        std::fill(best_ids, best_ids + wanted, -1);
        const List list(lists, i);
        for (int j = 0; j < list.k; ++j) {
            double& last = best[wanted - 1];
            if (list.ids[j] < 0) break;
            if (cells.surely_beyond(i, bound(i, j), last)) continue;
            const int32_t next = j + 2 < list.k ? list.ids[j + 2] : -1;
            if (next >= 0 && next < n_rows) rows.prefetch(row_of[next]);
            const int64_t id = row_of[list.ids[j]];
            const double d = rows.distance_from(row, row_of[i], id, last, cells.norm);
            const auto behind = [&](int p) {
                return d < best[p] || (d == best[p] && (best_ids[p] < 0 || rows.before(id, best_ids[p])));
            };
            int p = wanted - 1;
            if (!behind(p)) continue;
            for (; p > 0 && behind(p - 1); --p) {
                best[p] = best[p - 1];
                best_ids[p] = best_ids[p - 1];
            }
            best[p] = d;
            best_ids[p] = id;
        }
    };
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        std::vector<double> row(rows.is_dense() ? rows.cols() : 0);
        for (int64_t t = task * BLOCK; t < std::min(n, (task + 1) * BLOCK); ++t)
            rank(positions ? positions[t] : t, row.data(), distances + t * wanted, ids + t * wanted);
    });
}

}  // namespace nestmap
