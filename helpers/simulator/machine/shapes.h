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

// How far the addresses of a half's lanes are from that of its first. Row k: each lane accesses
// 1 << k bytes, one after another. The last row: all access one place.
struct Distances {
    static constexpr int one_place = 6;
    alignas(64) std::uint64_t row[one_place + 1][half_warp] = {};
    constexpr Distances() {
        for (int k = 0; k < one_place; ++k)
            for (int lane = 0; lane < half_warp; ++lane)
                row[k][lane] = static_cast<std::uint64_t>(lane) << k;
    }
};
inline constexpr Distances distances;

// Returns the row that the first two addresses of a half follow; null: none.
inline const std::uint64_t* distances_of(const std::uint64_t* own, std::uint32_t size) {
    const std::uint64_t step = own[1] - own[0];
    if (step == 0) return distances.row[Distances::one_place];
    const int k = __builtin_ctz(size | 1u << (Distances::one_place - 1));
    const std::uint64_t* const row = distances.row[k];
    return step == size && row[1] == size ? row : nullptr;
}

// Whether the addresses of a half have these distances. Four at a time: the compiler makes no
// vectors of a loop that collects one bit.
inline bool have_distances(const std::uint64_t* own, const std::uint64_t* row) {
    using Four = std::uint64_t __attribute__((vector_size(32)));
    const Four first = Four{} + own[0];
    Four differ{};
    for (int lane = 0; lane < half_warp; lane += 4) {
        Four here, expected;
        std::memcpy(&here, own + lane, sizeof here);
        std::memcpy(&expected, row + lane, sizeof expected);
        differ |= (here - first) ^ expected;
    }
#ifdef __AVX__    // one instruction, which no compiler makes of the line below
    using Signed = long long __attribute__((vector_size(32)));
    return __builtin_ia32_ptestz256(Signed(differ), Signed(differ)) != 0;
#else
    return (differ[0] | differ[1] | differ[2] | differ[3]) == 0;
#endif
}

inline Shape shape_of_half(const std::uint64_t* own, std::uint32_t size) {
    const std::uint64_t* const row = distances_of(own, size);
    if (row == nullptr || !have_distances(own, row)) return GENERAL;
    return row[1] == 0 ? UNIFORM : CONTIGUOUS;
}

inline Shapes shapes_of(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size) {
    const std::uint64_t* const upper = addresses + half_warp;
    const bool has_low = (lanes & first_half) == first_half;
    const bool has_high = lanes >> half_warp == first_half;
    const Shape first = has_low ? shape_of_half(addresses, size) : GENERAL;
    const Shape second = has_high ? shape_of_half(upper, size) : GENERAL;
    const std::uint64_t step = first == CONTIGUOUS ? size : 0;
    const bool alike = first == second && upper[0] == addresses[0] + half_warp * step;
    return {first, second, alike ? first : GENERAL};
}

// The addresses of all lanes, from those of lanes 0 and 16 and the shapes of both halves.
struct AllAddresses {
    std::uint64_t of[WARP_SIZE];
    AllAddresses(std::uint64_t low, std::uint64_t high, std::uint32_t size, const Shapes& shapes) {
        for (int h = 0; h < 2; ++h) {
            const std::uint64_t step = shapes.half(h) == CONTIGUOUS ? size : 0;
            for (std::uint64_t lane = 0; lane < half_warp; ++lane)
                of[half_warp * h + lane] = (h == 0 ? low : high) + lane * step;
        }
    }
};
