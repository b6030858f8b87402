// warp_operations.cpp -- shuffles, votes, matches and reductions between the lanes of a mask
#include <algorithm>

#include "machine.h"

namespace {

using std::int32_t;
using std::uint32_t;
using std::uint64_t;

void put_values(Warp& warp, int32_t slot, uint32_t lanes, const uint32_t* values) {
    if (slot < 0) return;
    auto* to = warp.at<uint32_t>(slot);
    for_lanes(lanes, [&](int lane) { to[lane] = values[lane]; });
}
void put_predicate(Warp& warp, int32_t slot, uint32_t lanes, uint32_t bits) {
    if (slot < 0) return;
    uint32_t& to = warp.predicate(slot);
    to = (to & ~lanes) | (bits & lanes);
}

// ---- shuffles: d, p, a, b, c ----

void stage_shuffle(Warp& warp, const Instruction& i, uint32_t lanes) {
    const auto* a = warp.at<uint32_t>(i.operand[2]);
    for_lanes(lanes, [&](int lane) { warp.stage[lane] = a[lane]; });
    if (UNLIKELY(!warp.marks.empty() || warp.has_staged_marks)) stage_marks(warp, i, lanes, 2);
}

enum Shuffle { UP, DOWN, BUTTERFLY, INDEX };

template <Shuffle kind>
bool shuffle(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes,
             uint32_t participants) {
    const auto* b = warp.at<uint32_t>(i.operand[3]);
    const auto* c = warp.at<uint32_t>(i.operand[4]);
    uint32_t values[WARP_SIZE], inside = 0;
    int source[WARP_SIZE];
    std::array<uint32_t, WARP_SIZE> nothing{};    // origins of what a lane takes from no lane
    bool any_nothing = false;
    for_lanes(lanes, [&](int lane) {    // as the pseudo code of the PTX manual
        const int by = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
        const int segments = static_cast<int>(c[lane] >> 8 & 31);
        const int most = (lane & segments) | (clamp & ~segments), least = lane & segments;
        int from = kind == UP          ? lane - by
                   : kind == DOWN      ? lane + by
                   : kind == BUTTERFLY ? lane ^ by
                                       : least | (by & ~segments);
        const bool good = kind == UP ? from >= most : from <= most;
        if (!good) from = lane;
        inside |= static_cast<uint32_t>(good) << lane;
        const bool takes_part = participants >> from & 1;
        source[lane] = takes_part ? from : -1;
        values[lane] = takes_part ? static_cast<uint32_t>(warp.stage[from]) : 0;
        if (takes_part || !(w.observe & BARRIERS)) return;
        Finding finding;
        finding.kind = INACTIVE_LANE, finding.offset = from;
        finding.here = w.place(warp, lane, pc, LOAD);
        if (!(w.observe & INITIALISATION)) return w.findings.add(finding);
        // The value is undefined, and a lane may leave it unused.
        nothing[lane] = w.origins.add(finding, 0), any_nothing = true;
    });
    put_values(warp, i.operand[0], lanes, values);
    put_predicate(warp, i.operand[1], lanes, inside);
    if (UNLIKELY(warp.has_staged_marks || any_nothing))
        take_staged_marks(warp, i, lanes, source, nothing);
    return true;
}

// ---- votes: d, p ----

void stage_vote(Warp& warp, const Instruction& i, uint32_t lanes) {
    const uint32_t bits = warp.predicate(i.operand[1]);
    for_lanes(lanes, [&](int lane) { warp.stage[lane] = bits >> lane & 1; });
}
uint32_t votes(const Warp& warp, uint32_t participants) {
    uint32_t bits = 0;
    for_lanes(participants,
              [&](int lane) { bits |= static_cast<uint32_t>(warp.stage[lane] & 1) << lane; });
    return bits;
}
enum Vote { ALL, ANY, UNI };
template <Vote kind>
bool vote(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
          uint32_t participants) {
    const uint32_t bits = votes(warp, participants);
    const bool result = kind == ALL   ? bits == participants
                        : kind == ANY ? bits != 0
                                      : bits == participants || bits == 0;
    put_predicate(warp, i.operand[0], lanes, result ? ALL_LANES : 0);
    return true;
}
bool ballot(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
            uint32_t participants) {
    uint32_t values[WARP_SIZE];
    std::fill_n(values, WARP_SIZE, votes(warp, participants));
    put_values(warp, i.operand[0], lanes, values);
    return true;
}

// ---- matches: any: d, a; all: d, p, a ----

template <int operand> void stage_match(Warp& warp, const Instruction& i, uint32_t lanes) {
    const bool wide = i.type == B64 || i.type == U64 || i.type == S64;
    for_lanes(lanes, [&](int lane) {
        warp.stage[lane] = wide ? warp.at<uint64_t>(i.operand[operand])[lane]
                                : warp.at<uint32_t>(i.operand[operand])[lane];
    });
}
bool match_any(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
               uint32_t participants) {
    uint32_t values[WARP_SIZE];
    for_lanes(lanes, [&](int lane) {
        values[lane] = 0;
        for_lanes(participants, [&](int other) {
            values[lane] |= static_cast<uint32_t>(warp.stage[other] == warp.stage[lane]) << other;
        });
    });
    put_values(warp, i.operand[0], lanes, values);
    return true;
}
bool match_all(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
               uint32_t participants) {
    const uint64_t first = warp.stage[__builtin_ctz(participants)];
    bool equal = true;
    for_lanes(participants, [&](int lane) { equal &= warp.stage[lane] == first; });
    uint32_t values[WARP_SIZE];
    std::fill_n(values, WARP_SIZE, equal ? participants : 0);
    put_values(warp, i.operand[0], lanes, values);
    put_predicate(warp, i.operand[1], lanes, equal ? ALL_LANES : 0);
    return true;
}

// ---- reductions: d, a ----

enum Reduction { SUM, LEAST, MOST, BITS_AND, BITS_OR, BITS_XOR };

void stage_reduction(Warp& warp, const Instruction& i, uint32_t lanes) {
    const auto* a = warp.at<uint32_t>(i.operand[1]);
    for_lanes(lanes, [&](int lane) { warp.stage[lane] = a[lane]; });
}
template <Reduction kind>
bool reduce(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
            uint32_t participants) {
    auto result = static_cast<uint32_t>(warp.stage[__builtin_ctz(participants)]);
    const bool is_signed = i.type == S32;
    for_lanes(participants & (participants - 1), [&](int lane) {
        const auto value = static_cast<uint32_t>(warp.stage[lane]);
        const bool less =
            is_signed ? static_cast<int32_t>(value) < static_cast<int32_t>(result) : value < result;
        switch (kind) {
            case SUM: result += value; break;
            case LEAST: result = less ? value : result; break;
            case MOST: result = less ? result : value; break;
            case BITS_AND: result &= value; break;
            case BITS_OR: result |= value; break;
            default: result ^= value;
        }
    });
    uint32_t values[WARP_SIZE];
    std::fill_n(values, WARP_SIZE, result);
    put_values(warp, i.operand[0], lanes, values);
    return true;
}

// ---- one lane of the mask: d, p ----

void stage_nothing(Warp&, const Instruction&, uint32_t) {}
bool elect(Worker&, Warp& warp, const Instruction& i, int32_t, uint32_t lanes,
           uint32_t participants) {
    const auto leader = static_cast<uint32_t>(__builtin_ctz(participants));
    uint32_t values[WARP_SIZE];
    std::fill_n(values, WARP_SIZE, leader);
    put_values(warp, i.operand[0], lanes, values);
    put_predicate(warp, i.operand[1], lanes, 1u << leader);
    return true;
}
bool wait(Worker&, Warp&, const Instruction&, int32_t, uint32_t, uint32_t) { return true; }

struct Named {
    const char* name;
    WarpOperation operation;
};
const Named table[] = {
    {"shfl.up", {stage_shuffle, shuffle<UP>, 5, false, 3}},
    {"shfl.down", {stage_shuffle, shuffle<DOWN>, 5, false, 3}},
    {"shfl.bfly", {stage_shuffle, shuffle<BUTTERFLY>, 5, false, 3}},
    {"shfl.idx", {stage_shuffle, shuffle<INDEX>, 5, false, 3}},
    {"vote.all", {stage_vote, vote<ALL>, 2, false}},
    {"vote.any", {stage_vote, vote<ANY>, 2, false}},
    {"vote.uni", {stage_vote, vote<UNI>, 2, false}},
    {"vote.ballot", {stage_vote, ballot, 2, false}},
    {"match.any", {stage_match<1>, match_any, 2, false}},
    {"match.all", {stage_match<2>, match_all, 3, false}},
    {"redux.add", {stage_reduction, reduce<SUM>, 2, false}},
    {"redux.min", {stage_reduction, reduce<LEAST>, 2, false}},
    {"redux.max", {stage_reduction, reduce<MOST>, 2, false}},
    {"redux.and", {stage_reduction, reduce<BITS_AND>, 2, false}},
    {"redux.or", {stage_reduction, reduce<BITS_OR>, 2, false}},
    {"redux.xor", {stage_reduction, reduce<BITS_XOR>, 2, false}},
    {"elect", {stage_nothing, elect, 2, false}},
    {"bar.warp.sync", {stage_nothing, wait, 0, true}},
};

const bool registered = [] {
    for (const Named& one : table) {
        add_operation(one.name, MEET);
        operations().back().decoded.meeting = &one.operation;
    }
    return true;
}();

}    // namespace
