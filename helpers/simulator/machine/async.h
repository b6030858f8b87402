// async.h -- copies that run beside the threads: cp.async, bulk copies, and the mbarriers that tell when they have arrived
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "operations.h"

// A copy to shared memory whose bytes have not arrived: whoever touches its target now is too early.
struct AsyncCopy {
    std::uint64_t target = 0;
    std::uint32_t size = 0, group = 0;    // group: of cp.async, by lane
    std::int32_t pc = 0;
    std::uint8_t lane = 0;
    std::array<unsigned char, 16> bytes{};
};

// What the lanes of a warp have sent off by cp.async.
struct AsyncCopies {
    std::vector<AsyncCopy> pending;
    std::array<std::uint32_t, WARP_SIZE> group{};    // the group that a lane fills at present
};

// A bulk copy that waits for its mbarrier, or for its group.
struct BulkCopy {
    std::uint64_t target = 0, source = 0, barrier = 0;
    std::uint32_t size = 0, thread = 0, group = 0;
    std::int32_t pc = 0;
    bool to_shared = false;
};

struct Mbarrier {
    std::uint32_t count = 0, pending = 0;    // arrivals that a phase needs; that the present one still waits for
    std::int64_t bytes = 0;                  // that it still waits for
    std::uint32_t phase = 0;
};

// The mbarriers and bulk copies of a block.
struct AsyncBarriers {
    std::unordered_map<std::uint64_t, Mbarrier> barriers;    // by address
    std::vector<BulkCopy> bulk;
    std::size_t in_flight = 0;               // copies to shared memory that have not arrived, of all warps
};
