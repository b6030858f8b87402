// barriers.cpp -- barriers of a block: which threads wait, which go on, and faults of barriers
#include <algorithm>
#include <vector>

#include "joins.h"

namespace {

enum Reduction : std::uint8_t { COUNT_OF_TRUE, ALL_TRUE, ANY_TRUE };    // Decoded::detail

struct Waiting {
    Warp* warp;
    Path* path;
};

// Gives those threads their result that wait at a barrier which reduces.
void reduce(const Worker& w, const std::vector<Waiting>& those) {
    const auto reduces = [&](const Waiting& one) {
        return w.decoded[one.path->pc].control == BARRIER_REDUCE;
    };
    if (std::none_of(those.begin(), those.end(), reduces)) return;
    std::uint32_t count = 0, threads = 0;
    for (const Waiting& one : those)
        for_lanes(one.path->waiting, [&](int lane) {
            count += static_cast<std::uint32_t>(one.warp->stage[lane] & 1), ++threads;
        });
    for (const Waiting& one : those) {
        if (!reduces(one)) continue;
        const Path& path = *one.path;
        const Instruction& i = w.instruction(path.pc);
        const Decoded& decoded = w.decoded[path.pc];
        one.warp->enter(*path.frame);
        if (decoded.detail == COUNT_OF_TRUE) {
            auto* to = one.warp->at<std::uint32_t>(i.operand[0]);
            for_lanes(path.waiting, [&](int lane) { to[lane] = count; });
        } else {
            const bool result = decoded.detail == ALL_TRUE ? count == threads : count != 0;
            std::uint32_t& to = one.warp->predicate(i.operand[0]);
            to = (to & ~path.waiting) | (result ? path.waiting : 0);
        }
    }
}

// A barrier of all threads of the block: what comes before it is over.
void order_block(Worker& w) {
    w.turn = ++w.now;
    for (Warp& warp : w.warps) warp.clock.set_all(w.now);
}

// A barrier of some threads orders nothing for the others. arrived: what those threads had done
// that have only arrived.
void order_some(Worker& w, const std::vector<Waiting>& those, ThreadClocks& arrived) {
    for (const Waiting& one : those) release_clocks(w, *one.warp, one.path->waiting, arrived);
    for (const Waiting& one : those)
        for_lanes(one.path->waiting, [&](int lane) {
            w.async.order.acquire(arrived, one.warp->thread(lane), w.now);
        });
}

// Lets these threads go on.
void release(Worker& w, const std::vector<Waiting>& those) {
    reduce(w, those);
    if (w.recorder != nullptr)
        for (const Waiting& one : those)
            if (w.decoded[one.path->pc].control == BARRIER_REDUCE) {
                one.warp->enter(*one.path->frame);
                w.recorder->add(w, *one.warp, w.instruction(one.path->pc), one.path->pc,
                                one.path->waiting, FINISHES);
            }
    for (const Waiting& one : those) one.path->state = Path::READY, one.path->pc += 1;
    for (Warp& warp : w.warps)
        unite_paths(warp, [](const Path& one, const Path& other) {
            return one.state == Path::READY && other.state == Path::READY;
        });
    if (w.observe & INITIALISATION)
        for (Region* region : w.shared) Initialisation::settle(*region);
}

std::uint32_t group_of(const Worker& w, const Path& path) {
    return w.launch.program.place_groups[w.instruction(path.pc).place];
}
std::uint64_t caller_of(const Path& path) {
    return path.frame != nullptr && path.frame->caller != nullptr ? path.frame->call + 1 : 0;
}

const bool registered = [] {
    add_operation("bar.sync", BARRIER_SYNC), add_operation("bar.arrive", BARRIER_ARRIVE);
    add_operation("bar.red.popc", BARRIER_REDUCE, COUNT_OF_TRUE);
    add_operation("bar.red.and", BARRIER_REDUCE, ALL_TRUE);
    add_operation("bar.red.or", BARRIER_REDUCE, ANY_TRUE);
    return true;
}();

}    // namespace

void release_clocks(Worker& w, Warp& warp, std::uint32_t lanes, ThreadClocks& clocks) {
    ++w.now;
    for_lanes(lanes, [&](int lane) {
        warp.clock.set(lane, w.now);
        w.async.order.release(clocks, warp.thread(lane), w.now, warp.after[lane]);
    });
}

bool pass_barrier(Worker& w) {
    std::vector<Waiting> waiting;
    waiting.reserve(w.warps.size());
    bool exited = false;
    Place gone;
    for (Warp& warp : w.warps) {
        for (Path& path : warp.paths)
            if (path.state == Path::AT_BARRIER) waiting.push_back({&warp, &path});
        if (std::uint32_t out = warp.exist & ~warp.live; out != 0 && !exited)
            exited = true, gone = w.place(warp, __builtin_ctz(out), warp.exit_pc, LOAD);
    }
    if (waiting.empty()) return false;
    // Barriers with a number of threads: release those that have enough.
    const Waiting* plain = nullptr;    // the first at a barrier without a number
    for (const Waiting& one : waiting) {
        if (one.path->barrier_count == 0) {
            if (plain == nullptr) plain = &one;
            continue;
        }
        std::vector<Waiting> same;
        Arrivals& arrivals = w.arrivals[one.path->barrier];
        std::uint32_t threads = arrivals.threads;
        for (const Waiting& other : waiting)
            if (other.path->barrier == one.path->barrier && threads < one.path->barrier_count)
                same.push_back(other),
                    threads += static_cast<std::uint32_t>(__builtin_popcount(other.path->waiting));
        if (threads < one.path->barrier_count) continue;
        std::uint32_t live = 0;
        for (const Warp& warp : w.warps)
            live += static_cast<std::uint32_t>(__builtin_popcount(warp.live));
        const bool is_of_all = arrivals.threads == 0 && threads == live;
        if (is_of_all) order_block(w);
        else if (w.observe & RACES) order_some(w, same, arrivals.clocks);
        release(w, same);
        arrivals = {};
        return true;
    }
    Finding finding;
    auto place = [&](const Waiting& one) {
        Place here = waiting_place(w, *one.warp, *one.path);
        here.caller = caller_of(*one.path);
        return here;
    };
    const Waiting& first = plain == nullptr ? waiting.front() : *plain;
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
    if (plain == nullptr) {    // a barrier that will never have enough threads
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
    order_block(w);
    release(w, waiting);
    return true;
}
