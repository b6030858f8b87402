// coverage.h -- which cells of one array a launch reads, and which it writes
//
// Only arrays of which somebody asks have a Coverage, so that the others cost nothing. A cell is an
// element, or a part of it if its size is no power of two. Several workers may access one array.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

class Coverage {
public:
    Coverage(std::size_t bytes, std::uint8_t grain)
        : grain_(grain), read_(words(bytes)), written_(words(bytes)) {}

    void read(std::uint64_t offset, std::uint64_t size, bool together) {
        add(read_, offset, size, together);
    }
    void written(std::uint64_t offset, std::uint64_t size, bool together) {
        add(written_, offset, size, together);
    }
    // Ends the notes: lanes access places without an order, as by an index from memory.
    void end() { __atomic_store_n(&has_ended_, true, __ATOMIC_RELAXED); }
    bool has_ended() const { return __atomic_load_n(&has_ended_, __ATOMIC_RELAXED); }
    // A bit for each cell, 64 to a word.
    const std::vector<std::uint64_t>& bits(bool of_writes) const {
        return of_writes ? written_ : read_;
    }

private:
    std::uint8_t grain_;    // a cell has 1 << grain bytes
    bool has_ended_ = false;
    std::vector<std::uint64_t> read_, written_;

    std::size_t words(std::size_t bytes) const { return (bytes >> grain_) / 64 + 1; }
    // together: other workers may access the array at the same time.
    void add(std::vector<std::uint64_t>& all, std::uint64_t offset, std::uint64_t size,
             bool together) {
        std::uint64_t cell = offset >> grain_;
        for (const std::uint64_t end = (offset + size - 1 >> grain_) + 1; cell < end;) {
            const std::uint64_t first = cell % 64, count = std::min(end - cell, 64 - first);
            const std::uint64_t bits = UINT64_MAX >> (64 - count) << first;
            std::uint64_t& one = all[cell / 64];
            const std::uint64_t known = __atomic_load_n(&one, __ATOMIC_RELAXED);
            if ((known & bits) != bits) {
                if (together) __atomic_fetch_or(&one, bits, __ATOMIC_RELAXED);
                else one = known | bits;
            }
            cell += count;
        }
    }
};
