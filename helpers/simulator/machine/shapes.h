// shapes.h -- patterns of the addresses that the lanes of a warp access together
//
// In most kernels the lanes of each half of a warp read one place, or places one after another. Two
// addresses then say what 32 do: bounds, alignment, sectors and banks follow from them.
#pragma once
#include <cstdint>
#include <cstring>

#include "operations.h"

// The pattern of neighbouring lanes' addresses: one after another, all the same, or any other.
enum Shape : std::uint8_t { GENERAL, CONTIGUOUS, UNIFORM };
constexpr int half_warp = WARP_SIZE / 2;
constexpr std::uint32_t first_half = (1u << half_warp) - 1;

// The patterns of both halves and of the whole warp, in one number: a processor waits where it
// copies bytes that it has just written one by one.
class Shapes {
public:
    Shapes() = default;
    Shapes(Shape first, Shape second, Shape whole)
        : bits_(std::uint32_t(first) | std::uint32_t(second) << 2 | std::uint32_t(whole) << 4) {}
    Shape half(int h) const { return static_cast<Shape>(bits_ >> 2 * h & 3); }
    Shape warp() const { return static_cast<Shape>(bits_ >> 4); }
    // Whether the patterns of both halves are known, so that all 32 lanes take part.
    bool known() const { return half(0) != GENERAL && half(1) != GENERAL; }
    // Returns the bytes that the lanes of a half access, if its pattern is known.
    std::uint32_t bytes(int h, std::uint32_t size) const {
        return half(h) == CONTIGUOUS ? size * half_warp : size;
    }

private:
    std::uint32_t bits_ = 0;
};

// Returns 0 if the addresses of a half are `step` apart. Four at a time: the compiler finds no
// vectors for a product of 64 bits.
using FourAddresses = std::uint64_t __attribute__((vector_size(32)));
inline FourAddresses unlike(const std::uint64_t* own, std::uint64_t step) {
    FourAddresses expected = FourAddresses{0, step, 2 * step, 3 * step} + own[0], differ{};
    for (int lane = 0; lane < half_warp; lane += 4, expected += 4 * step) {
        FourAddresses here;
        std::memcpy(&here, own + lane, sizeof here);
        differ |= here ^ expected;
    }
    return differ;
}
inline bool is_zero(FourAddresses four) { return (four[0] | four[1] | four[2] | four[3]) == 0; }

inline Shape shape_of_half(const std::uint64_t* own, std::uint32_t lanes, std::uint32_t size) {
    const std::uint64_t step = own[1] - own[0];
    if ((lanes & first_half) != first_half || (step != size && step != 0)) return GENERAL;
    return !is_zero(unlike(own, step)) ? GENERAL : step == 0 ? UNIFORM : CONTIGUOUS;
}

inline Shapes shapes_of(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size) {
    const std::uint64_t* const upper = addresses + half_warp;
    const std::uint64_t low = addresses[1] - addresses[0], high = upper[1] - upper[0];
    Shape first, second;
    if (lanes == ALL_LANES && (low == 0 || low == size) && (high == 0 || high == size) &&
        is_zero(unlike(addresses, low) | unlike(upper, high))) {
        first = low == 0 ? UNIFORM : CONTIGUOUS, second = high == 0 ? UNIFORM : CONTIGUOUS;
    } else {
        first = shape_of_half(addresses, lanes, size);
        second = shape_of_half(upper, lanes >> half_warp, size);
    }
    const std::uint64_t step = first == CONTIGUOUS ? size : 0;
    const bool alike = first == second && upper[0] == addresses[0] + half_warp * step;
    return {first, second, alike ? first : GENERAL};
}
