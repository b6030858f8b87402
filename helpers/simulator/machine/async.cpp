// async.cpp -- cp.async, and accesses to shared memory while copies are pending
//
// A copy reads its source at once. This is one request to global memory; the hardware counts none
// to shared memory. The observers see two writes to the target. The first comes when the copy
// starts, because it may overwrite bytes that other threads still read. The second comes when the
// bytes have arrived, because other threads may read them only then, behind a barrier.
#include <cstring>

#include "async_parts.h"

namespace {

using std::int32_t;
using std::uint32_t;
using std::uint64_t;

// ---- cp.async: target, source, bytes written [, bytes read: the rest is zero] ----

bool copy(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    const uint32_t size = warp.at<uint32_t>(i.operand[2])[__builtin_ctz(lanes)];
    const uint32_t* given =
        i.count > 3 && i.operand[3] >= 0 ? warp.at<uint32_t>(i.operand[3]) : nullptr;
    uint64_t targets[WARP_SIZE] = {}, sources[WARP_SIZE] = {};
    for_lanes(lanes, [&](int lane) {
        targets[lane] = address_at(w, warp, i, 0, lane, true);
        sources[lane] = address_at(w, warp, i, 1, lane, false);
    });
    for (uint32_t left = lanes; left != 0;) {    // lanes with equal sizes; nearly always all
        const int lead = __builtin_ctz(left);
        const uint32_t read = given != nullptr ? given[lead] : size;
        uint32_t alike = given != nullptr ? 0 : left;
        if (given != nullptr)
            for_lanes(left, [&](int lane) {
                alike |= static_cast<uint32_t>(given[lane] == read) << lane;
            });
        left &= ~alike;
        if (read > size)
            return w.fault(warp, lead, pc, FAULT, "reads more bytes by cp.async than it copies"),
                   false;
        if (read != 0 && read != size)
            for (uint32_t rest = alike; rest != 0; rest &= rest - 1) {
                const int lane = __builtin_ctz(rest);
                if (sources[lane] % size == 0) continue;
                return w.fault(warp, lane, pc, FAULT,
                               "copies by cp.async from an address that is not aligned"),
                       false;
            }
        const bool past_l1 = i.flags & NON_COHERENT;
        if (read != 0 && !observe_access(w, warp, pc, alike, sources, read, LOAD, read == size,
                                         UINT32_MAX, 0, !past_l1))
            return false;
        if (read != 0 && past_l1 && (w.observe & TRAFFIC)) {
            Region* from = memory.find(sources[__builtin_ctz(alike)]);
            w.traffic.copied(
                {sources, alike, static_cast<uint32_t>(pc), read, read, LOAD, from, nullptr},
                targets, w.traffic.watches(w.block_linear, warp.number, w.async.in_flight));
        }
    }
    if (!observe_access(w, warp, pc, lanes, targets, size, STORE, true, UINT32_MAX, 0, false))
        return false;
    for_lanes(lanes, [&](int lane) {
        AsyncCopy one;
        one.target = targets[lane], one.size = size, one.pc = pc,
        one.lane = static_cast<std::uint8_t>(lane);
        one.group = warp.copies.group[lane], one.number = w.async.copies, one.turn = w.turn;
        const uint32_t read = given != nullptr ? given[lane] : size;
        if (read != 0)
            std::memcpy(one.bytes.data(), reinterpret_cast<const void*>(sources[lane]), read);
        warp.copies.pending.push_back(one);
        w.async.words.add(one.target - window_of(w), size, true, 1);
    });
    w.async.copies += 1;
    w.async.in_flight += static_cast<std::size_t>(__builtin_popcount(lanes));
    return true;
}

bool commit_group(Worker&, Warp& warp, const Instruction&, int32_t, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) { warp.copies.group[lane] += 1; });
    return true;
}
// Waits until at most `immediate` groups, those that the thread committed last, are pending.
bool wait_group(Worker& w, Warp& warp, const Instruction& i, int32_t, uint32_t lanes) {
    const auto allowed = static_cast<uint32_t>(i.immediate);
    return let_arrive(w, warp, [&](const AsyncCopy& one) {
        return (lanes >> one.lane & 1) &&
               one.group + uint64_t(allowed) < warp.copies.group[one.lane];
    });
}
bool wait_all(Worker& w, Warp& warp, const Instruction&, int32_t, uint32_t lanes) {
    return let_arrive(w, warp, [&](const AsyncCopy& one) { return (lanes >> one.lane & 1) != 0; });
}

// Reports an access to bytes that a pending copy writes or, if not `written`, still reads. ordered:
// a barrier is between the two, or they are of one thread.
bool report_copy(Worker& w, Warp& warp, int lane, int32_t pc, Access access, uint64_t address,
                 uint32_t size, int32_t copy, uint32_t thread, bool written, bool ordered = true) {
    const Region* region = memory.find(address);
    Finding finding;
    finding.kind = ASYNC_READ, finding.size = size;
    if (region != nullptr)
        finding.region = region->id,
        finding.offset = static_cast<std::int64_t>(address - region->start);
    finding.here = w.place(warp, lane, pc, access);
    finding.other = w.place(w.warps[thread / WARP_SIZE], static_cast<int>(thread % WARP_SIZE), copy,
                            written ? STORE : LOAD);
    if (!ordered) std::strcpy(finding.text, "no barrier");
    w.findings.add(finding);
    return true;
}

const bool registered = [] {
    add_operation("cp.async.shared.global", copy, READS);
    add_operation("cp.async.commit_group", commit_group, READS);
    add_operation("cp.async.wait_group", wait_group, READS);
    add_operation("cp.async.wait_all", wait_all, READS);
    return true;
}();

}    // namespace

bool observe_lane(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t address, uint32_t size,
                  Access access) {
    uint64_t addresses[WARP_SIZE];
    addresses[lane] = address;
    return observe_access(w, warp, pc, 1u << lane, addresses, size, access, false, UINT32_MAX, 0,
                          false);
}

bool write_arrived(Worker& w, Warp& warp, const std::vector<AsyncCopy>& arrived) {
    w.async.in_flight -= arrived.size();
    for (const AsyncCopy& one : arrived) {
        w.async.words.add(one.target - window_of(w), one.size, true, -1);
        std::memcpy(reinterpret_cast<void*>(one.target), one.bytes.data(), one.size);
    }
    uint64_t addresses[WARP_SIZE];
    for (std::size_t k = 0;
         k < arrived.size();) {    // the copies of one instruction are one access
        const AsyncCopy& first = arrived[k];
        uint32_t lanes = 0;
        for (; k < arrived.size(); ++k) {
            const AsyncCopy& one = arrived[k];
            if (one.pc != first.pc || one.size != first.size || (lanes >> one.lane & 1)) break;
            lanes |= 1u << one.lane, addresses[one.lane] = one.target;
        }
        if (!observe_access(w, warp, first.pc, lanes, addresses, first.size, STORE, true,
                            UINT32_MAX, 0, false))
            return false;
    }
    return true;
}

bool watch_copies_in_flight(Worker& w, Warp& warp, uint32_t lanes, const uint64_t* addresses,
                            uint32_t size, int32_t pc, Access access) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = addresses[lane];
        if (!w.async.words.meets(address - window_of(w), size, access != LOAD)) continue;
        auto overlaps = [&](uint64_t start, uint32_t bytes) {
            return address < start + bytes && start < address + size;
        };
        for (const Warp& other : w.warps)
            for (const AsyncCopy& one : other.copies.pending)
                if (overlaps(one.target, one.size)) {
                    const uint32_t thread = other.thread(one.lane);
                    const bool ordered = one.turn != w.turn || thread == warp.thread(lane);
                    return report_copy(w, warp, lane, pc, access, address, size, one.pc, thread,
                                       true, ordered);
                }
        for (const BulkCopy& one : w.async.bulk) {
            if (one.to_shared && overlaps(one.target, one.size))
                return report_copy(w, warp, lane, pc, access, address, size, one.pc, one.thread,
                                   true);
            if (!one.to_shared && access != LOAD && overlaps(one.source, one.size))
                return report_copy(w, warp, lane, pc, access, address, size, one.pc, one.thread,
                                   false);
        }
    }
    return false;
}
