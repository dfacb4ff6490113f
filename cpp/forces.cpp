// Compiled with -ffp-contract=off, sums in a fixed order: the bits are the same on every instruction set.
#include "forces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "checks.hpp"
#include "functions.hpp"
#include "isa.hpp"
#include "sums.hpp"

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

// `shares` is room for k numbers.
double entropy(const double* gaps, int64_t k, double beta, double* shares, double* spread) {
    double total = 0, first = 0, second = 0;
    for (int64_t j = 0; j < k; ++j) shares[j] = exponential(-beta * gaps[j]);
    for (int64_t j = 0; j < k; ++j) {
        const double p = shares[j];
        total += p;
        first += p * gaps[j];
        second += p * gaps[j] * gaps[j];
    }
    first /= total;
    *spread = second / total - first * first;
    return logarithm(total) + beta * first;
}

// The beta at which exp(-beta gaps) has the wanted entropy: Newton's steps in log(beta), kept inside a bracket.
double find_beta(const double* gaps, int64_t k, double wanted, double start, double* shares) {
    constexpr int MOST_STEPS = 60;
    double x = logarithm(start), low = x - 50, high = x + 50;
    for (int step = 0; step < MOST_STEPS; ++step) {
        const double beta = exponential(x);
        double spread;
        const double excess = entropy(gaps, k, beta, shares, &spread) - wanted;
        if (std::fabs(excess) < 1e-6) break;
        (excess > 0 ? low : high) = x;
        const double newton = x + excess / (beta * beta * spread);
        x = newton > low && newton < high ? newton : (low + high) / 2;
    }
    return exponential(x);
}

// Whether the neighbours of some nodes are nodes: in every step, where they are about to be read anyway.
void check_neighbors(const Attraction& graph, int64_t first, int64_t last) {
    const int64_t begin = graph.starts[first];
    const int64_t n = std::min(graph.starts[last] + 7, graph.starts[graph.n]) - begin;  // eight at a time
    uint32_t most = 0;  // no early exit: the loop becomes vectors; below zero is far above
    for (int64_t e = 0; e < n; ++e) most = std::max(most, (uint32_t)graph.ids[begin + e]);
    if (most >= (uint32_t)graph.n) check_indices("ids", graph.ids + begin, n, graph.n);
}

// Eight running sums in each direction: what eight neighbours of a node pull it with, at a time.
#if defined(__AVX2__)
class Sums {
public:
    explicit Sums(const float* own) : x_(_mm256_set1_ps(own[0])), y_(_mm256_set1_ps(own[1])) {}
    void add(const float* positions, const int32_t* ids, const float* weights) {
        const __m256 a = four(positions, ids[0], ids[1], ids[4], ids[5]);
        const __m256 b = four(positions, ids[2], ids[3], ids[6], ids[7]);
        const __m256 dx = _mm256_sub_ps(_mm256_shuffle_ps(a, b, 0x88), x_);
        const __m256 dy = _mm256_sub_ps(_mm256_shuffle_ps(a, b, 0xdd), y_);
        const __m256 away = _mm256_add_ps(_mm256_mul_ps(dx, dx), _mm256_mul_ps(dy, dy));
        const __m256 w = _mm256_div_ps(_mm256_loadu_ps(weights), _mm256_add_ps(_mm256_set1_ps(1.0f), away));
        sx_ = _mm256_add_ps(sx_, _mm256_mul_ps(w, dx));
        sy_ = _mm256_add_ps(sy_, _mm256_mul_ps(w, dy));
    }
    void total(float* pull) const {
        alignas(32) float s[8];
        _mm256_store_ps(s, sx_);
        pull[0] = sum_eight(s);
        _mm256_store_ps(s, sy_);
        pull[1] = sum_eight(s);
    }

private:
    const __m256 x_, y_;
    __m256 sx_ = _mm256_setzero_ps(), sy_ = _mm256_setzero_ps();

    // A place is 64 bits: half as many loads as coordinates.
    static __m256 four(const float* positions, int64_t a, int64_t b, int64_t c, int64_t d) {
        const auto* p = reinterpret_cast<const __m64*>(positions);
        const __m128 low = _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), p + a), p + b);
        const __m128 high = _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), p + c), p + d);
        return _mm256_set_m128(high, low);
    }
};
#else
class Sums {
public:
    explicit Sums(const float* own) : x_(splat(own[0])), y_(splat(own[1])) {}
    void add(const float* positions, const int32_t* ids, const float* weights) {
        for (int h = 0; h < 2; ++h, ids += 4, weights += 4) {
            vfloat dx = two(positions, ids[0], ids[1]), dy = two(positions, ids[2], ids[3]);
            part_pairs(dx, dy);
            dx -= x_;
            dy -= y_;
            const vfloat w = load(weights) / (1.0f + (dx * dx + dy * dy));
            sx_[h] += w * dx;
            sy_[h] += w * dy;
        }
    }
    void total(float* pull) const {
        pull[0] = total_of(sx_);
        pull[1] = total_of(sy_);
    }

private:
    const vfloat x_, y_;
    vfloat sx_[2] = {}, sy_[2] = {};

    // A place is 64 bits: half as many loads as coordinates.
    static vfloat two(const float* positions, int64_t a, int64_t b) {
        typedef int64_t Place __attribute__((aligned(4), may_alias));
        typedef int64_t Two __attribute__((vector_size(16)));
        const auto* p = reinterpret_cast<const Place*>(positions);
        return (vfloat)Two{p[a], p[b]};
    }
    static float total_of(const vfloat (&sums)[2]) {
        float s[8];
        store(s, sums[0]);
        store(s + 4, sums[1]);
        return sum_eight(s);
    }
};
#endif

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
        Sums sums(positions_ + 2 * i);
        const int64_t last = graph_.starts[i + 1], all = graph_.starts[graph_.n];
        int64_t e = graph_.starts[i];
        for (; e + 8 <= last; e += 8) sums.add(positions_, graph_.ids + e, graph_.weights + e);
        if (e < last) {
            int32_t ids[8] = {};
            float weights[8] = {};
            if (e + 8 <= all)  // those after the last are of other nodes: their weight is 0 here
                for (int l = 0; l < 8; ++l) weights[l] = l < last - e ? graph_.weights[e + l] : 0.0f;
            else
                std::copy(graph_.weights + e, graph_.weights + last, weights);
            std::copy(graph_.ids + e, graph_.ids + std::min(e + 8, all), ids);
            sums.add(positions_, ids, weights);
        }
        sums.total(pull);
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

// What attracts one node, at whatever place: the pull of a neighbour is half as strong at a distance whose square is
// `near`. Sums are eight running ones.
class Surroundings {
public:
    Surroundings(const Strongest& graph, float near, const float* positions, const bool* counts)
        : graph_(graph), near_(1 / near), positions_(positions), counts_(counts), width_((graph.k + 7) / 8 * 8),
          ids_(width_, -1), x_(width_), y_(width_), w_(width_), pulls_(width_) {}

    void enter(int64_t i) {
        for (int64_t j = 0; j < graph_.k; ++j) {
            const int64_t id = ids_[j] = graph_.ids[i * graph_.k + j];
            x_[j] = positions_[2 * id];
            y_[j] = positions_[2 * id + 1];
            w_[j] = counts_[id] ? graph_.weights[i * graph_.k + j] : 0.0f;
        }
    }

    // The attraction at a place by all but one node, which lies there itself.
    float attraction(float x, float y, int32_t but = -1) {
        for (int64_t j = 0; j < width_; ++j) {
            const float dx = x - x_[j], dy = y - y_[j];
            const float pull = w_[j] / (1 + (dx * dx + dy * dy) * near_);
            pulls_[j] = ids_[j] == but ? 0.0f : pull;
        }
        return sum(pulls_.data(), nullptr);
    }

    // Where the node is attracted to the most: the mean of the neighbours around the best of their places. How many
    // times as much as here.
    float best(int64_t n_tried, const float* here, float* place) {
        int64_t best = 0;
        float most = -1;
        for (int64_t j = 0; j < std::min(n_tried, graph_.k); ++j) {
            const float found = attraction(x_[j], y_[j], ids_[j]);
            if (found > most) most = found, best = j;
        }
        constexpr float TINY = std::numeric_limits<float>::min();
        std::copy(here, here + 2, place);
        if (most > 0) {
            const float total = std::max(attraction(x_[best], y_[best]), TINY);
            place[0] = sum(pulls_.data(), x_.data()) / total;
            place[1] = sum(pulls_.data(), y_.data()) / total;
        }
        const float now = attraction(here[0], here[1]);
        return attraction(place[0], place[1]) / std::max(now, TINY);
    }

private:
    const Strongest& graph_;
    const float near_;
    const float* positions_;
    const bool* counts_;
    const int64_t width_;
    std::vector<int32_t> ids_;
    std::vector<float> x_, y_, w_, pulls_;

    float sum(const float* a, const float* times) const {
        float s[8] = {};
        for (int64_t j = 0; j < width_; j += 8)
            for (int l = 0; l < 8; ++l) s[l] += times ? a[j + l] * times[j + l] : a[j + l];
        return sum_eight(s);
    }
};

}  // namespace

void calibrate(const float* distances, int64_t n, int64_t k, double perplexity, float* weights, int n_threads,
               const Poll& poll) {
    const double wanted = logarithm(perplexity);
    parallel_for(n_blocks(n), n_threads, poll, [&](int64_t task, int) {
        std::vector<double> gaps(k), shares(k);
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i) {
            const float* d = distances + i * k;
            float* w = weights + i * k;
            double nearest = std::numeric_limits<double>::infinity(), mean = 0;
            for (int64_t j = 0; j < k; ++j) nearest = std::min(nearest, (double)d[j] * d[j]);
            for (int64_t j = 0; j < k; ++j) mean += gaps[j] = (double)d[j] * d[j] - nearest;
            const double beta = mean > 0 ? find_beta(gaps.data(), k, wanted, k / mean, shares.data()) : 0.0;
            double total = 0;
            for (int64_t j = 0; j < k; ++j) shares[j] = exponential(-beta * gaps[j]);
            for (int64_t j = 0; j < k; ++j) total += shares[j];
            for (int64_t j = 0; j < k; ++j) w[j] = (float)(shares[j] / total);
        }
    });
}

// Strips of grid rows, wider than a spline reaches: even ones never touch each other, nor do odd ones. So each grid
// cell is summed in one order, for any number of threads.
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
    const auto lay = [&](int64_t s) {
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
    };
    for (int64_t odd = 0; odd < 2; ++odd) {
        const int64_t n_tasks = (n_strips + 1 - odd) / 2;
        if (n_threads == 1)  // a thread that can be stopped would cost more than this
            for (int64_t task = 0; task < n_tasks; ++task) lay(2 * task + odd);
        else
            parallel_for(n_tasks, n_threads, poll, [&](int64_t task, int) { lay(2 * task + odd); });
    }
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
        const int64_t first = task * BLOCK, last = std::min(graph.n, first + BLOCK);
        check_neighbors(graph, first, last);
        for (int64_t i = first; i < last; ++i) {
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

void strongest(const Attraction& graph, int64_t k, int32_t* ids, float* weights, int n_threads, const Poll& poll) {
    parallel_for(n_blocks(graph.n), n_threads, poll, [&](int64_t task, int) {
        std::vector<int64_t> order;
        for (int64_t i = task * BLOCK; i < std::min(graph.n, (task + 1) * BLOCK); ++i) {
            const int64_t first = graph.starts[i], size = graph.starts[i + 1] - first, kept = std::min(k, size);
            order.resize(size);
            for (int64_t e = 0; e < size; ++e) order[e] = first + e;
            const float* w = graph.weights;
            std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                              [w](int64_t a, int64_t b) { return w[a] > w[b] || (w[a] == w[b] && a < b); });
            for (int64_t j = 0; j < k; ++j) {
                ids[i * k + j] = kept ? graph.ids[order[std::min(j, kept - 1)]] : (int32_t)i;
                weights[i * k + j] = j < kept ? w[order[j]] : 0.0f;
            }
        }
    });
}

void better_places(const Strongest& graph, int64_t n_tried, float near, const float* positions, const bool* counts,
                   float* places, float* times, int n_threads, const Poll& poll) {
    parallel_for(n_blocks(graph.n), n_threads, poll, [&](int64_t task, int) {
        Surroundings around(graph, near, positions, counts);
        for (int64_t i = task * BLOCK; i < std::min(graph.n, (task + 1) * BLOCK); ++i) {
            around.enter(i);
            times[i] = around.best(n_tried, positions + 2 * i, places + 2 * i);
        }
    });
}

}  // namespace nestmap
