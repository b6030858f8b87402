// halo_math.h -- CUDA's mathematical functions and intrinsics, with its names and overloads
//
// Functions are the host's, correct to the last bit or nearly so. The fast ones (__expf, __sinf, __fdividef ...) are no less exact than
// the others here; a GPU approximates them within the error bounds of the CUDA C++ Programming Guide. The rounding in a name (_rn, _rz,
// _ru, _rd) is exact, as on a GPU.
#pragma once
#include <fenv.h>
#include <math.h>    // with C++'s overloads in the global namespace: sqrt(float) is a float, abs(float) too
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// What touches a kernel's memory is inlined: findings and traffic then belong to the line that called it. What only computes is compiled
// without instrumentation and never inlined: its branches are not the kernel's.
#define HALO_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define HALO_UNOBSERVED __attribute__((noinline, no_sanitize("thread", "bounds", "coverage"))) inline
#else
#define HALO_UNOBSERVED __attribute__((noinline, no_sanitize("thread", "bounds"), no_sanitize_coverage)) inline
#endif

namespace halo {
template <class T> struct Same { using type = T; };
template <class T> using same = typename Same<T>::type;    // takes no part in deduction
template <class T> constexpr bool is_floating = std::is_floating_point_v<T>;    // halo_fp16.h and halo_bf16.h add theirs
template <class To, class From> HALO_INLINE constexpr To bits(From value) { return __builtin_bit_cast(To, value); }

// Runs `operation` in a rounding mode. What it reads and gives is volatile, so that nothing moves across the change of mode.
template <class Operation, class T, class... U> HALO_UNOBSERVED auto rounded(int mode, Operation operation, T first, U... rest) {
    volatile T held = first;
    fesetround(mode);
    volatile auto result = operation(held, static_cast<volatile U&>(rest)...);
    fesetround(FE_TONEAREST);
    auto value = result;
    return value;
}

// As PTX's cvt: out of range gives the nearest end, NaN gives 0, or the lowest (signed) or middle (unsigned) value where 64 bits are involved.
template <class To, class From> HALO_UNOBSERVED To to_integer(From value, int mode) {
    using Limits = std::numeric_limits<To>;
    constexpr To nan = sizeof(To) == 8 || sizeof(From) == 8 ? static_cast<To>(std::uint64_t(1) << (8 * sizeof(To) - 1)) : To(0);
    if (value != value) return nan;
    From whole = mode == FE_TONEAREST ? __builtin_nearbyint(value)
                 : mode == FE_UPWARD  ? __builtin_ceil(value)
                 : mode == FE_DOWNWARD ? __builtin_floor(value)
                                       : __builtin_trunc(value);
    // The end of the range is a power of two, which every floating-point format holds.
    From end = static_cast<From>(__builtin_ldexp(1.0, Limits::digits));
    if (whole >= end) return Limits::max();
    if (whole < static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(whole);
}
}    // namespace halo

// ---- min and max ----

#define HALO_MIN_MAX(T)                                                      \
    HALO_INLINE T min(T a, T b) { return a < b ? a : b; }                    \
    HALO_INLINE T max(T a, T b) { return a > b ? a : b; }
HALO_MIN_MAX(int)
HALO_MIN_MAX(unsigned)
HALO_MIN_MAX(long)
HALO_MIN_MAX(unsigned long)
HALO_MIN_MAX(long long)
HALO_MIN_MAX(unsigned long long)
#undef HALO_MIN_MAX
#define HALO_MIN_MAX_MIXED(S, U)                                             \
    HALO_INLINE U min(S a, U b) { return min(static_cast<U>(a), b); }        \
    HALO_INLINE U min(U a, S b) { return min(a, static_cast<U>(b)); }        \
    HALO_INLINE U max(S a, U b) { return max(static_cast<U>(a), b); }        \
    HALO_INLINE U max(U a, S b) { return max(a, static_cast<U>(b)); }
HALO_MIN_MAX_MIXED(int, unsigned)
HALO_MIN_MAX_MIXED(long, unsigned long)
HALO_MIN_MAX_MIXED(long long, unsigned long long)
#undef HALO_MIN_MAX_MIXED
HALO_INLINE float min(float a, float b) { return __builtin_fminf(a, b); }
HALO_INLINE float max(float a, float b) { return __builtin_fmaxf(a, b); }
HALO_INLINE double min(double a, double b) { return __builtin_fmin(a, b); }
HALO_INLINE double max(double a, double b) { return __builtin_fmax(a, b); }
HALO_INLINE double min(float a, double b) { return __builtin_fmin(a, b); }
HALO_INLINE double min(double a, float b) { return __builtin_fmin(a, b); }
HALO_INLINE double max(float a, double b) { return __builtin_fmax(a, b); }
HALO_INLINE double max(double a, float b) { return __builtin_fmax(a, b); }
HALO_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
HALO_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }
HALO_INLINE long long llmin(long long a, long long b) { return min(a, b); }
HALO_INLINE long long llmax(long long a, long long b) { return max(a, b); }
HALO_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
HALO_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// ---- functions that C does not have ----

HALO_INLINE float rsqrtf(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }
HALO_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
HALO_INLINE float rsqrt(float x) { return rsqrtf(x); }
HALO_INLINE float rcbrtf(float x) { return static_cast<float>(1.0 / __builtin_cbrt(static_cast<double>(x))); }
HALO_INLINE double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
HALO_INLINE float fdividef(float a, float b) { return a / b; }
HALO_INLINE float rhypotf(float x, float y) { return static_cast<float>(1.0 / __builtin_hypot(static_cast<double>(x), y)); }
HALO_INLINE double rhypot(double x, double y) { return 1.0 / __builtin_hypot(x, y); }
HALO_INLINE float norm3df(float a, float b, float c) { return static_cast<float>(__builtin_sqrt(double(a) * a + double(b) * b + double(c) * c)); }
HALO_INLINE float norm4df(float a, float b, float c, float d) {
    return static_cast<float>(__builtin_sqrt(double(a) * a + double(b) * b + double(c) * c + double(d) * d));
}
HALO_INLINE float rnorm3df(float a, float b, float c) { return static_cast<float>(1.0 / __builtin_sqrt(double(a) * a + double(b) * b + double(c) * c)); }
HALO_INLINE float normcdff(float x) { return static_cast<float>(0.5 * __builtin_erfc(-0.70710678118654752440 * x)); }
HALO_INLINE double normcdf(double x) { return 0.5 * __builtin_erfc(-0.70710678118654752440 * x); }

namespace halo {
// sin and cos of pi * x: the argument is reduced before pi comes in, so that whole and half numbers give exact results.
HALO_UNOBSERVED double sine_of_pi(double x, bool cosine) {
    double rest = __builtin_fmod(x, 2.0);
    double quarters = __builtin_rint(2.0 * rest);
    double angle = 3.14159265358979323846 * (rest - 0.5 * quarters);
    int quadrant = (static_cast<int>(quarters) + (cosine ? 1 : 0)) & 3;
    if (x != x || rest != rest) return __builtin_nan("");
    double size = quadrant & 1 ? __builtin_cos(angle) : __builtin_sin(angle);
    if (size == 0.0) return cosine ? 0.0 : __builtin_copysign(0.0, x);
    return quadrant & 2 ? -size : size;
}
}    // namespace halo
HALO_INLINE float sinpif(float x) { return static_cast<float>(halo::sine_of_pi(x, false)); }
HALO_INLINE float cospif(float x) { return static_cast<float>(halo::sine_of_pi(x, true)); }
HALO_INLINE double sinpi(double x) { return halo::sine_of_pi(x, false); }
HALO_INLINE double cospi(double x) { return halo::sine_of_pi(x, true); }
HALO_INLINE float sinpi(float x) { return sinpif(x); }
HALO_INLINE float cospi(float x) { return cospif(x); }
HALO_INLINE void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }

// ---- fast intrinsics ----

HALO_INLINE float __expf(float x) { return __builtin_expf(x); }
HALO_INLINE float __exp10f(float x) { return static_cast<float>(__builtin_pow(10.0, static_cast<double>(x))); }
HALO_INLINE float __logf(float x) { return __builtin_logf(x); }
HALO_INLINE float __log2f(float x) { return __builtin_log2f(x); }
HALO_INLINE float __log10f(float x) { return __builtin_log10f(x); }
HALO_INLINE float __sinf(float x) { return __builtin_sinf(x); }
HALO_INLINE float __cosf(float x) { return __builtin_cosf(x); }
HALO_INLINE float __tanf(float x) { return __builtin_tanf(x); }
HALO_INLINE float __tanhf(float x) { return __builtin_tanhf(x); }
HALO_INLINE void __sincosf(float x, float* sine, float* cosine) { *sine = __sinf(x), *cosine = __cosf(x); }
HALO_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
HALO_INLINE float __fdividef(float a, float b) { return a / b; }
HALO_INLINE float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }    // NaN gives 0

// ---- arithmetic with a rounding that the name says ----

HALO_INLINE float __fadd_rn(float a, float b) { return a + b; }
HALO_INLINE float __fsub_rn(float a, float b) { return a - b; }
HALO_INLINE float __fmul_rn(float a, float b) { return a * b; }
HALO_INLINE float __fdiv_rn(float a, float b) { return a / b; }
HALO_INLINE float __frcp_rn(float a) { return 1.0f / a; }
HALO_INLINE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
HALO_INLINE float __frsqrt_rn(float a) { return rsqrtf(a); }
HALO_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HALO_INLINE double __dadd_rn(double a, double b) { return a + b; }
HALO_INLINE double __dsub_rn(double a, double b) { return a - b; }
HALO_INLINE double __dmul_rn(double a, double b) { return a * b; }
HALO_INLINE double __ddiv_rn(double a, double b) { return a / b; }
HALO_INLINE double __drcp_rn(double a) { return 1.0 / a; }
HALO_INLINE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
HALO_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

namespace halo {
struct Add { template <class T> HALO_UNOBSERVED T operator()(volatile T& a, volatile T& b) const { return a + b; } };
struct Subtract { template <class T> HALO_UNOBSERVED T operator()(volatile T& a, volatile T& b) const { return a - b; } };
struct Multiply { template <class T> HALO_UNOBSERVED T operator()(volatile T& a, volatile T& b) const { return a * b; } };
struct Divide { template <class T> HALO_UNOBSERVED T operator()(volatile T& a, volatile T& b) const { return a / b; } };
struct SquareRoot {
    HALO_UNOBSERVED float operator()(volatile float& a) const { return __builtin_sqrtf(a); }
    HALO_UNOBSERVED double operator()(volatile double& a) const { return __builtin_sqrt(a); }
};
struct MultiplyAdd {
    HALO_UNOBSERVED float operator()(volatile float& a, volatile float& b, volatile float& c) const { return __builtin_fmaf(a, b, c); }
    HALO_UNOBSERVED double operator()(volatile double& a, volatile double& b, volatile double& c) const { return __builtin_fma(a, b, c); }
};
struct ToFloat { template <class T> HALO_UNOBSERVED float operator()(volatile T& a) const { return static_cast<float>(a); } };
struct ToDouble { template <class T> HALO_UNOBSERVED double operator()(volatile T& a) const { return static_cast<double>(a); } };
}    // namespace halo
#define HALO_ROUNDED(SUFFIX, MODE)                                                                                                  \
    HALO_INLINE float __fadd_##SUFFIX(float a, float b) { return halo::rounded(MODE, halo::Add{}, a, b); }                          \
    HALO_INLINE float __fsub_##SUFFIX(float a, float b) { return halo::rounded(MODE, halo::Subtract{}, a, b); }                     \
    HALO_INLINE float __fmul_##SUFFIX(float a, float b) { return halo::rounded(MODE, halo::Multiply{}, a, b); }                     \
    HALO_INLINE float __fdiv_##SUFFIX(float a, float b) { return halo::rounded(MODE, halo::Divide{}, a, b); }                       \
    HALO_INLINE float __frcp_##SUFFIX(float a) { return halo::rounded(MODE, halo::Divide{}, 1.0f, a); }                             \
    HALO_INLINE float __fsqrt_##SUFFIX(float a) { return halo::rounded(MODE, halo::SquareRoot{}, a); }                              \
    HALO_INLINE float __fmaf_##SUFFIX(float a, float b, float c) { return halo::rounded(MODE, halo::MultiplyAdd{}, a, b, c); }      \
    HALO_INLINE double __dadd_##SUFFIX(double a, double b) { return halo::rounded(MODE, halo::Add{}, a, b); }                       \
    HALO_INLINE double __dsub_##SUFFIX(double a, double b) { return halo::rounded(MODE, halo::Subtract{}, a, b); }                  \
    HALO_INLINE double __dmul_##SUFFIX(double a, double b) { return halo::rounded(MODE, halo::Multiply{}, a, b); }                  \
    HALO_INLINE double __ddiv_##SUFFIX(double a, double b) { return halo::rounded(MODE, halo::Divide{}, a, b); }                    \
    HALO_INLINE double __drcp_##SUFFIX(double a) { return halo::rounded(MODE, halo::Divide{}, 1.0, a); }                            \
    HALO_INLINE double __dsqrt_##SUFFIX(double a) { return halo::rounded(MODE, halo::SquareRoot{}, a); }                            \
    HALO_INLINE double __fma_##SUFFIX(double a, double b, double c) { return halo::rounded(MODE, halo::MultiplyAdd{}, a, b, c); }   \
    HALO_INLINE float __double2float_##SUFFIX(double a) { return halo::rounded(MODE, halo::ToFloat{}, a); }
HALO_ROUNDED(rz, FE_TOWARDZERO)
HALO_ROUNDED(ru, FE_UPWARD)
HALO_ROUNDED(rd, FE_DOWNWARD)
#undef HALO_ROUNDED
HALO_INLINE float __double2float_rn(double a) { return static_cast<float>(a); }

// ---- conversions ----

#define HALO_TO_INTEGER(SUFFIX, MODE)                                                                                               \
    HALO_INLINE int __float2int_##SUFFIX(float x) { return halo::to_integer<int>(x, MODE); }                                        \
    HALO_INLINE unsigned __float2uint_##SUFFIX(float x) { return halo::to_integer<unsigned>(x, MODE); }                             \
    HALO_INLINE long long __float2ll_##SUFFIX(float x) { return halo::to_integer<long long>(x, MODE); }                             \
    HALO_INLINE unsigned long long __float2ull_##SUFFIX(float x) { return halo::to_integer<unsigned long long>(x, MODE); }          \
    HALO_INLINE int __double2int_##SUFFIX(double x) { return halo::to_integer<int>(x, MODE); }                                      \
    HALO_INLINE unsigned __double2uint_##SUFFIX(double x) { return halo::to_integer<unsigned>(x, MODE); }                           \
    HALO_INLINE long long __double2ll_##SUFFIX(double x) { return halo::to_integer<long long>(x, MODE); }                           \
    HALO_INLINE unsigned long long __double2ull_##SUFFIX(double x) { return halo::to_integer<unsigned long long>(x, MODE); }        \
    HALO_INLINE float __int2float_##SUFFIX(int x) { return halo::rounded(MODE, halo::ToFloat{}, x); }                           \
    HALO_INLINE float __uint2float_##SUFFIX(unsigned x) { return halo::rounded(MODE, halo::ToFloat{}, static_cast<long long>(x)); } \
    HALO_INLINE float __ll2float_##SUFFIX(long long x) { return halo::rounded(MODE, halo::ToFloat{}, x); }                      \
    HALO_INLINE double __ll2double_##SUFFIX(long long x) { return halo::rounded(MODE, halo::ToDouble{}, x); }
HALO_TO_INTEGER(rn, FE_TONEAREST)
HALO_TO_INTEGER(rz, FE_TOWARDZERO)
HALO_TO_INTEGER(ru, FE_UPWARD)
HALO_TO_INTEGER(rd, FE_DOWNWARD)
#undef HALO_TO_INTEGER
HALO_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
HALO_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
HALO_INLINE double __int2double_rn(int x) { return x; }
HALO_INLINE double __uint2double_rn(unsigned x) { return x; }

HALO_INLINE int __float_as_int(float x) { return halo::bits<int>(x); }
HALO_INLINE unsigned __float_as_uint(float x) { return halo::bits<unsigned>(x); }
HALO_INLINE float __int_as_float(int x) { return halo::bits<float>(x); }
HALO_INLINE float __uint_as_float(unsigned x) { return halo::bits<float>(x); }
HALO_INLINE long long __double_as_longlong(double x) { return halo::bits<long long>(x); }
HALO_INLINE double __longlong_as_double(long long x) { return halo::bits<double>(x); }
HALO_INLINE int __double2hiint(double x) { return static_cast<int>(halo::bits<std::uint64_t>(x) >> 32); }
HALO_INLINE int __double2loint(double x) { return static_cast<int>(halo::bits<std::uint64_t>(x)); }
HALO_INLINE double __hiloint2double(int high, int low) {
    return halo::bits<double>(std::uint64_t(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}

// ---- integers ----

namespace halo {
HALO_UNOBSERVED int leading_zeros(std::uint64_t x) { return x ? __builtin_clzll(x) : 64; }
HALO_UNOBSERVED std::uint64_t reversed(std::uint64_t x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0F0F0F0F0F0F0F0F) | (x & 0x0F0F0F0F0F0F0F0F) << 4;
    return __builtin_bswap64(x);
}
HALO_UNOBSERVED unsigned permuted(unsigned low, unsigned high, unsigned selector) {
    std::uint64_t bytes = std::uint64_t(high) << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned nibble = selector >> (4 * i) & 15;
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7))) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;    // the sign, in every bit
        result |= byte << (8 * i);
    }
    return result;
}
template <class Lane, class Sum> HALO_UNOBSERVED Sum dot4(unsigned a, unsigned b, Sum c) {
    for (int i = 0; i < 4; ++i) c += static_cast<Sum>(static_cast<Lane>(a >> (8 * i))) * static_cast<Sum>(static_cast<Lane>(b >> (8 * i)));
    return c;
}
}    // namespace halo
HALO_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
HALO_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
HALO_INLINE int __clz(int x) { return halo::leading_zeros(static_cast<unsigned>(x)) - 32; }
HALO_INLINE int __clzll(long long x) { return halo::leading_zeros(static_cast<std::uint64_t>(x)); }
HALO_INLINE int __ffs(int x) { return __builtin_ffs(x); }
HALO_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
HALO_INLINE unsigned __brev(unsigned x) { return static_cast<unsigned>(halo::reversed(x) >> 32); }
HALO_INLINE unsigned long long __brevll(unsigned long long x) { return halo::reversed(x); }
HALO_INLINE int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
HALO_INLINE unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t(a) * b >> 32); }
HALO_INLINE long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
HALO_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
// The low 32 bits of the product of the low 24 bits, which are signed in the first.
HALO_INLINE int __mul24(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(static_cast<int>(static_cast<unsigned>(a) << 8) >> 8) *
                            static_cast<unsigned>(static_cast<int>(static_cast<unsigned>(b) << 8) >> 8));
}
HALO_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
HALO_INLINE unsigned __sad(int a, int b, unsigned c) { return (a > b ? unsigned(a) - unsigned(b) : unsigned(b) - unsigned(a)) + c; }
HALO_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return max(a, b) - min(a, b) + c; }
HALO_INLINE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
HALO_INLINE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
HALO_INLINE unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t(a) + b) >> 1); }
HALO_INLINE unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t(a) + b + 1) >> 1); }
HALO_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) { return halo::permuted(low, high, selector); }
HALO_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t(high) << 32 | low) << (shift & 31) >> 32);
}
HALO_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t(high) << 32 | low) >> (shift & 31));
}
HALO_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t(high) << 32 | low) << min(shift, 32u) >> 32);
}
HALO_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t(high) << 32 | low) >> min(shift, 32u));
}
HALO_INLINE int __dp4a(int a, int b, int c) { return halo::dot4<signed char>(unsigned(a), unsigned(b), c); }
HALO_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return halo::dot4<unsigned char>(a, b, c); }

// ---- loads and stores with a cache hint: the hint says nothing about the value ----

#define HALO_LOAD(NAME) template <class T> HALO_INLINE T NAME(const T* address) { return *address; }
#define HALO_STORE(NAME) template <class T> HALO_INLINE void NAME(T* address, halo::same<T> value) { *address = value; }
HALO_LOAD(__ldg)
HALO_LOAD(__ldca)
HALO_LOAD(__ldcg)
HALO_LOAD(__ldcs)
HALO_LOAD(__ldlu)
HALO_LOAD(__ldcv)
HALO_STORE(__stwb)
HALO_STORE(__stcg)
HALO_STORE(__stcs)
HALO_STORE(__stwt)
#undef HALO_LOAD
#undef HALO_STORE
