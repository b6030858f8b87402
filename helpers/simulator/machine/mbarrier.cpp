// mbarrier.cpp -- mbarrier objects: arrivals, bytes, phases, and the order that they make between
// threads
//
// AsyncBarriers has the content of an object. Its 8 bytes of shared memory have a mark; other
// stores to them destroy the mark, so that the machine sees them. mbarrier.arrive returns a state:
// the pending arrivals (20 bits), the number of the object (20 bits), and its phase.
#include <cstdio>
#include <cstring>

#include "async_parts.h"

namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

constexpr uint32_t most_arrivals = (1u << 20) - 1, most_bytes = (1u << 20) - 1;    // as PTX has it
constexpr uint32_t patience =
    1u << 16;    // waits in a row without progress; more are endless
constexpr uint32_t phase_bits = 23;

uint64_t mark_of(uint64_t address) { return 0x6D62617272696572ull ^ address << 20; }
uint32_t name_of(const Worker& w, uint64_t address) {
    return (static_cast<uint32_t>(address - window_of(w)) / 8 + 1) & 0xFFFFF;
}
uint64_t state_of(const Worker& w, uint64_t address, const Mbarrier& barrier) {
    return (uint64_t(barrier.phase) & ((1u << phase_bits) - 1)) << 40 |
           uint64_t(name_of(w, address)) << 20 | barrier.pending;
}

bool refuse(Worker& w, Warp& warp, int lane, int32_t pc, const char* text, Kind kind = FAULT) {
    w.fault(warp, lane, pc, kind, text);
    return false;
}

uint64_t barrier_address(const Worker& w, const Warp& warp, const Instruction& i, int k, int lane) {
    return address_at(w, warp, i, k, lane, i.space == SHARED_SPACE);
}

// Ends the phase if no arrival and no byte is missing.
void end_phase(Mbarrier& barrier) {
    if (barrier.pending != 0 || barrier.bytes != 0) return;
    barrier.phase += 1, barrier.pending = barrier.count, barrier.waiter = -1;
    ArrivalOrder::merge(barrier.visible, barrier.released);
}

// ---- init, inval ----

bool init(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = barrier_address(w, warp, i, 0, lane);
        const uint32_t count = warp.nth<uint32_t>(i, 1)[lane];
        const Region* region = memory.find(address);
        if (address % 8 != 0)
            return refuse(w, warp, lane, pc,
                          "makes an mbarrier at an address that is not a multiple of 8");
        if (region != nullptr && !region->is_shared())
            return refuse(w, warp, lane, pc, "makes an mbarrier outside shared memory");
        if (!observe_lane(w, warp, lane, pc, address, 8, STORE)) return false;
        if (count == 0 || count > most_arrivals)
            return refuse(w, warp, lane, pc, "makes an mbarrier of 0 arrivals, or of 2^20 or more");
        if (w.async.barriers.count(address))
            return refuse(w, warp, lane, pc,
                          "makes an mbarrier where one is already: mbarrier.inval comes first");
        Mbarrier& barrier = w.async.barriers[address];
        barrier.count = barrier.pending = count;
        barrier.made = {w.block_number, warp.clock[lane],
                        Toucher::pack(static_cast<uint32_t>(pc), warp.thread(lane)), STORE, 0};
        const uint64_t mark = mark_of(address);
        std::memcpy(reinterpret_cast<void*>(address), &mark, 8);
    }
    w.async.fruitless = 0;
    return true;
}

bool invalidate(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = barrier_address(w, warp, i, 0, lane);
        if (mbarrier_at(w, warp, lane, pc, address) == nullptr) return false;
        for (const BulkCopy& copy : w.async.bulk)
            if (copy.to_shared && copy.barrier == address)
                return refuse(w, warp, lane, pc,
                              "ends an mbarrier that a bulk copy on its way still needs",
                              LOST_MBARRIER);
        for (const DeferredArrival& one : w.async.deferred)
            if (one.barrier == address)
                return refuse(w, warp, lane, pc,
                              "ends an mbarrier at which a cp.async on its way still arrives",
                              LOST_MBARRIER);
        w.async.barriers.erase(address);
        w.async.former.push_back(address);
    }
    return true;
}

// ---- arrivals ----

// Counts `count` arrivals in this phase. drops: later phases need so many arrivals less.
bool arrive_at(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t address, Mbarrier& barrier,
               uint32_t count, bool drops) {
    if (count > barrier.pending && !deliver(w, address, barrier))
        return false;    // the phase may be about to end
    if (count > barrier.pending) {
        char text[128];
        std::snprintf(
            text, sizeof text,
            "arrives %u times at an mbarrier whose phase waits for %u more of its %u arrivals",
            count, barrier.pending, barrier.count);
        return refuse(w, warp, lane, pc, text);
    }
    barrier.pending -= count;
    if (drops) barrier.count -= std::min(count, barrier.count);
    end_phase(barrier);
    return true;
}

enum Form { PLAIN, NO_COMPLETE, EXPECT_TX };

// state, address [, count or bytes]
template <Form form, bool drops>
bool arrive(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    auto* states = i.operand[0] >= 0 ? warp.at<uint64_t>(i.operand[0]) : nullptr;
    const uint32_t* numbers =
        i.count > 2 && i.operand[2] >= 0 ? warp.at<uint32_t>(i.operand[2]) : nullptr;
    w.async.fruitless = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = barrier_address(w, warp, i, 1, lane);
        const uint32_t count = form != EXPECT_TX && numbers != nullptr ? numbers[lane] : 1;
        Mbarrier* barrier = mbarrier_at(w, warp, lane, pc, address);
        if (barrier == nullptr) return false;
        const uint64_t state = state_of(w, address, *barrier);
        if (count == 0 || count > most_arrivals)
            return refuse(w, warp, lane, pc,
                          "arrives 0 times, or 2^20 times or more, at an mbarrier");
        if (form == NO_COMPLETE && count >= barrier->pending)
            return refuse(
                w, warp, lane, pc,
                "ends the phase of an mbarrier by an arrival that says it does not (.noComplete)");
        if (form == EXPECT_TX && !count_bytes(w, warp, lane, pc, *barrier, numbers[lane]))
            return false;
        if ((w.observe & RACES) && !(i.flags & RELAXED)) {
            warp.clock.set(lane, ++w.now);
            w.async.order.release(barrier->released, warp.thread(lane), w.now, warp.after[lane]);
        }
        if (!arrive_at(w, warp, lane, pc, address, *barrier, count, drops)) return false;
        if (states != nullptr) states[lane] = state;
    }
    return true;
}

// address, bytes
template <int sign>
bool transaction(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    w.async.fruitless = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        Mbarrier* barrier = mbarrier_at(w, warp, lane, pc, barrier_address(w, warp, i, 0, lane));
        const int64_t bytes = warp.nth<uint32_t>(i, 1)[lane];
        if (barrier == nullptr || !count_bytes(w, warp, lane, pc, *barrier, sign * bytes))
            return false;
        if (sign < 0) end_phase(*barrier);
    }
    return true;
}

// The thread arrives when the copies that it has started by cp.async are complete. Without .noinc
// the phase needs one more arrival.
template <bool counted>
bool arrive_later(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    w.async.fruitless = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = barrier_address(w, warp, i, 0, lane);
        Mbarrier* barrier = mbarrier_at(w, warp, lane, pc, address);
        if (barrier == nullptr) return false;
        if (!counted && barrier->pending == most_arrivals)
            return refuse(w, warp, lane, pc, "makes an mbarrier wait for 2^20 arrivals or more");
        if (!counted) barrier->pending += 1;
        DeferredArrival one;
        one.barrier = address, one.thread = warp.thread(lane), one.number = w.async.copies,
        one.pc = pc;
        w.async.deferred.push_back(one);
    }
    return true;
}

// ---- waits ----

// Threads wait for each other at several mbarriers. One that asks for more arrivals than the block
// has threads keeps up the others. Of several, it is the one at the lowest address.
const Mbarrier& cause_of_endless_wait(const Worker& w, const Mbarrier& here) {
    const Dim& block = w.launch.block;
    const uint32_t threads = block.x * block.y * block.z;
    const Mbarrier* found = &here;
    uint64_t lowest = UINT64_MAX;
    for (const auto& [address, other] : w.async.barriers)
        if (other.waiter >= 0 && other.count > threads && address < lowest)
            found = &other, lowest = address;
    return *found;
}

void report_endless_wait(Worker& w, const Mbarrier& here) {
    const Mbarrier& barrier = cause_of_endless_wait(w, here);
    Warp& warp = w.warps[static_cast<std::size_t>(barrier.waiter) / WARP_SIZE];
    const int lane = static_cast<int>(barrier.waiter % WARP_SIZE);
    const int32_t pc = barrier.waits_at;
    char text[128];
    const uint32_t come = barrier.count - barrier.pending;
    if (barrier.bytes == 0)
        std::snprintf(text, sizeof text,
                      "waits without end at an mbarrier for %u arrival%s, of which %u %s come",
                      barrier.count, barrier.count == 1 ? "" : "s", come, come == 1 ? "has" : "have");
    else
        std::snprintf(
            text, sizeof text,
            "waits without end at an mbarrier: %u of %u arrivals and %lld bytes are missing",
            barrier.pending, barrier.count, static_cast<long long>(barrier.bytes));
    w.fault(warp, lane, pc, ENDLESS_MBARRIER, text);
}

// result, address, state or parity [, the longest time to wait]
template <bool by_parity>
bool wait(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    uint32_t ended = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = barrier_address(w, warp, i, 1, lane);
        Mbarrier* barrier = mbarrier_at(w, warp, lane, pc, address);
        if (barrier == nullptr) return false;
        auto is_over = [&] {
            if (by_parity) return (barrier->phase & 1) != (warp.nth<uint32_t>(i, 2)[lane] & 1);
            return (uint64_t(barrier->phase) & ((1u << phase_bits) - 1)) !=
                   warp.nth<uint64_t>(i, 2)[lane] >> 40;
        };
        if (!by_parity && (warp.nth<uint64_t>(i, 2)[lane] >> 20 & 0xFFFFF) != name_of(w, address))
            return refuse(w, warp, lane, pc,
                          "waits at an mbarrier with the state of another one, or of none");
        if (!is_over() && !deliver(w, address, *barrier)) return false;
        if (is_over()) {
            ended |= 1u << lane;
            if ((w.observe & RACES) && !(i.flags & RELAXED))
                w.async.order.acquire(barrier->visible, warp.thread(lane), w.now);
        } else {
            barrier->waiter = warp.thread(lane), barrier->waits_at = pc;
            if (++w.async.fruitless > patience) return report_endless_wait(w, *barrier), false;
        }
    }
    uint32_t& result = warp.predicate(i.operand[0]);
    result = (result & ~lanes) | ended;
    if (ended != 0) w.async.fruitless = 0;
    if (ended != lanes) warp.yielding = true;
    return true;
}

bool pending_count(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes) {
    const auto* states = warp.at<uint64_t>(i.operand[1]);
    auto* counts = warp.at<uint32_t>(i.operand[0]);
    for_lanes(lanes, [&](int lane) { counts[lane] = states[lane] & 0xFFFFF; });
    return true;
}

// From now on the copy engine sees the mbarriers that these threads have made.
bool fence_init(Worker& w, Warp& warp, const Instruction&, int32_t, uint32_t lanes) {
    ++w.now;
    for_lanes(lanes, [&](int lane) {
        warp.clock.set(lane, w.now);
        ArrivalOrder::raise(w.async.init_fences, warp.thread(lane), w.now);
    });
    return true;
}

}    // namespace

Mbarrier* mbarrier_at(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t address) {
    auto found = w.async.barriers.find(address);
    if (found == w.async.barriers.end()) {
        const auto& former = w.async.former;
        const bool ended = std::find(former.begin(), former.end(), address) != former.end();
        const char* text = ended ? "uses an mbarrier after mbarrier.inval"
                                 : "uses an mbarrier that no mbarrier.init has made";
        refuse(w, warp, lane, pc, text);
        return nullptr;
    }
    if (!observe_lane(w, warp, lane, pc, address, 8, ATOMIC)) return nullptr;
    uint64_t mark;
    std::memcpy(&mark, reinterpret_cast<const void*>(address), 8);
    if (mark != mark_of(address)) {
        refuse(w, warp, lane, pc, "uses an mbarrier whose bytes other stores have overwritten");
        return nullptr;
    }
    return &found->second;
}

bool count_bytes(Worker& w, Warp& warp, int lane, int32_t pc, Mbarrier& barrier, int64_t change) {
    barrier.bytes += change;
    if (std::abs(barrier.bytes) <= most_bytes) return true;
    return refuse(w, warp, lane, pc, "makes an mbarrier count 2^20 bytes or more at a time");
}

bool deliver(Worker& w, uint64_t address, Mbarrier& barrier) {
    auto& bulk = w.async.bulk;
    const uint32_t
        written = ++w.now,
        seen = ++w.now;    // the clock of the writes, and the one from which on they are done
    auto copied = [&](uint32_t thread) {    // to the observers they are writes of the thread that
                                            // has sent them off
        Warp& warp = w.warps[thread / WARP_SIZE];
        warp.clock.set(thread % WARP_SIZE, seen);
        ArrivalOrder::raise(barrier.released, thread, seen);
    };
    for (std::size_t k = 0; k < bulk.size();) {
        if (!bulk[k].to_shared || bulk[k].barrier != address) {
            ++k;
            continue;
        }
        const BulkCopy copy = std::move(bulk[k]);
        bulk.erase(bulk.begin() + static_cast<std::ptrdiff_t>(k));
        Warp& warp = w.warps[copy.thread / WARP_SIZE];
        const int lane = static_cast<int>(copy.thread % WARP_SIZE);
        warp.clock.set(lane, written);
        if (!write_bulk(w, copy)) return false;
        copied(copy.thread);
        if (!count_bytes(w, warp, lane, copy.pc, barrier, -int64_t(copy.size))) return false;
        w.async.fruitless = 0;
        if (w.async.engine_clocks.empty() || w.async.engine_clocks.back() != written)
            w.async.engine_clocks.push_back(written);
    }
    auto& deferred = w.async.deferred;
    std::vector<DeferredArrival> due;
    for (const DeferredArrival& one : deferred)
        if (one.barrier == address) due.push_back(one);
    if (!due.empty())
        deferred.erase(std::remove_if(deferred.begin(), deferred.end(),
                                      [&](const auto& one) { return one.barrier == address; }),
                       deferred.end());
    end_phase(barrier);
    for (const DeferredArrival& one : due) {
        Warp& warp = w.warps[one.thread / WARP_SIZE];
        const int lane = static_cast<int>(one.thread % WARP_SIZE);
        warp.clock.set(lane, written);
        const bool good = let_arrive(w, warp, [&](const AsyncCopy& copy) {
            return copy.lane == lane && copy.number < one.number;
        });
        if (!good) return false;
        copied(one.thread);
        w.async.fruitless = 0;
        if (barrier.pending == 0)
            return refuse(w, warp, lane, one.pc,
                          "arrives by cp.async at an mbarrier that waits for no arrival");
        barrier.pending -= 1;
        end_phase(barrier);
    }
    return true;
}

const bool registered = [] {
    static const std::pair<const char*, MachineOperation> verbs[] = {
        {"init", init},
        {"inval", invalidate},
        {"arrive", arrive<PLAIN, false>},
        {"arrive.noComplete", arrive<NO_COMPLETE, false>},
        {"arrive.expect_tx", arrive<EXPECT_TX, false>},
        {"arrive_drop", arrive<PLAIN, true>},
        {"arrive_drop.noComplete", arrive<NO_COMPLETE, true>},
        {"arrive_drop.expect_tx", arrive<EXPECT_TX, true>},
        {"expect_tx", transaction<1>},
        {"complete_tx", transaction<-1>},
        {"test_wait", wait<false>},
        {"test_wait.parity", wait<true>},
        {"try_wait", wait<false>},
        {"try_wait.parity", wait<true>},
    };
    for (const char* space : {"", ".shared", ".cluster"}) {
        for (const auto& [verb, run] : verbs)
            add_operation({"mbarrier.", verb, space, ".b64"}, run, READS);
        add_operation({"cp.async.mbarrier.arrive", space, ".b64"}, arrive_later<false>, WRITES);
        add_operation({"cp.async.mbarrier.arrive.noinc", space, ".b64"}, arrive_later<true>,
                      WRITES);
    }
    add_operation("mbarrier.pending_count.b64", pending_count, READS);
    add_operation("fence.mbarrier_init", fence_init, WRITES);
    return true;
}();
