// joins.h -- where lanes of a warp that parted meet again; included by the files of the scheduler
//
// A join knows the lanes that must come to it (`expected`), those that wait there (`arrived`), and
// those that go on behind it when they come (`passing`).
#pragma once
#include <cstddef>

#include "paths.h"

// Opens a join at which these lanes meet, inside the join `outer`. Returns its number.
inline std::int32_t open_join(Warp& warp, Join::Kind kind, std::int32_t pc, std::int32_t outer,
                              std::uint32_t expected, Frame* frame) {
    std::size_t at = 0;
    while (at < warp.joins.size() && warp.joins[at].used) ++at;
    if (at == warp.joins.size()) warp.joins.emplace_back();
    Join& join = warp.joins[at];
    join.kind = kind, join.pc = pc, join.outer = outer, join.expected = expected, join.arrived = 0,
    join.passing = 0, join.frame = frame;
    join.used = true;
    return static_cast<std::int32_t>(at);
}

// Returns the instruction at which the running path waits for the others, -1 if there is none.
inline std::int32_t join_pc(const Warp& warp, std::int32_t join) {
    return join >= 0 && warp.joins[join].kind == Join::BRANCH_JOIN ? warp.joins[join].pc : -1;
}

// Makes a path of lanes that go on behind a join.
inline void go_on_behind(Warp& warp, const Join& join, std::uint32_t lanes) {
    Path path;
    path.lanes = lanes, path.pc = join.pc, path.join = join.outer, path.frame = join.frame;
    warp.paths.push_back(path);
}

// If all lanes that must come to a join are there, one path goes on. It does not wait for lanes that
// rest at a YIELD. Returns whether it goes on.
inline bool complete_join(Warp& warp, std::int32_t index) {
    Join& join = warp.joins[index];
    const std::uint32_t lanes = join.arrived, late = join.expected & ~lanes;
    if (!join.used || (late & ~warp.resting) || (late != 0 && lanes == 0)) return false;
    join.passing |= late;
    join.expected = join.arrived = 0, join.used = join.passing != 0;
    if (lanes != 0) go_on_behind(warp, join, lanes);
    return lanes != 0;
}

// Lanes of the running path come to a join and are no longer its own. They wait there, or go on in
// a path of their own. Returns whether lanes go on behind it.
inline bool arrive(Warp& warp, std::int32_t index, std::uint32_t lanes) {
    Join& join = warp.joins[index];
    const std::uint32_t passing = lanes & join.passing;
    join.arrived |= lanes & ~passing, join.passing &= ~passing;
    if (passing != 0) go_on_behind(warp, join, passing);
    return complete_join(warp, index) || passing != 0;
}

inline void remove_path(Warp& warp, std::size_t index) {
    warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(index));
}

// Lets paths run on together that have waited for each other: those at one instruction, inside the
// same joins, of which `have_met` is true.
template <class HaveMet> void unite_paths(Warp& warp, HaveMet have_met) {
    for (std::size_t k = 0; k < warp.paths.size(); ++k)
        for (std::size_t j = warp.paths.size() - 1; j > k; --j) {
            Path& path = warp.paths[k];
            const Path& other = warp.paths[j];
            if (path.pc != other.pc || path.join != other.join || path.frame != other.frame ||
                !have_met(path, other))
                continue;
            path.lanes |= other.lanes, path.waiting |= other.waiting;
            remove_path(warp, j);
        }
}

// Strikes lanes out of `join` and of the joins around it, because they will not come there. They
// may still come to `end`.
inline void leave_joins(Warp& warp, std::int32_t join, std::int32_t end, std::uint32_t lanes) {
    while (join >= 0 && join != end) {
        const std::int32_t outer = warp.joins[join].outer;
        warp.joins[join].expected &= ~lanes, warp.joins[join].passing &= ~lanes;
        complete_join(warp, join);
        join = outer;
    }
}

// The lanes that do not take part in a guarded call or barrier go on behind it (calls.cpp).
void split_off(Warp& warp, std::int32_t pc, std::uint32_t lanes, bool joined);
