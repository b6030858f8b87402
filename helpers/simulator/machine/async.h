// async.h -- copies that run beside the threads: cp.async, bulk copies, and the mbarriers that
// signal their arrival
//
// A copy's bytes arrive as late as possible: those of cp.async when the thread that started it has
// waited for it, those of a bulk copy when a thread waits at its mbarrier. Every earlier access to
// the target is too early; watch_copies_in_flight reports it.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "operations.h"
#include "order.h"

struct Worker;
struct Warp;

// A copy to shared memory by cp.async whose bytes have not arrived.
struct AsyncCopy {
    std::uint64_t target = 0;
    std::uint32_t size = 0, group = 0;    // group: of cp.async, by lane
    std::uint32_t number = 0;    // counts the copies of the block in their order
    std::uint32_t turn = 0;    // the clock at the block's last barrier before the copy
    std::int32_t pc = 0;
    std::uint8_t lane = 0;
    std::array<unsigned char, 16> bytes{};
};

// The copies that the lanes of a warp have started, and the groups that the lanes fill now.
struct AsyncCopies {
    std::vector<AsyncCopy> pending;
    std::array<std::uint32_t, WARP_SIZE> group{}, bulk_group{};
};

// A bulk copy on its way. A copy to shared memory ends at its mbarrier; a copy from shared memory
// ends when its thread has waited for its group.
struct BulkCopy {
    std::uint64_t target = 0, source = 0, barrier = 0;
    std::uint32_t size = 0, thread = 0, group = 0;
    std::int32_t pc = 0;
    bool to_shared = false;
    int reduction = -1;    // the operation that joins the bytes with the target's; -1 replaces them
    std::vector<unsigned char> bytes;    // to_shared: the bytes that will arrive
};

// cp.async.mbarrier.arrive: the thread arrives when its copies have arrived.
struct DeferredArrival {
    std::uint64_t barrier = 0;
    std::uint32_t thread = 0, number = 0;    // number: of the first copy that it does not wait for
    std::int32_t pc = 0;
};

using ThreadClocks = std::vector<std::uint32_t>;    // by thread of the block

struct Mbarrier {
    std::uint32_t count = 0,
                  pending =
                      0;    // arrivals that a phase needs; that the present one still waits for
    std::int64_t bytes =
        0;    // that it still waits for; below zero: they came before they were announced
    std::uint32_t phase = 0;
    std::int64_t waiter = -1;    // a thread that waits for the phase to end, and its instruction
    std::int32_t waits_at = 0;
    Earlier made{};    // its mbarrier.init
    ThreadClocks released, visible;    // released by arrivals; visible, as their phase has ended
};

// The order that mbarriers make between threads of a block. An arrival releases everything that its
// thread has done and knows; a thread that sees the end of the phase knows it, too.
class ArrivalOrder {
public:
    bool used() const { return !known_.empty(); }

    // A thread arrives at the clock `now`. after: what its warp's __syncwarp() has ordered.
    void release(ThreadClocks& released, std::uint32_t thread, std::uint32_t now,
                 const LaneClocks& after) const {
        raise(released, thread, now);
        each_known(thread, after, [&](const Known& known) { merge(released, known.clocks); });
        for (std::uint32_t lane = 0; lane < after.size(); ++lane)
            if (after[lane] != 0) raise(released, (thread & ~31u) + lane, after[lane]);
    }
    void acquire(const ThreadClocks& visible, std::uint32_t thread, std::uint32_t now) {
        Known& known = known_[thread];
        if (known.clocks.empty()) known.since = now;
        merge(known.clocks, visible);
    }
    // Whether mbarriers order an earlier access before the present one.
    bool covers(const Earlier& earlier, const Toucher& me, const LaneClocks& after) const {
        if (known_.empty() || earlier.block != me.block || (earlier.flags & Races::MANY_BLOCKS))
            return false;
        const std::uint32_t thread = Toucher::thread_of(earlier.who);
        // A cell keeps the clock of the last of several readers only. Then it is enough that this
        // thread knows of something that the other one did since the block's last barrier.
        const bool vague = earlier.access == LOAD && (earlier.flags & Races::MANY_THREADS);
        bool found = false;
        each_known(me.thread(), after, [&](const Known& known) {
            if (thread >= known.clocks.size()) return;
            found |= vague ? known.clocks[thread] >= me.turn : earlier.when < known.clocks[thread];
        });
        return found;
    }
    static void raise(ThreadClocks& clocks, std::uint32_t thread, std::uint32_t value) {
        if (clocks.size() <= thread) clocks.resize(thread + 1, 0);
        clocks[thread] = std::max(clocks[thread], value);
    }
    static void merge(ThreadClocks& clocks, const ThreadClocks& others) {
        if (clocks.size() < others.size()) clocks.resize(others.size(), 0);
        for (std::size_t k = 0; k < others.size(); ++k) clocks[k] = std::max(clocks[k], others[k]);
    }

private:
    struct Known {
        ThreadClocks clocks;    // everything that each thread did before its clock is known
        std::uint32_t since = 0;    // clock of the thread when it learned the first of them
    };
    std::unordered_map<std::uint32_t, Known> known_;    // by thread

    // What a thread knows, and what lanes of its warp knew before a __syncwarp() that it has
    // passed.
    template <class F> void each_known(std::uint32_t thread, const LaneClocks& after, F f) const {
        if (known_.empty()) return;
        if (auto own = known_.find(thread); own != known_.end()) f(own->second);
        for (std::uint32_t lane = 0; lane < after.size(); ++lane) {
            if (after[lane] == 0 || lane == (thread & 31)) continue;
            auto other = known_.find((thread & ~31u) + lane);
            if (other != known_.end() && other->second.since < after[lane]) f(other->second);
        }
    }
};

// Words of shared memory that pending copies will write, or still read.
class WordsInFlight {
public:
    void add(std::uint64_t offset, std::uint32_t size, bool written, int change) {
        const std::size_t end = (offset + size + 3) / 4;
        if (words_.size() < end) words_.resize(end);
        for (std::size_t k = offset / 4; k < end; ++k) {
            std::uint16_t& count = written ? words_[k].written : words_[k].read;
            count = static_cast<std::uint16_t>(count + change);
        }
    }
    bool meets(std::uint64_t offset, std::uint32_t size, bool writes) const {
        const std::size_t end = std::min<std::size_t>((offset + size + 3) / 4, words_.size());
        for (std::size_t k = offset / 4; k < end; ++k)
            if (words_[k].written != 0 || (writes && words_[k].read != 0)) return true;
        return false;
    }

private:
    struct Word {
        std::uint16_t written = 0, read = 0;
    };
    std::vector<Word> words_;
};

// The mbarriers and bulk copies of a block.
struct AsyncBarriers {
    std::unordered_map<std::uint64_t, Mbarrier> barriers;    // by address
    std::vector<std::uint64_t> former;    // addresses of mbarriers that mbarrier.inval has ended
    std::vector<BulkCopy> bulk;
    std::vector<DeferredArrival> deferred;
    std::size_t in_flight =
        0;    // copies that the accesses to shared memory may meet, of all warps
    WordsInFlight words;
    ArrivalOrder order;
    std::uint32_t copies = 0;    // by cp.async, so far
    std::uint32_t fruitless = 0;    // waits in a row without progress
    ThreadClocks proxy_fences;    // each thread's clock at its last fence.proxy.async
    ThreadClocks init_fences;    // and at its last fence.mbarrier_init
    std::uint32_t fenced_turn = 0;    // a fence.proxy.async came after the barrier at this clock
    std::vector<std::uint32_t>
        engine_clocks;    // at which bytes of bulk copies have been written, ascending
};

// Whether an access to shared memory meets a pending copy, which is a finding.
bool watch_copies_in_flight(Worker&, Warp&, std::uint32_t lanes, const std::uint64_t* addresses,
                            std::uint32_t size, std::int32_t pc, Access access);
// Ends the block: bulk copies for which no thread has waited are findings, because the shared
// memory belongs to another block now.
void watch_end_of_block(Worker&);
