// In which order the rows of a cell visit the cells near it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cells.hpp"

namespace nestmap {

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
        cells_.put_cell(panels_, cell);
        centres_.resize(n_listed_, cells_.width);
        for (int64_t q = 0; q < n_listed_; ++q) cells_.put_centre(centres_, q, own_[q]);
        for (int64_t q = 0; q < n_listed_; q += TILE_ROWS)
            for (int64_t p = 0; p < cells_.cell_panels(cell); ++p) measure(p, q);
    }
    int64_t n_listed() const { return n_listed_; }
    int64_t cell(int64_t q) const { return own_[q]; }

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
    Panels panels_;
    RowGroups centres_;
    std::vector<std::pair<float, int32_t>> order_;

    void measure(int64_t p, int64_t q) {
        const int64_t first = p * PANEL, rows = std::min<int64_t>(PANEL, n_ - first);
        const int some = (int)std::min<int64_t>(TILE_ROWS, n_listed_ - q);
        bound_group<N, TILE_ROWS>(
            centres_[q / TILE_ROWS], some, panels_[p], cells_.width, [&](int r, const Bounds& bounds) {
                float out[PANEL];
                store_numbers(out, bounds);
                for (int64_t l = 0; l < rows; ++l) away_[(first + l) * m_ + q + r] = std::max(0.0f, out[l]);
            });
    }
};

}  // namespace nestmap
