// races.h -- observer: two threads, the same bytes, one of them writing, and no barrier between
//
// Threads of a block run one after another up to the next barrier, so the one that comes second sees what the first one left in
// the cell. Between blocks there is no barrier at all: any write to what another block touches is a race.
#pragma once
#include "findings.h"
#include "memory.h"

struct Toucher {
    std::uint32_t block, epoch, pc;    // epoch: barriers passed in this block
    std::uint16_t thread;
};

class Races {
public:
    // The earlier access that this one races with, or false.
    static bool touch(Region& region, std::uintptr_t address, std::size_t size, bool write, const Toucher& me, Place& earlier) {
        if (region.races.cells == nullptr) return false;
        bool own_block_only = region.space == SHARED || region.space == DYNAMIC_SHARED;    // other blocks have shared memory of their own
        std::uint32_t oldest = own_block_only ? me.block : first_block;
        std::size_t first = (address - region.start) / 4, last = (address + size - 1 - region.start) / 4;
        bool race = false;
        for (std::size_t word = first; word <= last; ++word) {
            RaceCell& cell = region.races.cells[word];
            std::uint8_t mask = bytes_of_word(region, address, size, word);
            if (cell.write_block >= oldest && (cell.write_mask & mask) && conflicts_with_write(cell, me))
                race = note(earlier, cell.write_pc, cell.write_thread, cell.write_block, STORE);
            else if (write && cell.read_block >= oldest && (cell.read_mask & mask) && conflicts_with_read(cell, me))
                race = cell.read_thread == me.thread && cell.read_by_many_threads
                           ? note(earlier, cell.first_read_pc, cell.first_reader, cell.read_block, LOAD)
                           : note(earlier, cell.read_pc, cell.read_thread, cell.read_block, LOAD);
            write ? remember_write(cell, mask, me) : remember_read(cell, mask, me, oldest);
        }
        return race;
    }
    static inline std::uint32_t first_block = 1;    // number of the launch's first block; cells with less are history

private:
    static std::uint8_t bytes_of_word(const Region& region, std::uintptr_t address, std::size_t size, std::size_t word) {
        std::uintptr_t low = region.start + word * 4;
        std::uintptr_t from = std::max(address, low), to = std::min(address + size, low + 4);
        return static_cast<std::uint8_t>(((1u << (to - from)) - 1) << (from - low));
    }
    static bool conflicts_with_write(const RaceCell& cell, const Toucher& me) {
        if (cell.write_block != me.block) return true;
        return cell.write_epoch == me.epoch && cell.write_thread != me.thread;
    }
    static bool conflicts_with_read(const RaceCell& cell, const Toucher& me) {
        if (cell.read_block != me.block || cell.read_by_many_blocks) return true;
        return cell.read_epoch == me.epoch && (cell.read_thread != me.thread || cell.read_by_many_threads);
    }
    static void remember_write(RaceCell& cell, std::uint8_t mask, const Toucher& me) {
        bool same_turn = cell.write_block == me.block && cell.write_epoch == me.epoch;
        cell.write_mask = same_turn ? cell.write_mask | mask : mask;
        cell.write_block = me.block, cell.write_epoch = me.epoch, cell.write_thread = me.thread, cell.write_pc = me.pc;
    }
    static void remember_read(RaceCell& cell, std::uint8_t mask, const Toucher& me, std::uint32_t oldest) {
        bool this_launch = cell.read_block >= oldest;
        bool same_turn = cell.read_block == me.block && cell.read_epoch == me.epoch;
        cell.read_by_many_blocks = this_launch && (cell.read_by_many_blocks || cell.read_block != me.block);
        cell.read_by_many_threads = same_turn && (cell.read_by_many_threads || cell.read_thread != me.thread);
        cell.read_mask = same_turn ? cell.read_mask | mask : mask;
        if (!same_turn) cell.first_reader = me.thread, cell.first_read_pc = me.pc;
        cell.read_block = me.block, cell.read_epoch = me.epoch, cell.read_thread = me.thread, cell.read_pc = me.pc;
    }
    static bool note(Place& earlier, std::uint32_t pc, std::uint16_t thread, std::uint32_t block, Access access) {
        earlier.pc = pc, earlier.thread = thread, earlier.access = access;
        earlier.block[0] = block - first_block;    // linear; the reader of the finding knows the grid
        return true;
    }
};
