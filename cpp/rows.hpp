// Rows as the user gave them, and the distance between two of them by definition, in double.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace nestmap {

enum class Norm { L2, L1 };

// Each row i stands for the vector (scale[i] * (x_i - centre[i]), extra[i]): 1, 0, 0 for euclidean and
// manhattan; 1/|x|, 0, 0 for cosine; 1/|x - mean|, mean, 0 for correlation. Subtracting comes first: no digits
// are lost to a mean that is large for the spread. Rows that cannot be normalised (all zero, constant) become
// the unit vector of the extra coordinate: at distance 1 from every other row, to the last bit.
struct PerRow {
    const double* values;
    int64_t step;  // 0: the same value for all rows
    double operator[](int64_t i) const { return values[i * step]; }
    bool is_constant() const { return step == 0; }
};
struct Affine {
    PerRow scale, centre, extra;
};

class Rows {
public:
    Rows(int64_t n, int64_t cols, Affine affine) : n_(n), cols_(cols), affine_(affine) {}
    virtual ~Rows() = default;
    int64_t n() const { return n_; }
    // Squared euclidean (L2) or manhattan (L1) distance of row i to row j of `other`; any value above
    // `limit` as soon as it is known to be above. CSR rows are compared with CSR rows of the same types; dense rows
    // of different types in double.
    virtual double distance(int64_t i, const Rows& other, int64_t j, double limit, Norm norm) const = 0;
    // For a row that is compared with many: `read` leaves in `out` (cols() doubles) what distance_from, which has the
    // same bits as `distance` to row j of these, takes as x, so that row i is converted once.
    virtual void read(int64_t, double*) const {}
    virtual double distance_from(const double*, int64_t i, int64_t j, double limit, Norm norm) const {
        return distance(i, *this, j, limit, norm);
    }
    virtual bool is_dense() const { return false; }
    virtual void widen(int64_t, double*) const {}  // the values of row i, if dense
    int64_t cols() const { return cols_; }
    // Of two rows at the same distance the one with the lower key is taken: a number that depends on the row's
    // values alone, so that neither the order of the rows nor their type decides. Without keys: the lower index.
    void set_keys(const uint64_t* keys) { keys_ = keys; }
    bool before(int64_t i, int64_t j) const { return keys_ && keys_[i] != keys_[j] ? keys_[i] < keys_[j] : i < j; }
    const Affine& affine() const { return affine_; }
    virtual const void* storage() const = 0;  // the same address for the same types of values
    virtual void prefetch(int64_t) const {}

protected:
    int64_t n_, cols_;
    Affine affine_;
    const uint64_t* keys_ = nullptr;
};

template <class T>
class DenseRows final : public Rows {
public:
    DenseRows(const T* data, int64_t n, int64_t cols, Affine a) : Rows(n, cols, a), data_(data) {}
    double distance(int64_t i, const Rows& other, int64_t j, double limit, Norm norm) const override;
    void read(int64_t i, double* out) const override;
    double distance_from(const double* x, int64_t i, int64_t j, double limit, Norm norm) const override;
    const void* storage() const override { return &STORAGE; }
    bool is_dense() const override { return true; }
    void widen(int64_t i, double* out) const override {
        for (int64_t k = 0; k < cols_; ++k) out[k] = (double)data_[i * cols_ + k];
    }
    void prefetch(int64_t i) const override {
        const char* row = reinterpret_cast<const char*>(data_ + i * cols_);
        const int64_t bytes = cols_ * (int64_t)sizeof(T);
        for (int64_t k = 0; k < bytes && k < 4096; k += 64) __builtin_prefetch(row + k, 0, 2);
    }

private:
    static inline const char STORAGE = 0;
    const T* data_;
};

template <class T, class I>
class CsrRows final : public Rows {
public:
    CsrRows(const T* data, const I* cols, const I* starts, int64_t n, int64_t n_cols, Affine a)
        : Rows(n, n_cols, a), data_(data), index_(cols), starts_(starts) {}
    double distance(int64_t i, const Rows& other, int64_t j, double limit, Norm norm) const override;
    const void* storage() const override { return &STORAGE; }

private:
    static inline const char STORAGE = 0;
    const T* data_;
    const I* index_;
    const I* starts_;
};

// z[i, c] = sum_k (x[i, k] - mean[k]) * basis[c, k] in double, the same bits for a row alone.
template <class T>
void project(const T* x, int64_t n, int64_t cols, const double* mean, const double* basis, int64_t dims,
             double* z, int n_threads);

// means[g] = weighted mean of rows order[starts[g]..starts[g+1]), summed in double in that order.
template <class T>
void group_means(const T* x, int64_t cols, const int64_t* order, const int64_t* starts, int64_t n_groups,
                 const double* weights, T* means, int n_threads);

// hash[i]: a sum over the values of row i that are not zero; equal for equal values of any type.
template <class T>
void hash_rows(const T* x, int64_t n, int64_t cols, uint64_t* hash, int n_threads);

// Values of row i (of `cols`) that are < lower[i, c], and that are <= upper[i, c], for each limit c.
template <class T>
void count_within(const T* values, int64_t n, int64_t cols, const double* lower, const double* upper,
                  int64_t n_limits, int64_t* below, int64_t* upto);

// Largest absolute value; NaN if any value is NaN.
template <class T>
double largest(const T* x, int64_t n, int n_threads);

}  // namespace nestmap
