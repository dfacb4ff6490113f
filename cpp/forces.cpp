// Compiled with -ffp-contract=off, sums in a fixed order: the bits are the same on every instruction set.
#include "forces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nestmap {

namespace {

constexpr int64_t BLOCK = 2048;  // nodes of a task
// A node goes faster as long as its way stays the same, and slows down where it turns (delta-bar-delta).
constexpr float GROW = 0.2f, SHRINK = 0.8f, LEAST = 0.01f;

int64_t n_blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

// The part of an axis that a position meets: four grid lines from `first` on, and where between the middle two.
struct Place {
    int64_t first;
    float t;
};

Place place(float position, float origin, float inverse, int64_t n) {
    const float at = std::min(std::max((position - origin) * inverse, 1.0f), (float)(n - 3));
    const int64_t cell = std::min((int64_t)at, n - 3);
    return {cell - 1, at - (float)cell};
}

// Cubic B-spline at the four grid lines, and its slope.
void spline(float t, float* w) {
    const float s = 1 - t;
    w[0] = s * s * s / 6;
    w[1] = (4 + t * t * (3 * t - 6)) / 6;
    w[2] = (4 + s * s * (3 * s - 6)) / 6;
    w[3] = t * t * t / 6;
}

void slope(float t, float* w) {
    const float s = 1 - t;
    w[0] = -s * s / 2;
    w[1] = t * (3 * t - 4) / 2;
    w[2] = -s * (3 * s - 4) / 2;
    w[3] = t * t / 2;
}

double entropy(const double* gaps, int64_t k, double beta, double* spread) {
    double total = 0, first = 0, second = 0;
    for (int64_t j = 0; j < k; ++j) {
        const double p = std::exp(-beta * gaps[j]);
        total += p;
        first += p * gaps[j];
        second += p * gaps[j] * gaps[j];
    }
    first /= total;
    *spread = second / total - first * first;
    return std::log(total) + beta * first;
}

// The beta at which exp(-beta gaps) has the wanted entropy: Newton's steps in log(beta), kept inside a bracket.
double find_beta(const double* gaps, int64_t k, double wanted, double start) {
    constexpr int MOST_STEPS = 60;
    double low = std::log(start) - 50, high = std::log(start) + 50, x = std::log(start);
    for (int step = 0; step < MOST_STEPS; ++step) {
        const double beta = std::exp(x);
        double spread;
        const double excess = entropy(gaps, k, beta, &spread) - wanted;
        if (std::fabs(excess) < 1e-6) break;
        (excess > 0 ? low : high) = x;
        const double newton = x + excess / (beta * beta * spread);
        x = newton > low && newton < high ? newton : (low + high) / 2;
    }
    return std::exp(x);
}

class Walker {
public:
    Walker(const Attraction& graph, const Homes& homes, const Grid& grid, const float* potential, const Motion& motion,
           const float* rates, const float* positions)
        : graph_(graph), homes_(homes), grid_(grid), potential_(potential), motion_(motion), rates_(rates),
          positions_(positions) {}

    void move(int64_t i, float* velocity, float* gain, float* moved) const {
        float pull[2], push[2];
        attract(i, pull);
        if (homes_.ties) go_home(i, pull);
        repel(i, push);
        const float a = motion_.attraction * rates_[i], b = motion_.repulsion * rates_[i];
        float step[2];
        for (int c = 0; c < 2; ++c) {
            const float force = a * pull[c] + b * push[c];
            gain[c] = force * velocity[c] > 0 ? gain[c] + GROW : std::max(gain[c] * SHRINK, LEAST);
            step[c] = motion_.momentum * velocity[c] + gain[c] * force;
        }
        const float length = std::sqrt(step[0] * step[0] + step[1] * step[1]);
        const float shrink = length > motion_.longest ? motion_.longest / length : 1.0f;
        for (int c = 0; c < 2; ++c) {
            velocity[c] = shrink * step[c];
            moved[c] = positions_[2 * i + c] + velocity[c];
        }
    }

private:
    // Sum of w (y_j - y_i) / (1 + |y_j - y_i|^2), in eight running sums.
    void attract(int64_t i, float* pull) const {
        const float x = positions_[2 * i], y = positions_[2 * i + 1];
        float sx[8] = {}, sy[8] = {};
        const int64_t last = graph_.starts[i + 1];
        for (int64_t e = graph_.starts[i]; e < last; e += 8) {
            float dx[8], dy[8], w[8];
            const int m = (int)std::min<int64_t>(8, last - e);
            for (int l = 0; l < 8; ++l) {
                const int64_t at = l < m ? e + l : e;
                const float* other = positions_ + 2 * (int64_t)graph_.ids[at];
                dx[l] = other[0];
                dy[l] = other[1];
                w[l] = l < m ? graph_.weights[at] : 0.0f;
            }
            for (int l = 0; l < 8; ++l) {
                dx[l] -= x;
                dy[l] -= y;
                w[l] /= 1 + (dx[l] * dx[l] + dy[l] * dy[l]);
                sx[l] += w[l] * dx[l];
                sy[l] += w[l] * dy[l];
            }
        }
        pull[0] = ((sx[0] + sx[4]) + (sx[2] + sx[6])) + ((sx[1] + sx[5]) + (sx[3] + sx[7]));
        pull[1] = ((sy[0] + sy[4]) + (sy[2] + sy[6])) + ((sy[1] + sy[5]) + (sy[3] + sy[7]));
    }

    void go_home(int64_t i, float* pull) const {
        const float dx = homes_.places[2 * i] - positions_[2 * i];
        const float dy = homes_.places[2 * i + 1] - positions_[2 * i + 1];
        const float w = homes_.ties[i] / (1 + (dx * dx + dy * dy));
        pull[0] += w * dx;
        pull[1] += w * dy;
    }

    // Minus half the slope of the potential.
    void repel(int64_t i, float* push) const {
        const Place r = place(positions_[2 * i], grid_.origin[0], grid_.inverse, grid_.rows);
        const Place c = place(positions_[2 * i + 1], grid_.origin[1], grid_.inverse, grid_.cols);
        float wr[4], wc[4], dr[4], dc[4];
        spline(r.t, wr);
        spline(c.t, wc);
        slope(r.t, dr);
        slope(c.t, dc);
        float along_r = 0, along_c = 0;
        for (int a = 0; a < 4; ++a) {
            const float* line = potential_ + (r.first + a) * grid_.cols + c.first;
            const float level = (line[0] * wc[0] + line[1] * wc[1]) + (line[2] * wc[2] + line[3] * wc[3]);
            const float rise = (line[0] * dc[0] + line[1] * dc[1]) + (line[2] * dc[2] + line[3] * dc[3]);
            along_r += dr[a] * level;
            along_c += wr[a] * rise;
        }
        push[0] = -0.5f * grid_.inverse * along_r;
        push[1] = -0.5f * grid_.inverse * along_c;
    }

    const Attraction& graph_;
    const Homes homes_;
    const Grid& grid_;
    const float* potential_;
    const Motion motion_;
    const float* rates_;
    const float* positions_;
};

}  // namespace

void calibrate(const float* distances, int64_t n, int64_t k, double perplexity, float* weights, int n_threads,
               const Poll& poll) {
    const double wanted = std::log(perplexity);
    parallel_for(n_blocks(n), n_threads, poll, [&](int64_t task, int) {
        std::vector<double> gaps(k);
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i) {
            const float* d = distances + i * k;
            float* w = weights + i * k;
            double nearest = std::numeric_limits<double>::infinity(), mean = 0;
            for (int64_t j = 0; j < k; ++j) nearest = std::min(nearest, (double)d[j] * d[j]);
            for (int64_t j = 0; j < k; ++j) mean += gaps[j] = (double)d[j] * d[j] - nearest;
            const double beta = mean > 0 ? find_beta(gaps.data(), k, wanted, k / mean) : 0.0;
            double total = 0;
            for (int64_t j = 0; j < k; ++j) total += gaps[j] = std::exp(-beta * gaps[j]);
            for (int64_t j = 0; j < k; ++j) w[j] = (float)(gaps[j] / total);
        }
    });
}

// Strips of grid rows, wider than a spline reaches: even ones never meet, then odd ones. So each grid cell is summed
// in one order, for any number of threads.
void spread(const float* positions, const float* masses, int64_t n, const Grid& grid, float* charges, int n_threads,
            const Poll& poll) {
    constexpr int64_t STRIP = 8;
    const int64_t n_strips = (grid.rows + STRIP - 1) / STRIP;
    std::vector<int32_t> strip(n), order(n);
    std::vector<int64_t> starts(n_strips + 1);
    for (int64_t i = 0; i < n; ++i) {
        strip[i] = (int32_t)(place(positions[2 * i], grid.origin[0], grid.inverse, grid.rows).first / STRIP);
        ++starts[strip[i] + 1];
    }
    for (int64_t s = 0; s < n_strips; ++s) starts[s + 1] += starts[s];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (int64_t i = 0; i < n; ++i) order[next[strip[i]]++] = (int32_t)i;
    std::fill(charges, charges + grid.rows * grid.cols, 0.0f);
    for (int64_t odd = 0; odd < 2; ++odd)
        parallel_for((n_strips + 1 - odd) / 2, n_threads, poll, [&](int64_t task, int) {
            const int64_t s = 2 * task + odd;
            for (int64_t at = starts[s]; at < starts[s + 1]; ++at) {
                const int64_t i = order[at];
                const Place r = place(positions[2 * i], grid.origin[0], grid.inverse, grid.rows);
                const Place c = place(positions[2 * i + 1], grid.origin[1], grid.inverse, grid.cols);
                float wr[4], wc[4];
                spline(r.t, wr);
                spline(c.t, wc);
                for (int a = 0; a < 4; ++a) {
                    float* line = charges + (r.first + a) * grid.cols + c.first;
                    const float m = masses[i] * wr[a];
                    for (int b = 0; b < 4; ++b) line[b] += m * wc[b];
                }
            }
        });
}

void move(const Attraction& graph, const Homes& homes, const Grid& grid, const float* potential, const Motion& motion,
          const float* rates, const float* positions, float* velocities, float* gains, float* moved, float* bounds,
          int n_threads, const Poll& poll) {
    const Walker walker(graph, homes, grid, potential, motion, rates, positions);
    const int64_t n_tasks = n_blocks(graph.n);
    std::vector<float> limits(4 * n_tasks);
    parallel_for(n_tasks, n_threads, poll, [&](int64_t task, int) {
        constexpr float FAR = std::numeric_limits<float>::max();
        float low[2] = {FAR, FAR}, high[2] = {-FAR, -FAR};
        for (int64_t i = task * BLOCK; i < std::min(graph.n, (task + 1) * BLOCK); ++i) {
            walker.move(i, velocities + 2 * i, gains + 2 * i, moved + 2 * i);
            for (int c = 0; c < 2; ++c) {
                low[c] = std::min(low[c], moved[2 * i + c]);
                high[c] = std::max(high[c], moved[2 * i + c]);
            }
        }
        for (int c = 0; c < 2; ++c) {
            limits[4 * task + c] = low[c];
            limits[4 * task + 2 + c] = high[c];
        }
    });
    for (int c = 0; c < 2; ++c) {
        bounds[c] = limits[c];
        bounds[2 + c] = limits[2 + c];
        for (int64_t t = 1; t < n_tasks; ++t) {
            bounds[c] = std::min(bounds[c], limits[4 * t + c]);
            bounds[2 + c] = std::max(bounds[2 + c], limits[4 * t + 2 + c]);
        }
    }
}

}  // namespace nestmap
