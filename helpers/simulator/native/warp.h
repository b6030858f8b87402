// warp.h -- where the lanes of a warp wait for each other: __syncwarp, shuffles, ballots, __activemask
//
// A lane that comes to a warp operation leaves its value and waits. When every lane of its mask that has not exited waits there too,
// each gets the values of all of them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "findings.h"

constexpr std::size_t exchange_limit = 4096;    // bytes that a lane can hand over

struct Meeting {    // what a lane waits for; lies on its stack
    enum Kind : std::uint8_t { SYNC, EXCHANGE, ACTIVE } kind = SYNC;
    std::uint32_t mask = 0, line = 0;
    std::uint64_t pc = 0;
    const void* mine = nullptr;    // EXCHANGE: this lane's bytes, and room for those of all 32
    void* all = nullptr;
    std::size_t bytes = 0;
    std::uint32_t participants = 0;

    bool same_as(const Meeting& other) const { return kind == other.kind && mask == other.mask && bytes == other.bytes; }
};

// Lane k of my warp came before me with all it did up to its clock `after[k]`.
using LaneClocks = std::array<std::uint32_t, 32>;

class Meetings {
public:
    std::array<Meeting*, 32> waiting{};    // by lane; null: elsewhere
    std::uint32_t live = 0;                // lanes that exist and have not exited

    // The lanes that can go on now with lane `lane`: all that its mask asks for are there. 0: not yet.
    std::uint32_t complete(int lane) const {
        const Meeting& meeting = *waiting[lane];
        if (meeting.kind == Meeting::ACTIVE) return 0;
        std::uint32_t wanted = meeting.mask & live;
        for (std::uint32_t left = wanted; left != 0; left &= left - 1) {
            const Meeting* other = waiting[__builtin_ctz(left)];
            if (other == nullptr || !other->same_as(meeting)) return 0;
        }
        return wanted;
    }
    // Nobody else can run: the lanes that stand at the first __activemask() are together as far as anyone can tell.
    std::uint32_t at_first_activemask() const {
        std::uint64_t first = UINT64_MAX;
        std::uint32_t lanes = 0;
        for (int lane = 0; lane < 32; ++lane) {
            if (waiting[lane] == nullptr || waiting[lane]->kind != Meeting::ACTIVE || waiting[lane]->pc > first) continue;
            if (waiting[lane]->pc < first) first = waiting[lane]->pc, lanes = 0;
            lanes |= 1u << lane;
        }
        return lanes;
    }
    // Hands everybody's bytes to everybody.
    void exchange(std::uint32_t lanes) {
        const Meeting& first = *waiting[__builtin_ctz(lanes)];
        std::size_t bytes = first.bytes;
        if (bytes > 0) {
            auto* gathered = static_cast<char*>(first.all);
            if (lanes != UINT32_MAX) std::memset(gathered, 0, 32 * bytes);
            for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
                int lane = __builtin_ctz(left);
                std::memcpy(gathered + lane * bytes, waiting[lane]->mine, bytes);
            }
        }
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            Meeting& meeting = *waiting[__builtin_ctz(left)];
            meeting.participants = lanes;
            if (bytes > 0 && meeting.all != first.all) std::memcpy(meeting.all, first.all, 32 * bytes);
        }
    }
};
