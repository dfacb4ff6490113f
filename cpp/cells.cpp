#include "cells.hpp"

#include <algorithm>
#include <limits>

#include "checks.hpp"
#include "parallel.hpp"

namespace nestmap {

Cells::Cells(const ShortRows& rows, const int64_t* s, int64_t cells, int head_, double slack_, Norm norm_,
             bool with_panels, int n_threads)
    : short_rows(rows), head(head_), width(head_ + 1), slack(slack_), norm(norm_), n_cells(cells),
      starts(s, s + cells + 1), first_panel_(cells + 1), centres_(cells * (head_ + 1)), radii_(cells),
      centre_norms_(cells) {
    for (int64_t c = 0; c < n_cells; ++c) first_panel_[c + 1] = first_panel_[c] + cell_panels(c);
    panel_radii_.resize(first_panel_[n_cells]);
    if (with_panels) panels_.resize(first_panel_[n_cells] * PANEL, width);
    parallel_for(n_cells, n_threads, nullptr, [&](int64_t c, int) { fill(c); });
}

void Cells::fill(int64_t c) {
    std::vector<double> sum(width, 0.0), row(width);
    const int64_t first = first_panel_[c] * PANEL - starts[c];  // position to lane
    for (int64_t i = starts[c]; i < starts[c + 1]; ++i) {
        check_row(i);
        if (!panels_.empty()) put_row(panels_, first + i, i);
        const float* z = short_rows.row(i);
        for (int k = 0; k < head; ++k) sum[k] += z[k];
        sum[head] += short_rows.tail(i, head);
    }
    const int64_t end = panels_.empty() ? 0 : first_panel_[c + 1] * PANEL;
    for (int64_t lane = first + starts[c + 1]; lane < end; ++lane) panels_.put_none(lane);
    const double n = (double)std::max<int64_t>(1, cell_size(c));
    for (int k = 0; k < width; ++k) centres_[c * width + k] = (float)(sum[k] / n);
    centre_norms_[c] = distance(centre(c), row.data());
    for (int64_t i = starts[c]; i < starts[c + 1]; ++i) {
        const float* z = short_rows.row(i);
        for (int k = 0; k < head; ++k) row[k] = z[k];
        row[head] = short_rows.tail(i, head);
        radii_[c] = std::max(radii_[c], distance(centre(c), row.data()));
        panel_radii_[first_panel_[c] + (i - starts[c]) / PANEL] = (float)(radii_[c] * (1 + 0x1p-20));
    }
}

void Cells::check_row(int64_t i) const {
    const int n_tails = short_rows.dims >> 3;
    const bool z = all_finite(short_rows.row(i), short_rows.dims);
    const bool tails = all_finite(short_rows.tails + i * n_tails, n_tails);
    if (z && tails && std::isfinite(short_rows.sizes[i])) return;
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
