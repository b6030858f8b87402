// blocks.cpp -- a block from its start to its end
#include <algorithm>
#include <cstring>

#include "paths.h"
#include "schedule.h"
#include "stillness.h"

namespace {

void fill_block_statics(Worker& w, Warp& warp) {
    const Program& program = w.launch.program;
    for (std::uint32_t k = 0; k < program.static_count; ++k) {
        const Static& one = program.statics[k];
        std::uint32_t value = 0;
        switch (one.kind) {
            case CTAID_X: value = w.block_index.x; break;
            case CTAID_Y: value = w.block_index.y; break;
            case CTAID_Z: value = w.block_index.z; break;
            default: continue;
        }
        std::fill_n(warp.at<std::uint32_t>(static_cast<std::int32_t>(one.slot) + 1), WARP_SIZE,
                    value);
    }
}

std::uint32_t special_value(const Worker& w, const Warp& warp, std::uint16_t kind, int lane) {
    const Dim &block = w.launch.block, &grid = w.launch.grid;
    const std::uint32_t thread = warp.thread(lane), bit = 1u << lane;
    switch (kind) {
        case TID_X: return thread % block.x;
        case TID_Y: return thread / block.x % block.y;
        case TID_Z: return thread / block.x / block.y;
        case NTID_X: return block.x;
        case NTID_Y: return block.y;
        case NTID_Z: return block.z;
        case NCTAID_X: return grid.x;
        case NCTAID_Y: return grid.y;
        case NCTAID_Z: return grid.z;
        case LANEID: return static_cast<std::uint32_t>(lane);
        case WARPID: return warp.number;
        case NWARPID: return static_cast<std::uint32_t>(w.warps.size());
        case NSMID: return 132;    // an H200
        case LANEMASK_EQ: return bit;
        case LANEMASK_LT: return bit - 1;
        case LANEMASK_LE: return bit | (bit - 1);
        case LANEMASK_GT: return ~(bit | (bit - 1));
        case LANEMASK_GE: return ~(bit - 1);
        case DYNAMIC_SMEM_SIZE: return w.launch.dynamic_shared;
        case TOTAL_SMEM_SIZE: return w.launch.shared_bytes;
        default: return 0;
    }
}

void fill_statics(const Worker& w, Warp& warp) {
    const Program& program = w.launch.program;
    for (std::uint32_t k = 0; k < program.static_count; ++k) {
        const Static& one = program.statics[k];
        const auto slot = static_cast<std::int32_t>(one.slot) + 1;
        for (int lane = 0; lane < WARP_SIZE; ++lane) {
            const std::uint64_t value =
                one.kind == CONSTANT_VALUE ? one.value : special_value(w, warp, one.kind, lane);
            switch (one.bytes) {
                case 0:
                    if (lane == 0) warp.predicate(slot) = value != 0 ? ALL_LANES : 0;
                    break;
                case 2:
                    warp.at<std::uint16_t>(slot)[lane] = static_cast<std::uint16_t>(value);
                    break;
                case 4:
                    warp.at<std::uint32_t>(slot)[lane] = static_cast<std::uint32_t>(value);
                    break;
                case 8: warp.at<std::uint64_t>(slot)[lane] = value; break;
                default: {    // 128 bits: the lower half
                    auto* wide = warp.at<std::uint64_t>(slot) + 2 * lane;
                    wide[0] = value, wide[1] = 0;
                }
            }
        }
    }
}

// Lets some lanes of a warp run before its others: until both come to one barrier.
void put_lanes_ahead(Worker& w) {
    Warp& warp = w.warps[w.recorder->ahead_warp()];
    const std::uint32_t ahead = w.recorder->ahead_lanes() & warp.exist;
    if (ahead == 0 || ahead == warp.exist) return;
    Path first = warp.paths[0];
    first.lanes = ahead, warp.paths[0].lanes &= ~ahead;
    warp.paths.push_back(first);    // run_warp runs the last path first
}

void begin_block(Worker& w, std::uint64_t number) {
    const Dim& grid = w.launch.grid;
    w.block_index = {static_cast<std::uint32_t>(number % grid.x),
                     static_cast<std::uint32_t>(number / grid.x % grid.y),
                     static_cast<std::uint32_t>(number / grid.x / grid.y)};
    w.block_linear = number;
    w.block_number = w.first_block + static_cast<std::uint32_t>(number) * (w.one_of_many ? 2 : 1);
    w.turn = ++w.now;
    begin_turn(w);    // a full turn, so that the warps alternate as in every other block
    w.order.begin_block();
    w.overlaps.begin_block();
    w.arrivals.clear();
    w.async = {};
    for (Region* region : w.shared) {
        Initialisation::forget(*region, number == 0 || !(w.observe & INITIALISATION));
        region->oldest = w.block_number;    // other blocks have shared memory of their own
    }
    if (!w.local.empty()) {
        std::memset(w.local.data(), 0xFF, w.local.size());
        std::memset(w.local_written.data(), 0, w.local_written.size());
    }
    for (Warp& warp : w.warps) {
        warp.live = warp.exist;
        warp.without_products = w.observe & WITHOUT_PRODUCTS;
        warp.paths.resize(1);
        warp.paths[0] = Path();
        warp.paths[0].lanes = warp.exist, warp.paths[0].frame = &warp.bottom;
        for (auto& frame : warp.frames) frame->function = -1;
        warp.joins.clear();
        warp.resting = 0;
        warp.clock.set_all(w.now);
        warp.fence.fill({});
        if (warp.ordered) warp.after.fill({}), warp.ordered = false;
        warp.guessing = 0;
        warp.passing_by = warp.borrowed = 0, warp.borrowed_pc = -1;
        warp.marks.clear();
        warp.staged_marks = {}, warp.has_staged_marks = false;
        warp.yielding = false, warp.yields = 0, warp.steps = 0;
        if (!warp.copies.pending.empty()) warp.copies.pending.clear();
        fill_block_statics(w, warp);
    }
    if (w.recorder != nullptr && w.recorder->ahead_lanes() != 0) put_lanes_ahead(w);
}

}    // namespace

void prepare_warps(Worker& w) {
    const Dim& block = w.launch.block;
    const std::uint32_t threads = block.x * block.y * block.z;
    const std::uint32_t count = (threads + WARP_SIZE - 1) / WARP_SIZE;
    const Program& program = w.launch.program;
    const std::size_t frame_bytes = (program.functions[0].frame_bytes + 63) / 64 * 64;
    w.local.assign(std::size_t(count) * WARP_SIZE * w.launch.local_bytes, static_cast<char>(0xFF));
    w.local_written.assign(w.local.size(), 0);
    w.has_gaps = false;
    w.warps.clear();
    for (std::uint32_t k = 0; k < count; ++k) {
        w.warps.emplace_back();
        Warp& warp = w.warps.back();
        warp.worker = &w, warp.number = k;
        const std::uint32_t lanes = std::min<std::uint32_t>(threads - k * WARP_SIZE, WARP_SIZE);
        warp.exist = lanes == WARP_SIZE ? ALL_LANES : (1u << lanes) - 1;
        warp.storage.reset(new char[frame_bytes + program.statics_bytes + 128]());
        char* start = warp.storage.get();
        start += (64 - reinterpret_cast<std::uintptr_t>(start) % 64) % 64;
        warp.bottom.slots = start;
        warp.bottom.stack = program.functions[0].stack_bytes;
        warp.bases[0] = start, warp.bases[1] = start + frame_bytes - 1;
        warp.more = program.operands;
        warp.local = w.local.data() + std::size_t(k) * WARP_SIZE * w.launch.local_bytes;
        fill_statics(w, warp);
    }
}

// At the end of a block: which loads read bytes of shared memory that no thread has set. A barrier
// cannot help, as it does where a thread only came too early.
void note_never_set(Worker& w, std::size_t first) {
    w.origins.note_never_set(first, w.findings, [&](const Finding& finding) {
        if (finding.kind != UNINITIALISED) return false;
        for (const Region* region : w.shared)
            if (region->id == finding.region)
                return Initialisation::is_read_of_nothing(
                    *region, region->start + static_cast<std::uint64_t>(finding.offset),
                    finding.size);
        return false;
    });
}

void run_block(Worker& w, std::uint64_t number) {
    begin_block(w, number);
    const std::size_t first_origin = w.origins.count();
    if (w.observe & TRAFFIC) w.traffic.shares.begin_block();
    const std::size_t ahead = w.recorder != nullptr ? w.recorder->ahead_warp() : 0;
    do {
        Stillness stillness;
        for (bool again = true; again && !w.aborted;) {
            again = false;
            for (std::size_t k = 0; k < w.warps.size(); ++k) {
                again |= run_warp(w, w.warps[k == 0 ? ahead : k <= ahead ? k - 1 : k]);
                if (w.aborted) break;
            }
            if (!again || w.aborted) break;
            if (const Stillness::Stuck stuck = stillness.after_round(w); stuck.warp != nullptr)
                w.fault(*stuck.warp, __builtin_ctz(stuck.path->lanes), stuck.path->pc, RUNAWAY,
                        "stuck");
        }
        stillness.end(w);
        if (w.aborted) break;
        for (Warp& warp : w.warps)
            if (warp.guessing != 0)
                for (int lane = 0; lane < WARP_SIZE; ++lane) settle_guess(w, warp, lane, false);
        if (w.observe & TRAFFIC) w.traffic.shares.end_phase();
    } while (pass_barrier(w));
    if (!w.aborted && !w.async.bulk.empty()) watch_end_of_block(w);
    if (!w.aborted && first_origin != w.origins.count()) note_never_set(w, first_origin);
    if (!w.aborted && (w.observe & TRAFFIC)) {
        for (const Warp& warp : w.warps) w.traffic.shares.end_warp(warp.number, warp.steps);
        w.traffic.shares.end_block();
    }
}
