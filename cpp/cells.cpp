#include "cells.hpp"

#include <algorithm>
#include <limits>

namespace nestmap {

Cells::Cells(const Reduced& r, const int64_t* s, int64_t cells, int head_, double slack_, Norm norm_)
    : reduced(r), head(head_), width(head_ + 1), slack(slack_), norm(norm_), n_cells(cells),
      starts(s, s + cells + 1), first_panel_(cells + 1), centres_(cells * (head_ + 1)), radii_(cells), centre_norms_(cells) {
    for (int64_t c = 0; c < n_cells; ++c) first_panel_[c + 1] = first_panel_[c] + cell_panels(c);
    const int64_t stride = (int64_t)(width + 1) * PANEL;
    panel_radii_.resize(first_panel_[n_cells]);
    panels_.assign(first_panel_[n_cells] * stride, 0.0f);
    std::vector<double> mean(width);
    for (int64_t c = 0; c < n_cells; ++c) {
        std::fill(mean.begin(), mean.end(), 0.0);
        float* base = panels_.data() + first_panel_[c] * stride;
        for (int64_t i = 0; i < cell_panels(c) * PANEL; ++i) {
            float* lane = base + (i / PANEL) * stride + i % PANEL;
            const int64_t position = starts[c] + i;
            const bool real = position < starts[c + 1];
            for (int k = 0; real && k < width; ++k) mean[k] += lane[k * PANEL] = coordinate(position, k);
            lane[width * PANEL] = real ? margin_size(position) : std::numeric_limits<float>::quiet_NaN();
        }
        const double n = (double)std::max<int64_t>(1, cell_size(c));
        for (int k = 0; k < width; ++k) centres_[c * width + k] = (float)(mean[k] / n);
        const std::vector<double> origin(width, 0.0);
        centre_norms_[c] = distance(centre(c), origin.data());
        for (int64_t i = starts[c]; i < starts[c + 1]; ++i) {
            for (int k = 0; k < width; ++k) mean[k] = coordinate(i, k);
            radii_[c] = std::max(radii_[c], distance(centre(c), mean.data()));
            panel_radii_[first_panel_[c] + (i - starts[c]) / PANEL] = (float)(radii_[c] * (1 + 0x1p-20));
        }
    }
}

double Cells::distance(const float* a, const double* b) const {
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        const double d = a[k] - b[k];
        sum += norm == Norm::L2 ? d * d : std::fabs(d);
    }
    return norm == Norm::L2 ? std::sqrt(sum) : sum;
}

}  // namespace nestmap
