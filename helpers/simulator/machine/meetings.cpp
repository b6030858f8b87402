// meetings.cpp -- lanes of a warp that wait for each other: shuffles, votes, __syncwarp()
#include <algorithm>

#include "joins.h"

Place waiting_place(const Worker& w, const Warp& warp, const Path& path) {
    return w.place(warp, __builtin_ctz(path.waiting), path.pc, LOAD);
}

namespace {

// Warns of lanes that a mask names and that have exited. A __syncwarp() may name them, unless they
// went round it first: while others waited in a branch, they were behind it.
void report_exited(Worker& w, Warp& warp, const Path& path) {
    std::uint32_t gone = path.mask & warp.exist & ~warp.live;
    if (w.decoded[path.pc].meeting->orders)
        gone &= warp.passing_by | (path.pc == warp.borrowed_pc ? warp.borrowed : 0);
    if (gone == 0 || !(w.observe & BARRIERS)) return;
    Finding finding;
    finding.kind = MASK_EXITED, finding.size = path.mask, finding.offset = __builtin_ctz(gone);
    finding.here = waiting_place(w, warp, path);
    finding.other = w.place(warp, __builtin_ctz(gone), warp.exit_pc, LOAD);
    w.findings.add(finding);
}

// Orders all earlier accesses of these lanes before all their later ones.
void order_lanes(Worker& w, Warp& warp, std::uint32_t lanes) {
    LaneClocks joined{};
    if (warp.ordered)
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            for (int k = 0; k < WARP_SIZE; ++k)
                joined[k] = std::max(joined[k], warp.after[__builtin_ctz(left)][k]);
    ++w.now;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1)
        joined[__builtin_ctz(left)] = w.now;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        warp.after[lane] = joined, warp.clock.set(lane, w.now);
    }
    warp.ordered = true;
}

bool same_meeting(const Worker& w, const Path& a, const Path& b) {
    return b.state == Path::AT_MEETING && !b.met && a.mask == b.mask &&
           w.decoded[a.pc].meeting == w.decoded[b.pc].meeting;
}

// Lanes that went round one __syncwarp() meet those that wait there from another one.
void note_borrowed(const Worker& w, Warp& warp, const Path& meeting, std::uint32_t there) {
    for (const Path& path : warp.paths) {
        const std::uint32_t late = path.waiting & warp.passing_by;
        if (late == 0 || !same_meeting(w, meeting, path)) continue;
        for (const Path& other : warp.paths)
            if (other.pc != path.pc && same_meeting(w, meeting, other))
                warp.borrowed |= late, warp.borrowed_pc = path.pc;
    }
    warp.passing_by &= ~there;
}

}    // namespace

bool settle_meetings(Worker& w, Warp& warp) {
    bool any = false;
    for (Path& path : warp.paths) {
        if (path.state != Path::AT_MEETING) continue;
        std::uint32_t there = 0;
        for (const Path& other : warp.paths)
            if (same_meeting(w, path, other)) there |= other.waiting;
        if (path.mask & warp.live & ~there) continue;
        report_exited(w, warp, path);
        if (w.decoded[path.pc].meeting->orders) order_lanes(w, warp, there);
        const Path meeting = path;
        if (UNLIKELY(warp.passing_by != 0)) note_borrowed(w, warp, meeting, there);
        for (Path& other : warp.paths)
            if (same_meeting(w, meeting, other)) other.met = true, other.participants = there;
        for (Path& other : warp.paths)
            if (other.met) other.state = Path::READY;
        any = true;
    }
    if (any)
        unite_paths(warp, [](const Path& one, const Path& other) {
            return one.met && other.met && one.mask == other.mask;
        });
    return any;
}

void report_deadlock(Worker& w, const Warp& warp) {
    const Path* first = nullptr;
    for (const Path& path : warp.paths)
        if (path.state == Path::AT_MEETING && first == nullptr) first = &path;
    std::uint32_t there = 0;
    for (const Path& other : warp.paths)
        if (same_meeting(w, *first, other)) there |= other.waiting;
    const std::uint32_t missing = first->mask & warp.live & ~there;
    const Path* other = first;
    for (const Path& path : warp.paths)
        if (path.lanes & missing) other = &path;
    const bool meets = other->state == Path::AT_MEETING;
    Finding finding;
    finding.size = first->mask,
    finding.offset = meets ? static_cast<std::int64_t>(other->mask) : -1;
    const bool mask_is_wrong =
        meets ? other->mask != first->mask : !w.decoded[first->pc].meeting->orders;
    finding.kind = mask_is_wrong ? MASK_MISMATCH : WARP_DEADLOCK;
    finding.here = waiting_place(w, warp, *first);
    finding.other =
        w.place(warp, __builtin_ctz(missing & other->lanes ? missing & other->lanes : other->lanes),
                other->pc, LOAD);
    w.end_launch(finding);
}

bool meet(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
          const WarpOperation& operation) {
    Path& path = warp.path();
    if (path.met) {
        path.met = false;
        return operation.finish(w, warp, i, pc, path.waiting, path.participants);
    }
    std::uint32_t left = lanes;
    operation.stage(warp, i, lanes);
    while (left != 0) {    // nearly always once: all lanes have the same mask
        std::uint32_t mask = warp.live, group = left;
        const std::int32_t slot =
            operation.mask_operand >= 0 ? warp.operand(i, operation.mask_operand) : -1;
        if (slot >= 0) {
            const auto* masks = warp.at<std::uint32_t>(slot);
            mask = masks[__builtin_ctz(left)], group = 0;
            for (std::uint32_t rest = left; rest != 0; rest &= rest - 1)
                if (masks[__builtin_ctz(rest)] == mask) group |= rest & -rest;
        }
        if (std::uint32_t outside = group & ~mask) {
            Finding finding;
            finding.kind = MASK_WITHOUT_SELF, finding.size = mask,
            finding.offset = __builtin_ctz(outside);
            finding.here = w.place(warp, __builtin_ctz(outside), pc, LOAD);
            w.end_launch(finding);
            return false;
        }
        path.mask = mask, path.waiting = group;
        if (mask & warp.live & ~group) {
            if (group != lanes) {    // lanes of one path wait for different lanes: each group is a
                                     // path of its own
                Path rest = path;
                rest.lanes = path.lanes & ~group, rest.waiting = 0;
                path.lanes = group;
                path.state = Path::AT_MEETING;
                warp.paths.push_back(rest);
                return false;
            }
            path.state = Path::AT_MEETING;
            return false;
        }
        report_exited(w, warp, path);
        if (operation.orders) order_lanes(w, warp, group);
        if (!operation.finish(w, warp, i, pc, group, group)) return false;
        left &= ~group;
    }
    return true;
}
