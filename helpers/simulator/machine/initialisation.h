// initialisation.h -- observer: which bytes are written; poison.h says when a read of others is a
// fault
#pragma once
#include <cstring>
#include <vector>

#include "memory.h"

class Initialisation {
public:
    static bool is_read_of_nothing(const Region& region, std::uintptr_t address, std::size_t size) {
        const std::uint8_t* shadow = region.initialised.cells + (address - region.start);
        switch (size) {    // the usual sizes without a loop
            case 1: return *shadow != 1;
            case 4: {
                std::uint32_t v;
                std::memcpy(&v, shadow, 4);
                return v != 0x01010101u;
            }
            case 8: {
                std::uint64_t v;
                std::memcpy(&v, shadow, 8);
                return v != 0x0101010101010101ull;
            }
            case 64: {    // of half a warp
                std::uint64_t missing = 0;
                for (std::size_t k = 0; k < 8; ++k) {
                    std::uint64_t v;
                    std::memcpy(&v, shadow + 8 * k, 8);
                    missing |= v ^ 0x0101010101010101ull;
                }
                return missing != 0;
            }
            default: return !is_written(shadow, size);
        }
    }
    // Whether all bytes are written: a shadow may also be MARKED (poison.h).
    static bool is_written(const std::uint8_t* shadow, std::size_t size) {
        static constexpr std::size_t most = 256;
        static const std::vector<std::uint8_t> all(most, 1);
        for (; size > most; shadow += most, size -= most)
            if (std::memcmp(shadow, all.data(), most) != 0) return false;
        return std::memcmp(shadow, all.data(), size) == 0;
    }
    static void written(Region& region, std::uintptr_t address, std::size_t size,
                        std::uint32_t pc) {
        std::uint8_t* shadow = region.initialised.cells + (address - region.start);
        if (!__atomic_load_n(&region.stored_to, __ATOMIC_RELAXED) ||
            pc < __atomic_load_n(&region.store_pc, __ATOMIC_RELAXED))
            remember_first(region, pc);
        if (!region.dirty) region.dirty = true;
        switch (size) {
            case 1: *shadow = 1; break;
            case 4: {
                std::uint32_t v = 0x01010101u;
                std::memcpy(shadow, &v, 4);
                break;
            }
            case 8: {
                std::uint64_t v = 0x0101010101010101ull;
                std::memcpy(shadow, &v, 8);
                break;
            }
            default: std::memset(shadow, 1, size);
        }
    }
    // The first store of the program, whichever of several workers executes it first.
    static void remember_first(Region& region, std::uint32_t pc) {
        std::uint32_t known = __atomic_load_n(&region.store_pc, __ATOMIC_RELAXED);
        while ((known == 0 || pc < known) &&
               !__atomic_compare_exchange_n(&region.store_pc, &known, pc, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {}
        __atomic_store_n(&region.stored_to, true, __ATOMIC_RELAXED);
    }
    // After a barrier: whether all of a shared array is written, so that nothing is left to watch
    // for in this block.
    static void settle(Region& region) {
        if (region.dirty && !region.complete)
            region.complete = is_written(region.initialised.cells, region.bytes());
    }
    // A block starts with poisoned shared memory.
    static void forget(Region& region, bool first_time) {
        if (!region.dirty && !first_time) return;
        if (region.is_shared()) region.complete = false;
        std::memset(region.initialised.cells, 0, region.bytes());
        std::memset(reinterpret_cast<void*>(region.start), Memory::poison, region.bytes());
        region.dirty = false;
    }
};
