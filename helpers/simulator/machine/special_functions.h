// special_functions.h -- a GPU's approximate functions, to the last bit
//
// The special function unit computes 1/x, x^(-1/2), sqrt(x), 2^x, log2(x), sine, cosine and tanh
// by a parabola that the leading digits of the operand choose. All results were read off an NVIDIA
// H200 and follow from three rules: the products are exact; the square lacks its small partial
// products; the sum is cut, never rounded. Subnormal operands and results are zero (what the
// instructions around the unit do about that is in ops_function.cpp).
#pragma once
#include "rounding.h"
#include "special_tables.h"

namespace special {

// The square of a fraction of 17 digits, in units of 2^-15. Partial products below that unit are
// left out one by one, so that their sum is lost as well.
HALO_INLINE std::int64_t square(std::uint32_t x) {
    std::uint64_t lost = 0;
    for (int k = 0; k < 10; ++k) {
        // Digit k by itself and by the digits above it, up to digit 17 - k.
        const std::uint32_t above = x & ((1u << (18 - k)) - 1) & ~((2u << k) - 1);
        const std::uint64_t products = (std::uint64_t(above) << (k + 1)) + (1u << 2 * k);
        lost += x >> k & 1 ? products : 0;
    }
    return static_cast<std::int64_t>((std::uint64_t(x) * x - lost) >> 19);
}

// A parabola at a fraction of 17 digits, in units of 2^-43.
HALO_INLINE std::int64_t value(const Parabola& piece, std::uint32_t x) {
    return piece.c0 + std::int64_t(piece.c1) * x + 4 * std::int64_t(piece.c2) * square(x);
}

// The bits of a float of the format: a number of units of 2^(power - 43), cut. Zero where it would
// be subnormal, infinite where it is too large.
template <int digits, int bias> HALO_INLINE std::uint32_t cut(std::int64_t units, int power) {
    if (units <= 0) return 0;
    const int top = 63 - __builtin_clzll(static_cast<unsigned long long>(units));
    const int exponent = top - 43 + power + bias;
    if (exponent <= 0) return 0;
    if (exponent > 2 * bias) return (2u * bias + 1) << digits;
    const std::uint64_t fraction = top >= digits ? std::uint64_t(units) >> (top - digits)
                                                 : std::uint64_t(units) << (digits - top);
    return static_cast<std::uint32_t>(exponent) << digits |
           (static_cast<std::uint32_t>(fraction) & ((1u << digits) - 1));
}

// A float, or the upper half of a double, taken apart.
template <int digits, int bias> struct Number {
    static constexpr std::uint32_t INFINITE = (2u * bias + 1) << digits;
    HALO_INLINE explicit Number(std::uint32_t bits)
        : sign(bits & 0x80000000u), size(bits & 0x7FFFFFFFu),
          power(static_cast<int>(size >> digits) - bias),
          fraction((size & ((1u << digits) - 1)) << (23 - digits)) {}
    HALO_INLINE bool zero() const { return size < (1u << digits); }
    HALO_INLINE bool infinite() const { return size == INFINITE; }
    HALO_INLINE bool nan() const { return size > INFINITE; }
    std::uint32_t sign, size;
    int power;
    std::uint32_t fraction;    // 23 digits
};

template <int digits, int bias> HALO_INLINE std::uint32_t reciprocal_bits(std::uint32_t bits) {
    const Number<digits, bias> x(bits);
    if (x.nan()) return NAN_32;
    if (x.zero()) return x.sign | x.INFINITE;
    if (x.infinite()) return x.sign;
    const std::int64_t units = value(RECIPROCAL[x.fraction >> 16], x.fraction << 1 & 0x1FFFF);
    return x.sign | cut<digits, bias>(units, -x.power);
}
template <int digits, int bias> HALO_INLINE std::uint32_t reciprocal_root_bits(std::uint32_t bits) {
    const Number<digits, bias> x(bits);
    if (x.nan()) return NAN_32;
    if (x.zero()) return x.sign | x.INFINITE;
    if (x.sign) return NAN_32;
    if (x.infinite()) return 0;
    const int odd = x.power & 1, half = (x.power - odd) / 2;
    if (x.fraction == 0 && !odd) return static_cast<std::uint32_t>(bias - half) << digits;
    const Parabola& piece = RECIPROCAL_ROOT[64 * odd + (x.fraction >> 17)];
    return cut<digits, bias>(value(piece, x.fraction & 0x1FFFF), -half);
}

HALO_INLINE float reciprocal(float x) {
    return bits_of<float>(reciprocal_bits<23, 127>(bits_of<std::uint32_t>(x)));
}
HALO_INLINE float reciprocal_root(float x) {
    return bits_of<float>(reciprocal_root_bits<23, 127>(bits_of<std::uint32_t>(x)));
}

HALO_INLINE float root(float a) {
    const Number<23, 127> x(bits_of<std::uint32_t>(a));
    if (x.zero()) return bits_of<float>(x.sign);
    if (x.nan() || x.sign) return bits_of<float>(NAN_32);
    if (x.infinite()) return a;
    const int odd = x.power & 1;
    const Parabola& piece = ROOT[64 * odd + (x.fraction >> 17)];
    return bits_of<float>(
        cut<23, 127>(value(piece, x.fraction & 0x1FFFF), (x.power - odd) / 2));
}

// The unit of x is 2^-23; digits below it are cut. For a negative x = -(n + f) the hardware takes
// the next lower whole number and the inverted digits of f, which are one unit less than 1 - f.
HALO_INLINE float power_of_two(float a) {
    const Number<23, 127> x(bits_of<std::uint32_t>(a));
    if (x.nan()) return bits_of<float>(NAN_32);
    if (x.power >= 8) return bits_of<float>(x.sign ? 0 : x.INFINITE);
    const std::int32_t digits = static_cast<std::int32_t>(x.fraction | 0x800000u);
    const std::int32_t size = x.zero() || x.power < -31 ? 0
                              : x.power >= 0            ? digits << x.power
                                                        : digits >> -x.power;
    const bool whole = (size & 0x7FFFFF) == 0;
    const std::int32_t units = !x.sign ? size : whole ? -size : ~size;
    const std::uint32_t fraction = static_cast<std::uint32_t>(units) & 0x7FFFFF;
    return bits_of<float>(
        cut<23, 127>(value(POWER[fraction >> 17], fraction & 0x1FFFF), units >> 23));
}

// The sum of the exponent and the parabola, which is cut to 2^-36 except between 1 and 2. The
// digits of a negative sum are inverted, which makes it one unit smaller.
HALO_INLINE float logarithm(float a) {
    const Number<23, 127> x(bits_of<std::uint32_t>(a));
    if (x.zero()) return bits_of<float>(0x80000000u | x.INFINITE);
    if (x.nan() || x.sign) return bits_of<float>(NAN_32);
    if (x.infinite()) return a;
    const std::int64_t part = value(LOGARITHM[x.fraction >> 17], x.fraction & 0x1FFFF);
    const std::int64_t unit = 1 << 7, whole = std::int64_t(x.power) * (std::int64_t(1) << 43);
    if (x.power == 0) return bits_of<float>(x.fraction ? cut<23, 127>(part, 0) : 0);
    if (x.power > 0) return bits_of<float>(cut<23, 127>(whole + (part & -unit), 0));
    return bits_of<float>(0x80000000u | cut<23, 127>(-whole - (part & -unit) - unit, 0));
}

// The sine of a number of turns, in units of 2^-25; with quarters = 1 the cosine. In every second
// quarter the curve runs backwards, so the digits are inverted.
HALO_INLINE float sine_of_turns(float turns, std::uint32_t quarters) {
    const Number<23, 127> x(bits_of<std::uint32_t>(turns));
    if (x.size >= x.INFINITE) return bits_of<float>(NAN_32);
    const std::uint32_t digits = x.fraction | 0x800000u;
    const int shift = x.power + 2;
    const std::uint32_t size = x.zero() || shift < -31 || shift > 31 ? 0
                               : shift >= 0                          ? digits << shift
                                                                     : digits >> -shift;
    const std::uint32_t units = size + (quarters << 23);
    const std::uint32_t part = (units >> 23 & 1 ? ~units : units) & 0x7FFFFF;
    const std::uint32_t sign = (units >> 24 & 1) << 31 ^ (quarters ? 0 : x.sign);
    return bits_of<float>(sign | cut<23, 127>(value(SINE[part >> 17], part & 0x1FFFF), 0));
}

HALO_INLINE float tangent(float a) {
    // From 2^-8 on: the first piece of each power of two, and the digits that choose among them.
    static constexpr std::uint8_t FIRST[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
    static constexpr std::uint8_t CHOICE[11] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
    const Number<23, 127> x(bits_of<std::uint32_t>(a));
    if (x.nan()) return bits_of<float>(NAN_32);
    if (x.power < -8) return a;
    if (x.power >= 3) return bits_of<float>(x.sign | 0x3F800000u);
    const int choice = CHOICE[x.power + 8];
    const std::uint32_t piece = FIRST[x.power + 8] + (x.fraction >> (23 - choice));
    const std::uint32_t along = (x.fraction & ((1u << (23 - choice)) - 1)) >> (6 - choice);
    return bits_of<float>(x.sign | cut<23, 127>(value(TANGENT[piece], along), 0));
}

}    // namespace special
