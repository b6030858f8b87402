// load_store.cpp -- loads and stores: addresses, checks of local memory, and the transfer of bytes
#include <algorithm>
#include <array>
#include <cstring>

#include "access.h"

void addresses_of(const Worker& w, Warp& warp, const Instruction& i, std::uint64_t* result) {
    std::uint64_t base = static_cast<std::uint64_t>(i.immediate);
    if (i.operand[0] < 0) {
        if (i.space == SHARED_SPACE)
            base =
                reinterpret_cast<std::uint64_t>(w.shared_window) + static_cast<std::uint32_t>(base);
        for (int lane = 0; lane < WARP_SIZE; ++lane) result[lane] = base;
    } else if (i.space == SHARED_SPACE) {    // an offset of 32 bits in the block's window
        const auto window = reinterpret_cast<std::uint64_t>(w.shared_window);
        const auto shift = static_cast<std::uint32_t>(base);
        if (i.flags & ADDRESS_32) {
            const auto* x = warp.at<std::uint32_t>(i.operand[0]);
            for (int lane = 0; lane < WARP_SIZE; ++lane) result[lane] = window + (x[lane] + shift);
        } else {
            const auto* x = warp.at<std::uint64_t>(i.operand[0]);
            for (int lane = 0; lane < WARP_SIZE; ++lane) result[lane] = window + (x[lane] + base);
        }
    } else if (i.flags & ADDRESS_32) {
        const auto* x = warp.at<std::uint32_t>(i.operand[0]);
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            result[lane] = static_cast<std::uint32_t>(x[lane] + base);
    } else {
        const auto* x = warp.at<std::uint64_t>(i.operand[0]);
        for (int lane = 0; lane < WARP_SIZE; ++lane) result[lane] = x[lane] + base;
    }
    if (i.space == LOCAL_SPACE) {
        const std::uint64_t first = reinterpret_cast<std::uint64_t>(warp.local) +
                                    (i.flags & FRAME_LOCAL ? warp.frame().local : 0);
        const std::uint64_t stack = w.launch.local_bytes;
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            result[lane] += first + std::uint64_t(lane) * stack;
    }
}

namespace {

// Calls f(lane) for each of these lanes; the compiler unrolls the loop over all lanes.
template <class F> inline __attribute__((always_inline)) void each_lane(std::uint32_t lanes, F f) {
    if (LIKELY(lanes == ALL_LANES))
        for (int lane = 0; lane < WARP_SIZE; ++lane) f(lane);
    else for_lanes(lanes, f);
}

// ---- local memory and parameters ----

bool in_own_stack(const Worker& w, const Warp& warp, int lane, std::uint64_t address,
                  std::uint32_t size) {
    std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
    return size <= w.launch.local_bytes && offset <= w.launch.local_bytes - size;
}

// Whether all lanes access aligned places in their own stacks and, where `watched`, read only bytes
// that they have written, as they nearly always do. Stored bytes then count as written.
template <std::uint32_t size>
bool is_plain_local(Worker& w, const Warp& warp, std::uint32_t lanes,
                    const std::uint64_t* addresses, Access access, bool watched) {
    const std::uint64_t stack = w.launch.local_bytes;
    if (stack < size) return false;
    const auto first = reinterpret_cast<std::uint64_t>(warp.local);
    std::uint64_t outside = 0;
    each_lane(lanes, [&](int lane) {
        const std::uint64_t offset = addresses[lane] - (first + std::uint64_t(lane) * stack);
        outside |= std::uint64_t(offset > stack - size) | (addresses[lane] & (size - 1));
    });
    if (outside != 0) return false;
    std::uint8_t* const written = w.local_written.data();
    const auto start = reinterpret_cast<std::uint64_t>(w.local.data());
    static constexpr std::array<std::uint8_t, 16> all_written{1, 1, 1, 1, 1, 1, 1, 1,
                                                              1, 1, 1, 1, 1, 1, 1, 1};
    if (access != LOAD) {
        each_lane(lanes, [&](int lane) {
            std::memset(written + (addresses[lane] - start), 1, size);
        });
        return true;
    }
    bool missing = false;
    if (watched)
        each_lane(lanes, [&](int lane) {
            missing |=
                std::memcmp(written + (addresses[lane] - start), all_written.data(), size) != 0;
        });
    return !missing;
}

// Whether a lane's access meets a gap behind a local array.
bool meets_gap(const Worker& w, const Warp& warp, int lane, std::uint64_t address,
               std::uint32_t size) {
    if (!w.has_gaps) return false;
    const std::uint8_t* shadow =
        w.local_written.data() + (address - reinterpret_cast<std::uint64_t>(w.local.data()));
    return shadow[0] == GAP || shadow[size - 1] == GAP;
}

// Reports a lane's access to a variable that has ended. What follows from it is not reported.
void report_dead(Worker& w, const Warp& warp, int lane, std::int32_t pc, std::uint8_t* shadow,
                 std::uint32_t size, Access access) {
    for (std::uint32_t k = 0; k < size; ++k) {
        if (shadow[k] < DEAD) continue;
        Finding finding;
        finding.kind = DEAD_LOCAL, finding.size = size, finding.offset = shadow[k] - DEAD;
        finding.here = w.place(warp, lane, pc, access);
        w.findings.add(finding);
        std::memset(shadow, 1, size);
        return;
    }
}

bool check_local(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
                 const std::uint64_t* addresses, std::uint32_t size, Access access) {
    const bool checked = !(i.flags & PARAMETER);
    const auto is_plain = size == 1   ? is_plain_local<1>
                          : size == 2 ? is_plain_local<2>
                          : size == 4 ? is_plain_local<4>
                          : size == 8 ? is_plain_local<8>
                                      : is_plain_local<16>;
    if (LIKELY(!w.has_gaps && size <= 16 &&
               is_plain(w, warp, lanes, addresses, access, (w.observe & INITIALISATION) != 0)))
        return true;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        std::uint64_t address = addresses[lane];
        std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
        const bool is_own = in_own_stack(w, warp, lane, address, size);
        const bool in_gap = is_own && meets_gap(w, warp, lane, address, size);
        if (checked && is_own && (address & (size - 1))) {
            refuse_access(w, warp, lane, MISALIGNED, w.local_region, address, size, pc, access);
            return false;
        }
        if (in_gap || !is_own) {
            Finding finding;
            if (in_gap) std::strcpy(finding.text, "gap");
            finding.kind = LOCAL_OVERRUN, finding.size = size,
            finding.offset = static_cast<std::int64_t>(offset);
            finding.region = w.local_region != nullptr ? w.local_region->id : 0;
            finding.here = w.place(warp, lane, pc, access);
            w.end_launch(finding);
            return false;
        }
        std::uint8_t* written =
            w.local_written.data() + (address - reinterpret_cast<std::uint64_t>(w.local.data()));
        if (w.has_gaps) report_dead(w, warp, lane, pc, written, size, access);
        if (access == LOAD) {
            if ((w.observe & INITIALISATION) && !Initialisation::is_written(written, size))
                w.unwritten |= 1u << lane;
        } else {
            std::memset(written, 1, size);
        }
    }
    return true;
}

// Counts an access to local memory. The arguments of functions do not count: on a GPU they are in
// registers.
void count_local(Worker& w, const Warp& warp, const Instruction& i, std::int32_t pc,
                 std::uint32_t lanes, const std::uint64_t* addresses, std::uint32_t size,
                 Access access) {
    if (!(w.observe & TRAFFIC) || (i.flags & (NO_COUNT | PARAMETER)) || w.local_region == nullptr)
        return;
    // The place in a lane's own memory, counted from where the counters know local memory to be.
    std::uint64_t places[WARP_SIZE] = {};
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        places[lane] = w.local_region->start + addresses[lane] -
                       reinterpret_cast<std::uint64_t>(warp.local_of(lane));
    }
    const std::uint32_t width = i.join > 0 ? static_cast<std::uint32_t>(i.join) : size;
    w.traffic.local({places, lanes, static_cast<std::uint32_t>(pc), width, size,
                     static_cast<std::uint8_t>(access), w.local_region, nullptr},
                    w.traffic.watches(w.block_linear, warp.number, w.async.in_flight));
}

// Checks and counts an access to local memory. Returns false if the launch is over.
bool observe_local(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                   std::uint32_t lanes, const std::uint64_t* addresses, std::uint32_t size,
                   Access access) {
    if (!check_local(w, warp, i, pc, lanes, addresses, size, access)) return false;
    count_local(w, warp, i, pc, lanes, addresses, size, access);
    return true;
}

// Finds the lanes whose generic addresses lie in their own local memory, and those whose addresses
// lie in the kernel's parameters.
std::uint32_t local_lanes(const Worker& w, const Warp& warp, std::uint32_t lanes,
                          const std::uint64_t* addresses) {
    if (w.local.empty()) return 0;
    const auto first = reinterpret_cast<std::uint64_t>(warp.local);
    const std::uint64_t stack = w.launch.local_bytes;
    std::uint32_t found = 0;
    each_lane(lanes, [&](int lane) {
        const std::uint64_t own = addresses[lane] - (first + std::uint64_t(lane) * stack);
        found |= std::uint32_t(own < stack) << lane;
    });
    return found;
}
std::uint32_t parameter_lanes(const Worker& w, std::uint32_t lanes, const std::uint64_t* addresses,
                              std::uint32_t size) {
    const auto start = reinterpret_cast<std::uint64_t>(w.launch.parameters);
    const std::uint64_t bytes = w.launch.parameter_bytes;
    std::uint32_t found = 0;
    each_lane(lanes, [&](int lane) {
        found |= std::uint32_t(addresses[lane] - start + size <= bytes) << lane;
    });
    return found;
}

// ---- the transfer of bytes ----

template <class T>
void gather(Warp& warp, const Instruction& i, std::uint32_t lanes, const std::uint64_t* addresses,
            const Shapes& shapes) {
    for (int k = 0; k < i.elements; ++k) {
        std::int32_t slot = warp.operand(i, 1 + k);
        if (slot < 0) continue;
        T* to = warp.at<T>(slot);
        const std::uint64_t shift = std::uint64_t(k) * sizeof(T);
        auto from = [&](int lane) {
            return reinterpret_cast<const char*>(addresses[lane] + shift);
        };
        std::uint32_t rest = lanes;
        for (int h = 0; h < 2; ++h) {
            const int first = half_warp * h;
            if ((lanes >> first & first_half) != first_half) continue;
            rest &= ~(first_half << first);
            if (shapes.half(h) == UNIFORM) {
                T value;
                std::memcpy(&value, from(first), sizeof(T));
                std::fill_n(to + first, half_warp, value);
            } else if (shapes.half(h) == CONTIGUOUS && i.elements == 1) {
                std::memcpy(to + first, from(first), half_warp * sizeof(T));
            } else {
                for (int lane = first; lane < first + half_warp; ++lane)
                    std::memcpy(&to[lane], from(lane), sizeof(T));
            }
        }
        for (; rest != 0; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            std::memcpy(&to[lane], from(lane), sizeof(T));
        }
    }
}
template <class T>
void scatter(Warp& warp, const Instruction& i, std::uint32_t lanes, const std::uint64_t* addresses,
             const Shapes& shapes) {
    for (int k = 0; k < i.elements; ++k) {
        std::int32_t slot = warp.operand(i, 1 + k);
        if (slot < 0) continue;
        const T* from = warp.at<T>(slot);
        if (shapes.warp() == CONTIGUOUS && i.elements == 1) {
            std::memcpy(reinterpret_cast<char*>(addresses[0]), from, WARP_SIZE * sizeof(T));
            continue;
        }
        const std::uint64_t shift = std::uint64_t(k) * sizeof(T);
        each_lane(lanes, [&](int lane) {
            std::memcpy(reinterpret_cast<char*>(addresses[lane] + shift), &from[lane], sizeof(T));
        });
    }
}
struct Bits128 {
    std::uint64_t low, high;
};

void move_in(Warp& warp, const Instruction& i, std::uint32_t lanes, const std::uint64_t* addresses,
             const Shapes& shapes = {}) {
    switch (i.bytes) {
        case 1:    // a slot of 16 bits holds it
            for (int k = 0; k < i.elements; ++k) {
                std::int32_t slot = warp.operand(i, 1 + k);
                if (slot < 0) continue;
                auto* to = warp.at<std::uint16_t>(slot);
                for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
                    int lane = __builtin_ctz(left);
                    auto value = *reinterpret_cast<const std::uint8_t*>(
                        addresses[lane] + static_cast<std::uint64_t>(k));
                    to[lane] = i.type == S8
                                   ? static_cast<std::uint16_t>(static_cast<std::int8_t>(value))
                                   : value;
                }
            }
            break;
        case 2: gather<std::uint16_t>(warp, i, lanes, addresses, shapes); break;
        case 4: gather<std::uint32_t>(warp, i, lanes, addresses, shapes); break;
        case 8: gather<std::uint64_t>(warp, i, lanes, addresses, shapes); break;
        default: gather<Bits128>(warp, i, lanes, addresses, shapes);
    }
}
void move_out(Warp& warp, const Instruction& i, std::uint32_t lanes, const std::uint64_t* addresses,
              const Shapes& shapes = {}) {
    switch (i.bytes) {
        case 1:
            for (int k = 0; k < i.elements; ++k) {
                std::int32_t slot = warp.operand(i, 1 + k);
                if (slot < 0) continue;
                const auto* from = warp.at<std::uint16_t>(slot);
                for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
                    int lane = __builtin_ctz(left);
                    *reinterpret_cast<std::uint8_t*>(addresses[lane] +
                                                     static_cast<std::uint64_t>(k)) =
                        static_cast<std::uint8_t>(from[lane]);
                }
            }
            break;
        case 2: scatter<std::uint16_t>(warp, i, lanes, addresses, shapes); break;
        case 4: scatter<std::uint32_t>(warp, i, lanes, addresses, shapes); break;
        case 8: scatter<std::uint64_t>(warp, i, lanes, addresses, shapes); break;
        default: scatter<Bits128>(warp, i, lanes, addresses, shapes);
    }
}

bool refuse_parameter(Worker& w, Warp& warp, int lane, std::int32_t pc, std::uint64_t address,
                      std::uint32_t size, Access access) {
    refuse_access(w, warp, lane, access == LOAD ? OUT_OF_BOUNDS : READ_ONLY, nullptr, address, size,
                  pc, access);
    return false;
}

// Whether an access is to a flag between threads, which does not race with other such accesses. A
// volatile variable is a flag if the kernel asks for it in a loop and has fences; or it reads one
// to try a compare-and-swap, which fails if the value is an old one. In shared memory, where volatile
// arrays are often no flags, it must be the array that a loop asks for.
bool is_flag(const Worker& w, const Instruction& i, std::int32_t pc, std::uint64_t address) {
    if (i.flags & (ACQUIRE | RELEASE | RELAXED)) return true;
    if (!(i.flags & VOLATILE) || !w.has_polls) return false;
    const bool is_store = w.decoded[pc].machine == run_store;
    const bool is_in_shared =
        i.space == SHARED_SPACE || address - window_of(w) < w.launch.shared_bytes;
    if (is_in_shared)
        return w.has_fences && std::find(w.polled.begin(), w.polled.end(),
                                         w.launch.program.origins[pc]) != w.polled.end();
    return (w.has_fences && (is_store || w.decoded[pc].detail != 0)) || (w.has_swaps && !is_store);
}

std::uint32_t counted_size(const Instruction& i) {
    return i.flags & NO_COUNT ? 0 : i.join > 0 ? static_cast<std::uint32_t>(i.join) : UINT32_MAX;
}

// Whether a store changes a byte of memory.
__attribute__((noinline)) bool changes(const Warp& warp, const Instruction& i, std::uint32_t lanes,
                                       const std::uint64_t* addresses) {
    bool any = false;
    for_lanes(lanes, [&](int lane) {
        for (int k = 0; k < i.elements; ++k) {
            const std::int32_t slot = warp.operand(i, 1 + k);
            if (slot < 0) continue;
            const std::size_t width = i.bytes == 1 ? 2 : i.bytes;    // a slot of 16 bits has a byte
            const char* const value = warp.at<char>(slot) + static_cast<std::size_t>(lane) * width;
            const std::uint64_t at = addresses[lane] + static_cast<std::uint64_t>(k) * i.bytes;
            any |= std::memcmp(reinterpret_cast<const void*>(at), value, i.bytes) != 0;
        }
    });
    return any;
}

// Orders the lanes with the other threads that access this flag.
void order_by_flag(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes,
                   const std::uint64_t* addresses, std::int32_t pc) {
    const bool is_store = w.decoded[pc].machine == run_store;
    if (i.flags & (ACQUIRE | RELEASE)) w.order.used = true;
    if (!w.order.used) return;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (i.flags & RELEASE) {    // it acts as a fence before the store
            warp.clock.set(lane, ++w.now);
            (i.flags & SCOPE_CTA ? warp.fence[lane].block_clock : warp.fence[lane].clock) =
                warp.clock[lane];
        }
        w.order.atomic(addresses[lane], Toucher32(w, warp, lane, pc), warp.fence[lane],
                       warp.after[lane],
                       is_store ? slot_value(warp, warp.operand(i, 1), i.bytes, lane) : no_value,
                       is_store);
    }
}

// Shows an access to the observers. An access to a flag is an atomic to them, so that it does not
// race with the others; count_flag counts it.
inline __attribute__((always_inline)) bool
observe_moved(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
              const std::uint64_t* addresses, std::uint32_t size, Access access, bool flag,
              const Shapes& shapes) {
    const std::uint32_t counted = counted_size(i);
    if (UNLIKELY(flag))
        return observe_access(w, warp, pc, lanes, addresses, size, ATOMIC, true, counted, i.target,
                              false, Shapes());
    return observe_access(w, warp, pc, lanes, addresses, size, access, true, counted, i.target,
                          true, shapes);
}

// Counts an access to a flag: it moves bytes as a load or a store does.
__attribute__((noinline)) void
count_flag(Worker& w, const Warp& warp, std::int32_t pc, std::uint32_t lanes,
           const std::uint64_t* addresses, std::uint32_t size, Access access) {
    if (!(w.observe & TRAFFIC)) return;
    Region* region = memory.find(addresses[__builtin_ctz(lanes)]);
    w.traffic.request({addresses, lanes, static_cast<std::uint32_t>(pc), size, size,
                       static_cast<std::uint8_t>(access), region, nullptr},
                      w.traffic.watches(w.block_linear, warp.number, w.async.in_flight));
}

inline __attribute__((always_inline)) void note_marks(Worker& w, Warp& warp, const Instruction& i,
                                                      std::int32_t pc, std::uint32_t lanes,
                                                      const std::uint64_t* addresses) {
    if (UNLIKELY(w.unwritten != 0 || !warp.marks.empty()))
        mark_loaded(w, warp, i, pc, lanes, w.unwritten, addresses);
}

enum Outcome { OTHERWISE, DONE, OVER };

// What is rare of a load of halves. The observers, the counters and the transfer get all addresses.
__attribute__((noinline)) bool watch_halves(Worker& w, Warp& warp, Region& region, std::int32_t pc,
                                            const std::uint64_t* places, std::uint32_t size,
                                            const Shapes& shapes) {
    const AllAddresses all(places[0], places[half_warp], size, shapes);
    return watch_for_races<LOAD>(w, warp, region, pc, ALL_LANES, all.of, size, shapes);
}
__attribute__((noinline)) void count_all(Worker& w, const Warp& warp, Request request,
                                         std::uint32_t counted, std::int32_t shift) {
    const AllAddresses all(request.addresses[0], request.addresses[half_warp], request.size,
                           request.shapes);
    request.addresses = all.of;
    count_access(w, warp, request, counted, shift);
}
__attribute__((noinline)) void move_halves(Warp& warp, const Instruction& i,
                                           const std::uint64_t* places, std::uint32_t size,
                                           const Shapes& shapes) {
    const AllAddresses all(places[0], places[half_warp], size, shapes);
    move_in(warp, i, ALL_LANES, all.of, shapes);
}

// Runs a load of all lanes in which each half of the warp reads one place, or places one after
// another, of the array that the instruction read last. The addresses of lanes 0 and 16 say what
// all lanes do: places has no others. OTHERWISE: it is another load, and nothing has happened.
inline __attribute__((always_inline)) Outcome
run_load_of_halves(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                   const std::uint64_t* places, std::uint32_t size, const Shapes& shapes) {
    constexpr std::uint32_t special = VOLATILE | RELAXED | ACQUIRE | RELEASE;
    const Recent& recent = w.recent[pc];
    if ((i.flags & special) || recent.region == nullptr || !warp.marks.empty()) return OTHERWISE;
    bool outside = ((places[0] | places[half_warp]) & (size - 1)) != 0;
    for (int h = 0; h < 2; ++h) {
        const std::uint64_t offset = places[half_warp * h] - recent.start;
        outside |= offset >= recent.bytes || recent.bytes - offset < shapes.bytes(h, size);
    }
    Region& region = *recent.region;
    if (outside || (region.is_shared() && w.async.in_flight != 0)) return OTHERWISE;
    if (!region.complete && (w.observe & INITIALISATION))
        for (int h = 0; h < 2; ++h)
            if (Initialisation::is_read_of_nothing(region, places[half_warp * h],
                                                   shapes.bytes(h, size)))
                return OTHERWISE;
    if (UNLIKELY(region.coverage != nullptr))
        for (int h = 0; h < 2; ++h)
            region.coverage->read(places[half_warp * h] - region.start, shapes.bytes(h, size),
                                  w.one_of_many);
    if ((w.observe & RACES) && !region.is_input && region.space != CONSTANT &&
        !read_quietly(w, warp, region, pc, places, size, shapes) &&
        !watch_halves(w, warp, region, pc, places, size, shapes))
        return OVER;
    if (w.observe & TRAFFIC) {
        const std::uint32_t counted = counted_size(i);
        const Request request{places, ALL_LANES, static_cast<std::uint32_t>(pc), size, size,
                              LOAD, &region, nullptr, shapes};
        const bool is_own_size = counted == UINT32_MAX || counted == 0;
        if (LIKELY(is_own_size && !Traffic::needs_all_lanes(region, size, shapes) &&
                   !w.traffic.watches(w.block_linear, warp.number, w.async.in_flight)))
            w.traffic.load_of_halves(request, counted != 0);
        else count_all(w, warp, request, counted, i.target);
    }
    if (i.bytes != 4 || i.elements != 1) {
        move_halves(warp, i, places, size, shapes);
    } else if (i.operand[1] >= 0) {    // nearly all loads
        auto* to = warp.at<std::uint32_t>(i.operand[1]);
        for (int h = 0; h < 2; ++h, to += half_warp) {
            const auto* from = reinterpret_cast<const std::uint32_t*>(places[half_warp * h]);
            if (shapes.half(h) == UNIFORM) std::fill_n(to, half_warp, *from);
            else std::memcpy(to, from, half_warp * sizeof *to);
        }
    }
    return DONE;
}

// Runs any load.
__attribute__((noinline)) bool run_any_load(Worker& w, Warp& warp, const Instruction& i,
                                            std::int32_t pc, std::uint32_t lanes) {
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, addresses);
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    if (i.space == PARAM_SPACE) {
        const std::uint64_t limit = w.launch.parameter_bytes;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            if (UNLIKELY(addresses[lane] + size > limit))
                return refuse_parameter(w, warp, lane, pc, addresses[lane], size, LOAD);
            if (i.operand[0] < 0) break;    // all lanes read the same place
        }
        for (std::uint64_t& address : addresses)
            address += reinterpret_cast<std::uint64_t>(w.launch.parameters);
        note_marks(w, warp, i, pc, lanes, addresses);
        move_in(warp, i, lanes, addresses, shapes_of(addresses, lanes, size));
        return true;
    }
    if (i.space == LOCAL_SPACE) {
        if (!observe_local(w, warp, i, pc, lanes, addresses, size, LOAD)) return false;
        note_marks(w, warp, i, pc, lanes, addresses);
        move_in(warp, i, lanes, addresses);
        return true;
    }
    const Shapes shapes = shapes_of(addresses, lanes, size);
    if (shapes.known()) {
        const Outcome outcome = run_load_of_halves(w, warp, i, pc, addresses, size, shapes);
        if (outcome != OTHERWISE) return outcome == DONE;
    }
    std::uint32_t rest = lanes;
    if (i.space == GENERIC) {
        const std::uint32_t own = local_lanes(w, warp, lanes, addresses);
        if (own != 0 && !observe_local(w, warp, i, pc, own, addresses, size, LOAD)) return false;
        rest &= ~(own | parameter_lanes(w, lanes, addresses, size));
    }
    if (rest != 0) {
        const bool flag = is_flag(w, i, pc, addresses[__builtin_ctz(rest)]);
        w.marking = true;
        const bool good = observe_moved(w, warp, i, pc, rest, addresses, size, LOAD, flag,
                                        rest == lanes ? shapes : Shapes());
        w.marking = false;
        if (!good) return false;
        if (UNLIKELY(flag)) {
            order_by_flag(w, warp, i, rest, addresses, pc);
            count_flag(w, warp, pc, rest, addresses, size, LOAD);
            warp.yielding = true;    // the lane may wait for another one
        } else if (UNLIKELY((i.flags & VOLATILE) != 0)) {
            warp.yielding = true;
        }
    }
    note_marks(w, warp, i, pc, lanes, addresses);
    move_in(warp, i, lanes, addresses, shapes);
    return true;
}

}    // namespace

bool run_load(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    w.unwritten = 0;
    if (LIKELY(has_addresses_in_register(i) && lanes == ALL_LANES)) {
        const auto* const x = warp.at<std::uint64_t>(i.operand[0]);
        const std::int32_t like = w.decoded[pc].like;
        const Shapes shapes =
            like >= 0 ? w.recent[like].shapes
                      : (w.recent[pc].shapes = shapes_of(x, ALL_LANES, size));
        if (shapes.known()) {
            const std::uint64_t base = static_cast<std::uint64_t>(i.immediate) +
                                       (i.space == SHARED_SPACE ? window_of(w) : 0);
            std::uint64_t places[half_warp + 1];
            places[0] = x[0] + base, places[half_warp] = x[half_warp] + base;
            const Outcome outcome = run_load_of_halves(w, warp, i, pc, places, size, shapes);
            if (outcome != OTHERWISE) return outcome == DONE;
        }
    }
    return run_any_load(w, warp, i, pc, lanes);
}

bool run_store(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, addresses);
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    if (i.space == PARAM_SPACE) {
        int lane = __builtin_ctz(lanes);
        return refuse_parameter(w, warp, lane, pc, addresses[lane], size, STORE);
    }
    if (i.space == LOCAL_SPACE) {
        if (!observe_local(w, warp, i, pc, lanes, addresses, size, STORE)) return false;
        if (UNLIKELY(!warp.marks.empty()) && !mark_stored(w, warp, i, lanes, addresses))
            return false;
        if (UNLIKELY(w.watches_changes)) w.has_changed |= changes(warp, i, lanes, addresses);
        move_out(warp, i, lanes, addresses);
        return true;
    }
    const Shapes shapes = shapes_of(addresses, lanes, size);
    std::uint32_t rest = lanes;
    if (i.space == GENERIC) {
        const std::uint32_t own = local_lanes(w, warp, lanes, addresses);
        if (own != 0 && !observe_local(w, warp, i, pc, own, addresses, size, STORE)) return false;
        rest &= ~own;
    }
    if (rest != 0) {
        const bool flag = is_flag(w, i, pc, addresses[__builtin_ctz(rest)]);
        if (flag)    // the observer of initialisation must see a store
            for (std::uint32_t left = rest; left != 0; left &= left - 1) {
                const std::uint64_t address = addresses[__builtin_ctz(left)];
                Region* region = memory.find(address);
                if (region == nullptr || !region->holds(address, size)) continue;
                Initialisation::written(*region, address, size, static_cast<std::uint32_t>(pc) + 1);
            }
        w.storing = addresses, w.storing_lanes = rest;
        const bool good = observe_moved(w, warp, i, pc, rest, addresses, size, STORE, flag,
                                        rest == lanes ? shapes : Shapes());
        w.storing = nullptr;
        if (!good) return false;
        if (UNLIKELY(flag)) {
            order_by_flag(w, warp, i, rest, addresses, pc);
            count_flag(w, warp, pc, rest, addresses, size, STORE);
        }
    }
    if (UNLIKELY(!warp.marks.empty()) && !mark_stored(w, warp, i, lanes, addresses)) return false;
    if (UNLIKELY(w.watches_changes)) w.has_changed |= changes(warp, i, lanes, addresses);
    move_out(warp, i, lanes, addresses, shapes);
    return true;
}

const bool registered = [] {
    add_operation("ld", run_load, READS);
    add_operation("st", run_store, WRITES);
    return true;
}();
