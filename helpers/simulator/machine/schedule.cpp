// schedule.cpp -- runs the paths of a warp: branches, barriers, exits, and the turns of the paths

#include <algorithm>
#include <iterator>
#include <vector>

#include "joins.h"

namespace {

constexpr std::uint32_t patience =
    256;    // turns that lanes of a warp spin until the lanes that wait for them at a join go on

constexpr std::uint32_t looks_of_a_pace = 1024;    // at the clock, before it goes twice as fast
constexpr std::uint64_t last_tick = std::uint64_t(1) << 62;

// How often in a row this worker has looked at the clock, always at one instruction.
struct Looks {
    std::int32_t pc = -1;
    std::uint32_t count = 0;
};
thread_local Looks looks;

// ---- the instructions of a path ----

void fence(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    w.order.used = true;
    ++w.now;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        warp.clock.set(lane, w.now);
        const bool within_block = (i.flags & SCOPE_CTA) != 0;
        (within_block ? warp.fence[lane].block_clock : warp.fence[lane].clock) = w.now;
        w.order.fence(warp.thread(lane), w.now, within_block, pc);
    }
}

// The clock goes on with each look at it. A block that does nothing but look, at one instruction,
// waits for a time: then the clock goes faster and faster, up to its end.
void tick(Worker& w, std::int32_t pc) {
    looks.count = looks.pc == pc && w.ticks != 0 ? looks.count + 1 : 0, looks.pc = pc;
    if (w.ticks >= last_tick) return;
    const std::uint32_t doublings = std::min(looks.count / looks_of_a_pace, 61u);
    w.ticks = std::min(w.ticks + (std::uint64_t(1) << doublings), last_tick), w.has_changed = true;
}

// Lanes part at a branch. The running path keeps those that go on behind it. Returns whether other
// lanes go on behind a join first.
bool part(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t taken,
          std::uint32_t rest) {
    if (w.observe & TRAFFIC) w.traffic.parted(static_cast<std::uint32_t>(pc), taken);
    Path& path = warp.path();
    if (UNLIKELY(w.recorder != nullptr) && w.recorder->other_side_first(w, warp, pc, taken)) {
        Path later = path;    // neither side waits for the other behind the branch
        later.lanes = rest, later.pc = pc + 1;
        path.lanes = taken, path.pc = i.target;
        warp.paths.push_back(later);
        return false;
    }
    if (i.join >= 0 && join_pc(warp, path.join) != i.join)
        path.join = open_join(warp, Join::BRANCH_JOIN, i.join, path.join, path.lanes, path.frame);
    if (i.target == i.join) {
        path.lanes = rest, path.pc = pc + 1;
        return arrive(warp, path.join, taken);
    }
    if (pc + 1 == i.join) {
        path.lanes = taken, path.pc = i.target;
        return arrive(warp, path.join, rest);
    }
    Path other = path;
    other.lanes = taken, other.pc = i.target;
    path.lanes = rest, path.pc = pc + 1;
    warp.paths.push_back(other);
    return false;
}

// A branch by a table makes one path for each target. Returns false if an index is outside the
// table.
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
        Arrivals& arrivals = w.arrivals[number];
        w.has_changed = true;
        arrivals.threads += static_cast<std::uint32_t>(__builtin_popcount(lanes));
        if (w.observe & RACES) release_clocks(w, warp, lanes, arrivals.clocks);
        return;
    }
    if (lanes != warp.path().lanes) split_off(warp, pc, lanes, false);
    Path& path = warp.path();
    path.state = Path::AT_BARRIER;
    path.waiting = lanes, path.barrier = number, path.barrier_count = threads;
    if (reduces) {
        const std::uint32_t bits = warp.predicate(i.operand[3]);
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            warp.stage[lane] = bits >> lane & 1;
        }
    }
}

// Returns whether a way leads to the end of the function, and to nothing else.
bool only_ends(const Worker& w, std::int32_t pc) {
    for (;; ++pc) {
        const Instruction& i = w.launch.program.instructions[pc];
        const Control control = w.decoded[pc].control;
        if (control == EXIT || control == RETURN) return true;
        if (control == BRANCH_TO && i.guard == 0 && i.target > pc) pc = i.target - 1;
        else if (control != NOTHING) return false;
    }
}

// Lanes go on behind a branch in which others wait for them. The optimiser also joins the ends of
// lanes that return early, so only a rehearsal shows what the source does.
void note_passing(const Worker& w, Warp& warp, const Path& path) {
    if (w.launch.undo != AT_END || only_ends(w, path.pc)) return;
    for (const Path& waiting : warp.paths)
        if (waiting.state == Path::AT_MEETING) warp.passing_by |= waiting.mask & path.lanes;
}

// A lane may spin or wait for lanes that wait for it at a join. Since Volta such lanes go on
// without it. Returns true if there are some.
bool part_joins(const Worker& w, Warp& warp) {
    bool any = false;
    for (std::size_t k = 0; k < warp.joins.size(); ++k) {
        Join& join = warp.joins[k];
        if (!join.used || join.kind != Join::BRANCH_JOIN || join.arrived == 0) continue;
        Path path;
        path.lanes = join.arrived, path.pc = join.pc, path.join = join.outer,
        path.frame = join.frame;
        join.expected &= ~join.arrived, join.arrived = 0;
        note_passing(w, warp, path);
        warp.paths.push_back(path);
        any = true;
    }
    return any;
}

// Puts the running path first: the other paths of the warp run before it.
void put_first(Warp& warp) {
    const auto first = warp.paths.begin();
    const auto at = first + static_cast<std::ptrdiff_t>(warp.current);
    std::rotate(first, at, at + 1);
}

// Ends the turn of a path at a backward branch. It also ends the launch if it must stop. Returns
// true: other paths and warps come next.
bool out_of_turn(Worker& w, Warp& warp, std::int32_t pc) {
    begin_turn(w);
    if (stop_requested.load(std::memory_order_relaxed)) {
        w.fault(warp, __builtin_ctz(warp.path().lanes), pc, RUNAWAY);
        return true;
    }
    if (w.one_of_many && doubtful.load(std::memory_order_relaxed)) {
        w.give_up();
        return true;
    }
    if (warp.yielding && ++warp.yields % patience == 0) part_joins(w, warp);
    warp.yielding = false;
    return true;
}

// Returns the joins around a path, from the inside, before the first one that is also around the
// other path.
std::vector<std::int32_t> own_joins(const Warp& warp, std::int32_t join, std::int32_t other) {
    std::vector<std::int32_t> found;
    for (; join >= 0; join = warp.joins[join].outer) {
        std::int32_t at = other;
        while (at >= 0 && at != join) at = warp.joins[at].outer;
        if (at == join) break;
        found.push_back(join);
    }
    return found;
}

// Replaces a join by another one at the same instruction.
void replace_join(Warp& warp, std::int32_t from, std::int32_t to) {
    Join& old = warp.joins[from];
    Join& join = warp.joins[to];
    join.expected |= old.expected, join.arrived |= old.arrived, join.passing |= old.passing;
    old.used = false;
    for (Path& path : warp.paths)
        if (path.join == from) path.join = to;
    for (Join& inner : warp.joins)
        if (inner.used && inner.outer == from) inner.outer = to;
}

// Joins a path to another one at the same YIELD. Each is then inside the joins of both, because the
// machine code has opened them for both on the way there: they expect it. Returns whether it does;
// the order of the joins must be clear from their instructions.
bool unite(Warp& warp, Path& other, const Path& own) {
    const auto before = [&](std::int32_t a, std::int32_t b) {
        return warp.joins[a].pc < warp.joins[b].pc;
    };
    std::vector<std::int32_t> first = own_joins(warp, other.join, own.join);
    const std::vector<std::int32_t> second = own_joins(warp, own.join, other.join);
    if (!std::is_sorted(first.begin(), first.end(), before) ||
        !std::is_sorted(second.begin(), second.end(), before))
        return false;
    const std::int32_t outer = first.empty() ? other.join : warp.joins[first.back()].outer;
    std::vector<std::int32_t> all;
    std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(all),
               before);
    std::uint32_t lanes = other.lanes | own.lanes;
    std::int32_t inner = -1;
    for (const std::int32_t at : all) {
        if (inner >= 0 && warp.joins[inner].pc == warp.joins[at].pc) {
            replace_join(warp, at, inner);
        } else {
            if (inner >= 0) warp.joins[inner].outer = at;
            else other.join = at;
            inner = at;
        }
        Join& join = warp.joins[inner];
        join.expected |= lanes & ~join.passing, join.outer = outer;
        lanes |= join.expected | join.passing;
    }
    other.lanes |= own.lanes;
    return true;
}

// The running path has passed a YIELD (ptx/yields.py). It rests while the other paths of the warp run
// until they wait, end or rest too, and nobody waits for a path that rests. Paths that rest at the
// same YIELD go on together. All this is measured. Returns whether the path goes on at once.
bool yield(Warp& warp) {
    const Path own = warp.path();
    std::int32_t inner = own.join;
    bool united = false, others = false;
    for (std::size_t k = 0; k < warp.paths.size(); ++k) {
        Path& other = warp.paths[k];
        if (k == warp.current || other.state != Path::READY) continue;
        others = true;
        if (united || !(other.lanes & warp.resting) || other.pc != own.pc ||
            other.frame != own.frame)
            continue;
        united = unite(warp, other, own);
        if (united) inner = other.join;
    }
    if (united) remove_path(warp, warp.current);
    warp.resting |= own.lanes;
    for (std::int32_t at = inner; at >= 0; at = warp.joins[at].outer)
        others |= complete_join(warp, at);
    if (united) return false;
    if (others) put_first(warp);
    else warp.resting &= ~own.lanes;
    return !others;
}

// Before an instruction that is no plain operation: its marked operands are used (poison.h).
__attribute__((noinline)) void use_marks_of(Worker& w, Warp& warp, const Instruction& i,
                                            std::uint32_t lanes, const Decoded& decoded) {
    switch (decoded.control) {
        case MACHINE:    // loads and stores see to it themselves; of the others nothing is known
            if (decoded.machine == run_load || decoded.machine == run_store || decoded.only_looks)
                break;
            drop_marks(warp, i, lanes, 0, i.count);
            break;
        case DIVIDE: pass_marks(w, warp, i, lanes, decoded.passing); break;
        case ATOMIC_UPDATE:
            use_marks(w, warp, i, lanes, 0, 1);
            use_marks(w, warp, i, lanes, 1 + i.elements, i.count);
            drop_marks(warp, i, lanes, 1, 1 + i.elements);
            break;
        case MEET:
            use_marks(w, warp, i, lanes, decoded.meeting->first_used, i.count);
            drop_marks(warp, i, lanes, 0, 1);
            break;
        case BRANCH_BY_INDEX: use_marks(w, warp, i, lanes, 0, 1); break;
        case CALL:
            if (i.target == INT32_MIN) use_marks(w, warp, i, lanes, 0, 1);
            break;
        case CLOCK:
        case LOCAL_ADDRESS:
        case ACTIVE_MASK: drop_marks(warp, i, lanes, 0, 1); break;
        default: break;
    }
}

// Runs the warp's current path until it waits, ends, or has had its turn. Returns true if its turn
// was over before it waited or ended. records: the launch is recorded.
template <bool records> bool run_path(Worker& w, Warp& warp) {
    const Instruction* const code = w.launch.program.instructions;
    const Decoded* const decoded_code = w.decoded.data();
    std::uint64_t* const executed = w.executed.empty() ? nullptr : w.executed.data();
    std::int32_t pc = warp.path().pc, stop = join_pc(warp, warp.path().join);
    std::uint32_t active = warp.path().lanes;
    warp.resting &= ~active;
    warp.enter(*warp.path().frame);
    auto recorded = [&](const Instruction& i, std::uint32_t lanes) {
        if constexpr (records) w.recorder->end(w, warp, i, pc, lanes);
    };
    auto again = [&] {    // after the path itself has changed
        const Path& path = warp.path();
        pc = path.pc, active = path.lanes, stop = join_pc(warp, path.join);
        warp.enter(*path.frame);
    };
    for (;;) {
        if (UNLIKELY(pc == stop)) {
            const std::int32_t at = warp.path().join;
            Join& join = warp.joins[at];
            const std::uint32_t all = join.arrived | active;
            if (all != join.expected || UNLIKELY(join.passing != 0)) {
                remove_path(warp, warp.current);
                arrive(warp, at, active);
                return false;
            }
            join.used = false;    // the path that comes last goes on with all lanes
            Path& path = warp.path();
            path.lanes = all, path.join = join.outer, path.pc = pc;
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
        if constexpr (records) lanes = w.recorder->begin(w, warp, i, pc, active, lanes);
        if (UNLIKELY(executed != nullptr) && lanes != 0) ++executed[pc], ++warp.steps;
        if (LIKELY(decoded.control == COMPUTE)) {
            if (lanes != 0) {
                if (UNLIKELY(!warp.marks.empty())) pass_marks(w, warp, i, lanes, decoded.passing);
                decoded.run(warp, i, lanes);
                recorded(i, lanes);
            }
            ++pc;
            continue;
        }
        if (lanes == 0) {
            ++pc;
            continue;
        }
        if (UNLIKELY(!warp.marks.empty())) use_marks_of(w, warp, i, lanes, decoded);
        switch (decoded.control) {
            case DIVIDE:
                report_zero_divisors(w, warp, i, pc, lanes);
                decoded.run(warp, i, lanes);
                recorded(i, lanes);
                ++pc;
                break;
            case MACHINE:
                warp.path().pc = pc;
                if (UNLIKELY(w.overlaps.is_active())) w.overlaps.watch(w, warp, i, pc, lanes);
                if (UNLIKELY(w.watches_changes))    // loads and stores see to it themselves
                    w.has_changed |= decoded.machine != run_load && decoded.machine != run_store;
                if (!decoded.machine(w, warp, i, pc, lanes)) return false;
                recorded(i, lanes);
                ++pc;
                break;
            case ATOMIC_UPDATE:
                warp.path().pc = pc;
                if (UNLIKELY(w.overlaps.is_active())) w.overlaps.watch(w, warp, i, pc, lanes);
                if (!run_atomic(w, warp, i, pc, lanes, decoded.detail)) return false;
                recorded(i, lanes);
                ++pc;
                break;
            case BRANCH_TO: {
                const bool backward = i.target <= pc;
                if (lanes == active) {
                    pc = i.target;
                } else {
                    const bool others = part(w, warp, i, pc, lanes, active & ~lanes);
                    if (UNLIKELY(others)) return false;
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
            case MEET: {
                warp.path().pc = pc;
                const std::uint32_t done = warp.path().met ? warp.path().waiting : lanes;
                if (!meet(w, warp, i, pc, lanes, *decoded.meeting)) return false;
                recorded(i, done);
                ++pc;
                break;
            }
            case FENCE:
                fence(w, warp, i, pc, lanes);
                if (w.aborted) return false;
                ++pc;
                break;
            case TRAP_HERE: w.fault(warp, __builtin_ctz(lanes), pc, TRAP); return false;
            case CLOCK: {
                if (w.one_of_many) {
                    w.give_up();
                    return false;
                }
                tick(w, pc);
                const bool wide = i.type == U64 || i.type == B64 || i.type == S64;
                if (wide)
                    each_lane(warp.at<std::uint64_t>(i.operand[0]), lanes,
                              [&](int) { return w.ticks; });
                else
                    each_lane(warp.at<std::uint32_t>(i.operand[0]), lanes,
                              [&](int) { return static_cast<std::uint32_t>(w.ticks); });
                recorded(i, lanes);
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
                recorded(i, lanes);
                ++pc;
                break;
            }
            case ACTIVE_MASK:
                each_lane(warp.at<std::uint32_t>(i.operand[0]), lanes, [&](int) { return lanes; });
                recorded(i, lanes);
                ++pc;
                break;
            case YIELD:
                warp.path().pc = ++pc;
                if (!yield(warp)) return false;
                break;
            default:    // NOTHING
                ++pc;
        }
    }
}

const bool registered = [] {
    add_operation("bra", BRANCH_TO), add_operation("brx.idx", BRANCH_BY_INDEX);
    add_operation("call", CALL), add_operation("ret", RETURN), add_operation("exit", EXIT);
    add_operation("trap", TRAP_HERE), add_operation("brkpt", TRAP_HERE);
    add_operation("fence", FENCE), add_operation("activemask", ACTIVE_MASK);
    add_operation("mov.clock", CLOCK), add_operation("mov.local", LOCAL_ADDRESS);
    add_operation("yield", YIELD);
    for (const char* name : {"prefetch", "nanosleep", "griddepcontrol", "pmevent"})
        add_operation(name, NOTHING);
    return true;
}();

}    // namespace

void begin_turn(Worker& w) {
    w.steps += static_cast<std::uint64_t>(fuel_of_a_turn - w.fuel);
    w.fuel = fuel_of_a_turn;
    if (w.launch.step_limit != 0 && w.steps > w.launch.step_limit * fuel_of_a_turn)
        stop_requested = true;
}

bool run_warp(Worker& w, Warp& warp) {
    for (;;) {
        std::size_t next = warp.paths.size();
        while (next > 0 && warp.paths[next - 1].state != Path::READY) --next;
        if (next == 0) {
            bool meets = false;
            for (const Path& path : warp.paths) meets |= path.state == Path::AT_MEETING;
            if ((meets && settle_meetings(w, warp)) || part_joins(w, warp)) continue;
            if (!meets) return false;
            report_deadlock(w, warp);
            return false;
        }
        warp.current = next - 1;
        const bool interrupted =
            LIKELY(w.recorder == nullptr) ? run_path<false>(w, warp) : run_path<true>(w, warp);
        if (w.aborted) return false;
        if (interrupted) {    // next time the other paths of this warp come first
            put_first(warp);
            return true;
        }
    }
}
