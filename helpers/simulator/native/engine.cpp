// engine.cpp -- runs a CUDA kernel on the CPU, thread by thread, and sees every memory access
//
// A kernel is compiled with -fsanitize=thread, -fsanitize=bounds and -fsanitize-coverage=trace-pc but linked with no sanitizer: the
// functions that those instrumentations call are defined here. So each load and store comes by with its address, each basic
// block with its own, and the return address names the instruction.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "atomics.h"
#include "barriers.h"
#include "fiber.h"
#include "findings.h"
#include "initialisation.h"
#include "memory.h"
#include "races.h"
#include "traffic.h"
#include "warp.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace {

enum Observe : std::uint32_t { BARRIERS = 1, RACES = 2, INITIALISATION = 4, TRAFFIC = 8 };    // bounds: always
enum State : std::uint8_t { READY, AT_BARRIER, AT_MEETING, FINISHED };

struct Dim { std::uint32_t x, y, z; };
struct SharedArray { std::uint64_t offset, bytes; };    // static shared arrays, as offsets in the library's thread-local block

// One launch, as runtime.py declares it.
struct Launch {
    void (*entry)(const char*);
    const char* arguments;
    Dim grid, block;
    std::uint64_t dynamic_shared;
    std::uintptr_t library_base;
    void* (*thread_local_anchor)();     // where the library's thread-local block is, in the calling thread
    std::uint64_t anchor_offset;
    const SharedArray* shared_arrays;
    std::uint32_t shared_count, observe;
    std::uint64_t watched_block;
    std::uint32_t watched_warp, sample_every;    // run every n-th block; 1 runs all
    std::uint32_t workers;                       // how many may run blocks at the same time
};

struct Thread {
    void* stack_pointer = nullptr;
    Dim index{};
    State state = READY;
    Place place;                      // where it waits or finished
    Meeting* meeting = nullptr;       // AT_MEETING
    int predicate = 0;                // AT_BARRIER
    std::uint32_t clock = 0;          // ticks where the thread is ordered with others
    std::uint32_t fenced = 0;         // the clock after its last __threadfence() in this block
    LaneClocks after{};
    bool guessing = false;            // `guess` is a race unless a compare-and-swap of the same address follows
    std::uintptr_t guessed = 0;
    Finding guess;
    Traffic::Trace trace;
};

Memory memory;

// By instruction: the array that it touched last time.
struct Recent {
    std::uintptr_t start = 0;
    std::size_t bytes = 0;
    Region* region = nullptr;
};

struct Worker {
    // what every access reads
    Toucher me{};
    std::uintptr_t library_base = 0;
    std::uint32_t observe = 0;
    int fuel = 0;                      // basic blocks until somebody looks whether the launch must end
    bool within_block = false;         // the atomic that runs is one to its block only
    bool one_of_many = false;          // other workers run blocks of the same launch
    Thread* running = nullptr;
    FiberPool fibers;
    std::array<Recent, 1024> recent{};
    // the rest
    Launch launch{};
    std::vector<Thread> threads;
    void* scheduler = nullptr;
    Dim block_index{};
    std::uint32_t block_number = 0;    // unique over all launches
    std::uint32_t first_block = 0;     // of this launch
    std::uint32_t now = 0, turn = 0;   // clocks of the launch: they only go forward
    int lanes_meeting = 0;             // of the warp that runs
    int slices = 0;
    bool interrupted = false;          // the thread that ran last was stopped in a long wait
    int barrier_count = 0, barrier_all = 0;
    Findings findings;
    Finding fatal;
    Traffic traffic;
    Order order;
    std::unordered_map<const RaceCell*, Earlier> plain_before;    // the plain writes that atomics have covered (Races::PLAIN_BEFORE)
    std::vector<Region*> shared;
    std::unique_ptr<unsigned char, decltype(&std::free)> dynamic{nullptr, &std::free};
    std::string printed;
    std::uint64_t ticks = 0;
    bool aborted = false;
};

constexpr int fuel_of_a_slice = 4096, slices_of_a_turn = 16;
constexpr std::size_t printed_limit = 1 << 20;

Worker worker;                                      // one launch at a time
std::deque<Worker> helpers;                         // the other workers, where there are several
std::atomic<bool> doubtful{false};                  // one of several workers has seen what one alone must look into
std::atomic<bool> stop_requested{false};
__thread Worker* current __attribute__((tls_model("initial-exec"))) = nullptr;    // null: not in a launch

std::uint32_t next_block_number = 1;
std::uint32_t workers_used = 1;                     // by the last launch
std::mutex signalled;
std::vector<pthread_t> to_signal;                   // the threads of the other workers

std::uint32_t thread_number(const Worker& w) { return static_cast<std::uint32_t>(w.running - w.threads.data()); }

Place here(const Worker& w, std::uintptr_t pc, Access access) {
    Place place;
    place.pc = pc - w.library_base;
    place.thread = thread_number(w), place.access = access;
    place.block[0] = w.block_index.x, place.block[1] = w.block_index.y, place.block[2] = w.block_index.z;
    return place;
}

void to_scheduler(Worker& w) { halo_switch(&w.running->stack_pointer, w.scheduler); }

// The launch ends here: the thread is left where it stands, before it does harm.
void end_launch(Worker& w, const Finding& finding) {
    w.findings.add(finding);
    w.fatal = finding;
    w.aborted = true;
}
[[noreturn]] void abort_launch(Worker& w, const Finding& finding) {
    end_launch(w, finding);
    to_scheduler(w);
    __builtin_unreachable();
}

[[noreturn]] void stop_here(Worker& w, std::uintptr_t pc) {
    Finding finding;
    finding.kind = RUNAWAY;
    finding.here = here(w, pc, LOAD);
    abort_launch(w, finding);
}

[[noreturn]] void refuse_access(Worker& w, Kind kind, Region* region, std::uintptr_t address, std::size_t size, std::uintptr_t pc,
                                Access access) {
    Finding finding;
    finding.kind = kind;
    finding.size = size;
    finding.here = here(w, pc, access);
    if (region != nullptr) {
        finding.region = region->id;
        finding.offset = static_cast<std::int64_t>(address - region->start);
    } else {
        finding.offset = static_cast<std::int64_t>(address);
    }
    abort_launch(w, finding);
}

__attribute__((noinline)) void find_array(Worker& w, Recent& recent, std::uintptr_t address, std::size_t size, std::uintptr_t pc,
                                          Access access) {
    Region* region = memory.find(address);
    if (region == nullptr || !region->holds(address, size)) {
        // What this instruction touched before says best which array was meant.
        Region* meant = region != nullptr ? region : recent.region != nullptr ? recent.region : memory.nearest(address);
        refuse_access(w, OUT_OF_BOUNDS, meant, address, size, pc, access);
    }
    recent = {region->start, region->bytes(), region};
}

// ---- races: what the inline part could not rule out ----

// Whether an earlier access of this launch comes before the present one for sure.
bool comes_before(const Worker& w, const Earlier& earlier, std::uintptr_t address) {
    const Toucher& me = w.me;
    if (earlier.block == me.block && !(earlier.flags & Races::MANY_BLOCKS)) {
        if (earlier.when < me.turn) return true;
        std::uint32_t thread = Toucher::thread_of(earlier.who);
        if (!(earlier.flags & Races::MANY_WARPS)) {
            if (thread == me.thread() && (!(earlier.flags & Races::MANY_THREADS) || earlier.when < me.when)) return true;
            if (thread != me.thread() && thread >> 5 == me.thread() >> 5 && earlier.when < w.running->after[thread & 31]) return true;
        }
    }
    return w.order.used && w.order.covers(earlier, address, me, w.running->after);
}

Place place_of(const Worker& w, const Earlier& earlier) {
    const Dim& grid = w.launch.grid;
    Place place;
    place.pc = Toucher::pc_of(earlier.who), place.thread = Toucher::thread_of(earlier.who), place.access = earlier.access;
    std::uint32_t linear = earlier.block - w.first_block;
    place.block[0] = linear % grid.x, place.block[1] = linear / grid.x % grid.y, place.block[2] = linear / grid.x / grid.y;
    if (earlier.block == w.me.block && place.thread == w.me.thread()) {    // the last of several is this thread: the others are not known
        if (earlier.flags & Races::MANY_BLOCKS) place.block[0] = Place::unknown;
        place.thread = Place::unknown;
    }
    return place;
}

void settle_guess(Worker& w, Thread& thread, bool good) {
    if (thread.guessing && !good) w.findings.add(thread.guess);
    thread.guessing = false;
}

// True when it was a race, so that a wide access tells it once.
__attribute__((noinline)) bool suspect(Worker& w, const Region& region, const Earlier& earlier, std::uintptr_t address, std::size_t size,
                                       std::uintptr_t pc, Access access) {
    if (comes_before(w, earlier, address)) return false;
    Finding finding;
    finding.kind = RACE, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    finding.here = here(w, pc, access);
    finding.other = place_of(w, earlier);
    if (access == LOAD && earlier.access == ATOMIC) {    // perhaps the first guess of a compare-and-swap loop
        Thread& me = *w.running;
        if (me.guessing && me.guessed == address) return true;
        settle_guess(w, me, false);
        me.guessing = true, me.guessed = address, me.guess = finding;
    } else {
        w.findings.add(finding);
    }
    return true;
}

// The write that an access must be held against: for an atomic the plain one, where atomics came after it.
Earlier written_before(const Worker& w, const RaceCell& cell, Access access) {
    if (access == ATOMIC && (cell.write_flags & Races::PLAIN_BEFORE)) {
        auto known = w.plain_before.find(&cell);
        if (known != w.plain_before.end()) return known->second;
    }
    return Races::last_write(cell);
}

__attribute__((noinline)) void refine(Region& region, std::uintptr_t offset, std::size_t size) {
    std::uint8_t grain = region.grain;
    while ((offset | size) & ((std::size_t(1) << grain) - 1)) --grain;
    region.refine(grain);
}

// What several workers have seen is told by one that runs the launch again, so that findings are the same each time.
[[noreturn]] __attribute__((noinline)) void give_up(Worker& w) {
    doubtful = true;
    w.aborted = true;
    to_scheduler(w);
    __builtin_unreachable();
}

template <Access access>
__attribute__((noinline)) void watch_races_together(Worker& w, Region& region, std::uintptr_t address, std::size_t size) {
    std::uintptr_t offset = address - region.start;
    bool fits = ((offset | size) & ((std::size_t(1) << region.grain) - 1)) == 0;
    if (!fits || access == ATOMIC || !region.shadowed || (access == STORE && !region.writable)) give_up(w);
    RaceCell* cell = region.races.cells + (offset >> region.grain);
    for (RaceCell* end = cell + (size >> region.grain); cell != end; ++cell)
        if (UNLIKELY(Races::collides<access == STORE>(*cell, w.me, region.oldest))) give_up(w);
}

// Readers that a lock has ordered before this one: whoever comes after this one comes after them.
__attribute__((noinline)) void forget_readers_before(const Worker& w, RaceCell& cell, std::uint32_t oldest, std::uintptr_t address) {
    if (cell.read_block < oldest || cell.read_flags != 0) return;
    bool own = cell.read_block == w.me.block && Toucher::thread_of(cell.read_who) == w.me.thread();
    if (!own && comes_before(w, Races::last_read(cell, w.me), address)) cell.read_block = 0;
}

template <Access access>
inline __attribute__((always_inline)) void watch_races(Worker& w, Region& region, std::uintptr_t address, std::size_t size, std::uintptr_t pc) {
    std::uintptr_t offset = address - region.start;
    std::size_t cell_mask = (std::size_t(1) << region.grain) - 1;
    if (UNLIKELY(((offset | size) & cell_mask) != 0 || region.races.cells == nullptr)) refine(region, offset, size);
    RaceCell* cell = region.races.cells + (offset >> region.grain);
    RaceCell* end = cell + (size >> region.grain);
    const Toucher& me = w.me;
    const std::uint32_t oldest = region.oldest;
    bool told = false;
    for (; cell != end; ++cell) {
        bool within_block = access == ATOMIC && w.within_block;
        if (UNLIKELY(Races::meets_write(*cell, access == ATOMIC, me, oldest, within_block)))
            told = told || suspect(w, region, written_before(w, *cell, access), address, size, pc, access);
        if (access != LOAD && UNLIKELY(Races::meets_read(*cell, me, oldest)))
            told = told || suspect(w, region, Races::last_read(*cell, me), address, size, pc, access);
        if (access == LOAD) {
            if (UNLIKELY(w.order.used)) forget_readers_before(w, *cell, oldest, address);
            if (UNLIKELY(cell->read_block == me.block && cell->read_when >= me.turn && cell->read_when != me.when))
                Races::supersede_reads(*cell, me, w.running->after.data());
            Races::remember_read(*cell, me, oldest);
        } else {
            bool covers = access == ATOMIC && UNLIKELY(Races::covers_plain_write(*cell, me, oldest));
            if (covers) w.plain_before[cell] = Races::last_write(*cell);
            Races::remember_write(*cell, access == ATOMIC, me, oldest);
            if (covers) cell->write_flags |= Races::PLAIN_BEFORE;
            if (within_block) cell->write_flags |= Races::WITHIN_BLOCK;
        }
    }
}

__attribute__((noinline)) void read_of_nothing(Worker& w, const Region& region, std::uintptr_t address, std::size_t size,
                                               std::uintptr_t pc, Access access) {
    Finding finding;
    finding.kind = UNINITIALISED, finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    finding.here = here(w, pc, access);
    w.findings.add(finding);
}

template <Access access>
inline __attribute__((always_inline)) void observe_access(Worker& w, void* pointer, std::size_t size, std::uintptr_t pc, bool must_align) {
    auto address = reinterpret_cast<std::uintptr_t>(pointer);
    // A copy loads and stores at one place in the code: each has an array of its own.
    Recent& recent = w.recent[((pc >> 1) ^ (access == STORE)) & (w.recent.size() - 1)];
    std::uintptr_t offset = address - recent.start;
    if (UNLIKELY(offset >= recent.bytes || size > recent.bytes - offset)) find_array(w, recent, address, size, pc, access);
    Region& region = *recent.region;
    if (must_align && UNLIKELY((address & (size - 1)) != 0)) refuse_access(w, MISALIGNED, &region, address, size, pc, access);
    if (UNLIKELY(region.space == CONSTANT || region.space == LITERAL)) {
        if (access != LOAD) refuse_access(w, READ_ONLY, &region, address, size, pc, access);
        if (region.space == LITERAL) return;
    }
    const auto place = static_cast<std::uint32_t>(pc - w.library_base);
    if (!region.complete && (w.observe & INITIALISATION)) {
        if (access != STORE && UNLIKELY(Initialisation::is_read_of_nothing(region, address, size)))
            read_of_nothing(w, region, address, size, pc, access);
        if (access != LOAD) Initialisation::written(region, address, size, place);
    }
    if ((w.observe & RACES) && region.space != CONSTANT) {
        w.me.who = Toucher::pack(place, w.me.thread());
        if (UNLIKELY(w.one_of_many) && !region.is_shared()) watch_races_together<access>(w, region, address, size);
        else watch_races<access>(w, region, address, size, pc);
    }
    if (w.observe & TRAFFIC) w.running->trace.access(place, size, access, &region, address);
}

template <Access access>
inline __attribute__((always_inline)) void on_access(void* pointer, std::size_t size, std::uintptr_t pc, bool must_align = true) {
    Worker* w = current;
    if (UNLIKELY(w == nullptr) || w->fibers.contains(reinterpret_cast<std::uintptr_t>(pointer))) return;    // own stack: local memory
    observe_access<access>(*w, pointer, size, pc, must_align);
}

template <Access access> void on_range(void* pointer, std::size_t size, std::uintptr_t pc) {
    if (size > 0) on_access<access>(pointer, size, pc, false);
}
void* on_copy(void* to, const void* from, std::size_t size, std::uintptr_t pc) {
    on_range<LOAD>(const_cast<void*>(from), size, pc), on_range<STORE>(to, size, pc);
    return std::memmove(to, from, size);
}
void* on_fill(void* to, int value, std::size_t size, std::uintptr_t pc) {
    on_range<STORE>(to, size, pc);
    return std::memset(to, value, size);
}

// ---- the scheduler ----

void run_fibers() {
    for (;;) {
        Worker& w = *current;
        w.launch.entry(w.launch.arguments);
        w.running->state = FINISHED;
        to_scheduler(w);
    }
}

void resume(Worker& w, Thread& thread) {
    if (thread.stack_pointer == nullptr) thread.stack_pointer = w.fibers.take();
    w.running = &thread;
    w.me = {w.block_number, thread.clock, w.turn, thread_number(w)};
    w.fuel = fuel_of_a_slice, w.slices = 0, w.interrupted = false;
    halo_switch(&w.scheduler, thread.stack_pointer);
    if (thread.state == FINISHED) w.fibers.give_back(thread.stack_pointer), thread.stack_pointer = nullptr;
    if (UNLIKELY(thread.guessing) && thread.state != READY) settle_guess(w, thread, false);
}

// Lets the other threads go on, although this one does not wait for any of them as far as the engine knows.
void interrupt(Worker& w, std::uintptr_t pc) {
    if (stop_requested.load(std::memory_order_relaxed)) stop_here(w, pc);
    w.interrupted = true;
    to_scheduler(w);
}

__attribute__((noinline)) void out_of_fuel(Worker& w, std::uintptr_t pc) {
    if (w.one_of_many && doubtful.load(std::memory_order_relaxed)) give_up(w);
    w.fuel = fuel_of_a_slice;
    if (++w.slices >= slices_of_a_turn || stop_requested.load(std::memory_order_relaxed)) interrupt(w, pc);
}

// ---- warp operations ----

struct Warp {
    Worker& w;
    std::size_t first, last;
    Meetings meetings;

    Warp(Worker& worker_of, std::size_t first_thread) : w(worker_of), first(first_thread) {
        last = std::min(first + warp_size, w.threads.size());
        for (std::size_t t = first; t < last; ++t) {
            const Thread& thread = w.threads[t];
            if (thread.state != FINISHED) meetings.live |= 1u << (t - first);
            if (thread.state == AT_MEETING) meetings.waiting[t - first] = thread.meeting;
        }
    }
    Thread& thread(int lane) const { return w.threads[first + static_cast<std::size_t>(lane)]; }

    void release(std::uint32_t lanes) {
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            thread(lane).state = READY, meetings.waiting[lane] = nullptr;
            --w.lanes_meeting;
        }
    }
    // What each lane of `lanes` did so far comes before what any of them does from now on.
    void order(std::uint32_t lanes) {
        LaneClocks joined{};
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            for (int k = 0; k < warp_size; ++k) joined[k] = std::max(joined[k], thread(__builtin_ctz(left)).after[k]);
        ++w.now;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) joined[__builtin_ctz(left)] = w.now;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            Thread& one = thread(__builtin_ctz(left));
            one.after = joined, one.clock = w.now;
        }
    }
    // Lets go on who can; true when somebody can.
    bool settle() {
        bool any = false;
        for (int lane = 0; lane < warp_size; ++lane) {
            std::uint32_t lanes = meetings.waiting[lane] != nullptr ? meetings.complete(lane) : 0;
            if (lanes == 0) continue;
            tell_of_exited(lane);
            if (meetings.waiting[lane]->kind == Meeting::SYNC) order(lanes);
            else meetings.exchange(lanes);
            release(lanes);
            any = true;
        }
        return any;
    }
    bool release_activemask() {
        std::uint32_t lanes = meetings.at_first_activemask();
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) meetings.waiting[__builtin_ctz(left)]->participants = lanes;
        release(lanes);
        return lanes != 0;
    }
    Place place(int lane) const {
        Place place = thread(lane).place;
        place.thread = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(lane);
        return place;
    }
    void tell_of_exited(int lane) {
        const Meeting& meeting = *meetings.waiting[lane];
        std::uint32_t exist = last - first == 32 ? UINT32_MAX : (1u << (last - first)) - 1;
        std::uint32_t gone = meeting.mask & exist & ~meetings.live;
        if (gone == 0 || meeting.kind != Meeting::EXCHANGE || !(w.observe & BARRIERS)) return;
        Finding finding;
        finding.kind = MASK_EXITED, finding.size = meeting.mask, finding.offset = __builtin_ctz(gone);
        finding.here = place(lane), finding.other = place(__builtin_ctz(gone));
        w.findings.add(finding);
    }
    // Nobody can ever go on: says who waits for whom.
    void stuck() {
        int lane = 0;
        while (meetings.waiting[lane] == nullptr) ++lane;
        const Meeting& meeting = *meetings.waiting[lane];
        std::uint32_t wanted = meeting.mask & meetings.live;
        int other = __builtin_ctz(wanted);
        for (std::uint32_t left = wanted; left != 0; left &= left - 1) {
            other = __builtin_ctz(left);
            if (meetings.waiting[other] == nullptr || !meetings.waiting[other]->same_as(meeting)) break;
        }
        const Meeting* its = meetings.waiting[other];
        Finding finding;
        finding.size = meeting.mask, finding.offset = its != nullptr ? static_cast<std::int64_t>(its->mask) : -1;
        bool mask_is_wrong = its != nullptr ? its->mask != meeting.mask : meeting.kind == Meeting::EXCHANGE;
        finding.kind = mask_is_wrong ? MASK_MISMATCH : WARP_DEADLOCK;
        finding.here = place(lane), finding.other = place(other);
        end_launch(w, finding);
    }
};

void meet(Worker& w, Meeting& meeting, std::uint32_t line, std::uintptr_t pc) {
    meeting.line = line, meeting.pc = pc - w.library_base;
    Thread& me = *w.running;
    me.place = here(w, pc, LOAD);
    me.place.line = line;
    std::uint32_t own = 1u << (thread_number(w) & 31);
    if (meeting.kind != Meeting::ACTIVE && !(meeting.mask & own)) {
        Finding finding;
        finding.kind = MASK_WITHOUT_SELF, finding.size = meeting.mask, finding.offset = thread_number(w) & 31;
        finding.here = me.place;
        abort_launch(w, finding);
    }
    me.meeting = &meeting, me.state = AT_MEETING;
    ++w.lanes_meeting;
    to_scheduler(w);
}

void merge_warp(Worker& w, std::size_t first, std::uint64_t block) {
    static Traffic::Trace none;
    std::array<Traffic::Trace, warp_size> lanes;
    bool running[warp_size];
    std::size_t last = std::min(first + warp_size, w.threads.size());
    for (std::size_t t = first; t < last; ++t) std::swap(lanes[t - first], w.threads[t].trace);
    for (int lane = 0; lane < warp_size; ++lane) running[lane] = first + lane < last && w.threads[first + lane].state == READY;
    w.traffic.merge(lanes.data(), running, block, static_cast<std::uint32_t>(first / warp_size));
    for (std::size_t t = first; t < last; ++t) std::swap(lanes[t - first], w.threads[t].trace);
}

// Runs every thread of a warp until it waits at a barrier, is finished, or is too far ahead of the others. True when one was
// interrupted: it may be waiting for another warp.
bool run_warp(Worker& w, std::size_t first, std::uint64_t block) {
    std::size_t last = std::min(first + warp_size, w.threads.size());
    for (;;) {
        bool interrupted = false, ready = false;
        for (std::size_t t = first; t < last; ++t) {
            Thread& thread = w.threads[t];
            if (thread.state != READY || thread.trace.full()) continue;
            resume(w, thread);
            if (w.aborted) return false;
            interrupted |= w.interrupted;
        }
        for (std::size_t t = first; t < last; ++t) ready |= w.threads[t].state == READY;
        bool all_wait = !ready;
        if (w.lanes_meeting > 0) {
            // Lanes that meet are together again, so their traces are merged to the end before they go on.
            if ((w.observe & TRAFFIC) && all_wait) merge_warp(w, first, block);
            Warp warp(w, first);
            ready |= warp.settle();
            if (!ready) ready = warp.release_activemask();
            if (!ready && w.lanes_meeting > 0) {
                warp.stuck();
                return false;
            }
        }
        if (w.observe & TRAFFIC) merge_warp(w, first, block);
        if (!ready || interrupted) return ready;
    }
}

// True when the block may go on past a barrier, false when all its threads have finished.
bool pass_barrier(Worker& w) {
    BarrierState barrier;
    w.barrier_count = 0, w.barrier_all = 1;
    for (const Thread& thread : w.threads) {
        if (thread.state == AT_BARRIER) {
            barrier.saw_waiting(thread.place);
            w.barrier_count += thread.predicate != 0, w.barrier_all &= thread.predicate != 0;
        } else {
            barrier.saw_exited(thread.place);
        }
    }
    if (barrier.waiting == 0) return false;
    Finding finding;
    finding.here = *barrier.first;
    if (barrier.diverged()) {
        finding.kind = BARRIER_DIVERGENCE, finding.other = *barrier.other;
        end_launch(w, finding);
        return false;
    }
    if (barrier.elsewhere != nullptr && (w.observe & BARRIERS)) {
        finding.kind = BARRIER_CALLERS, finding.other = *barrier.elsewhere;
        w.findings.add(finding);
    }
    if (barrier.left_some_behind() && (w.observe & BARRIERS)) {
        finding.kind = BARRIER_EXITED, finding.other = barrier.gone;
        w.findings.add(finding);
    }
    w.turn = ++w.now;
    for (Thread& thread : w.threads)
        if (thread.state == AT_BARRIER) thread.state = READY, thread.clock = w.now;
    return true;
}

void begin_block(Worker& w, std::uint64_t number) {
    const Dim& grid = w.launch.grid;
    w.block_index = {static_cast<std::uint32_t>(number % grid.x), static_cast<std::uint32_t>(number / grid.x % grid.y),
                     static_cast<std::uint32_t>(number / grid.x / grid.y)};
    w.block_number = w.first_block + static_cast<std::uint32_t>(number) * (w.one_of_many ? 2 : 1);
    w.turn = ++w.now;
    w.order.begin_block();
    for (Region* region : w.shared) {
        Initialisation::forget(*region, number == 0 || !(w.observe & INITIALISATION));
        region->oldest = w.block_number;    // other blocks have shared memory of their own
    }
    for (Thread& thread : w.threads) thread.state = READY, thread.clock = w.now, thread.fenced = 0;
    if (w.observe & TRAFFIC)
        for (Thread& thread : w.threads) thread.trace.clear();
}

void run_block(Worker& w, std::uint64_t number) {
    begin_block(w, number);
    do {
        for (bool again = true; again && !w.aborted;) {
            again = false;
            for (std::size_t first = 0; first < w.threads.size() && !w.aborted; first += warp_size) again |= run_warp(w, first, number);
        }
    } while (!w.aborted && pass_barrier(w));
}

void map_shared(Worker& w) {
    auto block = reinterpret_cast<std::uintptr_t>(w.launch.thread_local_anchor()) - w.launch.anchor_offset;
    for (std::uint32_t i = 0; i < w.launch.shared_count; ++i)
        w.shared.push_back(memory.add(block + w.launch.shared_arrays[i].offset, w.launch.shared_arrays[i].bytes, SHARED));
    if (w.launch.dynamic_shared > 0) {
        w.dynamic.reset(static_cast<unsigned char*>(std::aligned_alloc(128, (w.launch.dynamic_shared + 127) / 128 * 128)));
        w.shared.push_back(memory.add(reinterpret_cast<std::uintptr_t>(w.dynamic.get()), w.launch.dynamic_shared, DYNAMIC_SHARED));
    }
}

void unmap_shared(Worker& w) {
    for (Region* region : w.shared) memory.remove(region);
    w.shared.clear();
    w.dynamic.reset();
}

void prepare_threads(Worker& w) {
    const Dim& block = w.launch.block;
    std::vector<Thread> threads(std::size_t(block.x) * block.y * block.z);
    for (std::size_t k = 0; k < std::min(threads.size(), w.threads.size()); ++k)    // memory that has been touched is faster
        threads[k].trace = std::move(w.threads[k].trace), threads[k].trace.clear();
    w.threads = std::move(threads);
    std::size_t t = 0;
    for (std::uint32_t z = 0; z < block.z; ++z)
        for (std::uint32_t y = 0; y < block.y; ++y)
            for (std::uint32_t x = 0; x < block.x; ++x, ++t) {
                w.threads[t].index = {x, y, z};
                w.threads[t].place.thread = static_cast<std::uint32_t>(t);
            }
}

// Where a signal found the thread, when that is in the kernel's own code; else 0.
std::uintptr_t place_in_kernel(void* context) {
#if defined(__x86_64__)
    auto pc = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
    auto pc = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#endif
    Dl_info where;
    if (current == nullptr || !dladdr(reinterpret_cast<void*>(pc), &where)) return 0;
    return reinterpret_cast<std::uintptr_t>(where.dli_fbase) == current->library_base ? pc : 0;
}

// A loop that does nothing has no instrumented instruction, so no hook can end it: a signal does, when it finds the thread in the
// kernel's own code. Nothing is held there, and the launch is over, so the handler need not return.
void on_stop_signal(int, siginfo_t*, void* context) {
    if (std::uintptr_t pc = place_in_kernel(context)) stop_here(*current, pc + 1);
}

// What a processor cannot do must not end the process, and Python with it. Compilers make such code of what C++ leaves undefined.
constexpr std::array<std::pair<int, const char*>, 4> faults{{
    {SIGFPE, "divides an integer by zero"},
    {SIGILL, "reaches code that cannot go on: an index past a local array, or a division by a constant zero"},
    {SIGSEGV, "uses an address that cannot be used, as a vector in a local array that is not aligned for it"},
    {SIGBUS, "uses an address that cannot be used, as a vector in a local array that is not aligned for it"},
}};
std::array<struct sigaction, faults.size()> before_us{};

void on_fault(int signal, siginfo_t*, void* context) {
    for (std::size_t i = 0; i < faults.size(); ++i) {
        if (faults[i].first != signal) continue;
        std::uintptr_t pc = place_in_kernel(context);
        if (pc == 0) {    // not the kernel's: it happens again, to whoever was asked before
            sigaction(signal, &before_us[i], nullptr);
            return;
        }
        Finding finding;
        finding.kind = FAULT;
        finding.here = here(*current, pc + 1, LOAD);
        std::strncpy(finding.text, faults[i].second, sizeof finding.text - 1);
        abort_launch(*current, finding);
    }
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags, struct sigaction* before) {
    struct sigaction action {}, now {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &action, &now);
    if (before != nullptr && now.sa_sigaction != handler) *before = now;
}

// Block numbers are never used twice, so that what earlier launches left in the race cells says nothing.
std::uint32_t take_block_numbers(std::uint64_t blocks) {
    if (blocks > UINT32_MAX - next_block_number) {
        memory.forget_races();
        next_block_number = 1;
    }
    std::uint32_t first = next_block_number;
    next_block_number += static_cast<std::uint32_t>(blocks);
    return first;
}

void begin_worker(Worker& w, const Launch& launch, std::uint32_t first_block) {
    w.launch = launch;
    w.first_block = first_block;
    w.aborted = false;
    w.library_base = launch.library_base, w.observe = launch.observe;
    w.recent.fill({});
    w.now = w.turn = 0, w.lanes_meeting = 0, w.ticks = 0;
    w.printed.clear(), w.findings.clear(), w.plain_before.clear();
    w.order.begin_launch();
    w.fibers.reset(run_fibers);
    prepare_threads(w);
}

void run_alone(Worker& w, const Launch& launch) {
    std::uint64_t blocks = std::uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    begin_worker(w, launch, take_block_numbers(blocks));
    memory.begin_launch(w.first_block);
    w.one_of_many = false;
    w.traffic.begin(launch.watched_block, launch.watched_warp);
    current = &w;    // from here on the hooks listen
    for (std::uint64_t b = 0; b < blocks && !w.aborted; b += launch.sample_every) run_block(w, b);
    for (Thread& thread : w.threads) settle_guess(w, thread, false);
    current = nullptr;
}

// What an array held before several workers changed it.
struct Saved {
    Region* region;
    std::vector<unsigned char> bytes, initialised;
    bool dirty;

    explicit Saved(Region& of) : region(&of), dirty(of.dirty) {
        auto* first = reinterpret_cast<unsigned char*>(of.start);
        bytes.assign(first, first + of.bytes());
        if (!of.complete) initialised.assign(of.initialised.cells, of.initialised.cells + of.bytes());
    }
    void restore() const {
        std::memcpy(reinterpret_cast<void*>(region->start), bytes.data(), bytes.size());
        if (!initialised.empty()) std::memcpy(region->initialised.cells, initialised.data(), initialised.size());
        region->dirty = dirty;
    }
};

// Runs blocks on several workers. True when nothing was found; else the arrays hold again what they held before.
bool run_together(const Launch& launch) {
    std::uint64_t blocks = std::uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    std::uint32_t first_block = take_block_numbers(2 * blocks + 2);
    first_block += first_block & 1;
    while (helpers.size() + 1 < launch.workers) helpers.emplace_back();
    std::vector<Worker*> team{&worker};
    for (std::uint32_t k = 0; k + 1 < launch.workers; ++k)
        if (helpers[k].fibers.open()) team.push_back(&helpers[k]);
    std::vector<Saved> saved;
    for (const auto& region : memory.regions()) {
        if (region->shadowed && region->races.cells == nullptr) region->refine(region->grain);
        if (region->shadowed && region->writable) saved.emplace_back(*region);
    }
    memory.begin_launch(first_block);
    doubtful = false;
    std::mutex door;
    std::condition_variable moved;
    std::size_t ready = 0, over = 0;
    std::atomic<std::uint64_t> next{0};
    std::uint64_t batch = std::max<std::uint64_t>(1, blocks / (team.size() * 64));
    auto work = [&](Worker& w) {
        {
            std::lock_guard<std::mutex> lock(door);
            begin_worker(w, launch, first_block);
            if (&w != &worker) map_shared(w);
            ++ready;
            moved.notify_all();
        }
        {
            std::unique_lock<std::mutex> lock(door);    // nobody looks for arrays while shared ones are still added
            moved.wait(lock, [&] { return ready == team.size(); });
        }
        w.one_of_many = true;
        current = &w;
        bool first_time = true;
        for (std::uint64_t from; !doubtful && (from = next.fetch_add(batch)) < blocks;)
            for (std::uint64_t b = from; b < std::min(from + batch, blocks) && !doubtful; ++b) {
                if (first_time)
                    for (Region* region : w.shared) region->dirty = true;    // its first block finds leftovers
                first_time = false;
                run_block(w, b);
                if (w.aborted || !w.findings.list().empty()) doubtful = true;
            }
        current = nullptr;
        w.one_of_many = false;
        std::unique_lock<std::mutex> lock(door);
        ++over;
        moved.notify_all();
        moved.wait(lock, [&] { return over == team.size(); });    // shared arrays of others stay findable till all are done
    };
    std::vector<std::thread> threads;
    for (std::size_t k = 1; k < team.size(); ++k) threads.emplace_back(work, std::ref(*team[k]));
    {
        std::lock_guard<std::mutex> lock(signalled);
        for (std::thread& one : threads) to_signal.push_back(one.native_handle());
    }
    work(worker);
    for (std::thread& one : threads) one.join();
    {
        std::lock_guard<std::mutex> lock(signalled);
        to_signal.clear();
    }
    for (std::size_t k = 1; k < team.size(); ++k) unmap_shared(*team[k]);
    if (!doubtful) return true;
    for (Worker* w : team)
        if (stop_requested && w->aborted && !w->findings.list().empty()) {    // a second run would not end either
            if (w != &worker) worker.findings = w->findings, worker.fatal = w->fatal;
            worker.aborted = true;
            return true;
        }
    for (const Saved& one : saved) one.restore();
    return false;
}

void run_launch() {
    const Launch launch = worker.launch;
    map_shared(worker);
    workers_used = launch.workers;
    if (launch.workers < 2 || !run_together(launch)) workers_used = 1, run_alone(worker, launch);
    for (const auto& region : memory.regions()) region->shadowed = region->writable = false;
}

// A plain read that this thread's compare-and-swap of the same address has made good is no race with later ones.
void forgive(Worker& w, std::uintptr_t address, std::size_t size) {
    Region* region = memory.find(address);
    if (region == nullptr || region->races.cells == nullptr || !region->holds(address, size)) return;
    RaceCell* cell = region->races.cells + ((address - region->start) >> region->grain);
    for (std::size_t i = 0; i < size >> region->grain; ++i) Races::forgive_read(cell[i], w.me);
}

// An atomic operation: `next(old)` gives the bits that it leaves.
template <class Next>
std::uint64_t update(void* address, std::size_t bytes, std::uintptr_t pc, bool swaps, bool within_block, Next next) {
    Worker* w = current;
    std::uint64_t old = 0;
    bool watched = w != nullptr && !w->fibers.contains(reinterpret_cast<std::uintptr_t>(address));
    if (watched) {
        auto where = reinterpret_cast<std::uintptr_t>(address);
        Thread& me = *w->running;
        if (UNLIKELY(me.guessing) && me.guessed == where) settle_guess(*w, me, swaps);
        if (swaps) forgive(*w, where, bytes);
        w->within_block = within_block;
        observe_access<ATOMIC>(*w, address, bytes, pc, true);
        if (w->order.used) w->order.atomic(where, w->me, me.fenced, me.after);
    }
    std::memcpy(&old, address, bytes);
    std::uint64_t fresh = next(old);
    std::memcpy(address, &fresh, bytes);
    // A thread that did not get its way may be waiting for one that has not had its turn: a lock.
    if (watched && swaps && fresh == old) interrupt(*w, pc);
    return old;
}

std::mutex mutex;
std::condition_variable finished;
bool done = true;
std::thread thread;

}    // namespace

// ---- what runtime.py calls ----

extern "C" {

std::uintptr_t halo_allocate(std::size_t bytes) { return memory.allocate(bytes); }
int halo_free(std::uintptr_t start) { return memory.release(start); }
std::size_t halo_used() { return memory.used(); }

// Start, size and id of the array that holds an address; 0 when none does.
int halo_region(std::uintptr_t address, std::uintptr_t* start, std::uint64_t* bytes, std::uint32_t* id) {
    const Region* region = memory.find(address);
    if (region == nullptr) return 0;
    *start = region->start, *bytes = region->bytes(), *id = region->id;
    return 1;
}
std::uint32_t halo_add_global(std::uintptr_t start, std::size_t bytes, int kind) {
    Region* region = memory.add(start, bytes, kind == 2 ? LITERAL : kind == 1 ? CONSTANT : DEVICE_GLOBAL);
    region->mark_initialised(start, bytes);    // C++ gives globals a value, zero where none is written
    return region->id;
}
void halo_remove_global(std::uintptr_t start) {
    if (const Region* region = memory.find(start)) memory.remove(region);
}
void halo_mark_initialised(std::uintptr_t address, std::size_t bytes) {
    if (Region* region = memory.find(address)) region->mark_initialised(address, bytes);
}
// How many of the bytes from `address` on have been written.
std::size_t halo_count_initialised(std::uintptr_t address, std::size_t bytes) {
    const Region* region = memory.find(address);
    std::size_t written = 0;
    if (region != nullptr && region->complete) return bytes;
    if (region != nullptr)
        for (std::size_t i = 0; i < bytes; ++i) written += region->initialised.cells[address - region->start + i];
    return written;
}
// Offset from `address` of the first of `bytes` that nothing has written; `bytes` when there is none.
std::size_t halo_first_unwritten(std::uintptr_t address, std::size_t bytes) {
    const Region* region = memory.find(address);
    if (region == nullptr || region->complete) return bytes;
    const std::uint8_t* shadow = region->initialised.cells + (address - region->start);
    const void* first = std::memchr(shadow, 0, bytes);
    return first == nullptr ? bytes : static_cast<std::size_t>(static_cast<const std::uint8_t*>(first) - shadow);
}
// The instruction (offset in the library) of the last launch that wrote to the array at `address`; 0 when it did not.
std::uint32_t halo_store_pc(std::uintptr_t address) {
    const Region* region = memory.find(address);
    return region != nullptr && region->stored_to ? region->store_pc : 0;
}
// An argument or a variable of the next launch. element: bytes of what it points to, 0 for unknown; writable: through this pointer.
void halo_shadow(std::uintptr_t address, std::size_t element, int writable) {
    Region* region = memory.find(address);
    if (region == nullptr || region->space == CONSTANT || region->space == LITERAL) return;
    region->shadowed = true;
    region->writable |= writable != 0;
    if (region->races.cells == nullptr && element != 0) region->grain = static_cast<std::uint8_t>(std::min(2, __builtin_ctzll(element)));
}
// As after an allocation: nothing there counts as written.
void halo_forget(std::uintptr_t address) {
    if (Region* region = memory.find(address)) {
        region->complete = false;
        Initialisation::forget(*region, true);
    }
}

int halo_start(const Launch* launch) {
    if (!worker.fibers.open()) return -1;
    install(SIGURG, on_stop_signal, SA_RESTART, nullptr);    // ignored by default, so nobody misses it
    for (std::size_t i = 0; i < faults.size(); ++i) install(faults[i].first, on_fault, SA_NODEFER, &before_us[i]);
    worker.launch = *launch;
    worker.findings.clear();
    stop_requested = false;
    done = false;
    thread = std::thread([] {
        run_launch();
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
        finished.notify_all();
    });
    return 0;
}
// Waits for at most `milliseconds`; 1 when the launch is over. Short waits let Python see Ctrl-C.
int halo_wait(int milliseconds) {
    std::unique_lock<std::mutex> lock(mutex);
    if (!finished.wait_for(lock, std::chrono::milliseconds(milliseconds), [] { return done; })) return 0;
    lock.unlock();
    if (thread.joinable()) thread.join();
    return 1;
}
void halo_stop() {
    if (!stop_requested.exchange(true)) return;    // hooks see it at once; who asks again is in a loop without any
    if (thread.joinable()) pthread_kill(thread.native_handle(), SIGURG);
    std::lock_guard<std::mutex> lock(signalled);
    for (pthread_t one : to_signal) pthread_kill(one, SIGURG);
}
// Shared arrays are known up to here, so that findings can name them.
std::uint32_t halo_shared_region(std::uint32_t i) { return i < worker.shared.size() ? worker.shared[i]->id : 0; }
void halo_finish() { unmap_shared(worker); }

std::uint32_t halo_workers_used() { return workers_used; }
int halo_aborted() { return worker.aborted; }
const Finding* halo_fatal() { return &worker.fatal; }
// What the kernel printed.
const char* halo_printed(std::size_t* bytes) { return *bytes = worker.printed.size(), worker.printed.data(); }
const Finding* halo_findings(std::size_t* count) { return *count = worker.findings.list().size(), worker.findings.list().data(); }
std::size_t halo_site_count() { return worker.traffic.sites().size(); }
void halo_site(std::size_t i, Site* site) { *site = worker.traffic.sites()[i]; }
const WatchedLane* halo_watched(std::size_t* count) { return *count = worker.traffic.watched().size(), worker.traffic.watched().data(); }

// ---- what kernels call ----

std::uint32_t halo_thread_index(int axis) { const Dim& d = current->running->index; return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }
std::uint32_t halo_block_index(int axis) { const Dim& d = current->block_index; return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }
std::uint32_t halo_block_dim(int axis) { const Dim& d = current->launch.block; return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }
std::uint32_t halo_grid_dim(int axis) { const Dim& d = current->launch.grid; return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }
void* halo_dynamic_shared() { return current->dynamic.get(); }

// Where the function that called us was called itself, as an offset in the kernel's library: kernels keep frame pointers.
static std::uint64_t caller_of(const Worker& w, void* const* frame) {
    if (!w.fibers.contains(reinterpret_cast<std::uintptr_t>(frame))) return 0;
    return reinterpret_cast<std::uintptr_t>(frame[1]) - w.library_base;
}
#define CALLERS_FRAME *static_cast<void* const**>(__builtin_frame_address(0))

static void wait_at_barrier(std::uint32_t line, int predicate, std::uintptr_t pc, void* const* frame) {
    Worker& w = *current;
    if (w.observe & TRAFFIC) w.running->trace.barrier(static_cast<std::uint32_t>(pc - w.library_base));
    w.running->place = here(w, pc, LOAD);
    w.running->place.line = line;
    w.running->place.caller = caller_of(w, frame);
    w.running->predicate = predicate;
    w.running->state = AT_BARRIER;
    to_scheduler(w);
}
void halo_syncthreads(std::uint32_t line) { wait_at_barrier(line, 0, CALLER, CALLERS_FRAME); }
// operation: 0 counts the threads whose predicate is not zero, 1 asks for all of them, 2 for any.
int halo_syncthreads_reduce(int operation, int predicate, std::uint32_t line) {
    wait_at_barrier(line, predicate, CALLER, CALLERS_FRAME);
    const Worker& w = *current;
    return operation == 0 ? w.barrier_count : operation == 1 ? w.barrier_all : w.barrier_count > 0;
}

void halo_syncwarp(unsigned mask, std::uint32_t line) {
    Meeting meeting;
    meeting.mask = mask;
    meet(*current, meeting, line, CALLER);
}
// Each lane of `mask` hands over `bytes` and gets those of all lanes, by lane; zeros where a lane takes no part.
void halo_warp_exchange(unsigned mask, std::uint32_t line, const void* mine, std::size_t bytes, void* all, unsigned* participants) {
    Meeting meeting;
    meeting.kind = Meeting::EXCHANGE;
    meeting.mask = mask, meeting.mine = mine, meeting.all = all, meeting.bytes = bytes;
    meet(*current, meeting, line, CALLER);
    *participants = meeting.participants;
}
unsigned halo_activemask() {
    Meeting meeting;
    meeting.kind = Meeting::ACTIVE;
    meet(*current, meeting, 0, CALLER);
    return meeting.participants;
}
unsigned halo_lane() { return thread_number(*current) & 31; }
// This lane reads from a lane that takes no part.
void halo_report_lane(unsigned lane, std::uint32_t line) {
    Worker& w = *current;
    Finding finding;
    finding.kind = INACTIVE_LANE, finding.offset = lane;
    finding.here = here(w, CALLER, LOAD);
    finding.here.line = line;
    w.findings.add(finding);
}

std::uint64_t halo_atomic(int operation, void* address, std::size_t bytes, std::uint64_t operand, std::uint64_t compare, int type) {
    bool swaps = operation == COMPARE_AND_SWAP, within_block = type & WITHIN_BLOCK_TYPE;
    type &= ~WITHIN_BLOCK_TYPE;
    return update(address, bytes, CALLER, swaps, within_block,
                  [=](std::uint64_t old) { return atomics::result(operation, bytes, old, operand, compare, type); });
}
// The same for an operation that the engine does not know: combine(old, operand) gives the new bits.
std::uint64_t halo_atomic_update(void* address, std::size_t bytes, std::uint64_t operand,
                                 std::uint64_t (*combine)(std::uint64_t, std::uint64_t)) {
    return update(address, bytes, CALLER, false, false, [=](std::uint64_t old) { return combine(old, operand); });
}
// What this thread did before, others that meet it at an atomic may rely on.
void halo_threadfence() {
    Worker& w = *current;
    if (w.one_of_many) give_up(w);
    w.order.used = true;
    w.running->fenced = w.running->clock = w.me.when = ++w.now;
}
std::uint64_t halo_clock64() {
    if (current->one_of_many) give_up(*current);
    return ++current->ticks;
}

int halo_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[4096];
    int length = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Worker* w = current;
    if (w == nullptr || length < 0) return length;
    if (w->one_of_many) give_up(*w);    // lines in the order of blocks
    std::size_t kept = std::min<std::size_t>(static_cast<std::size_t>(length), sizeof text - 1);
    if (w->printed.size() + kept <= printed_limit) w->printed.append(text, kept);
    else if (w->printed.size() < printed_limit) w->printed.append("...\n").resize(printed_limit, ' ');
    return length;
}
void halo_assert_fail(const char* expression, const char*, unsigned line) {
    Worker& w = *current;
    Finding finding;
    finding.kind = ASSERTION;
    finding.here = here(w, CALLER, LOAD);
    finding.here.line = line;
    std::strncpy(finding.text, expression, sizeof finding.text - 1);
    abort_launch(w, finding);
}

// ---- what the instrumentation calls ----

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#define ON_ACCESS(SIZE)                                                                                             \
    void __tsan_read##SIZE(void* p) { on_access<LOAD>(p, SIZE, CALLER); }                                            \
    void __tsan_write##SIZE(void* p) { on_access<STORE>(p, SIZE, CALLER); }                                          \
    void __tsan_volatile_read##SIZE(void* p) { on_access<LOAD>(p, SIZE, CALLER); }                                   \
    void __tsan_volatile_write##SIZE(void* p) { on_access<STORE>(p, SIZE, CALLER); }                                 \
    void __tsan_unaligned_read##SIZE(void* p) { on_access<LOAD>(p, SIZE, CALLER, false); }                           \
    void __tsan_unaligned_write##SIZE(void* p) { on_access<STORE>(p, SIZE, CALLER, false); }                         \
    void __tsan_read_write##SIZE(void* p) { on_access<LOAD>(p, SIZE, CALLER), on_access<STORE>(p, SIZE, CALLER); }    \
    void __tsan_unaligned_volatile_read##SIZE(void* p) { on_access<LOAD>(p, SIZE, CALLER, false); }                  \
    void __tsan_unaligned_volatile_write##SIZE(void* p) { on_access<STORE>(p, SIZE, CALLER, false); }
ON_ACCESS(1)
ON_ACCESS(2)
ON_ACCESS(4)
ON_ACCESS(8)
ON_ACCESS(16)
void __tsan_read_range(void* p, std::size_t n) { on_range<LOAD>(p, n, CALLER); }
void __tsan_write_range(void* p, std::size_t n) { on_range<STORE>(p, n, CALLER); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t n) { return on_copy(to, from, n, CALLER); }
void* __tsan_memmove(void* to, const void* from, std::size_t n) { return on_copy(to, from, n, CALLER); }
void* __tsan_memset(void* to, int value, std::size_t n) { return on_fill(to, value, n, CALLER); }
#ifdef __linux__    // what kernels built by clang before version 15 call (program.py)
void* __wrap_memcpy(void* to, const void* from, std::size_t n) { return on_copy(to, from, n, CALLER); }
void* __wrap_memmove(void* to, const void* from, std::size_t n) { return on_copy(to, from, n, CALLER); }
void* __wrap_memset(void* to, int value, std::size_t n) { return on_fill(to, value, n, CALLER); }
#endif

void __sanitizer_cov_trace_pc() {
    Worker* w = current;
    if (UNLIKELY(w == nullptr)) return;
    if (UNLIKELY(--w->fuel < 0)) out_of_fuel(*w, CALLER);
    if (!(w->observe & TRAFFIC)) return;
    Traffic::Trace& trace = w->running->trace;
    trace.block(static_cast<std::uint32_t>(CALLER - w->library_base));
    if (UNLIKELY(trace.full())) to_scheduler(*w);    // let the other lanes catch up
}

// An index past a declared extent, even where the array goes on (a row of a two-dimensional array).
struct TypeDescriptor { std::uint16_t kind, info; char name[1]; };
struct SourcePlace { const char* file; std::uint32_t line, column; };
struct IndexOutOfBounds {
    SourcePlace where;
    const TypeDescriptor* array;
    const TypeDescriptor* index;
};
void __ubsan_handle_out_of_bounds(IndexOutOfBounds* data, std::uintptr_t index) {
    Worker* w = current;
    if (w == nullptr) return;
    Finding finding;
    finding.kind = ROW_OVERRUN;
    finding.here = here(*w, CALLER, LOAD);
    finding.here.line = data->where.line;
    unsigned width = 1u << (data->index->info >> 1);
    finding.offset = (data->index->info & 1) && width < 64 ? static_cast<std::int64_t>(index << (64 - width)) >> (64 - width)
                                                            : static_cast<std::int64_t>(index);
    std::strncpy(finding.text, data->array->name, sizeof finding.text - 1);
    abort_launch(*w, finding);
}
// A function ends without the `return` that it needs: what follows it in memory would run.
void __ubsan_handle_missing_return(SourcePlace* where) {
    if (current == nullptr) std::abort();
    Finding finding;
    finding.kind = FAULT;
    finding.here = here(*current, CALLER, LOAD);
    finding.here.line = where->line;
    std::strncpy(finding.text, "ends a function without the `return` that its type asks for", sizeof finding.text - 1);
    abort_launch(*current, finding);
}
void __ubsan_handle_missing_return_abort(SourcePlace* where) { __ubsan_handle_missing_return(where); }
void __ubsan_handle_out_of_bounds_abort(IndexOutOfBounds* data, std::uintptr_t index) { __ubsan_handle_out_of_bounds(data, index); }
}
