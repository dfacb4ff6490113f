// Sums in one fixed order. For files that are compiled with -ffp-contract=off.
#pragma once
#include <cstdint>

namespace nestmap {

// Eight running sums: the compiler may use any vectors, the bits stay.
template <class T>
T sum_eight(const T* s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

template <class A, class B>
double dot(const A* a, const B* b, int64_t n) {
    double s[8] = {};
    int64_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int l = 0; l < 8; ++l) s[l] += (double)a[k + l] * (double)b[k + l];
    for (int l = 0; k < n; ++k, ++l) s[l] += (double)a[k] * (double)b[k];
    return sum_eight(s);
}

}  // namespace nestmap
