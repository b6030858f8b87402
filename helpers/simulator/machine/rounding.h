// rounding.h -- floating-point results that are the same on every processor: NaN, subnormals,
// rounding modes
#pragma once
#include <cfenv>

#include "loops.h"

// A GPU's NaN; those of x86 and Arm processors differ.
constexpr std::uint32_t NAN_32 = 0x7FFFFFFFu;
constexpr std::uint64_t NAN_64 = 0xFFF8000000000000u;
constexpr std::uint64_t QUIET_64 = 0x0008000000000000u;

HALO_INLINE float canonical(float value) { return value == value ? value : bits_of<float>(NAN_32); }
HALO_INLINE float flushed(float value) {
    const std::uint32_t bits = bits_of<std::uint32_t>(value);
    return bits_of<float>(bits & ((bits & 0x7F800000u) == 0 ? 0x80000000u : ~0u));
}
HALO_INLINE float saturated(float value) {
    return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}
HALO_INLINE double saturated(double value) {
    return value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0;
}
// Replaces values below zero by zero; a NaN stays.
HALO_INLINE float rectified(float value) {
    return value == value && bits_of<std::uint32_t>(value) >> 31 ? 0.0f : value;
}

// The rounding mode of the host's arithmetic while this object lives. Operands and results must go
// through `volatile`.
class RoundingMode {
  public:
    explicit RoundingMode(std::uint32_t flags) : before_(std::fegetround()) {
        static constexpr int modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        std::fesetround(modes[flags & ROUND_MASK]);
    }
    ~RoundingMode() { std::fesetround(before_); }
    RoundingMode(const RoundingMode&) = delete;
    RoundingMode& operator=(const RoundingMode&) = delete;

  private:
    int before_;
};

// Rounding to odd: an inexact value gets an odd last bit. Rounded again to a format with at least
// two digits fewer, it is the same as if it had been rounded once.
template <class T> HALO_INLINE T odd_sum(T a, T b) {
    using Bits = typename Unsigned<sizeof(T)>::type;
    const T sum = a + b, part = sum - a;
    const T rest = (a - (sum - part)) + (b - part);
    const Bits bits = bits_of<Bits>(sum);
    // A rest of the sum's own sign is further from zero.
    const Bits towards = (bits_of<Bits>(rest) ^ bits) >> (8 * sizeof(T) - 1) ? ~Bits(0) : Bits(1);
    const bool inexact = rest != 0 && rest == rest && !(bits & 1);
    return bits_of<T>(inexact ? bits + towards : bits);
}
HALO_INLINE float odd_float(double value) {
    const float nearest = static_cast<float>(value);
    const std::uint32_t bits = bits_of<std::uint32_t>(nearest);
    const double back = nearest;
    const std::uint32_t towards = std::fabs(value) > std::fabs(back) ? 1u : ~0u;
    return bits_of<float>(back != value && value == value && !(bits & 1) ? bits + towards : bits);
}

// a * b + c, rounded once. Where the processor has no such instruction, the product is exact in
// double and its sum is rounded to odd.
HALO_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(odd_sum(static_cast<double>(a) * b, static_cast<double>(c)));
#endif
}
HALO_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
