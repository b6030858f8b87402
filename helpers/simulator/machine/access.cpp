// access.cpp -- each load, store and atomic: finds its array, asks the observers, counts it
#include "access.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace {

bool must_be_aligned(const Worker& w, std::int32_t pc) {
    const Decoded& decoded = w.decoded[pc];
    return decoded.machine == run_load || decoded.machine == run_store ||
           decoded.control == ATOMIC_UPDATE;
}

}    // namespace

void refuse_access(Worker& w, Warp& warp, int lane, Kind kind, const Region* region,
                   std::uint64_t address, std::uint32_t size, std::int32_t pc, Access access,
                   bool meant) {
    if (blame_unset_address(w, warp, lane, pc)) return;
    Finding finding;
    finding.kind = kind, finding.size = size;
    // A GPU looks at the alignment first.
    if (kind == OUT_OF_BOUNDS && region != nullptr && must_be_aligned(w, pc) &&
        (address & (size - 1)) != 0 && address + size > region->start && address < region->end)
        finding.kind = MISALIGNED;
    if (meant) std::strcpy(finding.text, "meant");
    finding.here = w.place(warp, lane, pc, access);
    if (region != nullptr)
        finding.region = region->id,
        finding.offset = static_cast<std::int64_t>(address - region->start);
    else finding.offset = static_cast<std::int64_t>(address);
    w.end_launch(finding);
}

Region* origin_of(const Worker& w, std::int32_t pc) {
    const std::int32_t origin = w.launch.program.origins[pc];
    const auto statics = static_cast<std::int32_t>(w.launch.program.static_count);
    std::uint64_t address = 0;
    if (origin <= -2 - statics) {
        const auto k = static_cast<std::size_t>(-2 - statics - origin);
        return k < w.shared.size() ? w.shared[k] : nullptr;
    }
    if (origin <= -2) address = w.launch.program.statics[-2 - origin].value;
    else if (origin >= 0 &&
             static_cast<std::uint32_t>(origin) + sizeof address <= w.launch.parameter_bytes)
        std::memcpy(&address, static_cast<const char*>(w.launch.parameters) + origin,
                    sizeof address);
    return address != 0 ? memory.find(address) : nullptr;
}

namespace {

constexpr std::uint64_t null_page = 1 << 16;    // addresses below come from null pointers

// ---- which array ----

// Whether a generic address outside every array belongs to shared memory rather than to an array of
// the launch. The heap may put arrays behind the window, too: then the nearest one is meant.
// offset: from the beginning of the window.
bool is_beside_window(const Worker& w, std::uint64_t address, std::uint64_t offset) {
    constexpr std::uint64_t far = 1 << 24;
    if (offset >= w.launch.shared_bytes + far) return false;
    if (offset < w.launch.shared_bytes) return true;
    if (memory.find(address) != nullptr) return false;
    const Region* nearest = memory.nearest(address);
    if (nearest == nullptr || nearest->is_shared()) return true;
    const std::uint64_t distance =
        address < nearest->start ? nearest->start - address : address - nearest->end;
    return offset - w.launch.shared_bytes <= distance;
}

// Refuses an access to memory that the kernel has allocated itself, close behind it or in front of
// it, or after it was freed. Returns whether it is one.
bool refuse_heap(Worker& w, Warp& warp, int lane, std::uint64_t address, std::uint32_t size,
                 std::int32_t pc, Access access) {
    constexpr std::uint64_t close = 256;
    std::uint64_t start = 0, bytes = 0;
    bool freed = true;
    for (const auto& [first, count] : heap.former())
        if (address - first < count) start = first, bytes = count;
    if (memory.find(address) != nullptr) start = 0;    // the memory belongs to another array now
    for (const Heap::Block& block : heap.blocks()) {
        const Region* const region = block.region;
        if (address - (region->start - close) < region->bytes() + 2 * close)
            start = region->start, bytes = region->bytes(), freed = false;
    }
    if (start == 0) return false;
    Finding finding;
    finding.kind = DEVICE_HEAP, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - start);
    finding.here = w.place(warp, lane, pc, access);
    std::snprintf(finding.text, sizeof finding.text, "%s %llu", freed ? "freed" : "live",
                  static_cast<unsigned long long>(bytes));
    w.end_launch(finding);
    return true;
}

// Refuses an access outside every array. The finding names the array that the source most likely
// means.
void refuse_place(Worker& w, Warp& warp, int lane, std::uint64_t address, std::uint32_t size,
                  std::int32_t pc, Access access) {
    if (blame_unset_address(w, warp, lane, pc)) return;
    if (address < null_page)
        return refuse_access(w, warp, lane, NULL_POINTER, nullptr, address, size, pc, access);
    const auto* pointer = reinterpret_cast<const char*>(address);
    const Instruction& i = w.instruction(pc);
    if (!w.local.empty() && pointer >= w.local.data() &&
        pointer < w.local.data() + w.local.size()) {
        Finding finding;
        auto offset = static_cast<std::uint64_t>(pointer - w.local.data());
        finding.kind = LOCAL_OF_ANOTHER, finding.size = size;
        finding.offset = static_cast<std::int64_t>(offset / w.launch.local_bytes);
        finding.here = w.place(warp, lane, pc, access);
        return w.end_launch(finding);
    }
    if (i.space != SHARED_SPACE && refuse_heap(w, warp, lane, address, size, pc, access)) return;
    const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(w.shared_window);
    // No parameter points to shared memory, though memory of the host may lie beside the window.
    const bool is_of_parameter = w.launch.program.origins[pc] >= 0;
    if (i.space == SHARED_SPACE ||
        (i.space == GENERIC && !is_of_parameter && is_beside_window(w, address, offset))) {
        if (w.launch.dynamic_shared == 0 && offset >= w.launch.dynamic_offset)
            if (w.shared.empty() || offset < w.launch.dynamic_offset + (1u << 20)) {
                bool beyond_static = false;
                for (const Region* region : w.shared)
                    beyond_static |= address - region->start < region->bytes() + 1024;
                if (!beyond_static)
                    return refuse_access(w, warp, lane, NO_DYNAMIC_SHARED, nullptr, offset, size,
                                         pc, access);
            }
        const Region* nearest = w.recent[pc].region;
        if (nearest == nullptr || !nearest->is_shared()) {
            std::uint64_t best = UINT64_MAX;
            for (const Region* region : w.shared) {
                std::uint64_t distance =
                    address < region->start ? region->start - address : address - region->end;
                if (distance < best) best = distance, nearest = region;
            }
        }
        return refuse_access(w, warp, lane, OUT_OF_BOUNDS, nearest, address, size, pc, access);
    }
    Region* region = memory.find(address);
    // Most likely the instruction means the array that it accessed before. A cp.async accesses two:
    // the array that it reads in global memory is not the tile that it wrote before.
    const Region* before = w.recent[pc].region;
    if (before != nullptr && before->is_shared() && i.space == GLOBAL_SPACE) before = nullptr;
    const Region* meant = region != nullptr   ? region
                          : before != nullptr ? before
                                              : memory.nearest(address);
    refuse_access(w, warp, lane, OUT_OF_BOUNDS, meant, address, size, pc, access);
}

// Finds the array of each lane, if not all lanes access the array that the instruction accessed
// last. `one` is the array of all lanes, null if they access several.
bool find_arrays(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                 const std::uint64_t* addresses, std::uint32_t size, Access access,
                 Region** regions, Region** one) {
    Region* first = nullptr;
    Region* const meant = origin_of(w, pc);
    // An instruction that copies from global memory to a shared array means that one where it writes.
    const bool is_shared = meant != nullptr && meant->is_shared();
    const auto window = reinterpret_cast<std::uint64_t>(w.shared_window);
    bool same = true;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (meant != nullptr && !meant->holds(addresses[lane], size) &&
            addresses[lane] >= null_page &&
            (!is_shared || addresses[lane] - window < w.launch.shared_bytes)) {
            refuse_access(w, warp, lane, OUT_OF_BOUNDS, meant, addresses[lane], size, pc, access,
                          true);
            return false;
        }
        Region* region = first;
        if (region == nullptr || !region->holds(addresses[lane], size))
            region = memory.find(addresses[lane]);
        if (region == nullptr || !region->holds(addresses[lane], size)) {
            if (first != nullptr)
                w.recent[pc].region =
                    first;    // the lanes before this one accessed the array that is meant
            refuse_place(w, warp, lane, addresses[lane], size, pc, access);
            return false;
        }
        regions[lane] = region;
        if (first == nullptr) first = region;
        same &= region == first;
    }
    *one = same ? first : nullptr;
    Recent& recent = w.recent[pc];
    recent.start = first->start, recent.bytes = first->bytes(), recent.region = first;
    return true;
}

// ---- one access of a warp to one array ----

void read_of_nothing(Worker& w, Warp& warp, int lane, const Region& region, std::uint64_t address,
                     std::uint32_t size, std::int32_t pc, Access access) {
    if (w.marking && access == LOAD) {
        w.unwritten |= 1u << lane;
        return;
    }
    Finding finding;
    finding.kind = UNINITIALISED, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    finding.here = w.place(warp, lane, pc, access);
    w.findings.add(finding);
}

template <Access access>
void watch_initialisation(Worker& w, Warp& warp, Region& region, std::uint32_t lanes,
                          const std::uint64_t* addresses, std::uint32_t size, std::int32_t pc,
                          const Shapes& shapes) {
    const auto place = static_cast<std::uint32_t>(pc) + 1;
    if (shapes.warp() == CONTIGUOUS && access == STORE)
        return Initialisation::written(region, addresses[0], size * WARP_SIZE, place);
    for (int h = 0; h < 2; ++h) {
        if (shapes.half(h) == GENERAL || access == ATOMIC) continue;
        const std::uint64_t first = addresses[half_warp * h];
        const std::uint32_t bytes = shapes.half(h) == CONTIGUOUS ? size * half_warp : size;
        if (access == STORE) Initialisation::written(region, first, bytes, place);
        else if (Initialisation::is_read_of_nothing(region, first, bytes)) continue;
        lanes &= ~(first_half << (half_warp * h));
    }
    if (access == LOAD &&
        lanes == ALL_LANES) { // lanes close together: look at all their bytes at once
        std::uint64_t least = addresses[0], most = addresses[0];
        for (int lane = 1; lane < WARP_SIZE; ++lane)
            least = std::min(least, addresses[lane]), most = std::max(most, addresses[lane]);
        if (most - least <= 1024 &&
            !Initialisation::is_read_of_nothing(region, least, most - least + size))
            return;
    }
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (access != STORE &&
            UNLIKELY(Initialisation::is_read_of_nothing(region, addresses[lane], size)))
            read_of_nothing(w, warp, lane, region, addresses[lane], size, pc, access);
        if (access != LOAD) Initialisation::written(region, addresses[lane], size, place);
    }
}

// Whether most lanes access places without an order: not at one distance from lane to lane, nor in
// several pieces of that kind, as the rows of a block of threads are.
bool is_without_order(std::uint32_t lanes, const std::uint64_t* addresses) {
    std::uint64_t last = addresses[__builtin_ctz(lanes)], distance = 0;
    int changes = 0;
    for_lanes(lanes, [&](int lane) {
        changes += addresses[lane] - last != distance;
        distance = addresses[lane] - last, last = addresses[lane];
    });
    return changes > WARP_SIZE / 2;
}

__attribute__((noinline)) void note_coverage(const Worker& w, Region& region, std::uint32_t lanes,
                                             const std::uint64_t* addresses, std::uint32_t size,
                                             Access access, const Shapes& shapes) {
    Coverage& coverage = *region.coverage;
    if (coverage.has_ended()) return;
    const auto note = [&](std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t offset = address - region.start;
        if (access != STORE) coverage.read(offset, bytes, w.one_of_many);
        if (access != LOAD) coverage.written(offset, bytes, w.one_of_many);
    };
    if (shapes.warp() == CONTIGUOUS && lanes == ALL_LANES) {
        note(addresses[0], std::uint64_t(size) * WARP_SIZE);
    } else if (shapes.known() && lanes == ALL_LANES) {
        for (int h = 0; h < 2; ++h) note(addresses[half_warp * h], shapes.bytes(h, size));
    } else if (is_without_order(lanes, addresses)) {
        coverage.end();
    } else {
        for_lanes(lanes, [&](int lane) { note(addresses[lane], size); });
    }
}

template <Access access>
bool observe_array(Worker& w, Warp& warp, Region& region, std::int32_t pc, std::uint32_t lanes,
                   const std::uint64_t* addresses, std::uint32_t size, bool must_align,
                   const Shapes& shapes) {
    if (must_align) {
        if (UNLIKELY((bits_of_any(addresses, lanes, shapes) & (size - 1)) != 0))
            for (std::uint32_t left = lanes; left != 0; left &= left - 1)
                if (int lane = __builtin_ctz(left); addresses[lane] & (size - 1)) {
                    refuse_access(w, warp, lane, MISALIGNED, &region, addresses[lane], size, pc,
                                  access);
                    return false;
                }
    }
    if (UNLIKELY(region.space == CONSTANT) && access != LOAD) {
        int lane = __builtin_ctz(lanes);
        refuse_access(w, warp, lane, READ_ONLY, &region, addresses[lane], size, pc, access);
        return false;
    }
    // Several workers save the arrays before they start.
    if (access != LOAD && UNLIKELY(w.launch.undo != NEVER) && !w.one_of_many &&
        !region.is_shared() && !region.fleeting) {
        if (region.saved == nullptr) region.saved = &w.saved.emplace_back(region);
        region.saved->keep(addresses, lanes, size, shapes.warp() == CONTIGUOUS);
    }
    if (UNLIKELY(w.async.in_flight != 0) && region.is_shared())
        watch_copies_in_flight(w, warp, lanes, addresses, size, pc, access);
    if (UNLIKELY(region.coverage != nullptr))
        note_coverage(w, region, lanes, addresses, size, access, shapes);
    if (!region.complete && (w.observe & INITIALISATION))
        watch_initialisation<access>(w, warp, region, lanes, addresses, size, pc, shapes);
    if (!(w.observe & RACES) || region.space == CONSTANT) return true;
    if (access == STORE && UNLIKELY(w.observe & CHANGES) && w.storing != nullptr) {
        // Whoever stores what is there already depends on it, as one who reads it does.
        const std::uint32_t same = lanes_without_change(w, warp, pc, lanes, addresses, size);
        if (same != 0 &&
            !watch_for_races<LOAD>(w, warp, region, pc, same, addresses, size, Shapes()))
            return false;
        lanes &= ~same;
        return lanes == 0 ||
               watch_for_races<access>(w, warp, region, pc, lanes, addresses, size, Shapes());
    }
    return watch_for_races<access>(w, warp, region, pc, lanes, addresses, size, shapes);
}

template <Access access>
bool observe(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
             const std::uint64_t* addresses, std::uint32_t size, bool must_align,
             std::uint32_t counted, std::int32_t shift, bool count, const Shapes& shapes) {
    const Recent& recent = w.recent[pc];
    Region* one = recent.region;
    Region* regions[WARP_SIZE];
    std::uint64_t outside = recent.bytes < size;
    const std::uint64_t start = recent.start, limit = recent.bytes - size;
    if (shapes.known() && lanes == ALL_LANES)
        for (int lane : {0, half_warp - 1, half_warp, WARP_SIZE - 1})
            outside |= addresses[lane] - start > limit;
    else if (lanes == ALL_LANES)
        for (int lane = 0; lane < WARP_SIZE; ++lane) outside |= addresses[lane] - start > limit;
    else
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            outside |= addresses[__builtin_ctz(left)] - start > limit;
    if (UNLIKELY(outside != 0) &&
        !find_arrays(w, warp, pc, lanes, addresses, size, access, regions, &one))
        return false;
    if (LIKELY(one != nullptr)) {
        if (!observe_array<access>(w, warp, *one, pc, lanes, addresses, size, must_align, shapes))
            return false;
    } else {
        for (std::uint32_t left = lanes; left != 0;) {
            Region* region = regions[__builtin_ctz(left)];
            std::uint32_t here = 0;
            for (std::uint32_t rest = left; rest != 0; rest &= rest - 1)
                if (regions[__builtin_ctz(rest)] == region) here |= rest & -rest;
            if (!observe_array<access>(w, warp, *region, pc, here, addresses, size, must_align,
                                       Shapes()))
                return false;
            left &= ~here;
        }
    }
    if ((w.observe & TRAFFIC) && count) {
        Region* const first = one != nullptr ? one : regions[__builtin_ctz(lanes)];
        count_access(w, warp, {addresses, lanes, static_cast<std::uint32_t>(pc), size, size, access,
                               first, one != nullptr ? nullptr : regions,
                               one != nullptr ? shapes : Shapes()},
                     counted, shift);
    }
    return true;
}

}    // namespace

namespace {

// Counts an access that ptxas has replaced by one of another size, or by two.
__attribute__((noinline)) void count_resized(Worker& w, Request request, bool watched,
                                             std::uint32_t counted, std::int32_t shift) {
    const std::uint32_t size = request.size, second = counted >> 8 & 255;
    std::uint64_t moved[WARP_SIZE];
    for (int lane = 0; lane < WARP_SIZE; ++lane)
        moved[lane] = request.addresses[lane] + static_cast<std::int64_t>(shift);
    request.addresses = moved, request.size = counted & 255;
    if (second != 0) request.asked = request.size;
    for (int h = 0; h < 2; ++h)    // lanes of one place keep it, those of several may overlap now
        if (request.shapes.half(h) == CONTIGUOUS) request.shapes = Shapes();
    // No vector starts between two others: ptxas has unrolled the loop, and the vector of an
    // earlier turn has these bytes.
    if (second == 0 && request.size > size &&
        (moved[__builtin_ctz(request.lanes)] & (request.size - 1)) != 0)
        return w.traffic.joined(request, size);
    w.traffic.request(request, watched);
    if (second == 0) return;
    for (std::uint64_t& address : moved) address += counted >> 16;
    request.size = request.asked = second;
    w.traffic.request(request, watched);
}

}    // namespace

void count_access(Worker& w, const Warp& warp, const Request& request, std::uint32_t counted,
                  std::int32_t shift) {
    // Another access moves these bytes, too.
    if (counted == 0) return w.traffic.joined(request, request.size);
    const bool watched = w.traffic.watches(w.block_linear, warp.number, w.async.in_flight);
    if (counted == UINT32_MAX || counted == request.size)
        return w.traffic.request(request, watched);
    count_resized(w, request, watched, counted, shift);
}

bool observe_access(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align, std::uint32_t counted, std::int32_t shift, bool count,
                    const Shapes& shapes) {
    const auto run = access == LOAD    ? observe<LOAD>
                     : access == STORE ? observe<STORE>
                                       : observe<ATOMIC>;
    return run(w, warp, pc, lanes, addresses, size, must_align, counted, shift, count, shapes);
}

bool observe_access(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align, std::uint32_t counted, std::int32_t shift, bool count) {
    const Shapes shapes = access == ATOMIC ? Shapes() : shapes_of(addresses, lanes, size);
    return observe_access(w, warp, pc, lanes, addresses, size, access, must_align, counted, shift,
                          count, shapes);
}
