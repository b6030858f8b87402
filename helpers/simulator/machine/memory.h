// memory.h -- the arrays that a kernel may access, and the observers' shadow beside each array
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "coverage.h"
#include "pending_reads.h"

enum Space : std::uint32_t {
    GLOBAL = 0,
    SHARED = 1,
    DYNAMIC_SHARED = 2,
    CONSTANT = 3,
    DEVICE_GLOBAL = 4,
    LOCAL = 5
};

// The last accesses of a cell. `block` numbers are unique over all launches, so that a new launch
// resets nothing; `when` is the thread's clock (Worker::now); `who` is the instruction and the
// thread.
struct RaceCell {
    std::uint32_t write_block, read_block;
    std::uint32_t write_when, read_when;
    std::uint32_t write_who, read_who,
        first_reader;    // first and last of several readers: one of them is another thread
    std::uint8_t write_flags, read_flags;
};
static_assert(sizeof(RaceCell) == 32, "two cells fill a cache line");

// The state of 16 neighbouring cells after accesses of whole half-warps. Neighbouring lanes access
// neighbouring places, so one cell and a rule for the threads represent all 16.
struct Stretch {
    static constexpr int log_cells = 4, cells = 1 << log_cells;
    RaceCell all;    // of cell k: the threads are k >> shift further than those named here
    std::uint32_t apart;    // Region::oldest when the cells got states of their own; 0: never
    std::uint8_t shift;    // each lane accesses 1 << shift cells
    std::uint8_t locked;    // one of several workers holds it

    void lock() {
        while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE) != 0) {}
    }
    void unlock() { __atomic_store_n(&locked, 0, __ATOMIC_RELEASE); }
};

// The system maps a page at its first access, which is slow. So shadows of race cells are used
// again, each for cells of its own kind. The block numbers show that their old content is history.
template <class T> class Spare {
public:
    static constexpr std::size_t limit = std::size_t(512) << 20;
    static void* take(std::size_t bytes) {
        std::lock_guard<std::mutex> lock(door_);
        for (auto it = kept_.begin(); it != kept_.end(); ++it)
            if (it->second == bytes) {
                void* memory = it->first;
                kept_.erase(it);
                total_ -= bytes;
                return memory;
            }
        return nullptr;
    }
    static void give(void* memory, std::size_t bytes) {
        std::lock_guard<std::mutex> lock(door_);
        if (total_ + bytes > limit) {
            munmap(memory, bytes);
            return;
        }
        kept_.emplace_back(memory, bytes);
        total_ += bytes;
    }
    static void drop() {
        std::lock_guard<std::mutex> lock(door_);
        for (auto [memory, bytes] : kept_) munmap(memory, bytes);
        kept_.clear(), total_ = 0;
    }

private:
    static inline std::vector<std::pair<void*, std::size_t>> kept_;
    static inline std::size_t total_ = 0;
    static inline std::mutex door_;
};

// Zero pages on demand: an array that no thread accesses costs no memory. `recycled`: the first
// content of the cells does not matter.
template <class T, bool recycled = false> struct Shadow {
    T* cells = nullptr;
    std::size_t bytes = 0;
    void open(std::size_t count) {
        close();
        bytes = std::max<std::size_t>(count * sizeof(T), 1);
        if (recycled) {
            for (std::size_t size = 4096;; size *= 2)
                if (size >= bytes) {
                    bytes = size;
                    break;
                }
            if ((cells = static_cast<T*>(Spare<T>::take(bytes))) != nullptr) return;
        }
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        cells = memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
#ifdef MADV_HUGEPAGE
        if (cells != nullptr && bytes >= huge_page)
            madvise(memory, bytes, MADV_HUGEPAGE);    // a page fault for each 4 KB would dominate
#endif
    }
    void close() {
        if (cells != nullptr)
            recycled ? Spare<T>::give(cells, bytes) : static_cast<void>(munmap(cells, bytes));
        cells = nullptr;
    }
    void wipe() {
        if (cells != nullptr) std::memset(static_cast<void*>(cells), 0, bytes);
    }
    void swap(Shadow& other) { std::swap(cells, other.cells), std::swap(bytes, other.bytes); }
    Shadow() = default;
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;
    ~Shadow() { close(); }

private:
    static constexpr std::size_t huge_page = std::size_t(2) << 20;
};

struct Saved;

struct Region {
    std::uintptr_t start = 0, end = 0;
    Space space = GLOBAL;
    std::uint32_t id = 0;
    bool owned = false;    // the machine allocates and frees it
    bool complete = false;    // every byte is written, so there is nothing left to watch for
    bool dirty = false;    // a thread has written to it since the observers last forgot it
    bool stored_to = false;    // this launch has stored to it
    bool fleeting = false;    // this launch has allocated it, so that nothing of it is saved
    bool shadowed = false;    // an argument or a global of this launch: several workers may access
                              // it at a time
    bool opened = false;    // it was complete before this launch marked a byte (poison.h)
    std::vector<std::uint8_t> layout;    // of an element with gaps: the bits of its members
    std::uintptr_t layout_start = 0;
    bool is_input = false;    // no instruction of this launch can write to it: nothing races
    bool writable = false;    // shadowed, and saved before the workers start
    Saved* saved = nullptr;    // the pages that a launch has saved, to be undone
    std::unique_ptr<Coverage> coverage;    // since somebody has asked for it
    std::uint32_t updated_by = 0;    // several workers update it by atomics of this kind alone; 0:
                                     // by none yet
    std::uint8_t grain = 2;    // a race cell stands for 1 << grain bytes
    std::uint32_t oldest = 1;    // race cells with a lower block number are history
    std::uint32_t store_pc =
        0;    // an instruction of this launch that stored here before the array was complete
    Shadow<RaceCell, true> races;    // opened at the first access
    Shadow<Stretch, true> stretches;    // of 16 race cells each
    PendingReads pending;    // of shared memory
    Shadow<std::uint8_t> initialised;    // for each byte, whether it is written

    Region(std::uintptr_t first, std::size_t bytes, Space where, std::uint32_t number)
        : start(first), end(first + bytes), space(where), id(number) {
        initialised.open(bytes);
    }
    Region(const Region&) = delete;
    ~Region() {
        if (owned) std::free(reinterpret_cast<void*>(start));
    }
    void* give_up() {
        owned = false;
        return reinterpret_cast<void*>(start);
    }
    std::size_t bytes() const { return end - start; }
    bool holds(std::uintptr_t address, std::size_t size) const {
        return address >= start && address < end && size <= end - address;
    }
    bool is_shared() const { return space == SHARED || space == DYNAMIC_SHARED; }
    // Returns the bits of a byte that belong to a member of the array's structure.
    std::uint8_t bits_of_member(std::uintptr_t address) const {
        return layout.empty() || address < layout_start
                   ? 0xFF
                   : layout[(address - layout_start) % layout.size()];
    }
    // Treats the gaps of the array's structures as written: no thread can write to them.
    void close_gaps() {
        if (complete || layout.empty()) return;
        for (std::uintptr_t address = layout_start; address < end; ++address)
            if (std::uint8_t& cell = initialised.cells[address - start];
                cell == 0 && bits_of_member(address) == 0)
                cell = 1;
    }
    void mark_initialised(std::uintptr_t address, std::size_t size) {
        if (size == bytes()) complete = true;
        if (!complete) std::memset(initialised.cells + (address - start), 1, size);
    }
    // Returns the race cells of `size` bytes from `offset` on, 16 cells at most. If a stretch
    // represents them, it passes its state on to them.
    RaceCell* cells_at(std::uint64_t offset, std::uint32_t size) {
        const std::uint64_t first = offset >> grain, last = (offset + size - 1) >> grain;
        if (stretches.cells[first >> Stretch::log_cells].apart != oldest) spread(first);
        if (stretches.cells[last >> Stretch::log_cells].apart != oldest) spread(last);
        return races.cells + first;
    }
    // Gives the cells around this one states of their own.
    __attribute__((noinline)) void spread(std::uint64_t cell) {
        Stretch& stretch = stretches.cells[cell >> Stretch::log_cells];
        if (stretch.apart == oldest) return;
        const RaceCell all = stretch.all;
        RaceCell* to = races.cells + (cell >> Stretch::log_cells << Stretch::log_cells);
        const bool is_history = all.write_block < oldest && all.read_block < oldest;
        for (std::uint32_t k = 0; k < Stretch::cells && !is_history; ++k) {
            const std::uint32_t lane = k >> stretch.shift;
            to[k] = all;
            to[k].write_who += lane, to[k].read_who += lane, to[k].first_reader += lane;
        }
        __atomic_store_n(&stretch.apart, oldest, __ATOMIC_RELEASE);
    }
    // The same, if other workers may access the cells at the same time.
    void spread_together(std::uint64_t cell) {
        Stretch& stretch = stretches.cells[cell >> Stretch::log_cells];
        if (__atomic_load_n(&stretch.apart, __ATOMIC_ACQUIRE) == oldest) return;
        stretch.lock();
        spread(cell);
        stretch.unlock();
    }
    // Changes to cells of 1 << `finer` bytes, which take over the state of the coarser ones.
    void refine(std::uint8_t finer) {
        const std::size_t count = bytes() >> finer;
        Shadow<RaceCell, true> cells;
        cells.open(count + 2 + Stretch::cells);
        if (races.cells != nullptr && cells.cells != nullptr) {
            const std::size_t before = bytes() >> grain;
            for (std::size_t i = 0; i <= before; i += Stretch::cells) spread(i);
            for (std::size_t i = 0; i <= count; ++i)
                cells.cells[i] = races.cells[i >> (grain - finer)];
        }
        const bool live = races.cells != nullptr;
        forget_races();    // another array may get these cells, with the state of this launch
        races.swap(cells);
        stretches.open((count >> Stretch::log_cells) + 2);
        grain = finer;
        if (!live) return;
        stretches.wipe();
        for (std::size_t i = 0; i <= count; i += Stretch::cells)
            stretches.cells[i >> Stretch::log_cells].apart = oldest;
    }
    void forget_races() { races.wipe(), stretches.wipe(); }
};

// Freed arrays. For a while their addresses go neither to another array nor to the host, so that
// the machine recognises a pointer to a freed array. Their pages go back to the system at once, and
// their addresses when later arrays need the room.
class Quarantine {
public:
    static constexpr std::size_t limit = std::size_t(256) << 20, entries = 1000;
    void take(void* place, std::size_t bytes) {
        if (bytes > limit) return std::free(place);
        return_pages(place, bytes);
        kept_.push_back({place, bytes});
        for (total_ += bytes; total_ > limit || kept_.size() > entries; kept_.pop_front()) {
            total_ -= kept_.front().bytes;
            std::free(kept_.front().place);
        }
    }
    bool holds(std::uintptr_t address) const {
        return std::any_of(kept_.begin(), kept_.end(), [=](const Freed& freed) {
            return address - reinterpret_cast<std::uintptr_t>(freed.place) < freed.bytes;
        });
    }

private:
    struct Freed {
        void* place;
        std::size_t bytes;
    };
    std::deque<Freed> kept_;
    std::size_t total_ = 0;
    static void return_pages(void* place, std::size_t bytes) {
        constexpr std::uintptr_t page = 4096;
        std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(place) + page - 1) / page * page;
        std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(place) + bytes) / page * page;
        if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
    }
};

class Memory {
public:
    static constexpr unsigned char poison =
        0xFF;    // NaN in every floating-point format, -1 in every integer
    static constexpr std::size_t alignment = 256;    // what the CUDA driver promises
    static constexpr std::size_t red_zone = 256;    // keeps two arrays from touching

    std::uintptr_t allocate(std::size_t bytes) {
        std::size_t rounded = (bytes + alignment - 1) / alignment * alignment + red_zone;
        void* memory = std::aligned_alloc(alignment, rounded);
        if (memory == nullptr) return 0;
        std::memset(memory, poison, rounded);
        Region* region = add(reinterpret_cast<std::uintptr_t>(memory), bytes, GLOBAL);
        region->owned = true;
        used_ += bytes;
        return region->start;
    }
    bool release(std::uintptr_t start) {
        Region* region = find(start);
        if (region == nullptr || region->start != start || !region->owned) return false;
        discard(take(region));
        return true;
    }
    // Takes an array out of the device's memory, which keeps its bytes until `discard`.
    std::unique_ptr<Region> take(const Region* region) {
        const auto found = place_of(region);
        std::unique_ptr<Region> taken = std::move(*found);
        regions_.erase(found);
        return taken;
    }
    void put(std::unique_ptr<Region> region) {
        regions_.insert(upper(region->start), std::move(region));
    }
    void discard(std::unique_ptr<Region> region) {
        const std::size_t bytes = region->bytes();
        used_ -= bytes;
        quarantine_.take(region->give_up(), bytes);
    }
    bool is_freed(std::uintptr_t address) const { return quarantine_.holds(address); }
    Region* add(std::uintptr_t start, std::size_t bytes, Space space) {
        auto region = std::make_unique<Region>(start, bytes, space, next_id_++);
        Region* raw = region.get();
        put(std::move(region));
        return raw;
    }
    void remove(const Region* region) { regions_.erase(place_of(region)); }
    Region* find(std::uintptr_t address) const {
        auto it = const_cast<Memory*>(this)->upper(address);
        if (it == const_cast<Memory*>(this)->regions_.begin()) return nullptr;
        Region* region = std::prev(it)->get();
        return address < region->end ? region : nullptr;
    }
    // Returns the array of this launch to which an address outside every array most likely belongs.
    Region* nearest(std::uintptr_t address) const {
        Region* best = nullptr;
        std::uintptr_t best_distance = UINTPTR_MAX;
        for (const auto& region : regions_) {
            if (region->space == LOCAL || (region->space == GLOBAL && !region->shadowed)) continue;
            std::uintptr_t distance =
                address < region->start ? region->start - address : address - region->end;
            if (distance < best_distance) best_distance = distance, best = region.get();
        }
        return best;
    }
    // Starts a launch: the accesses of earlier launches are history.
    void begin_launch(std::uint32_t first_block) {
        for (const auto& region : regions_)
            region->oldest = first_block, region->stored_to = false, region->store_pc = 0,
            region->updated_by = 0;
    }
    const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }
    // Drops all race cells, because block numbers start again from 1.
    void forget_races() {
        for (const auto& region : regions_)
            region->races.close(), region->stretches.close(), region->grain = 2;
        Spare<RaceCell>::drop(), Spare<Stretch>::drop();
    }
    std::size_t used() const { return used_; }

private:
    std::vector<std::unique_ptr<Region>> regions_;    // sorted by start
    Quarantine quarantine_;
    std::uint32_t next_id_ = 1;
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<Region>>::iterator place_of(const Region* region) {
        return std::find_if(regions_.begin(), regions_.end(),
                            [=](const auto& r) { return r.get() == region; });
    }
    std::vector<std::unique_ptr<Region>>::iterator upper(std::uintptr_t address) {
        return std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](std::uintptr_t a, const auto& r) { return a < r->start; });
    }
};
