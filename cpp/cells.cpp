#include "cells.hpp"

#include <algorithm>
#include <limits>

#include "checks.hpp"
#include "parallel.hpp"

namespace nestmap {

Cells::Cells(const Reduced& r, const int64_t* s, int64_t cells, int head_, double slack_, Norm norm_,
             int n_threads)
    : reduced(r), head(head_), width(head_ + 1), slack(slack_), norm(norm_), n_cells(cells),
      starts(s, s + cells + 1), first_panel_(cells + 1), centres_(cells * (head_ + 1)), radii_(cells),
      centre_norms_(cells) {
    for (int64_t c = 0; c < n_cells; ++c) first_panel_[c + 1] = first_panel_[c] + cell_panels(c);
    panel_radii_.resize(first_panel_[n_cells]);
    panels_.resize(first_panel_[n_cells] * (width + 1) * PANEL);
    parallel_for(n_cells, n_threads, nullptr, [&](int64_t c, int) { fill(c); });
}

void Cells::fill(int64_t c) {
    const int64_t stride = (int64_t)(width + 1) * PANEL;
    float* base = panels_.data() + first_panel_[c] * stride;
    std::vector<double> sum(width, 0.0), row(width);
    for (int64_t i = 0; i < cell_panels(c) * PANEL; ++i) {
        float* lane = base + (i / PANEL) * stride + i % PANEL;
        const int64_t position = starts[c] + i;
        if (position >= starts[c + 1]) {
            lane[width * PANEL] = std::numeric_limits<float>::quiet_NaN();
            continue;
        }
        const float* z = reduced.z + position * reduced.dims;
        check_row(position);
        for (int k = 0; k < head; ++k) sum[k] += lane[k * PANEL] = z[k];
        sum[head] += lane[head * PANEL] = reduced.tail(position, head);
        lane[width * PANEL] = margin_size(position);
    }
    const double n = (double)std::max<int64_t>(1, cell_size(c));
    for (int k = 0; k < width; ++k) centres_[c * width + k] = (float)(sum[k] / n);
    std::fill(row.begin(), row.end(), 0.0);
    centre_norms_[c] = distance(centre(c), row.data());
    for (int64_t i = starts[c]; i < starts[c + 1]; ++i) {
        const float* z = reduced.z + i * reduced.dims;
        for (int k = 0; k < head; ++k) row[k] = z[k];
        row[head] = reduced.tail(i, head);
        radii_[c] = std::max(radii_[c], distance(centre(c), row.data()));
        panel_radii_[first_panel_[c] + (i - starts[c]) / PANEL] = (float)(radii_[c] * (1 + 0x1p-20));
    }
}

void Cells::check_row(int64_t i) const {
    const int n_tails = reduced.dims >> 3;
    const bool z = all_finite(reduced.z + i * reduced.dims, reduced.dims);
    const bool tails = all_finite(reduced.tails + i * n_tails, n_tails);
    if (z && tails && std::isfinite(reduced.sizes[i])) return;
    throw std::invalid_argument(std::string(!z ? "z" : !tails ? "tails" : "sizes") + ": row " + std::to_string(i) +
                                " holds NaN or infinity");
}

double Cells::distance(const float* a, const double* b) const {
    double part[4] = {};
    for (int k = 0; k < width; ++k) {
        const double d = a[k] - b[k];
        part[k & 3] += norm == Norm::L2 ? d * d : std::fabs(d);
    }
    const double sum = (part[0] + part[1]) + (part[2] + part[3]);
    return norm == Norm::L2 ? std::sqrt(sum) : sum;
}

}  // namespace nestmap
