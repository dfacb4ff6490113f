// Neighbours of neighbours.
#include <algorithm>
#include <vector>

#include "approximate.hpp"
#include "checks.hpp"

namespace nestmap {

namespace {

inline void prefetch_row(const ShortRows& r, int64_t a) {
    const char* row = reinterpret_cast<const char*>(r.row(a));
    for (int k = 0; k < r.dims * 4; k += 64) __builtin_prefetch(row + k);
    __builtin_prefetch(&r.tails[a * (r.dims >> 3) + (r.dims >> 3) - 1]);
}

template <Norm N>
void repair_row(const ShortRows& r, const int32_t* known, int w, int64_t i, std::vector<int32_t>& met, List out) {
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
    const int64_t n = cells.short_rows.n;
    std::vector<std::vector<int32_t>> met(n_threads);
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int id) {
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i)
            repair_row<N>(cells.short_rows, known, w, i, met[id], List(lists, i));
    });
}

}  // namespace

void repair(const Cells& cells, const int32_t* known, int w, Lists lists, int n_threads, const Poll& poll) {
    (cells.norm == Norm::L2 ? repair_norm<Norm::L2> : repair_norm<Norm::L1>)(cells, known, w, lists, n_threads, poll);
}

}  // namespace nestmap
