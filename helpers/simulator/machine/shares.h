// shares.h -- observer: how the work of a launch lies, as the busiest thread, warp and block of all
// its blocks show it
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "memory.h"
#include "operations.h"

// The most that one warp, thread or block of the launch did. library.py declares the same layout.
struct Busiest {
    std::uint64_t steps_of_warp = 0, steps_of_block = 0;    // instructions
    std::uint64_t loads_of_warp = 0;    // requests that load from global memory, and bulk copies
    // Words of 4 bytes that threads of one block read from shared memory one after another: between
    // two barriers those of the busiest thread.
    std::uint64_t words_in_a_row = 0;
};
// What stores and atomics write to one array of global memory. library.py declares the same layout.
struct StoreShare {
    std::uint32_t region = 0, reserved = 0;
    std::uint64_t of_warp = 0, of_block = 0;    // bytes: the most of one
    std::uint64_t warps = 0;    // how many warps store at all
};

class Shares {
public:
    static constexpr std::size_t most_warps = 32;    // of a block

    void begin_launch() { busiest_ = {}, stores_.clear(), of_block_.clear(); }
    void begin_block() {
        warps_.fill({}), steps_ = words_in_a_row_ = 0;
        for (OfBlock& one : of_block_) one.by_warp.fill(0), one.by_copies = 0;
    }
    // The threads have come to a barrier, or to their end.
    void end_phase() {
        std::uint64_t most = 0;
        for (OfWarp& one : warps_) {
            if (!one.reads) continue;
            keep(most, one.words_of_all + *std::max_element(one.words.begin(), one.words.end()));
            one.words_of_all = 0, one.words.fill(0), one.reads = false;
        }
        words_in_a_row_ += most;
    }
    void end_warp(std::uint32_t warp, std::uint64_t steps) {
        steps_ += steps;
        keep(busiest_.steps_of_warp, steps);
        keep(busiest_.loads_of_warp, warps_[warp].loads);
    }
    void end_block() {
        keep(busiest_.steps_of_block, steps_), steps_ = 0;
        keep(busiest_.words_in_a_row, words_in_a_row_), words_in_a_row_ = 0;
        for (const OfBlock& one : of_block_) {
            StoreShare share;
            share.region = one.region, share.of_block = one.by_copies;
            for (const std::uint64_t bytes : one.by_warp) {
                keep(share.of_warp, bytes);
                share.of_block += bytes, share.warps += bytes != 0;
            }
            if (share.of_block != 0) join(share);
        }
    }
    void load(std::uint32_t warp) { warps_[warp].loads += 1; }
    void read_shared(std::uint32_t warp, std::uint32_t lanes, std::uint32_t size) {
        const std::uint32_t words = (size + 3) / 4;
        OfWarp& own = warps_[warp];
        own.reads = true;
        if (lanes == ALL_LANES) own.words_of_all += words;
        else
            for (std::uint32_t left = lanes; left != 0; left &= left - 1)
                own.words[__builtin_ctz(left)] += words;
    }
    void store(std::uint32_t warp, std::uint32_t region, std::uint64_t bytes) {
        of(region).by_warp[warp] += bytes;
    }
    // A bulk copy has no warp: one thread starts it for all.
    void copy_out(std::uint32_t region, std::uint64_t bytes) { of(region).by_copies += bytes; }
    // Adds what another worker saw.
    void add(const Shares& other) {
        keep(busiest_.steps_of_warp, other.busiest_.steps_of_warp);
        keep(busiest_.steps_of_block, other.busiest_.steps_of_block);
        keep(busiest_.loads_of_warp, other.busiest_.loads_of_warp);
        keep(busiest_.words_in_a_row, other.busiest_.words_in_a_row);
        for (const StoreShare& one : other.stores_) join(one);
    }
    const Busiest& busiest() const { return busiest_; }
    const std::vector<StoreShare>& stores() const { return stores_; }

private:
    struct OfWarp {
        std::uint64_t loads = 0;
        std::uint64_t words_of_all = 0;    // of this phase
        std::array<std::uint64_t, WARP_SIZE> words{};    // by lane, beside those of all lanes
        bool reads = false;
    };
    struct OfBlock {    // stores of the running block to one array: bytes
        std::uint32_t region = 0;
        std::uint64_t by_copies = 0;
        std::array<std::uint64_t, most_warps> by_warp{};
    };
    Busiest busiest_;
    std::uint64_t steps_ = 0, words_in_a_row_ = 0;    // of the running block
    std::array<OfWarp, most_warps> warps_{};
    std::vector<OfBlock> of_block_;
    std::vector<StoreShare> stores_;

    static void keep(std::uint64_t& most, std::uint64_t value) { most = std::max(most, value); }
    OfBlock& of(std::uint32_t region) {
        for (OfBlock& one : of_block_)
            if (one.region == region) return one;
        of_block_.emplace_back();
        of_block_.back().region = region;
        return of_block_.back();
    }
    void join(const StoreShare& one) {
        for (StoreShare& own : stores_)
            if (own.region == one.region) {
                keep(own.of_warp, one.of_warp), keep(own.of_block, one.of_block);
                own.warps += one.warps;
                return;
            }
        stores_.push_back(one);
    }
};
