// touched.h -- observer: how many different sectors of global memory a launch reads and writes
//
// Whatever the caches do, DRAM must give each sector once that a launch reads and had not written
// before, and take each once that it writes. Sectors are 32 bytes, aligned. Which array they belong
// to is not kept.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "memory.h"

class Touched {
public:
    void clear() { arrays_.clear(), last_ = nullptr, read_ = 0, written_ = 0; }
    std::uint64_t read() const { return read_; }
    std::uint64_t written() const { return written_; }

    // Bytes [address, address + size) of one array, as far as it has them.
    void add(const Region& region, std::uint64_t address, std::uint64_t size, bool writes) {
        const std::uint64_t from = std::max<std::uint64_t>(address, region.start);
        const std::uint64_t to = std::min<std::uint64_t>(address + size, region.end);
        if (from >= to) return;
        Sectors& all = of(region);
        const std::uint64_t last = (to - 1) / SECTOR - all.first;
        for (std::uint64_t sector = from / SECTOR - all.first; sector <= last; ++sector) {
            const std::uint64_t bit = std::uint64_t(1) << (sector & 63), word = sector >> 6;
            if (writes) {
                written_ += (all.written[word] & bit) == 0;
                all.written[word] |= bit;
            } else if (((all.read[word] | all.written[word]) & bit) == 0) {
                all.read[word] |= bit;
                read_ += 1;
            }
        }
    }
    // Adds what another worker counted.
    void add(const Touched& other) {
        for (const auto& [id, theirs] : other.arrays_) {
            auto [at, is_new] = arrays_.try_emplace(id, theirs);
            if (is_new) continue;
            for (std::size_t k = 0; k < theirs.read.size(); ++k)
                at->second.read[k] |= theirs.read[k], at->second.written[k] |= theirs.written[k];
        }
        last_ = nullptr, read_ = 0, written_ = 0;
        for (const auto& [id, one] : arrays_)
            for (std::size_t k = 0; k < one.read.size(); ++k)
                read_ += __builtin_popcountll(one.read[k]),
                    written_ += __builtin_popcountll(one.written[k]);
    }

private:
    static constexpr std::uint64_t SECTOR = 32;
    struct Sectors {
        std::uint64_t first = 0;    // the sector of the array's first byte
        std::vector<std::uint64_t> read, written;
    };

    std::unordered_map<std::uint32_t, Sectors> arrays_;
    Sectors* last_ = nullptr;
    std::uint32_t last_id_ = 0;
    std::uint64_t read_ = 0, written_ = 0;

    Sectors& of(const Region& region) {
        if (last_ != nullptr && last_id_ == region.id) return *last_;
        Sectors& found = arrays_[region.id];
        if (found.read.empty()) {
            found.first = region.start / SECTOR;
            const std::uint64_t words = ((region.end - 1) / SECTOR - found.first) / 64 + 1;
            found.read.resize(words), found.written.resize(words);
        }
        last_ = &found, last_id_ = region.id;
        return found;
    }
};
