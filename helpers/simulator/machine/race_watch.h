// race_watch.h -- the watch for races, as the accesses of a warp see it
#pragma once
#include "machine.h"
#include "shapes.h"

// The thread of an access, as the observers need it.
struct Toucher32 : Toucher {
    Toucher32(const Worker& w, const Warp& warp, int lane, std::int32_t pc)
        : Toucher{w.block_number, warp.clock[lane], w.turn,
                  pack(static_cast<std::uint32_t>(pc), warp.thread(lane))} {}
};

// Returns bits of the addresses, of which those below the size are set in any of them.
inline std::uint64_t bits_of_any(const std::uint64_t* addresses, std::uint32_t lanes,
                                 const Shapes& shapes) {
    if (shapes.known() && lanes == ALL_LANES) return addresses[0] | addresses[half_warp];
    std::uint64_t bits = 0;
    if (lanes == ALL_LANES)
        for (int lane = 0; lane < WARP_SIZE; ++lane) bits |= addresses[lane];
    else
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            bits |= addresses[__builtin_ctz(left)];
    return bits;
}

// Enters the pending reads of an array into its race cells. Whoever looks at the cells calls it.
void enter_pending(const Worker& w, Region& region);

// Whether both halves of a warp read places that no thread has written since the last barrier, as
// nearly all reads do: then the cells remember the reads. shapes: known, so that the addresses of
// lanes 0 and 16 are enough.
bool enter_quietly(Worker& w, Warp& warp, Region& region, std::int32_t pc,
                   const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes);
// The same. Reads of shared memory may enter the cells later.
inline bool read_quietly(Worker& w, Warp& warp, Region& region, std::int32_t pc,
                         const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes) {
    if (!region.is_shared() || w.order.used || warp.ordered || !warp.clock.are_all_alike() ||
        !region.pending.may_wait(w.turn))
        return enter_quietly(w, warp, region, pc, addresses, size, shapes);
    PendingRead& read = region.pending.next();
    read.places[0] = addresses[0], read.places[1] = addresses[half_warp];
    read.when = warp.clock[0];
    read.who = Toucher::pack(static_cast<std::uint32_t>(pc), warp.thread(0));
    read.size = size, read.shapes = shapes;
    return true;
}

// The lanes of a store that leave memory as it is: they store the value that is there.
std::uint32_t lanes_without_change(const Worker& w, const Warp& warp, std::int32_t pc,
                                   std::uint32_t lanes, const std::uint64_t* addresses,
                                   std::uint32_t size);

// Looks for races of an access to one array. Returns false if the launch is over.
template <Access access>
bool watch_for_races(Worker& w, Warp& warp, Region& region, std::int32_t pc, std::uint32_t lanes,
                     const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes);
