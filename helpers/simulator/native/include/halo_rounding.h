// halo_rounding.h -- 16-bit floating-point formats: every operation exact first, then rounded once, as on a GPU
//
// A source may define macros with short names before it includes this: no name in here is shorter than three letters.
#pragma once
#include "halo_atomics.h"
#include "halo_vectors.h"

extern "C++" {
namespace halo {

// IEEE binary16, and the upper half of a binary32.
struct HalfFormat {
    static constexpr int digits = 11, lowest_exponent = -14;
    static constexpr std::uint16_t infinity = 0x7C00;
};
struct BrainFormat {
    static constexpr int digits = 8, lowest_exponent = -126;
    static constexpr std::uint16_t infinity = 0x7F80;
};
constexpr std::uint16_t narrow_nan = 0x7FFF;    // the one NaN that a GPU's arithmetic gives, in both formats

template <class Format> HALO_UNOBSERVED float widened(std::uint16_t given) {
    std::uint32_t sign = std::uint32_t(given & 0x8000) << 16, rest = given & 0x7FFF;
    if (rest > Format::infinity) return bits<float>(0x7FFFFFFFu);
    if (rest == Format::infinity) return bits<float>(sign | 0x7F800000u);
    // Shifted into place, the exponent is too small by the difference of the biases; the product is exact, for subnormals too.
    constexpr float scale = Format::digits == 11 ? 0x1p112f : 1.0f;
    return bits<float>(sign | bits<std::uint32_t>(bits<float>(rest << (24 - Format::digits)) * scale));
}

// The nearest value (ties to even), or the next one in the direction that `mode` names.
template <class Format> HALO_UNOBSERVED std::uint16_t narrowed(double value, int mode) {
    std::uint64_t pattern = bits<std::uint64_t>(value);
    std::uint16_t sign = static_cast<std::uint16_t>(pattern >> 48 & 0x8000);
    double size = bits<double>(pattern & ~(std::uint64_t(1) << 63));
    if (value != value) return narrow_nan;
    if (size == 0.0) return sign;
    int exponent = static_cast<int>(pattern >> 52 & 0x7FF) - 1023;
    if (exponent == 1024) return sign | Format::infinity;
    if (exponent < Format::lowest_exponent) exponent = Format::lowest_exponent;
    // In units of the last digit: a power of two, so this is exact. Adding 2^52 rounds as the processor does, to nearest even.
    double units = size * bits<double>(static_cast<std::uint64_t>(1023 - (exponent - Format::digits + 1)) << 52);
    double whole = static_cast<double>(static_cast<std::uint64_t>(units));
    bool outwards = mode == (sign ? FE_DOWNWARD : FE_UPWARD);
    if (mode == FE_TONEAREST) whole = (units + 0x1p52) - 0x1p52;
    else if (outwards && whole != units) whole += 1.0;
    std::uint32_t result = (static_cast<std::uint32_t>(exponent - Format::lowest_exponent) << (Format::digits - 1)) + static_cast<std::uint32_t>(whole);
    if (result >= Format::infinity) result = mode == FE_TONEAREST || outwards ? Format::infinity : Format::infinity - 1;
    return static_cast<std::uint16_t>(sign | result);
}

// A double that rounds, in a second rounding to fewer digits, as the exact sum would: where digits are lost, the last one kept is odd.
HALO_UNOBSERVED double sum_to_odd(double left, double right) {
    double sum = left + right, part = sum - left;
    double lost = (left - (sum - part)) + (right - part);
    std::uint64_t pattern = bits<std::uint64_t>(sum);
    if (!(sum - sum == 0.0) || lost == 0.0 || (pattern & 1)) return sum;
    return bits<double>(pattern + ((lost < 0.0) == (sum < 0.0) ? 1 : -1));
}
// The same for an integer.
template <class Integer> HALO_UNOBSERVED double integer_to_odd(Integer value) {
    bool negative = value < 0;
    std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    if (size >> 53) size = (size >> 11 << 11) | (size & 0x7FF ? 0x800 : 0);
    return negative ? -static_cast<double>(size) : static_cast<double>(size);
}

// Places numbers in order, -0 before +0.
HALO_UNOBSERVED int narrow_order(std::uint16_t given) { return given & 0x8000 ? -1 - (given & 0x7FFF) : given; }
template <class Format> HALO_UNOBSERVED std::uint16_t narrow_extreme(std::uint16_t left, std::uint16_t right, bool largest, bool nan_wins) {
    bool left_nan = (left & 0x7FFF) > Format::infinity, right_nan = (right & 0x7FFF) > Format::infinity;
    if (left_nan || right_nan) return nan_wins || (left_nan && right_nan) ? narrow_nan : left_nan ? right : left;
    return (narrow_order(left) < narrow_order(right)) != largest ? left : right;
}
// Into [0, 1], NaN to 0; or to 0 from below, NaN stays.
template <class Format> HALO_UNOBSERVED std::uint16_t narrow_saturated(std::uint16_t given) {
    float value = widened<Format>(given);
    return value > 1.0f ? narrowed<Format>(1.0, FE_TONEAREST) : value > 0.0f ? given : 0;
}
template <class Format> HALO_UNOBSERVED std::uint16_t narrow_rectified(std::uint16_t given) {
    float value = widened<Format>(given);
    return value != value ? narrow_nan : value > 0.0f ? given : 0;
}

// One or more values, packed as an atomic operation holds them, each added to its own.
template <class Format, int count> HALO_UNOBSERVED std::uint64_t narrow_sums(std::uint64_t old, std::uint64_t operand) {
    std::uint64_t result = 0;
    for (int place = 0; place < count; ++place) {
        double left = widened<Format>(static_cast<std::uint16_t>(old >> 16 * place)), right = widened<Format>(static_cast<std::uint16_t>(operand >> 16 * place));
        result |= static_cast<std::uint64_t>(narrowed<Format>(sum_to_odd(left, right), FE_TONEAREST)) << 16 * place;
    }
    return result;
}
}    // namespace halo
}
