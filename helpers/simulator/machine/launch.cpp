// launch.cpp -- one launch, on one worker or on several, and the interface that library.py calls
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "access.h"
#include "atomics.h"
#include "schedule.h"

Memory memory;
Heap heap;
std::atomic<bool> doubtful{false};
std::atomic<bool> stop_requested{false};

// How many blocks of the launch have ended, and when the last one did (or the launch began).
std::atomic<std::uint64_t> blocks_done{0};
std::atomic<std::chrono::steady_clock::time_point> last_end{};

Place Worker::place(const Warp& warp, int lane, std::int32_t pc, std::uint32_t access) const {
    Place place;
    place.pc = static_cast<std::uint64_t>(pc), place.thread = warp.thread(lane),
    place.access = access;
    place.block[0] = block_index.x, place.block[1] = block_index.y, place.block[2] = block_index.z;
    for (const Path& path : warp.paths)
        if ((path.lanes >> lane & 1) && path.frame != nullptr && path.frame->caller != nullptr)
            place.caller = static_cast<std::uint64_t>(path.frame->call) + 1;
    return place;
}
void Worker::end_launch(const Finding& finding) {
    findings.add(finding);
    fatal = finding;
    aborted = true;
}
void Worker::give_up() {
    doubtful = true;
    aborted = true;
}
void Worker::fault(Warp& warp, int lane, std::int32_t pc, Kind kind, const char* text,
                   std::int64_t offset, std::uint64_t size) {
    Finding finding;
    finding.kind = kind, finding.offset = offset, finding.size = size;
    finding.here = place(warp, lane, pc, LOAD);
    std::strncpy(finding.text, text, sizeof finding.text - 1);
    end_launch(finding);
}

Saved::Saved(Region& region)
    : region_(&region), dirty_(region.dirty), kept_(region.bytes() / page_bytes + 1) {}
void Saved::keep_page(std::uint64_t page) {
    kept_[page] = true;
    add(page * page_bytes,
        std::min<std::uint64_t>(page_bytes, region_->bytes() - page * page_bytes));
}
void Saved::add(std::uint64_t offset, std::uint64_t size) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(region_->start) + offset;
    const std::uint8_t* written = region_->initialised.cells + offset;
    parts_.push_back({offset, {bytes, bytes + size}, {}});
    if (!region_->complete) parts_.back().initialised.assign(written, written + size);
}
void Saved::keep(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size,
                 bool contiguous) {
    if (contiguous) return keep(addresses[0] - region_->start, std::uint64_t(size) * WARP_SIZE);
    for_lanes(lanes, [&](int lane) { keep(addresses[lane] - region_->start, size); });
}
void Saved::exchange() {
    for (Part& part : parts_) {
        std::swap_ranges(part.bytes.begin(), part.bytes.end(),
                         reinterpret_cast<unsigned char*>(region_->start + part.offset));
        std::swap_ranges(part.initialised.begin(), part.initialised.end(),
                         region_->initialised.cells + part.offset);
    }
    std::swap(region_->dirty, dirty_);
    region_->saved = nullptr;
}
void Saved::restore() const {
    for (const Part& part : parts_) {
        std::memcpy(reinterpret_cast<void*>(region_->start + part.offset), part.bytes.data(),
                    part.bytes.size());
        if (!part.initialised.empty())
            std::memcpy(region_->initialised.cells + part.offset, part.initialised.data(),
                        part.initialised.size());
    }
    region_->dirty = dirty_, region_->saved = nullptr;
}

namespace {

Worker worker;    // the first, and the only one of most launches
std::deque<Worker> helpers;
std::deque<Saved> before;    // the arrays before the last launch that may be undone on request
std::uint32_t next_block_number = 1;
std::uint32_t workers_used = 1;    // by the last launch

// The table of operations, sorted by name. So the numbers of the operations do not depend on the
// order in which the linker takes the files.
const std::vector<NamedOperation>& table() {
    static const std::vector<NamedOperation> sorted = [] {
        std::vector<NamedOperation> all = operations();
        std::sort(all.begin(), all.end(),
                  [](const auto& a, const auto& b) { return a.name < b.name; });
        return all;
    }();
    return sorted;
}

constexpr std::uint64_t most_batches = 1 << 16;    // different values of a Touched::Batch
constexpr std::uint32_t longest_poll = 48;    // instructions; a longer loop does more than wait

// Whether a loop, the instructions from `first` to `last`, compares what a load in it has read. A
// loop that only adds up what it reads does not wait for it.
bool is_compared(const Worker& w, std::uint32_t load, std::uint32_t first, std::uint32_t last) {
    const Program& program = w.launch.program;
    const Lanes slots{{nullptr, nullptr}, program.operands};
    std::vector<std::int32_t> values;    // slots, which serve several registers one after another
    const auto find = [&](std::int32_t slot) {
        return std::find(values.begin(), values.end(), slot);
    };
    const auto holds = [&](std::int32_t slot) { return slot >= 0 && find(slot) != values.end(); };
    const auto set = [&](std::int32_t slot, bool has_value) {
        if (slot < 0 || holds(slot) == has_value) return;
        if (has_value) values.push_back(slot);
        else values.erase(find(slot));
    };
    for (int k = 0; k < program.instructions[load].elements; ++k)
        set(slots.operand(program.instructions[load], 1 + k), true);
    // From the load to the loop's end, and on from its beginning.
    const std::uint32_t length = last - first;
    for (std::uint32_t n = 1; n < length; ++n) {
        const std::uint32_t j = first + (load - first + n) % length;
        const Instruction& i = program.instructions[j];
        const Control control = w.decoded[j].control;
        if (control == MACHINE || control == ATOMIC_UPDATE) {
            const int results = w.decoded[j].machine == run_store ? 0 : i.elements;
            for (int k = 0; k < results && 1 + k < i.count; ++k)
                if (i.guard == 0) set(slots.operand(i, 1 + k), false);
        }
        if (w.decoded[j].run == nullptr || i.count == 0) continue;
        bool uses = false;
        for (int k = 1; k < i.count; ++k) uses |= holds(slots.operand(i, k));
        if (uses && table()[i.operation].operands[0] == 'p') return true;    // a comparison
        if (uses || i.guard == 0) set(i.operand[0], uses);
    }
    return false;
}

void decode_all(Worker& w) {
    const Program& program = w.launch.program;
    w.decoded.resize(program.instruction_count);
    w.has_fences = w.has_polls = w.has_swaps = w.has_locks = false;
    w.polled.clear();
    for (std::uint32_t k = 0; k < program.instruction_count; ++k) {
        const Decoded& decoded = w.decoded[k] = table()[program.instructions[k].operation].decoded;
        w.has_fences |= decoded.control == FENCE;
        if (decoded.control != ATOMIC_UPDATE) continue;
        w.has_swaps |= decoded.detail == ATOMIC_CAS;
        w.has_locks |= decoded.detail == ATOMIC_CAS || decoded.detail == ATOMIC_EXCH;
    }
    for (std::uint32_t k = 0; k < program.instruction_count; ++k) {
        const std::int32_t target = program.instructions[k].target;
        if (w.decoded[k].control != BRANCH_TO || target > static_cast<std::int32_t>(k)) continue;
        if (k - static_cast<std::uint32_t>(target) > longest_poll) continue;
        for (auto j = static_cast<std::uint32_t>(target); j < k; ++j)
            if (w.decoded[j].machine == run_load && (program.instructions[j].flags & VOLATILE) &&
                is_compared(w, j, static_cast<std::uint32_t>(target), k))
                w.decoded[j].detail = 1, w.has_polls = true,
                w.polled.push_back(program.origins[j]);
    }
    link_alike_loads(w);
}

// Finds the arrays that no instruction of the launch can write to. An instruction with an origin
// writes to the array of that origin or ends the launch; any other one may write to every array.
void find_inputs(const Worker& w) {
    const Program& program = w.launch.program;
    std::vector<const Region*> outputs;
    bool all = false;
    for (std::uint32_t k = 0; k < program.instruction_count && !all; ++k) {
        const Instruction& i = program.instructions[k];
        const Decoded& decoded = w.decoded[k];
        if (!decoded.writes) continue;
        if ((i.space == SHARED_SPACE || i.space == LOCAL_SPACE) &&
            (decoded.control == ATOMIC_UPDATE || decoded.machine == run_store))
            continue;
        outputs.push_back(origin_of(w, static_cast<std::int32_t>(k)));
        all = outputs.back() == nullptr;
    }
    for (const auto& region : memory.regions())
        region->is_input = !all && !region->is_shared() &&
                           std::find(outputs.begin(), outputs.end(), region.get()) == outputs.end();
}

void map_shared(Worker& w) {
    const LaunchRequest& launch = w.launch;
    const std::size_t bytes = (std::size_t(launch.shared_bytes) + 4096 + 1023) / 1024 * 1024;
    w.shared_memory.reset(static_cast<char*>(std::aligned_alloc(1024, bytes)));
    w.shared_window = w.shared_memory.get();
    const auto start = reinterpret_cast<std::uintptr_t>(w.shared_window);
    for (std::uint32_t k = 0; k < launch.shared_count; ++k)
        w.shared.push_back(memory.add(start + launch.shared_arrays[k].offset,
                                      launch.shared_arrays[k].bytes, SHARED));
    if (launch.dynamic_shared > 0)
        w.shared.push_back(
            memory.add(start + launch.dynamic_offset, launch.dynamic_shared, DYNAMIC_SHARED));
}
void unmap_shared(Worker& w) {
    for (Region* region : w.shared) memory.remove(region);
    w.shared.clear();
    if (w.local_region != nullptr) memory.remove(w.local_region), w.local_region = nullptr;
}

// Gives each block of each launch a number of its own. So the content of race cells from earlier
// launches is recognisably old.
std::uint32_t take_block_numbers(std::uint64_t blocks) {
    if (blocks > UINT32_MAX - next_block_number) {
        memory.forget_races();
        next_block_number = 1;
    }
    std::uint32_t first = next_block_number;
    next_block_number += static_cast<std::uint32_t>(blocks);
    return first;
}

void begin_worker(Worker& w, const LaunchRequest& launch, std::uint32_t first_block) {
    w.launch = launch;
    w.observe = launch.observe;
    w.first_block = first_block;
    w.aborted = false;
    w.now = w.turn = 0, w.ticks = 0, w.steps = 0, w.fuel = fuel_of_a_turn;
    w.printed.clear(), w.findings.clear(), w.plain_before.clear(), w.equal_before.clear();
    w.origins.clear(), w.marking = false, w.int_sums.clear();
    w.overlaps.begin_launch(w);
    w.deepest = Finding();
    w.recent.assign(launch.program.instruction_count, Recent());
    w.executed.assign(launch.observe & INSTRUCTIONS ? launch.program.instruction_count : 0, 0);
    w.traffic.begin_launch(launch.watched_block, launch.watched_warp);
    w.recorder.reset(launch.recording != nullptr ? new Recorder : nullptr);
    if (w.recorder != nullptr)
        w.recorder->begin_launch(*launch.recording, launch.program.instruction_count);
    decode_all(w);
    w.order.begin_launch(w.has_fences && w.has_locks);
    prepare_warps(w);
}

// Marks the blocks of the device's heap to whose bytes a word of an array points.
void mark_reached(const Region& array, std::vector<bool>& reached) {
    const std::uint64_t words = array.bytes() / sizeof(std::uint64_t);
    const auto* word = reinterpret_cast<const std::uint64_t*>(array.start);
    for (std::uint64_t n = 0; n < words; ++n)
        for (std::size_t k = 0; k < heap.blocks().size(); ++k) {
            const Region& block = *heap.blocks()[k].region;
            if (word[n] - block.start < block.bytes()) reached[k] = true;
        }
}

// Reports what this launch has allocated, not freed, and left without a pointer to it in any array.
// Only a later launch can free what an array points to.
void report_leaks(Worker& w) {
    const std::vector<Heap::Block>& blocks = heap.blocks();
    if (w.aborted || blocks.empty() || !(w.observe & INITIALISATION)) return;
    const auto is_new = [&](const Region* region) {
        return std::any_of(blocks.begin(), blocks.end(), [=](const Heap::Block& block) {
            return block.region == region && block.is_of_launch;
        });
    };
    std::vector<bool> reached(blocks.size()), followed(blocks.size());
    for (const auto& region : memory.regions())
        if ((region->space == GLOBAL || region->space == DEVICE_GLOBAL) &&
            !is_new(region.get()))
            mark_reached(*region, reached);
    for (std::size_t k = 0; k < reached.size();) {
        const bool is_next = reached[k] && !followed[k];
        if (is_next) followed[k] = true, mark_reached(*blocks[k].region, reached);
        k = is_next ? 0 : k + 1;
    }
    for (std::size_t k = 0; k < reached.size(); ++k) {
        if (reached[k] || !blocks[k].is_of_launch) continue;
        Finding finding;
        finding.kind = HEAP_LEAK, finding.size = blocks[k].region->bytes();
        finding.here = blocks[k].place;
        w.findings.add(finding);
    }
}

void end_worker(Worker& w) {
    report_leaks(w);
    settle_marks(w);
    if (!w.aborted) w.int_sums.report_all(w.findings);
    if (!w.aborted && w.deepest.size > w.launch.stack_limit) w.findings.add(w.deepest);
    if (w.launch.undo == AT_END) heap.undo_launch();
    else if (!w.launch.keeps_heap) heap.end_own();
}

// How many blocks a launch runs: all, or every n-th one.
std::uint64_t sampled_blocks(const LaunchRequest& launch) {
    const std::uint64_t blocks = std::uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    return (blocks + launch.sample_every - 1) / launch.sample_every;
}

void begin_blocks() {
    blocks_done = 0;
    last_end = std::chrono::steady_clock::now();
}
void end_block() {
    last_end.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
    blocks_done.fetch_add(1, std::memory_order_relaxed);
}

void run_alone(Worker& w, const LaunchRequest& launch) {
    const std::uint64_t blocks = std::uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    begin_worker(w, launch, take_block_numbers(blocks));
    memory.begin_launch(w.first_block);
    heap.begin_launch();
    w.one_of_many = false;
    const std::uint64_t count =
        launch.block_count != 0 ? launch.block_count : sampled_blocks(launch);
    for (std::uint64_t k = 0; k < count && !w.aborted; ++k) {
        const std::uint64_t b =
            launch.block_count != 0 ? launch.blocks[k] : k * launch.sample_every;
        if (stop_requested.load(std::memory_order_relaxed)) {
            w.fault(w.warps.front(), 0, 0, RUNAWAY);
            break;
        }
        run_block(w, b);
        if (!w.aborted) end_block();
    }
    end_worker(w);
    if (launch.undo == ON_REQUEST) {
        before.swap(w.saved);
        for (const auto& region : memory.regions()) region->saved = nullptr;
        return;
    }
    for (const Saved& one : w.saved) one.restore();
    w.saved.clear();
}

// Adds the counters of another worker. Those of the observers of traffic and of instructions are
// sums over the blocks, so that it does not matter which worker ran a block. Where the order of the
// blocks matters (Touched), the workers note it.
void add_counters(const Worker& from) {
    auto own_number = [&](std::uint32_t region) {
        for (std::size_t k = 0; k < from.shared.size(); ++k)
            if (from.shared[k]->id == region) return worker.shared[k]->id;
        return region;
    };
    worker.traffic.add(from.traffic, own_number);
    for (std::size_t pc = 0; pc < worker.executed.size(); ++pc)
        worker.executed[pc] += from.executed[pc];
}

// Runs blocks on several workers. Returns true if they found nothing; else it has restored the
// arrays.
bool run_together(const LaunchRequest& launch) {
    const std::uint64_t blocks = std::uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    const std::uint64_t count = sampled_blocks(launch);
    std::uint32_t first_block = take_block_numbers(2 * blocks + 2);
    first_block += first_block & 1;
    const std::uint32_t updates_number = first_block + 2 * static_cast<std::uint32_t>(blocks);
    while (helpers.size() + 1 < launch.workers) helpers.emplace_back();
    std::vector<Worker*> team{&worker};
    for (std::uint32_t k = 0; k + 1 < launch.workers; ++k) team.push_back(&helpers[k]);
    std::deque<Saved> saved;
    for (const auto& region : memory.regions()) {
        if (region->shadowed && !region->is_input && region->races.cells == nullptr)
            region->refine(region->grain);
        if (region->shadowed && region->writable) saved.emplace_back(*region).keep_all();
    }
    memory.begin_launch(first_block);
    doubtful = false;
    for (Worker* w : team) {
        begin_worker(*w, launch, first_block);
        if (w != &worker) map_shared(*w), w->local_region = worker.local_region;
        w->one_of_many = true, w->updates_number = updates_number;
    }
    std::atomic<std::uint64_t> next{0};
    const std::uint64_t batches = std::min<std::uint64_t>(team.size() * 64, most_batches / 2);
    const std::uint64_t batch = std::max<std::uint64_t>(1, count / batches);
    auto work = [&](Worker& w) {
        for (Region* region : w.shared) region->dirty = true;    // earlier launches left bytes
        for (std::uint64_t from; !doubtful && (from = next.fetch_add(batch)) < count;) {
            w.traffic.touched.begin_batch(static_cast<Touched::Batch>(from / batch));
            for (std::uint64_t k = from; k < std::min(from + batch, count) && !doubtful; ++k) {
                run_block(w, k * launch.sample_every);
                if (!w.aborted) end_block();
                if (w.aborted || !w.findings.list().empty() || stop_requested) doubtful = true;
            }
        }
        w.one_of_many = false;
    };
    std::vector<std::thread> threads;
    for (std::size_t k = 1; k < team.size(); ++k) threads.emplace_back(work, std::ref(*team[k]));
    work(worker);
    for (std::thread& one : threads) one.join();
    for (std::size_t k = 1; k < team.size(); ++k) {
        if (!doubtful) add_counters(*team[k]);
        team[k]->local_region = nullptr;    // the first worker's, which removes it
        unmap_shared(*team[k]);
    }
    if (!doubtful) return true;
    for (Worker* w : team)
        if (stop_requested && w->aborted &&
            !w->findings.list().empty()) {    // one worker would not come to the end either
            if (w != &worker) worker.findings = w->findings, worker.fatal = w->fatal;
            worker.aborted = true;
            return true;
        }
    for (const Saved& one : saved) one.restore();
    return false;
}

void run_launch() {
    const LaunchRequest launch = worker.launch;
    decode_all(worker);
    find_inputs(worker);
    map_shared(worker);
    if (launch.local_bytes > 0) {    // only a name for findings; each worker has the memory itself
        static char nowhere[16];
        worker.local_region = memory.add(reinterpret_cast<std::uintptr_t>(nowhere), 1, LOCAL);
    }
    workers_used = launch.workers;
    if (launch.workers < 2 || !run_together(launch)) {
        workers_used = 1;
        if (!stop_requested) begin_blocks();
        run_alone(worker, launch);
    }
    for (const auto& region : memory.regions()) {
        region->close_gaps(), region->layout.clear();
        region->shadowed = region->writable = false;
    }
}

std::mutex mutex;
std::condition_variable finished;
bool done = true;
std::thread thread;

}    // namespace

extern "C" {

void halo_sizes(std::uint32_t* sizes) {
    const std::size_t all[] = {sizeof(Instruction),   sizeof(Function), sizeof(Static),
                               sizeof(Program),       sizeof(LaunchRequest), sizeof(Finding),
                               sizeof(Site),          sizeof(WatchedLane), sizeof(Busiest),
                               sizeof(StoreShare),    sizeof(Recording)};
    for (std::size_t k = 0; k < std::size(all); ++k) sizes[k] = static_cast<std::uint32_t>(all[k]);
}
std::uint32_t halo_operation_count() { return static_cast<std::uint32_t>(table().size()); }
const char* halo_operation_name(std::uint32_t k) {
    return k < table().size() ? table()[k].name.c_str() : nullptr;
}
const char* halo_operation_operands(std::uint32_t k) { return table().at(k).operands; }

// ---- memory ----

std::uintptr_t halo_allocate(std::size_t bytes) { return memory.allocate(bytes); }
int halo_free(std::uintptr_t start) { return memory.release(start); }
int halo_is_freed(std::uintptr_t address) { return memory.is_freed(address); }
std::size_t halo_used() { return memory.used(); }

// Finds the array that holds an address: its start, size and number. Returns 0 if there is none.
int halo_region(std::uintptr_t address, std::uintptr_t* start, std::uint64_t* bytes,
                std::uint32_t* id) {
    const Region* region = memory.find(address);
    if (region == nullptr) return 0;
    *start = region->start, *bytes = region->bytes(), *id = region->id;
    return 1;
}
// Returns the start of the array with this number, 0 if there is none.
std::uintptr_t halo_region_start(std::uint32_t id) {
    for (const auto& region : memory.regions())
        if (region->id == id) return region->start;
    return 0;
}
// Allocates zeroed memory for a variable of a module. constant: only the host may write to it.
// Returns 0 if there is not enough memory.
std::uintptr_t halo_add_variable(std::size_t bytes, std::uint64_t align, int constant) {
    const std::size_t alignment = std::max<std::size_t>(align, 256),
                      rounded = (bytes + alignment - 1) / alignment * alignment + 256;
    void* place = std::aligned_alloc(alignment, (rounded + alignment - 1) / alignment * alignment);
    if (place == nullptr) return 0;
    std::memset(place, 0, rounded);
    Region* region =
        memory.add(reinterpret_cast<std::uintptr_t>(place), std::max<std::size_t>(bytes, 1),
                   constant ? CONSTANT : DEVICE_GLOBAL);
    region->owned = true;
    return region->start;
}
// Makes host memory an array of the device, until halo_remove_global; all of it counts as written.
// Returns 0 if an array of the device lies there already.
int halo_adopt(std::uintptr_t start, std::size_t bytes) {
    if (memory.find(start) != nullptr || memory.find(start + bytes - 1) != nullptr) return 0;
    memory.add(start, bytes, GLOBAL)->mark_initialised(start, bytes);
    return 1;
}
void halo_remove_global(std::uintptr_t start) {
    if (const Region* region = memory.find(start)) memory.remove(region);
}
std::uint32_t halo_region_id(std::uintptr_t address) {
    const Region* region = memory.find(address);
    return region == nullptr ? 0 : region->id;
}
void halo_mark_initialised(std::uintptr_t address, std::size_t bytes) {
    if (Region* region = memory.find(address)) region->mark_initialised(address, bytes);
}
// Returns how many of the bytes from `address` on hold a value.
std::size_t halo_count_initialised(std::uintptr_t address, std::size_t bytes) {
    const Region* region = memory.find(address);
    std::size_t written = 0;
    if (region != nullptr && region->complete) return bytes;
    if (region != nullptr)
        for (std::size_t i = 0; i < bytes; ++i)
            written += region->initialised.cells[address - region->start + i] != 0;
    return written;
}
// Returns the offset from `address` of the first byte without a value, `bytes` if all have one.
std::size_t halo_first_unwritten(std::uintptr_t address, std::size_t bytes) {
    const Region* region = memory.find(address);
    if (region == nullptr || region->complete) return bytes;
    const std::uint8_t* shadow = region->initialised.cells + (address - region->start);
    const void* first = std::memchr(shadow, 0, bytes);
    return first == nullptr
               ? bytes
               : static_cast<std::size_t>(static_cast<const std::uint8_t*>(first) - shadow);
}
// Returns 1 + the first instruction of the last launch that stores to the array at `address`; 0 if
// the launch did not store to it.
std::uint32_t halo_store_pc(std::uintptr_t address) {
    const Region* region = memory.find(address);
    return region != nullptr && region->stored_to ? region->store_pc : 0;
}
// Announces an argument or a variable of the next launch. element: bytes of an element, 0 if
// unknown; writable: the kernel may write through this pointer.
void halo_shadow(std::uintptr_t address, std::size_t element, int writable) {
    Region* region = memory.find(address);
    if (region == nullptr || region->space == CONSTANT) return;
    region->shadowed = true;
    region->writable |= writable != 0;
    if (region->races.cells == nullptr && element != 0)
        region->grain = static_cast<std::uint8_t>(std::min(2, __builtin_ctzll(element)));
}
// Tells which bits of the elements from `address` on belong to members of their structure.
void halo_layout(std::uintptr_t address, const std::uint8_t* bits, std::size_t bytes) {
    Region* region = memory.find(address);
    if (region == nullptr) return;
    region->layout.assign(bits, bits + bytes), region->layout_start = address;
}
// From now on, launches note which cells of 1 << grain bytes of an array they read and write.
void halo_cover(std::uintptr_t address, int grain) {
    if (Region* region = memory.find(address))
        region->coverage =
            std::make_unique<Coverage>(region->bytes(), static_cast<std::uint8_t>(grain));
}
void halo_uncover(std::uintptr_t address) {
    if (Region* region = memory.find(address)) region->coverage.reset();
}
// Returns how many cells have been read, or written, since then; -1 if that is not known.
std::int64_t halo_count_covered(std::uintptr_t address, int of_writes) {
    const Region* region = memory.find(address);
    if (region == nullptr || region->coverage == nullptr || region->coverage->has_ended())
        return -1;
    std::int64_t count = 0;
    for (const std::uint64_t word : region->coverage->bits(of_writes != 0))
        count += __builtin_popcountll(word);
    return count;
}
// Gives the bits of these cells, in words of 64.
void halo_covered(std::uintptr_t address, int of_writes, std::uint64_t* bits, std::size_t words) {
    const Region* region = memory.find(address);
    if (region == nullptr || region->coverage == nullptr) return;
    std::copy_n(region->coverage->bits(of_writes != 0).begin(), words, bits);
}
// Makes the array as after its allocation: no byte has a value.
void halo_forget(std::uintptr_t address) {
    if (Region* region = memory.find(address)) {
        region->complete = false;
        Initialisation::forget(*region, true);
    }
}

// ---- launches ----

int halo_start(const LaunchRequest* launch) {
    worker.launch = *launch;
    worker.findings.clear();
    stop_requested = false;
    begin_blocks();
    done = false;
    thread = std::thread([] {
        run_launch();
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
        finished.notify_all();
    });
    return 0;
}
// Waits for at most `milliseconds`. Returns 1 if the launch is over. Python sees Ctrl-C between
// short waits.
int halo_wait(int milliseconds) {
    std::unique_lock<std::mutex> lock(mutex);
    if (!finished.wait_for(lock, std::chrono::milliseconds(milliseconds), [] { return done; }))
        return 0;
    lock.unlock();
    if (thread.joinable()) thread.join();
    return 1;
}
void halo_stop() { stop_requested = true; }
// How many blocks have run to their end so far.
std::uint64_t halo_blocks_done() { return blocks_done; }
// Returns the seconds since a block ended, or since the launch began.
double halo_idle() {
    const auto since = std::chrono::steady_clock::now() - last_end.load();
    return std::chrono::duration<double>(since).count();
}
// Exchanges what the last launch with Undo::ON_REQUEST has written with what was there before.
void halo_exchange() {
    for (Saved& one : before) one.exchange();
    heap.exchange();
}
void halo_forget_before() { before.clear(), heap.forget_before(); }
void halo_end_heap() { heap.end(); }
// Until here the shared arrays keep their numbers, so that findings can name them.
std::uint32_t halo_shared_region(std::uint32_t i) {
    return i < worker.shared.size() ? worker.shared[i]->id : 0;
}
std::uint32_t halo_local_region() {
    return worker.local_region != nullptr ? worker.local_region->id : 0;
}
void halo_finish() { unmap_shared(worker); }

std::uint32_t halo_workers_used() { return workers_used; }
int halo_aborted() { return worker.aborted; }
const Finding* halo_fatal() { return &worker.fatal; }
// Returns the text that the kernel printed.
const char* halo_printed(std::size_t* bytes) {
    return *bytes = worker.printed.size(), worker.printed.data();
}
const Finding* halo_findings(std::size_t* count) {
    return *count = worker.findings.list().size(), worker.findings.list().data();
}
std::size_t halo_site_count() { return worker.traffic.sites().size(); }
void halo_site(std::size_t i, Site* site) { *site = worker.traffic.sites()[i]; }
// Return how many different sectors of global memory the launch read and wrote.
std::uint64_t halo_sectors_read() { return worker.traffic.touched.read(); }
std::uint64_t halo_sectors_written() { return worker.traffic.touched.written(); }
const std::uint64_t* halo_executed(std::size_t* count) {
    return *count = worker.executed.size(), worker.executed.data();
}
const Busiest* halo_busiest() { return &worker.traffic.shares.busiest(); }
const StoreShare* halo_store_shares(std::size_t* count) {
    const std::vector<StoreShare>& all = worker.traffic.shares.stores();
    return *count = all.size(), all.data();
}
// Returns the record of the launch (recorder.h). cut: whether its first words are missing; shared,
// local: where the shared memory and the first thread's local memory of a block are.
const std::uint64_t* halo_recorded(std::size_t* count, int* cut, std::uint64_t* shared,
                                   std::uint64_t* local) {
    *count = 0, *cut = 0, *shared = window_of(worker);
    *local = reinterpret_cast<std::uint64_t>(worker.local.data());
    if (worker.recorder == nullptr) return nullptr;
    const std::vector<std::uint64_t>& words = worker.recorder->words();
    *count = words.size(), *cut = worker.recorder->cut();
    return words.data();
}
const WatchedLane* halo_watched(std::size_t* count) {
    return *count = worker.traffic.watched().size(), worker.traffic.watched().data();
}
}
