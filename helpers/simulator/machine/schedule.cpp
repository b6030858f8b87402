// schedule.cpp -- runs the warps of a block: paths, joins, calls, meetings and barriers
#include "schedule.h"

#include <algorithm>
#include <cstring>

#include "atomics.h"

namespace {

constexpr std::int64_t fuel_of_a_turn =
    1 << 16;    // backward branches until the other paths and warps get their turn
constexpr std::uint32_t patience =
    256;    // turns that a warp spins until lanes that wait for the spinning ones go on

// ---- joins ----

std::int32_t open_join(Warp& warp, Join::Kind kind, std::int32_t pc, std::int32_t outer,
                       std::uint32_t expected, Frame* frame) {
    std::size_t at = 0;
    while (at < warp.joins.size() && warp.joins[at].used) ++at;
    if (at == warp.joins.size()) warp.joins.emplace_back();
    Join& join = warp.joins[at];
    join.kind = kind, join.pc = pc, join.outer = outer, join.expected = expected, join.arrived = 0,
    join.frame = frame;
    join.used = true;
    return static_cast<std::int32_t>(at);
}

// Where the running path must stop to wait for the others.
std::int32_t join_pc(const Warp& warp, std::int32_t join) {
    return join >= 0 && warp.joins[join].kind == Join::BRANCH_JOIN ? warp.joins[join].pc : -1;
}

void release_frame(Warp& warp, Frame* frame) {
    if (frame == nullptr || frame == &warp.bottom) return;
    frame->caller = nullptr, frame->function = -1;    // free
}

// All lanes that can come to a join are there: one path goes on.
bool complete_join(Warp& warp, std::int32_t index) {
    Join& join = warp.joins[index];
    if (!join.used || join.arrived != join.expected) return false;
    join.used = false;
    if (join.expected == 0) return false;
    Path path;
    path.lanes = join.arrived, path.pc = join.pc, path.join = join.outer, path.frame = join.frame;
    warp.paths.push_back(path);
    return true;
}

void remove_path(Warp& warp, std::size_t index) {
    warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(index));
}

// Lanes that will never come to the joins from `join` on outwards, up to and without `end`.
void leave_joins(Warp& warp, std::int32_t join, std::int32_t end, std::uint32_t lanes) {
    while (join >= 0 && join != end) {
        const std::int32_t outer = warp.joins[join].outer;
        warp.joins[join].expected &= ~lanes;
        complete_join(warp, join);
        join = outer;
    }
}

// ---- functions ----

Frame* take_frame(Warp& warp, const Function& function, std::int32_t number) {
    Frame* frame = nullptr;
    for (auto& one : warp.frames)
        if (one->function < 0) frame = one.get();
    if (frame == nullptr) {
        warp.frames.push_back(std::make_unique<Frame>());
        frame = warp.frames.back().get();
    }
    const std::size_t bytes = function.frame_bytes + 64;
    if (frame->capacity < bytes) {
        frame->memory.reset(new char[bytes]());
        frame->capacity = bytes;
        frame->slots = frame->memory.get() +
                       (64 - reinterpret_cast<std::uintptr_t>(frame->memory.get()) % 64) % 64;
    }
    frame->function = number;
    return frame;
}

// The arguments of a call lie in the caller's local memory, those of the function first in its own.
template <class Each>
void each_passed(const Worker& w, const Instruction& call, bool returns, Each each) {
    const std::int32_t* at = w.launch.program.operands + call.more;
    std::uint32_t formal = 0;
    const std::int32_t return_count = *at++;
    for (std::int32_t k = 0; k < return_count; ++k, at += 2) {
        if (returns)
            each(static_cast<std::uint32_t>(at[0]), formal, static_cast<std::uint32_t>(at[1]));
        formal += (static_cast<std::uint32_t>(at[1]) + 15) / 16 * 16;
    }
    const std::int32_t argument_count = *at++;
    for (std::int32_t k = 0; k < argument_count; ++k, at += 2) {
        if (!returns)
            each(static_cast<std::uint32_t>(at[0]), formal, static_cast<std::uint32_t>(at[1]));
        formal += (static_cast<std::uint32_t>(at[1]) + 15) / 16 * 16;
    }
}

void copy_local(Worker& w, Warp& warp, std::uint32_t lanes, std::uint32_t to, std::uint32_t from,
                std::uint32_t size) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        char* stack = warp.local_of(__builtin_ctz(left));
        std::memcpy(stack + to, stack + from, size);
        std::uint8_t* written = w.local_written.data() + (stack - w.local.data());
        std::memcpy(written + to, written + from, size);
    }
}

bool stack_overflow(Worker& w, Warp& warp, std::uint32_t lanes, std::int32_t pc) {
    w.fault(warp, __builtin_ctz(lanes), pc, STACK_OVERFLOW);
    return false;
}

bool enter_function(Worker& w, Warp& warp, std::uint32_t lanes, std::int32_t pc,
                    std::int32_t number) {
    const Instruction& call = w.instruction(pc);
    const Function& function = w.launch.program.functions[number];
    Frame* caller = warp.path().frame;
    const Function& own = w.launch.program.functions[caller->function];
    const std::uint32_t local = caller->local + own.local_bytes;
    if (std::uint64_t(local) + function.local_bytes > w.launch.local_bytes ||
        warp.frames.size() > 4096)
        return stack_overflow(w, warp, lanes, pc);
    Frame* frame = take_frame(warp, function, number);
    frame->caller = caller, frame->call = pc, frame->local = local;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        char* start = warp.local_of(__builtin_ctz(left)) + local;
        std::memset(start, 0xFF, function.local_bytes);
        std::memset(w.local_written.data() + (start - w.local.data()), 0, function.local_bytes);
    }
    each_passed(w, call, false,
                [&](std::uint32_t actual, std::uint32_t formal, std::uint32_t size) {
                    copy_local(w, warp, lanes, local + formal, caller->local + actual, size);
                });
    Path& path = warp.path();
    path.join = open_join(warp, Join::RETURN_JOIN, pc + 1, path.join, lanes, caller);
    path.frame = frame;
    path.pc = function.first;
    return true;
}

// The lanes leave the function; true when the path goes on in the caller at once.
void leave_function(Worker& w, Warp& warp, std::uint32_t lanes) {
    Frame* frame = warp.path().frame;
    const Instruction& call = w.instruction(frame->call);
    each_passed(w, call, true, [&](std::uint32_t actual, std::uint32_t formal, std::uint32_t size) {
        copy_local(w, warp, lanes, frame->caller->local + actual, frame->local + formal, size);
    });
    std::int32_t join = warp.path().join;
    while (join >= 0 && warp.joins[join].kind != Join::RETURN_JOIN) join = warp.joins[join].outer;
    leave_joins(warp, warp.path().join, join, lanes);
    warp.joins[join].arrived |= lanes;
    warp.path().lanes &= ~lanes;
    if (warp.joins[join].arrived == warp.joins[join].expected) release_frame(warp, frame);
    complete_join(warp, join);
}

// ---- meetings of lanes ----

Place waiting_place(const Worker& w, const Warp& warp, const Path& path) {
    return w.place(warp, __builtin_ctz(path.arriving), path.pc, LOAD);
}

void tell_of_exited(Worker& w, Warp& warp, const Path& path) {
    std::uint32_t gone = path.mask & warp.exist & ~warp.live;
    if (gone == 0 || w.decoded[path.pc].meeting->orders || !(w.observe & BARRIERS)) return;
    Finding finding;
    finding.kind = MASK_EXITED, finding.size = path.mask, finding.offset = __builtin_ctz(gone);
    finding.here = waiting_place(w, warp, path);
    finding.other = w.place(warp, __builtin_ctz(gone), warp.exit_pc, LOAD);
    w.findings.add(finding);
}

// What each lane of `lanes` did so far comes before what any of them does from now on.
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
        warp.after[lane] = joined, warp.clock[lane] = w.now;
    }
    warp.ordered = true;
}

bool same_meeting(const Worker& w, const Path& a, const Path& b) {
    return b.state == Path::AT_MEETING && !b.met && a.mask == b.mask &&
           w.decoded[a.pc].meeting == w.decoded[b.pc].meeting;
}

// Lets go on whose lanes are all there; true when somebody can.
bool settle_meetings(Worker& w, Warp& warp) {
    bool any = false;
    for (Path& path : warp.paths) {
        if (path.state != Path::AT_MEETING) continue;
        std::uint32_t there = 0;
        for (const Path& other : warp.paths)
            if (same_meeting(w, path, other)) there |= other.arriving;
        if (path.mask & warp.live & ~there) continue;
        tell_of_exited(w, warp, path);
        if (w.decoded[path.pc].meeting->orders) order_lanes(w, warp, there);
        const Path meeting = path;
        for (Path& other : warp.paths)
            if (same_meeting(w, meeting, other)) other.met = true, other.participants = there;
        for (Path& other : warp.paths)
            if (other.met) other.state = Path::READY;
        any = true;
    }
    return any;
}

// Nobody can ever go on: says who waits for whom.
void tell_of_deadlock(Worker& w, const Warp& warp) {
    const Path* first = nullptr;
    for (const Path& path : warp.paths)
        if (path.state == Path::AT_MEETING && first == nullptr) first = &path;
    std::uint32_t there = 0;
    for (const Path& other : warp.paths)
        if (same_meeting(w, *first, other)) there |= other.arriving;
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

// The lanes of a path come to a warp operation. True: it is done; false: they wait, or the launch
// is over.
bool meet(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
          const WarpOperation& operation) {
    Path& path = warp.path();
    if (path.met) {
        path.met = false;
        return operation.finish(w, warp, i, pc, path.arriving, path.participants);
    }
    std::uint32_t left = lanes;
    operation.stage(warp, i, lanes);
    while (left != 0) {    // nearly always one round: all lanes have the same mask
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
        path.mask = mask, path.arriving = group;
        if (mask & warp.live & ~group) {
            if (group != lanes) {    // lanes of one path wait for different lanes: each group is a
                                     // path of its own
                Path rest = path;
                rest.lanes = path.lanes & ~group, rest.arriving = 0;
                path.lanes = group;
                path.state = Path::AT_MEETING;
                warp.paths.push_back(rest);
                return false;
            }
            path.state = Path::AT_MEETING;
            return false;
        }
        tell_of_exited(w, warp, path);
        if (operation.orders) order_lanes(w, warp, group);
        if (!operation.finish(w, warp, i, pc, group, group)) return false;
        left &= ~group;
    }
    return true;
}

// ---- the instructions of a path ----

void fence(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes) {
    if (w.one_of_many) return w.give_up();
    w.order.used = true;
    ++w.now;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        warp.clock[lane] = w.now;
        (i.flags & SCOPE_CTA ? warp.fence[lane].block_clock : warp.fence[lane].clock) = w.now;
    }
}

// Lanes part at a branch. The running path keeps those that go on behind it.
void part(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t taken,
          std::uint32_t rest) {
    if (w.observe & TRAFFIC) w.traffic.parted(static_cast<std::uint32_t>(pc), taken);
    Path& path = warp.path();
    if (i.join >= 0 && join_pc(warp, path.join) != i.join)
        path.join = open_join(warp, Join::BRANCH_JOIN, i.join, path.join, path.lanes, path.frame);
    if (i.target == i.join) {
        warp.joins[path.join].arrived |= taken;
        path.lanes = rest, path.pc = pc + 1;
    } else if (pc + 1 == i.join) {
        warp.joins[path.join].arrived |= rest;
        path.lanes = taken, path.pc = i.target;
    } else {
        Path other = path;
        other.lanes = taken, other.pc = i.target;
        path.lanes = rest, path.pc = pc + 1;
        warp.paths.push_back(other);
    }
}

// A branch by a table: one path for each target. False where an index is outside the table.
bool branch_by_index(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                     std::uint32_t lanes) {
    const auto* index = warp.at<std::uint32_t>(i.operand[0]);
    const std::int32_t* targets = w.launch.program.operands + i.more;
    const std::uint32_t all = lanes;
    bool first = true;
    for (std::uint32_t left = lanes; left != 0;) {
        const int lead = __builtin_ctz(left);
        if (index[lead] >= static_cast<std::uint64_t>(i.immediate)) {
            w.fault(warp, lead, pc, FAULT, "jumps by an index outside the table of a switch");
            return false;
        }
        const std::int32_t target = targets[index[lead]];
        std::uint32_t group = 0;
        for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            if (index[lane] < static_cast<std::uint64_t>(i.immediate) &&
                targets[index[lane]] == target)
                group |= 1u << lane;
        }
        left &= ~group;
        Path& path = warp.path();
        if (first && left == 0) {
            path.pc = target;
            return true;
        }
        if (first && i.join >= 0 && join_pc(warp, path.join) != i.join)
            path.join =
                open_join(warp, Join::BRANCH_JOIN, i.join, path.join, path.lanes, path.frame);
        if (first && (w.observe & TRAFFIC))
            w.traffic.parted(static_cast<std::uint32_t>(pc), all & ~group);
        Path other = path;
        other.lanes = group, other.pc = target;
        if (first) path.lanes = group, path.pc = target, first = false;
        else warp.paths.push_back(other);
    }
    return true;
}

// The lanes that do not take part in a guarded call or barrier go on behind it.
void split_off(Warp& warp, std::int32_t pc, std::uint32_t lanes, bool joined) {
    Path& path = warp.path();
    if (joined && join_pc(warp, path.join) != pc + 1)
        path.join = open_join(warp, Join::BRANCH_JOIN, pc + 1, path.join, path.lanes, path.frame);
    const std::uint32_t rest = path.lanes & ~lanes;
    path.lanes = lanes;
    if (joined) {
        warp.joins[path.join].arrived |= rest;
        return;
    }
    Path other = path;
    other.lanes = rest, other.pc = pc + 1;
    warp.paths.push_back(other);
}

enum Outcome { GOES_ON, STOPS };

Outcome call(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    if (i.target < 0 && i.target != INT32_MIN) {
        if (!run_builtin(w, warp, i, pc, lanes, -1 - i.target)) return STOPS;
        warp.path().pc = pc + 1;
        return GOES_ON;
    }
    if (lanes != warp.path().lanes) split_off(warp, pc, lanes, true);
    std::int32_t number = i.target;
    if (number == INT32_MIN) {
        const auto* pointers = warp.at<std::uint64_t>(i.operand[0]);
        const int lead = __builtin_ctz(lanes);
        std::uint32_t same = 0;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            if (pointers[__builtin_ctz(left)] == pointers[lead]) same |= left & -left;
        if (same != lanes) {    // each function is called by a path of its own
            Path& path = warp.path();
            if (join_pc(warp, path.join) != pc + 1)
                path.join =
                    open_join(warp, Join::BRANCH_JOIN, pc + 1, path.join, path.lanes, path.frame);
            Path other = path;
            other.lanes = lanes & ~same, other.pc = pc;
            path.lanes = same;
            warp.paths.push_back(other);
            return GOES_ON;
        }
        const std::uint64_t pointer = pointers[lead], tag = std::uint64_t(1) << 62;
        if (pointer < tag || pointer >= tag + w.launch.program.function_count) {
            w.fault(warp, lead, pc, WILD_CALL,
                    pointer == 0 ? "a null pointer" : "an address where no function is",
                    static_cast<std::int64_t>(pointer));
            return STOPS;
        }
        number = static_cast<std::int32_t>(pointer - tag);
    }
    return enter_function(w, warp, lanes, pc, number) ? GOES_ON : STOPS;
}

void exit_lanes(Warp& warp, std::int32_t pc, std::uint32_t lanes) {
    warp.live &= ~lanes, warp.exit_pc = pc;
    const std::int32_t join = warp.path().join;
    warp.path().lanes &= ~lanes;
    leave_joins(warp, join, -1, lanes);
}

void arrive_at_barrier(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                       std::uint32_t lanes, const Decoded& decoded) {
    if (w.observe & TRAFFIC) w.traffic.barrier(static_cast<std::uint32_t>(pc), lanes);
    const bool reduces = decoded.control == BARRIER_REDUCE;
    const int first = reduces ? 1 : 0, lead = __builtin_ctz(lanes);
    const std::int32_t count = warp.operand(i, first + 1);
    const std::uint32_t number = warp.at<std::uint32_t>(i.operand[first])[lead];
    const std::uint32_t threads = count >= 0 ? warp.at<std::uint32_t>(count)[lead] : 0;
    if (decoded.control == BARRIER_ARRIVE) {
        w.arrived[number] += static_cast<std::uint32_t>(__builtin_popcount(lanes));
        return;
    }
    if (lanes != warp.path().lanes) split_off(warp, pc, lanes, false);
    Path& path = warp.path();
    path.state = Path::AT_BARRIER;
    path.arriving = lanes, path.barrier = number, path.barrier_count = threads;
    if (reduces) {
        const std::uint32_t bits = warp.predicate(i.operand[3]);
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            warp.stage[lane] = bits >> lane & 1;
        }
    }
}

// Lanes that wait at a join for one that spins, or waits itself, may be those that it waits for:
// since Volta they go on without it. True when there are some.
bool part_joins(Warp& warp) {
    bool any = false;
    for (std::size_t k = 0; k < warp.joins.size(); ++k) {
        Join& join = warp.joins[k];
        if (!join.used || join.kind != Join::BRANCH_JOIN || join.arrived == 0) continue;
        Path path;
        path.lanes = join.arrived, path.pc = join.pc, path.join = join.outer,
        path.frame = join.frame;
        join.expected &= ~join.arrived, join.arrived = 0;
        warp.paths.push_back(path);
        any = true;
    }
    return any;
}

// A backward branch: the launch may have been stopped, or others may have waited long enough. True:
// let them.
bool out_of_turn(Worker& w, Warp& warp, std::int32_t pc) {
    w.steps += static_cast<std::uint64_t>(fuel_of_a_turn - w.fuel);
    if (w.launch.step_limit != 0 && w.steps > w.launch.step_limit * fuel_of_a_turn)
        stop_requested = true;
    if (stop_requested.load(std::memory_order_relaxed)) {
        w.fault(warp, __builtin_ctz(warp.path().lanes), pc, RUNAWAY);
        return true;
    }
    if (w.one_of_many && doubtful.load(std::memory_order_relaxed)) {
        w.give_up();
        return true;
    }
    if (warp.yielding && ++warp.yields % patience == 0) part_joins(warp);
    w.fuel = fuel_of_a_turn;
    warp.yielding = false;
    return true;
}

// Runs the warp's current path until it waits, ends, or has had its turn. True when it was
// interrupted in the middle.
bool run_path(Worker& w, Warp& warp) {
    const Instruction* const code = w.launch.program.instructions;
    const Decoded* const decoded_code = w.decoded.data();
    std::uint64_t* const executed = w.executed.empty() ? nullptr : w.executed.data();
    std::int32_t pc = warp.path().pc, stop = join_pc(warp, warp.path().join);
    std::uint32_t active = warp.path().lanes;
    warp.enter(*warp.path().frame);
    auto again = [&] {    // after the path itself has changed
        const Path& path = warp.path();
        pc = path.pc, active = path.lanes, stop = join_pc(warp, path.join);
        warp.enter(*path.frame);
    };
    for (;;) {
        if (UNLIKELY(pc == stop)) {
            Join& join = warp.joins[warp.path().join];
            join.arrived |= active;
            if (join.arrived != join.expected) {
                remove_path(warp, warp.current);
                return false;
            }
            join.used = false;    // the last to come goes on for all
            Path& path = warp.path();
            path.lanes = join.arrived, path.join = join.outer, path.pc = pc;
            again();
            continue;
        }
        const Instruction& i = code[pc];
        const Decoded& decoded = decoded_code[pc];
        std::uint32_t lanes = active;
        if (i.guard != 0) {
            const std::uint32_t bits = warp.predicate(i.predicate);
            lanes &= i.guard == 1 ? bits : ~bits;
        }
        if (UNLIKELY(executed != nullptr) && lanes != 0) ++executed[pc];
        if (LIKELY(decoded.run != nullptr)) {
            if (lanes != 0) decoded.run(warp, i, lanes);
            ++pc;
            continue;
        }
        if (lanes == 0) {
            ++pc;
            continue;
        }
        switch (decoded.control) {
            case MACHINE:
                warp.path().pc = pc;
                if (!decoded.machine(w, warp, i, pc, lanes)) return false;
                ++pc;
                break;
            case ATOMIC_UPDATE:
                warp.path().pc = pc;
                if (!run_atomic(w, warp, i, pc, lanes, decoded.detail)) return false;
                ++pc;
                break;
            case BRANCH_TO: {
                const bool backward = i.target <= pc;
                if (lanes == active) {
                    pc = i.target;
                } else {
                    part(w, warp, i, pc, lanes, active & ~lanes);
                    again();
                }
                if (backward && (--w.fuel < 0 || warp.yielding)) {
                    warp.path().pc = pc;
                    return out_of_turn(w, warp, pc) && !w.aborted;
                }
                break;
            }
            case BRANCH_BY_INDEX:
                warp.path().pc = pc;
                if (!branch_by_index(w, warp, i, pc, lanes)) return false;
                again();
                break;
            case CALL:
                warp.path().pc = pc;
                if (call(w, warp, i, pc, lanes) == STOPS) return false;
                again();
                if (--w.fuel < 0) return out_of_turn(w, warp, pc) && !w.aborted;
                break;
            case RETURN:
            case EXIT:
                warp.path().pc = pc + 1;
                if (lanes != active && (w.observe & TRAFFIC))
                    w.traffic.parted(static_cast<std::uint32_t>(pc), lanes);
                if (decoded.control == EXIT || warp.path().frame == &warp.bottom)
                    exit_lanes(warp, pc, lanes);
                else leave_function(w, warp, lanes);
                if (warp.path().lanes == 0) {
                    remove_path(warp, warp.current);
                    return false;
                }
                again();
                break;
            case BARRIER_SYNC:
            case BARRIER_REDUCE:
                warp.path().pc = pc;
                arrive_at_barrier(w, warp, i, pc, lanes, decoded);
                return false;
            case BARRIER_ARRIVE:
                arrive_at_barrier(w, warp, i, pc, lanes, decoded);
                ++pc;
                break;
            case MEET:
                warp.path().pc = pc;
                if (!meet(w, warp, i, pc, lanes, *decoded.meeting)) return false;
                ++pc;
                break;
            case FENCE:
                fence(w, warp, i, lanes);
                if (w.aborted) return false;
                ++pc;
                break;
            case TRAP_HERE: w.fault(warp, __builtin_ctz(lanes), pc, TRAP); return false;
            case CLOCK: {
                if (w.one_of_many) {
                    w.give_up();
                    return false;
                }
                ++w.ticks;
                const bool wide = i.type == U64 || i.type == B64 || i.type == S64;
                if (wide)
                    each_lane(warp.at<std::uint64_t>(i.operand[0]), lanes,
                              [&](int) { return w.ticks; });
                else
                    each_lane(warp.at<std::uint32_t>(i.operand[0]), lanes,
                              [&](int) { return static_cast<std::uint32_t>(w.ticks); });
                ++pc;
                break;
            }
            case LOCAL_ADDRESS: {
                const std::uint64_t address =
                    warp.frame().local + static_cast<std::uint64_t>(i.immediate);
                if (i.type == U32 || i.type == B32 || i.type == S32)
                    each_lane(warp.at<std::uint32_t>(i.operand[0]), lanes,
                              [&](int) { return static_cast<std::uint32_t>(address); });
                else
                    each_lane(warp.at<std::uint64_t>(i.operand[0]), lanes,
                              [&](int) { return address; });
                ++pc;
                break;
            }
            case ACTIVE_MASK:
                each_lane(warp.at<std::uint32_t>(i.operand[0]), lanes, [&](int) { return lanes; });
                ++pc;
                break;
            default:    // NOTHING
                ++pc;
        }
    }
}

// Runs a warp until all of its paths wait or have ended, or until it has had its turn. True when a
// path can go on.
bool run_warp(Worker& w, Warp& warp) {
    for (;;) {
        std::size_t next = warp.paths.size();
        while (next > 0 && warp.paths[next - 1].state != Path::READY) --next;
        if (next == 0) {
            bool meets = false;
            for (const Path& path : warp.paths) meets |= path.state == Path::AT_MEETING;
            if ((meets && settle_meetings(w, warp)) || part_joins(warp)) continue;
            if (!meets) return false;
            tell_of_deadlock(w, warp);
            return false;
        }
        warp.current = next - 1;
        const bool interrupted = run_path(w, warp);
        if (w.aborted) return false;
        if (interrupted) {    // the others of this warp come first when it is its turn again
            std::rotate(warp.paths.begin(),
                        warp.paths.begin() + static_cast<std::ptrdiff_t>(warp.current),
                        warp.paths.begin() + static_cast<std::ptrdiff_t>(warp.current) + 1);
            return true;
        }
    }
}

// ---- barriers of the block ----

struct Waiting {
    Warp* warp;
    Path* path;
};

void release(Worker& w, const std::vector<Waiting>& those) {
    std::uint32_t count = 0, threads = 0;
    for (const Waiting& one : those)
        for (std::uint32_t left = one.path->arriving; left != 0; left &= left - 1)
            count += static_cast<std::uint32_t>(one.warp->stage[__builtin_ctz(left)] & 1),
                ++threads;
    for (const Waiting& one : those) {
        Path& path = *one.path;
        const Instruction& i = w.instruction(path.pc);
        const Decoded& decoded = w.decoded[path.pc];
        if (decoded.control == BARRIER_REDUCE) {
            one.warp->enter(*path.frame);
            if (decoded.detail == 0) {
                auto* to = one.warp->at<std::uint32_t>(i.operand[0]);
                for (std::uint32_t left = path.arriving; left != 0; left &= left - 1)
                    to[__builtin_ctz(left)] = count;
            } else {
                const bool result = decoded.detail == 1 ? count == threads : count != 0;
                std::uint32_t& to = one.warp->predicate(i.operand[0]);
                to = (to & ~path.arriving) | (result ? path.arriving : 0);
            }
        }
        path.state = Path::READY, path.pc += 1;
    }
    w.turn = ++w.now;
    for (Warp& warp : w.warps) { warp.clock.fill(w.now); }
}

std::uint32_t group_of(const Worker& w, const Path& path) {
    return w.launch.program.place_groups[w.instruction(path.pc).place];
}
std::uint64_t caller_of(const Path& path) {
    return path.frame != nullptr && path.frame->caller != nullptr ? path.frame->call + 1 : 0;
}

// True when somebody may go on past a barrier, false when all threads have finished or the launch
// is over.
bool pass_barrier(Worker& w) {
    std::vector<Waiting> waiting;
    bool exited = false;
    Place gone;
    for (Warp& warp : w.warps) {
        for (Path& path : warp.paths)
            if (path.state == Path::AT_BARRIER) waiting.push_back({&warp, &path});
        if (std::uint32_t out = warp.exist & ~warp.live; out != 0 && !exited)
            exited = true, gone = w.place(warp, __builtin_ctz(out), warp.exit_pc, LOAD);
    }
    if (waiting.empty()) return false;
    // Barriers that count their threads: those whose number is reached.
    std::vector<Waiting> plain;
    for (const Waiting& one : waiting) {
        if (one.path->barrier_count == 0) {
            plain.push_back(one);
            continue;
        }
        std::vector<Waiting> same;
        std::uint32_t threads = w.arrived[one.path->barrier];
        for (const Waiting& other : waiting)
            if (other.path->barrier == one.path->barrier)
                same.push_back(other),
                    threads += static_cast<std::uint32_t>(__builtin_popcount(other.path->arriving));
        if (threads < one.path->barrier_count) continue;
        w.arrived[one.path->barrier] = 0;
        release(w, same);
        return true;
    }
    Finding finding;
    auto place = [&](const Waiting& one) {
        Place here = waiting_place(w, *one.warp, *one.path);
        here.caller = caller_of(*one.path);
        return here;
    };
    const Waiting& first = plain.empty() ? waiting.front() : plain.front();
    finding.here = place(first);
    const Waiting* elsewhere = nullptr;
    for (const Waiting& one : waiting) {
        if (one.path->barrier != first.path->barrier ||
            group_of(w, *one.path) != group_of(w, *first.path)) {
            finding.kind = BARRIER_DIVERGENCE, finding.other = place(one);
            w.end_launch(finding);
            return false;
        }
        const bool other_call =
            w.instruction(one.path->pc).place != w.instruction(first.path->pc).place ||
            caller_of(*one.path) != caller_of(*first.path);
        if (elsewhere == nullptr && other_call) elsewhere = &one;
    }
    if (plain.empty()) {    // a barrier whose number of threads can never be reached
        finding.kind = BARRIER_DIVERGENCE, finding.other = exited ? gone : finding.here;
        w.end_launch(finding);
        return false;
    }
    if (elsewhere != nullptr && (w.observe & BARRIERS)) {
        finding.kind = BARRIER_CALLERS, finding.other = place(*elsewhere);
        w.findings.add(finding);
    }
    if (exited && (w.observe & BARRIERS)) {
        finding.kind = BARRIER_EXITED, finding.other = gone;
        w.findings.add(finding);
    }
    release(w, waiting);
    return true;
}

// ---- the start of a block ----

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

void begin_block(Worker& w, std::uint64_t number) {
    const Dim& grid = w.launch.grid;
    w.block_index = {static_cast<std::uint32_t>(number % grid.x),
                     static_cast<std::uint32_t>(number / grid.x % grid.y),
                     static_cast<std::uint32_t>(number / grid.x / grid.y)};
    w.block_linear = number;
    w.block_number = w.first_block + static_cast<std::uint32_t>(number) * (w.one_of_many ? 2 : 1);
    w.turn = ++w.now;
    w.order.begin_block();
    w.arrived.clear();
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
        warp.paths.resize(1);
        warp.paths[0] = Path();
        warp.paths[0].lanes = warp.exist, warp.paths[0].frame = &warp.bottom;
        for (auto& frame : warp.frames) frame->function = -1;
        warp.joins.clear();
        warp.clock.fill(w.now);
        warp.fence.fill({});
        if (warp.ordered) warp.after.fill({}), warp.ordered = false;
        warp.guessing = 0;
        warp.yielding = false, warp.yields = 0;
        if (!warp.copies.pending.empty()) warp.copies.pending.clear();
        fill_block_statics(w, warp);
    }
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
        warp.bases[0] = start, warp.bases[1] = start + frame_bytes - 1;
        warp.more = program.operands;
        warp.local = w.local.data() + std::size_t(k) * WARP_SIZE * w.launch.local_bytes;
        fill_statics(w, warp);
    }
}

void run_block(Worker& w, std::uint64_t number) {
    begin_block(w, number);
    do {
        for (bool again = true; again && !w.aborted;) {
            again = false;
            for (Warp& warp : w.warps) {
                again |= run_warp(w, warp);
                if (w.aborted) break;
            }
        }
        if (w.aborted) break;
        for (Warp& warp : w.warps)
            if (warp.guessing != 0)
                for (int lane = 0; lane < WARP_SIZE; ++lane) settle_guess(w, warp, lane, false);
    } while (pass_barrier(w));
    if (!w.aborted && !w.async.bulk.empty()) watch_end_of_block(w);
}

std::vector<std::string> machine_names() {
    std::vector<std::string> names = {
        "ld",           "ldu",          "st",         "bra",       "brx.idx",        "call",
        "ret",          "exit",         "trap",       "brkpt",     "bar.sync",       "bar.arrive",
        "bar.red.popc", "bar.red.and",  "bar.red.or", "fence",     "activemask",     "mov.clock",
        "mov.local",    "nop",          "prefetch",   "nanosleep", "griddepcontrol", "pmevent",
        "discard",      "applypriority"};
    for (const char* operation : atomic_names) names.push_back(std::string("atom.") + operation);
    return names;
}

Decoded decode(const std::string& name, Operation run) {
    Decoded decoded;
    decoded.run = run;
    if (run != nullptr) return decoded;
    static const std::pair<const char*, Control> controls[] = {
        {"bra", BRANCH_TO},
        {"brx.idx", BRANCH_BY_INDEX},
        {"call", CALL},
        {"ret", RETURN},
        {"exit", EXIT},
        {"trap", TRAP_HERE},
        {"brkpt", TRAP_HERE},
        {"bar.sync", BARRIER_SYNC},
        {"bar.arrive", BARRIER_ARRIVE},
        {"fence", FENCE},
        {"activemask", ACTIVE_MASK},
        {"mov.clock", CLOCK},
        {"mov.local", LOCAL_ADDRESS},
    };
    decoded.control = NOTHING;
    for (const auto& [known, control] : controls)
        if (name == known) decoded.control = control;
    if (name == "ld" || name == "ldu") decoded.control = MACHINE, decoded.machine = run_load;
    if (name == "st") decoded.control = MACHINE, decoded.machine = run_store;
    if (name.rfind("bar.red.", 0) == 0) {
        decoded.control = BARRIER_REDUCE;
        decoded.detail = name == "bar.red.popc" ? 0 : name == "bar.red.and" ? 1 : 2;
    }
    if (name.rfind("atom.", 0) == 0)
        for (std::size_t k = 0; k < std::size(atomic_names); ++k)
            if (name.substr(5) == atomic_names[k])
                decoded.control = ATOMIC_UPDATE, decoded.detail = static_cast<std::uint8_t>(k);
    if (const WarpOperation* operation = warp_operation(name))
        decoded.control = MEET, decoded.meeting = operation;
    if (MachineOperation operation = other_operation(name))
        decoded.control = MACHINE, decoded.machine = operation;
    return decoded;
}
