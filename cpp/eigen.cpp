// Compiled with -ffp-contract=off, sums in a fixed order: the bits are the same on every instruction set.
#include "eigen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "sums.hpp"

namespace nestmap {

namespace {

void add_times(double* __restrict out, double factor, const double* __restrict row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] += factor * row[i];
}

// Householder's reflections to a tridiagonal matrix, then the implicit QL method on it.
class Decomposition {
public:
    Decomposition(double* a, int64_t n) : a_(a), n_(n), q_(n * n), d_(n), e_(n), factor_(n), p_(n), w_(n) {}

    void run(double* values) {
        reduce();
        gather();
        for (int64_t l = 0; l < n_; ++l) settle(l);
        sort(values);
    }

private:
    static constexpr double NOTHING = 1e-280;  // a square below it is of an entry that is nothing beside 1
    double* a_;
    const int64_t n_;
    std::vector<double> q_, d_, e_, factor_, p_, w_;

    // Reflection k leaves entries k and k + 1 of row k; its vector stays in that row.
    void reduce() {
        for (int64_t k = 0; k < n_; ++k) {
            d_[k] = a_[k * n_ + k];
            const int64_t m = n_ - k - 1;
            double* x = a_ + k * n_ + k + 1;
            if (m == 1) e_[k] = x[0];
            if (m > 1) reflect(k, x, m);
        }
    }
    void reflect(int64_t k, double* x, int64_t m) {
        e_[k] = x[0];
        if (dot(x + 1, x + 1, m - 1) < NOTHING) return;
        const double norm = std::sqrt(dot(x, x, m));
        e_[k] = x[0] > 0 ? -norm : norm;
        x[0] -= e_[k];
        factor_[k] = 2 / dot(x, x, m);
        std::fill(p_.begin(), p_.begin() + m, 0.0);
        for (int64_t j = 0; j < m; ++j) add_times(p_.data(), x[j], trailing(k, j), m);
        for (int64_t i = 0; i < m; ++i) p_[i] *= factor_[k];
        const double half = factor_[k] * 0.5 * dot(p_.data(), x, m);
        for (int64_t i = 0; i < m; ++i) w_[i] = p_[i] - half * x[i];
        for (int64_t j = 0; j < m; ++j) subtract(trailing(k, j), x[j], w_[j], x, w_.data(), m);
    }
    double* trailing(int64_t k, int64_t j) { return a_ + (k + 1 + j) * n_ + k + 1; }
    static void subtract(double* __restrict row, double xj, double wj, const double* __restrict x,
                         const double* __restrict w, int64_t m) {
        for (int64_t i = 0; i < m; ++i) row[i] -= xj * w[i] + wj * x[i];
    }

    // The product of all reflections, transposed: into a_.
    void gather() {
        for (int64_t i = 0; i < n_; ++i) q_[i * n_ + i] = 1;
        for (int64_t k = n_ - 3; k >= 0; --k) {
            if (factor_[k] == 0) continue;
            const int64_t m = n_ - k - 1;
            const double* x = a_ + k * n_ + k + 1;
            const auto row = [&](int64_t j) { return q_.data() + (k + 1 + j) * n_ + k + 1; };
            std::fill(p_.begin(), p_.begin() + m, 0.0);
            for (int64_t j = 0; j < m; ++j) add_times(p_.data(), x[j], row(j), m);
            for (int64_t j = 0; j < m; ++j) add_times(row(j), -(factor_[k] * x[j]), p_.data(), m);
        }
        for (int64_t i = 0; i < n_; ++i)
            for (int64_t j = 0; j < n_; ++j) a_[i * n_ + j] = q_[j * n_ + i];
    }

    // Shifted rotations until entry l of the diagonal stands alone.
    void settle(int64_t l) {
        constexpr int MOST_STEPS = 200;  // two or three are usual
        for (int step = 0; step < MOST_STEPS; ++step) {
            int64_t m = l;
            while (m + 1 < n_ && !is_small(m)) ++m;
            if (m == l) return;
            chase(l, m);
        }
    }
    bool is_small(int64_t m) const {
        return std::fabs(e_[m]) <= 0x1p-53 * (std::fabs(d_[m]) + std::fabs(d_[m + 1])) || std::fabs(e_[m]) < 1e-290;
    }
    void chase(int64_t l, int64_t m) {
        double g = (d_[l + 1] - d_[l]) / (2 * e_[l]), r = std::sqrt(g * g + 1);
        g = d_[m] - d_[l] + e_[l] / (g + (g < 0 ? -r : r));
        double s = 1, c = 1, p = 0;
        for (int64_t i = m - 1; i >= l; --i) {
            const double f = s * e_[i], b = c * e_[i];
            e_[i + 1] = r = std::sqrt(f * f + g * g);
            if (r == 0) {
                d_[i + 1] -= p;
                e_[m] = 0;
                return;
            }
            s = f / r;
            c = g / r;
            g = d_[i + 1] - p;
            r = (d_[i] - g) * s + 2 * c * b;
            p = s * r;
            d_[i + 1] = g + p;
            g = c * r - b;
            turn(a_ + i * n_, a_ + (i + 1) * n_, s, c, n_);
        }
        d_[l] -= p;
        e_[l] = g;
        e_[m] = 0;
    }
    static void turn(double* __restrict low, double* __restrict high, double s, double c, int64_t n) {
        for (int64_t k = 0; k < n; ++k) {
            const double f = high[k], g = low[k];
            high[k] = s * g + c * f;
            low[k] = c * g - s * f;
        }
    }

    void sort(double* values) {
        std::vector<int64_t> order(n_);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return d_[a] < d_[b]; });
        std::copy(a_, a_ + n_ * n_, q_.begin());
        for (int64_t i = 0; i < n_; ++i) {
            values[i] = d_[order[i]];
            std::copy_n(q_.begin() + order[i] * n_, n_, a_ + i * n_);
        }
    }
};

// A row without what the rows before it hold.
void take_off(double* row, const double* rows, int64_t n_before, int64_t n) {
    for (int64_t i = 0; i < n_before; ++i) add_times(row, -dot(rows + i * n, row, n), rows + i * n, n);
}

}  // namespace

void eigenvectors(double* matrices, int64_t count, int64_t n, double* values, int n_threads, const Poll& poll) {
    parallel_for(count, n_threads, poll,
                 [&](int64_t g, int) { Decomposition(matrices + g * n * n, n).run(values + g * n); });
}

void orthonormal(double* rows, int64_t n_rows, int64_t n) {
    constexpr double DEPENDENT = 1e-12;  // of its length, what is left: rounding
    constexpr int MOST_TRIES = 16;
    for (int64_t j = 0; j < n_rows; ++j) {
        double* row = rows + j * n;
        for (int64_t next = 0; next < MOST_TRIES; ++next) {
            const double before = std::sqrt(dot(row, row, n));
            take_off(row, rows, j, n);
            take_off(row, rows, j, n);  // once more: what rounding left behind
            const double length = std::sqrt(dot(row, row, n));
            if (length > DEPENDENT * before) {
                for (int64_t k = 0; k < n; ++k) row[k] /= length;
                break;
            }
            std::fill(row, row + n, 0.0);
            row[(j + next) % n] = 1;
        }
    }
}

}  // namespace nestmap
