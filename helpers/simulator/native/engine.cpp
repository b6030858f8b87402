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
#include <mutex>
#include <thread>

#include "barriers.h"
#include "fiber.h"
#include "findings.h"
#include "initialisation.h"
#include "memory.h"
#include "races.h"
#include "traffic.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CALLER reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace {

enum Observe : std::uint32_t { BARRIERS = 1, RACES = 2, INITIALISATION = 4, TRAFFIC = 8 };    // bounds: always
enum State : std::uint8_t { READY, AT_BARRIER, FINISHED };

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
};

struct Thread {
    void* stack_pointer = nullptr;
    Dim index{};
    State state = READY;
    Place place;                                     // where it waits or finished
    Traffic::Trace trace;
};

Memory memory;

struct Worker {
    Launch launch{};
    FiberPool fibers;
    std::vector<Thread> threads;
    Thread* running = nullptr;
    void* scheduler = nullptr;
    Dim block_index{};
    std::uint32_t block_number = 0;    // unique over all launches
    std::uint32_t epoch = 0;
    Findings findings;
    Traffic traffic;
    std::vector<Region*> shared;
    std::unique_ptr<unsigned char, decltype(&std::free)> dynamic{nullptr, &std::free};
    std::array<Region*, 1024> last_region{};    // by instruction: the array it touched last time
    bool aborted = false;
};

Worker worker;                                      // one launch at a time
std::atomic<bool> stop_requested{false};
__thread Worker* current __attribute__((tls_model("initial-exec"))) = nullptr;    // null: not in a launch

std::uint32_t next_block_number = 1;

std::uint32_t thread_number(const Worker& w) { return static_cast<std::uint32_t>(w.running - w.threads.data()); }

Place here(const Worker& w, std::uintptr_t pc, Access access) {
    Place place;
    place.pc = pc - w.launch.library_base;
    place.thread = thread_number(w), place.access = access;
    place.block[0] = w.block_index.x, place.block[1] = w.block_index.y, place.block[2] = w.block_index.z;
    return place;
}

void to_scheduler(Worker& w) { halo_switch(&w.running->stack_pointer, w.scheduler); }

// The launch ends here: the thread is left where it stands, before it does harm.
[[noreturn]] void abort_launch(Worker& w, const Finding& finding) {
    w.findings.add(finding);
    w.aborted = true;
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

Region* array_of(Worker& w, std::uintptr_t address, std::size_t size, std::uintptr_t pc, Access access) {
    Region*& last = w.last_region[(pc >> 1) & (w.last_region.size() - 1)];
    if (LIKELY(last != nullptr && last->holds(address, size))) return last;
    Region* region = memory.find(address);
    if (region == nullptr || !region->holds(address, size)) {
        // What this instruction touched before says best which array was meant.
        Region* meant = region != nullptr ? region : last != nullptr ? last : memory.nearest(address);
        refuse_access(w, OUT_OF_BOUNDS, meant, address, size, pc, access);
    }
    return last = region;
}

void observe_values(Worker& w, Region& region, std::uintptr_t address, std::size_t size, std::uintptr_t pc, bool write) {
    Finding finding;
    finding.region = region.id, finding.size = size;
    finding.offset = static_cast<std::int64_t>(address - region.start);
    if (w.launch.observe & INITIALISATION) {
        if (write) {
            Initialisation::written(region, address, size);
        } else if (UNLIKELY(Initialisation::is_read_of_nothing(region, address, size))) {
            finding.kind = UNINITIALISED;
            finding.here = here(w, pc, LOAD);
            w.findings.add(finding);
        }
    }
    if ((w.launch.observe & RACES) && region.space != CONSTANT) {
        Toucher me{w.block_number, w.epoch, static_cast<std::uint32_t>(pc - w.launch.library_base),
                   static_cast<std::uint16_t>(thread_number(w))};
        Place earlier;
        if (UNLIKELY(Races::touch(region, address, size, write, me, earlier))) {
            std::uint64_t linear = earlier.block[0];
            earlier.block[0] = static_cast<std::uint32_t>(linear % w.launch.grid.x);
            earlier.block[1] = static_cast<std::uint32_t>(linear / w.launch.grid.x % w.launch.grid.y);
            earlier.block[2] = static_cast<std::uint32_t>(linear / w.launch.grid.x / w.launch.grid.y);
            finding.kind = RACE;
            finding.here = here(w, pc, write ? STORE : LOAD);
            finding.other = earlier;
            w.findings.add(finding);
        }
    }
}

inline void on_access(void* pointer, std::size_t size, Access access, std::uintptr_t pc, bool must_align = true) {
    Worker* w = current;
    auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (w == nullptr || w->fibers.contains(address)) return;    // a thread's own stack: local memory
    if (UNLIKELY(stop_requested.load(std::memory_order_relaxed))) stop_here(*w, pc);
    Region* region = array_of(*w, address, size, pc, access);
    if (UNLIKELY(must_align && address % size != 0)) refuse_access(*w, MISALIGNED, region, address, size, pc, access);
    if (UNLIKELY(access != LOAD && region->space == CONSTANT)) refuse_access(*w, READ_ONLY, region, address, size, pc, access);
    observe_values(*w, *region, address, size, pc, access != LOAD);
    if (w->launch.observe & TRAFFIC)
        w->running->trace.events.push_back({static_cast<std::uint32_t>(pc - w->launch.library_base), static_cast<std::uint16_t>(size),
                                            static_cast<std::uint8_t>(access), region, address});
}

void on_range(void* pointer, std::size_t size, Access access, std::uintptr_t pc) {
    if (size > 0) on_access(pointer, size, access, pc, false);
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
    halo_switch(&w.scheduler, thread.stack_pointer);
    if (thread.state == FINISHED) w.fibers.give_back(thread.stack_pointer), thread.stack_pointer = nullptr;
}

void merge_warp(Worker& w, std::size_t first, std::uint64_t block) {
    if (!(w.launch.observe & TRAFFIC)) return;
    static Traffic::Trace none;
    std::array<Traffic::Trace, warp_size> lanes;
    bool running[warp_size];
    std::size_t last = std::min(first + warp_size, w.threads.size());
    for (std::size_t t = first; t < last; ++t) std::swap(lanes[t - first], w.threads[t].trace);
    for (int lane = 0; lane < warp_size; ++lane) running[lane] = first + lane < last && w.threads[first + lane].state == READY;
    w.traffic.merge(lanes.data(), running, block, static_cast<std::uint32_t>(first / warp_size));
    for (std::size_t t = first; t < last; ++t) std::swap(lanes[t - first], w.threads[t].trace);
}

// Runs every thread of a warp until it waits, is finished, or is too far ahead of the others.
void run_warp(Worker& w, std::size_t first, std::uint64_t block) {
    std::size_t last = std::min(first + warp_size, w.threads.size());
    for (bool more = true; more && !w.aborted;) {
        more = false;
        for (std::size_t t = first; t < last && !w.aborted; ++t) {
            Thread& thread = w.threads[t];
            if (thread.state != READY || thread.trace.full()) continue;
            resume(w, thread);
            more |= thread.state == READY;
        }
        if (!w.aborted) merge_warp(w, first, block);
    }
}

// True when the block may go on past a barrier, false when all its threads have finished.
bool pass_barrier(Worker& w) {
    BarrierState barrier;
    for (const Thread& thread : w.threads) thread.state == AT_BARRIER ? barrier.saw_waiting(thread.place) : barrier.saw_exited(thread.place);
    if (barrier.waiting == 0) return false;
    Finding finding;
    finding.here = *barrier.first;
    if (barrier.diverged()) {
        finding.kind = BARRIER_DIVERGENCE, finding.other = *barrier.other;
        w.findings.add(finding);
        w.aborted = true;
        return false;
    }
    if (barrier.left_some_behind() && (w.launch.observe & BARRIERS)) {
        finding.kind = BARRIER_EXITED, finding.other = barrier.gone;
        w.findings.add(finding);
    }
    ++w.epoch;
    for (Thread& thread : w.threads)
        if (thread.state == AT_BARRIER) thread.state = READY;
    return true;
}

void run_block(Worker& w, std::uint64_t number) {
    const Dim& grid = w.launch.grid;
    w.block_index = {static_cast<std::uint32_t>(number % grid.x), static_cast<std::uint32_t>(number / grid.x % grid.y),
                     static_cast<std::uint32_t>(number / grid.x / grid.y)};
    w.block_number = Races::first_block + static_cast<std::uint32_t>(number);
    w.epoch = 0;
    for (Region* region : w.shared) Initialisation::forget(*region);
    for (Thread& thread : w.threads) thread.state = READY, thread.trace.clear();
    do {
        for (std::size_t first = 0; first < w.threads.size() && !w.aborted; first += warp_size) run_warp(w, first, number);
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

void prepare_threads(Worker& w) {
    const Dim& block = w.launch.block;
    w.threads.clear();
    w.threads.resize(std::size_t(block.x) * block.y * block.z);
    std::size_t t = 0;
    for (std::uint32_t z = 0; z < block.z; ++z)
        for (std::uint32_t y = 0; y < block.y; ++y)
            for (std::uint32_t x = 0; x < block.x; ++x, ++t) {
                w.threads[t].index = {x, y, z};
                w.threads[t].place.thread = static_cast<std::uint32_t>(t);
            }
}

// A loop that does nothing has no instrumented instruction, so no hook can end it: a signal does, when it finds the thread in the
// kernel's own code. Nothing is held there, and the launch is over, so the handler need not return.
void on_stop_signal(int, siginfo_t*, void* context) {
#if defined(__x86_64__)
    auto pc = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
    auto pc = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#endif
    Worker* w = current;
    Dl_info where;
    if (w == nullptr || !dladdr(reinterpret_cast<void*>(pc), &where)) return;
    if (reinterpret_cast<std::uintptr_t>(where.dli_fbase) == w->launch.library_base) stop_here(*w, pc + 1);
}

void run_launch() {
    Worker& w = worker;
    w.aborted = false;
    w.last_region.fill(nullptr);
    w.fibers.reset(run_fibers);
    prepare_threads(w);
    map_shared(w);
    current = &w;    // from here on the hooks listen
    w.traffic.begin(w.launch.watched_block, w.launch.watched_warp);
    std::uint64_t blocks = std::uint64_t(w.launch.grid.x) * w.launch.grid.y * w.launch.grid.z;
    Races::first_block = next_block_number;
    for (std::uint64_t b = 0; b < blocks && !w.aborted; b += w.launch.sample_every) run_block(w, b);
    next_block_number += static_cast<std::uint32_t>(blocks);
    current = nullptr;
}

void unmap_shared(Worker& w) {
    for (Region* region : w.shared) memory.remove(region);
    w.shared.clear();
    w.dynamic.reset();
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
std::uint32_t halo_add_global(std::uintptr_t start, std::size_t bytes, int constant) {
    Region* region = memory.add(start, bytes, constant ? CONSTANT : DEVICE_GLOBAL);
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
    if (region != nullptr)
        for (std::size_t i = 0; i < bytes; ++i) written += region->initialised.cells[address - region->start + i];
    return written;
}

int halo_start(const Launch* launch) {
    if (!worker.fibers.open()) return -1;
    struct sigaction action {};
    action.sa_sigaction = on_stop_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGURG, &action, nullptr);    // ignored by default, so nobody misses it
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
    stop_requested = true;
    if (thread.joinable()) pthread_kill(thread.native_handle(), SIGURG);
}
// Shared arrays are known up to here, so that findings can name them.
std::uint32_t halo_shared_region(std::uint32_t i) { return i < worker.shared.size() ? worker.shared[i]->id : 0; }
void halo_finish() { unmap_shared(worker); }

int halo_aborted() { return worker.aborted; }
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

void halo_syncthreads(std::uint32_t line) {
    Worker& w = *current;
    w.running->place = here(w, CALLER, LOAD);
    w.running->place.line = line;
    w.running->state = AT_BARRIER;
    to_scheduler(w);
}

// ---- what the instrumentation calls ----

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#define ON_ACCESS(SIZE)                                                                                        \
    void __tsan_read##SIZE(void* p) { on_access(p, SIZE, LOAD, CALLER); }                                       \
    void __tsan_write##SIZE(void* p) { on_access(p, SIZE, STORE, CALLER); }                                     \
    void __tsan_volatile_read##SIZE(void* p) { on_access(p, SIZE, LOAD, CALLER); }                              \
    void __tsan_volatile_write##SIZE(void* p) { on_access(p, SIZE, STORE, CALLER); }                            \
    void __tsan_unaligned_read##SIZE(void* p) { on_access(p, SIZE, LOAD, CALLER, false); }                      \
    void __tsan_unaligned_write##SIZE(void* p) { on_access(p, SIZE, STORE, CALLER, false); }                    \
    void __tsan_read_write##SIZE(void* p) { on_access(p, SIZE, LOAD, CALLER), on_access(p, SIZE, STORE, CALLER); } \
    void __tsan_unaligned_volatile_read##SIZE(void* p) { on_access(p, SIZE, LOAD, CALLER, false); }             \
    void __tsan_unaligned_volatile_write##SIZE(void* p) { on_access(p, SIZE, STORE, CALLER, false); }
ON_ACCESS(1)
ON_ACCESS(2)
ON_ACCESS(4)
ON_ACCESS(8)
ON_ACCESS(16)
void __tsan_read_range(void* p, std::size_t n) { on_range(p, n, LOAD, CALLER); }
void __tsan_write_range(void* p, std::size_t n) { on_range(p, n, STORE, CALLER); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
    on_range(const_cast<void*>(from), n, LOAD, CALLER), on_range(to, n, STORE, CALLER);
    return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
    on_range(const_cast<void*>(from), n, LOAD, CALLER), on_range(to, n, STORE, CALLER);
    return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) { return on_range(to, n, STORE, CALLER), std::memset(to, value, n); }

void __sanitizer_cov_trace_pc() {
    Worker* w = current;
    if (UNLIKELY(w == nullptr)) return;
    if (UNLIKELY(stop_requested.load(std::memory_order_relaxed))) stop_here(*w, CALLER);
    if (!(w->launch.observe & TRAFFIC)) return;
    Traffic::Trace& trace = w->running->trace;
    trace.events.push_back({static_cast<std::uint32_t>(CALLER - w->launch.library_base), 0, LOAD, nullptr, 0});
    if (UNLIKELY(trace.full())) to_scheduler(*w);    // let the other lanes catch up
}

// An index past a declared extent, even where the array goes on (a row of a two-dimensional array).
struct TypeDescriptor { std::uint16_t kind, info; char name[1]; };
struct IndexOutOfBounds {
    struct { const char* file; std::uint32_t line, column; } where;
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
void __ubsan_handle_out_of_bounds_abort(IndexOutOfBounds* data, std::uintptr_t index) { __ubsan_handle_out_of_bounds(data, index); }
}
