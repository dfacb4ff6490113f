// Checks of numbers that kernels index with. Errors name the argument; Python sees ValueError, IndexError
// or OverflowError.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace nestmap {

[[noreturn]] inline void index_error(const char* name, int64_t value, int64_t below) {
    throw std::out_of_range(std::string(name) + ": " + std::to_string(value) + " is out of range, there are " +
                            std::to_string(below));
}

// For indices that are looked at only once they are used.
inline int64_t checked(int64_t index, int64_t below, const char* name) {
    if (index < 0 || index >= below) index_error(name, index, below);
    return index;
}

template <class I>
void check_indices(const char* name, const I* values, int64_t n, int64_t below) {
    for (int64_t i = 0; i < n; ++i) checked(values[i], below, name);
}

// Where each of n_groups runs begins, and the end: ascending, from 0 or more to at most `last`.
template <class I>
void check_starts(const char* name, const I* starts, int64_t n_groups, int64_t last) {
    bool ok = n_groups >= 0 && starts[0] >= 0 && starts[n_groups] <= last;
    for (int64_t g = 0; ok && g < n_groups; ++g) ok = starts[g] <= starts[g + 1];
    if (!ok) throw std::invalid_argument(std::string(name) + ": must ascend from 0 to " + std::to_string(last));
}

// The same, and the runs hold all of 0 .. last - 1.
inline void check_cover(const char* name, const int64_t* starts, int64_t n_groups, int64_t last) {
    check_starts(name, starts, n_groups, last);
    if (starts[0] != 0 || starts[n_groups] != last)
        throw std::invalid_argument(std::string(name) + ": must begin with 0 and end with " + std::to_string(last));
}

inline void check_permutation(const char* name, const int64_t* values, int64_t n) {
    std::vector<bool> seen(n);
    for (int64_t i = 0; i < n; ++i) {
        if (seen[checked(values[i], n, name)])
            throw std::invalid_argument(std::string(name) + ": " + std::to_string(values[i]) + " is there twice");
        seen[values[i]] = true;
    }
}

template <class T>
bool all_finite(const T* values, int64_t n) {
    bool bad = false;  // no early exit: the loop becomes vectors
    for (int64_t i = 0; i < n; ++i) bad |= !(std::fabs(values[i]) <= std::numeric_limits<T>::max());
    return !bad;
}

template <class T>
void check_finite(const char* name, const T* values, int64_t n) {
    if (!all_finite(values, n)) throw std::invalid_argument(std::string(name) + ": holds NaN or infinity");
}

// Areas are divided by these: positive, with a finite sum.
inline void check_shares(const char* name, const double* shares, int64_t n) {
    double total = 0;
    bool ok = true;
    for (int64_t i = 0; i < n; ++i) {
        ok = ok && shares[i] > 0;
        total += shares[i];
    }
    if (ok && std::isfinite(total)) return;
    throw std::invalid_argument(std::string(name) + ": must be positive and finite");
}

// Positions and cell numbers are int32 in pairs and lists: half the memory traffic.
inline void check_positions(const char* what, int64_t n) {
    constexpr int64_t MOST = std::numeric_limits<int32_t>::max();
    if (n > MOST)
        throw std::overflow_error(std::to_string(n) + " " + what + ": the search takes at most " +
                                  std::to_string(MOST) + "; a sample of the rows may do");
}

}  // namespace nestmap
