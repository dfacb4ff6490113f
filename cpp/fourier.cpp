// Compiled with -ffp-contract=off. Each lane of a vector is a transform of its own: how many there are changes no bit.
#include "fourier.hpp"

#include <algorithm>
#include <vector>

#include "isa.hpp"

namespace nestmap {

namespace {

template <class T>
struct Vectors;
template <>
struct Vectors<float> {
    using Type = vfloat;
    static constexpr int N = LANES;
};
template <>
struct Vectors<double> {
    using Type = vdouble;
    static constexpr int N = LANES / 2;
};

template <class V>
struct Complex {
    V re, im;
    friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
    friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
    template <class T>
    friend Complex operator*(T s, Complex a) {
        return {s * a.re, s * a.im};
    }
    Complex minus_i(Complex b) const { return {re + b.im, im - b.re}; }  // this - i b
    Complex plus_i(Complex b) const { return {re - b.im, im + b.re}; }
};

// Transforms of a few lines at once (Stockham's order, radix 4, 2, 3 and 5): value k of all lines is at k * N.
template <class T>
class Lines {
public:
    using V = typename Vectors<T>::Type;
    using C = Complex<V>;
    static constexpr int N = Vectors<T>::N;

    explicit Lines(const Roots<T>& roots) : roots_(roots), n_(roots.length) {
        for (auto* each : {&re_, &im_, &next_re_, &next_im_}) each->resize(n_ * N);
    }
    T* re() { return re_.data(); }
    T* im() { return im_.data(); }
    int64_t length() const { return n_; }

    void transform() {
        int64_t rest = n_, stride = 1;
        for (const int radix : {4, 2, 3, 5})
            for (; rest % radix == 0; rest /= radix, stride *= radix) {
                if (radix == 4) pass<4>(rest / radix, stride);
                if (radix == 2) pass<2>(rest / radix, stride);
                if (radix == 3) pass<3>(rest / radix, stride);
                if (radix == 5) pass<5>(rest / radix, stride);
                re_.swap(next_re_);
                im_.swap(next_im_);
            }
    }
    // Backwards, without a factor: real and imaginary parts change places before and after.
    void back() {
        re_.swap(im_);
        transform();
        re_.swap(im_);
    }

private:
    const Roots<T> roots_;
    const int64_t n_;
    std::vector<T, CacheAligned<T>> re_, im_, next_re_, next_im_;

    template <int R>
    void pass(int64_t m, int64_t stride) {
        const V *re = (const V*)re_.data(), *im = (const V*)im_.data();
        V *out_re = (V*)next_re_.data(), *out_im = (V*)next_im_.data();
        for (int64_t p = 0; p < m; ++p) {
            T w_re[R], w_im[R];
            for (int j = 1; j < R; ++j) {
                w_re[j] = roots_.re[j * p * stride];
                w_im[j] = roots_.im[j * p * stride];
            }
            for (int64_t q = 0; q < stride; ++q) {
                C a[R];
#pragma GCC unroll 5
                for (int j = 0; j < R; ++j) {
                    const int64_t at = q + stride * (p + m * j);
                    a[j] = {re[at], im[at]};
                }
                combine(a);
#pragma GCC unroll 5
                for (int j = 0; j < R; ++j) {
                    const int64_t at = q + stride * (R * p + j);
                    out_re[at] = j ? a[j].re * w_re[j] - a[j].im * w_im[j] : a[j].re;
                    out_im[at] = j ? a[j].re * w_im[j] + a[j].im * w_re[j] : a[j].im;
                }
            }
        }
    }

    static void combine(C (&a)[2]) {
        const C sum = a[0] + a[1];
        a[1] = a[0] - a[1];
        a[0] = sum;
    }
    static void combine(C (&a)[4]) {
        const C even = a[0] + a[2], odd = a[0] - a[2], sum = a[1] + a[3], difference = a[1] - a[3];
        a[0] = even + sum;
        a[1] = odd.minus_i(difference);
        a[2] = even - sum;
        a[3] = odd.plus_i(difference);
    }
    static void combine(C (&a)[3]) {
        constexpr T HALF = (T)0.5, SIN = (T)0.8660254037844386;
        const C sum = a[1] + a[2], middle = a[0] - HALF * sum, across = SIN * (a[1] - a[2]);
        a[0] = a[0] + sum;
        a[1] = middle.minus_i(across);
        a[2] = middle.plus_i(across);
    }
    static void combine(C (&a)[5]) {
        constexpr T C1 = (T)0.30901699437494745, C2 = (T)-0.8090169943749475;
        constexpr T S1 = (T)0.9510565162951535, S2 = (T)0.5877852522924731;
        const C t1 = a[1] + a[4], t2 = a[2] + a[3], t3 = a[1] - a[4], t4 = a[2] - a[3];
        const C m1 = a[0] + (C1 * t1 + C2 * t2), m2 = a[0] + (C2 * t1 + C1 * t2);
        const C n1 = S1 * t3 + S2 * t4, n2 = S2 * t3 - S1 * t4;
        a[0] = a[0] + (t1 + t2);
        a[1] = m1.minus_i(n1);
        a[2] = m2.minus_i(n2);
        a[3] = m2.plus_i(n2);
        a[4] = m1.plus_i(n1);
    }
};

// Line 2 i is the real part of what is transformed, line 2 i + 1 the imaginary part: rounding mixes the two, so which
// are together is the same for vectors of any length. Of a block of 2 N lines the even ones come first.
constexpr int64_t line_of(int64_t slot, int n) { return slot / (2 * n) * (2 * n) + slot % n * 2 + slot / n % 2; }

// The waves of all lines of a grid along its columns: wave k of the line of slot s is at k * stride + s.
class Waves {
public:
    static constexpr int N = Lines<float>::N, PAIR = 2 * N;  // lines of a block

    Waves(int64_t rows, int64_t cols, const Roots<float>& of_cols)
        : rows_(rows), cols_(cols), roots_(of_cols), half_(of_cols.length / 2 + 1),
          stride_((rows + PAIR - 1) / PAIR * PAIR), re_(half_ * stride_), im_(half_ * stride_) {}

    int64_t n_blocks() const { return stride_ / PAIR; }
    int64_t n_waves() const { return half_; }

    void forwards(int64_t block, const float* grid, Lines<float>& lines) {
        std::fill(lines.re(), lines.re() + lines.length() * N, 0.0f);
        std::fill(lines.im(), lines.im() + lines.length() * N, 0.0f);
        for (int l = 0; l < PAIR; ++l) {
            const int64_t r = line_of(block * PAIR + l, N);
            if (r >= rows_) continue;
            float* to = (l < N ? lines.re() : lines.im()) + l % N;
            for (int64_t c = 0; c < cols_; ++c) to[c * N] = grid[r * cols_ + c];
        }
        lines.transform();
        for (int64_t k = 0; k < half_; ++k) {  // the two transforms that a complex one holds, doubled
            const int64_t other = k ? roots_.length - k : 0;
            const vfloat re = load(lines.re() + k * N), im = load(lines.im() + k * N);
            const vfloat re_of = load(lines.re() + other * N), im_of = load(lines.im() + other * N);
            const int64_t at = k * stride_ + block * PAIR;
            store(re_.data() + at, re + re_of);
            store(im_.data() + at, im - im_of);
            store(re_.data() + at + N, im + im_of);
            store(im_.data() + at + N, re_of - re);
        }
    }

    // Along the rows, some waves at once: to and fro, with the transfer function between.
    void cross(int64_t first, const float* transfer, Lines<float>& lines) {
        const int n = (int)std::min<int64_t>(N, half_ - first);
        const int64_t length = lines.length();
        std::fill(lines.re(), lines.re() + length * N, 0.0f);
        std::fill(lines.im(), lines.im() + length * N, 0.0f);
        for (int l = 0; l < n; ++l)
            for (int64_t s = 0; s < stride_; ++s)
                if (const int64_t r = line_of(s, N); r < rows_) {
                    lines.re()[r * N + l] = re_[(first + l) * stride_ + s];
                    lines.im()[r * N + l] = im_[(first + l) * stride_ + s];
                }
        lines.transform();
        for (int l = 0; l < n; ++l)
            for (int64_t r = 0; r < length; ++r) {
                const float factor = transfer[(first + l) * length + r];
                lines.re()[r * N + l] *= factor;
                lines.im()[r * N + l] *= factor;
            }
        lines.back();
        for (int l = 0; l < n; ++l)
            for (int64_t s = 0; s < stride_; ++s)
                if (const int64_t r = line_of(s, N); r < rows_) {
                    re_[(first + l) * stride_ + s] = lines.re()[r * N + l];
                    im_[(first + l) * stride_ + s] = lines.im()[r * N + l];
                }
    }

    void backwards(int64_t block, float* grid, Lines<float>& lines) const {
        for (int64_t k = 0; k < half_; ++k) {
            const int64_t at = k * stride_ + block * PAIR, other = roots_.length - k;
            const vfloat re = load(re_.data() + at), im = load(im_.data() + at);
            const vfloat re_of = load(re_.data() + at + N), im_of = load(im_.data() + at + N);
            store(lines.re() + k * N, re - im_of);
            store(lines.im() + k * N, im + re_of);
            if (k == 0 || k == other) continue;
            store(lines.re() + other * N, re + im_of);
            store(lines.im() + other * N, re_of - im);
        }
        lines.back();
        for (int l = 0; l < PAIR; ++l) {
            const int64_t r = line_of(block * PAIR + l, N);
            if (r >= rows_) continue;
            const float* from = (l < N ? lines.re() : lines.im()) + l % N;
            for (int64_t c = 0; c < cols_; ++c) grid[r * cols_ + c] = from[c * N];
        }
    }

private:
    const int64_t rows_, cols_;
    const Roots<float> roots_;
    const int64_t half_, stride_;
    Floats re_, im_;
};

}  // namespace

void convolve(const float* charges, int64_t rows, int64_t cols, const Roots<float>& of_rows,
              const Roots<float>& of_cols, const float* transfer, float* potential, int n_threads, const Poll& poll) {
    Waves waves(rows, cols, of_cols);
    std::vector<Lines<float>> along(n_threads, Lines<float>(of_cols)), across(n_threads, Lines<float>(of_rows));
    constexpr int N = Waves::N;
    parallel_for(waves.n_blocks(), n_threads, poll,
                 [&](int64_t block, int id) { waves.forwards(block, charges, along[id]); });
    parallel_for((waves.n_waves() + N - 1) / N, n_threads, poll,
                 [&](int64_t block, int id) { waves.cross(block * N, transfer, across[id]); });
    parallel_for(waves.n_blocks(), n_threads, poll,
                 [&](int64_t block, int id) { waves.backwards(block, potential, along[id]); });
}

namespace {

// Lines first, first + 1, … of even values, transformed: line l of n goes to column l of `out`.
void transform_even(const double* values, int64_t n, int64_t first, Lines<double>& lines, double* out) {
    constexpr int N = Lines<double>::N;
    const int64_t length = lines.length(), half = length / 2 + 1;
    for (int l = 0; l < 2 * N; ++l) {
        double* to = (l < N ? lines.re() : lines.im()) + l % N;
        const double* line = values + std::min(line_of(first + l, N), n - 1) * half;
        for (int64_t k = 0; k < length; ++k) to[k * N] = line[std::min(k, length - k)];
    }
    lines.transform();
    for (int l = 0; l < 2 * N; ++l) {
        const double* from = (l < N ? lines.re() : lines.im()) + l % N;
        const int64_t at = line_of(first + l, N);
        for (int64_t k = 0; at < n && k < half; ++k) out[k * n + at] = from[k * N];
    }
}

void transform_all(const double* values, int64_t n, const Roots<double>& roots, double* out, int n_threads,
                   const Poll& poll) {
    constexpr int PAIR = 2 * Lines<double>::N;
    std::vector<Lines<double>> lines(n_threads, Lines<double>(roots));
    parallel_for((n + PAIR - 1) / PAIR, n_threads, poll,
                 [&](int64_t block, int id) { transform_even(values, n, block * PAIR, lines[id], out); });
}

}  // namespace

void even_transform(const double* values, const Roots<double>& of_rows, const Roots<double>& of_cols, double* out,
                    int n_threads, const Poll& poll) {
    const int64_t rows = of_rows.length / 2 + 1, cols = of_cols.length / 2 + 1;
    std::vector<double> turned(rows * cols), back(rows * cols);
    transform_all(values, rows, of_cols, turned.data(), n_threads, poll);   // cols x rows
    transform_all(turned.data(), cols, of_rows, back.data(), n_threads, poll);  // rows x cols
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) out[c * rows + r] = back[r * cols + c];
}

}  // namespace nestmap
