// Compiled with -ffp-contract=off: the bits of a frame are the same on every instruction set.
#include "frames.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sums.hpp"

namespace nestmap {

namespace {

// Eigenvalues on the diagonal of a (m x m, symmetric), eigenvectors in the rows of v; cyclic Jacobi rotations.
void jacobi(int m, double* a, double* v) {
    constexpr int MOST_SWEEPS = 40;  // about six are needed
    std::fill(v, v + m * m, 0.0);
    double trace = 0;
    for (int i = 0; i < m; ++i) {
        v[i * m + i] = 1;
        trace += a[i * m + i];
    }
    bool turned = true;
    for (int sweep = 0; turned && sweep < MOST_SWEEPS; ++sweep) {
        turned = false;
        for (int p = 0; p < m; ++p)
            for (int q = p + 1; q < m; ++q) {
                const double apq = a[p * m + q];
                if (std::fabs(apq) <= 1e-17 * trace) continue;
                turned = true;
                const double theta = (a[q * m + q] - a[p * m + p]) / (2 * apq);
                const double t = (theta < 0 ? -1.0 : 1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
                const double c = 1 / std::sqrt(t * t + 1), s = t * c;
                const double app = a[p * m + p] - t * apq, aqq = a[q * m + q] + t * apq;
                for (int k = 0; k < m; ++k) {
                    const double akp = a[p * m + k], akq = a[q * m + k];
                    a[p * m + k] = a[k * m + p] = c * akp - s * akq;
                    a[q * m + k] = a[k * m + q] = s * akp + c * akq;
                    const double vp = v[p * m + k], vq = v[q * m + k];
                    v[p * m + k] = c * vp - s * vq;
                    v[q * m + k] = s * vp + c * vq;
                }
                a[p * m + p] = app;
                a[q * m + q] = aqq;
                a[p * m + q] = a[q * m + p] = 0;
            }
    }
}

class FrameFitter {
public:
    FrameFitter(const float* z, int64_t cols, const Groups& groups, int64_t dims)
        : z_(z), cols_(cols), groups_(groups), dims_(dims), x_(SMALL_GROUP * cols), y_(SMALL_GROUP * cols),
          direction_(cols), sign_(cols), gram_(SMALL_GROUP * SMALL_GROUP), left_(SMALL_GROUP * SMALL_GROUP) {
        // one fixed direction decides signs: generic, so that hardly anything is orthogonal to it
        for (int64_t k = 0; k < cols; ++k) {
            const double step = (double)(k + 1) * 0.6180339887498949;
            sign_[k] = 0.5 + (step - std::floor(step));
        }
    }

    void fit(int64_t g, double* offsets, float* map) {
        const int64_t* members = groups_.order + groups_.starts[g];
        const int m = (int)(groups_.starts[g + 1] - groups_.starts[g]);
        centre(members, m);
        decompose(m);
        double top = 0;
        for (int i = 0; i < m; ++i) top = std::max(top, gram_[i * m + i]);
        const int64_t most = std::min<int64_t>({dims_, m - 1, cols_});
        bool used[SMALL_GROUP] = {};
        for (int64_t c = 0; c < most; ++c) {
            int best = -1;
            for (int i = 0; i < m; ++i)
                if (!used[i] && (best < 0 || gram_[i * m + i] > gram_[best * m + best])) best = i;
            used[best] = true;
            if (gram_[best * m + best] <= 1e-10 * std::max(top, 1e-300)) return;  // beyond the rank: noise
            if (!point(left_.data() + best * m, m)) return;
            for (int i = 0; i < m; ++i)
                offsets[members[i] * dims_ + c] = dot(x_.data() + i * cols_, direction_.data(), cols_);
            for (int64_t k = 0; k < cols_; ++k) map[c * cols_ + k] = (float)direction_[k];
        }
    }

private:
    // Members about their mean, and the same times the roots of their weights.
    void centre(const int64_t* members, int m) {
        std::fill(direction_.begin(), direction_.end(), 0.0);
        double total = 0;
        for (int i = 0; i < m; ++i) {
            const double w = groups_.weights[members[i]];
            const float* row = z_ + members[i] * cols_;
            total += w;
            for (int64_t k = 0; k < cols_; ++k) direction_[k] += w * (double)row[k];
        }
        for (int64_t k = 0; k < cols_; ++k) direction_[k] /= total;
        for (int i = 0; i < m; ++i) {
            const double root = std::sqrt(groups_.weights[members[i]]);
            const float* row = z_ + members[i] * cols_;
            double *x = x_.data() + i * cols_, *y = y_.data() + i * cols_;
            for (int64_t k = 0; k < cols_; ++k) {
                x[k] = (double)row[k] - direction_[k];
                y[k] = root * x[k];
            }
        }
    }

    // Eigenvalues of the weighted Gram matrix on its diagonal, eigenvectors in the rows of left_.
    void decompose(int m) {
        for (int i = 0; i < m; ++i)
            for (int j = i; j < m; ++j)
                gram_[i * m + j] = gram_[j * m + i] = dot(y_.data() + i * cols_, y_.data() + j * cols_, cols_);
        jacobi(m, gram_.data(), left_.data());
    }

    // The unit direction of a left vector, with its sign settled; false if there is none.
    bool point(const double* left, int m) {
        std::fill(direction_.begin(), direction_.end(), 0.0);
        for (int i = 0; i < m; ++i) {
            const double* y = y_.data() + i * cols_;
            for (int64_t k = 0; k < cols_; ++k) direction_[k] += left[i] * y[k];
        }
        double length = std::sqrt(dot(direction_.data(), direction_.data(), cols_));
        if (!(length > 0)) return false;
        if (dot(direction_.data(), sign_.data(), cols_) < 0) length = -length;
        for (double& value : direction_) value /= length;
        return true;
    }

    const float* z_;
    const int64_t cols_;
    const Groups& groups_;
    const int64_t dims_;
    std::vector<double> x_, y_, direction_, sign_, gram_, left_;
};

}  // namespace

void small_frames(const float* z, int64_t cols, const Groups& groups, int64_t dims, double* offsets, float* maps,
                  int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 256;
    parallel_for((groups.n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        FrameFitter fitter(z, cols, groups, dims);
        for (int64_t g = task * BLOCK; g < std::min(groups.n, (task + 1) * BLOCK); ++g) {
            const int64_t m = groups.starts[g + 1] - groups.starts[g];
            if (m >= 2 && m <= SMALL_GROUP) fitter.fit(g, offsets, maps + g * dims * cols);
        }
    });
}

void alignments(const Surroundings& in, double* out, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 1024;
    const int64_t d = in.dims, p = in.cols;
    parallel_for((in.n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        std::vector<double> v(p), u(d);
        for (int64_t i = task * BLOCK; i < std::min(in.n, (task + 1) * BLOCK); ++i) {
            double* total = out + i * d * d;
            std::fill(total, total + d * d, 0.0);
            for (int64_t a = 0; a < in.n_around; ++a) {
                const int64_t j = in.around[i * in.n_around + a];
                for (int64_t k = 0; k < p; ++k) v[k] = (double)in.centres[j * p + k] - (double)in.centres[i * p + k];
                for (int64_t c = 0; c < d; ++c) u[c] = in.anchors[j * d + c] - in.anchors[i * d + c];
                const double size = dot(v.data(), v.data(), p) * std::sqrt(dot(u.data(), u.data(), d));
                if (!(size > 0)) continue;
                for (int64_t c = 0; c < d; ++c) {
                    const double seen = dot(in.maps + (i * d + c) * p, v.data(), p) / size;
                    for (int64_t r = 0; r < d; ++r) total[r * d + c] += u[r] * seen;
                }
            }
        }
    });
}

}  // namespace nestmap
