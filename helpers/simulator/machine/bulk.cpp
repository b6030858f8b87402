// bulk.cpp -- copies by the copy engine: cp.async.bulk, cp.reduce.async.bulk, and the fence before
// them
//
// The load-store unit makes no requests for them. The bytes of a copy to shared memory arrive when
// a thread waits at its mbarrier. A copy to global memory moves its bytes at once, because no
// thread may read them before it has waited for the group. Until then the observers watch its
// source.
#include <cstdio>
#include <cstring>

#include "access.h"
#include "async_parts.h"
#include "narrow.h"

namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

// ---- reductions ----

// Combines the elements at `to` with those at `with`, in `bytes` bytes.
using Reduction = void (*)(void* to, const void* with, uint32_t bytes);

template <class T, class F> void each_element(void* to, const void* with, uint32_t bytes, F f) {
    for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
        T a, b;
        std::memcpy(&a, static_cast<char*>(to) + at, sizeof(T));
        std::memcpy(&b, static_cast<const char*>(with) + at, sizeof(T));
        a = f(a, b);
        std::memcpy(static_cast<char*>(to) + at, &a, sizeof(T));
    }
}
enum Operator { ADD, LEAST, MOST, INCREMENT, DECREMENT, BITS_AND, BITS_OR, BITS_XOR };

template <class T, Operator kind> void reduce(void* to, const void* with, uint32_t bytes) {
    each_element<T>(to, with, bytes, [](T a, T b) -> T {
        switch (kind) {
            case ADD: return static_cast<T>(a + b);
            case LEAST: return b < a ? b : a;
            case MOST: return b > a ? b : a;
            default: break;
        }
        if constexpr (std::is_integral_v<T>) {
            switch (kind) {
                case INCREMENT: return a >= b ? 0 : a + 1;
                case DECREMENT: return a == 0 || a > b ? b : a - 1;
                case BITS_AND: return a & b;
                case BITS_OR: return a | b;
                case BITS_XOR: return a ^ b;
                default: break;
            }
        }
        return a;
    });
}
template <bool brain, Operator kind>
void reduce_halves(void* to, const void* with, uint32_t bytes) {
    each_element<std::uint16_t>(to, with, bytes,
                                [](std::uint16_t a, std::uint16_t b) -> std::uint16_t {
                                    const float x = brain ? float_of_brain(a) : float_of_half(a),
                                                y = brain ? float_of_brain(b) : float_of_half(b);
                                    if (kind == LEAST) return y < x ? b : a;
                                    if (kind == MOST) return y > x ? b : a;
                                    return brain ? brain_of_float(x + y) : half_of_float(x + y);
                                });
}
struct NamedReduction {
    const char* name;
    Reduction run;
};
const NamedReduction reductions[] = {
    {"add.u32", reduce<uint32_t, ADD>},       {"add.s32", reduce<uint32_t, ADD>},
    {"add.u64", reduce<uint64_t, ADD>},       {"add.s64", reduce<uint64_t, ADD>},
    {"add.f32", reduce<float, ADD>},          {"add.f64", reduce<double, ADD>},
    {"add.f16", reduce_halves<false, ADD>},   {"add.bf16", reduce_halves<true, ADD>},
    {"min.u32", reduce<uint32_t, LEAST>},     {"min.s32", reduce<int32_t, LEAST>},
    {"min.u64", reduce<uint64_t, LEAST>},     {"min.s64", reduce<int64_t, LEAST>},
    {"min.f16", reduce_halves<false, LEAST>}, {"min.bf16", reduce_halves<true, LEAST>},
    {"max.u32", reduce<uint32_t, MOST>},      {"max.s32", reduce<int32_t, MOST>},
    {"max.u64", reduce<uint64_t, MOST>},      {"max.s64", reduce<int64_t, MOST>},
    {"max.f16", reduce_halves<false, MOST>},  {"max.bf16", reduce_halves<true, MOST>},
    {"inc.u32", reduce<uint32_t, INCREMENT>}, {"dec.u32", reduce<uint32_t, DECREMENT>},
    {"and.b32", reduce<uint32_t, BITS_AND>},  {"or.b32", reduce<uint32_t, BITS_OR>},
    {"xor.b32", reduce<uint32_t, BITS_XOR>},  {"and.b64", reduce<uint64_t, BITS_AND>},
    {"or.b64", reduce<uint64_t, BITS_OR>},    {"xor.b64", reduce<uint64_t, BITS_XOR>},
};
constexpr int reduction_count = static_cast<int>(std::size(reductions));

// ---- requirements of a bulk copy ----

bool refuse(Worker& w, Warp& warp, int lane, int32_t pc, const char* format, uint64_t value) {
    char text[128];
    std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
    w.fault(warp, lane, pc, FAULT, text);
    return false;
}
// Whether the addresses and the size of a copy are multiples of 16; if not, the launch ends.
bool fits(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t target, uint64_t source,
          uint32_t size) {
    auto tell = [&](const char* format, uint64_t value) {
        return refuse(w, warp, lane, pc, format, value);
    };
    if (size % 16 != 0)
        return tell("starts a bulk copy of %llu bytes: it takes multiples of 16", size);
    if (source % 16 != 0)
        return tell("starts a bulk copy from an address %llu bytes behind a multiple of 16",
                    source % 16);
    if (target % 16 != 0)
        return tell("starts a bulk copy to an address %llu bytes behind a multiple of 16",
                    target % 16);
    return true;
}

uint32_t clock_of(const ThreadClocks& clocks, uint32_t thread) {
    return thread < clocks.size() ? clocks[thread] : 0;
}

// Whether a fence.proxy.async came between an ordinary store and the bulk copy of a lane. Three
// threads may execute it: the one that stored, any thread behind a barrier, or the copy's own
// thread, if something orders it after the store.
bool is_fenced(const Worker& w, const Warp& warp, const Earlier& store, const Toucher& me) {
    const AsyncBarriers& async = w.async;
    const uint32_t thread = Toucher::thread_of(store.who), when = store.when;
    if (std::binary_search(async.engine_clocks.begin(), async.engine_clocks.end(), when))
        return true;    // a bulk copy's own write
    if (when < async.fenced_turn) return true;
    auto fence = [&](uint32_t of) { return clock_of(async.proxy_fences, of); };
    if (when < fence(thread)) return true;
    const LaneClocks& after = warp.after[me.thread() % WARP_SIZE];
    const bool by_warp =
        thread / WARP_SIZE == me.thread() / WARP_SIZE && when < after[thread % WARP_SIZE];
    return when < fence(me.thread()) &&
           (by_warp || async.order.covers(store, me, after));
}

// Reports an ordinary store, or an mbarrier.init, that the copy engine may not see.
void report_proxy(Worker& w, Warp& warp, int lane, int32_t pc, const Region& region,
                  uint64_t offset, uint32_t size, Access access, const Earlier& store,
                  const char* what) {
    Finding finding;
    finding.kind = ASYNC_PROXY, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<int64_t>(offset);
    finding.here = w.place(warp, lane, pc, access);
    const uint32_t thread = Toucher::thread_of(store.who);
    finding.other = w.place(w.warps[thread / WARP_SIZE], static_cast<int>(thread % WARP_SIZE),
                            static_cast<int32_t>(Toucher::pc_of(store.who)), STORE);
    std::strncpy(finding.text, what, sizeof finding.text - 1);
    w.findings.add(finding);
}

// Looks for ordinary stores to shared memory without a fence: the copy engine may not see them.
void watch_proxy(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t address, uint32_t size,
                 Access access) {
    Region* region = memory.find(address);
    if (!(w.observe & RACES) || region == nullptr) return;
    enter_pending(w, *region);
    if (region->races.cells == nullptr) return;
    const Toucher32 me(w, warp, lane, pc);
    const uint64_t offset = address - region->start;
    for (uint64_t at = offset >> region->grain; at < (offset + size) >> region->grain; ++at) {
        const RaceCell& cell = *region->cells_at(at << region->grain, 1);
        if (cell.write_block != w.block_number) continue;
        const Earlier store = Races::last_write(cell);
        if (is_fenced(w, warp, store, me)) continue;
        return report_proxy(w, warp, lane, pc, *region, at << region->grain, size, access, store,
                            "");
    }
}

// Looks for the fence after the mbarrier.init of the mbarrier that the copy engine will signal.
void watch_init(Worker& w, Warp& warp, int lane, int32_t pc, uint64_t address,
                const Mbarrier& barrier) {
    const Region* region = memory.find(address);
    if (!(w.observe & RACES) || region == nullptr) return;
    const Toucher32 me(w, warp, lane, pc);
    const uint32_t maker = Toucher::thread_of(barrier.made.who);
    if (barrier.made.when < clock_of(w.async.init_fences, maker)) return;
    if (!is_fenced(w, warp, barrier.made, me))
        report_proxy(w, warp, lane, pc, *region, address - region->start, 8, ATOMIC, barrier.made,
                     "mbarrier");
}

// ---- copies ----

// The array of global memory at an address, if traffic is observed; else null.
Region* counted_at(const Worker& w, uint64_t address) {
    Region* region = w.observe & TRAFFIC ? memory.find(address) : nullptr;
    return region != nullptr && Traffic::kind_of(region->space) == GLOBAL ? region : nullptr;
}
void count_in(Worker& w, int32_t pc, uint64_t address, uint32_t size) {
    if (Region* region = counted_at(w, address))
        w.traffic.copied_in(static_cast<uint32_t>(pc), *region, address, size);
}
// A copy out is no request, but it reads or writes sectors of DRAM.
void count_out(Worker& w, uint64_t address, uint32_t size, bool reads) {
    const Region* region = counted_at(w, address);
    if (region == nullptr) return;
    if (reads) w.traffic.touched.add(*region, address, size, false);
    w.traffic.touched.add(*region, address, size, true);
    w.traffic.shares.copy_out(region->id, size);
}
// Notes a copy as pending; end_copy takes it out of the words in flight.
void start_copy(Worker& w, BulkCopy&& copy) {
    const uint64_t start = copy.to_shared ? copy.target : copy.source;
    w.async.words.add(start - window_of(w), copy.size, copy.to_shared, 1);
    w.async.in_flight += 1;
    w.async.bulk.push_back(std::move(copy));
}
void end_copy(Worker& w, const BulkCopy& copy) {
    const uint64_t start = copy.to_shared ? copy.target : copy.source;
    w.async.words.add(start - window_of(w), copy.size, copy.to_shared, -1);
    w.async.in_flight -= 1;
}

// To shared memory: target, source, bytes, mbarrier.
template <bool from_shared, int reduction>
bool copy_in(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    w.async.fruitless = 0;
    if (!from_shared && (w.observe & TRAFFIC)) w.traffic.shares.load(warp.number);
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        BulkCopy copy;
        copy.target = address_at(w, warp, i, 0, lane, true),
        copy.source = address_at(w, warp, i, 1, lane, from_shared);
        copy.size = warp.nth<uint32_t>(i, 2)[lane],
        copy.barrier = address_at(w, warp, i, 3, lane, true);
        copy.thread = warp.thread(lane), copy.pc = pc, copy.to_shared = true,
        copy.reduction = reduction;
        if (!fits(w, warp, lane, pc, copy.target, copy.source, copy.size)) return false;
        const Mbarrier* barrier = mbarrier_at(w, warp, lane, pc, copy.barrier);
        if (barrier == nullptr) return false;
        watch_init(w, warp, lane, pc, copy.barrier, *barrier);
        if (copy.size == 0) continue;
        if (!observe_lane(w, warp, lane, pc, copy.source, copy.size, LOAD)) return false;
        if (from_shared) watch_proxy(w, warp, lane, pc, copy.source, copy.size, LOAD);
        else count_in(w, pc, copy.source, copy.size);
        watch_proxy(w, warp, lane, pc, copy.target, copy.size, STORE);
        if (!observe_lane(w, warp, lane, pc, copy.target, copy.size,
                          reduction < 0 ? STORE : ATOMIC))
            return false;
        const auto* from = reinterpret_cast<const unsigned char*>(copy.source);
        copy.bytes.assign(from, from + copy.size);
        start_copy(w, std::move(copy));
    }
    return true;
}

// From shared memory to global memory: target, source, bytes.
template <int reduction>
bool copy_out(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        BulkCopy copy;
        copy.target = address_at(w, warp, i, 0, lane, false),
        copy.source = address_at(w, warp, i, 1, lane, true);
        copy.size = warp.nth<uint32_t>(i, 2)[lane], copy.thread = warp.thread(lane), copy.pc = pc;
        copy.group = warp.copies.bulk_group[lane];
        if (!fits(w, warp, lane, pc, copy.target, copy.source, copy.size)) return false;
        if (copy.size == 0) continue;
        if (!observe_lane(w, warp, lane, pc, copy.source, copy.size, LOAD)) return false;
        watch_proxy(w, warp, lane, pc, copy.source, copy.size, LOAD);
        if (!observe_lane(w, warp, lane, pc, copy.target, copy.size,
                          reduction < 0 ? STORE : ATOMIC))
            return false;
        count_out(w, copy.target, copy.size, reduction >= 0);
        auto* to = reinterpret_cast<void*>(copy.target);
        const auto* from = reinterpret_cast<const void*>(copy.source);
        if constexpr (reduction < 0) std::memcpy(to, from, copy.size);
        else reductions[reduction].run(to, from, copy.size);
        start_copy(w, std::move(copy));
    }
    return true;
}

bool commit_group(Worker&, Warp& warp, const Instruction&, int32_t, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) { warp.copies.bulk_group[lane] += 1; });
    return true;
}
// Waits until at most `immediate` groups, those that the thread committed last, read their sources.
// (Their targets have the bytes already.)
bool wait_group(Worker& w, Warp& warp, const Instruction& i, int32_t, uint32_t lanes) {
    auto& bulk = w.async.bulk;
    const auto allowed = static_cast<uint64_t>(i.immediate);
    for (std::size_t k = 0; k < bulk.size();) {
        const BulkCopy& copy = bulk[k];
        const uint32_t lane = copy.thread % WARP_SIZE;
        const bool mine =
            !copy.to_shared && copy.thread / WARP_SIZE == warp.number && (lanes >> lane & 1);
        if (!mine || copy.group + allowed >= warp.copies.bulk_group[lane]) {
            ++k;
            continue;
        }
        end_copy(w, copy);
        bulk.erase(bulk.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return true;
}

// From now on the copy engine sees all earlier stores of these threads.
bool fence_proxy(Worker& w, Warp& warp, const Instruction& i, int32_t, uint32_t lanes) {
    if (i.space == GLOBAL_SPACE) return true;    // the machine watches only stores to shared memory
    ++w.now;
    for_lanes(lanes, [&](int lane) {
        warp.clock.set(lane, w.now);
        ArrivalOrder::raise(w.async.proxy_fences, warp.thread(lane), w.now);
    });
    w.async.fenced_turn = w.turn;
    return true;
}
bool nothing(Worker&, Warp&, const Instruction&, int32_t, uint32_t) { return true; }

template <int... k> void add_reductions(std::integer_sequence<int, k...>) {
    const MachineOperation out[] = {copy_out<k>...}, in[] = {copy_in<true, k>...};
    const std::string bulk = "cp.reduce.async.bulk.";
    for (int one = 0; one < reduction_count; ++one) {
        add_operation(bulk + "global.shared.bulk_group." + reductions[one].name, out[one], WRITES);
        add_operation(bulk + "cluster.shared.mbarrier::complete_tx::bytes." + reductions[one].name,
                      in[one], WRITES);
    }
}

const bool registered = [] {
    for (const char* space : {"cluster", "shared"}) {
        add_operation({"cp.async.bulk.", space, ".global.mbarrier::complete_tx::bytes"},
                      copy_in<false, -1>, WRITES);
        add_operation({"cp.async.bulk.", space, ".shared.mbarrier::complete_tx::bytes"},
                      copy_in<true, -1>, WRITES);
    }
    add_operation("cp.async.bulk.global.shared.bulk_group", copy_out<-1>, WRITES);
    add_operation("cp.async.bulk.commit_group", commit_group, WRITES);
    add_operation("cp.async.bulk.wait_group", wait_group, WRITES);
    add_operation("cp.async.bulk.wait_group.read", wait_group, WRITES);
    add_operation("cp.async.bulk.prefetch.L2.global", nothing, WRITES);
    add_operation("fence.proxy.async", fence_proxy, WRITES);
    add_reductions(std::make_integer_sequence<int, reduction_count>());
    return true;
}();

}    // namespace

bool write_bulk(Worker& w, const BulkCopy& copy) {
    end_copy(w, copy);
    auto* to = reinterpret_cast<void*>(copy.target);
    if (copy.reduction < 0) std::memcpy(to, copy.bytes.data(), copy.size);
    else reductions[copy.reduction].run(to, copy.bytes.data(), copy.size);
    Warp& warp = w.warps[copy.thread / WARP_SIZE];
    const int lane = static_cast<int>(copy.thread % WARP_SIZE);
    return observe_lane(w, warp, lane, copy.pc, copy.target, copy.size,
                        copy.reduction < 0 ? STORE : ATOMIC);
}

void watch_end_of_block(Worker& w) {
    for (const BulkCopy& copy : w.async.bulk) {
        Warp& warp = w.warps[copy.thread / WARP_SIZE];
        Finding finding;
        finding.kind = ASYNC_READ, finding.size = copy.size;
        const uint64_t address = copy.to_shared ? copy.target : copy.source;
        if (const Region* region = memory.find(address))
            finding.region = region->id,
            finding.offset = static_cast<int64_t>(address - region->start);
        const int lane = static_cast<int>(copy.thread % WARP_SIZE);
        finding.here = w.place(warp, lane, copy.pc, copy.to_shared ? STORE : LOAD);
        std::strncpy(finding.text, "the block ends while the copy is on its way",
                     sizeof finding.text - 1);
        w.findings.add(finding);
    }
}
