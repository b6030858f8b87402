// race_watch.cpp -- looks for races when a warp accesses an array
#include "race_watch.h"

#include <algorithm>
#include <cstring>

namespace {

// ---- accesses that may race ----

// Whether something orders an earlier access of this launch before the present one.
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
    // One of several threads, and the cell knows only this one, with which there is no race.
    const bool is_over = (earlier.flags & Races::MANY_BLOCKS) && earlier.when < me.turn;
    if (earlier.block == me.block && (is_over || place.thread == me.thread())) {
        if (earlier.flags & Races::MANY_BLOCKS) place.block[0] = Place::unknown;
        place.thread = Place::unknown;
    }
    return place;
}

// Reports a race, if it is one. Returns true then, so that a wide access reports it once.
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
    if (Unfenced lock; w.order.used &&
                       (w.order.covers(earlier, address, me, warp.after[lane], &lock),
                        lock.is_known()))
        finding.here.reason = static_cast<std::uint32_t>(lock.pc + 1),
        finding.other.reason = static_cast<std::uint32_t>(lock.fence + 1);
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

bool is_same_warp(std::uint32_t who, const Toucher& me) {
    return Toucher::thread_of(who) >> 5 == me.thread() >> 5;
}

// Returns the earlier write with which an access may race. For an atomic it is the plain write,
// even if other atomics came after it. If several threads have written one value or by atomics, it
// is that of another warp.
Earlier written_before(const Worker& w, const RaceCell& cell, Access access, const Toucher& me) {
    if (access == ATOMIC && (cell.write_flags & Races::PLAIN_BEFORE)) {
        auto known = w.plain_before.find(&cell);
        if (known != w.plain_before.end()) return known->second;
    }
    Earlier last = Races::last_write(cell);
    if ((last.flags & Races::MANY_THREADS) && is_same_warp(last.who, me))
        if (auto known = w.equal_before.find(&cell);
            known != w.equal_before.end() && known->second.block == last.block &&
            known->second.access == last.access && known->second.when >= me.turn)
            last.who = known->second.who;
    return last;
}

// Returns one byte of the value that a lane stores.
std::uint8_t stored_byte(const Warp& warp, const Instruction& i, int lane, std::uint64_t at) {
    const std::int32_t slot = warp.operand(i, 1 + static_cast<int>(at / i.bytes));
    const std::size_t width = i.bytes == 1 ? 2 : i.bytes;    // a slot of 16 bits holds a byte
    return static_cast<std::uint8_t>(
        warp.at<char>(slot)[static_cast<std::size_t>(lane) * width + at % i.bytes]);
}

// Whether a lane stores the value that is there already, from an earlier instruction or from a
// lower lane.
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

// Makes the cells so small that accesses begin and end with cells. low: the bits of their size and
// addresses, and of the array's start, because arrays start at multiples of their cells.
inline void fit_cells(Region& region, std::uint64_t low, std::uint32_t size) {
    if (UNLIKELY((low & ((std::uint64_t(1) << region.grain) - 1)) != 0 ||
                 region.races.cells == nullptr))
        refine(region, low, size);
}

// Forgets readers that a lock has ordered before this one. A thread that comes after this one comes
// after them, too.
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
    if (!fits || !region.shadowed || (access != LOAD && !region.writable)) return w.give_up();
    const std::uint64_t first = offset >> region.grain, count = size >> region.grain;
    region.spread_together(first), region.spread_together(first + count - 1);
    RaceCell* cell = region.races.cells + first;
    for (RaceCell* end = cell + count; cell != end; ++cell)
        if (UNLIKELY(access == ATOMIC
                         ? Races::collides_with_update(*cell, w.updates_number, region.oldest)
                         : Races::collides<access == STORE>(*cell, me, region.oldest)))
            return w.give_up();
}

// Looks at the neighbouring cells of a half-warp at once, while other workers run. Returns false if
// the caller must look at them one by one.
template <Access access>
bool touch_stretch_together(Worker& w, Region& region, std::uint64_t address, std::uint32_t size,
                            const Toucher& me) {
    const std::uint64_t offset = address - region.start, first = offset >> region.grain;
    const std::uint64_t cell_bytes = std::uint64_t(1) << region.grain;
    if (size != cell_bytes || offset % (cell_bytes << Stretch::log_cells) != 0) return false;
    if (access == ATOMIC || !region.shadowed || (access == STORE && !region.writable)) return false;
    const std::uint32_t oldest = region.oldest;
    Stretch& stretch = region.stretches.cells[first >> Stretch::log_cells];
    if (__atomic_load_n(&stretch.apart, __ATOMIC_ACQUIRE) == oldest) return false;
    stretch.lock();
    const bool is_whole = stretch.apart != oldest;
    bool collides = false;
    if (is_whole) {
        stretch.shift = 0;    // in this launch each lane accesses one cell
        collides = Races::collides<access == STORE>(stretch.all, me, oldest);
    }
    stretch.unlock();
    if (collides) w.give_up();
    return is_whole;
}

// after: what its warp's __syncwarp() has ordered before this thread.
inline void remember_after_others(RaceCell& cell, const Toucher& me, std::uint32_t oldest,
                                  const LaneClocks& after) {
    if (UNLIKELY(cell.read_block == me.block && cell.read_when >= me.turn &&
                 cell.read_when != me.when))
        Races::supersede_reads(cell, me, after.data());
    Races::remember_read(cell, me, oldest);
}

template <Access access>
inline __attribute__((always_inline)) void watch_races(Worker& w, Warp& warp, int lane,
                                                       Region& region, std::uint64_t address,
                                                       std::uint32_t size, std::int32_t pc,
                                                       const Toucher& me, bool within_block) {
    RaceCell* cell = region.cells_at(address - region.start, size);
    RaceCell* end = cell + (size >> region.grain);
    const std::uint32_t oldest = region.oldest;
    bool reported = false, repeated = false;
    for (std::uint64_t first = 0; cell != end; ++cell, first += std::uint64_t(1) << region.grain) {
        bool equal = false;
        if (UNLIKELY(Races::meets_write(*cell, access == ATOMIC, me, oldest, within_block))) {
            const Earlier earlier = written_before(w, *cell, access, me);
            equal =
                access == STORE && earlier.access == STORE &&
                !comes_before(w, warp, earlier, address, me) &&
                stores_equal(w, warp, lane, address, first, std::uint64_t(1) << region.grain, pc);
            repeated |= equal;
            // Of a wide store, only a part may be equal.
            if (!equal && !reported)
                reported = suspect(w, warp, lane, region, earlier, address, size, pc, access, me);
        }
        if (access != LOAD && !equal && UNLIKELY(Races::meets_read(*cell, me, oldest)) && !reported)
            reported = suspect(w, warp, lane, region, Races::last_read(*cell, me), address, size,
                               pc, access, me);
        if (access == LOAD) {
            if (UNLIKELY(w.order.used)) forget_readers_before(w, warp, *cell, oldest, address, me);
            remember_after_others(*cell, me, oldest, warp.after[lane]);
        } else {
            const bool is_second =
                access == ATOMIC
                    ? (cell->write_flags & (Races::BY_ATOMIC | Races::MANY_WARPS)) ==
                              Races::BY_ATOMIC &&
                          cell->write_block == me.block && cell->write_when >= me.turn &&
                          !is_same_warp(cell->write_who, me)
                    : equal && !(cell->write_flags & Races::MANY_THREADS);
            if (UNLIKELY(is_second)) w.equal_before[cell] = Races::last_write(*cell);
            // What only this block can reach, and a barrier has ordered, races with no atomic.
            const bool is_over = region.is_shared() && cell->write_when < me.turn;
            bool covers = access == ATOMIC && !is_over &&
                          UNLIKELY(Races::covers_plain_write(*cell, me, oldest));
            if (covers) w.plain_before[cell] = Races::last_write(*cell);
            Races::remember_write(*cell, access == ATOMIC, me, oldest, equal);
            if (covers) cell->write_flags |= Races::PLAIN_BEFORE;
            if (within_block) cell->write_flags |= Races::WITHIN_BLOCK;
        }
    }
    if (access == STORE && UNLIKELY(repeated) && (w.observe & TRAFFIC))
        w.traffic.repeated(static_cast<std::uint32_t>(pc), &region, size);
}

void remember_first_and_last(const Region& region, RaceCell* cell, const RaceCell* end,
                             const Toucher& first, const Toucher& last) {
    for (; cell != end; ++cell) {
        Races::remember_read(*cell, first, region.oldest);
        Races::remember_read(*cell, last, region.oldest);
    }
}

// All lanes read one word that no thread has written since the last barrier. It is enough to
// remember the first and the last lane.
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
    remember_first_and_last(region, cell, end, first, last);
    return true;
}

// ---- accesses that cannot collide ----

// The cells of a stretch have states of their own. If all states are history, or, for a store,
// older than the block's last barrier, one state for the stretch is enough again.
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

// Looks at the neighbouring cells of a half-warp at once. Returns true if it does not collide; then
// the cells remember the access.
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

// A half-warp reads one place. It is enough to remember two lanes.
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

// Looks at a half-warp whose addresses have a pattern at once. Returns true if it does not collide;
// then the cells remember the access. clock: of the lanes; first: the instruction and the thread of
// lane 0.
template <Access access>
inline bool quiet_half(const Worker& w, const Clocks& clock, std::uint32_t first, Region& region,
                       int h, const std::uint64_t* addresses, std::uint32_t size,
                       const Shapes& shapes) {
    const int lane = half_warp * h;
    if (shapes.half(h) == GENERAL || !clock.are_alike(h)) return false;
    const std::uint32_t when = clock[lane], who = first + static_cast<std::uint32_t>(lane);
    if (shapes.half(h) == CONTIGUOUS)
        return touch_stretches<access == STORE>(w, region, addresses[lane], size, when, who);
    return access == LOAD && read_by_half(w, region, addresses[lane], size, when, who);
}

// Remembers the accesses that cannot collide: since the last barrier no thread has written to the
// cells, and for a store none has read them. Nearly all accesses are such. Returns the other lanes.
template <Access access>
std::uint32_t lanes_to_watch(const Worker& w, const Clocks& clock, std::uint32_t first,
                             Region& region, std::uint32_t lanes, const std::uint64_t* addresses,
                             std::uint32_t size, const Shapes& shapes) {
    for (int h = 0; h < 2; ++h)
        if (quiet_half<access>(w, clock, first, region, h, addresses, size, shapes))
            lanes &= ~(first_half << half_warp * h);
    const std::uint64_t start = region.start, count = size >> region.grain;
    const std::uint32_t oldest = region.oldest, block = w.block_number, turn = w.turn;
    std::uint32_t rest = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const std::uint32_t when = clock[lane], who = first + static_cast<std::uint32_t>(lane);
        RaceCell* cell = region.cells_at(addresses[lane] - start, size);
        bool quiet = access != STORE || rest == 0;    // stores to one place keep their order
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

// Remembers the updates of cells that since the last barrier nothing has accessed but atomics of
// several warps of this block: one more says nothing new but who came last. Returns the other lanes.
std::uint32_t lanes_beside_updates(const Worker& w, const Clocks& clock, std::uint32_t first,
                                   Region& region, std::uint32_t lanes,
                                   const std::uint64_t* addresses, std::uint32_t size) {
    if (size != std::uint32_t(1) << region.grain) return lanes;
    const std::uint32_t block = w.block_number, turn = w.turn;
    constexpr std::uint8_t by_many = Races::BY_ATOMIC | Races::MANY_THREADS | Races::MANY_WARPS;
    std::uint32_t rest = 0;
    for_lanes(lanes, [&](int lane) {
        RaceCell& cell = *region.cells_at(addresses[lane] - region.start, size);
        const bool unread = cell.read_block < region.oldest ||
                            (cell.read_block == block && cell.read_when < turn &&
                             !(cell.read_flags & Races::MANY_BLOCKS));
        const bool updated = cell.write_flags == by_many && cell.write_block == block &&
                             cell.write_when >= turn;
        if (updated && unread)
            cell.write_when = clock[lane],
            cell.write_who = first + static_cast<std::uint32_t>(lane);
        else rest |= 1u << lane;
    });
    return rest;
}

// A read that has waited enters the cells. Nobody has written in this turn, so that it collides
// with nothing.
void enter(const Worker& w, Region& region, const PendingRead& read) {
    const AllAddresses all(read.places[0], read.places[1], read.size, read.shapes);
    const auto toucher = [&](int lane) {
        const std::uint32_t who = read.who + static_cast<std::uint32_t>(lane);
        return Toucher{w.block_number, read.when, w.turn, who};
    };
    fit_cells(region, read.size | region.start | read.places[0] | read.places[1], read.size);
    const auto cells_of = [&](int lane) {
        return region.cells_at(all.of[lane] - region.start, read.size);
    };
    const std::uint32_t count = read.size >> region.grain;
    if (read.shapes.warp() == UNIFORM) {
        RaceCell* const cells = cells_of(0);
        return remember_first_and_last(region, cells, cells + count, toucher(0),
                                       toucher(WARP_SIZE - 1));
    }
    Clocks clock;
    clock.set_all(read.when);
    const std::uint32_t rest = lanes_to_watch<LOAD>(w, clock, read.who, region, ALL_LANES, all.of,
                                                    read.size, read.shapes);
    for_lanes(rest, [&](int lane) {    // other warps have read the same place at other clocks
        const Toucher me = toucher(lane);
        RaceCell* cell = cells_of(lane);
        for (RaceCell* const end = cell + count; cell != end; ++cell)
            remember_after_others(*cell, me, region.oldest, LaneClocks{});
    });
}

}    // namespace

void settle_guess(Worker& w, Warp& warp, int lane, bool good) {
    if (!(warp.guessing >> lane & 1)) return;
    if (!good) w.findings.add(warp.guess[lane]);
    warp.guessing &= ~(1u << lane);
}

void enter_pending(const Worker& w, Region& region) {
    if (region.pending.empty()) return;
    region.pending.take(w.turn, [&](const PendingRead& read) { enter(w, region, read); });
}

bool enter_quietly(Worker& w, Warp& warp, Region& region, std::int32_t pc,
                   const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes) {
    if (w.order.used || (w.one_of_many && !region.is_shared())) return false;
    enter_pending(w, region);
    fit_cells(region, size | region.start | addresses[0] | addresses[half_warp], size);
    if (shapes.warp() == UNIFORM) return read_by_all(w, warp, region, addresses[0], size, pc);
    const std::uint32_t first = Toucher::pack(static_cast<std::uint32_t>(pc), warp.thread(0));
    return quiet_half<LOAD>(w, warp.clock, first, region, 0, addresses, size, shapes) &&
           quiet_half<LOAD>(w, warp.clock, first, region, 1, addresses, size, shapes);
}

template <Access access>
bool watch_for_races(Worker& w, Warp& warp, Region& region, std::int32_t pc, std::uint32_t lanes,
                     const std::uint64_t* addresses, std::uint32_t size, const Shapes& shapes) {
    if (region.is_input) return true;
    if (UNLIKELY(w.one_of_many) && !region.is_shared()) {
        for (int lane : {0, half_warp}) {
            const Shape shape = shapes.half(lane / half_warp);
            if (shape == GENERAL || !warp.clock.are_alike(lane / half_warp)) continue;
            const std::uint32_t half = first_half << lane;
            if (shape == UNIFORM && access == LOAD)
                lanes &= ~half | (3u << lane);    // two lanes are enough to remember
            else if (shape == CONTIGUOUS &&
                     touch_stretch_together<access>(w, region, addresses[lane], size,
                                                    Toucher32(w, warp, lane, pc)))
                lanes &= ~half;
        }
        for (std::uint32_t left = lanes; left != 0 && !w.aborted; left &= left - 1) {
            int lane = __builtin_ctz(left);
            watch_together<access>(w, region, addresses[lane], size, Toucher32(w, warp, lane, pc));
        }
        return !w.aborted;
    }
    enter_pending(w, region);
    if (access != LOAD) region.pending.note_write(w.turn);
    fit_cells(region, size | region.start | bits_of_any(addresses, lanes, shapes), size);
    if (shapes.warp() == UNIFORM && access == LOAD &&
        read_by_all(w, warp, region, addresses[0], size, pc))
        return true;
    const Instruction& i = w.instruction(pc);
    bool within_block = access == ATOMIC && (i.flags & SCOPE_CTA) && !region.is_shared();
    const std::uint32_t first = Toucher::pack(static_cast<std::uint32_t>(pc), warp.thread(0));
    if (access == ATOMIC && !within_block)
        lanes = lanes_beside_updates(w, warp.clock, first, region, lanes, addresses, size);
    if (access != ATOMIC && !w.order.used)
        lanes = lanes_to_watch<access>(w, warp.clock, first, region, lanes, addresses, size,
                                       shapes);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        watch_races<access>(w, warp, lane, region, addresses[lane], size, pc,
                            Toucher32(w, warp, lane, pc), within_block);
    }
    return true;
}

std::uint32_t lanes_without_change(const Worker& w, const Warp& warp, std::int32_t pc,
                                   std::uint32_t lanes, const std::uint64_t* addresses,
                                   std::uint32_t size) {
    std::uint32_t found = 0;
    for_lanes(lanes, [&](int lane) {
        found |= std::uint32_t(stores_equal(w, warp, lane, addresses[lane], 0, size, pc)) << lane;
    });
    return found;
}

template bool watch_for_races<LOAD>(Worker&, Warp&, Region&, std::int32_t, std::uint32_t,
                                    const std::uint64_t*, std::uint32_t, const Shapes&);
template bool watch_for_races<STORE>(Worker&, Warp&, Region&, std::int32_t, std::uint32_t,
                                     const std::uint64_t*, std::uint32_t, const Shapes&);
template bool watch_for_races<ATOMIC>(Worker&, Warp&, Region&, std::int32_t, std::uint32_t,
                                      const std::uint64_t*, std::uint32_t, const Shapes&);
