// narrow.h -- numbers of 16, 8 and 19 bits: half, bfloat16, e4m3, e5m2 and TF32, to and from float
#pragma once
#include "rounding.h"

constexpr std::uint16_t NAN_16 = 0x7FFF;    // of half and of bfloat16

HALO_INLINE float float_of_half(std::uint16_t half) {
    const std::uint32_t size = half & 0x7FFFu, sign = (half & 0x8000u) << 16;
    // Shifted into place, the exponent is too small by the difference of the biases; the product is
    // exact, of subnormals too.
    const std::uint32_t finite = bits_of<std::uint32_t>(bits_of<float>(size << 13) * 0x1p112f);
    return bits_of<float>((size >= 0x7C00 ? 0x7F800000u | size << 13 : finite) | sign);
}
HALO_INLINE std::uint16_t half_of_float(float value) {
    const std::uint32_t bits = bits_of<std::uint32_t>(value), size = bits & 0x7FFFFFFFu,
                        sign = bits >> 16 & 0x8000u;
    const std::uint32_t normal = (size + 0xFFF + (size >> 13 & 1) - (112u << 23)) >> 13;
    // A half's subnormal numbers have the step of a float just above 0.5.
    const std::uint32_t small = bits_of<std::uint32_t>(bits_of<float>(size) + 0.5f) - 0x3F000000u;
    const std::uint32_t large = size < 0x47800000u ? normal : 0x7C00u;
    const std::uint32_t result = (size < 0x38800000u ? small : large) | sign;
    return static_cast<std::uint16_t>(size > 0x7F800000u ? NAN_16 : result);
}
HALO_INLINE float float_of_brain(std::uint16_t brain) {
    return bits_of<float>(static_cast<std::uint32_t>(brain) << 16);
}
HALO_INLINE std::uint16_t brain_of_float(float value) {
    const std::uint32_t bits = bits_of<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? NAN_16 : rounded);
}

// A format of few bits: how many of the exponent and behind the point, and what is at the end of
// its range.
struct Narrow {
    int exponent_bits, digits;    // digits: behind the point
    bool infinity;    // false: the largest exponent has numbers too, and all ones are a NaN (e4m3)
    std::uint32_t nan;
    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr std::uint32_t sign() const { return 1u << (exponent_bits + digits); }
    constexpr std::uint32_t largest() const {
        return infinity ? (((1u << exponent_bits) - 1) << digits) - 1 : sign() - 2;
    }
};
constexpr Narrow HALF_BITS = {5, 10, true, 0x7FFF}, BRAIN_BITS = {8, 7, true, 0x7FFF};
constexpr Narrow E4M3_BITS = {4, 3, false, 0x7F}, E5M2_BITS = {5, 2, true, 0x7F};

// The bits of a value in a narrow format: any rounding mode, .rna (ROUND_AWAY), .satfinite, .relu.
// Not for loops that must be fast.
inline std::uint32_t narrowed(double value, const Narrow& format, std::uint32_t flags) {
    const std::uint64_t bits = bits_of<std::uint64_t>(value), size = bits & 0x7FFFFFFFFFFFFFFFu;
    const bool negative = bits >> 63;
    if (size > 0x7FF0000000000000u) return format.nan;
    if (negative && flags & RELU) return 0;
    const std::uint32_t sign = negative ? format.sign() : 0;
    const std::uint32_t beyond = flags & SATFINITE ? format.largest()
                                 : format.infinity ? format.largest() + 1
                                                   : format.nan;
    if (size == 0x7FF0000000000000u) return sign | beyond;
    int exponent = static_cast<int>(size >> 52) - 1023;
    std::uint64_t digits = size & 0xFFFFFFFFFFFFFu;
    if (exponent == -1023)
        exponent = -1022;    // a subnormal double: without the leading one
    else
        digits |= std::uint64_t(1) << 52;
    const int lowest = 1 - format.bias();
    int dropped = 52 - format.digits + (exponent < lowest ? lowest - exponent : 0);
    if (dropped > 62)
        dropped = 62;    // far below the smallest number: only the rounding mode counts
    const std::uint64_t whole = digits >> dropped,
                        rest = digits & ((std::uint64_t(1) << dropped) - 1);
    const std::uint64_t half = std::uint64_t(1) << (dropped - 1);
    bool up;
    if (flags & ROUND_AWAY)
        up = rest >= half;
    else
        switch (flags & ROUND_MASK) {
        case ROUND_ZERO: up = false; break;
        case ROUND_DOWN: up = negative && rest != 0; break;
        case ROUND_UP: up = !negative && rest != 0; break;
        default: up = rest > half || (rest == half && whole & 1);
        }
    // The leading one adds 1 to the exponent; a carry out of the digits does so too.
    const std::uint64_t above =
        exponent < lowest ? 0 : static_cast<std::uint64_t>(exponent - lowest) << format.digits;
    const std::uint64_t result = above + whole + up;
    if (result > format.largest()) {
        const bool towards_zero =
            !(flags & ROUND_AWAY) && ((flags & ROUND_MASK) == ROUND_ZERO ||
                                      (flags & ROUND_MASK) == (negative ? ROUND_UP : ROUND_DOWN));
        return sign | (towards_zero ? format.largest() : beyond);
    }
    return sign | static_cast<std::uint32_t>(result);
}
inline float widened(std::uint32_t bits, const Narrow& format) {
    const bool negative = bits & format.sign();
    const std::uint32_t size = bits & (format.sign() - 1), exponent = size >> format.digits;
    if (format.infinity ? size > format.largest() + 1 : size == format.nan)
        return bits_of<float>(NAN_32);
    float value;
    if (size > format.largest())
        value = INFINITY;
    else {
        const std::uint32_t digits = size & ((1u << format.digits) - 1);
        const std::uint32_t whole = exponent == 0 ? digits : digits | 1u << format.digits;
        value =
            std::ldexp(static_cast<float>(whole), static_cast<int>(exponent == 0 ? 1 : exponent) -
                                                      format.bias() - format.digits);
    }
    return negative ? -value : value;
}

// TF32: a float with 10 digits behind the point; the lower 13 bits of its register are zero.
HALO_INLINE std::uint32_t tf32_of_float(std::uint32_t bits, std::uint32_t flags) {
    const std::uint32_t size = bits & 0x7FFFFFFFu;
    if (size > 0x7F800000u) return flags & ROUND_AWAY ? bits & 0xFFFFE000u : 0x7FFFE000u;
    if (bits >> 31 && flags & RELU) return 0;
    const std::uint32_t half = flags & ROUND_AWAY   ? 0x1000u
                               : flags & ROUND_MASK ? 0u
                                                    : 0xFFFu + (size >> 13 & 1);
    std::uint32_t rounded = size == 0x7F800000u ? size : (size + half) & 0xFFFFE000u;
    if (flags & SATFINITE && rounded >= 0x7F800000u) rounded = 0x7F7FE000u;
    return (bits & 0x80000000u) | rounded;
}
