// exp and log by additions and products alone, as src/nestmap/core/exact.py computes them: the C library's last digit
// differs between machines. For files that are compiled with -ffp-contract=off.
#pragma once
#include <cstdint>
#include <cstring>

namespace nestmap {

constexpr double LN2_HIGH = 0.6931471803691238, LN2_LOW = 1.9082149292705877e-10;

// e^x for x <= 700; 0 below -700. Without branches: loops over it become vectors.
inline double exponential(double x) {
    constexpr double ROUND = 0x1.8p52;  // added and taken off again: the nearest whole number
    const double within = x < -700.0 ? -700.0 : x;
    const double shifted = within * 1.4426950408889634 + ROUND, n = shifted - ROUND;
    const double rest = (within - n * LN2_HIGH) - n * LN2_LOW;
    double sum = 1.0 / 6227020800;
    sum = sum * rest + 1.0 / 479001600;
    sum = sum * rest + 1.0 / 39916800;
    sum = sum * rest + 1.0 / 3628800;
    sum = sum * rest + 1.0 / 362880;
    sum = sum * rest + 1.0 / 40320;
    sum = sum * rest + 1.0 / 5040;
    sum = sum * rest + 1.0 / 720;
    sum = sum * rest + 1.0 / 120;
    sum = sum * rest + 1.0 / 24;
    sum = sum * rest + 1.0 / 6;
    sum = sum * rest + 1.0 / 2;
    sum = sum * rest + 1.0;
    sum = sum * rest + 1.0;
    uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // 2^n
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return x < -700.0 ? 0.0 : sum * power;
}

// The natural logarithm of a positive, normal number.
inline double logarithm(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    double n = (double)((int64_t)(bits >> 52) - 1022);
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1022 << 52;
    double fraction;
    std::memcpy(&fraction, &bits, sizeof fraction);  // from 0.5 to 1
    if (fraction < 0.7071067811865476) {
        fraction *= 2;
        n -= 1;
    }
    const double s = (fraction - 1) / (fraction + 1), squared = s * s;
    double sum = 2.0 / 23;
    for (int k = 21; k > 0; k -= 2) sum = sum * squared + 2.0 / k;
    return n * LN2_HIGH + (s * sum + n * LN2_LOW);
}

}  // namespace nestmap
