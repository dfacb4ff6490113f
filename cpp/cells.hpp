// Rows in cells: short rows as panels, a centre and a radius per cell.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panels.hpp"
#include "rows.hpp"

namespace nestmap {

// Rows of fewer columns, in cell order. Distances between them never exceed the distances between the rows: z
// are coordinates in an orthonormal basis (L2) or sums of groups of columns (L1), and tail(i, c) stands for
// everything after column c (a multiple of 8): the norm of what is left (L2) or its sum (L1).
struct ShortRows {
    int64_t n = 0;
    int dims = 0;                  // columns of z, a multiple of 16
    const float* z = nullptr;      // n x dims
    const float* tails = nullptr;  // n x dims / 8
    const float* sizes = nullptr;  // |row|^2 (L2) or |row|_1 (L1)
    const int64_t* ids = nullptr;  // row number in Rows
    const float* row(int64_t i) const { return z + i * dims; }
    float tail(int64_t i, int upto) const { return tails[i * (dims >> 3) + (upto >> 3) - 1]; }
};

// More than a sum of products below the range of float can be off by, even if the CPU flushes them to zero.
constexpr double BELOW_FLOAT = 1e-35;

class Cells {
public:
    // `head` columns of z (a multiple of 8) and their tail go into the panels; `starts` are the
    // n_cells + 1 positions where cells begin; `slack` bounds the relative rounding error. NaN or infinity in
    // a row is an error: no bound would hold. Panels repeat much of the short rows: joins and queries need them, the
    // approximate search packs the few that it needs (put_cell).
    Cells(const ShortRows& rows, const int64_t* starts, int64_t n_cells, int head, double slack, Norm norm,
          bool with_panels, int n_threads);

    const ShortRows short_rows;
    const int head, width;  // width = head + 1: the columns of a panel
    const double slack;
    const Norm norm;
    const int64_t n_cells;
    std::vector<int64_t> starts;

    int64_t cell_size(int64_t c) const { return starts[c + 1] - starts[c]; }
    int64_t cell_panels(int64_t c) const { return Panels::number(cell_size(c)); }
    const float* panel(int64_t c, int64_t k) const { return panels_[first_panel_[c] + k]; }
    const float* centre(int64_t c) const { return centres_.data() + c * width; }
    double radius(int64_t c) const { return radii_[c]; }
    // Largest distance from the centre in panel k and the panels before it: ascends with k.
    float panel_radius(int64_t c, int64_t k) const { return panel_radii_[first_panel_[c] + k]; }
    bool has_panels() const { return short_rows.n == 0 || !panels_.empty(); }
    double centre_norm(int64_t c) const { return centre_norms_[c]; }
    double centre_size(int64_t c) const {
        return norm == Norm::L2 ? centre_norms_[c] * centre_norms_[c] : centre_norms_[c];
    }
    // What rounding can take off a distance to a row of this cell, beside the other row's share.
    double cell_slack(int64_t c) const { return slack * (centre_norms_[c] + radii_[c]); }

    // A size with the margin for rounding taken off, as lower_bound expects it (docs/explain/exactness.md).
    float with_margin(double size) const {
        return (float)((norm == Norm::L2 ? size * (1 - slack) : -size * slack) - BELOW_FLOAT);
    }
    // A row, or the centre of a cell, as row i of some blocks.
    template <int SIDE>
    void put_row(Blocks<SIDE>& out, int64_t i, int64_t position) const {
        out.put(i, short_rows.row(position), short_rows.tail(position, head),
                with_margin(short_rows.sizes[position]));
    }
    template <int SIDE>
    void put_centre(Blocks<SIDE>& out, int64_t i, int64_t cell) const {
        out.put(i, centre(cell), centre(cell)[head], with_margin(centre_size(cell)));
    }
    // The panels of one cell, in the place of what `out` holds.
    void put_cell(Panels& out, int64_t cell) const {
        out.resize(cell_size(cell), width);
        for (int64_t i = 0; i < cell_size(cell); ++i) put_row(out, i, starts[cell] + i);
    }

    // Whether a row at `bound` from row `position` in short rows is farther than `distance` (both squared for L2),
    // with room for the rounding of short rows to float.
    bool surely_beyond(int64_t position, double bound, double distance) const {
        const bool l2 = norm == Norm::L2;
        const double size = short_rows.sizes[position], away = l2 ? std::sqrt(distance) : distance;
        const double rounding = 2 * slack * ((l2 ? std::sqrt(size) : size) + away);
        bound = std::max(0.0, bound - BELOW_FLOAT);
        return (l2 ? std::sqrt(bound) : bound) * (1 - 1e-4) > away + rounding;
    }

private:
    void fill(int64_t cell);
    void check_row(int64_t position) const;
    double distance(const float* a, const double* b) const;
    std::vector<int64_t> first_panel_;
    Panels panels_;
    std::vector<float> centres_, panel_radii_;
    std::vector<double> radii_, centre_norms_;
};

// Some rows as a tile takes them.
inline void pack_rows(const Cells& cells, const std::vector<int32_t>& positions, RowGroups& out) {
    out.resize((int64_t)positions.size(), cells.width);
    for (size_t i = 0; i < positions.size(); ++i) cells.put_row(out, (int64_t)i, positions[i]);
}

}  // namespace nestmap
