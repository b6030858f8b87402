// access.cpp -- every load, store and atomic: where it goes, what the observers say of it, and the
// move itself
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace {

// What an access of one lane is to the observers.
struct Toucher32 : Toucher {
    Toucher32(const Worker& w, const Warp& warp, int lane, std::int32_t pc)
        : Toucher{w.block_number, warp.clock[lane], w.turn,
                  pack(static_cast<std::uint32_t>(pc), warp.thread(lane))} {}
};

constexpr std::uint64_t null_page = 1 << 16;    // addresses below come from null pointers

// meant: the encoder knows that the address is counted from this array.
void refuse_access(Worker& w, Warp& warp, int lane, Kind kind, const Region* region,
                   std::uint64_t address, std::uint32_t size, std::int32_t pc, Access access,
                   bool meant = false) {
    Finding finding;
    finding.kind = kind, finding.size = size;
    if (meant) std::strcpy(finding.text, "meant");
    finding.here = w.place(warp, lane, pc, access);
    if (region != nullptr)
        finding.region = region->id,
        finding.offset = static_cast<std::int64_t>(address - region->start);
    else finding.offset = static_cast<std::int64_t>(address);
    w.end_launch(finding);
}

// ---- which array ----

// No array is there: the one that was meant, as far as one can tell, names the fault.
void refuse_place(Worker& w, Warp& warp, int lane, std::uint64_t address, std::uint32_t size,
                  std::int32_t pc, Access access) {
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
    bool in_window = address - reinterpret_cast<std::uint64_t>(w.shared_window) <
                     std::uint64_t(w.launch.shared_bytes) + (1u << 24);
    if (i.space == SHARED_SPACE || in_window) {
        std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(w.shared_window);
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
    // What this instruction touched before says best which array was meant.
    const Region* meant = region != nullptr                ? region
                          : w.recent[pc].region != nullptr ? w.recent[pc].region
                                                           : memory.nearest(address);
    refuse_access(w, warp, lane, OUT_OF_BOUNDS, meant, address, size, pc, access);
}

// The array that an instruction's address is counted from, where the encoder is sure of it and the
// pointer leads to one.
Region* origin_of(const Worker& w, std::int32_t pc) {
    const std::int32_t origin = w.launch.program.origins[pc];
    std::uint64_t address = 0;
    if (origin <= -2) address = w.launch.program.statics[-2 - origin].value;
    else if (origin >= 0 &&
             static_cast<std::uint32_t>(origin) + sizeof address <= w.launch.parameter_bytes)
        std::memcpy(&address, static_cast<const char*>(w.launch.parameters) + origin,
                    sizeof address);
    return address != 0 ? memory.find(address) : nullptr;
}

// The arrays of all lanes, where not all stand in the one that the instruction touched last. Null
// in `one`: in several.
bool find_arrays(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                 const std::uint64_t* addresses, std::uint32_t size, Access access,
                 Region** regions, Region** one) {
    Region* first = nullptr;
    Region* const meant = origin_of(w, pc);
    bool same = true;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (meant != nullptr && !meant->holds(addresses[lane], size) &&
            addresses[lane] >= null_page) {
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
                    first;    // what the lanes before touched names the array that was meant
            refuse_place(w, warp, lane, addresses[lane], size, pc, access);
            return false;
        }
        regions[lane] = region;
        if (first == nullptr) first = region;
        same &= region == first;
    }
    *one = same ? first : nullptr;
    w.recent[pc] = {first->start, first->bytes(), first};
    return true;
}

// ---- races: what the inline part could not rule out ----

// Whether an earlier access of this launch comes before the present one for sure.
bool comes_before(const Worker& w, const Warp& warp, const Earlier& earlier, std::uint64_t address,
                  const Toucher& me) {
    const LaneClocks& after = warp.after[me.thread() & 31];
    if (earlier.block == me.block && !(earlier.flags & Races::MANY_BLOCKS)) {
        if (earlier.when < me.turn) return true;
        std::uint32_t thread = Toucher::thread_of(earlier.who);
        if (!(earlier.flags & Races::MANY_WARPS)) {
            if (thread == me.thread() &&
                (!(earlier.flags & Races::MANY_THREADS) || earlier.when < me.when))
                return true;
            if (thread != me.thread() && thread >> 5 == me.thread() >> 5 &&
                earlier.when < after[thread & 31])
                return true;
        }
    }
    if (w.async.order.covers(earlier, me, after)) return true;
    return w.order.used && w.order.covers(earlier, address, me, after);
}

Place place_of(const Worker& w, const Earlier& earlier, const Toucher& me) {
    const Dim& grid = w.launch.grid;
    Place place;
    place.pc = Toucher::pc_of(earlier.who), place.thread = Toucher::thread_of(earlier.who),
    place.access = earlier.access;
    std::uint32_t linear = earlier.block - w.first_block;
    place.block[0] = linear % grid.x, place.block[1] = linear / grid.x % grid.y,
    place.block[2] = linear / grid.x / grid.y;
    if (earlier.block == me.block &&
        place.thread ==
            me.thread()) {    // the last of several is this thread: the others are unknown
        if (earlier.flags & Races::MANY_BLOCKS) place.block[0] = Place::unknown;
        place.thread = Place::unknown;
    }
    return place;
}

// True when it was a race, so that a wide access tells it once.
__attribute__((noinline)) bool suspect(Worker& w, Warp& warp, int lane, const Region& region,
                                       const Earlier& earlier, std::uint64_t address,
                                       std::uint32_t size, std::int32_t pc, Access access,
                                       const Toucher& me) {
    if (comes_before(w, warp, earlier, address, me)) return false;
    Finding finding;
    finding.kind = RACE, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    finding.here = w.place(warp, lane, pc, access);
    finding.other = place_of(w, earlier, me);
    if (access == LOAD &&
        earlier.access == ATOMIC) {    // perhaps the first guess of a compare-and-swap loop
        if ((warp.guessing >> lane & 1) && warp.guessed[lane] == address) return true;
        settle_guess(w, warp, lane, false);
        warp.guessing |= 1u << lane, warp.guessed[lane] = address, warp.guess[lane] = finding;
    } else {
        w.findings.add(finding);
    }
    return true;
}

// The write that an access must be held against: for an atomic the plain one, where atomics came
// after it.
Earlier written_before(const Worker& w, const RaceCell& cell, Access access) {
    if (access == ATOMIC && (cell.write_flags & Races::PLAIN_BEFORE)) {
        auto known = w.plain_before.find(&cell);
        if (known != w.plain_before.end()) return known->second;
    }
    return Races::last_write(cell);
}

// A byte of what a lane stores.
std::uint8_t stored_byte(const Warp& warp, const Instruction& i, int lane, std::uint64_t at) {
    const std::int32_t slot = warp.operand(i, 1 + static_cast<int>(at / i.bytes));
    const std::size_t width = i.bytes == 1 ? 2 : i.bytes;    // bytes live in 16 bits
    return static_cast<std::uint8_t>(
        warp.at<char>(slot)[static_cast<std::size_t>(lane) * width + at % i.bytes]);
}

// Whether a lane stores what the bytes hold already: by an earlier instruction, or by a lane before
// it.
__attribute__((noinline)) bool stores_equal(const Worker& w, const Warp& warp, int lane,
                                            std::uint64_t address, std::uint64_t first,
                                            std::uint64_t count, std::int32_t pc) {
    if (w.storing == nullptr) return false;
    const Instruction& i = w.instruction(pc);
    for (int k = 0; k < i.elements; ++k)
        if (warp.operand(i, 1 + k) < 0) return false;
    const std::uint64_t size = std::uint64_t(i.bytes) * i.elements;
    for (std::uint64_t at = first; at < first + count; ++at) {
        std::uint8_t before = *reinterpret_cast<const std::uint8_t*>(address + at);
        for (std::uint32_t left = w.storing_lanes & ((1u << lane) - 1); left != 0;
             left &= left - 1) {
            const int other = __builtin_ctz(left);
            const std::uint64_t there = address + at - w.storing[other];
            if (there < size) before = stored_byte(warp, i, other, there);
        }
        if (before != stored_byte(warp, i, lane, at)) return false;
    }
    return true;
}

__attribute__((noinline)) void refine(Region& region, std::uint64_t offset, std::uint32_t size) {
    std::uint8_t grain = region.grain;
    while ((offset | size) & ((std::uint64_t(1) << grain) - 1)) --grain;
    region.refine(grain);
}

// Readers that a lock has ordered before this one: whoever comes after this one comes after them.
__attribute__((noinline)) void forget_readers_before(const Worker& w, const Warp& warp,
                                                     RaceCell& cell, std::uint32_t oldest,
                                                     std::uint64_t address, const Toucher& me) {
    if (cell.read_block < oldest || cell.read_flags != 0) return;
    bool own = cell.read_block == me.block && Toucher::thread_of(cell.read_who) == me.thread();
    if (!own && comes_before(w, warp, Races::last_read(cell, me), address, me)) cell.read_block = 0;
}

template <Access access>
void watch_together(Worker& w, Region& region, std::uint64_t address, std::uint32_t size,
                    const Toucher& me) {
    std::uint64_t offset = address - region.start;
    bool fits = ((offset | size) & ((std::uint64_t(1) << region.grain) - 1)) == 0;
    if (!fits || access == ATOMIC || !region.shadowed || (access == STORE && !region.writable))
        return w.give_up();
    RaceCell* cell = region.races.cells + (offset >> region.grain);
    for (RaceCell* end = cell + (size >> region.grain); cell != end; ++cell)
        if (UNLIKELY(Races::collides<access == STORE>(*cell, me, region.oldest)))
            return w.give_up();
}

template <Access access>
inline __attribute__((always_inline)) void watch_races(Worker& w, Warp& warp, int lane,
                                                       Region& region, std::uint64_t address,
                                                       std::uint32_t size, std::int32_t pc,
                                                       const Toucher& me, bool within_block) {
    RaceCell* cell = region.cells_at(address - region.start, size);
    RaceCell* end = cell + (size >> region.grain);
    const std::uint32_t oldest = region.oldest;
    bool told = false, repeated = false;
    for (std::uint64_t first = 0; cell != end; ++cell, first += std::uint64_t(1) << region.grain) {
        bool equal = false;
        if (UNLIKELY(Races::meets_write(*cell, access == ATOMIC, me, oldest, within_block))) {
            const Earlier earlier = written_before(w, *cell, access);
            equal =
                access == STORE && earlier.access == STORE &&
                !comes_before(w, warp, earlier, address, me) &&
                stores_equal(w, warp, lane, address, first, std::uint64_t(1) << region.grain, pc);
            repeated |= equal;
            told = told || equal ||
                   suspect(w, warp, lane, region, earlier, address, size, pc, access, me);
        }
        if (access != LOAD && UNLIKELY(Races::meets_read(*cell, me, oldest)))
            told = told || suspect(w, warp, lane, region, Races::last_read(*cell, me), address,
                                   size, pc, access, me);
        if (access == LOAD) {
            if (UNLIKELY(w.order.used)) forget_readers_before(w, warp, *cell, oldest, address, me);
            if (UNLIKELY(cell->read_block == me.block && cell->read_when >= me.turn &&
                         cell->read_when != me.when))
                Races::supersede_reads(*cell, me, warp.after[lane].data());
            Races::remember_read(*cell, me, oldest);
        } else {
            bool covers =
                access == ATOMIC && UNLIKELY(Races::covers_plain_write(*cell, me, oldest));
            if (covers) w.plain_before[cell] = Races::last_write(*cell);
            Races::remember_write(*cell, access == ATOMIC, me, oldest, equal);
            if (covers) cell->write_flags |= Races::PLAIN_BEFORE;
            if (within_block) cell->write_flags |= Races::WITHIN_BLOCK;
        }
    }
    if (access == STORE && UNLIKELY(repeated) && (w.observe & TRAFFIC))
        w.traffic.repeated(static_cast<std::uint32_t>(pc), &region, size);
}

// All lanes read one word that nobody has written since the last barrier: the first and the last
// lane stand for all.
inline bool read_by_all(Worker& w, Warp& warp, Region& region, std::uint64_t address,
                        std::uint32_t size, std::int32_t pc) {
    RaceCell* cell = region.cells_at(address - region.start, size);
    RaceCell* end = cell + (size >> region.grain);
    const Toucher32 first(w, warp, 0, pc), last(w, warp, WARP_SIZE - 1, pc);
    if (w.order.used || warp.ordered || first.when != last.when) return false;
    for (RaceCell* c = cell; c != end; ++c)
        if (c->write_block >= region.oldest && Races::meets_write(*c, false, first, region.oldest))
            return false;
        else if (c->write_block == first.block && c->write_when >= first.turn) return false;
    for (; cell != end; ++cell) {
        Races::remember_read(*cell, first, region.oldest);
        Races::remember_read(*cell, last, region.oldest);
    }
    return true;
}

// ---- one access of a warp to one array ----

// How the addresses of neighbouring lanes lie: one behind the other, all at one place, or
// otherwise.
enum Shape : std::uint8_t { GENERAL, CONTIGUOUS, UNIFORM };
constexpr int half_warp = WARP_SIZE / 2;
constexpr std::uint32_t first_half = (1u << half_warp) - 1;

struct Shapes {
    Shape half[2] = {GENERAL, GENERAL}, warp = GENERAL;
};

inline Shapes shapes_of(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size) {
    Shapes shapes;
    for (int h = 0; h < 2; ++h) {
        if ((lanes >> (half_warp * h) & first_half) != first_half) continue;
        const std::uint64_t* const own = addresses + half_warp * h;
        const std::uint64_t step = own[1] - own[0];
        if (step != size && step != 0) continue;
        std::uint64_t differ = 0;
        for (std::uint64_t lane = 0; lane < half_warp; ++lane)
            differ |= own[lane] ^ (own[0] + lane * step);
        if (differ == 0) shapes.half[h] = step == 0 ? UNIFORM : CONTIGUOUS;
    }
    if (shapes.half[0] == shapes.half[1] && shapes.half[0] != GENERAL) {
        const std::uint64_t step = shapes.half[0] == CONTIGUOUS ? size : 0;
        if (addresses[half_warp] == addresses[0] + half_warp * step) shapes.warp = shapes.half[0];
    }
    return shapes;
}

void read_of_nothing(Worker& w, Warp& warp, int lane, const Region& region, std::uint64_t address,
                     std::uint32_t size, std::int32_t pc, Access access) {
    Finding finding;
    finding.kind = UNINITIALISED, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    finding.here = w.place(warp, lane, pc, access);
    w.findings.add(finding);
}

// All bits that one of the addresses has.
inline std::uint64_t bits_of_any(const std::uint64_t* addresses, std::uint32_t lanes) {
    std::uint64_t bits = 0;
    if (lanes == ALL_LANES)
        for (int lane = 0; lane < WARP_SIZE; ++lane) bits |= addresses[lane];
    else
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            bits |= addresses[__builtin_ctz(left)];
    return bits;
}

// The cells of a stretch speak for themselves. From now on the stretch may speak for them again,
// where what they know is history, or, for a store, older than the block's last barrier.
template <bool write>
bool gather(Region& region, Stretch& stretch, std::uint64_t first, std::uint32_t block,
            std::uint32_t turn, std::uint32_t when, std::uint32_t who) {
    const RaceCell* const cells = region.races.cells + first;
    const std::uint32_t oldest = region.oldest;
    for (int k = 0; k < Stretch::cells; ++k) {
        const RaceCell& cell = cells[k];
        const std::uint32_t lane = static_cast<std::uint32_t>(k) >> stretch.shift;
        if (write ? !Races::is_quiet<true>(cell, block, turn, when, who + lane, oldest)
                  : cell.write_block >= oldest || cell.read_block >= oldest)
            return false;
    }
    stretch.apart = 0;
    stretch.all.write_block = stretch.all.read_block = 0;
    return true;
}

// A half-warp whose lanes lie one behind the other. True: it cannot collide, and the cells know it.
template <bool write>
inline bool touch_stretches(const Worker& w, Region& region, std::uint64_t address,
                            std::uint32_t size, std::uint32_t when, std::uint32_t who) {
    const std::uint64_t first = (address - region.start) >> region.grain;
    const std::uint32_t oldest = region.oldest, block = w.block_number, turn = w.turn;
    if (first % Stretch::cells != 0) return false;
    const auto shift = static_cast<std::uint8_t>(__builtin_ctz(size) - region.grain);
    Stretch* const stretches = region.stretches.cells + (first >> Stretch::log_cells);
    const std::uint32_t count = 1u << shift;
    const std::uint32_t lanes = static_cast<std::uint32_t>(Stretch::cells) >> shift;
    for (std::uint32_t k = 0; k < count; ++k) {
        Stretch& stretch = stretches[k];
        const bool is_apart = stretch.apart == oldest;
        if (UNLIKELY(stretch.shift != shift)) {
            if (!is_apart &&
                (stretch.all.write_block >= oldest || stretch.all.read_block >= oldest))
                return false;
            stretch.shift = shift;
        }
        const std::uint32_t lead = who + k * lanes;
        if (UNLIKELY(is_apart) &&
            !gather<write>(region, stretch, first + k * Stretch::cells, block, turn, when, lead))
            return false;
        if (UNLIKELY((!Races::is_quiet<write>(stretch.all, block, turn, when, lead, oldest))))
            return false;
    }
    for (std::uint32_t k = 0; k < count; ++k) {
        if (write) Races::write_quietly(stretches[k].all, block, when, who + k * lanes);
        else Races::read_quietly(stretches[k].all, block, turn, when, who + k * lanes, oldest);
    }
    return true;
}

// A half-warp that reads one place. After two lanes the others say nothing new.
inline bool read_by_half(const Worker& w, Region& region, std::uint64_t address, std::uint32_t size,
                         std::uint32_t when, std::uint32_t who) {
    const std::uint32_t oldest = region.oldest, block = w.block_number, turn = w.turn;
    RaceCell* const cells = region.cells_at(address - region.start, size);
    const std::uint64_t count = size >> region.grain;
    for (std::uint64_t k = 0; k < count; ++k)
        if (UNLIKELY((!Races::is_quiet<false>(cells[k], block, turn, when, who, oldest))))
            return false;
    for (std::uint64_t k = 0; k < count; ++k) {
        Races::read_quietly(cells[k], block, turn, when, who, oldest);
        Races::read_quietly(cells[k], block, turn, when, who + 1, oldest);
    }
    return true;
}

// Whether 16 lanes have passed the same barriers.
inline bool same_clocks(const std::uint32_t* clocks) {
    std::uint32_t differ = 0;
    for (int lane = 0; lane < half_warp; ++lane) differ |= clocks[lane] ^ clocks[0];
    return differ == 0;
}

// Accesses that cannot collide, which nearly all are: since the last barrier nobody has written the
// cells, and for a store nobody has read them. The lanes that are left need a closer look.
template <Access access>
std::uint32_t lanes_to_watch(const Worker& w, const Warp& warp, Region& region, std::uint32_t lanes,
                             const std::uint64_t* addresses, std::uint32_t size, std::int32_t pc,
                             const Shapes& shapes) {
    if (access == ATOMIC || w.order.used) return lanes;
    const std::uint64_t start = region.start, count = size >> region.grain;
    const std::uint32_t oldest = region.oldest, block = w.block_number, turn = w.turn;
    const std::uint32_t first = Toucher::pack(static_cast<std::uint32_t>(pc), warp.thread(0));
    for (int h = 0; h < 2; ++h) {
        const int lane = half_warp * h;
        const std::uint32_t when = warp.clock[lane], who = first + static_cast<std::uint32_t>(lane);
        if (shapes.half[h] == GENERAL || !same_clocks(&warp.clock[lane])) continue;
        bool quiet = false;
        if (shapes.half[h] == CONTIGUOUS)
            quiet = touch_stretches<access == STORE>(w, region, addresses[lane], size, when, who);
        else if (access == LOAD) quiet = read_by_half(w, region, addresses[lane], size, when, who);
        if (quiet) lanes &= ~(first_half << lane);
    }
    std::uint32_t rest = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const std::uint32_t when = warp.clock[lane], who = first + static_cast<std::uint32_t>(lane);
        RaceCell* cell = region.cells_at(addresses[lane] - start, size);
        bool quiet = true;
        for (std::uint64_t k = 0; k < count; ++k)
            quiet &= Races::is_quiet<access == STORE>(cell[k], block, turn, when, who, oldest);
        if (UNLIKELY(!quiet)) {
            rest |= 1u << lane;
            continue;
        }
        for (std::uint64_t k = 0; k < count; ++k) {
            if (access == STORE) Races::write_quietly(cell[k], block, when, who);
            else Races::read_quietly(cell[k], block, turn, when, who, oldest);
        }
    }
    return rest;
}

// Whether what nothing has written may be gaps of a structure that is copied. written: one a byte.
bool may_be_gap(const Instruction& i, const std::uint8_t* written, std::uint32_t size) {
    if (i.flags & UNWATCHED) return true;
    if (!(i.flags & COPIED)) return false;
    for (std::uint32_t at = 0; at < size; at += i.bytes)
        if (std::memchr(written + at, 1, i.bytes) == nullptr) return false;
    return true;
}

template <Access access>
void watch_initialisation(Worker& w, Warp& warp, Region& region, std::uint32_t lanes,
                          const std::uint64_t* addresses, std::uint32_t size, std::int32_t pc,
                          const Shapes& shapes) {
    const auto place = static_cast<std::uint32_t>(pc) + 1;
    if (shapes.warp == CONTIGUOUS && access == STORE)
        return Initialisation::written(region, addresses[0], size * WARP_SIZE, place);
    for (int h = 0; h < 2; ++h) {
        if (shapes.half[h] == GENERAL || access == ATOMIC) continue;
        const std::uint64_t first = addresses[half_warp * h];
        const std::uint32_t bytes = shapes.half[h] == CONTIGUOUS ? size * half_warp : size;
        if (access == STORE) Initialisation::written(region, first, bytes, place);
        else if (Initialisation::is_read_of_nothing(region, first, bytes)) continue;
        lanes &= ~(first_half << (half_warp * h));
    }
    if (access == LOAD &&
        lanes == ALL_LANES) {    // where the lanes stand close together: one look at all of it
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
            if (!may_be_gap(w.instruction(pc),
                            region.initialised.cells + (addresses[lane] - region.start), size))
                read_of_nothing(w, warp, lane, region, addresses[lane], size, pc, access);
        if (access != LOAD) Initialisation::written(region, addresses[lane], size, place);
    }
}

template <Access access>
bool observe_array(Worker& w, Warp& warp, Region& region, std::int32_t pc, std::uint32_t lanes,
                   const std::uint64_t* addresses, std::uint32_t size, bool must_align,
                   const Shapes& shapes) {
    if (must_align) {
        if (UNLIKELY((bits_of_any(addresses, lanes) & (size - 1)) != 0))
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
    if (access != LOAD && UNLIKELY(w.launch.rehearsal != 0) && !region.is_shared() &&
        !region.fleeting) {
        if (region.saved == nullptr) region.saved = &w.saved.emplace_back(region);
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            region.saved->keep(addresses[__builtin_ctz(left)] - region.start, size);
    }
    if (UNLIKELY(w.async.in_flight != 0) && region.is_shared())
        watch_copies_in_flight(w, warp, lanes, addresses, size, pc, access);
    if (!region.complete && (w.observe & INITIALISATION))
        watch_initialisation<access>(w, warp, region, lanes, addresses, size, pc, shapes);
    if (!(w.observe & RACES) || region.space == CONSTANT) return true;
    if (UNLIKELY(w.one_of_many) && !region.is_shared()) {
        for (std::uint32_t left = lanes; left != 0 && !w.aborted; left &= left - 1) {
            int lane = __builtin_ctz(left);
            watch_together<access>(w, region, addresses[lane], size, Toucher32(w, warp, lane, pc));
        }
        return !w.aborted;
    }
    const std::uint64_t low =
        size | region.start |
        bits_of_any(addresses, lanes);    // arrays start at multiples of their cells
    if (UNLIKELY((low & ((std::uint64_t(1) << region.grain) - 1)) != 0 ||
                 region.races.cells == nullptr))
        refine(region, low, size);
    if (shapes.warp == UNIFORM && access == LOAD &&
        read_by_all(w, warp, region, addresses[0], size, pc))
        return true;
    const Instruction& i = w.instruction(pc);
    bool within_block = access == ATOMIC && (i.flags & SCOPE_CTA) && !region.is_shared();
    for (std::uint32_t left =
             lanes_to_watch<access>(w, warp, region, lanes, addresses, size, pc, shapes);
         left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        watch_races<access>(w, warp, lane, region, addresses[lane], size, pc,
                            Toucher32(w, warp, lane, pc), within_block);
    }
    return true;
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
    if (lanes == ALL_LANES)
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
    if (!(w.observe & TRAFFIC) || !count) return true;
    Region* first = one != nullptr ? one : regions[__builtin_ctz(lanes)];
    if (counted == 0) {    // moved along with another access
        w.traffic.joined(static_cast<std::uint32_t>(pc), access, first, size, lanes);
        return true;
    }
    Request request{addresses, lanes, static_cast<std::uint32_t>(pc),    size, size,
                    access,    first, one != nullptr ? nullptr : regions};
    bool watched = w.traffic.watches(w.block_linear, warp.number);
    if (counted == UINT32_MAX || counted == size) {
        w.traffic.request(request, watched);
        return true;
    }
    // ptxas has made one access of another size of it, or two.
    const std::uint32_t second = counted >> 8 & 255;
    std::uint64_t moved[WARP_SIZE];
    request.addresses = moved, request.size = counted & 255;
    if (second != 0) request.asked = request.size;
    for (int lane = 0; lane < WARP_SIZE; ++lane)
        moved[lane] = addresses[lane] + static_cast<std::int64_t>(shift);
    w.traffic.request(request, watched);
    if (second == 0) return true;
    for (std::uint64_t& address : moved) address += counted >> 16;
    request.size = request.asked = second;
    w.traffic.request(request, watched);
    return true;
}

}    // namespace

void settle_guess(Worker& w, Warp& warp, int lane, bool good) {
    if (!(warp.guessing >> lane & 1)) return;
    if (!good) w.findings.add(warp.guess[lane]);
    warp.guessing &= ~(1u << lane);
}

bool observe_access(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align, std::uint32_t counted, std::int32_t shift, bool count) {
    const Shapes shapes = access == ATOMIC ? Shapes() : shapes_of(addresses, lanes, size);
    switch (access) {
        case LOAD:
            return observe<LOAD>(w, warp, pc, lanes, addresses, size, must_align, counted, shift,
                                 count, shapes);
        case STORE:
            return observe<STORE>(w, warp, pc, lanes, addresses, size, must_align, counted, shift,
                                  count, shapes);
        default:
            return observe<ATOMIC>(w, warp, pc, lanes, addresses, size, must_align, counted, shift,
                                   count, shapes);
    }
}

bool addresses_of(Worker& w, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes,
                  std::uint64_t* result) {
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
        const std::uint64_t frame = i.flags & FRAME_LOCAL ? warp.frame().local : 0;
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            result[lane] += reinterpret_cast<std::uint64_t>(warp.local_of(lane)) + frame;
    }
    static_cast<void>(lanes);
    return true;
}

namespace {

// ---- local memory and parameters ----

bool in_own_stack(const Worker& w, const Warp& warp, int lane, std::uint64_t address,
                  std::uint32_t size) {
    std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
    return size <= w.launch.local_bytes && offset <= w.launch.local_bytes - size;
}

bool check_local(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
                 const std::uint64_t* addresses, std::uint32_t size, Access access) {
    const bool checked = !(i.flags & PARAMETER);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        std::uint64_t address = addresses[lane];
        std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
        if (!in_own_stack(w, warp, lane, address, size)) {
            Finding finding;
            finding.kind = LOCAL_OVERRUN, finding.size = size,
            finding.offset = static_cast<std::int64_t>(offset);
            finding.region = w.local_region != nullptr ? w.local_region->id : 0;
            finding.here = w.place(warp, lane, pc, access);
            w.end_launch(finding);
            return false;
        }
        if (checked && (address & (size - 1))) {
            refuse_access(w, warp, lane, MISALIGNED, w.local_region, address, size, pc, access);
            return false;
        }
        std::uint8_t* written =
            w.local_written.data() + (address - reinterpret_cast<std::uint64_t>(w.local.data()));
        if (access == LOAD) {
            if (checked && (w.observe & INITIALISATION) &&
                std::memchr(written, 0, size) != nullptr && !may_be_gap(i, written, size)) {
                Finding finding;
                finding.kind = UNINITIALISED, finding.size = size,
                finding.offset = static_cast<std::int64_t>(offset);
                finding.region = w.local_region != nullptr ? w.local_region->id : 0;
                finding.here = w.place(warp, lane, pc, access);
                w.findings.add(finding);
            }
        } else {
            std::memset(written, 1, size);
        }
    }
    return true;
}

// Lanes whose generic addresses lie in their own local memory, and those in the kernel's
// parameters.
std::uint32_t local_lanes(const Worker& w, const Warp& warp, std::uint32_t lanes,
                          const std::uint64_t* addresses) {
    if (w.local.empty()) return 0;
    std::uint32_t found = 0;
    const auto start = reinterpret_cast<std::uint64_t>(w.local.data());
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (addresses[lane] - start >= w.local.size()) continue;
        std::uint64_t own = addresses[lane] - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
        if (own < w.launch.local_bytes) found |= 1u << lane;
    }
    return found;
}
std::uint32_t parameter_lanes(const Worker& w, std::uint32_t lanes, const std::uint64_t* addresses,
                              std::uint32_t size) {
    const auto start = reinterpret_cast<std::uint64_t>(w.launch.parameters);
    std::uint32_t found = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (addresses[lane] - start + size <= w.launch.parameter_bytes) found |= 1u << lane;
    }
    return found;
}

// ---- the move itself ----

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
            if (shapes.half[h] == UNIFORM) {
                T value;
                std::memcpy(&value, from(first), sizeof(T));
                std::fill_n(to + first, half_warp, value);
            } else if (shapes.half[h] == CONTIGUOUS && i.elements == 1) {
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
        if (shapes.warp == CONTIGUOUS && i.elements == 1) {
            std::memcpy(reinterpret_cast<char*>(addresses[0]), from, WARP_SIZE * sizeof(T));
            continue;
        }
        const std::uint64_t shift = std::uint64_t(k) * sizeof(T);
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            std::memcpy(reinterpret_cast<char*>(addresses[lane] + shift), &from[lane], sizeof(T));
        }
    }
}
struct Bits128 {
    std::uint64_t low, high;
};

void move_in(Warp& warp, const Instruction& i, std::uint32_t lanes, const std::uint64_t* addresses,
             const Shapes& shapes = {}) {
    switch (i.bytes) {
        case 1:    // lives in 16 bits
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

// A flag that threads of several blocks look at: no race with the other accesses of its kind. A
// volatile variable is one where the kernel has fences and waits for it in a loop.
bool is_flag(const Worker& w, const Instruction& i, std::int32_t pc) {
    if (i.flags & (ACQUIRE | RELEASE)) return true;
    if (i.space == SHARED_SPACE) return false;
    if (i.flags & RELAXED) return true;
    if (!(i.flags & VOLATILE) || !w.has_fences || !w.has_polls) return false;
    return w.decoded[pc].machine == run_store || w.decoded[pc].detail != 0;
}

std::uint32_t counted_size(const Instruction& i) {
    return i.flags & NO_COUNT ? 0 : i.join > 0 ? static_cast<std::uint32_t>(i.join) : UINT32_MAX;
}

void order_by_flag(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes,
                   const std::uint64_t* addresses, std::int32_t pc) {
    if (i.flags & (ACQUIRE | RELEASE)) w.order.used = true;
    if (!w.order.used) return;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (i.flags & RELEASE) {    // as a fence before it
            warp.clock[lane] = ++w.now;
            (i.flags & SCOPE_CTA ? warp.fence[lane].block_clock : warp.fence[lane].clock) =
                warp.clock[lane];
        }
        w.order.atomic(addresses[lane], Toucher32(w, warp, lane, pc), warp.fence[lane],
                       warp.after[lane]);
    }
}

}    // namespace

bool run_load(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, pc, lanes, addresses);
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
        move_in(warp, i, lanes, addresses, shapes_of(addresses, lanes, size));
        return true;
    }
    if (i.space == LOCAL_SPACE) {
        if (!check_local(w, warp, i, pc, lanes, addresses, size, LOAD)) return false;
        move_in(warp, i, lanes, addresses);
        return true;
    }
    const Shapes shapes = shapes_of(addresses, lanes, size);
    std::uint32_t rest = lanes;
    if (i.space == GENERIC) {
        std::uint32_t own = local_lanes(w, warp, lanes, addresses);
        if (own != 0 && !check_local(w, warp, i, pc, own, addresses, size, LOAD)) return false;
        rest &= ~(own | parameter_lanes(w, lanes, addresses, size));
    }
    if (rest != 0) {
        const bool flag = is_flag(w, i, pc);
        const std::uint32_t counted = counted_size(i);
        if (UNLIKELY(flag)) {
            if (!observe<ATOMIC>(w, warp, pc, rest, addresses, size, true, counted, i.target, false,
                                 Shapes()))
                return false;
        } else if (!observe<LOAD>(w, warp, pc, rest, addresses, size, true, counted, i.target, true,
                                  rest == lanes ? shapes : Shapes())) {
            return false;
        }
        if (UNLIKELY(flag)) {
            order_by_flag(w, warp, i, rest, addresses, pc);
            warp.yielding = true;    // it may be waiting
            if (w.observe & TRAFFIC) {
                Region* region = memory.find(addresses[__builtin_ctz(rest)]);
                w.traffic.request({addresses, rest, static_cast<std::uint32_t>(pc), size, size,
                                   LOAD, region, nullptr},
                                  w.traffic.watches(w.block_linear, warp.number));
            }
        } else if (UNLIKELY((i.flags & VOLATILE) != 0)) {
            warp.yielding = true;
        }
    }
    move_in(warp, i, lanes, addresses, shapes);
    return true;
}

bool run_store(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, pc, lanes, addresses);
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    if (i.space == PARAM_SPACE) {
        int lane = __builtin_ctz(lanes);
        return refuse_parameter(w, warp, lane, pc, addresses[lane], size, STORE);
    }
    if (i.space == LOCAL_SPACE) {
        if (!check_local(w, warp, i, pc, lanes, addresses, size, STORE)) return false;
        move_out(warp, i, lanes, addresses);
        return true;
    }
    const Shapes shapes = shapes_of(addresses, lanes, size);
    std::uint32_t rest = lanes;
    if (i.space == GENERIC) {
        std::uint32_t own = local_lanes(w, warp, lanes, addresses);
        if (own != 0 && !check_local(w, warp, i, pc, own, addresses, size, STORE)) return false;
        rest &= ~own;
    }
    if (rest != 0) {
        bool flag = is_flag(w, i, pc);
        if (flag)    // to the observer of initialisation it is a store
            for (std::uint32_t left = rest; left != 0; left &= left - 1) {
                const std::uint64_t address = addresses[__builtin_ctz(left)];
                Region* region = memory.find(address);
                if (region == nullptr || !region->holds(address, size)) continue;
                Initialisation::written(*region, address, size, static_cast<std::uint32_t>(pc) + 1);
            }
        w.storing = addresses, w.storing_lanes = rest;
        const std::uint32_t counted = counted_size(i);
        const bool good = flag ? observe<ATOMIC>(w, warp, pc, rest, addresses, size, true, counted,
                                                 i.target, false, Shapes())
                               : observe<STORE>(w, warp, pc, rest, addresses, size, true, counted,
                                                i.target, true, rest == lanes ? shapes : Shapes());
        w.storing = nullptr;
        if (!good) return false;
        if (UNLIKELY(flag)) {
            order_by_flag(w, warp, i, rest, addresses, pc);
            if (w.observe & TRAFFIC) {
                Region* region = memory.find(addresses[__builtin_ctz(rest)]);
                w.traffic.request({addresses, rest, static_cast<std::uint32_t>(pc), size, size,
                                   STORE, region, nullptr},
                                  w.traffic.watches(w.block_linear, warp.number));
            }
        }
    }
    move_out(warp, i, lanes, addresses, shapes);
    return true;
}
