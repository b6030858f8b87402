// joins.h -- where lanes of a warp that parted meet again; included by the files of the scheduler
//
// A join knows the lanes that can come to it (`expected`) and those that wait there (`arrived`).
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
    join.frame = frame;
    join.used = true;
    return static_cast<std::int32_t>(at);
}

// Returns the instruction at which the running path waits for the others, -1 if there is none.
inline std::int32_t join_pc(const Warp& warp, std::int32_t join) {
    return join >= 0 && warp.joins[join].kind == Join::BRANCH_JOIN ? warp.joins[join].pc : -1;
}

// If all lanes that can come to a join are there, one path goes on. Returns whether it does.
inline bool complete_join(Warp& warp, std::int32_t index) {
    Join& join = warp.joins[index];
    if (!join.used || join.arrived != join.expected) return false;
    join.used = false;
    if (join.expected == 0) return false;
    Path path;
    path.lanes = join.arrived, path.pc = join.pc, path.join = join.outer, path.frame = join.frame;
    warp.paths.push_back(path);
    return true;
}

inline void remove_path(Warp& warp, std::size_t index) {
    warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(index));
}

// Strikes lanes out of `join` and of the joins around it, because they will not come there. They
// may still come to `end`.
inline void leave_joins(Warp& warp, std::int32_t join, std::int32_t end, std::uint32_t lanes) {
    while (join >= 0 && join != end) {
        const std::int32_t outer = warp.joins[join].outer;
        warp.joins[join].expected &= ~lanes;
        complete_join(warp, join);
        join = outer;
    }
}

// The lanes that do not take part in a guarded call or barrier go on behind it (calls.cpp).
void split_off(Warp& warp, std::int32_t pc, std::uint32_t lanes, bool joined);
