// traffic.h -- observer: warp requests, sectors, wavefronts, bank conflicts, replays, barriers and divergent branches
//
// The lanes of a warp run one after another, each leaving a trace of the basic blocks it entered and the memory it touched. The
// 32 traces are then merged as the hardware would have run them: of all lanes' next instructions the one that comes first in the
// kernel's flow (flow.h) is taken, together with every lane that stands there. Lanes that leave a branch early wait behind it, so
// they meet the others again; an access that lanes make together is one request.
//
// What the counters stand on. "Measured": equal to what Nsight Compute read on an H200 for the launches of helpers/counters.py.
//   global     A request moves every 32-byte sector that one of its lanes touches, once. Measured, for 1 to 16 bytes a lane.
//   shared     32 banks of 4 bytes. One wavefront serves one word of each bank, to any number of lanes, so a request of at most
//              4 bytes a lane needs as many wavefronts as the busiest bank has different words. Measured.
//              8 bytes a lane go in two half warps, 16 bytes in four quarter warps, each part by the same rule; a part without an
//              active lane costs nothing. The two halves (the two quarters of a half) go as one part when lanes agree in pairs: each
//              lane's neighbour (lane ^ 1), or each lane's next but one (lane ^ 2), is inactive or wants the same address.
//              A conflict is a wavefront beyond the first of its part. Measured.
//              Now and then the hardware adds a wavefront and a conflict for work that arrives at the same time: not modelled.
//   constant   Lanes that read one word are served at once, each further word is a replay. Measured where lanes look up different
//              words; constants that nvcc makes operands of its instructions cost no request at all on a GPU.
//   atomics    In global memory the k-th lane that updates an address does so in the k-th turn, and every turn moves its sectors once.
//              Measured for 4-byte additions in one warp; over a thousand random bins the hardware takes 1.5 % more (not understood).
//              In shared memory as other accesses, additions of one to the same word being joined. Measured. Other operations: assumed,
//              though lanes that raise one word (atomicMax) take turns on an H200.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "findings.h"
#include "flow.h"
#include "memory.h"

constexpr int warp_size = 32;

// What a trace and a site may hold beside findings.h's Access.
constexpr std::uint8_t BARRIER = 3, BRANCH = 4;
constexpr std::uint8_t JOINED = 0x80;    // marks an access that an earlier one of its basic block took along

struct Event {
    std::uint32_t pc;
    std::uint16_t size;    // bytes; 0: a basic block was entered, or a barrier reached
    std::uint8_t access;
    Region* region;
    std::uintptr_t address;
};

// Sums over the requests that one instruction made to one array; for a barrier the warps that came to it, for a branch the times
// that lanes of one warp parted there. The same layout is declared in profile.py.
struct Site {
    std::uint64_t pc = 0, next_pc = 0;    // next_pc (branches): the block that follows the branch in the code
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0;
    std::uint64_t requests = 0, lanes = 0, bytes = 0, sectors = 0, wavefronts = 0, conflicts = 0;    // bytes: what lanes asked for
    std::uint64_t replays = 0;       // constant memory: different words of a request, beyond the first
    std::uint64_t serialised = 0;    // atomics: turns of the lanes that update one address, beyond the first
};
struct WatchedLane {    // one lane of one request of the watched warp
    std::uint64_t request = 0, pc = 0;
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0, lane = 0;
    std::int64_t offset = 0;
};

// A set of at most 128 numbers that is emptied at no cost.
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
    static constexpr std::size_t trace_limit = 256;       // events a lane may run ahead of the others: bounds the memory of a block
    static constexpr std::size_t watched_limit = 4096;    // requests of the watched warp that are kept one by one

    struct Trace {
        std::unique_ptr<Event[]> events;
        std::size_t count = 0, capacity = 0;
        std::uint32_t together = 0;    // the lanes that entered the last basic block with this one
        std::uint32_t last_pc = 0, last_block = Flow::entry;
        bool full() const { return count >= trace_limit; }
        void clear() { count = 0, together = 0, last_pc = 0, last_block = Flow::entry; }    // at the start of a block
        // The first `used` events are merged.
        void drop(std::size_t used) {
            count -= used;
            if (used > 0 && count > 0) std::memmove(events.get(), events.get() + used, count * sizeof(Event));
        }

        void block(std::uint32_t pc) { add(pc, 0, LOAD); }
        void barrier(std::uint32_t pc) { add(pc, 0, BARRIER); }
        // One access, or, for a structure, as many as a GPU needs: it moves 1, 2, 4, 8 or 16 aligned bytes at a time.
        void access(std::uint32_t pc, std::size_t size, std::uint8_t access, Region* region, std::uintptr_t address) {
            std::size_t piece = size;
            if (__builtin_expect(size > 16 || (size & (size - 1)) != 0, 0)) {
                piece = 16;
                while ((size | address) & (piece - 1)) piece /= 2;
            }
            for (std::size_t done = 0; done < size; done += piece) {
                Event& event = add(pc, static_cast<std::uint16_t>(piece), access);
                event.region = region, event.address = address + done;
            }
        }

    private:
        // Written in place, field by field: a copy of a fresh Event waits for its stores to arrive.
        Event& add(std::uint32_t pc, std::uint16_t size, std::uint8_t access) {
            if (__builtin_expect(count == capacity, 0)) grow();
            Event& event = events[count++];
            event.pc = pc, event.size = size, event.access = access;
            return event;
        }
        __attribute__((noinline)) void grow() {
            std::unique_ptr<Event[]> larger(new Event[capacity = 2 * capacity + trace_limit]);
            if (count > 0) std::memcpy(larger.get(), events.get(), count * sizeof(Event));
            events = std::move(larger);
        }
    };

    void begin(std::uint64_t watched_block, std::uint32_t watched_warp) {
        sites_.clear(), index_.clear(), watched_.clear(), recent_.fill({}), flow_.clear(), requests_seen_ = 0, merges_ = 0;
        watched_block_ = watched_block, watched_warp_ = watched_warp;
    }
    // Merges what all lanes of a warp have run. `running[lane]`: this lane will run on, so nothing may overtake it.
    void merge(Trace* lanes, const bool* running, std::uint64_t block, std::uint32_t warp) {
        learned_ = false;
        watch_ = block == watched_block_ && warp == watched_warp_;
        std::uint32_t will_run = 0;
        at_end_ = 0;
        for (int lane = 0; lane < warp_size; ++lane) {
            Trace& trace = lanes[lane];
            at_[lane] = first_[lane] = trace.events.get(), end_[lane] = at_[lane] + trace.count;
            stand(lane);
            together_[lane] = trace.together, last_pc_[lane] = trace.last_pc;
            first_block_[lane] = last_block_[lane] = trace.last_block;
            will_run |= static_cast<std::uint32_t>(running[lane]) << lane;
        }
        if (merges_ < always_learnt) ++merges_, learn_flow();
        while (!(will_run & at_end_)) {
            std::uint32_t alive = ~at_end_;
            if (alive == 0) break;
            std::uint32_t group = standing_at(pc_[__builtin_ctz(alive)]);
            step(group == alive ? group : first_of(alive));
        }
        for (int lane = 0; lane < warp_size; ++lane) {
            Trace& trace = lanes[lane];
            trace.together = together_[lane], trace.last_pc = last_pc(lane), trace.last_block = last_block_[lane];
            trace.drop(static_cast<std::size_t>(at_[lane] - trace.events.get()));
        }
    }
    const std::deque<Site>& sites() const { return sites_; }
    const std::vector<WatchedLane>& watched() const { return watched_; }

private:
    static constexpr std::int32_t nowhere = INT32_MAX;
    static constexpr int always_learnt = 64;    // merges; later ones only learn where lanes part
    struct Recent { std::uint64_t key = UINT64_MAX; Site* site = nullptr; };

    std::deque<Site> sites_;
    std::unordered_map<std::uint64_t, Site*> index_;
    std::array<Recent, 1024> recent_{};    // by instruction: most touch one array
    std::vector<WatchedLane> watched_;
    std::uint64_t watched_block_ = 0, requests_seen_ = 0;
    std::uint32_t watched_warp_ = 0;
    bool watch_ = false, learned_ = false;
    int merges_ = 0;
    Tally tally_, sectors_of_turn_;
    Flow flow_;
    std::uint32_t at_end_ = 0;    // the lanes whose traces are merged to the end
    // The warp that is being merged, by lane: its next event, the end of its trace, where it stands.
    std::array<Event*, warp_size> first_{}, at_{}, end_{};
    alignas(16) std::array<std::int32_t, warp_size> pc_{};
    std::array<std::uint32_t, warp_size> together_{}, last_pc_{}, first_block_{}, last_block_{};

    struct Request {    // the lanes that make one access together
        std::array<const Event*, warp_size> events;
        std::array<std::uint8_t, warp_size> lanes;
        int count = 0;
        bool one_array = true;
    };

    std::uint32_t standing_at(std::int32_t pc) const {
        std::uint32_t group = 0;
#if defined(__SSE2__)
        const __m128i wanted = _mm_set1_epi32(pc);
        for (int lane = 0; lane < warp_size; lane += 4) {
            __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(&pc_[lane]));
            group |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted)))) << lane;
        }
#else
        for (int lane = 0; lane < warp_size; ++lane) group |= static_cast<std::uint32_t>(pc_[lane] == pc) << lane;
#endif
        return group;
    }
    // The instruction that a lane was merged at before.
    std::uint32_t last_pc(int lane) const { return at_[lane] == first_[lane] ? last_pc_[lane] : at_[lane][-1].pc; }
    void stand(int lane) {
        if (__builtin_expect(at_[lane] == end_[lane], 0)) pc_[lane] = nowhere, at_end_ |= 1u << lane;
        else pc_[lane] = static_cast<std::int32_t>(at_[lane]->pc);
    }
    // The lanes that go first where they stand at different places.
    std::uint32_t first_of(std::uint32_t alive) {
        if (!learned_) learn_flow();
        std::uint64_t best = UINT64_MAX;
        for (std::uint32_t left = alive; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            std::uint32_t pc = at_[lane]->pc, block = enters_block(*at_[lane]) ? pc : last_block_[lane];
            best = std::min(best, std::uint64_t(flow_.number(block)) << 32 | pc);
        }
        return standing_at(static_cast<std::int32_t>(best & UINT32_MAX));
    }
    // Lanes' traces show where they will go, so the order is known before the first of them goes there. The whole traces: which
    // block is the head of a loop shows in how the loop was entered.
    void learn_flow() {
        for (int lane = 0; lane < warp_size; ++lane) {
            std::uint32_t block = first_block_[lane];
            for (const Event* event = first_[lane]; event != end_[lane]; ++event)
                if (enters_block(*event)) flow_.saw(block, event->pc), block = event->pc;
        }
        learned_ = true;
    }
    // A barrier is a place of its own: a compiler may put it before the loop that leads to it.
    static bool enters_block(const Event& event) { return event.size == 0; }
    // All lanes of `group` take one event together.
    void step(std::uint32_t group) {
        const Event& first = *at_[__builtin_ctz(group)];
        if (first.size == 0) {
            if (first.access == BARRIER) {
                count(site_of(first.pc, BARRIER, nullptr, 0), __builtin_popcount(group));
                for (std::uint32_t left = group; left != 0; left &= left - 1) last_block_[__builtin_ctz(left)] = first.pc;
            } else {
                enter_block(group, first.pc);
            }
            if (group == UINT32_MAX)
                for (int lane = 0; lane < warp_size; ++lane) advance(lane);
            else
                for (std::uint32_t left = group; left != 0; left &= left - 1) advance(__builtin_ctz(left));
            return;
        }
        Request request;
        for (std::uint32_t left = group; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            const Event& event = *at_[lane];
            if (event.access != first.access || event.size != first.size) continue;    // a copy of another length: a request of its own
            request.one_array &= event.region == first.region;
            request.events[request.count] = &event, request.lanes[request.count++] = static_cast<std::uint8_t>(lane);
            advance(lane);
        }
        if (!request.one_array) by_kind(request);
        else if (first.access & JOINED) site_of(first.pc, first.access & ~JOINED, first.region, first.size).bytes += bytes_of(request);
        else if (kind_of(first.region->space) == SHARED && first.access != ATOMIC && (first.size == 4 || first.size == 8)) join(request);
        else made(request);
    }
    void advance(int lane) {
        ++at_[lane];
        stand(lane);
    }
    // Lanes that were together with some of `group` and now stand elsewhere: the branch before has parted them.
    void enter_block(std::uint32_t group, std::uint32_t pc) {
        if (together_[__builtin_ctz(group)] == group) {    // as most of the time
            if (group == UINT32_MAX) return last_block_.fill(pc);
            for (std::uint32_t left = group; left != 0; left &= left - 1) last_block_[__builtin_ctz(left)] = pc;
            return;
        }
        for (std::uint32_t left = group; left != 0;) {
            int lane = __builtin_ctz(left);
            std::uint32_t were = together_[lane], behind = were & ~group;
            if (behind != 0) parted(behind, last_pc(lane), pc);
            left &= ~(were | 1u << lane);
        }
        for (std::uint32_t left = group; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            together_[lane] = group, last_block_[lane] = pc;
        }
    }
    void parted(std::uint32_t behind, std::uint32_t from, std::uint32_t pc) {
        auto other = nowhere;
        for (std::uint32_t left = behind; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            together_[lane] = behind;
            other = std::min(other, pc_[lane]);
        }
        Site& site = site_of(from, BRANCH, nullptr, 0);
        site.next_pc = pc > from || other == nowhere ? pc : static_cast<std::uint32_t>(other);
        count(site, __builtin_popcount(behind));
    }
    static void count(Site& site, int lanes) { site.requests += 1, site.lanes += static_cast<std::uint64_t>(lanes); }

    // Lanes of one instruction that stand in several arrays: one request to each kind of memory.
    void by_kind(const Request& all) {
        for (int kind : {GLOBAL, SHARED, CONSTANT}) {
            Request part;
            part.one_array = false;
            for (int i = 0; i < all.count; ++i)
                if (kind_of(all.events[i]->region->space) == kind)
                    part.events[part.count] = all.events[i], part.lanes[part.count++] = all.lanes[i];
            if (part.count > 0) made(part);
        }
    }
    static int kind_of(std::uint32_t space) {
        return space == DYNAMIC_SHARED ? SHARED : space == DEVICE_GLOBAL ? GLOBAL : static_cast<int>(space);
    }
    static std::uint64_t bytes_of(const Request& request) {
        return static_cast<std::uint64_t>(request.count) * request.events[0]->size;
    }
    // `asked`: bytes a lane wants, where the access is wider than that.
    void made(const Request& request, std::size_t asked = 0) {
        const Event& first = *request.events[0];
        std::size_t bytes = asked != 0 ? asked : first.size;
        Site& site = site_of(first.pc, first.access, first.region, first.size);
        site.requests += 1;
        if (request.one_array) site.lanes += static_cast<std::uint64_t>(request.count), site.bytes += request.count * bytes;
        for (int i = 0; i < request.count && !request.one_array; ++i) {
            Site& own = owner(request, i, site);
            own.lanes += 1, own.bytes += bytes;
        }
        int kind = kind_of(first.region->space);
        if (kind == GLOBAL) first.access == ATOMIC ? add_atomic_sectors(request, site) : add_sectors(request, site);
        if (kind == SHARED) add_wavefronts(request, site);
        if (kind == CONSTANT) add_replays(request, site);
        if (first.access == ATOMIC) add_turns(request, site);
        if (watch_) remember(request);
    }
    // nvcc makes one access of 8 or 16 bytes from accesses of a basic block to neighbouring words of shared memory, where it knows their
    // alignment. Three or four words of an aligned vector of four become one load of 16 bytes, its lower or upper two one of 8;
    // stores join only where all of 8 or 16 bytes are written. (Read from nvcc's machine code for compute capability 9.0.) Whether it
    // knows the alignment is not known here: taken to be so where several lanes have the same, so a row stride that happens to be a
    // multiple of four at run time counts as known.
    void join(Request& request) {
        const Event& first = *request.events[0];
        std::size_t width = common_alignment(request);
        if (width <= first.size) return made(request);
        std::uintptr_t base = first.region->start, vector = (first.address - base) / width;
        const unsigned own = words_of(first, base), half = own & 0x3 ? 0x3 : 0xc;
        unsigned words = own;
        std::array<int, 3> others;    // events to take along, counted from the one behind `first`
        int count = 0, lead = request.lanes[0];
        for (int k = 0; count < 3 && at_[lead] + k < end_[lead] && k < look_ahead; ++k) {
            const Event& event = at_[lead][k];
            if (event.size == 0) break;    // the end of the basic block, or a barrier
            if (event.region != first.region) continue;
            if (event.access != first.access) break;    // a load does not pass a store, nor a store a load
            if (event.size != first.size || (event.address - base) / width != vector || (words & words_of(event, base))) continue;
            if (!all_have(request, k)) break;
            words |= words_of(event, base), others[count++] = k;
        }
        bool load = first.access == LOAD;
        unsigned taken = words == 0xf || (load && __builtin_popcount(words) == 3) ? 0xf
                         : (words & half) == half && (!load || words == half)     ? half
                                                                                  : own;
        if (taken == own) return made(request);
        for (int j = 0; j < count; ++j)
            if (words_of(at_[lead][others[j]], base) & taken)
                for (int i = 0; i < request.count; ++i) at_[request.lanes[i]][others[j]].access |= JOINED;
        std::array<Event, warp_size> wide;
        const std::size_t asked = first.size, size = taken == 0xf ? 16 : 8;
        for (int i = 0; i < request.count; ++i) {
            wide[i] = *request.events[i];
            wide[i].address -= (wide[i].address - base) % size, wide[i].size = static_cast<std::uint16_t>(size);
            request.events[i] = &wide[i];
        }
        made(request, asked);
    }
    // 16 or 8 when the addresses of all lanes are equal modulo that; 0 when not, or when one lane alone proves nothing.
    static std::size_t common_alignment(const Request& request) {
        std::uintptr_t differ = 0;
        for (int i = 1; i < request.count; ++i) differ |= request.events[i]->address ^ request.events[0]->address;
        return request.count < 2 || (differ & 7) != 0 ? 0 : differ & 8 ? 8 : 16;
    }
    static constexpr int look_ahead = 64;
    static unsigned words_of(const Event& event, std::uintptr_t base) {
        return ((1u << event.size / 4) - 1) << ((event.address - base) / 4 & 3);
    }
    // The k-th event from here on is the same access in all lanes of the request, to the same word of its vector.
    bool all_have(const Request& request, int k) const {
        const Event& event = at_[request.lanes[0]][k];
        for (int i = 0; i < request.count; ++i) {
            int lane = request.lanes[i];
            if (at_[lane] + k >= end_[lane]) return false;
            const Event& other = at_[lane][k];
            if (other.pc != event.pc || other.access != event.access || other.region != event.region) return false;
            if (other.address - request.events[i]->address != event.address - request.events[0]->address) return false;
        }
        return true;
    }
    // The site of a lane: the request's own, unless the lane stands in another array.
    Site& owner(const Request& request, int i, Site& site) {
        if (request.one_array) return site;
        const Event& event = *request.events[i];
        return event.region->id == site.region ? site : site_of(event.pc, event.access, event.region, event.size);
    }
    Site& site_of(std::uint32_t pc, std::uint8_t access, const Region* region, std::uint32_t size) {
        std::uint64_t key = (std::uint64_t(pc) << 3 | access) << 29 ^ (region != nullptr ? region->id : 0);
        Recent& recent = recent_[(pc ^ access) & (recent_.size() - 1)];
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
    // The k-th lane that updates an address does so in the k-th turn; each turn moves its sectors.
    void add_atomic_sectors(const Request& request, Site& site) {
        tally_.clear(), sectors_of_turn_.clear();
        for (int i = 0; i < request.count; ++i) {
            std::uint64_t turn = tally_.add(request.events[i]->address);
            if (sectors_of_turn_.add(request.events[i]->address >> 5 << 6 | turn) == 1) owner(request, i, site).sectors += 1;
        }
    }
    // Different 32-byte sectors among the lanes.
    void add_sectors(const Request& request, Site& site) {
        tally_.clear();
        std::uintptr_t last = UINTPTR_MAX;
        for (int i = 0; i < request.count; ++i) {
            const Event& event = *request.events[i];
            std::uintptr_t sector = event.address >> 5, end = (event.address + event.size - 1) >> 5;
            for (; sector <= end; ++sector) {
                if (sector == last) continue;    // most lanes follow their neighbour
                last = sector;
                if (tally_.add(sector) == 1) owner(request, i, site).sectors += 1;
            }
        }
    }
    void add_wavefronts(const Request& request, Site& site) {
        std::uint32_t size = request.events[0]->size;
        int whole = size <= 8 ? 32 : 16, halves = size <= 4 ? whole : whole / 2;
        for (int first = 0; first < request.count;) {
            int next = end_of_part(request, first, whole);
            if (halves < whole && !agree_in_pairs(request, first, next)) next = end_of_part(request, first, halves);
            std::array<std::uint8_t, 32> in_bank{};
            std::uint8_t deepest = 0;
            tally_.clear();
            for (int i = first; i < next; ++i) {
                const Event& event = *request.events[i];
                for (std::uintptr_t word = event.address >> 2; word <= (event.address + event.size - 1) >> 2; ++word)
                    if (tally_.add(word) == 1) deepest = std::max(deepest, ++in_bank[word & 31]);
            }
            site.wavefronts += deepest, site.conflicts += deepest - 1u;
            first = next;
        }
    }
    // Where the lanes of the same part of a warp end, parts being `lanes` wide.
    static int end_of_part(const Request& request, int first, int lanes) {
        int next = first;
        while (next < request.count && request.lanes[next] / lanes == request.lanes[first] / lanes) ++next;
        return next;
    }
    static bool agree_in_pairs(const Request& request, int first, int next) {
        bool near = true, far = true;
        for (int i = first; i < next; ++i)
            for (int k = i + 1; k < next && request.lanes[k] <= request.lanes[i] + 2; ++k) {
                int apart = request.lanes[i] ^ request.lanes[k];
                bool same = request.events[i]->address == request.events[k]->address;
                near &= apart != 1 || same, far &= apart != 2 || same;
            }
        return near || far;
    }
    void add_replays(const Request& request, Site& site) {
        tally_.clear();
        std::uint64_t words = 0;
        for (int i = 0; i < request.count; ++i) words += tally_.add(request.events[i]->address >> 2) == 1;
        site.replays += words - 1;
    }
    void add_turns(const Request& request, Site& site) {
        tally_.clear();
        unsigned most = 0;
        for (int i = 0; i < request.count; ++i) most = std::max(most, tally_.add(request.events[i]->address));
        site.serialised += most - 1;
    }
    void remember(const Request& request) {
        if (requests_seen_++ >= watched_limit) return;
        for (int i = 0; i < request.count; ++i) {
            const Event& event = *request.events[i];
            WatchedLane row;
            row.request = requests_seen_ - 1, row.pc = event.pc, row.access = event.access, row.region = event.region->id;
            row.space = event.region->space, row.size = event.size, row.lane = request.lanes[i];
            row.offset = static_cast<std::int64_t>(event.address - event.region->start);
            watched_.push_back(row);
        }
    }
};
