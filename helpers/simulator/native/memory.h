// memory.h -- the arrays that a kernel may touch, and the shadow that the observers keep beside each of them
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

enum Space : std::uint32_t { GLOBAL = 0, SHARED = 1, DYNAMIC_SHARED = 2, CONSTANT = 3, DEVICE_GLOBAL = 4 };

// Who touched these four bytes last. `block` numbers are unique over all launches, so that nothing needs resetting.
struct RaceCell {
    std::uint32_t write_block, write_epoch, write_pc;
    std::uint32_t read_block, read_epoch, read_pc, first_read_pc;
    std::uint16_t write_thread, read_thread, first_reader;    // of several readers the first and the last: one of them is somebody else
    std::uint8_t write_mask, read_mask;                       // which of the four bytes
    std::uint8_t read_by_many_threads, read_by_many_blocks;
};

// Zero pages on demand: an array that is never touched costs no memory.
template <class T> struct Shadow {
    T* cells = nullptr;
    std::size_t bytes = 0;
    void open(std::size_t count) {
        bytes = std::max<std::size_t>(count * sizeof(T), 1);
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        cells = memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
    }
    Shadow() = default;
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;
    ~Shadow() {
        if (cells != nullptr) munmap(cells, bytes);
    }
};

struct Region {
    std::uintptr_t start = 0, end = 0;
    Space space = GLOBAL;
    std::uint32_t id = 0;
    bool owned = false;                  // allocated here, freed here
    Shadow<std::uint8_t> initialised;    // one per byte: has anything been written there?
    Shadow<RaceCell> races;              // one per four bytes

    Region(std::uintptr_t first, std::size_t bytes, Space where, std::uint32_t number)
        : start(first), end(first + bytes), space(where), id(number) {
        initialised.open(bytes);
        if (space != CONSTANT) races.open(bytes / 4 + 2);
    }
    Region(const Region&) = delete;
    ~Region() {
        if (owned) std::free(reinterpret_cast<void*>(start));
    }
    std::size_t bytes() const { return end - start; }
    bool holds(std::uintptr_t address, std::size_t size) const { return address >= start && address + size <= end; }
    void mark_initialised(std::uintptr_t address, std::size_t size) { std::memset(initialised.cells + (address - start), 1, size); }
};

class Memory {
public:
    static constexpr unsigned char poison = 0xFF;    // NaN in every floating-point format, -1 in every integer
    static constexpr std::size_t alignment = 256;    // what the CUDA driver promises
    static constexpr std::size_t red_zone = 256;     // keeps two arrays from touching

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
        for (auto it = regions_.begin(); it != regions_.end(); ++it)
            if ((*it)->start == start && (*it)->owned) {
                used_ -= (*it)->bytes();
                regions_.erase(it);
                return true;
            }
        return false;
    }
    Region* add(std::uintptr_t start, std::size_t bytes, Space space) {
        auto region = std::make_unique<Region>(start, bytes, space, next_id_++);
        Region* raw = region.get();
        regions_.insert(upper(start), std::move(region));
        return raw;
    }
    void remove(const Region* region) {
        regions_.erase(std::find_if(regions_.begin(), regions_.end(), [=](const auto& r) { return r.get() == region; }));
    }
    Region* find(std::uintptr_t address) const {
        auto it = const_cast<Memory*>(this)->upper(address);
        if (it == const_cast<Memory*>(this)->regions_.begin()) return nullptr;
        Region* region = std::prev(it)->get();
        return address < region->end ? region : nullptr;
    }
    // The array that an address outside every array most likely belongs to.
    Region* nearest(std::uintptr_t address) const {
        Region* best = nullptr;
        std::uintptr_t best_distance = UINTPTR_MAX;
        for (const auto& region : regions_) {
            std::uintptr_t distance = address < region->start ? region->start - address : address - region->end;
            if (distance < best_distance) best_distance = distance, best = region.get();
        }
        return best;
    }
    std::size_t used() const { return used_; }

private:
    std::vector<std::unique_ptr<Region>> regions_;    // sorted by start
    std::uint32_t next_id_ = 1;
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<Region>>::iterator upper(std::uintptr_t address) {
        return std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](std::uintptr_t a, const auto& r) { return a < r->start; });
    }
};
