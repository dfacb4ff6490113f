// The vector width of this build. The whole module is compiled once per instruction set (see
// CMakeLists.txt) and Python picks the build at import: no per-function dispatch, no ODR traps.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace nestmap {

#if defined(__AVX2__)
constexpr int LANES = 8, TILE_ROWS = 6;
#elif defined(__aarch64__)
constexpr int LANES = 4, TILE_ROWS = 6;
#else
constexpr int LANES = 4, TILE_ROWS = 3;
#endif

// Rows are stored in panels of 16, column by column, on every instruction set.
constexpr int PANEL = 16, VECTORS = PANEL / LANES;

// aligned(4): panels and rows are float-aligned only; unaligned loads cost nothing on current CPUs.
typedef float vfloat __attribute__((vector_size(LANES * 4)));
typedef float vfloat_u __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t vint __attribute__((vector_size(LANES * 4)));
typedef int32_t vint_u __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

// Half as many doubles: what one load of floats widens to.
typedef double vdouble __attribute__((vector_size(LANES * 4)));
typedef double vdouble_u __attribute__((vector_size(LANES * 4), aligned(8), may_alias));
typedef float vhalf __attribute__((vector_size(LANES * 2)));
typedef float vhalf_u __attribute__((vector_size(LANES * 2), aligned(4), may_alias));

inline vdouble load_wide(const float* p) {
#if defined(__AVX2__)  // GCC 12 splits the conversion below into halves
    return (vdouble)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif defined(__aarch64__)  // and into lanes
    return (vdouble)vcvt_f64_f32(vld1_f32(p));
#else
    return __builtin_convertvector((vhalf) * reinterpret_cast<const vhalf_u*>(p), vdouble);
#endif
}
// Half precision as its bits: no arithmetic, only conversion, so no compiler support is needed.
struct Half {
    uint16_t bits;
    operator double() const {
#if defined(__aarch64__)  // one instruction
        __fp16 value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
#else
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const double size = exponent ? (1 + fraction * 0x1p-10) * (exponent < 31 ? std::ldexp(1.0, exponent - 15)
                                                                                  : std::numeric_limits<double>::infinity())
                                     : fraction * 0x1p-24;
        return bits >> 15 ? -size : size;
#endif
    }
};
template <class T>
inline vdouble load_wide(const T* p) {  // uint8, int8, Half
    vdouble out;
    for (int l = 0; l < LANES / 2; ++l) out[l] = (double)p[l];
    return out;
}
inline vdouble load_wide(const uint8_t* p) {
#if defined(__AVX2__)
    int32_t four;
    std::memcpy(&four, p, 4);
    return (vdouble)_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
#else
    return vdouble{(double)p[0], (double)p[1]};
#endif
}
inline vdouble load_wide(const double* p) { return *reinterpret_cast<const vdouble_u*>(p); }

inline vfloat load(const float* p) { return *reinterpret_cast<const vfloat_u*>(p); }
inline void store(float* p, vfloat v) { *reinterpret_cast<vfloat_u*>(p) = v; }
inline vfloat splat(float s) { return s - vfloat{}; }
inline vint load(const int32_t* p) { return *reinterpret_cast<const vint_u*>(p); }
inline void store(int32_t* p, vint v) { *reinterpret_cast<vint_u*>(p) = v; }
inline vint splat(int32_t s) { return s - vint{}; }

// A new first lane; the others move on by one, and the last is lost.
inline vint shift_in(vint v, int32_t first) {
#if defined(__AVX2__)
    const __m256i moved = _mm256_permutevar8x32_epi32((__m256i)v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    return (vint)_mm256_blend_epi32(moved, _mm256_set1_epi32(first), 1);
#else
    return vint{first, v[0], v[1], v[2]};
#endif
}
inline vfloat shift_in(vfloat v, float first) {
    int32_t bits;
    std::memcpy(&bits, &first, 4);
    return (vfloat)shift_in((vint)v, bits);
}

// One bit per lane, set where a <= b (never where either is NaN: padding lanes hold NaN).
inline uint32_t mask_le(vfloat a, vfloat b) {
#if defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ));
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps(_mm_cmple_ps((__m128)a, (__m128)b));
#elif defined(__aarch64__)
    return vaddvq_u32(vandq_u32((uint32x4_t)(a <= b), uint32x4_t{1, 2, 4, 8}));
#else
    vint m = a <= b;
    uint32_t bits = 0;
    for (int l = 0; l < LANES; ++l) bits |= (uint32_t)(m[l] & 1) << l;
    return bits;
#endif
}

// Of a mask: how many lanes are set.
inline int count(vint mask) {
#if defined(__AVX2__)
    return __builtin_popcount((uint32_t)_mm256_movemask_ps((__m256)mask));
#elif defined(__SSE2__)
    return __builtin_popcount((uint32_t)_mm_movemask_ps((__m128)mask));
#elif defined(__aarch64__)
    return -vaddvq_s32((int32x4_t)mask);
#else
    return -(mask[0] + mask[1] + mask[2] + mask[3]);
#endif
}

#if !defined(__AVX2__)
// Of four pairs, two in each vector: the first numbers go to one vector, the second ones to the other.
inline void part_pairs(vfloat& a, vfloat& b) {
#if defined(__SSE2__)
    const __m128 p = (__m128)a, q = (__m128)b;
    a = (vfloat)_mm_shuffle_ps(p, q, 0x88);
    b = (vfloat)_mm_shuffle_ps(p, q, 0xdd);
#elif defined(__aarch64__)
    const float32x4_t p = (float32x4_t)a, q = (float32x4_t)b;
    a = (vfloat)vuzp1q_f32(p, q);
    b = (vfloat)vuzp2q_f32(p, q);
#else
    const vfloat p = a, q = b;
    a = vfloat{p[0], p[2], q[0], q[2]};
    b = vfloat{p[1], p[3], q[1], q[3]};
#endif
}
#endif

inline float sum_lanes(vfloat v) {
#if defined(__AVX2__)
    const __m256 w = (__m256)v;
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(w), _mm256_extractf128_ps(w, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
#else
    return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

// The sums of the lanes of four vectors: neighbours first, then halves of four, in the same order for any length.
inline void sum_four(const vfloat (&v)[4], float* out) {
#if defined(__AVX2__)
    const __m256 a = _mm256_hadd_ps((__m256)v[0], (__m256)v[1]), b = _mm256_hadd_ps((__m256)v[2], (__m256)v[3]);
    const __m256 c = _mm256_hadd_ps(a, b);
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1)));
#elif defined(__aarch64__)  // in the order of sum_lanes
    const auto halves = [](vfloat a, vfloat b) {
        return vfloat{a[0], a[1], b[0], b[1]} + vfloat{a[2], a[3], b[2], b[3]};
    };
    store(out, (vfloat)vpaddq_f32((float32x4_t)halves(v[0], v[1]), (float32x4_t)halves(v[2], v[3])));
#else
    for (int q = 0; q < 4; ++q) out[q] = (v[q][0] + v[q][1]) + (v[q][2] + v[q][3]);
#endif
}

// Panels start on cache lines: a load that crosses two costs twice.
template <class T>
struct CacheAligned {
    using value_type = T;
    static constexpr std::align_val_t LINE{64};
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), LINE)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, LINE); }
    template <class U>
    bool operator==(const CacheAligned<U>&) const { return true; }
    template <class U>
    bool operator!=(const CacheAligned<U>&) const { return false; }
};
using Floats = std::vector<float, CacheAligned<float>>;

inline vfloat absolute(vfloat v) {
#if defined(__aarch64__)  // one instruction, and one with the difference before it
    return (vfloat)vabsq_f32((float32x4_t)v);
#else
    return (vfloat)((vint)v & splat(std::numeric_limits<int32_t>::max()));  // without the sign
#endif
}

}  // namespace nestmap
