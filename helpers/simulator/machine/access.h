// access.h -- shared by the files that observe and execute the accesses of a warp
#pragma once
#include "machine.h"

// The thread of an access, as the observers need it.
struct Toucher32 : Toucher {
    Toucher32(const Worker& w, const Warp& warp, int lane, std::int32_t pc)
        : Toucher{w.block_number, warp.clock[lane], w.turn,
                  pack(static_cast<std::uint32_t>(pc), warp.thread(lane))} {}
};

// The pattern of neighbouring lanes' addresses: one after another, all the same, or any other.
enum Shape : std::uint8_t { GENERAL, CONTIGUOUS, UNIFORM };
constexpr int half_warp = WARP_SIZE / 2;
constexpr std::uint32_t first_half = (1u << half_warp) - 1;

struct Shapes {
    Shape half[2] = {GENERAL, GENERAL}, warp = GENERAL;
};

inline Shapes shapes_of(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size) {
    Shapes shapes;
    for (int h = 0; h < 2; ++h) {
        if ((lanes >> (half_warp * h) & first_half) != first_half) continue;
        const std::uint64_t* const own = addresses + half_warp * h;
        const std::uint64_t step = own[1] - own[0];
        if (step != size && step != 0) continue;
        std::uint64_t differ = 0;
        for (std::uint64_t lane = 0; lane < half_warp; ++lane)
            differ |= own[lane] ^ (own[0] + lane * step);
        if (differ == 0) shapes.half[h] = step == 0 ? UNIFORM : CONTIGUOUS;
    }
    if (shapes.half[0] == shapes.half[1] && shapes.half[0] != GENERAL) {
        const std::uint64_t step = shapes.half[0] == CONTIGUOUS ? size : 0;
        if (addresses[half_warp] == addresses[0] + half_warp * step) shapes.warp = shapes.half[0];
    }
    return shapes;
}

// Returns the bits that are set in any of the addresses.
inline std::uint64_t bits_of_any(const std::uint64_t* addresses, std::uint32_t lanes) {
    std::uint64_t bits = 0;
    if (lanes == ALL_LANES)
        for (int lane = 0; lane < WARP_SIZE; ++lane) bits |= addresses[lane];
    else
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            bits |= addresses[__builtin_ctz(left)];
    return bits;
}

// Ends the launch with a finding about an access that would fail or do harm. meant: the encoder
// knows that the address starts from this array.
void refuse_access(Worker& w, Warp& warp, int lane, Kind kind, const Region* region,
                   std::uint64_t address, std::uint32_t size, std::int32_t pc, Access access,
                   bool meant = false);

// The same as observe_access, for addresses with known shapes.
bool observe_access(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align, std::uint32_t counted, std::int32_t shift, bool count,
                    const Shapes& shapes);

// Looks for races of an access to one array. Returns false if the launch is over.
template <Access access>
bool watch_for_races(Worker& w, Warp& warp, Region& region, std::int32_t pc, std::uint32_t lanes,
                     const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes);
