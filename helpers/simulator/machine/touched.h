// touched.h -- observer: how many different sectors of global memory a launch reads and writes
//
// Whatever the caches do, DRAM must give each sector once that a launch reads and had not written
// before, and take each once that it writes. Sectors are 32 bytes, aligned. Which array they belong
// to is not kept.
//
// Of a sector that one block writes and another one reads, the order of the blocks decides whether
// the read counts: it does if the first access is a read. If several workers run the blocks, each
// one notes in which batch of blocks it first accessed a sector. A worker runs its batches in
// ascending order, so the lowest batch of all workers holds the first access, as if one worker had
// run the blocks one after another.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "memory.h"

class Touched {
public:
    using Batch = std::uint16_t;

    void clear() {
        arrays_.clear(), recent_.fill({});
        read_ = 0, written_ = 0, noting_ = false;
    }
    std::uint64_t read() const { return read_; }
    std::uint64_t written() const { return written_; }

    // From now on this worker runs blocks of this batch; other workers run others.
    void begin_batch(Batch batch) { noting_ = true, batch_ = batch; }

    // Bytes [address, address + size) of one array, as far as it has them.
    void add(const Region& region, std::uint64_t address, std::uint64_t size, bool writes) {
        const std::uint64_t from = std::max<std::uint64_t>(address, region.start);
        const std::uint64_t to = std::min<std::uint64_t>(address + size, region.end);
        if (from >= to) return;
        Sectors& all = of(region);
        const std::uint64_t first = from / SECTOR - all.first, last = (to - 1) / SECTOR - all.first;
        if (first >> 6 == last >> 6) add_to_word(all, first >> 6, bits_of(first, last), writes);
        else add_to_words(all, first, last, writes);
    }
    // Adds what another worker counted. Both have noted their batches.
    void add(const Touched& other) {
        for (const auto& [id, theirs] : other.arrays_) {
            auto [at, is_new] = arrays_.try_emplace(id, theirs);
            if (!is_new) join(at->second, theirs);
        }
        recent_.fill({});
        read_ = 0, written_ = 0;
        for (const auto& [id, one] : arrays_)
            for (std::size_t k = 0; k < one.read.size(); ++k)
                read_ += __builtin_popcountll(one.read[k]),
                    written_ += __builtin_popcountll(one.written[k]);
    }

private:
    static constexpr std::uint64_t SECTOR = 32;
    struct Sectors {
        std::uint64_t first = 0;    // the sector of the array's first byte
        std::vector<std::uint64_t> read, written;    // read: before any write
        std::vector<Batch> batch;    // by sector: of its first access; empty with one worker
    };

    std::unordered_map<std::uint32_t, Sectors> arrays_;
    struct Recent {
        Sectors* sectors = nullptr;
        std::uint32_t id = 0;
    };
    std::array<Recent, 8> recent_{};    // by number of the array: a launch has few
    std::uint64_t read_ = 0, written_ = 0;
    bool noting_ = false;
    Batch batch_ = 0;

    Sectors& of(const Region& region) {
        Recent& recent = recent_[region.id % recent_.size()];
        if (recent.sectors != nullptr && recent.id == region.id) return *recent.sectors;
        Sectors& found = arrays_[region.id];
        if (found.read.empty()) {
            found.first = region.start / SECTOR;
            const std::uint64_t words = ((region.end - 1) / SECTOR - found.first) / 64 + 1;
            found.read.resize(words), found.written.resize(words);
            if (noting_) found.batch.resize(64 * words);
        }
        recent = {&found, region.id};
        return found;
    }
    // The bits of these sectors in their word.
    static std::uint64_t bits_of(std::uint64_t first, std::uint64_t last) {
        return UINT64_MAX >> (63 - (last - first)) << (first & 63);
    }
    __attribute__((noinline)) void add_to_words(Sectors& all, std::uint64_t first,
                                                std::uint64_t last, bool writes) {
        while (first <= last) {
            const std::uint64_t end = std::min(first | 63, last);
            add_to_word(all, first >> 6, bits_of(first, end), writes);
            first = end + 1;
        }
    }
    void add_to_word(Sectors& all, std::uint64_t word, std::uint64_t sectors, bool writes) {
        const std::uint64_t fresh = sectors & ~(all.read[word] | all.written[word]);
        if (fresh == 0 && !writes) return;
        if (noting_)
            for (std::uint64_t left = fresh; left != 0; left &= left - 1)
                all.batch[64 * word + static_cast<std::uint64_t>(__builtin_ctzll(left))] = batch_;
        if (writes) {
            written_ += __builtin_popcountll(sectors & ~all.written[word]);
            all.written[word] |= sectors;
        } else {
            read_ += __builtin_popcountll(fresh);
            all.read[word] |= fresh;
        }
    }
    static void join(Sectors& own, const Sectors& other) {
        for (std::size_t word = 0; word < own.read.size(); ++word) {
            const std::uint64_t known = own.read[word] | own.written[word];
            for (std::uint64_t left = other.read[word] | other.written[word]; left != 0;
                 left &= left - 1) {
                const std::uint64_t bit = left & -left;
                const std::size_t at = 64 * word + std::size_t(__builtin_ctzll(left));
                if ((known & bit) && own.batch[at] < other.batch[at]) continue;
                own.batch[at] = other.batch[at];
                own.read[word] = (own.read[word] & ~bit) | (other.read[word] & bit);
            }
            own.written[word] |= other.written[word];
        }
    }
};
