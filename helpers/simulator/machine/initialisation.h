// initialisation.h -- observer: a read of bytes that nothing has written
#pragma once
#include <cstring>

#include "memory.h"

class Initialisation {
public:
    static bool is_read_of_nothing(const Region& region, std::uintptr_t address, std::size_t size) {
        const std::uint8_t* shadow = region.initialised.cells + (address - region.start);
        switch (size) {    // the usual sizes without a loop
            case 1: return *shadow == 0;
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
            default: return std::memchr(shadow, 0, size) != nullptr;
        }
    }
    static void written(Region& region, std::uintptr_t address, std::size_t size,
                        std::uint32_t pc) {
        std::uint8_t* shadow = region.initialised.cells + (address - region.start);
        if (!region.stored_to || pc < region.store_pc)
            region.store_pc = pc, region.stored_to = true;    // whoever comes first
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
    // A block starts with poisoned shared memory.
    static void forget(Region& region, bool first_time) {
        if (!region.dirty && !first_time) return;
        std::memset(region.initialised.cells, 0, region.bytes());
        std::memset(reinterpret_cast<void*>(region.start), Memory::poison, region.bytes());
        region.dirty = false;
    }
};
