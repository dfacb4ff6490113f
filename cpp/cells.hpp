// Rows in cells: reduced coordinates as panels, a centre and a radius per cell.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "isa.hpp"
#include "rows.hpp"

namespace nestmap {

// The reduced coordinates of a set of rows, in cell order. Distances between them never exceed the
// distances between the rows: z are coordinates in an orthonormal basis (L2) or sums of groups of
// columns (L1), and tail[c] stands for everything after column 8(c+1): the norm of what is left
// (L2) or its sum (L1).
struct Reduced {
    int64_t n = 0;
    int dims = 0;              // columns of z, a multiple of 16
    const float* z = nullptr;      // n x dims
    const float* tails = nullptr;  // n x dims / 8
    const float* sizes = nullptr;  // |row|^2 (L2) or |row|_1 (L1)
    const int64_t* ids = nullptr;  // row number in Rows
    float tail(int64_t i, int upto) const { return tails[i * (dims >> 3) + (upto >> 3) - 1]; }
};

// More than a sum of products below the range of float can be off by, even if the CPU flushes them to zero.
constexpr double BELOW_FLOAT = 1e-35;

class Cells {
public:
    // `head` columns of z (a multiple of 8) and their tail go into the panels; `starts` are the
    // n_cells + 1 positions where cells begin; `slack` bounds the relative rounding error. NaN or infinity in
    // a row is an error: no bound would hold.
    Cells(const Reduced& r, const int64_t* starts, int64_t n_cells, int head, double slack, Norm norm,
          int n_threads);

    const Reduced reduced;
    const int head, width;  // width = head + 1: the columns of a panel
    const double slack;
    const Norm norm;
    const int64_t n_cells;
    std::vector<int64_t> starts;

    int64_t cell_size(int64_t c) const { return starts[c + 1] - starts[c]; }
    int64_t cell_panels(int64_t c) const { return (cell_size(c) + PANEL - 1) / PANEL; }
    const float* panel(int64_t c, int64_t k) const {
        return panels_.data() + (first_panel_[c] + k) * (width + 1) * PANEL;
    }
    const float* centre(int64_t c) const { return centres_.data() + c * width; }
    double radius(int64_t c) const { return radii_[c]; }
    // Largest distance from the centre in panel k and the panels before it: ascends with k.
    float panel_radius(int64_t c, int64_t k) const { return panel_radii_[first_panel_[c] + k]; }
    double centre_norm(int64_t c) const { return centre_norms_[c]; }
    // What rounding can take off a distance to a row of this cell, beside the other row's share.
    double cell_slack(int64_t c) const { return slack * (centre_norms_[c] + radii_[c]); }

    // The row's size with the margin for rounding taken off, as lower_bound expects it (docs/exactness.md).
    float margin_size(int64_t position) const { return with_margin(reduced.sizes[position]); }
    float with_margin(double size) const {
        return (float)((norm == Norm::L2 ? size * (1 - slack) : -size * slack) - BELOW_FLOAT);
    }

    // Whether a row at `bound` from row `position` in short rows is farther than `distance` (both squared for L2),
    // with room for the rounding of short rows to float.
    bool surely_beyond(int64_t position, double bound, double distance) const {
        const bool l2 = norm == Norm::L2;
        const double size = reduced.sizes[position], away = l2 ? std::sqrt(distance) : distance;
        const double rounding = 2 * slack * ((l2 ? std::sqrt(size) : size) + away);
        bound = std::max(0.0, bound - BELOW_FLOAT);
        return (l2 ? std::sqrt(bound) : bound) * (1 - 1e-4) > away + rounding;
    }

private:
    void fill(int64_t cell);
    void check_row(int64_t position) const;
    double distance(const float* a, const double* b) const;
    std::vector<int64_t> first_panel_;
    Floats panels_;
    std::vector<float> centres_, panel_radii_;
    std::vector<double> radii_, centre_norms_;
};

}  // namespace nestmap
