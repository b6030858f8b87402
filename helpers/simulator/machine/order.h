// order.h -- the order that fences and atomics make between threads without any other order
//
// If a thread passes a __threadfence() and then updates a variable by an atomic, every thread that
// updates the same variable later sees all that the first one did before the fence. Locks use this,
// and kernels whose last block adds up the parts of all blocks.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "races.h"

// By lane of a thread's own warp: everything that lane k did before its clock `after[k]` comes
// before what the thread does now.
using LaneClocks = std::array<std::uint32_t, 32>;

// A thread's fence: it covers everything up to `clock` (0: nothing yet in this block), for its
// block alone or for the device.
struct Fence {
    std::uint32_t clock = 0, block_clock = 0;
};

// The order by fences and atomics. It is recorded only from the first __threadfence() of a launch
// on, so that a histogram costs nothing.
class Order {
public:
    bool used = false;    // a fence has been seen in this launch

    void begin_launch() { used = false, channels_.clear(), acquired_.clear(); }
    void begin_block() { acquired_.clear(); }

    // A thread that has passed `fence` updates the variable at `address`.
    void atomic(std::uintptr_t address, const Toucher& me, const Fence& fence,
                const LaneClocks& after) {
        Channel& channel = channels_[address];
        acquire(address, channel, me);
        channel.updates += 1;
        if (fence.clock != 0)
            channel.releases[me.block].push_back(
                {channel.updates, me.thread(), fence.clock, me.turn, false, after});
        if (fence.block_clock > fence.clock)
            channel.releases[me.block].push_back(
                {channel.updates, me.thread(), fence.block_clock, me.turn, true, after});
    }
    // Whether atomics order an earlier access to `address` before `me`.
    bool covers(const Earlier& earlier, std::uintptr_t address, const Toucher& me,
                const LaneClocks& after) const {
        for (const Acquire& mine : acquired_) {
            bool visible =
                mine.thread == me.thread() || mine.when < me.turn ||
                (mine.thread >> 5 == me.thread() >> 5 && mine.when < after[mine.thread & 31]);
            if (!visible) continue;
            if (mine.address == address && earlier.access == ATOMIC)
                return true;    // the variable itself, by its own order
            auto found = mine.channel->releases.find(earlier.block);
            if (found == mine.channel->releases.end()) continue;
            std::uint32_t thread = Toucher::thread_of(earlier.who);
            for (const Release& release : found->second) {
                if (release.number > mine.updates) break;
                if (release.within_block && earlier.block != me.block) continue;
                if (thread == release.thread ? earlier.when < release.fenced
                                             : earlier.when < release.turn ||
                                                   (thread >> 5 == release.thread >> 5 &&
                                                    earlier.when < release.after[thread & 31]))
                    return true;
            }
        }
        return false;
    }

private:
    struct Release {
        std::uint64_t number;    // of the channel's updates
        std::uint32_t thread, fenced, turn;
        bool within_block;        // a __threadfence_block(): other blocks may not rely on it
        LaneClocks after;
    };
    struct Channel {
        std::uint64_t updates = 0;
        std::unordered_map<std::uint32_t, std::vector<Release>> releases;    // by block
    };
    struct Acquire {
        std::uintptr_t address;
        const Channel* channel;
        std::uint64_t updates;    // how many came before
        std::uint32_t thread, when;
    };
    std::unordered_map<std::uintptr_t, Channel> channels_;
    std::vector<Acquire> acquired_;    // by this block

    void acquire(std::uintptr_t address, const Channel& channel, const Toucher& me) {
        for (Acquire& known : acquired_)
            if (known.address == address && known.thread == me.thread() && known.when == me.when) {
                known.updates = channel.updates;
                return;
            }
        acquired_.push_back({address, &channel, channel.updates, me.thread(), me.when});
    }
};
