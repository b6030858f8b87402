// async_parts.h -- shared by async.cpp, mbarrier.cpp, bulk.cpp and matrices.cpp
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "machine.h"

// Addresses of shared memory have 32 bits; an address operand's slot has 64.
inline std::uint64_t in_window(const Worker& w, std::uint64_t address) {
    return window_of(w) + static_cast<std::uint32_t>(address);
}
inline std::uint64_t address_at(const Worker& w, const Warp& warp, const Instruction& i, int k,
                                int lane, bool shared) {
    const std::uint64_t value = warp.nth<std::uint64_t>(i, k)[lane];
    return shared ? in_window(w, value) : value;
}

// One access of one lane. It is not counted, because no load-store unit moves the bytes.
bool observe_lane(Worker&, Warp&, int lane, std::int32_t pc, std::uint64_t address,
                  std::uint32_t size, Access);

bool write_arrived(Worker&, Warp&, const std::vector<AsyncCopy>&);
// Lets the copies of cp.async arrive for which `done` is true; they become writes of their threads.
template <class Done> bool let_arrive(Worker& w, Warp& warp, Done done) {
    auto& pending = warp.copies.pending;
    auto kept = std::stable_partition(pending.begin(), pending.end(),
                                      [&](const AsyncCopy& copy) { return !done(copy); });
    const std::vector<AsyncCopy> arrived(kept, pending.end());
    pending.erase(kept, pending.end());
    return write_arrived(w, warp, arrived);
}

// Returns the mbarrier at an address; null and a finding if there is none, or if other stores have
// overwritten it.
Mbarrier* mbarrier_at(Worker&, Warp&, int lane, std::int32_t pc, std::uint64_t address);
// Counts bytes that have come to an mbarrier. Returns false, with a finding, if they are more than
// it can count.
bool count_bytes(Worker&, Warp&, int lane, std::int32_t pc, Mbarrier&, std::int64_t change);
// Lets the copies of an mbarrier arrive: bulk copies, and the cp.async of deferred arrivals.
bool deliver(Worker&, std::uint64_t address, Mbarrier&);
// A bulk copy to shared memory writes its bytes.
bool write_bulk(Worker&, const BulkCopy&);
