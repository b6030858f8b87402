// order.h -- the order that fences and atomics make between threads without any other order
//
// If a thread passes a __threadfence() and then updates a variable by an atomic, every thread that
// updates the same variable later sees all that the first one did before the fence. Locks use this,
// and kernels whose last block adds up the parts of all blocks.
//
// A compare-and-swap or an exchange that changes the variable may take a lock. Its thread sees what
// the others did only after a fence of its own, or after a barrier.
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

constexpr std::uint64_t no_value = UINT64_MAX;    // of an access that leaves no value behind

// A lock that a thread has taken with no fence after it. fence: a __threadfence_block() that stands
// there, which is not enough between two blocks; -1: none.
struct Unfenced {
    std::int32_t pc = -1, fence = -1;
    bool is_known() const { return pc >= 0; }
};

// The order by fences and atomics. It is recorded only from the first __threadfence() of a launch
// on, so that a histogram costs nothing; where a kernel may take locks, from the beginning.
class Order {
public:
    bool used = false;    // a fence has been seen in this launch, or may order a lock

    void begin_launch(bool is_used) { used = is_used, channels_.clear(), acquired_.clear(); }
    void begin_block() { acquired_.clear(); }

    // A thread that has passed `fence` updates the variable at `address`. restored: the value that
    // it leaves there, so that it may give back a lock. changes: it leaves another value than it
    // has found. Otherwise it tells nobody anything, as a thread that looks at a flag again and
    // again.
    void atomic(std::uintptr_t address, const Toucher& me, const Fence& fence,
                const LaneClocks& after, std::uint64_t restored, bool changes) {
        Channel& channel = channels_[address];
        acquire(address, channel, me, changes);
        if (!changes) return;
        channel.updates += 1;
        if (fence.clock == 0 && fence.block_clock == 0) return;
        Release release{channel.updates, me.thread(), fence.clock, me.turn, false, Held(), after};
        if (const Acquire* taken = last_taken(address, me); taken && taken->held.before == restored)
            release.held = taken->held;
        if (fence.clock != 0) channel.releases[me.block].push_back(release);
        if (fence.block_clock > fence.clock) {
            release.fenced = fence.block_clock, release.within_block = true;
            channel.releases[me.block].push_back(release);
        }
    }
    // The update has changed the variable from `before`, so that its thread may hold a lock from
    // the clock `since` on. The last call of `atomic` was this thread's.
    void take(std::uintptr_t address, const Toucher& me, std::uint32_t since,
              std::uint64_t before) {
        for (Acquire& mine : acquired_)
            if (mine.address == address && mine.thread == me.thread() && mine.when == me.when)
                mine.held = {since, 0, 0, before, static_cast<std::int32_t>(Toucher::pc_of(me.who)),
                             -1};
    }
    // A thread passes a fence: it sees what the threads did that held its locks before.
    void fence(std::uint32_t thread, std::uint32_t clock, bool within_block, std::int32_t pc) {
        for (Acquire& mine : acquired_) {
            if (mine.thread != thread || mine.held.since == 0) continue;
            std::uint32_t& entered = within_block ? mine.held.block_entered : mine.held.entered;
            if (entered == 0) entered = clock;
            if (within_block) mine.held.fence = pc;
        }
    }
    // Whether atomics order an earlier access to `address` before `me`. unfenced: where given, gets
    // the lock that would do so if a fence came after it.
    bool covers(const Earlier& earlier, std::uintptr_t address, const Toucher& me,
                const LaneClocks& after, Unfenced* unfenced = nullptr) const {
        const bool is_same_block = earlier.block == me.block;
        for (const Acquire& mine : acquired_) {
            const bool is_after_barrier = mine.when < me.turn;
            const bool is_visible =
                mine.thread == me.thread() || is_after_barrier ||
                (mine.thread >> 5 == me.thread() >> 5 && mine.when < after[mine.thread & 31]);
            if (!is_visible) continue;
            if (mine.address == address && earlier.access == ATOMIC)
                return true;    // the variable itself, by its own order
            auto found = mine.channel->releases.find(earlier.block);
            if (found == mine.channel->releases.end()) continue;
            const bool has_entered = is_after_barrier || mine.held.since == 0 ||
                                     mine.held.is_entered(is_same_block);
            std::uint32_t thread = Toucher::thread_of(earlier.who);
            for (const Release& release : found->second) {
                if (release.number > mine.updates) break;
                if (release.within_block && !is_same_block) continue;
                if (thread == release.thread ? earlier.when >= release.fenced
                                             : earlier.when >= release.turn &&
                                                   (thread >> 5 != release.thread >> 5 ||
                                                    earlier.when >= release.after[thread & 31]))
                    continue;
                // The one that held the lock before may come second on a GPU.
                const bool was_outside = thread == release.thread &&
                                         release.held.is_before_entry(earlier.when, release.turn,
                                                                      is_same_block);
                if (has_entered && !was_outside) return true;
                if (unfenced != nullptr) {
                    const Held& held = has_entered ? release.held : mine.held;
                    *unfenced = {held.pc, held.fence};
                }
            }
        }
        return false;
    }

private:
    // A lock that a thread has taken: at which clock, at which clocks it has passed its first
    // fences after that, the variable's value before, the atomic, and a fence of the block.
    struct Held {
        std::uint32_t since = 0, entered = 0, block_entered = 0;
        std::uint64_t before = 0;
        std::int32_t pc = -1, fence = -1;

        bool is_entered(bool within_block) const {
            return entered != 0 || (within_block && block_entered != 0);
        }
        // Whether its thread made an access at the clock `when` with no fence since it took the
        // lock. turn: the clock of the last barrier before it gave the lock back.
        bool is_before_entry(std::uint32_t when, std::uint32_t turn, bool within_block) const {
            if (since == 0 || when < since || turn > since) return false;
            const bool is_in = entered != 0 && when >= entered;
            return !is_in && !(within_block && block_entered != 0 && when >= block_entered);
        }
    };
    struct Release {
        std::uint64_t number;    // of the channel's updates
        std::uint32_t thread, fenced, turn;
        bool within_block;        // a __threadfence_block(): other blocks may not rely on it
        Held held;    // the lock that it gives back
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
        Held held;    // since: 0 where it takes no lock
    };
    std::unordered_map<std::uintptr_t, Channel> channels_;
    std::vector<Acquire> acquired_;    // by this block

    void acquire(std::uintptr_t address, const Channel& channel, const Toucher& me, bool changes) {
        for (Acquire& known : acquired_) {
            if (known.address != address || known.thread != me.thread()) continue;
            if (known.when == me.when) {
                known.updates = channel.updates;
                return;
            }
            const bool is_news = known.updates != channel.updates || known.held.since != 0;
            if (!changes && !is_news) return;
        }
        acquired_.push_back({address, &channel, channel.updates, me.thread(), me.when, Held()});
    }
    const Acquire* last_taken(std::uintptr_t address, const Toucher& me) const {
        for (auto mine = acquired_.rbegin(); mine != acquired_.rend(); ++mine)
            if (mine->address == address && mine->thread == me.thread() && mine->held.since != 0)
                return &*mine;
        return nullptr;
    }
};
