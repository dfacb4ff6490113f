// What the processor that runs this can do. By hand: __builtin_cpu_supports is in Clang's runtime library, which Windows
// does not link by itself (llvm-project#144630) and which Zig builds for programs only.
#pragma once
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nestmap {

#if defined(__x86_64__)
inline bool runs_avx2() {
    constexpr unsigned FMA = 1u << 12, XGETBV = 1u << 27, AVX = 1u << 28, AVX2 = 1u << 5;
    constexpr unsigned REGISTERS = 6;  // the system keeps those of SSE and of AVX
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || ~c & (FMA | XGETBV | AVX)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & REGISTERS) == REGISTERS && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & AVX2;
}
#else
inline bool runs_avx2() { return false; }
#endif

}  // namespace nestmap
