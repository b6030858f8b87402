// traffic.h -- observer: warp requests, sectors, wavefronts and bank conflicts
//
// The lanes of a warp run one after another, each leaving a trace of the basic blocks it entered and the memory it touched. The
// 32 traces are then merged as the hardware would have run them: of all lanes' next instructions the one with the lowest address goes
// first, together with every lane that stands there. Lanes that leave a branch early wait behind it, so they meet the others
// again; an access that lanes make together is one request.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "findings.h"
#include "memory.h"

constexpr int warp_size = 32;

struct Event {
    std::uint32_t pc;
    std::uint16_t size;    // bytes; 0: a basic block was entered
    std::uint8_t access;
    Region* region;
    std::uintptr_t address;
};

// Sums over the requests that one instruction made to one array. The same layout is declared in runtime.py.
struct Site {
    std::uint64_t pc = 0;
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0;
    std::uint64_t requests = 0, lanes = 0, sectors = 0, wavefronts = 0, conflicts = 0;
};
struct WatchedLane {    // one lane of one request of the watched warp
    std::uint64_t request = 0, pc = 0;
    std::uint32_t access = LOAD, region = 0, space = GLOBAL, size = 0, lane = 0;
    std::int64_t offset = 0;
};

class Traffic {
public:
    static constexpr std::size_t trace_limit = 1 << 14;    // events a lane may run ahead of the others

    struct Trace {
        std::vector<Event> events;
        std::size_t next = 0;
        bool full() const { return events.size() - next >= trace_limit; }
        bool empty() const { return next == events.size(); }
        void clear() { events.clear(), next = 0; }
    };

    void begin(std::uint64_t watched_block, std::uint32_t watched_warp) {
        sites_.clear(), index_.clear(), watched_.clear(), requests_seen_ = 0;
        branch_splits_ = 0;
        watched_block_ = watched_block, watched_warp_ = watched_warp;
    }
    // Merges what all lanes of a warp have run. `running[lane]`: this lane will run on, so nothing may overtake it.
    void merge(Trace* lanes, const bool* running, std::uint64_t block, std::uint32_t warp) {
        bool watch = block == watched_block_ && warp == watched_warp_;
        for (;;) {
            std::uint32_t lowest = UINT32_MAX;
            for (int lane = 0; lane < warp_size; ++lane) {
                Trace& trace = lanes[lane];
                if (trace.empty()) {
                    if (running[lane]) return compact(lanes);
                    continue;
                }
                lowest = std::min(lowest, trace.events[trace.next].pc);
            }
            if (lowest == UINT32_MAX) break;
            step(lanes, lowest, watch);
        }
        for (int lane = 0; lane < warp_size; ++lane) lanes[lane].clear();
    }
    const std::deque<Site>& sites() const { return sites_; }
    const std::vector<WatchedLane>& watched() const { return watched_; }

private:
    std::deque<Site> sites_;
    std::unordered_map<std::uint64_t, Site*> index_;
    std::vector<WatchedLane> watched_;
    std::uint64_t watched_block_ = 0, requests_seen_ = 0, branch_splits_ = 0;
    std::uint32_t watched_warp_ = 0;

    static void compact(Trace* lanes) {
        for (int lane = 0; lane < warp_size; ++lane) {
            Trace& trace = lanes[lane];
            trace.events.erase(trace.events.begin(), trace.events.begin() + static_cast<std::ptrdiff_t>(trace.next));
            trace.next = 0;
        }
    }
    // All lanes that stand at `pc` take one event together.
    void step(Trace* lanes, std::uint32_t pc, bool watch) {
        std::array<const Event*, warp_size> group;
        std::array<std::uint8_t, warp_size> lane_of;
        int count = 0;
        for (int lane = 0; lane < warp_size; ++lane) {
            Trace& trace = lanes[lane];
            if (trace.empty() || trace.events[trace.next].pc != pc) continue;
            const Event& event = trace.events[trace.next++];
            if (event.size != 0) lane_of[count] = static_cast<std::uint8_t>(lane), group[count++] = &event;
        }
        for (int first = 0; first < count;) {    // lanes of one instruction may stand in different arrays
            int next = first + 1;
            while (next < count && group[next]->region == group[first]->region) ++next;
            request(group.data() + first, lane_of.data() + first, next - first, watch);
            first = next;
        }
    }
    void request(const Event* const* lanes, const std::uint8_t* lane_of, int count, bool watch) {
        const Event& event = *lanes[0];
        Site& site = site_of(event);
        site.requests += 1, site.lanes += static_cast<std::uint64_t>(count);
        if (event.region->space == GLOBAL || event.region->space == DEVICE_GLOBAL) site.sectors += sectors(lanes, count);
        if (event.region->space == SHARED || event.region->space == DYNAMIC_SHARED) add_wavefronts(site, lanes, lane_of, count);
        if (!watch) return;
        for (int i = 0; i < count; ++i) {
            WatchedLane row;
            row.request = requests_seen_, row.pc = event.pc, row.access = event.access, row.region = event.region->id;
            row.space = event.region->space, row.size = event.size, row.lane = lane_of[i];
            row.offset = static_cast<std::int64_t>(lanes[i]->address - event.region->start);
            watched_.push_back(row);
        }
        ++requests_seen_;
    }
    Site& site_of(const Event& event) {
        std::uint64_t key = std::uint64_t(event.pc) << 24 ^ std::uint64_t(event.region->id) << 4 ^ event.access;
        Site*& site = index_[key];
        if (site == nullptr) {
            sites_.emplace_back();
            site = &sites_.back();
            site->pc = event.pc, site->access = event.access, site->region = event.region->id;
            site->space = event.region->space, site->size = event.size;
        }
        return *site;
    }
    // Distinct 32-byte sectors among the lanes of one request.
    static std::uint64_t sectors(const Event* const* lanes, int count) {
        std::array<std::uintptr_t, warp_size * 2> seen;
        int found = 0;
        for (int i = 0; i < count; ++i)
            for (std::uintptr_t s = lanes[i]->address >> 5; s <= (lanes[i]->address + lanes[i]->size - 1) >> 5; ++s) {
                int k = found - 1;
                while (k >= 0 && seen[k] != s) --k;
                if (k < 0) seen[found++] = s;
            }
        return static_cast<std::uint64_t>(found);
    }
    // 32 banks of 4 bytes. A wavefront serves one word per bank, to any number of lanes; 8-byte accesses go in half warps, 16-byte
    // accesses in quarter warps.
    static void add_wavefronts(Site& site, const Event* const* lanes, const std::uint8_t* lane_of, int count) {
        int lanes_per_pass = lanes[0]->size <= 4 ? 32 : lanes[0]->size == 8 ? 16 : 8;
        for (int first = 0; first < count;) {
            int pass = lane_of[first] / lanes_per_pass, last = first;
            std::array<std::uintptr_t, warp_size * 4> words;
            std::array<std::uint8_t, 32> in_bank{};
            int found = 0;
            for (; last < count && lane_of[last] / lanes_per_pass == pass; ++last)
                for (std::uintptr_t w = lanes[last]->address >> 2; w <= (lanes[last]->address + lanes[last]->size - 1) >> 2; ++w) {
                    int k = found - 1;
                    while (k >= 0 && words[k] != w) --k;
                    if (k < 0) words[found++] = w, ++in_bank[w & 31];
                }
            std::uint64_t deepest = *std::max_element(in_bank.begin(), in_bank.end());
            site.wavefronts += deepest, site.conflicts += deepest - 1;
            first = last;
        }
    }
};
