// The cells near each cell.
#include <algorithm>
#include <limits>
#include <vector>

#include "approximate.hpp"

namespace nestmap {

namespace {

// Centres against centres, a few at a time, in tiles.
template <Norm N>
class Centres {
public:
    explicit Centres(const Cells& cells) : cells_(cells), n_panels_(Panels::number(cells.n_cells)) {
        panels_.resize(cells.n_cells, cells.width);
        for (int64_t c = 0; c < cells.n_cells; ++c) cells.put_centre(panels_, c, c);
    }
    // Lower bounds of the distances of up to TILE_ROWS centres to all (squared for L2), row by row.
    void measure(int64_t first, int n, std::vector<float>& out) const {
        RowGroups some;
        some.resize(n, cells_.width);
        for (int r = 0; r < n; ++r) cells_.put_centre(some, r, first + r);
        out.resize(TILE_ROWS * stride());
        for (int64_t p = 0; p < n_panels_; ++p)
            bound_group<N, TILE_ROWS>(some[0], n, panels_[p], cells_.width, [&](int r, const Bounds& bounds) {
                store_numbers(out.data() + r * stride() + p * PANEL, bounds);
            });
    }
    int64_t stride() const { return n_panels_ * PANEL; }

private:
    const Cells& cells_;
    const int64_t n_panels_;
    Panels panels_;
};

// The `kept` least of n distances, nearest first. Cells that are near each other have near numbers, so those around
// Those of `own` come first: few of the others are below the limit that they set.
class Least {
    const float* distance_ = nullptr;
    float limit_ = 0;
    std::vector<int32_t> order_;

    auto nearer() const {
        return [d = distance_](int32_t x, int32_t y) { return d[x] < d[y] || (d[x] == d[y] && x < y); };
    }

public:
    const std::vector<int32_t>& find(const float* distance, int64_t n, int64_t kept, int64_t own) {
        distance_ = distance;
        limit_ = std::numeric_limits<float>::infinity();
        order_.clear();
        const int64_t first = std::max<int64_t>(0, own - kept) / LANES * LANES;
        collect(first, n, kept);
        collect(0, first, kept);
        keep(kept);
        std::sort(order_.begin(), order_.end(), nearer());
        return order_;
    }

private:
    void collect(int64_t from, int64_t to, int64_t kept) {
        for (int64_t e = from; e < to; e += LANES) {
            for (uint32_t bits = mask_le(load(distance_ + e), splat(limit_)); bits; bits &= bits - 1) {
                const int64_t id = e + __builtin_ctz(bits);
                if (id < to) order_.push_back((int32_t)id);
            }
            if ((int64_t)order_.size() > 3 * kept) keep(kept);
        }
    }
    void keep(int64_t kept) {
        if ((int64_t)order_.size() <= kept) return;
        std::nth_element(order_.begin(), order_.begin() + kept - 1, order_.end(), nearer());
        order_.resize(kept);
        limit_ = distance_[order_.back()];
    }
};

template <Norm N>
void near_cells_norm(const Cells& cells, int64_t m, int32_t* near, int n_threads, const Poll& poll) {
    struct Buffer {
        std::vector<float> distance;
        Least least;
    };
    const int64_t n = cells.n_cells, kept = std::min(m, n);
    const Centres<N> centres(cells);
    std::vector<Buffer> buffers(n_threads);
    parallel_for(RowGroups::number(n), n_threads, poll, [&](int64_t task, int id) {
        auto& [distance, least] = buffers[id];
        const int64_t first = task * TILE_ROWS;
        const int some = (int)std::min<int64_t>(TILE_ROWS, n - first);
        centres.measure(first, some, distance);
        for (int r = 0; r < some; ++r) {
            const int64_t c = first + r;
            float* d = distance.data() + r * centres.stride();
            d[c] = -std::numeric_limits<float>::infinity();  // itself first
            const auto& order = least.find(d, n, kept, c);
            std::copy(order.begin(), order.end(), near + c * m);
            std::fill(near + c * m + kept, near + (c + 1) * m, -1);
        }
    });
}

}  // namespace

void near_cells(const Cells& cells, int64_t m, int32_t* near, int n_threads, const Poll& poll) {
    (cells.norm == Norm::L2 ? near_cells_norm<Norm::L2> : near_cells_norm<Norm::L1>)(cells, m, near, n_threads, poll);
}

}  // namespace nestmap
