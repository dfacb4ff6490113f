// Compiled with -ffp-contract=off: the bits of a distance are the same on every instruction set.
#include "rows.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "isa.hpp"
#include "parallel.hpp"

namespace nestmap {

namespace {

// Eight running sums: enough to fill any vector unit, added up in one fixed order.
struct Sum8 {
    static constexpr int WIDE = LANES / 2, N = 8 / WIDE;
    vdouble s[N] = {};
    double lane(int l) const { return s[l / WIDE][l % WIDE]; }
    void add(int l, double x) { s[l / WIDE][l % WIDE] += x; }
    double total() const {
        return ((lane(0) + lane(4)) + (lane(2) + lane(6))) + ((lane(1) + lane(5)) + (lane(3) + lane(7)));
    }
};

template <Norm N, class V>
inline V term(V diff) {
    return N == Norm::L2 ? diff * diff : (diff > 0 ? diff : -diff);
}

constexpr int64_t EXIT_EVERY = 128;  // columns between two looks at the limit
constexpr double APART = 2;  // squared distance of a unit vector to a row without direction: not up to rounding

// How two rows are read. Plain: as they are, since centre and scale are 0 and one power of two (euclidean, manhattan),
// applied at the end. Scaled: both are centred and scaled. Second: the first one has been already.
enum class Form { Plain, Scaled, Second };

template <Norm N, Form F, class A, class B>
double dense_distance(const A* a, const B* b, int64_t cols, double sa, double ca, double sb, double cb, double limit) {
    const auto term_of = [&](auto x, auto y) {
        return term<N>((F == Form::Scaled ? (x - ca) * sa : x) - (F == Form::Plain ? y : (y - cb) * sb));
    };
    Sum8 sum;
    int64_t k = 0;
    while (k + 8 <= cols) {
        const int64_t stop = std::min(cols - cols % 8, k + EXIT_EVERY);
        for (; k < stop; k += 8)
            for (int v = 0; v < Sum8::N; ++v)
                sum.s[v] += term_of(load_wide(a + k + v * Sum8::WIDE), load_wide(b + k + v * Sum8::WIDE));
        if (sum.total() > limit) return std::numeric_limits<double>::infinity();
    }
    for (int l = 0; k < cols; ++k, ++l) sum.add(l, term_of((double)a[k], (double)b[k]));
    return sum.total();
}

// |s a - s b| = s |a - b|, to the last bit, for a power of two that keeps the squares in range.
bool is_plain(double sa, double ca, double sb, double cb) {
    int exponent;
    return sa == sb && ca == 0 && cb == 0 && std::frexp(sa, &exponent) == 0.5 && std::abs(exponent) < 160;
}

template <class T>
constexpr bool IS_BYTE = std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t>;

// The same of bytes in integers, which are several times faster: no sum loses a digit either way, so neither do bits.
template <Norm N, class T>
double byte_distance(const T* a, const T* b, int64_t cols, double limit) {
    int64_t sum = 0;
    for (int64_t k = 0; k < cols;) {
        const int64_t stop = std::min(cols, k + EXIT_EVERY);
        int32_t part = 0;
        for (; k < stop; ++k) {
            const int16_t diff = (int16_t)(a[k] - b[k]);
            part += N == Norm::L2 ? diff * diff : std::abs(diff);
        }
        sum += part;
        if ((double)sum > limit) return std::numeric_limits<double>::infinity();
    }
    return (double)sum;
}

template <Norm N, class A, class B>
double plain_distance(const A* a, const B* b, int64_t cols, double scale, double limit) {
    const double factor = N == Norm::L2 ? scale * scale : scale;
    limit = limit / factor * (1 + 1e-12);
    if constexpr (IS_BYTE<A> && std::is_same_v<A, B>) return factor * byte_distance<N>(a, b, cols, limit);
    return factor * dense_distance<N, Form::Plain>(a, b, cols, 1, 0, 1, 0, limit);
}

template <class T, Norm N>
double dispatch_dense(const T* a, const T* b, int64_t cols, const Affine& fa, int64_t i, const Affine& fb,
                      int64_t j, double limit) {
    const double sa = fa.scale[i], sb = fb.scale[j], ca = fa.centre[i], cb = fb.centre[j];
    if (fa.extra[i] != fb.extra[j]) return APART;
    if (is_plain(sa, ca, sb, cb)) return plain_distance<N>(a, b, cols, sa, limit);
    return dense_distance<N, Form::Scaled>(a, b, cols, sa, ca, sb, cb, limit);
}

// New rows are float, training rows may be narrower: both are read as double, which changes no value.
double mixed_distance(const Rows& a, int64_t i, const Rows& b, int64_t j, double limit, Norm norm) {
    if (!b.is_dense()) throw std::invalid_argument("dense rows cannot be compared with sparse ones");
    static thread_local std::vector<double> x, y;
    x.resize(a.cols());
    y.resize(b.cols());
    a.widen(i, x.data());
    b.widen(j, y.data());
    return (norm == Norm::L2 ? dispatch_dense<double, Norm::L2> : dispatch_dense<double, Norm::L1>)(
        x.data(), y.data(), a.cols(), a.affine(), i, b.affine(), j, limit);
}

}  // namespace

template <class T>
double DenseRows<T>::distance(int64_t i, const Rows& o, int64_t j, double limit, Norm norm) const {
    if (o.storage() != &STORAGE) return mixed_distance(*this, i, o, j, limit, norm);
    const auto& other = static_cast<const DenseRows<T>&>(o);
    const T* a = data_ + i * cols_;
    const T* b = other.data_ + j * cols_;
    return norm == Norm::L2 ? dispatch_dense<T, Norm::L2>(a, b, cols_, affine_, i, other.affine_, j, limit)
                            : dispatch_dense<T, Norm::L1>(a, b, cols_, affine_, i, other.affine_, j, limit);
}

// Rows of one scale are read as they are, others centred and scaled.
template <class T>
void DenseRows<T>::read(int64_t i, double* out) const {
    widen(i, out);
    if (affine_.scale.is_constant()) return;
    const double scale = affine_.scale[i], centre = affine_.centre[i];
    for (int64_t k = 0; k < cols_; ++k) out[k] = (out[k] - centre) * scale;
}

template <class T>
double DenseRows<T>::distance_from(const double* x, int64_t i, int64_t j, double limit, Norm norm) const {
    const double sa = affine_.scale[i], sb = affine_.scale[j], ca = affine_.centre[i], cb = affine_.centre[j];
    const bool plain = is_plain(sa, ca, sb, cb);
    if (plain != affine_.scale.is_constant() || (plain && IS_BYTE<T>)) return distance(i, *this, j, limit, norm);
    if (affine_.extra[i] != affine_.extra[j]) return APART;
    const T* b = data_ + j * cols_;
    if (plain)
        return norm == Norm::L2 ? plain_distance<Norm::L2>(x, b, cols_, sa, limit)
                                : plain_distance<Norm::L1>(x, b, cols_, sa, limit);
    return norm == Norm::L2 ? dense_distance<Norm::L2, Form::Second>(x, b, cols_, 1, 0, sb, cb, limit)
                            : dense_distance<Norm::L1, Form::Second>(x, b, cols_, 1, 0, sb, cb, limit);
}

template <class T, class I>
double CsrRows<T, I>::distance(int64_t i, const Rows& o, int64_t j, double limit, Norm norm) const {
    if (o.storage() != &STORAGE) throw std::invalid_argument("sparse rows of different types cannot be compared");
    const auto& other = static_cast<const CsrRows<T, I>&>(o);
    const double sa = affine_.scale[i], sb = other.affine_.scale[j];
    if (affine_.extra[i] != other.affine_.extra[j]) return APART;
    // summed in the lanes of Sum8, so that sparse and dense rows of the same values have the same distances
    double lanes[8] = {}, rough = 0;
    I k = starts_[i], m = other.starts_[j];
    const I k_end = starts_[i + 1], m_end = other.starts_[j + 1];
    while (k < k_end || m < m_end) {
        const bool left = m == m_end || (k < k_end && index_[k] <= other.index_[m]);
        const bool right = k == k_end || (m < m_end && other.index_[m] <= index_[k]);
        const double diff = (left ? (double)data_[k] * sa : 0.0) - (right ? (double)other.data_[m] * sb : 0.0);
        const double part = norm == Norm::L2 ? diff * diff : std::fabs(diff);
        lanes[(left ? index_[k] : other.index_[m]) & 7] += part;
        rough += part;
        if (rough > limit * (1 + 1e-9)) return std::numeric_limits<double>::infinity();
        k += left;
        m += right;
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

template <class T>
void project(const T* x, int64_t n, int64_t cols, const double* mean, const double* basis, int64_t dims,
             double* z, int n_threads) {
    constexpr int64_t BLOCK = 256;
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, nullptr, [&](int64_t task, int) {
        std::vector<double> row(cols);
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i) {
            for (int64_t k = 0; k < cols; ++k) row[k] = (double)x[i * cols + k] - mean[k];
            for (int64_t c = 0; c < dims; ++c) {
                const double* b = basis + c * cols;
                Sum8 sum;
                int64_t k = 0;
                for (; k + 8 <= cols; k += 8)
                    for (int v = 0; v < Sum8::N; ++v)
                        sum.s[v] += load_wide(row.data() + k + v * Sum8::WIDE) * load_wide(b + k + v * Sum8::WIDE);
                for (int l = 0; k < cols; ++k, ++l) sum.add(l, row[k] * b[k]);
                z[i * dims + c] = sum.total();
            }
        }
    });
}

template <class T>
void group_means(const T* x, int64_t cols, const int64_t* order, const int64_t* starts, int64_t n_groups,
                 const double* weights, T* means, int n_threads) {
    constexpr int64_t BLOCK = 64;
    parallel_for((n_groups + BLOCK - 1) / BLOCK, n_threads, nullptr, [&](int64_t task, int) {
        std::vector<double> sum(cols);
        for (int64_t g = task * BLOCK; g < std::min(n_groups, (task + 1) * BLOCK); ++g) {
            std::fill(sum.begin(), sum.end(), 0.0);
            double total = 0;
            for (int64_t k = starts[g]; k < starts[g + 1]; ++k) total += weights[order[k]];
            for (int64_t k = starts[g]; k < starts[g + 1]; ++k) {
                const double w = weights[order[k]];
                const T* row = x + order[k] * cols;
                for (int64_t c = 0; c < cols; ++c) sum[c] += w * (double)row[c];
            }
            for (int64_t c = 0; c < cols; ++c) means[g * cols + c] = (T)(sum[c] / total);
        }
    });
}

// Products of one value do not wait for those of another: the sum does not care for the order.
template <class T>
void hash_rows(const T* x, int64_t n, int64_t cols, uint64_t* hash, int n_threads) {
    constexpr int64_t BLOCK = 256;
    constexpr uint64_t STEP = 0x9E3779B97F4A7C15ull, ODD = 0xBF58476D1CE4E5B9ull;
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, nullptr, [&](int64_t task, int) {
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i) {
            uint64_t sum = 0, column = 0;
            for (int64_t k = 0; k < cols; ++k) {
                const double value = x[i * cols + k];
                uint64_t bits;
                std::memcpy(&bits, &value, sizeof bits);
                bits = (bits ^ (column += STEP)) * ODD;
                bits = (bits ^ bits >> 32) * STEP;
                sum += value == 0 ? 0 : bits ^ bits >> 29;
            }
            hash[i] = sum;
        }
    });
}

namespace {

// Counters of the values' own width, so that the loop becomes compares and subtractions.
template <class T, class Test>
int64_t count_if(const T* values, int64_t cols, Test test) {
    using Counter = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    constexpr int64_t WIDTH = 32;
    Counter counts[WIDTH] = {};
    int64_t k = 0, total = 0;
    for (; k + WIDTH <= cols; k += WIDTH)
        for (int64_t l = 0; l < WIDTH; ++l) counts[l] += test(values[k + l]) ? 1 : 0;
    for (; k < cols; ++k) total += test(values[k]);
    for (Counter c : counts) total += c;
    return total;
}

}  // namespace

template <class T>
void count_within(const T* values, int64_t n, int64_t cols, const double* lower, const double* upper,
                  int64_t n_limits, int64_t* below, int64_t* upto) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = i * n_limits; c < (i + 1) * n_limits; ++c) {
            // the T next to the limit on the side that keeps v < limit and v <= limit true to the double
            T low = (T)lower[c], high = (T)upper[c];
            if ((double)low < lower[c]) low = std::nextafter(low, std::numeric_limits<T>::infinity());
            if ((double)high > upper[c]) high = std::nextafter(high, -std::numeric_limits<T>::infinity());
            below[c] = count_if(values + i * cols, cols, [low](T v) { return v < low; });
            upto[c] = count_if(values + i * cols, cols, [high](T v) { return v <= high; });
        }
}

template <class T>
double largest(const T* x, int64_t n, int n_threads) {
    constexpr int64_t BLOCK = 1 << 18, WIDTH = 16;
    std::vector<T> most((n + BLOCK - 1) / BLOCK);
    std::atomic<bool> nan{false};
    parallel_for((int64_t)most.size(), n_threads, nullptr, [&](int64_t task, int) {
        T m[WIDTH] = {};
        bool bad[WIDTH] = {};
        const int64_t stop = std::min(n, (task + 1) * BLOCK);
        int64_t k = task * BLOCK;
        for (; k + WIDTH <= stop; k += WIDTH)
            for (int l = 0; l < WIDTH; ++l) {
                const T v = std::fabs(x[k + l]);
                m[l] = v > m[l] ? v : m[l];
                bad[l] |= v != v;
            }
        for (; k < stop; ++k) {
            const T v = std::fabs(x[k]);
            m[0] = v > m[0] ? v : m[0];
            bad[0] |= v != v;
        }
        most[task] = *std::max_element(m, m + WIDTH);
        if (std::any_of(bad, bad + WIDTH, [](bool b) { return b; })) nan = true;
    });
    if (nan) return std::numeric_limits<double>::quiet_NaN();
    return n ? (double)*std::max_element(most.begin(), most.end()) : 0.0;
}

template class DenseRows<float>;
template class DenseRows<double>;
template class DenseRows<uint8_t>;
template class DenseRows<int8_t>;
template class DenseRows<Half>;
template class CsrRows<float, int32_t>;
template class CsrRows<double, int32_t>;
template class CsrRows<float, int64_t>;
template class CsrRows<double, int64_t>;
template void project(const float*, int64_t, int64_t, const double*, const double*, int64_t, double*, int);
template void project(const double*, int64_t, int64_t, const double*, const double*, int64_t, double*, int);
template void count_within(const float*, int64_t, int64_t, const double*, const double*, int64_t, int64_t*,
                           int64_t*);
template void count_within(const double*, int64_t, int64_t, const double*, const double*, int64_t, int64_t*,
                           int64_t*);
template double largest(const float*, int64_t, int);
template double largest(const double*, int64_t, int);
template void hash_rows(const float*, int64_t, int64_t, uint64_t*, int);
template void hash_rows(const double*, int64_t, int64_t, uint64_t*, int);
template void group_means(const float*, int64_t, const int64_t*, const int64_t*, int64_t, const double*,
                          float*, int);
template void group_means(const double*, int64_t, const int64_t*, const int64_t*, int64_t, const double*,
                          double*, int);

}  // namespace nestmap
