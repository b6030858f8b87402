// heap.h -- memory that kernels allocate themselves: it lives until it is freed or the context ends
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "findings.h"
#include "memory.h"

class Heap {
public:
    struct Block {
        Region* region;
        Place place;    // where it was allocated, if the present launch did so
        bool is_of_launch;
    };

    // What earlier launches have left behind stays.
    void begin_launch();
    // Returns the address of fresh memory; 0, as on a GPU, if the heap of `limit` bytes is full.
    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t limit, const Place& place,
                           std::uint32_t first_block);
    // Frees a block that starts at an address. Returns whether there is one.
    bool release(std::uint64_t address);
    // Whether a block started at an address that has been freed.
    bool was_freed(std::uint64_t address) const;
    const std::vector<Block>& blocks() const { return blocks_; }
    // Freed blocks, the oldest first: start and bytes.
    const std::deque<std::pair<std::uint64_t, std::uint64_t>>& former() const { return former_; }
    // Makes the heap as it was before the launch.
    void undo_launch();
    // Frees what the launch has allocated.
    void end_own();
    // Exchanges the blocks that the launch has freed with those that it left: the arrays are as
    // they were before the launch, and at the next call as they were after it.
    void exchange();
    // Nobody asks any more for what was before the launch.
    void forget_before();
    // The context ends.
    void end();

private:
    struct Freed {
        Block block;
        std::unique_ptr<Region> region;
    };
    static constexpr std::size_t most_former = 4096;
    std::vector<Block> blocks_;
    std::vector<Freed> freed_;    // by the present launch, which may be undone
    std::vector<Region*> revived_;    // by `exchange`
    std::deque<std::pair<std::uint64_t, std::uint64_t>> former_;

    void revive();
};

extern Heap heap;
