// traffic.h -- observer: warp requests, sectors, wavefronts, bank conflicts, replays, barriers and
// divergent branches
//
// The rules of the counters. They equal the counters that Nsight Compute measured on an H200 for
// the launches of helpers/tools/counters.py.
//
// Global memory. A request moves each 32-byte sector once that one of its lanes accesses (measured
// for 1 to 16 bytes a lane).
//
// Shared memory has 32 banks of 4 bytes. A wavefront serves one word of each bank to any number of
// lanes. So a request of at most 4 bytes a lane needs as many wavefronts as the busiest bank has
// different words. The hardware splits 8 bytes a lane into two half warps and 16 bytes into four
// quarter warps; each part follows the same rule, and a part without an active lane costs nothing.
// The two halves of a load (and the two quarters of a half) are one part if the lanes of the whole
// warp agree in pairs: if each lane's neighbour (lane ^ 1), or each lane's next but one (lane ^ 2),
// is inactive or reads the same address. A conflict is a wavefront beyond the first of its part.
// Sometimes the hardware adds a wavefront for work that arrives at the same time; the simulator
// does not.
//
// Local memory. The same word of all lanes is a line of 128 bytes, so that lanes that access one
// place of their own memories need four sectors for 4 bytes a lane (measured, and for lanes at
// different places as well). An array for which ptxas finds registers costs nothing, and values
// that it moves here for want of registers are not counted.
//
// Constant memory serves all lanes with one word at once; each further word is a replay. This is
// measured for lanes that look up different words. A constant that ptxas puts into an instruction
// as an operand costs no request on a GPU.
//
// Copies. cp.async is a load from global memory; its writes are not counted. Past L1 (.cg) it moves
// a sector for each 32 bytes of its target that one line of 128 bytes of its source fills. Bulk
// copies are counted apart from the requests, as BULK_COPY: no counter of Nsight Compute has them.
//
// Atomics. In global memory the k-th lane that updates an address does so in the k-th turn, and
// every turn moves its sectors once. (Over a thousand random bins the hardware takes 1.5 % more,
// for an unknown reason.) In shared memory, lanes whose words are in one bank take turns, also
// those of one word. Additions of one are joined. A compare-and-swap takes two wavefronts a turn.
// If ptxas makes a loop of an atomic, each round counts: a load and a try of two wavefronts, in
// which one lane of each bank succeeds (8 bytes: one lane of each half warp, with two wavefronts
// for each half that has lanes left), or, for 16 bits, a compare-and-swap in which one lane of each
// word succeeds. If all lanes have one address, one lane often updates it for all. These rules are
// measured with one warp alone: if several warps meet a word, more tries fail.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "findings.h"
#include "memory.h"
#include "operations.h"
#include "shapes.h"
#include "shares.h"
#include "touched.h"

// What a site may hold beside findings.h's Access.
constexpr std::uint8_t BARRIER = 3, BRANCH = 4, BULK_COPY = 5;

// Sums over the requests that one instruction made to one array; for a barrier the warps that came
// to it, for a branch the times that lanes of one warp parted there. Of bulk copies that read global
// memory, lanes are words of 4 bytes. library.py declares the same layout.
struct Site {
    std::uint64_t pc = 0, next_pc = 0;
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0;
    std::uint64_t requests = 0, lanes = 0, bytes = 0, sectors = 0, wavefronts = 0,
                  conflicts = 0;    // bytes: what lanes asked for
    std::uint64_t replays = 0;    // constant memory: different words of a request, beyond the first
    std::uint64_t serialised =
        0;    // atomics: turns of the lanes that update one address, beyond the first
    std::uint64_t repeated =
        0;    // stores of the value that another thread has put there, in no order with this one

    void add(const Site& other) {
        requests += other.requests, lanes += other.lanes, bytes += other.bytes,
            sectors += other.sectors;
        wavefronts += other.wavefronts, conflicts += other.conflicts, replays += other.replays,
            serialised += other.serialised;
        repeated += other.repeated;
    }
};
struct WatchedLane {    // one lane of one request of a watched warp
    std::uint32_t request = 0, warp = 0;    // the request's number among those of its warp
    std::uint64_t pc = 0;
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0, lane = 0;
    std::uint32_t in_flight = 0;    // copies of its block that had not arrived
    std::int64_t offset = 0;
};

// The lanes that make one access together.
struct Request {
    const std::uint64_t* addresses;    // of all 32 lanes; those that take part count
    std::uint32_t lanes, pc;
    std::uint32_t size;    // bytes a lane moves
    std::uint32_t asked;    // bytes a lane asked for: less where ptxas widens an access
    std::uint8_t access;
    Region* region;    // of the first lane
    Region* const* regions;    // by lane where they stand in several arrays, else null
    Shapes shapes{};    // of the addresses, where all lanes stand in one array

    Region* of(int lane) const { return regions != nullptr ? regions[lane] : region; }
};

// What the lanes of a compare-and-swap of 16 bits compare with and put in its place.
struct Swaps {
    std::array<std::uint16_t, WARP_SIZE> compared, fresh;
};

// The values of a smallest or largest number of 64 bits: what each lane offers, and what its word
// holds, both turned so that the smaller one stays.
struct Offers {
    std::array<std::uint64_t, WARP_SIZE> offered, held;
};

// Counts how often it has seen each of at most 128 numbers. To clear it costs nothing.
class Tally {
public:
    void clear() {
        if (++now_ == 0) stamps_.fill(0), now_ = 1;
    }
    // How often `value` has been added, this time included.
    unsigned add(std::uint64_t value) {
        std::uint32_t at = static_cast<std::uint32_t>(value * 0x9E3779B97F4A7C15ull >> 56);
        for (; stamps_[at] == now_; at = (at + 1) & 255)
            if (values_[at] == value) return ++counts_[at];
        stamps_[at] = now_, values_[at] = value;
        return counts_[at] = 1;
    }

private:
    std::array<std::uint32_t, 256> stamps_{};
    std::array<std::uint64_t, 256> values_{};
    std::array<unsigned, 256> counts_{};
    std::uint32_t now_ = 0;
};

class Traffic {
public:
    Touched touched;
    Shares shares;

    static constexpr std::uint32_t watched_limit =
        4096;    // requests of a watched warp that are kept one by one
    static constexpr std::uint32_t all_warps = UINT32_MAX;    // in place of the watched warp

    void begin_launch(std::uint64_t watched_block, std::uint32_t watched_warp) {
        sites_.clear(), index_.clear(), watched_.clear(), recent_.fill({}), requests_seen_.fill(0);
        touched.clear(), shares.begin_launch();
        watched_block_ = watched_block, watched_warp_ = watched_warp;
    }
    // Whether the warp that makes the next request is watched. in_flight: copies of its block that
    // have not arrived.
    bool watches(std::uint64_t block, std::uint32_t warp, std::size_t in_flight) {
        requesting_ = warp;
        if (block != watched_block_) return false;
        in_flight_ = static_cast<std::uint32_t>(in_flight);
        return watched_warp_ == warp || watched_warp_ == all_warps;
    }

    void barrier(std::uint32_t pc, std::uint32_t lanes) {
        control(site_of(pc, BARRIER, nullptr, 0), lanes);
    }
    // `waiting`: the lanes that run later than the others.
    void parted(std::uint32_t pc, std::uint32_t waiting) {
        control(site_of(pc, BRANCH, nullptr, 0), waiting);
    }

    // One request, or, where lanes stand in several kinds of memory, one to each.
    void request(const Request& all, bool watched) {
        if (all.regions == nullptr) return one_kind(all, watched);
        for (int kind : {GLOBAL, SHARED, CONSTANT}) {
            Request part = all;
            part.lanes = 0, part.region = nullptr;
            for (std::uint32_t left = all.lanes; left != 0; left &= left - 1) {
                int lane = __builtin_ctz(left);
                if (kind_of(all.regions[lane]->space) != kind) continue;
                part.lanes |= 1u << lane;
                if (part.region == nullptr) part.region = all.regions[lane];
            }
            if (part.lanes != 0) one_kind(part, watched);
        }
    }
    // An atomic in the form that ptxas gives it. form: bits of AtomicForm; swaps: it is a
    // compare-and-swap; generic: the instruction names no state space; halves: the operands of a
    // compare-and-swap of 16 bits, else null; idle: lanes that leave their word as it is.
    void atomic(const Request& all, std::int32_t form, bool swaps, bool generic, bool watched,
                const Swaps* halves = nullptr, std::uint32_t idle = 0,
                Offers* offers = nullptr) {
        for (int kind : {GLOBAL, SHARED}) {
            Request part = all;
            part.lanes = 0, part.region = nullptr;
            for (std::uint32_t left = all.lanes; left != 0; left &= left - 1) {
                int lane = __builtin_ctz(left);
                if (kind_of(all.of(lane)->space) != kind) continue;
                part.lanes |= 1u << lane;
                if (part.region == nullptr) part.region = all.of(lane);
            }
            if (part.lanes == 0) continue;
            if ((form & ONE_LANE) || ((form & WHOLE_WARP) && part.lanes == ALL_LANES))
                part.lanes &= -part.lanes;
            const bool counted = !(
                generic &&
                kind == SHARED);    // generic atomics are no shared ones to the counter of requests
            if (form & WORD) swap_words(part, counted, watched, halves);
            else if (form & SPIN && kind == SHARED) spin(part, generic, idle, offers, watched);
            else one_atomic(part, form & JOINED, swaps, counted, watched);
        }
    }
    // A copy to shared memory past the cache of the multiprocessor (cp.async.cg): a sector for each
    // 32 bytes of the target that one line of 128 bytes fills. Measured.
    void copied(const Request& r, const std::uint64_t* targets, bool watched) {
        Site& site = entered(r);
        tally_.clear();
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            site.sectors +=
                tally_.add((targets[lane] >> 5) * 0x100000001B3ull ^ r.addresses[lane] >> 7) == 1;
            touched.add(*r.of(lane), r.addresses[lane], r.size, false);
        }
        if (watched) remember(r);
    }
    // An access of local memory. Its addresses are places in a lane's own memory.
    void local(const Request& r, bool watched) {
        Site& site = entered(r);
        tally_.clear();
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::uint64_t>(__builtin_ctz(left));
            const std::uint64_t place = (r.addresses[lane] - r.region->start) / r.size * r.size;
            for (std::uint64_t word = place >> 2; word <= (place + r.size - 1) >> 2; ++word)
                site.sectors += tally_.add((word << 7 | lane << 2) >> 5) == 1;
        }
        if (watched) remember(r);
    }
    // A bulk copy from global memory to shared memory.
    void copied_in(std::uint32_t pc, Region& region, std::uint64_t address, std::uint64_t size) {
        Site& site = site_of(pc, BULK_COPY, &region, 16);
        site.requests += 1, site.lanes += size / 4, site.bytes += size;
        site.sectors += (address + size - 1) / 32 - address / 32 + 1;
        touched.add(region, address, size, false);
    }
    // Adds bytes that another access moves, too. size: of a lane.
    void joined(const Request& r, std::uint32_t size) {
        site_of(r.pc, r.access, r.region, size).bytes +=
            std::uint64_t(__builtin_popcount(r.lanes)) * size;
    }
    void repeated(std::uint32_t pc, const Region* region, std::uint32_t size) {
        site_of(pc, STORE, region, size).repeated += 1;
    }
    const std::deque<Site>& sites() const { return sites_; }
    const std::vector<WatchedLane>& watched() const { return watched_; }
    // Adds what another worker counted. own_number: the number of its array in this worker, whose
    // shared memory has arrays of its own.
    template <class OwnNumber> void add(const Traffic& other, OwnNumber own_number) {
        for (Site site : other.sites_) {
            site.region = own_number(site.region);
            Site*& own =
                index_[key_of(static_cast<std::uint32_t>(site.pc), site.access, site.region)];
            if (own == nullptr) sites_.push_back(site), own = &sites_.back();
            else own->add(site);
        }
        for (WatchedLane lane : other.watched_) {    // all from one worker: it ran that block
            lane.region = own_number(lane.region);
            watched_.push_back(lane);
        }
        touched.add(other.touched);
        shares.add(other.shares);
    }
    // A load of all lanes with known shapes, of which the addresses of lanes 0 and 16 are there.
    // counts: else another access moves its bytes, too.
    void load_of_halves(const Request& r, bool counts) {
        Site& site = site_of(r.pc, LOAD, r.region, r.asked);
        site.bytes += std::uint64_t(WARP_SIZE) * r.asked;
        if (!counts) return;
        site.requests += 1, site.lanes += WARP_SIZE;
        share(r);
        switch (kind_of(r.region->space)) {
            case GLOBAL: add_sectors_of_halves(r, site); break;
            case SHARED: add_wavefronts(r, site); break;
            default: break;    // all lanes read one word
        }
    }
    // Whether the counters of a load of known shapes need more addresses than those of lanes 0 and
    // 16.
    static bool needs_all_lanes(const Region& region, std::uint32_t size, const Shapes& shapes) {
        switch (kind_of(region.space)) {
            case GLOBAL: return false;
            case SHARED: return size < 4 || size > 16;
            default: return shapes.warp() != UNIFORM;
        }
    }
    static int kind_of(std::uint32_t space) {
        return space == DYNAMIC_SHARED  ? int(SHARED)
               : space == DEVICE_GLOBAL ? int(GLOBAL)
                                        : static_cast<int>(space);
    }

private:
    struct Recent {
        std::uint64_t key = UINT64_MAX;
        Site* site = nullptr;
    };

    std::deque<Site> sites_;
    std::unordered_map<std::uint64_t, Site*> index_;
    std::array<Recent, 1024> recent_{};    // by instruction: most touch one array
    std::vector<WatchedLane> watched_;
    std::uint64_t watched_block_ = 0;
    std::uint32_t watched_warp_ = 0, requesting_ = 0, in_flight_ = 0;
    std::array<std::uint32_t, Shares::most_warps> requests_seen_{};    // by warp of the watched block
    Tally tally_, sectors_of_turn_;

    static void control(Site& site, std::uint32_t lanes) {
        site.requests += 1, site.lanes += __builtin_popcount(lanes);
    }

    static std::uint64_t key_of(std::uint32_t pc, std::uint32_t access, std::uint32_t region) {
        return (std::uint64_t(pc) << 3 | access) << 29 ^ region;
    }
    Site& site_of(std::uint32_t pc, std::uint8_t access, const Region* region, std::uint32_t size) {
        std::uint64_t key = key_of(pc, access, region != nullptr ? region->id : 0);
        Recent& recent = recent_[(pc ^ std::uint32_t(access) << 7) & (recent_.size() - 1)];
        if (recent.key == key) return *recent.site;
        Site*& site = index_[key];
        if (site == nullptr) {
            sites_.emplace_back();
            site = &sites_.back();
            site->pc = pc, site->access = access, site->size = size;
            if (region != nullptr) site->region = region->id, site->space = region->space;
        }
        recent = {key, site};
        return *site;
    }
    // The site of a lane: the request's own, unless the lane stands in another array.
    Site& owner(const Request& r, int lane, Site& site) {
        if (r.regions == nullptr || r.regions[lane]->id == site.region) return site;
        return site_of(r.pc, r.access, r.regions[lane], r.asked);
    }
    void one_kind(const Request& r, bool watched) {
        Site& site = entered(r);
        switch (kind_of(r.region->space)) {
            case GLOBAL:
                r.access == ATOMIC ? add_atomic_sectors(r, site) : add_sectors(r, site);
                break;
            case SHARED:
                r.access == ATOMIC ? add_turns_of_banks(r, 1, site) : add_wavefronts(r, site);
                break;
            default: add_replays(r, site);
        }
        if (r.access == ATOMIC) add_turns(r, site);
        if (watched) remember(r);
    }
    // The site of a request, with the request and its lanes added.
    Site& entered(const Request& r) {
        Site& site = site_of(r.pc, r.access, r.region, r.asked);
        site.requests += 1;
        share(r);
        if (r.regions == nullptr) {
            auto lanes = static_cast<std::uint64_t>(__builtin_popcount(r.lanes));
            site.lanes += lanes, site.bytes += lanes * r.asked;
        } else {
            for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
                Site& own = owner(r, __builtin_ctz(left), site);
                own.lanes += 1, own.bytes += r.asked;
            }
        }
        return site;
    }
    // Adds a request to what its warp does.
    void share(const Request& r) {
        const int kind = kind_of(r.region->space);
        if (kind == SHARED && r.access != STORE) shares.read_shared(requesting_, r.lanes, r.size);
        if (kind == GLOBAL && r.access == LOAD) shares.load(requesting_);
        if (kind != GLOBAL || r.access == LOAD) return;
        if (r.regions == nullptr)
            return shares.store(requesting_, r.region->id,
                                std::uint64_t(__builtin_popcount(r.lanes)) * r.asked);
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1)
            shares.store(requesting_, r.of(__builtin_ctz(left))->id, r.asked);
    }
    void one_atomic(const Request& r, bool joined, bool swaps, bool counted, bool watched) {
        if (kind_of(r.region->space) != SHARED) return one_kind(r, watched);
        Site& site = entered(r);
        if (!counted) site.requests -= 1;
        if (joined) add_wavefronts(r, site);
        else add_turns_of_banks(r, swaps ? 2 : 1, site);
        add_turns(r, site);
        if (watched) remember(r);
    }
    // Rounds of a load and a try. In each, one lane of each bank succeeds (8 bytes: of each half
    // warp, if the word is still what it loaded). A lane that offers no smaller number than its word
    // holds is done after the load.
    void spin(const Request& all, bool generic, std::uint32_t idle, Offers* offers, bool watched) {
        const bool wide = all.size == 8;
        bool first = true;
        for (std::uint32_t left = all.lanes; left != 0; first = false) {
            Request round = all;
            round.lanes = left, round.region = all.of(__builtin_ctz(left)), round.access = LOAD;
            one_kind(round, watched && first);
            if (offers != nullptr)
                for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
                    const int lane = __builtin_ctz(rest);
                    if (offers->offered[lane] >= offers->held[lane]) left &= ~(1u << lane);
                }
            if (left == 0) break;
            round.lanes = left, round.access = ATOMIC;
            std::uint32_t winners = 0;
            unsigned passes = 0;
            for (int half = 0; half < (wide ? 2 : 1); ++half) {
                const std::uint32_t part = wide ? 0xFFFFu << 16 * half : ALL_LANES;
                std::uint32_t banks = 0, won = 0;
                for (std::uint32_t rest = left & part; rest != 0; rest &= rest - 1) {
                    const int lane = __builtin_ctz(rest);
                    const std::uint32_t bank = 1u << (wide ? all.addresses[lane] >> 3 & 15
                                                           : all.addresses[lane] >> 2 & 31);
                    if (banks & bank) continue;
                    banks |= bank;
                    bool changed = false;
                    for (std::uint32_t earlier = winners & ~idle; earlier != 0;
                         earlier &= earlier - 1)
                        changed |= all.addresses[__builtin_ctz(earlier)] == all.addresses[lane];
                    if (!changed) won |= 1u << lane;
                }
                winners |= won;
                passes += (left & part) != 0 ? 2 : 0;
            }
            passes += generic && first;    // a generic atomic was tried before
            Site& site = entered(round);
            site.wavefronts += passes, site.conflicts += passes - 1u;
            if (watched && first) remember(round);
            if (offers != nullptr) keep_offers(all, winners, *offers);
            left &= ~winners;
        }
        add_turns(all, site_of(all.pc, ATOMIC, all.region, all.asked));
    }
    static void keep_offers(const Request& all, std::uint32_t winners, Offers& offers) {
        for (; winners != 0; winners &= winners - 1) {
            const int winner = __builtin_ctz(winners);
            for (std::uint32_t left = all.lanes; left != 0; left &= left - 1)
                if (const int lane = __builtin_ctz(left);
                    all.addresses[lane] == all.addresses[winner])
                    offers.held[lane] = offers.offered[winner];
        }
    }
    // A load of the words around values of 16 bits, and rounds of compare-and-swap: in each, one
    // lane of each word succeeds. Where the source's own operation is a compare-and-swap, a lane
    // has its answer when it has met the other half of its word as it expected it.
    void swap_words(const Request& all, bool counted, bool watched, const Swaps* halves) {
        std::uint64_t words[WARP_SIZE];
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            words[lane] = all.addresses[lane] & ~std::uint64_t(3);
        Request round = all;
        round.addresses = words, round.size = 4, round.access = LOAD;
        one_kind(round, false);
        round.access = ATOMIC;
        for (bool first = true; round.lanes != 0; first = false) {
            round.region = all.of(__builtin_ctz(round.lanes));
            one_atomic(round, false, true, counted, watched && first);
            if (halves != nullptr) {
                if (first) load_words(all, words);
                round.lanes &= ~swap_once(all.addresses, words, round.lanes, *halves);
                continue;
            }
            tally_.clear();
            std::uint32_t winners = 0;
            for (std::uint32_t left = round.lanes; left != 0; left &= left - 1)
                if (tally_.add(words[__builtin_ctz(left)]) == 1) winners |= left & -left;
            round.lanes &= ~winners;
        }
    }
    std::array<std::uint32_t, WARP_SIZE> expected_{};    // by lane: its word as it has seen it last
    std::array<std::pair<std::uint64_t, std::uint32_t>, WARP_SIZE>
        memory_{};    // the words of a request: address, value
    int memory_words_ = 0;

    void load_words(const Request& all, const std::uint64_t* words) {
        memory_words_ = 0;
        for (std::uint32_t left = all.lanes; left != 0; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            std::uint32_t value = 0;
            const bool whole =
                all.of(lane)->holds(words[lane], 4);    // the last half of an array may stand alone
            std::memcpy(reinterpret_cast<char*>(&value) + (whole ? 0 : all.addresses[lane] & 2),
                        reinterpret_cast<const void*>(whole ? words[lane] : all.addresses[lane]),
                        whole ? 4 : 2);
            expected_[lane] = value;
            int at = 0;
            while (at < memory_words_ && memory_[at].first != words[lane]) ++at;
            if (at == memory_words_) memory_[memory_words_++] = {words[lane], value};
        }
    }
    // One compare-and-swap of the words, lane by lane. Returns the lanes that have their answer.
    std::uint32_t swap_once(const std::uint64_t* addresses, const std::uint64_t* words,
                            std::uint32_t lanes, const Swaps& halves) {
        std::uint32_t done = 0;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            const int lane = __builtin_ctz(left), shift = (addresses[lane] & 2) != 0 ? 16 : 0;
            int at = 0;
            while (memory_[at].first != words[lane]) ++at;
            const std::uint32_t other = 0xFFFF0000u >> shift, there = memory_[at].second;
            const std::uint32_t compared =
                (expected_[lane] & other) | std::uint32_t(halves.compared[lane]) << shift;
            if (there == compared)
                memory_[at].second = (compared & other) | std::uint32_t(halves.fresh[lane])
                                                              << shift;
            if ((there & other) == (compared & other)) done |= 1u << lane;
            expected_[lane] = there;
        }
        return done;
    }
    // Lanes of one bank take turns, also those of one word.
    void add_turns_of_banks(const Request& r, unsigned each, Site& site) {
        const bool wide = r.size == 8;
        for (int half = 0; half < (wide ? 2 : 1); ++half) {
            std::array<std::uint8_t, 32> in_bank{};
            std::uint8_t most = 0;
            for (std::uint32_t left = r.lanes & (wide ? 0xFFFFu << 16 * half : ALL_LANES);
                 left != 0; left &= left - 1) {
                const std::uint64_t address = r.addresses[__builtin_ctz(left)];
                most = std::max(most, ++in_bank[wide ? address >> 3 & 15 : address >> 2 & 31]);
            }
            if (most == 0) continue;
            site.wavefronts += most * each, site.conflicts += most * each - 1u;
        }
    }
    // The k-th lane that updates an address does so in the k-th turn; each turn moves its sectors.
    void add_atomic_sectors(const Request& r, Site& site) {
        tally_.clear(), sectors_of_turn_.clear();
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            std::uint64_t turn = tally_.add(r.addresses[lane]);
            if (sectors_of_turn_.add(r.addresses[lane] >> 5 << 6 | turn) == 1)
                owner(r, lane, site).sectors += 1;
            touched.add(*r.of(lane), r.addresses[lane], r.size, false);
            touched.add(*r.of(lane), r.addresses[lane], r.size, true);
        }
    }
    // Different 32-byte sectors among the lanes.
    void add_sectors(const Request& r, Site& site) {
        if (r.shapes.known() && r.lanes == ALL_LANES) return add_sectors_of_halves(r, site);
        tally_.clear();
        std::uint64_t last = UINT64_MAX;
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            std::uint64_t sector = r.addresses[lane] >> 5,
                          end = (r.addresses[lane] + r.size - 1) >> 5;
            for (; sector <= end; ++sector) {
                if (sector == last) continue;    // most lanes follow their neighbour
                last = sector;
                if (tally_.add(sector) != 1) continue;
                owner(r, lane, site).sectors += 1;
                touched.add(*r.of(lane), sector << 5, 32, r.access == STORE);
            }
        }
    }
    // The same where each half warp accesses one place, or places one after another.
    void add_sectors_of_halves(const Request& r, Site& site) {
        struct Sectors {
            std::uint64_t first, last;
        };
        const auto sectors_of = [&](int h) -> Sectors {
            const std::uint64_t address = r.addresses[half_warp * h];
            return {address >> 5, (address + r.shapes.bytes(h, r.size) - 1) >> 5};
        };
        const auto add = [&](const Sectors& one) {
            const std::uint64_t count = one.last - one.first + 1;
            site.sectors += count;
            touched.add(*r.region, one.first << 5, count << 5, r.access == STORE);
        };
        Sectors low = sectors_of(0), high = sectors_of(1);
        if (high.first < low.first) std::swap(low, high);
        if (high.first <= low.last + 1) {    // they meet: one stretch
            low.last = std::max(low.last, high.last);
        } else {
            add(high);
        }
        add(low);
    }
    void add_wavefronts(const Request& r, Site& site) {
        if (r.size <= 4) {
            const bool in_halves = r.size == 4 && r.shapes.known() && r.lanes == ALL_LANES;
            unsigned deepest = in_halves ? depth_of_halves(r) : depth_of_words(r, r.lanes);
            site.wavefronts += deepest, site.conflicts += deepest - 1u;
            return;
        }
        if (r.shapes.known() && r.lanes == ALL_LANES && r.size <= 16) {
            const bool in_pairs = r.access == LOAD && r.shapes.half(0) == UNIFORM &&
                                  r.shapes.half(1) == UNIFORM;
            if (in_pairs && r.size == 8) {
                const unsigned deepest = depth_of_halves(r);
                site.wavefronts += deepest, site.conflicts += deepest - 1u;
            } else {    // each part has one place, or 128 bytes one after another
                site.wavefronts += (in_pairs ? 1 : 2) * r.size / 8;
            }
            return;
        }
        int whole = r.size <= 8 ? 32 : 16;
        const bool in_pairs = r.access == LOAD && agree_in_pairs(r, r.lanes);
        for (int first = 0; first < WARP_SIZE; first += whole) {
            std::uint32_t part = r.lanes & (whole == 32 ? ALL_LANES : 0xFFFFu << first);
            if (part == 0) continue;
            if (in_pairs) {
                add_part(r, part, site);
            } else {
                std::uint32_t low = part & (whole == 32 ? 0xFFFFu : 0xFFu << first);
                if (low != 0) add_part(r, low, site);
                if (part & ~low) add_part(r, part & ~low, site);
            }
        }
    }
    void add_part(const Request& r, std::uint32_t lanes, Site& site) {
        unsigned deepest = depth(r, lanes);
        site.wavefronts += deepest, site.conflicts += deepest - 1u;
    }
    // How many different words the busiest bank holds, for words of at most 4 bytes: without the
    // tally where no bank has two.
    unsigned depth_of_words(const Request& r, std::uint32_t lanes) {
        std::array<std::uint64_t, 32> in_bank;
        in_bank.fill(UINT64_MAX);
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            std::uint64_t word = r.addresses[__builtin_ctz(left)] >> 2, &known = in_bank[word & 31];
            if (known == UINT64_MAX) known = word;
            else if (known != word) return depth(r, lanes);
        }
        return 1;
    }
    // The same where each half warp accesses whole words one after another. Words share a bank if
    // a multiple of 32 words lies between them.
    static unsigned depth_of_halves(const Request& r) {
        const auto count = [&](int h) { return r.shapes.bytes(h, r.size) / 4; };
        const std::int64_t before = std::int64_t(count(1)) - 1;
        const auto apart = (static_cast<std::int64_t>(r.addresses[half_warp]) >> 2) -
                           (static_cast<std::int64_t>(r.addresses[0]) >> 2);
        const std::int64_t nearest = ((apart + before) & 31) - before;
        return nearest < std::int64_t(count(0)) && nearest != apart ? 2 : 1;
    }
    unsigned depth(const Request& r, std::uint32_t lanes) {
        std::array<std::uint8_t, 32> in_bank{};
        std::uint8_t deepest = 0;
        tally_.clear();
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            std::uint64_t address = r.addresses[__builtin_ctz(left)];
            for (std::uint64_t word = address >> 2; word <= (address + r.size - 1) >> 2; ++word)
                if (tally_.add(word) == 1) deepest = std::max(deepest, ++in_bank[word & 31]);
        }
        return deepest;
    }
    static bool agree_in_pairs(const Request& r, std::uint32_t lanes) {
        bool near = true, far = true;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            if (lanes >> (lane ^ 1) & 1) near &= r.addresses[lane] == r.addresses[lane ^ 1];
            if (lanes >> (lane ^ 2) & 1) far &= r.addresses[lane] == r.addresses[lane ^ 2];
        }
        return near || far;
    }
    void add_replays(const Request& r, Site& site) {
        if (r.shapes.warp() == UNIFORM) return;
        tally_.clear();
        std::uint64_t words = 0;
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1)
            words += tally_.add(r.addresses[__builtin_ctz(left)] >> 2) == 1;
        site.replays += words - 1;
    }
    void add_turns(const Request& r, Site& site) {
        tally_.clear();
        unsigned most = 0;
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1)
            most = std::max(most, tally_.add(r.addresses[__builtin_ctz(left)]));
        site.serialised += most - 1;
    }
    void remember(const Request& r) {
        std::uint32_t& seen = requests_seen_[requesting_];
        if (seen == watched_limit) return;
        for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            const Region* region = r.of(lane);
            WatchedLane row;
            row.request = seen, row.warp = requesting_, row.pc = r.pc, row.access = r.access,
            row.region = region->id;
            row.space = region->space, row.size = r.size,
            row.lane = static_cast<std::uint32_t>(lane), row.in_flight = in_flight_;
            row.offset = static_cast<std::int64_t>(r.addresses[lane] - region->start);
            watched_.push_back(row);
        }
        ++seen;
    }
};
